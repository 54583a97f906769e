//! `goodput predict` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::number::duration;
use crate::table::{self, Detail};
use crate::view::PredictionView;
use crate::words;

pub(super) fn render(view: &PredictionView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(view.title.as_deref().unwrap_or("Predicted step"));
    page.line(&words::predicted_run(view));
    page.line(&words::predicted_step(view));
    page.line(&words::prediction_contract(view));
    view.calibration.iter().for_each(|factor| page.line(&words::applied_factor(factor)));
    if let Some(measured) = &view.measured_here {
        super::calibrate::measured_here(&mut page, measured);
    }
    page.heading("Where the step's time goes, the mean over all devices");
    page.table(&table::predicted_terms(view));
    if view.recompute_ns > 0.0 {
        page.note(&format!(
            "{} of it is computed again in the backward pass.",
            duration(view.recompute_ns as i64)
        ));
    }
    if let Some(beyond) = words::beyond_tables(view) {
        page.note(&beyond);
    }
    if view.stages.len() > 1 {
        page.heading("Stages");
        page.table(&table::predicted_stages(view, Detail::Brief));
    }
    page.heading("Memory of the rank that needs most");
    page.table(&table::predicted_memory(view));
    if let Some(efficiency) = &view.efficiency {
        page.heading("The same step in every convention");
        page.line(&words::efficiency(efficiency));
        page.table(&table::predicted_conventions(efficiency, Detail::Brief));
    }
    page.heading("Closed forms beside the simulation, for comparison only");
    page.table(&table::closed_forms(view, Detail::Brief));
    page.finish()
}
