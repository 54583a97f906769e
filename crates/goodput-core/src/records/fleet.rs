//! A fleet's records: attempts of jobs, nodes and their state, capacity, samples.

use super::{SourceRef, Symbol, Symbols};
use crate::time::{Interval, Timestamp, Window};

/// Identity of one attempt. A job id alone is not one: ids are reused after a scheduler loses its
/// state, and a requeued job keeps its id (Slurm: `JobIDRaw` with its `Submit`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptKey {
    /// Cluster name.
    pub cluster: Symbol,
    /// The scheduler's raw job id.
    pub job: Symbol,
    /// Submit instant of this attempt (a requeue submits anew).
    pub submit: Timestamp,
}

/// How the scheduler says that an attempt stands or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobState {
    /// Waiting.
    Pending,
    /// Holding its allocation.
    Running,
    /// Ended with success.
    Completed,
    /// Cancelled by a user or an administrator.
    Cancelled,
    /// Ended with a failure of its own.
    Failed,
    /// Ended at its time limit.
    Timeout,
    /// Ended by the failure of a node.
    NodeFail,
    /// Ended to make room for another job.
    Preempted,
    /// Ended out of memory.
    OutOfMemory,
    /// Never started: the node could not boot.
    BootFail,
    /// Could not start before its deadline.
    Deadline,
    /// Ended and put back into the queue.
    Requeued,
    /// Ended here and goes on with another size.
    Resizing,
    /// Suspended at the time of the record.
    Suspended,
    /// A word this version does not know; the allocation still counts.
    Other,
}

impl JobState {
    /// The scheduler's word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Cancelled => "CANCELLED",
            Self::Failed => "FAILED",
            Self::Timeout => "TIMEOUT",
            Self::NodeFail => "NODE_FAIL",
            Self::Preempted => "PREEMPTED",
            Self::OutOfMemory => "OUT_OF_MEMORY",
            Self::BootFail => "BOOT_FAIL",
            Self::Deadline => "DEADLINE",
            Self::Requeued => "REQUEUED",
            Self::Resizing => "RESIZING",
            Self::Suspended => "SUSPENDED",
            Self::Other => "OTHER",
        }
    }
}

/// Why a waiting job waits, as far as the record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum WaitReason {
    /// Resources or priority, or no reason given: the job is eligible.
    #[default]
    Eligible,
    /// A quota or limit of its account, QOS or partition blocks it.
    Limit,
    /// Not eligible: held, later begin time, or an unmet dependency.
    NotEligible,
}

/// A set of nodes by handle into [`FleetRecords::node_sets`]; many attempts share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeSet(pub u32);

impl NodeSet {
    /// The empty set: no node list was given.
    pub const NONE: Self = Self(0);
}

/// One attempt of a job: from its submission to the release of its allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Identity.
    pub key: AttemptKey,
    /// The id a person knows (`9_5`, `23+1`).
    pub display_id: Symbol,
    /// Job name.
    pub name: Symbol,
    /// User.
    pub user: Symbol,
    /// Account.
    pub account: Symbol,
    /// Partition or queue.
    pub partition: Symbol,
    /// Quality of service.
    pub qos: Symbol,
    /// Reservation the job ran in; empty when none.
    pub reservation: Symbol,
    /// State at the end, or at the time of the record.
    pub state: JobState,
    /// When it could first have started; `None` when never eligible or not recorded.
    pub eligible: Option<Timestamp>,
    /// When its first device was assigned, where the record tells that apart from `start` (a gang that is
    /// bound member by member); `None` when the allocation is atomic or the record does not say.
    pub assigned: Option<Timestamp>,
    /// When its gang was complete; `None` when it never started.
    pub start: Option<Timestamp>,
    /// When it released its devices; `None` while running or pending.
    pub end: Option<Timestamp>,
    /// Time suspended with the devices kept, in nanoseconds.
    pub suspended_ns: i64,
    /// Requested run-time limit in nanoseconds.
    pub time_limit_ns: Option<i64>,
    /// Devices held (allocated), or asked for while it never started.
    pub devices: u64,
    /// Nodes held or asked for.
    pub node_count: u32,
    /// Which nodes; [`NodeSet::NONE`] when the record does not say.
    pub nodes: NodeSet,
    /// Why it waits or last waited.
    pub wait_reason: WaitReason,
    /// The record.
    pub source: SourceRef,
}

