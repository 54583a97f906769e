//! Traced steps beside the untraced ones of the job's own timeline. A trace tells the structure of a step; how long a
//! step takes is told by the timeline, since tracing slows what it traces.

use goodput_core::Timestamp;
use goodput_core::runtime::{RuntimeAccount, Segment, Use};

use crate::analysis::Analysis;
use crate::nearest_rank::median;
use crate::trace::Epoch;

/// How traced steps compare with untraced ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Untraced {
    /// Median length of the judged steps, start to start.
    pub traced_step_ns: i64,
    /// Fault-free step time of the job, from its timeline.
    pub untraced_step_ns: i64,
    /// Whether the clocks of trace and timeline can be compared.
    pub same_clock: bool,
    /// Judged rank-steps that lie in time which the timeline charges to something else than productive steps: a start,
    /// a warm-up, a pause. `None` when the clocks cannot be compared.
    pub outside_productive: Option<u64>,
}

impl Untraced {
    /// Traced over untraced step time.
    pub fn ratio(&self) -> f64 {
        self.traced_step_ns as f64 / self.untraced_step_ns as f64
    }
}

/// Compares the judged steps with the account of the job's timeline. `None` when either has no step.
pub fn compare(analysis: &Analysis, account: &RuntimeAccount) -> Option<Untraced> {
    let untraced_step_ns = account.fault_free_step_ns.filter(|&ns| ns > 0)?;
    let mut lengths_ns = Vec::new();
    let mut starts = Vec::new();
    for rank in &analysis.ranks {
        for (step, _) in rank.steps.steps.iter().zip(&rank.windows).filter(|(_, windows)| windows.judged) {
            lengths_ns.push(step.turn.1 - step.turn.0);
            starts.extend((rank.trace.epoch == Epoch::Unix).then_some(Timestamp::from_nanos(step.turn.0)));
        }
    }
    let same_clock =
        starts.len() == lengths_ns.len() && starts.iter().any(|&at| segment(account, at).is_some());
    let outside =
        || starts.iter().filter(|&&at| segment(account, at).is_none_or(|s| s.used_for != Use::Productive));
    Some(Untraced {
        traced_step_ns: median(&mut lengths_ns)?,
        untraced_step_ns,
        same_clock,
        outside_productive: same_clock.then(|| outside().count() as u64),
    })
}

fn segment(account: &RuntimeAccount, at: Timestamp) -> Option<Segment> {
    account.lanes.iter().flatten().find(|s| (s.interval.start..s.interval.end).contains(&at)).copied()
}

#[cfg(test)]
mod tests {
    use goodput_core::records::{Step, Timeline};
    use goodput_core::runtime::{Allocation, RuntimeOptions, account};
    use goodput_model::device::Catalogue;

    use super::*;
    use crate::analysis::{AnalysisOptions, analyse};
    use crate::class::Class;
    use crate::trace::sketch::Sketch;

    const SECOND: i64 = 1_000_000_000;

    /// Twenty steps of 1 s, the first of 3 s.
    fn job() -> RuntimeAccount {
        let mut at = 1_700_000_000;
        let steps = (0..20)
            .map(|index| {
                let start = Timestamp::from_seconds(at);
                at += if index == 0 { 3 } else { 1 };
                Step {
                    index,
                    count: 1,
                    line: 1,
                    start,
                    end: Some(Timestamp::from_seconds(at)),
                    input_wait_ns: 0,
                }
            })
            .collect();
        let timeline = Timeline { steps, ..Timeline::default() };
        account(&timeline, &Allocation::FromLog { devices: Some(1) }, &RuntimeOptions::default()).unwrap()
    }

    /// Three steps back to back, a kernel each.
    fn traced(from_ns: i64, step_ns: i64, epoch: Epoch) -> Analysis {
        let mut sketch = Sketch::default();
        for number in 0..3 {
            let at = from_ns + number * step_ns;
            sketch.step(number, at, at + step_ns).launched(
                at + 10,
                0,
                at + 20,
                at + step_ns / 2,
                Class::Gemm,
            );
        }
        let mut trace = sketch.trace();
        trace.epoch = epoch;
        analyse(vec![trace], AnalysisOptions::new(Catalogue::built_in()))
    }

    #[test]
    fn the_ratio_is_of_steps_start_to_start() {
        let inside =
            compare(&traced((1_700_000_000 + 10) * SECOND, SECOND * 5 / 4, Epoch::Unix), &job()).unwrap();
        assert_eq!(inside.ratio(), 1.25);
        assert_eq!(inside.outside_productive, Some(0));
    }

    #[test]
    fn steps_inside_a_warm_up_are_counted() {
        let early =
            compare(&traced(1_700_000_000 * SECOND + SECOND, SECOND / 2, Epoch::Unix), &job()).unwrap();
        assert!(early.outside_productive > Some(0));
    }

    #[test]
    fn clocks_of_their_own_compare_lengths_only() {
        let own = compare(&traced(5, SECOND, Epoch::Own), &job()).unwrap();
        assert_eq!((own.ratio(), own.same_clock, own.outside_productive), (1.0, false, None));
    }
}
