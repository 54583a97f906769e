//! What is said of prediction errors.

use crate::name::cut;
use crate::number::{count, counted, percent};
use crate::view::{AppliedFactorView, CalibrationView, RegressionView, ValidationView};

/// The title.
pub(crate) fn validation_title(view: &ValidationView) -> String {
    format!("Predictions against the measured runs of {}", view.file)
}

/// How many rows the errors are of.
pub(crate) fn validation_scope(view: &ValidationView) -> String {
    format!(
        "{} predicted, {} not; {} refused",
        counted(view.rows.len() as u64, "run"),
        count(view.failures.len() as u64),
        counted(view.refused.len() as u64, "row")
    )
}

/// Whether the fastest layout is found; `None` where no two runs differ in their layout alone.
pub(crate) fn ranking(view: &ValidationView) -> Option<String> {
    let ranking = &view.report.ranking;
    let spearman = ranking.spearman.map_or_else(|| "–".to_owned(), |rho| format!("{rho:.2}"));
    (ranking.groups > 0).then(|| {
        format!(
            "mean rank correlation {spearman}; the layout picked is {} slower than the fastest, {} at worst, over {}",
            percent(ranking.mean_regret),
            percent(ranking.max_regret),
            counted(ranking.groups as u64, "group")
        )
    })
}

/// Rows that are no runs, each with the column that stands in the way.
pub(crate) fn refused_rows(view: &ValidationView) -> impl Iterator<Item = String> {
    view.refused.iter().map(|row| {
        format!(
            "line {}, {}: {} is {:?}; expected {}",
            row.line,
            row.id,
            row.field,
            cut(&row.found, 60),
            row.expected
        )
    })
}

/// What came of the file of errors that may not grow.
pub(crate) fn regression(regression: &RegressionView) -> String {
    let RegressionView { file, recorded, margin, sources, worse } = regression;
    let sources = counted(*sources as u64, "source");
    let margin = percent(Some(*margin));
    if *recorded {
        format!("{file} holds the errors of {sources} now; none may grow by more than {margin} of the time")
    } else if worse.is_empty() {
        format!("no error of {sources} grew by more than {margin} of the time since {file} was recorded")
    } else {
        let measures = counted(worse.len() as u64, "measure");
        format!("{measures} worse by more than {margin} of the time than {file} records")
    }
}

/// Where a calibration is from, and which rows test it.
pub(crate) fn calibration(calibration: &CalibrationView) -> Vec<String> {
    let CalibrationView { file, runs, fitted, left_out, without_factor, .. } = calibration;
    let origin = if *fitted {
        format!(
            "factors fitted now on the calibration half of {runs} and written to {file}; JSON names the rows of each"
        )
    } else {
        format!("factors of {file}, fitted on rows of {runs}; JSON names the rows of each")
    };
    let tested = counted(calibration.calibrated.all.rows as u64, "row");
    let left_out = counted(*left_out as u64, "row");
    let of = if *fitted { "of the calibration half" } else { "that the factors were fitted on" };
    let without = counted(*without_factor as u64, "row");
    vec![origin, format!("tested on {tested}; left out: {left_out} {of}, {without} without a factor")]
}

/// The factors that a prediction is multiplied by, and where they are from.
pub(crate) fn applied_factor(factor: &AppliedFactorView) -> String {
    format!(
        "calibrated: device time x {:.3}, host time x {:.3}, of {} with {}, from {} ({} of {})",
        factor.device_time,
        factor.host_time,
        factor.device,
        factor.software,
        factor.file,
        counted(factor.rows as u64, "row"),
        factor.runs
    )
}
