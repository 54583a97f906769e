//! Predictions against measured runs.

mod calibration;
mod collect;
mod regression;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use goodput_predict::cluster::Clusters;
use goodput_predict::validate::{
    Dimension, Evaluation, Refusal, Rules, RunRow, evaluate, read, write_outcomes,
};
use goodput_report::{ValidationView, ViewSettings};
use serde::Deserialize;

use crate::Answer;
use crate::error::{Place, VerbError};
use crate::measured_tables::MeasuredTables;

pub use calibration::CalibrationRequest;
pub(crate) use calibration::factors_of;
pub use collect::{CollectRequest, collect};
pub use regression::RegressionRequest;

/// `goodput validate`: a file of measured runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ValidateRequest {
    /// RUNS.csv (docs/validation.md).
    pub runs: PathBuf,
    /// Files of measured tables, one a device, in front of the shipped ones.
    pub tables: Vec<PathBuf>,
    /// The user's own rules, before those that are built in.
    pub rules: Option<PathBuf>,
    /// What the tables break errors down by: names of [`Dimension`]. Source and device unless stated.
    pub by: Vec<String>,
    /// Factors by device and software.
    pub calibration: Option<CalibrationRequest>,
    /// Errors that may not grow.
    pub regression: Option<RegressionRequest>,
    /// Write the outcome of each row to this CSV.
    pub rows: Option<PathBuf>,
    /// Where the caller writes the report: refused where it is one of the inputs.
    pub output: Option<PathBuf>,
}

/// Predicts every run of the file and compares. What falls short: rows that are refused or cannot be predicted. Errors that
/// have become worse are in the view ([`ValidationView::regression`]).
///
/// # Errors
/// [`VerbError`] when a file cannot be read or written, or no run can be predicted.
pub fn validate(request: &ValidateRequest) -> Result<Answer<ValidationView>, VerbError> {
    request.check_outputs()?;
    let breakdown = breakdown(&request.by)?;
    let rules = rules(request.rules.as_deref())?;
    let (mut rows, refused) = read_rows(&request.runs, &rules)?;
    let tables = MeasuredTables::read(&request.tables)?;
    for row in &mut rows {
        tables.use_on(&mut row.run.cluster);
    }
    let evaluation = evaluate(&rows);
    let label = request.runs.display().to_string();
    let view = ValidationView::new(&label, &evaluation, &refused, &ViewSettings::default());
    let mut view = view.ok_or_else(|| nothing_predicted(&label, &evaluation, &refused))?;
    view.measured_tables = tables.labels();
    if !breakdown.is_empty() {
        view.breakdown = breakdown;
    }
    if let Some(calibration) = &request.calibration {
        view.calibration = Some(calibration.answer(&label, &evaluation)?);
    }
    if let Some(regression) = &request.regression {
        view.regression = Some(regression.answer(&view.report)?);
    }
    if let Some(path) = &request.rows {
        let file = File::create(path).map_err(|e| VerbError::io(path, &e))?;
        write_outcomes(&evaluation, BufWriter::new(file))
            .map_err(|e| VerbError::new(format!("{}: {e}", path.display())))?;
    }
    let falls_short = !view.refused.is_empty() || !view.failures.is_empty();
    Ok(Answer { view, falls_short })
}

impl ValidateRequest {
    /// No output takes the place of an input.
    fn check_outputs(&self) -> Result<(), VerbError> {
        let calibration = self.calibration.as_ref();
        let inputs = [
            Some(self.runs.as_path()),
            self.rules.as_deref(),
            calibration.and_then(CalibrationRequest::input),
        ];
        let recorded = self.regression.as_ref().filter(|regression| regression.record);
        let outputs = [
            self.rows.as_deref(),
            self.output.as_deref(),
            recorded.map(|regression| regression.file.as_path()),
            calibration.and_then(CalibrationRequest::output),
        ];
        for output in outputs.into_iter().flatten() {
            if inputs.into_iter().flatten().any(|input| same_file(input, output)) {
                return Err(VerbError::new(format!(
                    "{} is an input and would be written over",
                    output.display()
                ))
                .help("name another file for the output"));
            }
        }
        Ok(())
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

fn breakdown(names: &[String]) -> Result<Vec<Dimension>, VerbError> {
    let known = || Dimension::ALL.map(Dimension::name).join(", ");
    let named = |name: &String| {
        Dimension::named(name.trim())
            .ok_or_else(|| VerbError::new(format!("--by {name}: expected one of {}", known())))
    };
    names.iter().map(named).collect()
}

fn rules(path: Option<&Path>) -> Result<Rules, VerbError> {
    let Some(path) = path else { return Ok(Rules::built_in().clone()) };
    let text = std::fs::read_to_string(path).map_err(|e| VerbError::io(path, &e))?;
    let label = path.display().to_string();
    Rules::built_in().preceded_by(&label, &text).map_err(|e| {
        VerbError::new(e.to_string())
            .help("a file of rules: docs/validation.md")
            .at(Place { path: Some(label), ..Place::default() })
    })
}

fn read_rows(path: &Path, rules: &Rules) -> Result<(Vec<RunRow>, Vec<Refusal>), VerbError> {
    let file = File::open(path).map_err(|e| VerbError::io(path, &e))?;
    let read = read(&path.display().to_string(), file, rules, Clusters::built_in())
        .map_err(|e| VerbError::new(e.to_string()).help("docs/validation.md lists the columns"))?;
    let mut rows = Vec::new();
    let mut refused = Vec::new();
    for row in read {
        match row {
            Ok(row) => rows.push(row),
            Err(refusal) => refused.push(refusal),
        }
    }
    Ok((rows, refused))
}

fn nothing_predicted(label: &str, evaluation: &Evaluation<'_>, refused: &[Refusal]) -> VerbError {
    let why = match (evaluation.failures.first(), refused.first()) {
        (Some(failure), _) => format!("{}: {}", failure.row.id, failure.reason),
        (_, Some(r)) => format!("line {}: {} is {:?}, expected {}", r.line, r.field, r.found, r.expected),
        _ => "it holds no row".to_owned(),
    };
    VerbError::new(format!("{label}: no run of it can be predicted: {why}"))
        .help("docs/validation.md lists the columns")
}
