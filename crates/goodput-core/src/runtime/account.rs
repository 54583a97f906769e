//! What is asked of a runtime account, and what it says.

use super::samples::Samples;
use crate::capacity::CapacityTime;
use crate::ledger::Loss;
use crate::pattern::Pattern;
use crate::records::{Commits, JobState, SourceRef};
use crate::time::{EmptyWindow, Interval, NS_PER_SECOND, Window};
use crate::warning::Warning;

/// One held interval of a job's allocation: gang complete to release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldInterval {
    /// Gang complete to release (or to the window's end for an attempt that still runs).
    pub interval: Interval,
    /// Devices held.
    pub devices: u64,
    /// How it ended; `None` when the record does not say or it still runs.
    pub ended_by: Option<JobState>,
    /// Time suspended inside it, when the record gives only the sum.
    pub suspended_ns: i64,
    /// The record.
    pub source: SourceRef,
}

/// What is known of a job's allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allocation {
    /// Scheduler records give the held intervals, in time order and disjoint.
    Recorded(Vec<HeldInterval>),
    /// No record: held runs from the log's first evidence to a logged end, else to the window's
    /// end. `devices` overrides what the log says.
    FromLog {
        /// Devices, when the user states them.
        devices: Option<u64>,
    },
}

/// How to account one job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuntimeOptions {
    /// The window. `None` takes the allocation's (or the log's) own extent.
    pub window: Option<Window>,
    /// A gap after a step start above this multiple of f, with no other evidence, counts f and
    /// leaves the rest unsettled (logs that stamp only step starts).
    pub silence_multiple: f64,
    /// Warm-up ends with the first step at or under this multiple of f.
    pub warm_up_multiple: f64,
    /// From the end of execution to the release: teardown up to this long, beyond it the allocation
    /// was a zombie. Also how soon a release must follow the last step to count as its normal end.
    pub teardown_limit_ns: i64,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            window: None,
            silence_multiple: 10.0,
            warm_up_multiple: 1.05,
            teardown_limit_ns: 600 * NS_PER_SECOND,
        }
    }
}

/// What a stretch of held time was used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Use {
    /// Productive time of retained steps.
    Productive,
    /// Charged to a runtime pattern.
    Lost(Pattern),
}

/// A stretch of one attempt with one use, for the lanes of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// When.
    pub interval: Interval,
    /// What for.
    pub used_for: Use,
    /// Devices.
    pub devices: u64,
}

/// The runtime account of one job.
#[derive(Debug, Clone)]
pub struct RuntimeAccount {
    /// The window.
    pub window: Window,
    /// Whether held time came from scheduler records.
    pub recorded_allocation: bool,
    /// Devices at the start; 1 (job time) when nobody says.
    pub devices: u64,
    /// Whether anybody said how many devices there are.
    pub devices_known: bool,
    /// Held capacity-time inside the window.
    pub held: CapacityTime,
    /// Productive capacity-time of retained steps.
    pub retained: CapacityTime,
    /// Every other part of held time; sums to `held - retained`.
    pub losses: Vec<Loss>,
    /// Held time by use, in time order, a lane an attempt (index of the held interval).
    pub lanes: Vec<Vec<Segment>>,
    /// Fault-free step time in nanoseconds; `None` without a steady step.
    pub fault_free_step_ns: Option<i64>,
    /// Steps.
    pub steps: StepCounts,
    /// Durations of retained steady steps, input wait excluded; of a record of several steps their mean.
    pub step_times: StepTimes,
    /// The same time in blocks, for confidence intervals.
    pub samples: Samples,
    /// Times between the held intervals: queue wait, beside the product.
    pub queue_wait_ns: i64,
    /// Whether the log records commits.
    pub commits: Commits,
    /// What the composed model needs, as measured.
    pub measured: Measured,
    /// Work of the retained steps, for the program factor.
    pub work: RetainedWork,
    /// Per-rank step times, when ranks logged.
    pub ranks: Option<RankTimes>,
    /// What was odd.
    pub warnings: Vec<Warning>,
}

/// Steps by fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepCounts {
    /// Executed inside the window.
    pub executed: u64,
    /// Retained.
    pub retained: u64,
    /// Discarded by a rollback.
    pub discarded: u64,
    /// After the last commit at an open end.
    pub pending: u64,
}

/// Percentiles of step durations in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepTimes {
    /// Steps counted.
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

/// Per-rank step times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankTimes {
    /// Over all ranks and steps.
    pub all: StepTimes,
    /// Input waits over all ranks and steps.
    pub input_wait: StepTimes,
    /// Ranks seen.
    pub ranks: u64,
    /// The rank with the largest median, its host, and that median.
    pub slowest_rank: u32,
    /// Host of the slowest rank.
    pub slowest_host: String,
    /// Its device on that host, when the log says so.
    pub slowest_device: Option<u32>,
    /// Its median in nanoseconds.
    pub slowest_p50_ns: i64,
    /// Median of the ranks' medians in nanoseconds.
    pub typical_p50_ns: i64,
}

/// What happened, as measured: the inputs of the composed first-order model.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Measured {
    /// Held time of the job in nanoseconds (not multiplied by devices).
    pub held_ns: i64,
    /// Cold launches (not caused by a failure or a preemption).
    pub launches: u64,
    /// Their total startup time in nanoseconds.
    pub startup_ns: i64,
    /// Failures.
    pub failures: u64,
    /// Their total recovery time, rework excluded, in nanoseconds.
    pub recovery_ns: i64,
    /// Preemptions.
    pub preemptions: u64,
    /// Their total cost in held time, lost work included, in nanoseconds.
    pub preemption_ns: i64,
    /// Input wait in nanoseconds.
    pub input_wait_ns: i64,
    /// Synchronous checkpoint pauses.
    pub pauses: u64,
    /// Their total time in nanoseconds.
    pub pause_ns: i64,
    /// Checkpoints: commits, or saves where the log does not record commits.
    pub commits: u64,
    /// Rework in nanoseconds.
    pub rework_ns: i64,
    /// Time that logging itself cost, in nanoseconds, when the log gives it.
    pub logging_ns: i64,
}

/// Work done by retained steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RetainedWork {
    /// Real tokens.
    pub tokens: u128,
    /// Model FLOPs.
    pub model_flops: u128,
    /// Productive capacity-time of the steps whose work the log gives.
    pub covered: CapacityTime,
}

/// Why a runtime account cannot be given.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum RuntimeError {
    /// Neither an allocation nor a line of evidence.
    #[error("the log holds no step and no event, and no held interval is given: there is nothing to account")]
    NothingToAccount,
    /// Held intervals must be in time order and disjoint.
    #[error(
        "the held interval of line {} starts before the one of line {} ends: give each attempt once, in time order",
        second.line, first.line
    )]
    OverlappingAllocations {
        /// The record that ends too late.
        first: SourceRef,
        /// The record that starts too early.
        second: SourceRef,
    },
    /// The extent of the allocation, or of the log, is empty.
    #[error("nothing is held for any time: {0}")]
    EmptyWindow(#[from] EmptyWindow),
    /// An option is out of its range.
    #[error("{option} is {value}: it must be a number of at least 1")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Its value.
        value: f64,
    },
}

impl RuntimeOptions {
    pub(super) fn check(&self) -> Result<(), RuntimeError> {
        let multiples =
            [("silence_multiple", self.silence_multiple), ("warm_up_multiple", self.warm_up_multiple)];
        match multiples.into_iter().find(|&(_, value)| !(value >= 1.0 && value.is_finite())) {
            Some((option, value)) => Err(RuntimeError::Option { option, value }),
            None => Ok(()),
        }
    }
}
