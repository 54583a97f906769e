//! `goodput plan` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::table::{Detail, plan_figures, plan_rows};
use crate::view::PlanView;
use crate::words;

pub(super) fn render(view: &PlanView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&words::plan_title(view));
    page.line(&words::plan_scope(view));
    for answer in &view.answers {
        page.heading(&words::plan_heading(answer));
        page.line(&answer.verdict);
        for warning in &answer.warnings {
            page.warning(warning);
        }
        if !answer.figures.is_empty() {
            page.line("");
            page.table(&plan_figures(view, answer));
        }
        for rows in &answer.rows {
            page.line("");
            page.line(rows.title);
            page.table(&plan_rows(view, rows, Detail::Brief));
        }
        if !answer.inputs.is_empty() {
            page.line("");
        }
        for line in words::plan_inputs(answer) {
            page.note(&line);
        }
    }
    page.finish()
}
