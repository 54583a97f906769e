//! `goodput lint` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::view::LintView;
use crate::words;

pub(super) fn render(view: &LintView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&words::lint_title(view));
    page.line(&words::lint_answer(view));
    let mut explained = Vec::new();
    for finding in &view.findings {
        page.heading(&format!("{}: {}", finding.severity, finding.title));
        page.note(&format!("{} at {}", finding.check, finding.at));
        finding.evidence.iter().for_each(|evidence| page.line(evidence));
        for corrected in &finding.corrected {
            page.warning(&format!("-> {}", words::corrected(corrected)));
        }
        if !explained.contains(&finding.check) {
            explained.push(finding.check);
            page.note(finding.why);
        }
    }
    page.finish()
}
