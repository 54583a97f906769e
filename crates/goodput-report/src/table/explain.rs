//! A predicted and a traced step: term by term, exchanges, stages, what both say of the job.

use super::Column::{Number, Text};
use super::{Cell, Detail, Table, or_unknown};
use crate::number::{UNKNOWN, count, duration, percent, si, thousands};
use crate::view::{ExplainView, ExplainedTermView, PartView};
use crate::words::signed_duration;

/// Every term that either side has, in the order of a step.
pub(crate) fn explained_terms(view: &ExplainView, detail: Detail) -> Table {
    let seen = |term: &&ExplainedTermView| term.predicted_ns > 0.0 || term.measured_total_ns > 0;
    let row = |term: &ExplainedTermView| {
        let mut row = vec![
            Cell::from(term.label),
            duration(term.predicted_ns as i64).into(),
            noise(term).into(),
            duration(term.measured_ns as i64).into(),
            signed_duration(term.difference_ns).into(),
            or_unknown(term.gap_share, |share| percent(Some(share))).into(),
            if term.beyond_noise { "yes" } else { "no" }.into(),
        ];
        if detail == Detail::Full {
            row.extend([parts(&term.predicted_parts).into(), parts(&term.measured_parts).into()]);
        }
        row
    };
    let mut columns = vec![
        Text("term"),
        Number("predicted"),
        Number("±"),
        Number("measured"),
        Number("difference"),
        Number("of the gap"),
        Text("beyond noise"),
    ];
    if detail == Detail::Full {
        columns.extend([Text("predicted as"), Text("measured as")]);
    }
    let mut rows: Vec<Vec<Cell>> = view.terms.iter().filter(seen).map(row).collect();
    let step = [
        "step".to_owned(),
        duration(view.predicted_ns as i64),
        percent(Some(view.deviation)),
        duration(view.measured_ns as i64),
        signed_duration(view.gap_ns),
        percent(Some(1.0)),
        if view.within_noise { "no" } else { "yes" }.to_owned(),
    ];
    let mut step: Vec<Cell> = step.into_iter().map(Cell::from).collect();
    step.resize(columns.len(), Cell::default());
    rows.push(step);
    let mut notes = Vec::new();
    let recompute = &view.recompute;
    if recompute.predicted_ns > 0.0 || recompute.measured_ns.is_some_and(|ns| ns > 0.0) {
        notes.push(format!(
            "Of these, computed again in the backward pass: {} predicted, {} measured.",
            duration(recompute.predicted_ns as i64),
            or_unknown(recompute.measured_ns, |ns| duration(ns as i64))
        ));
    }
    Table { columns, rows, notes }
}

fn noise(term: &ExplainedTermView) -> String {
    if term.predicted_ns > 0.0 { percent(Some(term.deviation)) } else { UNKNOWN.to_owned() }
}

fn parts(parts: &[PartView]) -> String {
    let shown = parts.iter().take(4).map(|part| format!("{} {}", part.label, duration(part.time_ns as i64)));
    let more = if parts.len() > 4 { ", …" } else { "" };
    shown.collect::<Vec<_>>().join(", ") + more
}

