//! Findings of `goodput lint`.

use super::Column::Text;
use super::{Cell, Table};
use crate::view::LintView;
use crate::words;

/// Why each check that fired is a mistake.
pub(crate) fn lint_reasons(view: &LintView) -> Table {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for finding in &view.findings {
        if !rows.iter().any(|row| row[0].text == finding.title) {
            rows.push([finding.title, finding.why].map(Cell::from).into());
        }
    }
    Table { columns: ["mistake", "why"].map(Text).into(), rows, notes: Vec::new() }
}

/// Every finding.
pub(crate) fn lint_findings(view: &LintView) -> Table {
    let row = |finding: &crate::view::LintFindingView| {
        let corrected: Vec<String> = finding.corrected.iter().map(words::corrected).collect();
        [
            finding.severity.to_owned(),
            format!("{} ({})", finding.title, finding.check),
            finding.at.clone(),
            finding.evidence.join("\n"),
            corrected.join("\n"),
        ]
        .map(Cell::from)
        .into()
    };
    Table {
        columns: ["severity", "mistake", "where", "evidence", "corrected"].map(Text).into(),
        rows: view.findings.iter().map(row).collect(),
        notes: Vec::new(),
    }
}
