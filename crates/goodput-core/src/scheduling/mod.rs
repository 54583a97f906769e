//! Scheduling goodput: capacity-time that complete allocations hold, over what the pool offered.

mod account;
mod attempts;
mod cohorts;
mod coverage;
mod demand;
mod events;
mod evidence;
mod fleet_scope;
mod fragmentation;
mod free_nodes;
mod input;
mod inventory;
mod layout;
mod notes;
mod placement;
mod pool;
mod pool_series;
mod series;
mod snapshots;
mod spread;
mod sweep;
mod unheld;
mod waits;

use std::collections::BTreeMap;

use crate::capacity::CapacityTime;
use crate::ledger::Loss;
use crate::records::{JobState, SourceRef, Symbol};
use crate::time::{Interval, Timestamp, Window};
use crate::warning::Warning;

pub use account::{account, account_jobs};
pub use attempts::{HeldLives, Jobs, held_intervals_of};
pub use fragmentation::{SharedNode, TaskClass, task_fragments, whole_node_fragments};

/// Why no account can be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchedulingError {
    /// Nothing says how many devices there are.
    #[error(
        "no record says how many devices the fleet offers; supply its events (`sacctmgr show event -P All_Time`), its nodes (`scontrol -o show node -d`) or a node list"
    )]
    NoCapacity,
    /// The records were written before the window begins.
    #[error(
        "the records were written at {written_at} and the window begins at {from}, so they say nothing about it; export them again or choose an earlier window"
    )]
    NotCovered {
        /// When the latest record was written.
        written_at: Timestamp,
        /// First instant of the window.
        from: Timestamp,
    },
    /// The window lies before or after everything that the records tell.
    #[error(
        "no record falls into the window {window}: the records run from {first} to {last}; export them for the window, or choose a window inside them"
    )]
    OutsideRecords {
        /// First instant of the records.
        first: Timestamp,
        /// Last instant of the records.
        last: Timestamp,
        /// The window.
        window: Window,
    },
    /// A named pool lists a node that no record knows.
    #[error(
        "pool `{pool}` lists node `{node}`, which is in no inventory and has no accelerators that records know of; correct the name or supply the inventory"
    )]
    UnknownNode {
        /// The pool.
        pool: String,
        /// The node.
        node: String,
    },
    /// A named pool has no nodes.
    #[error(
        "pool `{pool}` has no nodes: it lists none, and no node of the inventory is in a partition of that name"
    )]
    EmptyPool {
        /// The pool.
        pool: String,
    },
    /// Two named pools share a node.
    #[error("node `{node}` is in pool `{first}` and in pool `{second}`; pools must not share nodes")]
    PoolsOverlap {
        /// The node.
        node: String,
        /// The pool that names it first.
        first: String,
        /// The pool that names it again.
        second: String,
    },
    /// More records than one account can number.
    #[error(
        "{records} records are more than one account takes ({}); account shorter windows",
        events::MAX_POSITION
    )]
    TooMany {
        /// Records of one kind.
        records: usize,
    },
}

/// What the scheduling factor divides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Denominator {
    /// In-service capacity: out-of-service time is availability, beside the product.
    #[default]
    InService,
    /// Installed capacity: out-of-service time is a scheduling loss.
    Installed,
}

/// A pool named by the user: its nodes, or its partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolSpec {
    /// Name.
    pub name: Symbol,
    /// Its nodes; when empty, the nodes of the partition of that name. Pools are disjoint.
    pub nodes: Vec<Symbol>,
}

/// How to account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchedulingOptions {
    /// The window.
    pub window: Window,
    /// What the factor divides by.
    pub denominator: Denominator,
    /// Pools; derived from partitions and device types when empty.
    pub pools: Vec<PoolSpec>,
    /// Points kept a series for pictures (the figures themselves use every change).
    pub series_points: usize,
}

/// The scheduling account of a fleet.
#[derive(Debug, Clone)]
pub struct SchedulingAccount {
    /// The window.
    pub window: Window,
    /// What the factor divides by.
    pub denominator: Denominator,
    /// One account a pool; pools are disjoint and sum to the fleet.
    pub pools: Vec<PoolAccount>,
    /// The whole fleet; its `no_demand` is judged against the fleet's demand.
    pub fleet: PoolAccount,
    /// What each attempt held inside the window, in the order of the attempts, rows of one job cut so that they do not
    /// overlap.
    pub held: Vec<HeldAttempt>,
    /// Held capacity-time by the state of the record.
    pub by_state: BTreeMap<JobState, CapacityTime>,
    /// By gang size, account and partition.
    pub cohorts: Vec<Cohort>,
    /// What was odd.
    pub warnings: Vec<Warning>,
}

