//! The parts of a report.

use std::collections::BTreeMap;

use goodput_core::Boundary;
use serde::Deserialize;

use super::exact::Exact;
use crate::contract::{self, Known, Source};

/// What the figures are measured over, as the records say it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Contract {
    /// `fleet` or `job`.
    pub scope: String,
    /// The window.
    pub window: WindowStamps,
    /// `in_service`, `installed`, or `held` for one job.
    pub denominator: String,
    /// Most devices at any time.
    pub devices: u64,
    /// Device types that the records name.
    #[serde(default)]
    pub device_types: Vec<String>,
    /// Ideals behind the program factor.
    #[serde(default)]
    pub ideals: Vec<Ideal>,
    /// Software.
    #[serde(default)]
    pub software: Vec<Software>,
    /// How much the evidence settles.
    pub coverage: Coverage,
    /// The conditions of the measurement contract.
    #[serde(default)]
    pub conditions: Vec<StatedCondition>,
}

/// One condition of the measurement contract.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct StatedCondition {
    /// Its key.
    pub field: String,
    /// Its value.
    pub value: String,
    /// Where it is known from.
    pub source: Source,
}

impl Contract {
    /// The measurement contract.
    ///
    /// # Errors
    /// The name of a condition that is none.
    pub fn measured(&self) -> Result<contract::Contract, String> {
        measured(&self.conditions)
    }
}

/// The contract of conditions; the name of one that is none.
pub(super) fn measured(conditions: &[StatedCondition]) -> Result<contract::Contract, String> {
    let mut measured = contract::Contract::default();
    for StatedCondition { field, value, source } in conditions {
        let of = contract::condition(field).ok_or_else(|| field.clone())?;
        measured.insert(of, Known { value: value.clone(), source: *source });
    }
    Ok(measured)
}

/// One day of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Day {
    /// Its start.
    pub from_ns: Exact,
    /// Offered.
    pub offered_ns: Exact,
    /// Held.
    pub held_ns: Exact,
    /// Retained.
    pub retained_ns: Exact,
    /// Ideal.
    pub ideal_ns: Exact,
}

/// What a job's confidence intervals are made from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct Samples {
    /// Between interruptions.
    pub cycles: Vec<Cycle>,
    /// Consecutive steady steps.
    pub step_blocks: Vec<StepBlock>,
}

/// From one launch or interruption to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Cycle {
    /// Its start.
    pub from_ns: Exact,
    /// Held.
    pub held_ns: Exact,
    /// Retained.
    pub retained_ns: Exact,
}

/// Consecutive steady steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct StepBlock {
    /// How many.
    pub steps: u64,
    /// Their durations without input wait.
    pub productive_ns: Exact,
}

/// A half-open window, nanoseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct WindowStamps {
    /// First nanosecond.
    pub from_ns: Exact,
    /// The nanosecond after the last.
    pub to_ns: Exact,
}

/// A named ideal.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Ideal {
    /// `compute`, or another.
    pub ideal: String,
    /// The device.
    pub device: String,
    /// Dense peak of one device, FLOP/s.
    pub peak_flops_per_second: f64,
    /// Its dtype.
    pub dtype: String,
    /// What is counted.
    pub convention: String,
}

/// One piece of software.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Software {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
}

/// Share of what arrived at each boundary that the evidence settles.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Coverage {
    /// Of offered; absent for one job.
    pub scheduling: Option<f64>,
    /// Of held.
    pub runtime: f64,
    /// Of retained.
    pub program: f64,
    /// Of held, jobs with a timeline.
    pub timelines: Option<f64>,
    /// Of the window, node snapshots.
    pub node_snapshots: Option<f64>,
}

/// Device-nanoseconds at each level, and what was lost between them by pattern (`input_wait_ns`, …).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CapacityTime {
    /// Offered; absent for one job.
    pub offered_ns: Option<Exact>,
    /// Held.
    pub held_ns: Exact,
    /// Retained.
    pub retained_ns: Exact,
    /// Ideal.
    pub ideal_ns: Exact,
    /// Lost before it was held.
    #[serde(default)]
    pub scheduling_losses: BTreeMap<String, Exact>,
    /// Lost while held.
    #[serde(default)]
    pub runtime_losses: BTreeMap<String, Exact>,
    /// Lost inside retained steps.
    #[serde(default)]
    pub program_losses: BTreeMap<String, Exact>,
}

/// A factor on its settled share, with the bounds that the rest allows.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Factor {
    /// Where settled.
    pub settled: Option<f64>,
    /// The settled share.
    pub coverage: f64,
    /// If everything open were lost.
    pub low: f64,
    /// If everything open crossed.
    pub high: f64,
}

