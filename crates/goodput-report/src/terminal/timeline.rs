//! `goodput timeline` on a terminal.

use super::page::{Page, TerminalStyle};
use super::parts;
use crate::table::{self, Detail};
use crate::view::TimelineView;
use crate::words;

pub(super) fn render(view: &TimelineView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    header(&mut page, view);
    page.heading("From held to ideal");
    page.table(&table::job_chain(&view.ledger));
    if let Some(open) = words::open(&view.ledger, &view.losses) {
        page.note(&open);
    }
    for line in words::worth_of_a_point(&view.ledger) {
        page.note(&line);
    }
    page.heading("Losses");
    page.table(&table::losses(&view.losses, "of held", Detail::Brief));
    page.heading("Levers, by what removing the whole loss would add to the product");
    page.table(&table::levers(&view.levers, None, Detail::Brief));
    page.heading("Steps");
    for line in words::steps(view) {
        page.line(&line);
    }
    if let Some(model) = &view.composed {
        page.heading("The composed first-order model beside the measured shares of held time");
        page.table(&table::composed(model));
        if !model.size_curve.is_empty() {
            page.heading("The model against job size");
            page.table(&table::size_curve(model));
        }
    }
    parts::read_report(&mut page, &view.read_report);
    parts::warnings(&mut page, &view.warnings);
    page.finish()
}

fn header(page: &mut Page, view: &TimelineView) {
    page.heading(&words::job_title(view));
    page.line(&words::window(&view.contract.window));
    for line in words::job_contract(view) {
        page.line(&line);
    }
    for line in words::contract(&view.contract.known, &view.contract.statistics) {
        page.note(&line);
    }
}
