//! Time to result, beside the product: two configurations of equal product can finish days apart.

use goodput_core::planning::time_to_result_s;

use super::statistical::StatisticalEfficiency;
use crate::report::{Report, TimelineReport};

/// Time to the result of the first measurement: its queue wait, and its retained work at each side's pace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeToResult {
    /// Before, seconds.
    pub before_s: f64,
    /// After, seconds.
    pub after_s: f64,
    /// Whether the examples that the result needs are counted: both sides state statistical efficiency.
    pub to_quality: bool,
}

impl TimeToResult {
    /// `None` for fleets, which have no one result, and where a factor is not settled. `program` is the program goodput of
    /// both sides; `peaks` their devices' peaks, where they differ.
    pub(super) fn between(
        before: &Report,
        after: &Report,
        program: [f64; 2],
        statistical: Option<&StatisticalEfficiency>,
    ) -> Option<Self> {
        let (Report::Timeline(before), Report::Timeline(after)) = (before, after) else { return None };
        // Ideal device-time of the first measurement's work, at its own peak.
        let ideal_s = before.capacity_time.retained_ns.0 as f64 / 1e9 * program[0];
        let more = statistical.map_or(1.0, |s| s.ratio.recip());
        let slower_ideal = match (peak(before), peak(after)) {
            (Some(one), Some(other)) => one / other,
            _ => 1.0,
        };
        let time = |job: &TimelineReport, ideal_s: f64, program: f64| {
            let wait_s = job.queue_wait_ns.map_or(0.0, |ns| ns.0 as f64 / 1e9);
            let runtime = job.factor_bounds.runtime.settled?;
            time_to_result_s(wait_s, ideal_s, job.contract.devices, runtime, program).ok()
        };
        Some(Self {
            before_s: time(before, ideal_s, program[0])?,
            after_s: time(after, ideal_s * more * slower_ideal, program[1])?,
            to_quality: statistical.is_some(),
        })
    }
}

fn peak(job: &TimelineReport) -> Option<f64> {
    job.contract.ideals.first().map(|ideal| ideal.peak_flops_per_second).filter(|peak| *peak > 0.0)
}
