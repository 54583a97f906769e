//! `goodput predict` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::number::{UNKNOWN, count, duration, percent, thousands};
use crate::table::Column::{Number, Text};
use crate::table::{Cell, Table};
use crate::view::PredictionView;

pub(super) fn render(view: &PredictionView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    let run = &view.run;
    page.heading(view.title.as_deref().unwrap_or("Predicted step"));
    page.line(&format!(
        "{} on {} devices of {} ({}): tp {}{}, cp {}, pp {} x {}, ep {}, dp {}; sequences of {}, micro-batch {}, global batch {}",
        run.model,
        count(run.devices.into()),
        run.cluster,
        run.device,
        run.tp,
        if run.sp { " with sequence parallelism" } else { "" },
        run.cp,
        run.pp,
        run.vpp,
        run.ep,
        run.dp,
        count(run.sequence_length),
        count(run.micro_batch),
        count(run.global_batch)
    ));
    page.line(&format!(
        "step {} +- {}, MFU {}, HFU {}, {} tokens/s a device; rests on: {}",
        duration(view.step_ns as i64),
        percent(Some(view.deviation)),
        percent(Some(view.mfu)),
        percent(Some(view.hfu)),
        thousands(view.tokens_per_second_per_device, 0),
        view.basis.replace('_', " ")
    ));
    page.heading("Where the step's time goes, the mean over all devices");
    page.table(&terms(view));
    if view.recompute_ns > 0.0 {
        page.note(&format!(
            "{} of it is computed again in the backward pass.",
            duration(view.recompute_ns as i64)
        ));
    }
    if view.stages.len() > 1 {
        page.heading("Stages");
        page.table(&stages(view));
    }
    page.heading("Memory of the rank that needs most");
    page.table(&memory(view));
    page.heading("The closed forms of the MFU guide, for comparison only");
    page.line(&format!(
        "step {}; bubble {} by its three phases, which count idle time twice, {} counted once",
        duration(view.guide.step_ns as i64),
        duration(view.guide.bubble_ns as i64),
        duration(view.guide.exact_bubble_ns as i64)
    ));
    page.finish()
}

fn terms(view: &PredictionView) -> Table {
    let row = |term: &crate::view::PredictedTermView| {
        vec![
            Cell::from(term.term),
            term.kind.into(),
            duration(term.time_ns as i64).into(),
            percent(Some(term.share)).into(),
        ]
    };
    Table {
        columns: vec![Text("term"), Text("kind"), Number("time"), Number("of the step")],
        rows: view.terms.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

fn stages(view: &PredictionView) -> Table {
    const SHOWN: usize = 16;
    let row = |stage: &crate::view::PredictedStageView| {
        vec![
            stage.stage.to_string().into(),
            duration(stage.compute_ns as i64).into(),
            duration(stage.exchange_ns as i64).into(),
            duration(stage.bubble_ns as i64).into(),
            duration(stage.other_ns as i64).into(),
            gigabytes(stage.activation_bytes).into(),
        ]
    };
    let more = view.stages.len().saturating_sub(SHOWN);
    Table {
        columns: vec![
            Number("stage"),
            Number("compute"),
            Number("exposed exchange"),
            Number("bubble"),
            Number("other"),
            Number("activations"),
        ],
        rows: view.stages.iter().take(SHOWN).map(row).collect(),
        notes: if more > 0 { vec![format!("{more} more stages not shown")] } else { Vec::new() },
    }
}

fn memory(view: &PredictionView) -> Table {
    let memory = &view.memory;
    let fits = match memory.fits {
        Some(true) => "fits",
        Some(false) => "does not fit",
        None => "the device's memory is not known",
    };
    let rows = [
        ("weights", memory.weights_bytes),
        ("gradients", memory.gradients_bytes),
        ("optimizer", memory.optimizer_bytes),
        ("activations", memory.activations_bytes),
        ("working space", memory.working_bytes),
        ("logits", memory.logits_bytes),
        ("total", memory.total_bytes),
        ("allowance (assumed)", memory.allowance_bytes),
    ];
    let mut rows: Vec<Vec<Cell>> =
        rows.into_iter().map(|(name, bytes)| vec![name.into(), gigabytes(bytes).into()]).collect();
    let capacity = memory.capacity_bytes.map_or_else(|| UNKNOWN.to_owned(), gigabytes);
    rows.push(vec![format!("device: {fits}").into(), capacity.into()]);
    Table { columns: vec![Text("part"), Number("size")], rows, notes: Vec::new() }
}

fn gigabytes(bytes: f64) -> String {
    format!("{} GB", thousands(bytes / 1e9, 2))
}
