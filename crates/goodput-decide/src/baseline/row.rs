//! A row of the history: what one job, pool or canary did in one report's window.

use serde::{Deserialize, Serialize};

use super::label::{Label, Versions};

/// What a row is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A job.
    Job,
    /// A pool of a fleet.
    Pool,
    /// A run on few devices that is repeated to watch the software.
    Canary,
}

/// One line of HISTORY.jsonl (docs/baseline.md). Times in seconds, shares between zero and one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// [`Row::SCHEMA`].
    pub schema: Label,
    /// What it is about.
    pub kind: Kind,
    /// UTC day in which the middle of the window lies, for people.
    pub day: Label,
    /// First nanosecond of the window, since 1970.
    pub from_ns: i64,
    /// The nanosecond after its last.
    pub to_ns: i64,
    /// The job's name, else its id; the canary's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<Label>,
    /// The pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<Label>,
    /// Architecture, where the user names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Label>,
    /// Policy of the scheduler, where the user names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<Label>,
    /// Most devices.
    pub devices: u64,
    /// Versions by name.
    #[serde(default, skip_serializing_if = "Versions::is_empty")]
    pub software: Versions,
    /// Retained steps against their ideal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramFigures>,
    /// Durations of retained steady steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepFigures>,
    /// The rank with the largest median step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest: Option<SlowestFigures>,
    /// Events as counted and timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<EventFigures>,
    /// What a pool did with its devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocation: Option<AllocationFigures>,
    /// Factors where the evidence settles them.
    pub factors: FactorFigures,
    /// Fingerprint of the contract that the figures were measured under.
    pub contract: Label,
    /// Fingerprint of the report.
    pub report: String,
}

/// MFU of retained steps, with all that it is relative to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramFigures {
    /// Ideal over retained time.
    pub mfu: f64,
    /// `compute`, or another ideal.
    pub ideal: Label,
    /// The device.
    pub device: Label,
    /// dtype of the peak.
    pub dtype: Label,
    /// Dense peak of one device, FLOP/s.
    pub peak_flops_per_second: f64,
    /// What is counted.
    pub convention: Label,
    /// Share of retained time whose work the log gives.
    pub coverage: f64,
}

/// Step times in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StepFigures {
    /// How many.
    pub count: u64,
    /// Median.
    pub p50_s: f64,
    /// 90th percentile.
    pub p90_s: f64,
    /// 99th percentile.
    pub p99_s: f64,
    /// Longest.
    pub max_s: f64,
}

/// The slowest of a job's ranks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowestFigures {
    /// Ranks that logged.
    pub ranks: u64,
    /// The rank.
    pub rank: u32,
    /// Its host.
    pub host: Label,
    /// Its median step.
    pub p50_s: f64,
    /// Median of the ranks' medians.
    pub typical_p50_s: f64,
}

impl SlowestFigures {
    /// Its median over the typical one.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        self.p50_s / self.typical_p50_s
    }
}

/// Events of a job: counts and seconds of wall time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct EventFigures {
    /// Held time.
    pub held_s: f64,
    /// First launches.
    pub launches: u64,
    /// Gang complete to first step.
    pub startup_s: f64,
    /// Faults.
    pub failures: u64,
    /// Fault to first new step.
    pub recovery_s: f64,
    /// Preemptions.
    pub preemptions: u64,
    /// What they cost.
    pub preemption_s: f64,
    /// Waiting for input.
    pub input_wait_s: f64,
    /// Synchronous pauses.
    pub pauses: u64,
    /// What they cost.
    pub pause_s: f64,
    /// Committed checkpoints.
    pub commits: u64,
    /// Discarded steps.
    pub rework_s: f64,
}

impl EventFigures {
    /// Both together: a pool's jobs.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            held_s: self.held_s + other.held_s,
            launches: self.launches + other.launches,
            startup_s: self.startup_s + other.startup_s,
            failures: self.failures + other.failures,
            recovery_s: self.recovery_s + other.recovery_s,
            preemptions: self.preemptions + other.preemptions,
            preemption_s: self.preemption_s + other.preemption_s,
            input_wait_s: self.input_wait_s + other.input_wait_s,
            pauses: self.pauses + other.pauses,
            pause_s: self.pause_s + other.pause_s,
            commits: self.commits + other.commits,
            rework_s: self.rework_s + other.rework_s,
        }
    }
}

