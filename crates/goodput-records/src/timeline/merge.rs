//! Two logs of one run as one timeline.

use std::collections::BTreeSet;

use goodput_core::Timestamp;
use goodput_core::records::{Commits, Event, EventKind, Timeline};
use rustc_hash::FxHashMap;

/// Starts that two logs of one run stamp further apart are two starts.
const SAME_START_NS: u64 = 600_000_000_000;

/// A run's own log with what a coarser one knows besides: Megatron-LM's stdout with its `progress.txt`,
/// which has the scheduler's job id, the size of every attempt, starts whose output is lost, and the
/// instants of commits that stdout prints without a stamp.
///
/// Steps, phases and work are `detailed`'s. Events that only `coarse` has are added with line 0, since
/// their line is in the other file.
pub fn merge(mut detailed: Timeline, coarse: &Timeline) -> Timeline {
    let sized = detailed.devices.is_some();
    detailed.job = detailed.job.or_else(|| coarse.job.clone());
    detailed.devices = detailed.devices.or(coarse.devices);
    detailed.planned_steps = detailed.planned_steps.or(coarse.planned_steps);
    if coarse.commits == Commits::Recorded {
        detailed.commits = Commits::Recorded;
    }
    let mut unmatched = Unmatched::of(&detailed.events);
    for event in &coarse.events {
        let wanted = match event.kind {
            EventKind::Launch | EventKind::SaveStarted { .. } | EventKind::Committed { .. } => true,
            EventKind::Resized { .. } => !sized,
            _ => false,
        };
        if !wanted {
            continue;
        }
        let Some(position) = unmatched.take(event) else {
            detailed.events.push(Event { line: 0, ..*event });
            continue;
        };
        let mine = &mut detailed.events[position].interval;
        // A start is as early as either says. A commit without a stamp stands at its earliest, so the later is right.
        let at = if event.kind == EventKind::Launch {
            mine.start.min(event.interval.start)
        } else {
            mine.start.max(event.interval.start)
        };
        (mine.start, mine.end) = (at, at);
    }
    detailed.events.sort_by_key(|event| event.interval.start);
    detailed
}

/// Events that no other log's event has been matched to yet, by what they say.
struct Unmatched(FxHashMap<EventKind, BTreeSet<(Timestamp, usize)>>);

impl Unmatched {
    fn of(events: &[Event]) -> Self {
        let mut by_kind: FxHashMap<EventKind, BTreeSet<(Timestamp, usize)>> = FxHashMap::default();
        for (position, event) in events.iter().enumerate() {
            by_kind.entry(event.kind).or_default().insert((event.interval.start, position));
        }
        Self(by_kind)
    }

    /// Position of the event that says the same at the nearest instant. It is matched from here on.
    fn take(&mut self, event: &Event) -> Option<usize> {
        let at = event.interval.start;
        let events = self.0.get_mut(&event.kind)?;
        let after = events.range((at, 0)..).next();
        let before = events.range(..(at, 0)).next_back();
        // Of several at one instant the first.
        let before = before.and_then(|&(start, _)| events.range((start, 0)..).next());
        let distance = |start: Timestamp| (start - at).unsigned_abs();
        let &(start, position) = after
            .into_iter()
            .chain(before)
            .min_by_key(|&&(start, position)| (distance(start), position))
            .filter(|&&(start, _)| event.kind != EventKind::Launch || distance(start) < SAME_START_NS)?;
        events.remove(&(start, position));
        Some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodput_core::Interval;

    fn commit(step: u64, at: i64) -> Event {
        let at = Timestamp::from_seconds(at);
        Event { interval: Interval::new(at, at), open: false, kind: EventKind::Committed { step }, line: 1 }
    }

    #[test]
    fn each_event_is_matched_once_to_the_nearest_that_says_the_same() {
        let detailed =
            Timeline { events: vec![commit(9, 100), commit(9, 500), commit(19, 200)], ..Timeline::default() };
        let coarse = Timeline {
            events: vec![commit(9, 490), commit(9, 120), commit(9, 900), commit(29, 300)],
            ..Timeline::default()
        };
        let events = merge(detailed, &coarse).events;
        let found: Vec<_> =
            events.iter().map(|e| (e.interval.start.as_nanos() / 1_000_000_000, e.line)).collect();
        assert_eq!(found, [(120, 1), (200, 1), (300, 0), (500, 1), (900, 0)]);
    }

    #[test]
    fn a_hundred_thousand_saves_are_matched_in_a_moment() {
        let saves = |shift: i64| Timeline {
            events: (0..100_000).map(|i| commit(7, i * 10 + shift)).collect(),
            ..Timeline::default()
        };
        let begun = std::time::Instant::now();
        let whole = merge(saves(0), &saves(1));
        assert_eq!(whole.events.len(), 100_000);
        assert!(begun.elapsed().as_secs() < 20, "quadratic: {:?}", begun.elapsed());
    }
}
