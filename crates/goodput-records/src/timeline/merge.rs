//! Two logs of one run as one timeline.

use goodput_core::records::{Commits, Event, EventKind, Timeline};

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
    let mut known = vec![false; detailed.events.len()];
    for event in &coarse.events {
        let wanted = match event.kind {
            EventKind::Launch | EventKind::SaveStarted { .. } | EventKind::Committed { .. } => true,
            EventKind::Resized { .. } => !sized,
            _ => false,
        };
        if !wanted {
            continue;
        }
        let distance = |other: &Event| (other.interval.start - event.interval.start).unsigned_abs();
        let same = (detailed.events.iter().enumerate().zip(&known))
            .filter(|((_, other), taken)| other.kind == event.kind && !**taken)
            .map(|((position, other), _)| (distance(other), position))
            .min()
            .filter(|(distance, _)| event.kind != EventKind::Launch || *distance < SAME_START_NS);
        let Some((_, position)) = same else {
            detailed.events.push(Event { line: 0, ..*event });
            known.push(true);
            continue;
        };
        known[position] = true;
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
