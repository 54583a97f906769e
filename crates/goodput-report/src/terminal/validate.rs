//! `goodput validate` on a terminal.

use goodput_predict::validate::{Dimension, Errors};

use super::page::{Page, TerminalStyle};
use crate::name::cut;
use crate::number::{count, counted, duration, gain, percent};
use crate::table::Column::{Number, Text};
use crate::table::{Cell, Table};
use crate::view::ValidationView;

/// Rows of a list on a terminal.
const SHOWN: usize = 15;

pub(super) fn render(view: &ValidationView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&format!("Predictions against the measured runs of {}", view.file));
    page.line(&format!(
        "{} predicted, {} not; {} refused",
        counted(view.rows.len() as u64, "run"),
        count(view.failures.len() as u64),
        counted(view.refused.len() as u64, "row")
    ));
    for (heading, dimension) in [("By source", Dimension::Source), ("By device", Dimension::Device)] {
        page.heading(heading);
        let mut rows = vec![errors("all", &view.report.all)];
        rows.extend(view.report.by.get(&dimension).into_iter().flatten().map(|(name, e)| errors(name, e)));
        page.table(&Table {
            columns: vec![
                Text("rows of"),
                Number("rows"),
                Number("MAPE"),
                Number("median"),
                Number("p90"),
                Number("largest"),
                Number("bias"),
            ],
            rows,
            notes: Vec::new(),
        });
    }
    let ranking = &view.report.ranking;
    if ranking.groups > 0 {
        page.heading("Layouts of one model on the same devices");
        let spearman = ranking.spearman.map_or_else(|| "–".to_owned(), |rho| format!("{rho:.2}"));
        page.line(&format!(
            "mean rank correlation {spearman}; the layout picked is {} slower than the fastest, {} at worst, over {}",
            percent(ranking.mean_regret),
            percent(ranking.max_regret),
            counted(ranking.groups as u64, "group")
        ));
    }
    page.heading("Largest errors");
    page.table(&largest(view));
    if !view.refused.is_empty() {
        page.heading("Rows refused");
        for row in view.refused.iter().take(SHOWN) {
            page.line(&format!(
                "line {}, {}: {} is {:?}; expected {}",
                row.line,
                row.id,
                row.field,
                cut(&row.found, 60),
                row.expected
            ));
        }
        let more = view.refused.len().saturating_sub(SHOWN);
        if more > 0 {
            page.note(&format!("{} more in JSON", count(more as u64)));
        }
    }
    for failure in view.failures.iter().take(SHOWN) {
        page.warning(&format!("{}: {}", failure.id, failure.reason));
    }
    page.finish()
}

fn errors(name: &str, errors: &Errors) -> Vec<Cell> {
    let share = |share: f64| Cell::from(percent(Some(share)));
    vec![
        cut(name, 32).into(),
        count(errors.rows as u64).into(),
        share(errors.mape),
        share(errors.median_ape),
        share(errors.p90_ape),
        share(errors.max_ape),
        gain(errors.bias).into(),
    ]
}

fn largest(view: &ValidationView) -> Table {
    let row = |row: &crate::view::ValidatedRowView| {
        vec![
            Cell::from(cut(&row.id, 28)),
            cut(&row.model, 24).into(),
            cut(&row.device, 16).into(),
            duration(row.measured_ns as i64).into(),
            duration(row.predicted_ns as i64).into(),
            gain(row.error).into(),
        ]
    };
    Table {
        columns: vec![
            Text("run"),
            Text("model"),
            Text("device"),
            Number("measured"),
            Number("predicted"),
            Number("error"),
        ],
        rows: view.rows.iter().take(SHOWN).map(row).collect(),
        notes: Vec::new(),
    }
}
