//! Pools, cohorts and series: what the scheduler's records say of each part of the fleet.

use goodput_core::records::{FleetRecords, Symbols};
use goodput_core::scheduling::{Cohort, CohortKind, PoolAccount, PoolDiagnostics, WaitStatistics};
use goodput_core::{CapacityTime, Ledger};
use serde::Serialize;

use super::exact::Exact;
use super::ledger::{LedgerView, LossView, Scope};
use super::read::Sources;
use crate::number::rfc3339;

/// One pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolView {
    /// Pool name.
    pub name: String,
    /// Most devices installed at any time.
    pub devices: u64,
    /// Its ledger.
    #[serde(flatten)]
    pub ledger: LedgerView,
    /// Its losses, the largest first.
    pub losses: Vec<LossView>,
    /// In service over installed: beside the product.
    pub availability: Option<f64>,
    /// Free device-time out of service.
    pub out_of_service_ns: Exact,
    /// Beside the charge, never part of it.
    pub diagnostics: DiagnosticsView,
}

impl PoolView {
    pub(crate) fn new(pool: &PoolAccount, ledger: &Ledger, symbols: &Symbols, sources: &Sources<'_>) -> Self {
        Self {
            name: symbols.get(pool.name).to_owned(),
            devices: pool.devices,
            ledger: LedgerView::new(ledger, Scope::Pool),
            losses: LossView::of(ledger, ledger.chain().levels().offered, sources),
            availability: availability(pool),
            out_of_service_ns: pool.out_of_service.into(),
            diagnostics: DiagnosticsView::from(&pool.diagnostics),
        }
    }
}

/// The share of installed capacity that was in service.
pub(crate) fn availability(pool: &PoolAccount) -> Option<f64> {
    (pool.installed - pool.out_of_service).share_of(pool.installed)
}

/// Figures of a whole pool, printed beside the charge.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DiagnosticsView {
    /// Free while any job of the pool waited.
    pub free_queue_waiting_ns: Exact,
    /// Free while none waited.
    pub free_queue_empty_ns: Exact,
    /// Free while only another pool's queue waited.
    pub free_other_pool_waiting_ns: Exact,
    /// Of that, at most the unmet demand elsewhere.
    pub quota_stranded_ns: Exact,
    /// Free and kept for a gang, by snapshots.
    pub free_planned_ns: Option<Exact>,
    /// Free while the queue waited, on partly used nodes.
    pub free_on_partly_used_nodes_ns: Option<Exact>,
    /// Free while the queue waited, on whole free nodes.
    pub free_on_whole_nodes_ns: Option<Exact>,
    /// Integral of the fragmentation measure over free time.
    pub fragmented_ns: Option<Exact>,
    /// Device-time that waiting jobs asked for.
    pub demand_ns: Exact,
    /// Time with a waiting job.
    pub queue_waiting_ns: Exact,
    /// Share of the window covered by node snapshots.
    pub snapshot_coverage: f64,
}

impl From<&PoolDiagnostics> for DiagnosticsView {
    fn from(d: &PoolDiagnostics) -> Self {
        let optional = |amount: Option<CapacityTime>| amount.map(Exact::from);
        Self {
            free_queue_waiting_ns: d.free_queue_waiting.into(),
            free_queue_empty_ns: d.free_queue_empty.into(),
            free_other_pool_waiting_ns: d.free_other_pool_waiting.into(),
            quota_stranded_ns: d.quota_stranded.into(),
            free_planned_ns: optional(d.free_planned),
            free_on_partly_used_nodes_ns: optional(d.free_on_partly_used_nodes),
            free_on_whole_nodes_ns: optional(d.free_on_whole_nodes),
            fragmented_ns: optional(d.fragmented),
            demand_ns: d.demand.into(),
            queue_waiting_ns: d.queue_waiting_ns.into(),
            snapshot_coverage: d.snapshot_coverage,
        }
    }
}

/// A pool over time; each point holds until the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesView {
    /// Pool name; `None` for the fleet.
    pub pool: Option<String>,
    /// In time order.
    pub points: Vec<PointView>,
}

/// One point of a series.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PointView {
    /// RFC 3339, UTC.
    pub at: String,
    /// Mean devices in service until the next point.
    pub offered: f64,
    /// Mean devices held.
    pub held: f64,
    /// Most waiting jobs.
    pub waiting_jobs: u64,
    /// Most devices asked for by waiting jobs.
    pub waiting_devices: u64,
    /// Largest gang of whole nodes that could have been placed.
    pub largest_gang_nodes: Option<u32>,
}

impl SeriesView {
    pub(crate) fn new(pool: &PoolAccount, name: Option<String>) -> Self {
        let points = pool
            .series
            .iter()
            .map(|p| PointView {
                at: rfc3339(p.at),
                offered: p.offered,
                held: p.held,
                waiting_jobs: p.waiting_jobs,
                waiting_devices: p.waiting_devices,
                largest_gang_nodes: p.largest_gang_nodes,
            })
            .collect();
        Self { pool: name, points }
    }
}

/// Attempts with something in common.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CohortView {
    /// `gang_size`, `account` or `partition`.
    pub kind: &'static str,
    /// The gang size in devices, or the name.
    pub label: String,
    /// Attempts that held or waited inside the window.
    pub attempts: u64,
    /// Held capacity-time.
    pub held_ns: Exact,
    /// Held capacity-time in device-hours.
    pub held_device_hours: f64,
    /// Partly held or kept free for these jobs.
    pub partly_held_ns: Option<Exact>,
    /// Held over held plus partly held or kept free.
    pub scheduling_goodput: Option<f64>,
    /// Submit to start, attempts that started in the window.
    pub attempt_wait: WaitView,
    /// First submit to first start of a job.
    pub first_wait: WaitView,
    /// All waits of a job, requeues included.
    pub total_wait: WaitView,
}

impl CohortView {
    pub(crate) fn new(cohort: &Cohort) -> Self {
        Self {
            kind: match cohort.kind {
                CohortKind::GangSize => "gang_size",
                CohortKind::Account => "account",
                CohortKind::Partition => "partition",
            },
            label: cohort.label.clone(),
            attempts: cohort.attempts,
            held_ns: cohort.held.into(),
            held_device_hours: cohort.held.device_hours(),
            partly_held_ns: cohort.partly_held.map(Into::into),
            scheduling_goodput: cohort
                .partly_held
                .and_then(|partly| cohort.held.share_of(cohort.held + partly)),
            attempt_wait: cohort.attempt_wait.into(),
            first_wait: cohort.first_wait.into(),
            total_wait: cohort.total_wait.into(),
        }
    }
}

/// Percentiles of waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct WaitView {
    /// Waits counted.
    pub count: u64,
    /// Median.
    pub p50_ns: Exact,
    /// 90th percentile.
    pub p90_ns: Exact,
    /// 99th percentile.
    pub p99_ns: Exact,
    /// Longest.
    pub max_ns: Exact,
}

impl From<WaitStatistics> for WaitView {
    fn from(w: WaitStatistics) -> Self {
        Self {
            count: w.count,
            p50_ns: w.p50_ns.into(),
            p90_ns: w.p90_ns.into(),
            p99_ns: w.p99_ns.into(),
            max_ns: w.max_ns.into(),
        }
    }
}

/// Device types that the inventory names, in order.
pub(crate) fn device_types(records: &FleetRecords) -> Vec<String> {
    let mut types: Vec<_> = records.nodes.iter().map(|n| records.symbols.get(n.device_type)).collect();
    types.sort_unstable();
    types.dedup();
    types.retain(|t| !t.is_empty());
    types.into_iter().map(str::to_owned).collect()
}
