//! `goodput baseline` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::table::{self, Detail};
use crate::view::{BaselineUpdateView, BaselineView};
use crate::words;

pub(super) fn check(view: &BaselineView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&words::baseline_title(view));
    page.line(&words::baseline_scope(view));
    page.table(&table::baseline_tiers(view));
    page.note(&words::baseline_method(view));
    if !view.changes.is_empty() {
        page.heading("Changes over time");
        page.table(&table::baseline_changes(view, Detail::Brief));
    }
    if !view.causes.is_empty() {
        page.heading("Releases and policies that changed at those times");
        view.causes.iter().take(10).for_each(|one| page.line(&words::coincidence(one)));
    }
    if !view.slow_hosts.is_empty() {
        page.heading("Hosts slower than their peers");
        page.table(&table::slow_hosts(view, Detail::Brief));
    }
    for curve in &view.curves {
        page.heading(&format!("Canary {}", curve.job));
        page.table(&table::curve(curve));
    }
    if !view.departures.is_empty() {
        page.heading("Runs off the baseline of their architecture and software");
        page.table(&table::departures(view, Detail::Brief));
    }
    words::baseline_not_tested(view).iter().for_each(|line| page.note(line));
    words::baseline_refused(view).iter().for_each(|line| page.warning(line));
    page.finish()
}

pub(super) fn update(view: &BaselineUpdateView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    words::baseline_update(view).iter().for_each(|line| page.line(line));
    page.finish()
}
