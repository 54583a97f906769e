//! Tables of the collective audit and of what to trace next.

use super::Column::{Number, Text};
use super::{Cell, Detail, Table, or_unknown};
use crate::number::{count, thousands};
use crate::view::{AuditView, SamplingView};

/// Expected exchanges against the trace, then what nothing explains.
pub(crate) fn audit(audit: &AuditView, detail: Detail) -> Table {
    let megabytes = |bytes: u64| format!("{} MB", thousands(bytes as f64 / 1e6, 2));
    let mut rows: Vec<Vec<Cell>> = audit
        .lines
        .iter()
        .map(|line| {
            vec![
                line.label.into(),
                format!("{} ({})", line.axis, line.group_size).into(),
                count(line.nodes as u64).into(),
                count(line.expected_count).into(),
                count(line.count).into(),
                megabytes(line.expected_bytes).into(),
                line.verdict_label.clone().into(),
            ]
        })
        .collect();
    rows.extend(audit.extra.iter().map(|extra| {
        vec![
            extra.label.into(),
            extra.group.clone().into(),
            or_unknown(extra.nodes, |nodes| count(nodes as u64)).into(),
            count(0).into(),
            count(extra.count).into(),
            or_unknown(extra.bytes, megabytes).into(),
            extra.looks_like_label.clone().into(),
        ]
    }));
    let limit = if detail == Detail::Brief { 20 } else { 200 };
    rows.truncate(limit);
    Table {
        columns: vec![
            Text("collective"),
            Text("axis (size)"),
            Number("nodes"),
            Number("expected"),
            Number("traced"),
            Number("size of each"),
            Text("verdict"),
        ],
        rows,
        notes: Vec::new(),
    }
}

/// Ranks to trace.
pub(crate) fn sampled_ranks(sampling: &SamplingView, detail: Detail) -> Table {
    let limit = if detail == Detail::Brief { 16 } else { 1024 };
    let row = |rank: &crate::view::SampledRankView| {
        vec![rank.rank.to_string().into(), rank.node.to_string().into(), rank.reason.clone().into()]
    };
    let more = sampling.ranks.len().saturating_sub(limit);
    Table {
        columns: vec![Number("rank"), Number("node"), Text("why")],
        rows: sampling.ranks.iter().take(limit).map(row).collect(),
        notes: if more > 0 { vec![format!("{more} more ranks not shown")] } else { Vec::new() },
    }
}

/// Windows to trace.
pub(crate) fn sampled_windows(sampling: &SamplingView) -> Table {
    let row = |window: &crate::view::SampledWindowView| {
        vec![
            format!("{:02}:00 UTC", window.hour).into(),
            or_unknown(window.like_step, |step| step.to_string()).into(),
            or_unknown(window.steps, |steps| count(steps.into())).into(),
            window.reason.clone().into(),
        ]
    };
    Table {
        columns: vec![Text("from"), Number("like step"), Number("steps"), Text("why")],
        rows: sampling.windows.iter().map(row).collect(),
        notes: Vec::new(),
    }
}
