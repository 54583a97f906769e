//! What truly happened in a simulated fleet.

mod attempts;
mod fleet;
mod life;
mod scheduler;
mod simulation;
mod state;

use goodput_core::records::JobState;

use crate::scenario::{OutageKind, Scenario};
use crate::truth::PoolTime;

pub use life::{Mark, Steps, Stretch, What};
pub(crate) use state::NodeState;

/// Everything that happened, free of any record's format. Times of the scheduler are whole seconds
/// after the scenario's start.
#[derive(Debug, Clone)]
pub struct World {
    /// What was simulated.
    pub scenario: Scenario,
    /// Nodes, pool by pool.
    pub nodes: Vec<Node>,
    /// Jobs in the order of their submission.
    pub jobs: Vec<Job>,
    /// Nodes and queue on the snapshot grid.
    pub snapshots: Vec<Snapshot>,
    /// Capacity-time by use, a pool.
    pub pools: Vec<PoolTime>,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Name.
    pub name: String,
    /// Position of its pool in the scenario.
    pub pool: usize,
    /// Accelerators.
    pub devices: u32,
    /// Times in which the scheduler's event log has it out of service.
    pub events: Vec<NodeEvent>,
}

/// An entry of the scheduler's event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeEvent {
    /// Down, or drained and idle.
    pub kind: OutageKind,
    /// From.
    pub from: i64,
    /// Until; `None` while it lasts.
    pub to: Option<i64>,
    /// The operator's words.
    pub reason: String,
}

/// A job.
#[derive(Debug, Clone)]
pub struct Job {
    /// The scheduler's id.
    pub id: u64,
    /// Position of its class in the scenario.
    pub class: usize,
    /// Position of its pool in the scenario.
    pub pool: usize,
    /// Accelerators on each node.
    pub devices_per_node: u32,
    /// Steps it is to run.
    pub steps: u64,
    /// The step after which it fails, if it does.
    pub fails_after: Option<u64>,
    /// Its attempts, in time order.
    pub attempts: Vec<Attempt>,
}

/// One attempt of a job.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Submission, or the requeue.
    pub submit: i64,
    /// When it could first have started.
    pub eligible: i64,
    /// Gang complete.
    pub start: Option<i64>,
    /// Release.
    pub end: Option<i64>,
    /// State at the end of the simulation.
    pub state: JobState,
    /// Positions of its nodes in [`World::nodes`].
    pub nodes: Vec<usize>,
    /// Seconds suspended.
    pub suspended: i64,
    /// What it did.
    pub life: Vec<Stretch>,
}

/// Nodes and queue at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// When.
    pub at: i64,
    /// Nodes, in the order of [`World::nodes`].
    pub nodes: Vec<NodeSnapshot>,
    /// Waiting and running jobs.
    pub queue: Vec<QueueSnapshot>,
}

/// A node in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeSnapshot {
    /// Out of service, and why.
    pub out: Option<OutageKind>,
    /// Kept free for a gang.
    pub planned: bool,
    /// Reserved for a team.
    pub reserved: bool,
    /// Accelerators allocated.
    pub allocated: u32,
}

/// A job in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSnapshot {
    /// Position in [`World::jobs`].
    pub job: usize,
    /// Why it waits; `None` when it runs.
    pub waits_for: Option<WaitsFor>,
}

/// Why a job waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitsFor {
    /// It is the first that does not fit.
    Resources,
    /// Others go first.
    Priority,
    /// Its account's quota.
    Quota,
    /// Its begin time.
    BeginTime,
}

/// Runs a scenario.
///
/// The same scenario gives the same world. Values that [`Scenario::check`] refuses give a world in
/// which they have no effect.
pub fn simulate(scenario: &Scenario) -> World {
    simulation::run(scenario)
}

impl World {
    /// Seconds from the scenario's start to the end of the simulation.
    pub fn end(&self) -> i64 {
        self.scenario.duration.as_seconds()
    }

    /// Seconds since the Unix epoch, of an instant in seconds after the start.
    pub fn epoch(&self, at: i64) -> i64 {
        self.scenario.start.as_second() + at
    }
}

impl Attempt {
    /// `[start, end)` in seconds, up to `open_end` while it runs.
    pub fn held(&self, open_end: i64) -> Option<(i64, i64)> {
        self.start.map(|start| (start, self.end.unwrap_or(open_end)))
    }
}

impl Job {
    /// Accelerators of the whole gang.
    pub fn devices(&self, scenario: &Scenario) -> u64 {
        u64::from(self.devices_per_node) * u64::from(scenario.jobs[self.class].nodes)
    }
}
