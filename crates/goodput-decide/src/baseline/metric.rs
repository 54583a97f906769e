//! What is watched, and which way is worse.

use serde::{Deserialize, Serialize};

use super::row::{EventFigures, Kind, Row};

/// The five tiers, from a canary's minutes to a pool's weeks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Runs on few devices, and the scaling-efficiency curve.
    Canary,
    /// MFU of retained steps.
    Mfu,
    /// Step-time distribution and per-rank timers.
    GrayFailure,
    /// Launches, checkpoints, restarts, input.
    StartupRecovery,
    /// Queue waits and devices that no gang could use.
    Allocation,
}

impl Tier {
    /// All of them, in order.
    pub const ALL: [Self; 5] =
        [Self::Canary, Self::Mfu, Self::GrayFailure, Self::StartupRecovery, Self::Allocation];

    /// The word for it in JSON and on the command line.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Canary => "canary",
            Self::Mfu => "mfu",
            Self::GrayFailure => "gray_failure",
            Self::StartupRecovery => "startup_recovery",
            Self::Allocation => "allocation",
        }
    }

    /// For people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Canary => "canaries and scaling efficiency",
            Self::Mfu => "MFU of retained steps",
            Self::GrayFailure => "step times and slow ranks",
            Self::StartupRecovery => "startup and recovery",
            Self::Allocation => "allocation",
        }
    }
}

/// How a figure is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// A positive amount: by ratio, on its logarithm.
    Ratio,
    /// A share of time or capacity: by difference.
    Share,
    /// Events a day: by ratio, of mean rates.
    Rate,
}

/// A figure that is followed over days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// MFU of retained steps.
    Mfu,
    /// Median step time.
    StepTime,
    /// 99th percentile of step times over the median.
    TailRatio,
    /// Slowest rank's median over the typical one.
    SlowestRank,
    /// Gang complete to first step, per launch.
    StartupPerLaunch,
    /// Synchronous pause per committed checkpoint.
    PausePerCommit,
    /// Fault to first new step, per fault.
    RecoveryPerFailure,
    /// Faults and preemptions per day held.
    RestartsPerDay,
    /// Discarded steps over held time.
    ReworkShare,
    /// Waiting for input over held time.
    InputWaitShare,
    /// Median wait in the queue before the first start.
    QueueWaitMedian,
    /// 90th percentile of those waits.
    QueueWaitP90,
    /// Devices of incomplete gangs over offered.
    PartialGangShare,
    /// Lost to fragmentation over offered.
    FragmentationShare,
    /// Efficiency of a canary against the smallest of its curve.
    ScalingEfficiency,
}

impl Metric {
    /// Those of a job's rows.
    pub const OF_JOB: [Self; 10] = [
        Self::Mfu,
        Self::StepTime,
        Self::TailRatio,
        Self::SlowestRank,
        Self::StartupPerLaunch,
        Self::PausePerCommit,
        Self::RecoveryPerFailure,
        Self::RestartsPerDay,
        Self::ReworkShare,
        Self::InputWaitShare,
    ];
    /// Those of a pool's rows.
    pub const OF_POOL: [Self; 10] = [
        Self::StartupPerLaunch,
        Self::PausePerCommit,
        Self::RecoveryPerFailure,
        Self::RestartsPerDay,
        Self::ReworkShare,
        Self::InputWaitShare,
        Self::QueueWaitMedian,
        Self::QueueWaitP90,
        Self::PartialGangShare,
        Self::FragmentationShare,
    ];

