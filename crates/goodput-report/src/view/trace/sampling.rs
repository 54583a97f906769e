//! What to trace next, in a view.

use goodput_trace::sampling::{Phase, Reason, SamplingPlan, WindowReason, trigger::Threshold};
use serde::Serialize;

use crate::view::Exact;

/// Which ranks and windows to trace next, and how large that will be.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SamplingView {
    /// The ranks, ascending.
    pub ranks: Vec<SampledRankView>,
    /// The windows, by instant of the day.
    pub windows: Vec<SampledWindowView>,
    /// How much of each stratum the ranks cover.
    pub strata: Vec<StratumView>,
    /// Axes of which a whole group is traced, so that waiting can be told from transfer along them.
    pub split_axes: Vec<String>,
    /// Bytes that one device writes in a second.
    pub bytes_per_device_second: u64,
    /// Length of a window.
    pub window_ns: i64,
    /// Bytes of the plan.
    pub bytes: Exact,
    /// Bytes of the same windows on every rank.
    pub everything_bytes: Exact,
    /// Dump a trace when a step is longer than this; `None` without a timeline.
    pub trigger: Option<TriggerView>,
}

/// A rank to trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SampledRankView {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: u32,
    /// Why.
    pub reason: String,
}

/// A window to trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SampledWindowView {
    /// Hour of the day, UTC.
    pub hour: u32,
    /// The step of the timeline that it is modelled on.
    pub like_step: Option<i64>,
    /// Steps that it holds.
    pub steps: Option<u32>,
    /// Why.
    pub reason: String,
}

/// A stratum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StratumView {
    /// The axis, or `node`.
    pub name: String,
    /// Places on it.
    pub places: u32,
    /// Places of which a rank is traced.
    pub traced: u32,
}

/// When always-on step timers should dump a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TriggerView {
    /// Median step.
    pub median_ns: i64,
    /// Median absolute deviation.
    pub deviation_ns: i64,
    /// A step above this is slow.
    pub slow_above_ns: i64,
}

impl SamplingView {
    /// The view of a plan.
    pub fn new(
        plan: &SamplingPlan,
        bytes_per_device_second: u64,
        window_ns: i64,
        trigger: Option<Threshold>,
    ) -> Self {
        Self {
            ranks: plan
                .ranks
                .iter()
                .map(|r| SampledRankView { rank: r.rank, node: r.node, reason: reason(&r.reason) })
                .collect(),
            windows: plan
                .windows
                .iter()
                .map(|w| SampledWindowView {
                    hour: w.hour,
                    like_step: w.like_step,
                    steps: w.steps,
                    reason: window_reason(w.reason).to_owned(),
                })
                .collect(),
            strata: plan
                .strata
                .iter()
                .map(|s| StratumView { name: s.name.clone(), places: s.places, traced: s.traced })
                .collect(),
            split_axes: plan.split_axes.clone(),
            bytes_per_device_second,
            window_ns,
            bytes: plan.bytes.into(),
            everything_bytes: plan.everything_bytes.into(),
            trigger: trigger.map(|t| TriggerView {
                median_ns: t.median_ns,
                deviation_ns: t.deviation_ns,
                slow_above_ns: t.slow_above_ns,
            }),
        }
    }
}

fn reason(reason: &Reason) -> String {
    match reason {
        Reason::Suspect => "others waited for it".to_owned(),
        Reason::HealthyPeer { of } => format!("healthy peer of rank {of}"),
        Reason::WholeGroup { axis } => format!("completes a {axis} group"),
        Reason::Covers { strata } => format!("covers a new {}", strata.join(", ")),
        Reason::Larger => "makes the sample larger".to_owned(),
    }
}

fn window_reason(reason: WindowReason) -> &'static str {
    match reason {
        WindowReason::Hour => "hours spread over the day",
        WindowReason::Usual(Phase::WarmUp) => "a usual warm-up step of this hour",
        WindowReason::Usual(Phase::Steady) => "a usual steady step of this hour",
        WindowReason::Usual(Phase::Checkpoint) => "a usual step beside a checkpoint",
        WindowReason::Usual(Phase::Evaluation) => "a usual evaluation",
        WindowReason::Slow => "the slowest steady step of this hour",
    }
}