impl Attempt {
    /// `[start, end)`, with `open_end` for an attempt that still runs; `None` when it never started.
    pub fn held(&self, open_end: Timestamp) -> Option<Interval> {
        let start = self.start?;
        Some(Interval::new(start, self.end.unwrap_or(open_end)))
    }
}

/// Devices assigned to a gang that is not complete: one member bound while others still wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialHold {
    /// Position of the gang in [`FleetRecords::attempts`].
    pub attempt: usize,
    /// The node; empty when the record does not say.
    pub node: Symbol,
    /// Devices assigned.
    pub devices: u32,
    /// From.
    pub start: Timestamp,
    /// Until given back; `None` until the gang is complete, the attempt ends, or the records end.
    pub end: Option<Timestamp>,
    /// The record.
    pub source: SourceRef,
}

/// A node of the inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Name.
    pub name: Symbol,
    /// Accelerators.
    pub devices: u32,
    /// Device type, empty when the record does not say.
    pub device_type: Symbol,
    /// Partitions it belongs to.
    pub partitions: Vec<Symbol>,
    /// Topology block or switch, empty when unknown.
    pub block: Symbol,
}

/// A node's state as the accounting sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeStatus {
    /// In service.
    Up,
    /// Down, failed or not usable.
    Down,
    /// Takes no new jobs; free devices are out of service, held ones stay in service until release.
    Drain,
    /// In a maintenance reservation.
    Maintenance,
}

/// A stretch of time in which a node was out of service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeInterval {
    /// The node.
    pub node: Symbol,
    /// Why.
    pub status: NodeStatus,
    /// From.
    pub start: Timestamp,
    /// Until; `None` while it lasts.
    pub end: Option<Timestamp>,
    /// The operator's words.
    pub reason: Symbol,
    /// The record.
    pub source: SourceRef,
}

/// Installed capacity over a stretch of time (Slurm: the events' cluster rows).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapacityStep {
    /// Cluster name.
    pub cluster: Symbol,
    /// From.
    pub start: Timestamp,
    /// Until; `None` while it lasts.
    pub end: Option<Timestamp>,
    /// Accelerators.
    pub devices: u64,
    /// Which nodes, where the record lists them.
    pub nodes: NodeSet,
    /// The record.
    pub source: SourceRef,
}

/// A reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Name.
    pub name: Symbol,
    /// From.
    pub start: Timestamp,
    /// Until.
    pub end: Timestamp,
    /// Its nodes; [`NodeSet::NONE`] when the record does not list them, and then it is unknown.
    pub nodes: NodeSet,
    /// Whether it takes the nodes out of service.
    pub maintenance: bool,
    /// The record.
    pub source: SourceRef,
}

/// One node in one snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeSample {
    /// When.
    pub at: Timestamp,
    /// The node.
    pub node: Symbol,
    /// In service or not. A draining node that is busy shows only here.
    pub status: NodeStatus,
    /// Kept free by the scheduler for a waiting gang (Slurm: PLANNED).
    pub planned: bool,
    /// Accelerators.
    pub devices: u32,
    /// Of these, allocated.
    pub allocated: u32,
}

/// One waiting or running job in one snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSample {
    /// When.
    pub at: Timestamp,
    /// Raw job id.
    pub job: Symbol,
    /// Partition.
    pub partition: Symbol,
    /// Whether it waits (otherwise it runs or ends).
    pub pending: bool,
    /// Why it waits.
    pub reason: WaitReason,
    /// Devices asked for or held, zero when the sample does not say.
    pub devices: u64,
    /// Nodes asked for or held.
    pub node_count: u32,
}

/// A pool's totals at one instant, for sources that publish series instead of jobs. Each sample
/// holds until the next one of its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSample {
    /// When.
    pub at: Timestamp,
    /// The pool.
    pub pool: Symbol,
    /// Devices in service.
    pub offered: u64,
    /// Devices held by complete allocations.
    pub held: u64,
    /// Devices that waiting jobs ask for.
    pub demand: u64,
    /// The record.
    pub source: SourceRef,
}

/// What one of a device count is, in [`FleetRecords`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum DeviceUnit {
    /// A whole device.
    #[default]
    Device,
    /// A thousandth of a device, for fleets whose jobs share one.
    MilliDevice,
}

impl DeviceUnit {
    /// Units in one whole device: divide sums over counts by it.
    pub const fn per_device(self) -> u32 {
        match self {
            Self::Device => 1,
            Self::MilliDevice => 1000,
        }
    }
}

