//! `goodput search` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::table::{self, Detail};
use crate::view::SearchView;
use crate::words;

pub(super) fn render(view: &SearchView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&words::search_title(view));
    page.line(&words::searched(view));
    view.calibration.iter().for_each(|factor| page.line(&words::applied_factor(factor)));
    if let Some(tables) = &view.measured_tables {
        page.line(&format!("kernels and exchanges measured here: {tables}"));
    }
    page.table(&table::layouts(view, &view.best, Detail::Brief));
    if !view.pareto.is_empty() {
        page.heading("Not beaten in time, memory and devices at once");
        page.table(&table::layouts(view, &view.pareto, Detail::Brief));
    }
    page.heading("What cannot run");
    page.table(&table::refused(view));
    page.finish()
}
