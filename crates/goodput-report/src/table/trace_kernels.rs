//! Tables of kernels on the roofline and beside communication.

use super::Column::{Number, Text};
use super::trace::{omitted, percent_of, rank_of};
use super::{Cell, Detail, Table, or_unknown};
use crate::name::cut;
use crate::number::{UNKNOWN, count, duration, percent, si, thousands};
use crate::view::{ContendedKernelView, OverlapView, RooflineKernelView, RooflineView, TraceRankView};

/// Kernels between bandwidth and peak.
pub(crate) fn roofline(view: &RooflineView, detail: Detail) -> Table {
    let full = detail == Detail::Full;
    let any_assumed = view.kernels.iter().any(|kernel| kernel.assumed.is_some());
    let row = |kernel: &RooflineKernelView| {
        let mut cells: Vec<Cell> = vec![
            cut(&kernel.name, if full { 100 } else { 34 }).into(),
            duration(kernel.time_ns).into(),
            or_unknown(kernel.intensity.filter(|i| *i > 0.0), |i| thousands(i, if i < 10.0 { 2 } else { 0 }))
                .into(),
            si(kernel.flops_per_second, "FLOP/s").into(),
            percent(Some(kernel.compute_share)).into(),
            percent(Some(kernel.bandwidth_share)).into(),
            kernel.regime_label.clone().into(),
        ];
        if full {
            cells.insert(1, kernel.class.into());
            cells.insert(2, kernel.dtype.unwrap_or(UNKNOWN).into());
            cells.insert(3, count(kernel.count).into());
            cells.extend(any_assumed.then(|| kernel.assumed.unwrap_or("").into()));
        }
        cells
    };
    let mut columns = vec![
        Text("kernel"),
        Number("time"),
        Number("FLOP/byte"),
        Number("achieved"),
        Number("of peak"),
        Number("of bandwidth"),
        Text("stands"),
    ];
    if full {
        columns.splice(1..1, [Text("class"), Text("type"), Number("count")]);
        columns.extend(any_assumed.then_some(Text("assumed")));
    }
    let all = view.kernels.len() + view.kernels_omitted as usize;
    Table {
        columns,
        rows: view.kernels.iter().take(detail.rows()).map(row).collect(),
        notes: omitted(all, detail.rows().min(view.kernels.len()), "kernel"),
    }
}

/// Communication of each rank: hidden and exposed in the judged steps, and what hiding it costs.
pub(crate) fn overlap(ranks: &[TraceRankView], view: &OverlapView, detail: Detail) -> Table {
    let limit = if detail == Detail::Brief { 16 } else { 1024 };
    let rows = ranks.iter().zip(&view.ranks).map(|(rank, overlap)| {
        let total = &rank.total;
        vec![
            rank_of(rank),
            duration(total.comm_total_ns).into(),
            percent_of(total.overlap_ns, total.comm_total_ns),
            duration(total.exposed_comm_ns).into(),
            percent_of(total.exposed_comm_ns, total.window_ns),
            duration(overlap.hidden_ns).into(),
            duration(overlap.extra_ns).into(),
            duration(overlap.net_gain_ns).into(),
        ]
    });
    Table {
        columns: vec![
            Number("rank"),
            Number("communication"),
            Number("hidden"),
            Number("exposed"),
            Number("of the steps"),
            Number("hidden, whole trace"),
            Number("slows kernels by"),
            Number("net gain"),
        ],
        rows: rows.take(limit).collect(),
        notes: omitted(ranks.len(), limit, "rank"),
    }
}

/// Kernels beside communication against their undisturbed runs.
pub(crate) fn contention(view: &OverlapView, detail: Detail) -> Table {
    let width = if detail == Detail::Brief { 32 } else { 100 };
    let row = |kernel: &ContendedKernelView| {
        vec![
            or_unknown(kernel.rank, |rank| rank.to_string()).into(),
            cut(&kernel.name, width).into(),
            format!("{} of {}", count(kernel.overlapped), count(kernel.overlapped + kernel.undisturbed))
                .into(),
            duration(kernel.undisturbed_median_ns).into(),
            duration(kernel.overlapped_median_ns).into(),
            format!("{}x", thousands(kernel.slowdown, 2)).into(),
            duration(kernel.extra_ns).into(),
            if kernel.of_one_size { "" } else { "sizes not recorded" }.into(),
        ]
    };
    Table {
        columns: vec![
            Number("rank"),
            Text("kernel"),
            Number("beside it"),
            Number("alone"),
            Number("with it"),
            Number("slowdown"),
            Number("adds"),
            Text("mind"),
        ],
        rows: view.kernels.iter().take(detail.rows()).map(row).collect(),
        notes: omitted(view.kernels.len(), detail.rows(), "kernel"),
    }
}
