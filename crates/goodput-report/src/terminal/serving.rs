//! `goodput serving` on a terminal.

use super::page::{Page, TerminalStyle};
use super::parts;
use crate::table;
use crate::view::ServingView;
use crate::words;

pub(super) fn render(view: &ServingView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&words::serving_title(view));
    page.line(&words::window(&view.contract.window));
    page.note(words::SERVING_SCOPE);
    for line in words::contract(&view.contract.known, &view.contract.statistics) {
        page.note(&line);
    }
    for row in &view.rows {
        page.heading(&words::serving_row_title(row));
        words::serving_basis(row).iter().for_each(|line| page.line(line));
        words::serving_work(row).iter().for_each(|line| page.line(line));
        page.heading("Measures");
        page.table(&table::serving_measures(row));
        page.heading("Losses, each once, decode under its weights floor");
        page.table(&table::serving_losses(row));
        if !row.decode_terms.is_empty() {
            page.heading("A decode step");
            page.table(&table::decode_terms(row));
        }
        words::decode_model(row).iter().for_each(|line| page.note(line));
        page.heading("Levers");
        page.table(&table::serving_levers(row));
    }
    if let Some(line) = words::traced_decode(view) {
        page.heading("The traced decode step");
        page.line(&line);
    }
    if !view.pools.is_empty() {
        page.heading("Pools: capacity that becomes whole replicas held");
        page.table(&table::serving_pools(view));
    }
    if let Some(line) = words::placement_wait(view) {
        page.line(&line);
    }
    page.heading("Becoming ready, by how long a replica lives");
    page.table(&table::serving_lifetimes(view));
    if let Some(curve) = table::readiness_curve(view) {
        page.table(&curve);
    }
    parts::read_report(&mut page, &view.read_report);
    parts::warnings(&mut page, &view.warnings);
    page.finish()
}
