//! `goodput validate collect` on a terminal.

use std::collections::BTreeMap;

use super::page::{Page, TerminalStyle};
use crate::name::cut;
use crate::number::{UNKNOWN, count, counted};
use crate::table::Column::{Number, Text};
use crate::table::{self, Cell, Detail, Table};
use crate::view::{CollectedRunView, CollectionView};

/// Rows of a list on a terminal.
const SHOWN: usize = 20;

pub(super) fn render(view: &CollectionView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&format!("Measured runs in {}", view.output));
    page.line(&format!(
        "{} written: {} complete, {} lack a column; {} refused",
        counted(view.rows.len() as u64, "row"),
        count(view.complete as u64),
        count(view.partial as u64),
        counted(view.refused.len() as u64, "run")
    ));
    page.table(&rows(view));
    let missing = missing(view);
    if !missing.rows.is_empty() {
        page.heading("What the rows lack");
        page.table(&missing);
    }
    if !view.refused.is_empty() {
        page.heading("Runs refused: two values for one column");
        for run in view.refused.iter().take(SHOWN) {
            page.line(&format!("{}: {}", run.id, run.message()));
        }
    }
    for source in &view.refused_sources {
        page.warning(&format!("{}: {}", source.source, source.reason));
    }
    page.heading("What was read");
    page.table(&table::files(&view.read_report, Detail::Brief));
    let (findings, more) = table::findings(&view.read_report, SHOWN);
    for finding in findings.iter().chain(&more) {
        page.line(finding);
    }
    page.finish()
}

fn rows(view: &CollectionView) -> Table {
    let row = |row: &CollectedRunView| {
        let names: Vec<&str> = row.missing.iter().map(|missing| missing.column.as_str()).collect();
        let measured =
            row.value.zip(row.measure).map(|(value, measure)| format!("{value:.6} {}", unit(measure)));
        vec![
            Cell::from(cut(&row.id, 28)),
            measured.unwrap_or_else(|| UNKNOWN.to_owned()).into(),
            count(row.steps).into(),
            if names.is_empty() { "nothing".to_owned() } else { cut(&names.join(" "), 60) }.into(),
        ]
    };
    let more = view.rows.len().saturating_sub(SHOWN);
    Table {
        columns: vec![Text("run"), Number("measured"), Number("steady steps"), Text("lacks")],
        rows: view.rows.iter().take(SHOWN).map(row).collect(),
        notes: (more > 0).then(|| format!("{} more in the file", count(more as u64))).into_iter().collect(),
    }
}

fn unit(measure: &str) -> &str {
    match measure {
        "step_time_s" => "s",
        "tokens_per_s" => "tokens/s",
        "tokens_per_s_per_device" => "tokens/s/device",
        _ => "samples/s",
    }
}

/// By column: how many rows lack it, what stands there, what fills it.
fn missing(view: &CollectionView) -> Table {
    let mut columns: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    for missing in view.rows.iter().flat_map(|row| &row.missing) {
        *columns.entry((&missing.column, &missing.found, &missing.remedy)).or_default() += 1;
    }
    let rows = columns.into_iter().map(|((column, found, remedy), rows)| {
        let found = if found.is_empty() { UNKNOWN.to_owned() } else { cut(found, 40) };
        vec![Cell::from(column), count(rows).into(), found.into(), remedy.into()]
    });
    Table {
        columns: vec![Text("column"), Number("rows"), Text("found"), Text("what fills it")],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}
