//! Tables of a predicted step.

use super::Column::{Number, Text};
use super::{Cell, Detail, Table, or_unknown};
use crate::number::{UNKNOWN, count, duration, percent, thousands};
use crate::view::{
    EfficiencyView, PredictedConventionView, PredictedStageView, PredictedTermView, PredictionView,
};

/// Where the time goes.
pub(crate) fn predicted_terms(view: &PredictionView) -> Table {
    let row = |term: &PredictedTermView| {
        vec![
            Cell::from(term.term),
            term.kind.into(),
            duration(term.time_ns as i64).into(),
            Cell { share: Some(term.share), ..percent(Some(term.share)).into() },
            or_unknown(term.deviation, |share| format!("± {}", percent(Some(share)))).into(),
            term.basis.map_or_else(|| "assumed".to_owned(), basis).into(),
        ]
    };
    Table {
        columns: vec![
            Text("term"),
            Text("kind"),
            Number("time"),
            Number("of the step"),
            Number("uncertainty"),
            Text("rests on"),
        ],
        rows: view.terms.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// The parts that no table holds as they are.
pub(crate) fn beyond_tables(view: &PredictionView) -> Table {
    let rows = view.terms.iter().flat_map(|term| {
        term.beyond_tables.iter().map(|part| {
            vec![
                Cell::from(term.term),
                part.part.into(),
                basis(part.basis).into(),
                duration(part.time_ns as i64).into(),
                percent((view.step_ns > 0.0).then_some(part.time_ns / view.step_ns)).into(),
            ]
        })
    });
    Table {
        columns: vec![
            Text("term"),
            Text("part"),
            Text("rests on"),
            Number("time a step"),
            Number("of the step"),
        ],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// What an estimate rests on, in words.
pub(crate) fn basis(key: &str) -> String {
    match key {
        "user_table" => "your own table",
        "table" => "measured table",
        "extrapolated" => "beyond or beside a table",
        "analytic" => "peak and bandwidth",
        other => other,
    }
    .to_owned()
}

/// The stages.
pub(crate) fn predicted_stages(view: &PredictionView, detail: Detail) -> Table {
    let shown = if detail == Detail::Brief { 16 } else { 512 };
    let row = |stage: &PredictedStageView| {
        vec![
            stage.stage.to_string().into(),
            duration(stage.compute_ns as i64).into(),
            duration(stage.exchange_ns as i64).into(),
            duration(stage.bubble_ns as i64).into(),
            duration(stage.other_ns as i64).into(),
            gigabytes(stage.activation_bytes).into(),
        ]
    };
    let more = view.stages.len().saturating_sub(shown);
    Table {
        columns: vec![
            Number("stage"),
            Number("compute"),
            Number("exposed exchange"),
            Number("bubble"),
            Number("other"),
            Number("activations"),
        ],
        rows: view.stages.iter().take(shown).map(row).collect(),
        notes: if more > 0 { vec![format!("{more} more stages not shown")] } else { Vec::new() },
    }
}

/// Memory of the rank that needs most.
pub(crate) fn predicted_memory(view: &PredictionView) -> Table {
    let memory = &view.memory;
    let fits = match memory.fits {
        Some(true) => "fits",
        Some(false) => "does not fit",
        None => "the device's memory is not known",
    };
    let mut rows: Vec<Vec<Cell>> = view
        .memory
        .parts()
        .into_iter()
        .map(|(name, bytes)| vec![name.into(), gigabytes(bytes).into()])
        .collect();
    rows.push(vec!["total".into(), gigabytes(memory.total_bytes).into()]);
    rows.push(vec!["allowance (assumed)".into(), gigabytes(memory.allowance_bytes).into()]);
    let capacity = memory.capacity_bytes.map_or_else(|| UNKNOWN.to_owned(), gigabytes);
    rows.push(vec![format!("device: {fits}").into(), capacity.into()]);
    Table { columns: vec![Text("part"), Number("size")], rows, notes: Vec::new() }
}

/// Closed forms beside the simulation.
pub(crate) fn closed_forms(view: &PredictionView, detail: Detail) -> Table {
    let rows = view.closed_forms.iter().map(|form| {
        let mut row = vec![
            Cell::from(form.name),
            duration(form.closed_ns as i64).into(),
            duration(form.simulated_ns as i64).into(),
        ];
        if detail == Detail::Full {
            row.extend([form.formula.into(), form.source.into()]);
        }
        row.push(form.why.into());
        row
    });
    let mut columns = vec![Text("closed form"), Number("it says"), Number("the simulation says")];
    if detail == Detail::Full {
        columns.extend([Text("formula"), Text("source")]);
    }
    columns.push(Text("why they differ"));
    Table { columns, rows: rows.collect(), notes: Vec::new() }
}

/// The step in every convention; on a terminal those of the same figure share a row.
pub(crate) fn predicted_conventions(view: &EfficiencyView, detail: Detail) -> Table {
    let kind = |of: &PredictedConventionView| if of.recompute == "no" { "MFU" } else { "HFU" };
    let figure = |of: &PredictedConventionView| percent(of.mfu);
    let rate =
        |of: &PredictedConventionView| or_unknown(of.tflops_per_second_per_device, |rate| thousands(rate, 1));
    if detail == Detail::Full {
        let row = |of: &PredictedConventionView| {
            vec![
                Cell::from(of.name),
                of.title.into(),
                or_unknown(of.flops_per_token, |flops| count(flops as u64)).into(),
                rate(of).into(),
                figure(of).into(),
                kind(of).into(),
                of.source.into(),
            ]
        };
        return Table {
            columns: vec![
                Text("convention"),
                Text("title"),
                Number("FLOPs a token"),
                Number("TFLOP/s a device"),
                Number("of the peak"),
                Text("kind"),
                Text("source"),
            ],
            rows: view.conventions.iter().map(row).collect(),
            notes: Vec::new(),
        };
    }
    let mut groups: Vec<(&PredictedConventionView, Vec<&str>)> = Vec::new();
    for of in view.conventions.iter().filter(|of| of.mfu.is_some()) {
        let same =
            groups.iter_mut().find(|(first, _)| figure(first) == figure(of) && kind(first) == kind(of));
        match same {
            Some((_, names)) => names.push(of.name),
            None => groups.push((of, vec![of.name])),
        }
    }
    groups.sort_by(|one, other| one.0.mfu.unwrap_or(0.0).total_cmp(&other.0.mfu.unwrap_or(0.0)));
    let row = |(first, names): &(&PredictedConventionView, Vec<&str>)| {
        vec![Cell::from(figure(first)), kind(first).into(), rate(first).into(), names.join(", ").into()]
    };
    Table {
        columns: vec![Number("of the peak"), Text("kind"), Number("TFLOP/s a device"), Text("conventions")],
        rows: groups.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// Decimal gigabytes.
pub(crate) fn gigabytes(bytes: f64) -> String {
    format!("{} GB", thousands(bytes / 1e9, 2))
}
