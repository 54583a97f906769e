//! `goodput search` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::table::{self, Detail};
use crate::view::{LayoutView, SearchView};
use crate::words;

pub(super) fn render(view: &SearchView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&words::search_title(view));
    page.line(&words::searched(view));
    view.calibration.iter().for_each(|factor| page.line(&words::applied_factor(factor)));
    if let Some(tables) = &view.measured_tables {
        page.line(&format!("kernels and exchanges measured here: {tables}"));
    }
    layouts(&mut page, view, &view.best);
    if !view.pareto.is_empty() {
        page.heading("Not beaten in time, memory and devices at once");
        layouts(&mut page, view, &view.pareto);
    }
    page.heading("What cannot run");
    page.table(&table::refused(view));
    page.finish()
}

fn layouts(page: &mut Page, view: &SearchView, layouts: &[LayoutView]) {
    let (shared, table) = table::without_shared(table::layouts(view, layouts, Detail::Brief));
    shared.iter().for_each(|line| page.line(line));
    page.table(&table);
}
