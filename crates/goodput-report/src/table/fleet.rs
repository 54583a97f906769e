//! Pools, cohorts and workload classes.

use super::Column::{Number, Text};
use super::{Cell, Detail, Table, or_unknown};
use crate::number::{count, counted, device_hours, duration, factor, percent};
use crate::view::{CohortView, Exact, PoolView, WorkloadClassView};

pub(crate) fn pools(pools: &[PoolView], detail: Detail) -> Table {
    let full = detail == Detail::Full;
    let mut columns =
        vec![Text("pool"), Number("devices"), Number("offered h"), Number("sched."), Number("runtime")];
    let waiting = if full { "free h, queue waits" } else { "free, queued" };
    columns.extend([Number("program"), Number("MPG"), Number(waiting)]);
    if full {
        columns.extend([Number("free h, queue empty"), Number("availability"), Text("largest unheld cause")]);
    }
    let row = |p: &PoolView| {
        let f = &p.ledger.factors;
        let mut row: Vec<Cell> = vec![
            detail.name(&p.name).into(),
            count(p.devices).into(),
            device_hours(p.ledger.capacity_time.offered_ns.unwrap_or_default().capacity()).into(),
            factor(f.scheduling).into(),
            factor(f.runtime).into(),
            factor(f.program).into(),
            factor(f.mpg).into(),
            device_hours(p.diagnostics.free_queue_waiting_ns.capacity()).into(),
        ];
        if !full {
            return row;
        }
        row.push(device_hours(p.diagnostics.free_queue_empty_ns.capacity()).into());
        row.push(percent(p.availability).into());
        let unheld = p.losses.iter().find(|l| l.boundary == "scheduling");
        row.push(unheld.map_or_else(Cell::default, |l| Cell { pattern: Some(l.kind), ..l.label.into() }));
        row
    };
    let mut notes = vec![
        "Free while the queue waits or is empty is of the whole pool: a diagnosis, no charge.".to_owned(),
    ];
    let listed = largest(pools, detail);
    if listed.len() < pools.len() {
        notes.push(format!(
            "{} of {} shown.",
            count(listed.len() as u64),
            counted(pools.len() as u64, "pool")
        ));
    }
    Table { columns, rows: listed.into_iter().map(row).collect(), notes }
}

/// The pools that offer most.
fn largest(pools: &[PoolView], detail: Detail) -> Vec<&PoolView> {
    let mut largest: Vec<_> = pools.iter().collect();
    largest.sort_by_key(|p| std::cmp::Reverse(p.ledger.capacity_time.offered_ns));
    largest.truncate(detail.rows());
    largest
}

/// What stands beside the charge, in device-hours, and how long the queue waited.
pub(crate) fn diagnostics(pools: &[PoolView]) -> Table {
    let columns = vec![
        Text("pool"),
        Number("demand"),
        Number("queue waiting"),
        Number("free, only other pools wait"),
        Number("quota stranded, at most"),
        Number("free, planned for a gang"),
        Number("free on partly used nodes"),
        Number("free on whole nodes"),
        Number("fragmented"),
        Number("snapshots"),
    ];
    let row = |p: &PoolView| {
        let d = &p.diagnostics;
        let known = |ns: Option<Exact>| Cell::from(or_unknown(ns, |ns| device_hours(ns.capacity())));
        vec![
            Detail::Full.name(&p.name).into(),
            known(Some(d.demand_ns)),
            duration(d.queue_waiting_ns.as_i64()).into(),
            known(Some(d.free_other_pool_waiting_ns)),
            known(Some(d.quota_stranded_ns)),
            known(d.free_planned_ns),
            known(d.free_on_partly_used_nodes_ns),
            known(d.free_on_whole_nodes_ns),
            known(d.fragmented_ns),
            percent(Some(d.snapshot_coverage)).into(),
        ]
    };
    Table { columns, rows: largest(pools, Detail::Full).into_iter().map(row).collect(), notes: Vec::new() }
}

pub(crate) fn cohorts(cohorts: &[CohortView], detail: Detail) -> Table {
    let full = detail == Detail::Full;
    let mut columns = vec![Text("cohort"), Number("attempts"), Number("held h"), Number("sched.")];
    columns.extend([Number(if full { "first wait p50" } else { "wait p50" }), Number("p90")]);
    if full {
        columns.extend([Number("p99"), Number("attempt wait p50"), Number("p90")]);
    }
    columns.push(Number(if full { "longest total wait" } else { "longest" }));
    let mut rows = Vec::new();
    for (kind, word) in [("gang_size", "gang of"), ("account", "account"), ("partition", "partition")] {
        let mut of_kind: Vec<_> = cohorts.iter().filter(|c| c.kind == kind).collect();
        of_kind.sort_by_key(|c| std::cmp::Reverse(c.held_ns));
        let (listed, rest) = of_kind.split_at(of_kind.len().min(detail.rows()));
        for c in listed {
            let wait = |ns: Exact| Cell::from(duration(ns.as_i64()));
            let mut row: Vec<Cell> = vec![
                format!("{word} {}", detail.name(&c.label)).into(),
                count(c.attempts).into(),
                device_hours(c.held_ns.capacity()).into(),
                factor(c.scheduling_goodput).into(),
                wait(c.first_wait.p50_ns),
                wait(c.first_wait.p90_ns),
            ];
            if full {
                row.extend([c.first_wait.p99_ns, c.attempt_wait.p50_ns, c.attempt_wait.p90_ns].map(wait));
            }
            row.push(wait(c.total_wait.max_ns));
            rows.push(row);
        }
        if !rest.is_empty() {
            let held = rest.iter().map(|c| c.held_ns.capacity()).sum();
            let mut row: Vec<Cell> = vec![
                format!("{word} … {}", counted(rest.len() as u64, "other")).into(),
                count(rest.iter().map(|c| c.attempts).sum()).into(),
                device_hours(held).into(),
            ];
            row.resize(columns.len(), Cell::default());
            rows.push(row);
        }
    }
    let notes = vec![
        "Scheduling goodput of a cohort is held over held plus partly held or kept free for its jobs."
            .to_owned(),
    ];
    Table { columns, rows, notes }
}

/// A row for each named ideal.
pub(crate) fn classes(classes: &[WorkloadClassView]) -> Table {
    let columns = vec![
        Text("ideal"),
        Number("jobs"),
        Number("held h"),
        Number("retained h"),
        Number("ideal h"),
        Number("runtime"),
        Number("program"),
    ];
    let row = |c: &WorkloadClassView| {
        vec![
            c.ideal.into(),
            count(c.jobs).into(),
            device_hours(c.held_ns.capacity()).into(),
            device_hours(c.retained_ns.capacity()).into(),
            device_hours(c.ideal_ns.capacity()).into(),
            factor(c.runtime).into(),
            factor(c.program).into(),
        ]
    };
    let notes = if WorkloadClassView::are_mixed(classes) {
        vec!["Classes with different ideals have no common MPG.".to_owned()]
    } else {
        Vec::new()
    };
    Table { columns, rows: classes.iter().map(row).collect(), notes }
}
