//! `goodput search` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::number::{count, counted, duration, percent, thousands};
use crate::table::Column::{Number, Text};
use crate::table::Table;
use crate::view::{LayoutView, SearchView};
use crate::words;

pub(super) fn render(view: &SearchView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&format!("Layouts of {} on {}, the best first", view.model, view.cluster));
    page.line(&format!(
        "{} looked at, {} predicted, {} can run",
        counted(view.candidates, "layout"),
        count(view.predicted),
        count(view.feasible)
    ));
    view.calibration.iter().for_each(|factor| page.line(&words::applied_factor(factor)));
    page.table(&layouts(&view.best));
    if !view.pareto.is_empty() {
        page.heading("Not beaten in time, memory and devices at once");
        page.table(&layouts(&view.pareto));
    }
    page.finish()
}

fn layouts(layouts: &[LayoutView]) -> Table {
    let row = |l: &LayoutView| {
        vec![
            count(l.devices.into()).into(),
            l.tp.to_string().into(),
            l.cp.to_string().into(),
            format!("{} x {}", l.pp, l.vpp).into(),
            l.ep.to_string().into(),
            l.dp.to_string().into(),
            l.micro_batch.to_string().into(),
            l.schedule.clone().into(),
            l.recompute.clone().into(),
            duration(l.step_ns as i64).into(),
            percent(l.mfu).into(),
            format!("{} GB", thousands(l.memory_bytes / 1e9, 1)).into(),
        ]
    };
    Table {
        columns: vec![
            Number("devices"),
            Number("tp"),
            Number("cp"),
            Number("pp x vpp"),
            Number("ep"),
            Number("dp"),
            Number("micro"),
            Text("schedule"),
            Text("recompute"),
            Number("step"),
            Number("MFU"),
            Number("memory"),
        ],
        rows: layouts.iter().map(row).collect(),
        notes: Vec::new(),
    }
}
