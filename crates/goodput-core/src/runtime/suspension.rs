//! Suspension of which the scheduler's record gives only the sum: where in the log it lies.

use super::account::{Allocation, HeldInterval};
use super::executions::typical_spacing_ns;
use crate::records::{Event, EventKind, Phase, Symbol, Timeline};
use crate::time::{Interval, Timestamp};

/// Suspension as events of the log.
#[derive(Debug, Default)]
pub(super) struct Suspensions {
    /// One for each silence that has room for it.
    pub located: Vec<Event>,
    /// Suspended time that no silence has room for, in nanoseconds.
    pub left_ns: i64,
}

/// A suspended job logs nothing: the sum goes to the longest silences of its held interval, those
/// between steps first, less what the log itself declares as suspension and less the step that was
/// under way.
pub(super) fn locate(timeline: &Timeline, allocation: &Allocation) -> Suspensions {
    let mut suspensions = Suspensions::default();
    let Allocation::Recorded(held) = allocation else { return suspensions };
    for interval in held.iter().filter(|h| h.suspended_ns > 0) {
        suspensions.locate_in(timeline, interval);
    }
    suspensions
}

impl Suspensions {
    fn locate_in(&mut self, timeline: &Timeline, held: &HeldInterval) {
        let step_ns = typical_spacing_ns(&timeline.steps);
        let mut left = held.suspended_ns - declared_ns(timeline, held.interval);
        let mut silences = silences(timeline, held.interval, step_ns);
        silences.sort_by_key(|&(between_steps, s)| std::cmp::Reverse((between_steps, s.duration_ns())));
        for (_, silence) in silences {
            if left <= 0 {
                return;
            }
            let room = silence.duration_ns() - step_ns;
            let start = silence.end - left.min(room);
            self.located.push(Event {
                interval: Interval::new(start, silence.end),
                open: false,
                kind: EventKind::Phase { phase: Phase::Suspension, name: Symbol::EMPTY },
                line: 0,
            });
            left -= left.min(room);
        }
        self.left_ns += left.max(0);
    }
}

/// Suspension that the log declares inside `held`.
fn declared_ns(timeline: &Timeline, held: Interval) -> i64 {
    timeline
        .events
        .iter()
        .filter(|e| matches!(e.kind, EventKind::Phase { phase: Phase::Suspension, .. }))
        .map(|e| e.interval.intersect(held).duration_ns())
        .sum()
}

/// Stretches of `held` longer than a step between one stamp of the log and the next, and whether both
/// stamps are steps'.
fn silences(timeline: &Timeline, held: Interval, step_ns: i64) -> Vec<(bool, Interval)> {
    let steps = timeline.steps.iter().flat_map(|s| [Some(s.start), s.end]).flatten();
    let events = timeline.events.iter().flat_map(|e| [e.interval.start, e.interval.end]);
    let mut stamps: Vec<(Timestamp, bool)> =
        steps.map(|at| (at, true)).chain(events.map(|at| (at, false))).collect();
    stamps.retain(|&(at, _)| held.contains(at));
    stamps.extend([(held.start, false), (held.end, false)]);
    stamps.sort_unstable();
    stamps
        .windows(2)
        .map(|pair| (pair[0].1 && pair[1].1, Interval::new(pair[0].0, pair[1].0)))
        .filter(|(_, silence)| silence.duration_ns() > step_ns)
        .collect()
}
