//! `goodput compare` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::table::{self, Detail};
use crate::view::CompareView;
use crate::words;

pub(super) fn render(view: &CompareView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&words::compare_title(view));
    for (i, line) in words::compare_answer(view).iter().enumerate() {
        if i == 0 && view.verdict == "reject" { page.warning(line) } else { page.line(line) }
    }
    words::compare_scope(view).iter().for_each(|line| page.note(line));
    page.heading("Factors");
    page.table(&table::compared_factors(view));
    words::compare_beside(view).iter().for_each(|line| page.note(line));
    if let Some(coupling) = &view.coupling {
        page.heading("Why one factor moved with another");
        page.line(&coupling.why);
    }
    page.heading("Conditions that differ");
    page.table(&table::compared_conditions(view, Detail::Brief));
    page.heading("Windows");
    for of in &view.adequacy {
        page.line(&format!("{}: {}", of.side, of.sentence));
    }
    if !view.notes.is_empty() {
        page.heading("Before you trust a figure");
        view.notes.iter().for_each(|note| page.warning(note));
    }
    page.finish()
}
