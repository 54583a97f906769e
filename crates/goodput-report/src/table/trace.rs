//! Tables of a step trace.

use super::Column::{Number, Text};
use super::{Cell, Detail, Table, or_unknown};
use crate::name::{cut, short_path};
use crate::number::{UNKNOWN, count, counted, duration, percent, thousands};
use crate::view::{
    AmountsView, FindingRowView, KernelRowView, PeersView, TraceFileView, TraceRankView, TraceStepView,
    TraceView,
};

/// Every charge of the total.
pub(crate) fn charges(view: &TraceView) -> Table {
    let row = |charge: &crate::view::ChargeView| {
        vec![
            Cell { charge: Some(charge.kind), ..charge.label.clone().into() },
            duration(charge.time_ns).into(),
            share(charge.share),
            charge.term.into(),
            charge.owner.unwrap_or("may be ideal time").into(),
        ]
    };
    Table {
        columns: vec![
            Text("charged to"),
            Number("device-time"),
            Number("share"),
            Text("term"),
            Text("owner"),
        ],
        rows: view.charges.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

fn share(share: f64) -> Cell {
    Cell { text: percent(Some(share)), share: Some(share), ..Cell::default() }
}

/// The triage flow.
pub(crate) fn triage(view: &crate::view::TriageView) -> Table {
    let row = |q: &crate::view::QuestionView| {
        vec![q.question.into(), if q.yes { "yes" } else { "no" }.into(), q.figure.clone().into()]
    };
    Table {
        columns: vec![Text("question"), Text("answer"), Text("figure")],
        rows: view.questions.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// Trace patterns found.
pub(crate) fn trace_findings(findings: &[FindingRowView]) -> Table {
    let row = |f: &FindingRowView| {
        vec![
            f.label.into(),
            duration(f.time_ns).into(),
            share(f.share),
            f.term_label.into(),
            f.owner_label.into(),
        ]
    };
    Table {
        columns: vec![Text("the trace shows"), Number("time"), Number("share"), Text("term"), Text("owner")],
        rows: findings.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// A rank's number, else its part of the file.
pub(super) fn rank_of(rank: &TraceRankView) -> Cell {
    match (rank.rank, &rank.part) {
        (Some(rank), _) => rank.to_string().into(),
        (None, Some(part)) => cut(part, 24).into(),
        (None, None) => UNKNOWN.into(),
    }
}

/// One row a rank.
pub(crate) fn trace_ranks(ranks: &[TraceRankView], detail: Detail) -> Table {
    let limit = if detail == Detail::Brief { 16 } else { 1024 };
    let charge = |a: &AmountsView, keys: &[&str]| -> Cell {
        let ns: i64 = keys.iter().filter_map(|key| a.charges.get(&format!("{key}_ns"))).sum();
        percent_of(ns, a.window_ns)
    };
    let row = |rank: &TraceRankView| {
        let a = &rank.total;
        vec![
            rank_of(rank),
            duration(a.window_ns).into(),
            percent_of(a.compute_ns, a.window_ns),
            charge(a, &["transfer"]),
            charge(a, &["peer_wait", "bubble"]),
            charge(a, &["communication_not_split"]),
            percent_of(a.exposed_mem_ns, a.window_ns),
            percent_of(a.idle_host_late_ns, a.window_ns),
            percent_of(a.idle_launch_lat_ns, a.window_ns),
            percent_of(a.idle_unattributed_ns, a.window_ns),
        ]
    };
    Table {
        columns: vec![
            Number("rank"),
            Number("steps' time"),
            Number("compute"),
            Number("transfer"),
            Number("wait"),
            Number("not split"),
            Number("copies"),
            Number("host late"),
            Number("launch"),
            Number("unattributed"),
        ],
        rows: ranks.iter().take(limit).map(row).collect(),
        notes: omitted(ranks.len(), limit, "rank"),
    }
}

pub(super) fn omitted(of: usize, shown: usize, noun: &str) -> Vec<String> {
    let more = of.saturating_sub(shown);
    if more == 0 {
        Vec::new()
    } else {
        vec![format!("{} not shown", counted(more as u64, &format!("more {noun}")))]
    }
}

pub(super) fn percent_of(ns: i64, whole_ns: i64) -> Cell {
    if whole_ns <= 0 {
        return UNKNOWN.into();
    }
    share(ns as f64 / whole_ns as f64)
}

/// One row a step of each rank.
pub(crate) fn trace_steps(ranks: &[TraceRankView], detail: Detail) -> Table {
    let limit = if detail == Detail::Brief { 12 } else { 500 };
    let all: usize = ranks.iter().map(|rank| rank.steps.len()).sum();
    let row = |rank: &TraceRankView, step: &TraceStepView| {
        let of = |a: Option<&AmountsView>, part: fn(&AmountsView) -> i64| {
            a.map_or_else(|| UNKNOWN.into(), |a| percent_of(part(a), a.window_ns))
        };
        let length = |a: &AmountsView| duration(a.window_ns);
        let device = step.device_window.as_ref();
        vec![
            rank_of(rank),
            cut(&step.name, 32).into(),
            or_unknown(step.host_window.as_ref(), length).into(),
            or_unknown(device, length).into(),
            of(device, |a| a.compute_ns),
            of(device, |a| a.exposed_comm_ns),
            of(device, |a| a.idle_ns),
            count(step.device_events).into(),
            step.flags.join(", ").into(),
        ]
    };
    let rows = ranks.iter().flat_map(|rank| rank.steps.iter().map(move |step| row(rank, step)));
    Table {
        columns: vec![
            Number("rank"),
            Text("step"),
            Number("on the host"),
            Number("on the device"),
            Number("compute"),
            Number("exposed comm"),
            Number("idle"),
            Number("device events"),
            Text("mind"),
        ],
        rows: rows.take(limit).collect(),
        notes: omitted(all, limit, "step"),
    }
}

/// Device work by class, kernel or operator.
pub(crate) fn kernel_rows(rows: &[KernelRowView], name: &'static str, detail: Detail) -> Table {
    let limit = detail.rows();
    let width = if detail == Detail::Brief { 48 } else { 120 };
    let has_class = rows.iter().any(|row| row.class.is_some());
    let mut columns = vec![Text(name)];
    columns.extend(has_class.then_some(Text("class")));
    columns.extend([
        Number("count"),
        Number("total"),
        Number("charged"),
        Number("median"),
        Number("p99"),
        Number("longest"),
    ]);
    let row = |row: &KernelRowView| {
        let mut cells: Vec<Cell> = vec![cut(&row.name, width).into()];
        cells.extend(has_class.then(|| row.class.unwrap_or("").into()));
        cells.extend([
            count(row.count).into(),
            duration(row.total_ns).into(),
            duration(row.charged_ns).into(),
            duration(row.median_ns).into(),
            duration(row.p99_ns).into(),
            duration(row.max_ns).into(),
        ]);
        cells
    };
    Table {
        columns,
        rows: rows.iter().take(limit).map(row).collect(),
        notes: omitted(rows.len(), limit, "row"),
    }
}

/// Waiting and transfer by rank, with the skew charged to it.
pub(crate) fn peers(peers: &PeersView, detail: Detail) -> Table {
    let limit = if detail == Detail::Brief { 16 } else { 1024 };
    let rows = peers.ranks.iter().map(|rank| {
        let blame = peers.blame.iter().find(|b| b.rank == rank.rank);
        vec![
            rank.rank.to_string().into(),
            or_unknown(rank.clock_offset_ns, |ns| format!("{} µs", thousands(ns as f64 / 1e3, 3))).into(),
            duration(rank.wait_ns).into(),
            duration(rank.transfer_ns).into(),
            or_unknown(blame, |b| duration(b.skew_ns)).into(),
            or_unknown(blame, |b| count(b.times_last)).into(),
            blame.map_or_else(String::new, |b| b.doing.clone()).into(),
        ]
    });
    Table {
        columns: vec![
            Number("rank"),
            Number("clock offset"),
            Number("waits"),
            Number("transfers"),
            Number("made others wait"),
            Number("times last"),
            Text("meanwhile it"),
        ],
        rows: rows.take(limit).collect(),
        notes: omitted(peers.ranks.len(), limit, "rank"),
    }
}

/// Bandwidth of collectives.
pub(crate) fn bandwidth(peers: &PeersView, detail: Detail) -> Table {
    let rows = peers.bandwidth.iter().map(|b| {
        vec![
            b.label.into(),
            cut(&b.group, 24).into(),
            count(u64::from(b.group_size)).into(),
            count(b.count).into(),
            format!("{} MB", thousands(b.bytes as f64 / 1e6, 2)).into(),
            duration(b.median_transfer_ns).into(),
            format!("{} GB/s", thousands(b.median_bus_gb_per_s, 1)).into(),
            format!("{} GB/s", thousands(b.best_bus_gb_per_s, 1)).into(),
        ]
    });
    Table {
        columns: vec![
            Text("collective"),
            Text("group"),
            Number("members"),
            Number("count"),
            Number("size"),
            Number("transfer"),
            Number("bus bandwidth"),
            Number("best"),
        ],
        rows: rows.take(detail.rows()).collect(),
        notes: omitted(peers.bandwidth.len(), detail.rows(), "row"),
    }
}

/// What became of the events of each file.
pub(crate) fn trace_files(files: &[TraceFileView], detail: Detail) -> Table {
    let limit = if detail == Detail::Brief { 8 } else { 1024 };
    let row = |file: &TraceFileView| {
        let path = if detail == Detail::Brief { cut(short_path(&file.file), 40) } else { file.file.clone() };
        vec![
            path.into(),
            file.format.into(),
            format!("{} MB", thousands(file.bytes as f64 / 1e6, 1)).into(),
            count(file.events).into(),
            count(file.device_events).into(),
            count(file.lost_device_events).into(),
            percent(file.device_coverage).into(),
        ]
    };
    Table {
        columns: vec![
            Text("file"),
            Text("format"),
            Number("size"),
            Number("events"),
            Number("device events"),
            Number("lost"),
            Number("coverage"),
        ],
        rows: files.iter().take(limit).map(row).collect(),
        notes: omitted(files.len(), limit, "file"),
    }
}
