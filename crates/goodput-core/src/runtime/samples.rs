//! A job's held time and steps in blocks that can be drawn again: what a confidence interval is made from.

use super::account::{Segment, Use};
use crate::time::{Interval, Timestamp, Window};

/// Blocks of one job, each of one scale of loss.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Samples {
    /// From one launch or interruption to the next, in time order: where runtime losses recur.
    pub cycles: Vec<Cycle>,
    /// Consecutive retained steady steps, at most [`Samples::STEP_BLOCKS`] blocks: where program losses recur.
    pub step_blocks: Vec<StepBlock>,
}

/// One cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycle {
    /// The launch or interruption that begins it, or the window's start.
    pub from: Timestamp,
    /// Held in it, device-nanoseconds.
    pub held_ns: i128,
    /// Productive in it, device-nanoseconds.
    pub retained_ns: i128,
}

/// Consecutive steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepBlock {
    /// How many.
    pub steps: u64,
    /// Their durations without input wait, in nanoseconds.
    pub productive_ns: i64,
}

impl Samples {
    /// Most blocks of steps of one job.
    pub const STEP_BLOCKS: usize = 1000;

    /// Cuts the lanes at the instants at which something struck, and gathers the steps.
    pub(super) fn new(
        lanes: &[Vec<Segment>],
        mut struck: Vec<Timestamp>,
        window: Window,
        steps: &[StepBlock],
    ) -> Self {
        struck.retain(|&at| window.from() < at && at < window.to());
        struck.sort_unstable();
        struck.dedup();
        let starts = std::iter::once(window.from()).chain(struck.iter().copied());
        let mut cycles: Vec<Cycle> = starts.map(|from| Cycle { from, held_ns: 0, retained_ns: 0 }).collect();
        for segment in lanes.iter().flatten() {
            let first = struck.partition_point(|&at| at <= segment.interval.start);
            for (i, cycle) in cycles.iter_mut().enumerate().skip(first) {
                let end = struck.get(i).copied().unwrap_or(window.to());
                let inside = segment.interval.intersect(Interval::new(cycle.from, end));
                let amount = i128::from(inside.duration_ns().max(0)) * i128::from(segment.devices);
                cycle.held_ns += amount;
                if segment.used_for == Use::Productive {
                    cycle.retained_ns += amount;
                }
                if end >= segment.interval.end {
                    break;
                }
            }
        }
        cycles.retain(|cycle| cycle.held_ns > 0);
        let size = steps.len().div_ceil(Self::STEP_BLOCKS).max(1);
        let gathered = |block: &[StepBlock]| StepBlock {
            steps: block.iter().map(|b| b.steps).sum(),
            productive_ns: block.iter().fold(0, |sum: i64, b| sum.saturating_add(b.productive_ns)),
        };
        Self { cycles, step_blocks: steps.chunks(size).map(gathered).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;
    use proptest::prelude::*;

    fn at(s: i64) -> Timestamp {
        Timestamp::from_seconds(s)
    }

    proptest! {
        /// No nanosecond is lost or counted twice, wherever the cuts are.
        #[test]
        fn cycles_sum_to_the_lanes(
            ends in prop::collection::vec(1i64..50, 1..30),
            cuts in prop::collection::vec(-10i64..900, 0..20),
        ) {
            let mut from = 0;
            let lane: Vec<Segment> = ends.iter().enumerate().map(|(i, length)| {
                let interval = Interval::new(at(from), at(from + length));
                from += length;
                let used_for = if i % 3 == 0 { Use::Lost(Pattern::Recovery) } else { Use::Productive };
                Segment { interval, used_for, devices: 1 + (i as u64 % 2) }
            }).collect();
            let window = Window::new(at(0), at(from)).unwrap();
            let amount = |of: &dyn Fn(&Segment) -> bool| lane.iter().filter(|s| of(s))
                .map(|s| i128::from(s.interval.duration_ns()) * i128::from(s.devices)).sum::<i128>();
            let samples = Samples::new(std::slice::from_ref(&lane), cuts.into_iter().map(at).collect(), window, &[]);
            prop_assert_eq!(samples.cycles.iter().map(|c| c.held_ns).sum::<i128>(), amount(&|_| true));
            prop_assert_eq!(
                samples.cycles.iter().map(|c| c.retained_ns).sum::<i128>(),
                amount(&|s| s.used_for == Use::Productive)
            );
        }

        #[test]
        fn blocks_of_steps_keep_every_step(count in 0i64..5000) {
            let steps: Vec<StepBlock> =
                (0..count).map(|i| StepBlock { steps: 1, productive_ns: i }).collect();
            let window = Window::new(at(0), at(1)).unwrap();
            let blocks = Samples::new(&[], Vec::new(), window, &steps).step_blocks;
            prop_assert!(blocks.len() <= Samples::STEP_BLOCKS);
            prop_assert_eq!(blocks.iter().map(|b| b.steps).sum::<u64>(), count.unsigned_abs());
        }
    }
}
