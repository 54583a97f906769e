//! Tables of prediction errors.

use goodput_predict::validate::{Dimension, Errors};

use super::Column::{Number, Text};
use super::{Cell, Detail, Table};
use crate::name::cut;
use crate::number::{UNKNOWN, count, duration, gain, percent};
use crate::view::{CalibrationView, RegressionView, ValidatedRowView, ValidationView};

/// Rows of a list on a terminal.
const SHOWN: usize = 15;

/// Errors of all rows, and of each group of a dimension.
pub(crate) fn errors(view: &ValidationView, dimension: Dimension, detail: Detail) -> Table {
    let mut rows = vec![error_row("all".to_owned(), &view.report.all)];
    let mut groups: Vec<_> = view.report.by.get(&dimension).into_iter().flatten().collect();
    groups.sort_by_key(|(name, _)| dimension.place(name));
    rows.extend(groups.into_iter().map(|(name, errors)| {
        let name = if name.is_empty() { "not stated" } else { name };
        error_row(if detail == Detail::Brief { cut(name, 32) } else { cut(name, 60) }, errors)
    }));
    Table {
        columns: vec![
            Text(dimension.name()),
            Number("rows"),
            Number("MAPE"),
            Number("median"),
            Number("p90"),
            Number("largest"),
            Number("bias"),
        ],
        rows,
        notes: Vec::new(),
    }
}

fn error_row(name: String, errors: &Errors) -> Vec<Cell> {
    let share = |share: f64| Cell::from(percent(Some(share)));
    vec![
        name.into(),
        count(errors.rows as u64).into(),
        share(errors.mape),
        share(errors.median_ape),
        share(errors.p90_ape),
        share(errors.max_ape),
        gain(errors.bias).into(),
    ]
}

/// The runs with the largest errors.
pub(crate) fn worst(view: &ValidationView, detail: Detail) -> Table {
    let row = |row: &ValidatedRowView| {
        let mut cells = vec![
            Cell::from(cut(&row.id, 28)),
            cut(&row.model, 24).into(),
            cut(&row.device, 16).into(),
            duration(row.measured_ns as i64).into(),
            duration(row.predicted_ns as i64).into(),
            gain(row.error).into(),
            row.blame.unwrap_or(UNKNOWN).into(),
        ];
        if detail == Detail::Full {
            cells.push(terms(row).into());
        }
        cells
    };
    let mut columns = vec![
        Text("run"),
        Text("model"),
        Text("device"),
        Number("measured"),
        Number("predicted"),
        Number("error"),
        Text("blame"),
    ];
    if detail == Detail::Full {
        columns.push(Text("predicted terms"));
    }
    let limit = if detail == Detail::Brief { SHOWN } else { 100 };
    Table { columns, rows: view.rows.iter().take(limit).map(row).collect(), notes: Vec::new() }
}

/// The terms of a step of a tenth of a percent and more, the largest first.
fn terms(row: &ValidatedRowView) -> String {
    let mut terms: Vec<_> = row.terms.iter().filter(|(_, ns)| **ns >= 0.001 * row.predicted_ns).collect();
    terms.sort_by(|a, b| b.1.total_cmp(a.1));
    let texts = terms.iter().map(|(term, ns)| format!("{term} {}", percent(Some(**ns / row.predicted_ns))));
    texts.collect::<Vec<_>>().join(", ")
}

/// The terms that would have to change most, by source.
pub(crate) fn blame(view: &ValidationView, detail: Detail) -> Table {
    let each = if detail == Detail::Brief { 1 } else { 4 };
    let mut rows = Vec::new();
    for (source, terms) in &view.blame {
        for term in terms.iter().take(each).filter(|term| term.change.abs() >= 0.005) {
            rows.push(vec![
                Cell::from(cut(source, 32)),
                term.term.into(),
                percent(Some(term.share)).into(),
                format!("{:.2}", term.multiple).into(),
                gain(term.change).into(),
            ]);
        }
    }
    Table {
        columns: vec![
            Text("source"),
            Text("term"),
            Number("of the step"),
            Number("times its time"),
            Number("change of the step"),
        ],
        rows,
        notes: vec![
            "multiples of the predicted terms that would meet the measurements best: where to look; no prediction uses them"
                .to_owned(),
        ],
    }
}

/// Groups of runs that differ in their layout alone.
pub(crate) fn ranking(view: &ValidationView) -> Table {
    let rows = view.report.ranking.each.iter().map(|group| {
        vec![
            Cell::from(cut(&group.group, 90)),
            count(group.rows as u64).into(),
            group.spearman.map_or_else(|| UNKNOWN.to_owned(), |rho| format!("{rho:.2}")).into(),
            percent(Some(group.regret)).into(),
            cut(&group.picked, 28).into(),
            cut(&group.best, 28).into(),
        ]
    });
    Table {
        columns: vec![
            Text("runs of"),
            Number("rows"),
            Number("rank correlation"),
            Number("regret"),
            Text("picked"),
            Text("fastest"),
        ],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// Values that rules gave.
pub(crate) fn assumed(view: &ValidationView) -> Table {
    let rows = view.assumed.iter().take(200).map(|value| {
        vec![
            Cell::from(cut(&value.column, 28)),
            cut(&value.value, 32).into(),
            count(value.rows as u64).into(),
            cut(&value.because, 160).into(),
        ]
    });
    Table {
        columns: vec![Text("column"), Text("value"), Number("rows"), Text("because")],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// What has become worse.
pub(crate) fn worse(regression: &RegressionView) -> Table {
    let figure = |measure: &str, value: f64| {
        if measure == "rows" { count(value as u64) } else { percent(Some(value)) }
    };
    let rows = regression.worse.iter().map(|worse| {
        vec![
            Cell::from(cut(&worse.source, 32)),
            worse.measure.into(),
            figure(worse.measure, worse.before).into(),
            figure(worse.measure, worse.now).into(),
        ]
    });
    Table {
        columns: vec![Text("source"), Text("measure"), Number("was"), Number("is")],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// The factors of a calibration, and how many rows each is from.
pub(crate) fn factors(calibration: &CalibrationView) -> Table {
    let rows = calibration.factors.iter().map(|factor| {
        vec![
            Cell::from(cut(&factor.device, 24)),
            cut(&factor.software, 40).into(),
            format!("{:.3}", factor.times.device_time).into(),
            format!("{:.3}", factor.times.host_time).into(),
            count(factor.rows.len() as u64).into(),
        ]
    });
    Table {
        columns: vec![
            Text("device"),
            Text("software"),
            Number("device time x"),
            Number("host time x"),
            Number("fitted on rows"),
        ],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// Errors of rows that the factors never saw, without and with them.
pub(crate) fn calibrated(calibration: &CalibrationView) -> Table {
    let share = |value: f64| Cell::from(percent(Some(value)));
    let row = |name: &str, before: &Errors, after: &Errors| {
        vec![
            Cell::from(cut(name, 32)),
            count(after.rows as u64).into(),
            share(before.mape),
            share(after.mape),
            share(before.median_ape),
            share(after.median_ape),
            gain(before.bias).into(),
            gain(after.bias).into(),
        ]
    };
    let mut rows = vec![row("all", &calibration.uncalibrated.all, &calibration.calibrated.all)];
    rows.extend(calibration.sources().map(|(source, before, after)| row(source, before, after)));
    Table {
        columns: vec![
            Text("source"),
            Number("rows"),
            Number("MAPE"),
            Number("with factors"),
            Number("median"),
            Number("with factors"),
            Number("bias"),
            Number("with factors"),
        ],
        rows,
        notes: Vec::new(),
    }
}