/// A pool's queue and its unheld devices.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AllocationFigures {
    /// Offered device-hours.
    pub offered_device_hours: f64,
    /// Jobs whose wait before the first start is known.
    pub waits: u64,
    /// Median wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_p50_s: Option<f64>,
    /// 90th percentile of the waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_p90_s: Option<f64>,
    /// Share of offered that gangs held before they were complete.
    pub partial_gang: f64,
    /// Share of offered lost to fragmentation.
    pub fragmentation: f64,
}

/// Factors where settled, and the share on which they are.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct FactorFigures {
    /// Held over offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<f64>,
    /// Retained over held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<f64>,
    /// Of held.
    pub runtime_coverage: f64,
    /// Ideal over retained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<f64>,
    /// Of retained.
    pub program_coverage: f64,
    /// Ideal over offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpg: Option<f64>,
}

impl Row {
    /// The word under `schema`.
    pub const SCHEMA: &'static str = "goodput.baseline-row/1";

    /// What two rows of one subject share: kind, name, pool and devices of a canary.
    #[must_use]
    pub fn subject(&self) -> (Kind, &str, &str, u64) {
        let devices = if self.kind == Kind::Canary { self.devices } else { 0 };
        (
            self.kind,
            self.job.as_deref().unwrap_or_default(),
            self.pool.as_deref().unwrap_or_default(),
            devices,
        )
    }

    /// The middle of its window.
    #[must_use]
    pub const fn middle_ns(&self) -> i64 {
        self.from_ns.midpoint(self.to_ns)
    }

    /// Days since 1970 of that.
    #[must_use]
    pub const fn epoch_day(&self) -> i64 {
        self.middle_ns().div_euclid(86_400_000_000_000)
    }

    /// The first figure that cannot be: its field, what stands there and what may.
    #[must_use]
    pub fn impossible(&self) -> Option<(&'static str, f64, &'static str)> {
        let share =
            |name, value: f64| (!(0.0..=1.0).contains(&value)).then_some((name, value, "zero to one"));
        let amount = |name, value: f64| {
            (!(value.is_finite() && value >= 0.0)).then_some((name, value, "zero or more"))
        };
        let positive =
            |name, value: f64| (!(value.is_finite() && value > 0.0)).then_some((name, value, "above zero"));
        if self.to_ns <= self.from_ns {
            return Some(("to_ns", self.to_ns as f64, "after from_ns"));
        }
        let program = self.program.as_ref().and_then(|p| {
            share("mfu", p.mfu).or_else(|| positive("peak_flops_per_second", p.peak_flops_per_second))
        });
        let steps = self.steps.as_ref().and_then(|s| {
            positive("p50_s", s.p50_s)
                .or_else(|| (s.p99_s < s.p50_s).then_some(("p99_s", s.p99_s, "at least p50_s")))
        });
        let slowest = self
            .slowest
            .as_ref()
            .and_then(|s| positive("typical_p50_s", s.typical_p50_s).or_else(|| positive("p50_s", s.p50_s)));
        let events = self.events.as_ref().and_then(|e| {
            let times = [
                ("held_s", e.held_s),
                ("startup_s", e.startup_s),
                ("recovery_s", e.recovery_s),
                ("input_wait_s", e.input_wait_s),
                ("pause_s", e.pause_s),
                ("rework_s", e.rework_s),
            ];
            times.into_iter().find_map(|(name, value)| amount(name, value))
        });
        let allocation = self.allocation.as_ref().and_then(|a| {
            share("partial_gang", a.partial_gang)
                .or_else(|| share("fragmentation", a.fragmentation))
                .or_else(|| a.wait_p50_s.and_then(|wait| amount("wait_p50_s", wait)))
                .or_else(|| a.wait_p90_s.and_then(|wait| amount("wait_p90_s", wait)))
        });
        program.or(steps).or(slowest).or(events).or(allocation)
    }
}