/// Everything that scheduler records say about one fleet.
#[derive(Debug, Clone, Default)]
pub struct FleetRecords {
    /// Names.
    pub symbols: Symbols,
    /// What every device count below counts. Whole devices unless jobs share one.
    pub device_unit: DeviceUnit,
    /// Node lists by [`NodeSet`]; entry 0 is empty. Nodes are sorted and distinct within a set.
    pub node_sets: Vec<Vec<Symbol>>,
    /// Attempts, in file order.
    pub attempts: Vec<Attempt>,
    /// Members bound to gangs that were not complete, where records tell; empty for atomic schedulers.
    pub partial_holds: Vec<PartialHold>,
    /// Inventory; empty when no record lists nodes.
    pub nodes: Vec<Node>,
    /// Installed capacity over time.
    pub capacity: Vec<CapacityStep>,
    /// Out-of-service intervals.
    pub node_intervals: Vec<NodeInterval>,
    /// Reservations.
    pub reservations: Vec<Reservation>,
    /// Node snapshots, by time.
    pub node_samples: Vec<NodeSample>,
    /// Queue snapshots, by time.
    pub queue_samples: Vec<QueueSample>,
    /// Pool series, by time.
    pub pool_samples: Vec<PoolSample>,
    /// The latest instant at which any of these records was written, where a record says so: "now"
    /// for attempts that still run.
    pub written_at: Option<Timestamp>,
}

impl FleetRecords {
    /// No records; the empty node set is in place.
    pub fn new() -> Self {
        Self { node_sets: vec![Vec::new()], ..Self::default() }
    }

    /// Counts in thousandths of a device from here on; what is there already is converted.
    pub fn count_in_milli_devices(&mut self) {
        if self.device_unit == DeviceUnit::MilliDevice {
            return;
        }
        self.device_unit = DeviceUnit::MilliDevice;
        let scale = self.device_unit.per_device();
        let large = |count: &mut u64| *count = count.saturating_mul(scale.into());
        let small = |count: &mut u32| *count = count.saturating_mul(scale);
        self.attempts.iter_mut().for_each(|a| large(&mut a.devices));
        self.partial_holds.iter_mut().for_each(|p| small(&mut p.devices));
        self.nodes.iter_mut().for_each(|n| small(&mut n.devices));
        self.capacity.iter_mut().for_each(|c| large(&mut c.devices));
        self.queue_samples.iter_mut().for_each(|q| large(&mut q.devices));
        for sample in &mut self.node_samples {
            small(&mut sample.devices);
            small(&mut sample.allocated);
        }
        for sample in &mut self.pool_samples {
            large(&mut sample.offered);
            large(&mut sample.held);
            large(&mut sample.demand);
        }
    }

    /// From the first submission (or sample of a series) to the instant at which the records were written, else to
    /// the last thing they say; `None` when they hold neither jobs nor series.
    pub fn extent(&self) -> Option<Window> {
        let mut extent: Option<Interval> = None;
        let mut include = |at: Timestamp| {
            let so_far = extent.get_or_insert(Interval::new(at, at));
            (so_far.start, so_far.end) = (so_far.start.min(at), so_far.end.max(at));
        };
        for attempt in &self.attempts {
            include(attempt.key.submit);
            attempt.start.into_iter().chain(attempt.end).for_each(&mut include);
        }
        self.pool_samples.iter().for_each(|sample| include(sample.at));
        // The last sample holds for a while too.
        self.pool_samples.last().into_iter().for_each(|last| include(last.at + self.pool_spacing_ns()));
        let Interval { start: from, end } = extent?;
        let last = self.node_samples.last().map_or(end, |sample| end.max(sample.at));
        Window::new(from, self.written_at.unwrap_or(last)).ok()
    }

    /// The usual time between samples of the pool series: the median, zero for fewer than two instants.
    pub(crate) fn pool_spacing_ns(&self) -> i64 {
        let pairs = self.pool_samples.windows(2).map(|pair| pair[1].at - pair[0].at);
        let mut spacings: Vec<i64> = pairs.filter(|&ns| ns > 0).collect();
        spacings.sort_unstable();
        spacings.get(spacings.len() / 2).copied().unwrap_or(0)
    }

    /// The nodes of a set.
    pub fn node_set(&self, set: NodeSet) -> &[Symbol] {
        self.node_sets.get(set.0 as usize).map_or(&[], Vec::as_slice)
    }
}