/// The three factors and their product. Scheduling and MPG are absent for one job.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct FactorBounds {
    /// Held over offered.
    pub scheduling: Option<Factor>,
    /// Retained over held.
    pub runtime: Factor,
    /// Ideal over retained.
    pub program: Factor,
    /// Ideal over offered.
    pub mpg: Option<Factor>,
}

impl FactorBounds {
    /// The factor of a boundary.
    #[must_use]
    pub const fn get(&self, boundary: Boundary) -> Option<Factor> {
        match boundary {
            Boundary::Scheduling => self.scheduling,
            Boundary::Runtime => Some(self.runtime),
            Boundary::Program => Some(self.program),
        }
    }
}

/// One loss.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Loss {
    /// `scheduling`, `runtime` or `program`.
    pub boundary: String,
    /// Its pattern.
    pub pattern: String,
    /// The pattern in words.
    pub label: String,
    /// Who can recover it.
    pub owner: String,
    /// Device-nanoseconds.
    pub amount_ns: Exact,
    /// Not settled by the evidence.
    pub open: bool,
}

/// One pool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Devices.
    pub devices: u64,
    /// Levels and losses.
    pub capacity_time: CapacityTime,
    /// Factors.
    pub factor_bounds: FactorBounds,
    /// Beside the product.
    pub availability: Option<f64>,
    /// Device-time seen from other sides (`fragmented_ns`, …) and shares.
    #[serde(default)]
    pub diagnostics: BTreeMap<String, serde_json::Value>,
}

/// One job of a fleet.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Job {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: Option<String>,
    /// The pool.
    pub pool: Option<String>,
    /// Launches of the scheduler.
    pub attempts: u64,
    /// Most devices.
    pub devices: u64,
    /// Levels and losses.
    pub capacity_time: CapacityTime,
    /// Factors.
    pub factor_bounds: FactorBounds,
    /// Steps by fate, where it logged.
    pub steps: Option<Steps>,
    /// Fault-free step time, ns.
    pub fault_free_step_ns: Option<Exact>,
    /// Durations of retained steady steps.
    pub step_times: Option<StepTimes>,
    /// Step times by rank.
    pub ranks: Option<Ranks>,
    /// Events as counted and timed.
    pub measured: Option<Measured>,
    /// What its program factor rests on.
    pub program_basis: Option<ProgramBasis>,
    /// Waits in the queue.
    pub waits: Option<Waits>,
}

/// Steps by fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Steps {
    /// Ran.
    pub executed: u64,
    /// A commit holds them.
    pub retained: u64,
    /// Rolled back.
    pub discarded: u64,
    /// Not settled yet.
    pub pending: u64,
    /// Planned, where the log says.
    pub planned: Option<u64>,
}

/// Durations of retained steady steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct StepTimes {
    /// How many.
    pub count: u64,
    /// Median.
    pub p50_ns: Option<Exact>,
    /// 90th percentile.
    pub p90_ns: Option<Exact>,
    /// 99th percentile.
    pub p99_ns: Option<Exact>,
    /// Longest.
    pub max_ns: Option<Exact>,
}

/// Events of a job as counted and timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Measured {
    /// Held time, wall.
    pub held_ns: Exact,
    /// First launches.
    pub launches: u64,
    /// Gang complete to first step.
    pub startup_ns: Exact,
    /// Faults.
    pub failures: u64,
    /// Fault to first new step.
    pub recovery_ns: Exact,
    /// Preemptions.
    pub preemptions: u64,
    /// What they cost.
    pub preemption_ns: Exact,
    /// Waiting for input.
    pub input_wait_ns: Exact,
    /// Synchronous pauses for checkpoints.
    pub pauses: u64,
    /// What they cost.
    pub pause_ns: Exact,
    /// Committed checkpoints.
    pub commits: u64,
    /// Discarded steps.
    pub rework_ns: Exact,
}

/// What a program factor rests on.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ProgramBasis {
    /// `compute`, or another ideal.
    pub ideal: String,
    /// The device.
    pub device: String,
    /// Dense peak of one device, FLOP/s.
    pub peak_flops_per_second: f64,
    /// Its dtype.
    pub dtype: String,
    /// What is counted.
    pub convention: String,
    /// MFU of the retained steps.
    pub mfu: f64,
    /// Share of retained time whose work the log gives.
    pub coverage: f64,
}

/// Step timers of a job's ranks.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Ranks {
    /// Ranks seen.
    pub ranks: u64,
    /// The rank with the largest median.
    pub slowest_rank: u32,
    /// Its host.
    pub slowest_host: String,
    /// Its device on that host.
    pub slowest_device: Option<u32>,
    /// Its median.
    pub slowest_p50_ns: Exact,
    /// Median of the ranks' medians.
    pub typical_p50_ns: Exact,
}

/// Queue waits of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Waits {
    /// Before the first start.
    pub first_ns: Option<Exact>,
    /// Before all starts.
    pub total_ns: Option<Exact>,
}
