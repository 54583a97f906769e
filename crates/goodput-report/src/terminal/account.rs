//! `goodput account` on a terminal.

use super::page::{Page, TerminalStyle};
use super::parts;
use crate::table::{self, Detail};
use crate::view::AccountView;
use crate::words;

pub(super) fn render(view: &AccountView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    header(&mut page, view);
    page.heading("The chain");
    page.table(&table::chain(&view.ledger));
    if let Some(open) = words::open(&view.ledger, &view.losses) {
        page.note(&open);
    }
    for line in words::worth_of_a_point(&view.ledger) {
        page.note(&line);
    }
    page.note(&words::tiers(view));
    if let Some(states) = words::held_by_state(view) {
        page.note(&states);
    }
    if view.workload_classes.len() > 1 {
        page.heading("Workload classes");
        page.table(&table::classes(&view.workload_classes));
    }
    page.heading("Losses");
    page.table(&table::losses(&view.losses, "of offered", Detail::Brief));
    page.heading("Levers, by what removing the whole loss would add to the product");
    let currency = view.cost.as_ref().map(|c| c.currency.as_str());
    page.table(&table::levers(&view.levers, currency, Detail::Brief));
    if let Some(cost) = &view.cost {
        page.line(&words::price(cost));
    }
    page.heading("Pools");
    page.table(&table::pools(&view.pools, Detail::Brief));
    page.heading("Cohorts");
    page.table(&table::cohorts(&view.cohorts, Detail::Brief));
    page.heading("Jobs that lose the most inside their allocations");
    page.table(&table::jobs(&view.jobs, &view.jobs_omitted, Detail::Brief));
    parts::read_report(&mut page, &view.read_report);
    parts::warnings(&mut page, &view.warnings);
    page.finish()
}

fn header(page: &mut Page, view: &AccountView) {
    page.heading(&words::fleet_title(view));
    page.line(&words::window(&view.contract.window));
    for line in words::fleet_contract(view) {
        page.line(&line);
    }
    for line in words::contract(&view.contract.known, &view.contract.statistics) {
        page.note(&line);
    }
}