/// One pool over the window.
#[derive(Debug, Clone)]
pub struct PoolAccount {
    /// Pool name; the empty symbol for the fleet.
    pub name: Symbol,
    /// Most devices installed at any time.
    pub devices: u64,
    /// Installed devices times the window.
    pub installed: CapacityTime,
    /// Free device-time on nodes that were down, drained or in maintenance.
    pub out_of_service: CapacityTime,
    /// The denominator of the factor.
    pub offered: CapacityTime,
    /// Held by complete allocations, and by reservations granted to a team.
    pub held: CapacityTime,
    /// Of `held`, what reservations hold and no job uses: a runtime loss of no attempt
    /// ([`Pattern::IdleReservation`](crate::Pattern::IdleReservation)).
    pub idle_reserved: CapacityTime,
    /// The reservations behind it, the largest few.
    pub idle_reserved_evidence: Vec<SourceRef>,
    /// Unheld capacity-time, each part charged once; sums to `offered - held`.
    pub losses: Vec<Loss>,
    /// Beside the charge, never part of it.
    pub diagnostics: PoolDiagnostics,
    /// For pictures.
    pub series: Vec<SeriesPoint>,
}

/// Figures of a whole pool, printed beside the charge.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PoolDiagnostics {
    /// Free in-service device-time while at least one job of the pool waited, whatever it asked for.
    pub free_queue_waiting: CapacityTime,
    /// Free in-service device-time while no job of the pool waited.
    pub free_queue_empty: CapacityTime,
    /// Free while this pool's queue was empty and another pool's was not.
    pub free_other_pool_waiting: CapacityTime,
    /// Of that, at most the unmet demand elsewhere at the same time.
    pub quota_stranded: CapacityTime,
    /// Free on nodes that snapshots show as kept for a gang; `None` without snapshots.
    pub free_planned: Option<CapacityTime>,
    /// Free while the queue waited, on partly used nodes; `None` when node lists are missing.
    pub free_on_partly_used_nodes: Option<CapacityTime>,
    /// Free while the queue waited, on whole free nodes; `None` when node lists are missing.
    pub free_on_whole_nodes: Option<CapacityTime>,
    /// Integral of the fragmentation measure over free time (whole-node gangs), `None` when unknown.
    pub fragmented: Option<CapacityTime>,
    /// Device-time that waiting jobs asked for.
    pub demand: CapacityTime,
    /// Time during which the pool had a waiting job, in nanoseconds.
    pub queue_waiting_ns: i64,
    /// Share of the window covered by node snapshots.
    pub snapshot_coverage: f64,
}

/// The state of a pool at one instant, holding until the next point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesPoint {
    /// When.
    pub at: Timestamp,
    /// Mean devices in service since this point until the next.
    pub offered: f64,
    /// Mean devices held.
    pub held: f64,
    /// Most waiting jobs.
    pub waiting_jobs: u64,
    /// Most devices asked for by waiting jobs.
    pub waiting_devices: u64,
    /// Largest gang of whole nodes that could have been placed (smallest over the stretch), if node lists tell.
    pub largest_gang_nodes: Option<u32>,
}

/// What one attempt held of one pool inside the window: an attempt over several pools has one entry for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldAttempt {
    /// Position in `FleetRecords::attempts`.
    pub attempt: usize,
    /// Position in `SchedulingAccount::pools`.
    pub pool: usize,
    /// Inside the window, after overlapping rows of one job were cut.
    pub interval: Interval,
    /// Devices, counted in the records' `device_unit`.
    pub devices: u64,
}

/// What groups a cohort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CohortKind {
    /// Devices of the gang.
    GangSize,
    /// Account.
    Account,
    /// Partition.
    Partition,
}

/// Attempts with something in common.
#[derive(Debug, Clone)]
pub struct Cohort {
    /// What groups it.
    pub kind: CohortKind,
    /// The gang size in devices, or the name.
    pub label: String,
    /// Attempts that held or waited inside the window.
    pub attempts: u64,
    /// Held capacity-time.
    pub held: CapacityTime,
    /// Partly held or kept free for this cohort's jobs; `None` when no snapshot shows it.
    pub partly_held: Option<CapacityTime>,
    /// Wait from submit to start of the attempts that started inside the window.
    pub attempt_wait: WaitStatistics,
    /// Wait from a job's first submit to its first start.
    pub first_wait: WaitStatistics,
    /// All waits of a job, requeues included.
    pub total_wait: WaitStatistics,
}

/// Percentiles of waits in nanoseconds: `sorted[n/2]`, `sorted[floor(0.9 n)]`, `sorted[floor(0.99 n)]`, from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WaitStatistics {
    /// Waits counted.
    pub count: u64,
    /// Median.
    pub p50_ns: i64,
    /// 90th percentile.
    pub p90_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// Longest.
    pub max_ns: i64,
}
