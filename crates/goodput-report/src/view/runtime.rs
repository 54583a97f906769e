//! Steps, step times and ranks of one job.

use goodput_core::records::Commits;
use goodput_core::runtime::{Measured, RankTimes, StepCounts, StepTimes};
use serde::Serialize;

use super::exact::Exact;

/// Steps by fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StepsView {
    /// Executed inside the window.
    pub executed: u64,
    /// Retained.
    pub retained: u64,
    /// Discarded by a rollback.
    pub discarded: u64,
    /// After the last commit at an open end.
    pub pending: u64,
    /// Planned; `None` when the log does not say.
    pub planned: Option<u64>,
}

impl StepsView {
    pub(crate) fn new(steps: StepCounts, planned: Option<u64>) -> Self {
        let StepCounts { executed, retained, discarded, pending } = steps;
        Self { executed, retained, discarded, pending, planned }
    }
}

/// Percentiles of step durations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StepTimesView {
    /// Steps counted.
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

impl From<StepTimes> for StepTimesView {
    fn from(t: StepTimes) -> Self {
        Self {
            count: t.count,
            p50_ns: t.p50_ns.into(),
            p90_ns: t.p90_ns.into(),
            p99_ns: t.p99_ns.into(),
            max_ns: t.max_ns.into(),
        }
    }
}

/// Step times by rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RanksView {
    /// Ranks seen.
    pub ranks: u64,
    /// Over all ranks and steps.
    pub all: StepTimesView,
    /// Input waits over all ranks and steps.
    pub input_wait: StepTimesView,
    /// The rank with the largest median.
    pub slowest_rank: u32,
    /// Its host.
    pub slowest_host: String,
    /// Its device on that host, when the log says so.
    pub slowest_device: Option<u32>,
    /// Its median.
    pub slowest_p50_ns: Exact,
    /// Median of the ranks' medians.
    pub typical_p50_ns: Exact,
}

impl From<&RankTimes> for RanksView {
    fn from(ranks: &RankTimes) -> Self {
        Self {
            ranks: ranks.ranks,
            all: ranks.all.into(),
            input_wait: ranks.input_wait.into(),
            slowest_rank: ranks.slowest_rank,
            slowest_host: ranks.slowest_host.clone(),
            slowest_device: ranks.slowest_device,
            slowest_p50_ns: ranks.slowest_p50_ns.into(),
            typical_p50_ns: ranks.typical_p50_ns.into(),
        }
    }
}

/// Events as counted and timed, in job time (not multiplied by devices).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MeasuredView {
    /// Held time of the job.
    pub held_ns: Exact,
    /// Cold launches.
    pub launches: u64,
    /// Their startup time.
    pub startup_ns: Exact,
    /// Failures.
    pub failures: u64,
    /// Their recovery time, rework excluded.
    pub recovery_ns: Exact,
    /// Preemptions.
    pub preemptions: u64,
    /// Their cost in held time, lost work included.
    pub preemption_ns: Exact,
    /// Input wait.
    pub input_wait_ns: Exact,
    /// Synchronous checkpoint pauses.
    pub pauses: u64,
    /// Their time.
    pub pause_ns: Exact,
    /// Checkpoints: commits, or saves where the log does not record commits.
    pub commits: u64,
    /// Rework.
    pub rework_ns: Exact,
    /// What logging itself cost.
    pub logging_ns: Exact,
}

impl From<Measured> for MeasuredView {
    fn from(m: Measured) -> Self {
        Self {
            held_ns: m.held_ns.into(),
            launches: m.launches,
            startup_ns: m.startup_ns.into(),
            failures: m.failures,
            recovery_ns: m.recovery_ns.into(),
            preemptions: m.preemptions,
            preemption_ns: m.preemption_ns.into(),
            input_wait_ns: m.input_wait_ns.into(),
            pauses: m.pauses,
            pause_ns: m.pause_ns.into(),
            commits: m.commits,
            rework_ns: m.rework_ns.into(),
            logging_ns: m.logging_ns.into(),
        }
    }
}

/// The word for what a log says of commits.
pub(crate) fn commits_key(commits: Commits) -> &'static str {
    match commits {
        Commits::Recorded => "recorded",
        Commits::Unknown => "unknown",
    }
}