    /// Those of a row's kind; canaries have a tier of their own.
    #[must_use]
    pub const fn of(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::Job => &Self::OF_JOB,
            Kind::Pool => &Self::OF_POOL,
            Kind::Canary => &[],
        }
    }

    /// The tier that watches it.
    #[must_use]
    pub const fn tier(self) -> Tier {
        match self {
            Self::Mfu => Tier::Mfu,
            Self::StepTime | Self::TailRatio | Self::SlowestRank => Tier::GrayFailure,
            Self::StartupPerLaunch
            | Self::PausePerCommit
            | Self::RecoveryPerFailure
            | Self::RestartsPerDay
            | Self::ReworkShare
            | Self::InputWaitShare => Tier::StartupRecovery,
            Self::QueueWaitMedian
            | Self::QueueWaitP90
            | Self::PartialGangShare
            | Self::FragmentationShare => Tier::Allocation,
            Self::ScalingEfficiency => Tier::Canary,
        }
    }

    /// For people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Mfu => "MFU of retained steps",
            Self::StepTime => "median step",
            Self::TailRatio => "p99 over median step",
            Self::SlowestRank => "slowest over typical rank",
            Self::StartupPerLaunch => "startup per launch",
            Self::PausePerCommit => "pause per commit",
            Self::RecoveryPerFailure => "recovery per failure",
            Self::RestartsPerDay => "restarts per day",
            Self::ReworkShare => "rework share",
            Self::InputWaitShare => "input wait share",
            Self::QueueWaitMedian => "queue wait, median",
            Self::QueueWaitP90 => "queue wait, p90",
            Self::PartialGangShare => "incomplete gangs, share",
            Self::FragmentationShare => "fragmentation, share",
            Self::ScalingEfficiency => "scaling efficiency",
        }
    }

    /// How it is compared.
    #[must_use]
    pub const fn measure(self) -> Measure {
        match self {
            Self::ReworkShare | Self::InputWaitShare | Self::PartialGangShare | Self::FragmentationShare => {
                Measure::Share
            }
            Self::RestartsPerDay => Measure::Rate,
            _ => Measure::Ratio,
        }
    }

    /// Whether seconds are its unit; other figures are bare numbers.
    #[must_use]
    pub const fn is_time(self) -> bool {
        matches!(
            self,
            Self::StepTime
                | Self::StartupPerLaunch
                | Self::PausePerCommit
                | Self::RecoveryPerFailure
                | Self::QueueWaitMedian
                | Self::QueueWaitP90
        )
    }

    /// Whether more of it is better.
    #[must_use]
    pub const fn more_is_better(self) -> bool {
        matches!(self, Self::Mfu | Self::ScalingEfficiency)
    }

    /// Its value in a row, where the row has it.
    #[must_use]
    pub fn value(self, row: &Row) -> Option<f64> {
        let per = |seconds: f64, count: u64| (count > 0).then(|| seconds / count as f64);
        let of_held = |of: fn(&EventFigures) -> f64| {
            row.events.as_ref().filter(|e| e.held_s > 0.0).map(|e| of(e) / e.held_s)
        };
        let events = row.events.as_ref();
        let allocation = row.allocation.as_ref();
        let steps = row.steps.as_ref();
        match self {
            Self::Mfu => row.program.as_ref().map(|p| p.mfu),
            Self::StepTime => steps.map(|s| s.p50_s),
            // The 99th percentile of fewer steps is their longest.
            Self::TailRatio => steps.filter(|s| s.count >= 100).map(|s| s.p99_s / s.p50_s),
            Self::SlowestRank => row.slowest.as_ref().map(|s| s.ratio()),
            Self::StartupPerLaunch => events.and_then(|e| per(e.startup_s, e.launches)),
            Self::PausePerCommit => events.and_then(|e| per(e.pause_s, e.commits)),
            Self::RecoveryPerFailure => events.and_then(|e| per(e.recovery_s, e.failures)),
            Self::RestartsPerDay => of_held(|e| 86_400.0 * (e.failures + e.preemptions) as f64),
            Self::ReworkShare => of_held(|e| e.rework_s),
            Self::InputWaitShare => of_held(|e| e.input_wait_s),
            Self::QueueWaitMedian => allocation.and_then(|a| a.wait_p50_s),
            Self::QueueWaitP90 => allocation.and_then(|a| a.wait_p90_s),
            Self::PartialGangShare => allocation.map(|a| a.partial_gang),
            Self::FragmentationShare => allocation.map(|a| a.fragmentation),
            Self::ScalingEfficiency => None,
        }
    }

    /// A value as it is tested: the logarithm of what is compared by ratio. A wait or pause below a second counts as one.
    #[must_use]
    pub fn tested(self, value: f64) -> f64 {
        match self.measure() {
            Measure::Ratio
                if matches!(self, Self::QueueWaitMedian | Self::QueueWaitP90 | Self::PausePerCommit) =>
            {
                value.max(1.0).ln()
            }
            Measure::Ratio => value.max(f64::MIN_POSITIVE).ln(),
            Measure::Share | Measure::Rate => value,
        }
    }
}
