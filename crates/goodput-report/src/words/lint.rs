//! What `goodput lint` says in sentences, whatever the renderer.

use crate::number::counted;
use crate::view::{CorrectedView, LintView};

pub(crate) fn lint_title(view: &LintView) -> String {
    match &view.title {
        Some(title) => format!("{title}: known mistakes"),
        None => format!("Known mistakes in {}", view.file),
    }
}

pub(crate) fn lint_answer(view: &LintView) -> String {
    let read = match view.kind {
        "sheet" => "planning sheet".to_owned(),
        kind => format!("report of goodput {kind}"),
    };
    let checks = counted(view.checks as u64, "check");
    if view.findings.is_empty() {
        return format!("{read}, {checks}: nothing found");
    }
    format!(
        "{read}, {checks}: {}, {}, {}",
        counted(view.errors as u64, "error"),
        counted(view.warnings as u64, "warning"),
        counted(view.notes as u64, "note")
    )
}

/// A figure put right in one line.
pub(crate) fn corrected(corrected: &CorrectedView) -> String {
    let stated = corrected.stated.map(|stated| format!(", not {}", decimals(stated))).unwrap_or_default();
    format!("{}: {}{stated} ({})", corrected.name, decimals(corrected.value), corrected.how)
}

/// Four decimals, as far as they say something.
fn decimals(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
