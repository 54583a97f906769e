//! `goodput validate` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::number::{count, counted};
use crate::table::{Detail, validation as tables};
use crate::view::ValidationView;
use crate::words;

/// Rows of a list on a terminal.
const SHOWN: usize = 15;

pub(super) fn render(view: &ValidationView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&words::validation_title(view));
    page.line(&words::validation_scope(view));
    if !view.measured_tables.is_empty() {
        page.line(&format!("kernels and exchanges measured here: {}", view.measured_tables.join(", ")));
    }
    for &dimension in &view.breakdown {
        page.heading(&format!("By {}", dimension.name()));
        page.table(&tables::errors(view, dimension, Detail::Brief));
    }
    if let Some(text) = words::ranking(view) {
        page.heading("Layouts of one model on the same devices");
        page.line(&text);
    }
    let blame = tables::blame(view, Detail::Brief);
    if !blame.rows.is_empty() {
        page.heading("Terms that hold the errors");
        page.table(&blame);
    }
    page.heading("Largest errors");
    page.table(&tables::worst(view, Detail::Brief));
    if !view.refused.is_empty() {
        page.heading("Rows refused");
        for text in words::refused_rows(view).take(SHOWN) {
            page.line(&text);
        }
        let more = view.refused.len().saturating_sub(SHOWN);
        if more > 0 {
            page.note(&format!("{} more in JSON", count(more as u64)));
        }
    }
    for failure in view.failures.iter().take(SHOWN) {
        page.warning(&format!("{}: {}", failure.id, failure.reason));
    }
    if !view.assumed.is_empty() {
        page.note(&format!(
            "{} that no column states were taken from rules; JSON and HTML name each with its reason",
            counted(view.assumed.len() as u64, "value")
        ));
    }
    if let Some(calibration) = &view.calibration {
        page.heading("With a calibration");
        words::calibration(calibration).iter().for_each(|line| page.line(line));
        page.table(&tables::calibrated(calibration));
        page.table(&tables::factors(calibration));
    }
    if let Some(regression) = &view.regression {
        page.heading("Errors that may not grow");
        page.line(&words::regression(regression));
        if !regression.worse.is_empty() {
            page.table(&tables::worse(regression));
        }
    }
    page.finish()
}