/// What both sides say of the job.
pub(crate) fn same_job(view: &ExplainView) -> Table {
    let verdict = |key: &str| match key {
        "agrees" => "agrees",
        "differs" => "differs",
        "other_job" => "another job",
        _ => "not told",
    };
    let row = |check: &crate::view::SameJobView| {
        vec![
            Cell::from(check.label),
            check.run.clone().into(),
            check.trace.clone().into(),
            verdict(check.verdict).into(),
        ]
    };
    Table {
        columns: vec![Text(""), Text("run"), Text("traces"), Text("verdict")],
        rows: view.checks.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// Exchanges by axis: slower, or less of them hidden.
pub(crate) fn explained_exchanges(view: &ExplainView) -> Table {
    let signed = |ns: Option<f64>| or_unknown(ns, signed_duration);
    let rate = |rate: Option<f64>| or_unknown(rate, |rate| thousands(rate, 1));
    let row = |exchange: &crate::view::ExchangeView| {
        vec![
            Cell::from(exchange.label),
            thousands(exchange.messages, 0).into(),
            duration(exchange.transfer_ns as i64).into(),
            signed(Some(exchange.exposed_difference_ns)).into(),
            signed(exchange.by_transfer_ns).into(),
            signed(exchange.by_overlap_ns).into(),
            rate(exchange.measured_bus_gb_per_s).into(),
            rate(exchange.predicted_bus_gb_per_s).into(),
        ]
    };
    let mut notes = Vec::new();
    if view.exchanges.iter().any(|exchange| exchange.not_split_share > 0.0) {
        notes.push(
            "Where peers are not traced, waiting for them is inside the exchange: trace all members of a group.".to_owned(),
        );
    }
    Table {
        columns: vec![
            Text("exchange"),
            Number("a step"),
            Number("takes"),
            Number("exposed beyond prediction"),
            Number("by slower transfer"),
            Number("by less overlap"),
            Number("GB/s"),
            Number("predicted"),
        ],
        rows: view.exchanges.iter().map(row).collect(),
        notes,
    }
}

/// Speed of products, and kernels counted.
pub(crate) fn explained_kernels(view: &ExplainView) -> Table {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    if let Some(products) = &view.products {
        let rate = |flops: f64| si(flops, "FLOP/s");
        rows.push(vec![
            "speed of matrix products".into(),
            rate(products.predicted_flops_per_s).into(),
            rate(products.measured_flops_per_s).into(),
        ]);
    }
    for term in &view.terms {
        if let Some((predicted, measured)) = term.predicted_kernels.zip(term.measured_kernels) {
            rows.push(vec![
                format!("kernels: {}", term.label).into(),
                count(predicted.round() as u64).into(),
                count(measured.round() as u64).into(),
            ]);
        }
    }
    Table {
        columns: vec![Text("of a step"), Number("predicted"), Number("measured")],
        rows,
        notes: Vec::new(),
    }
}

/// Stages: the two times of what differs most between stages.
pub(crate) fn explained_stages(view: &ExplainView, detail: Detail) -> Table {
    let shown = detail.rows();
    let row = |stage: &crate::view::ExplainedStageView| {
        let sum = |of: &dyn Fn(&ExplainedTermView) -> bool| {
            let pairs =
                view.terms.iter().filter(|term| of(term)).filter_map(|term| stage.terms.get(term.term));
            let (predicted, measured) =
                pairs.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.predicted_ns, sum.1 + pair.measured_ns));
            format!("{} / {}", duration(predicted as i64), duration(measured as i64))
        };
        vec![
            Cell::from(stage.stage.to_string()),
            count(stage.ranks as u64).into(),
            sum(&|term| term.kind.is_compute()).into(),
            sum(&|term| term.kind.is_exchange()).into(),
            sum(&|term| term.term == "bubble").into(),
            stage.holder_label.unwrap_or("none").into(),
        ]
    };
    let more = view.stages.len().saturating_sub(shown);
    Table {
        columns: vec![
            Number("stage"),
            Number("ranks"),
            Number("computes"),
            Number("exposed exchange"),
            Number("bubble"),
            Text("term that holds its gap"),
        ],
        rows: view.stages.iter().take(shown).map(row).collect(),
        notes: std::iter::once("Predicted / measured.".to_owned())
            .chain((more > 0).then(|| format!("{more} more stages not shown")))
            .collect(),
    }
}

/// Each traced rank.
pub(crate) fn explained_ranks(view: &ExplainView) -> Table {
    const SHOWN: [(&str, &str); 5] = [
        ("products", "matrix products"),
        ("memory_bound", "memory-bound"),
        ("waiting", "waiting for peers"),
        ("bubble", "bubble"),
        ("host", "host"),
    ];
    let row =
        |rank: &crate::view::ExplainedRankView| {
            let steps = i64::try_from(rank.steps.max(1)).unwrap_or(i64::MAX);
            let number = |value: Option<u64>| or_unknown(value, |value| value.to_string());
            let mut row = vec![
                Cell::from(number(rank.rank.map(u64::from))),
                number(rank.stage.map(|stage| stage as u64)).into(),
                count(rank.steps).into(),
                duration(rank.total_ns / steps).into(),
            ];
            row.extend(SHOWN.map(|(key, _)| {
                Cell::from(duration(rank.terms.get(key).copied().unwrap_or_default() / steps))
            }));
            row
        };
    let mut columns = vec![Number("rank"), Number("stage"), Number("steps"), Number("mean step")];
    columns.extend(SHOWN.map(|(_, name)| Number(name)));
    let more = view.ranks.len().saturating_sub(64);
    Table {
        columns,
        rows: view.ranks.iter().take(64).map(row).collect(),
        notes: (more > 0).then(|| format!("{more} more ranks not shown; JSON has all")).into_iter().collect(),
    }
}

/// Findings as a table for a page.
pub(crate) fn explain_findings(view: &ExplainView) -> Table {
    let row = |found: &crate::view::ExplainFindingView| {
        vec![
            Cell::from(found.symptom),
            found.term_label.into(),
            signed_duration(found.amount_ns).into(),
            percent(Some(found.share)).into(),
            found.evidence.join("; ").into(),
            found.check.into(),
            found.lever.into(),
            found.owner.replace('_', " ").into(),
        ]
    };
    Table {
        columns: vec![
            Text("seen"),
            Text("term"),
            Number("adds"),
            Number("of the step"),
            Text("evidence"),
            Text("check"),
            Text("lever"),
            Text("owner"),
        ],
        rows: view.findings.iter().map(row).collect(),
        notes: Vec::new(),
    }
}
