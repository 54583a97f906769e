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
/// under way (none was after a step whose end the log gives).
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
        silences.sort_by_key(|s| std::cmp::Reverse((s.between_steps, s.interval.duration_ns())));
        for Silence { interval: silence, room_ns: room, .. } in silences {
            if left <= 0 {
                return;
            }
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

/// A stretch without a line.
#[derive(Debug, Clone, Copy)]
struct Silence {
    interval: Interval,
    /// Whether steps stand at both its ends.
    between_steps: bool,
    /// How much of it can be suspension.
    room_ns: i64,
}

/// What a stamp of the log belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stamp {
    StepEnd,
    StepStart,
    Other,
}

/// Stretches of `held` longer than a step between one stamp of the log and the next.
fn silences(timeline: &Timeline, held: Interval, step_ns: i64) -> Vec<Silence> {
    let steps = timeline.steps.iter().flat_map(|s| {
        [Some((s.start, Stamp::StepStart)), s.end.map(|end| (end, Stamp::StepEnd))].into_iter().flatten()
    });
    let events = timeline.events.iter().flat_map(|e| [e.interval.start, e.interval.end]);
    let mut stamps: Vec<(Timestamp, Stamp)> = steps.chain(events.map(|at| (at, Stamp::Other))).collect();
    stamps.retain(|&(at, _)| held.contains(at));
    stamps.extend([(held.start, Stamp::Other), (held.end, Stamp::Other)]);
    stamps.sort_unstable();
    stamps
        .windows(2)
        .map(|pair| {
            let ((from, before), (to, after)) = (pair[0], pair[1]);
            let interval = Interval::new(from, to);
            let under_way = if before == Stamp::StepEnd { 0 } else { step_ns };
            Silence {
                interval,
                between_steps: before != Stamp::Other && after != Stamp::Other,
                room_ns: interval.duration_ns() - under_way,
            }
        })
        .filter(|silence| silence.interval.duration_ns() > step_ns)
        .collect()
}
