//! `goodput explain` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::number::percent;
use crate::table::{self, Detail};
use crate::view::ExplainView;
use crate::words;

pub(super) fn render(view: &ExplainView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&words::explain_title(view));
    let answer = words::explain_answer(view);
    for (index, line) in answer.iter().enumerate() {
        if index == 0 && !view.same_job { page.warning(line) } else { page.line(line) }
    }
    words::explain_scope(view).iter().for_each(|line| page.note(line));
    if !view.warnings.is_empty() {
        page.heading("Before you trust a figure");
        view.warnings.iter().for_each(|warning| page.warning(warning));
    }
    page.heading("Term by term, of a mean step");
    page.table(&table::explained_terms(view, Detail::Brief));
    page.heading("What to check");
    for found in &view.findings {
        page.line(&format!(
            "{} ({} of the step, {}): {}",
            words::signed_duration(found.amount_ns),
            percent(Some(found.share)),
            found.term_label,
            found.symptom
        ));
        page.note(&format!("  {}", found.evidence.join("; ")));
        page.note(&format!(
            "  check: {}; lever: {}; owner: {}",
            found.check,
            found.lever,
            found.owner.replace('_', " ")
        ));
    }
    if view.findings.is_empty() {
        page.line("nothing: no rule is borne out by the numbers");
    }
    if !view.exchanges.is_empty() {
        page.heading("Exchanges: slower, or less of them hidden");
        page.table(&table::explained_exchanges(view));
    }
    page.heading("Kernels");
    page.table(&table::explained_kernels(view));
    if !view.stages.is_empty() {
        page.heading("Stages");
        page.table(&table::explained_stages(view, Detail::Brief));
    }
    page.heading("Is it the same job?");
    page.table(&table::same_job(view));
    page.finish()
}
