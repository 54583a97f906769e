//! Several logs of one job as one timeline.

use goodput_core::records::{Event, EventKind, Symbols, Timeline};
use goodput_core::{Interval, Timestamp};

use super::merge;

/// The logs of one job as one timeline: logs that follow each other are its attempts, and a log that runs beside a more
/// detailed one (Megatron-LM's `progress.txt` beside its stdout) adds what it knows besides. `None` without a log.
///
/// Lines are those of the first file; what comes from another has line 0.
pub fn combine(mut parts: Vec<Timeline>) -> Option<Timeline> {
    // The most detailed first, so that a coarse log meets everything it runs beside.
    parts.sort_by_key(|part| std::cmp::Reverse(part.steps.len()));
    let mut attempts: Vec<Timeline> = Vec::new();
    let mut coarse = Vec::new();
    for part in parts {
        let beside = |other: &Timeline| !extent(other).intersect(extent(&part)).is_empty();
        if attempts.iter().any(beside) { coarse.push(part) } else { attempts.push(part) }
    }
    attempts.sort_by_key(|part| extent(part).start);
    let mut attempts = attempts.into_iter();
    let first = attempts.next()?;
    let whole = attempts.fold(first, follow);
    Some(coarse.iter().fold(whole, merge))
}

/// From the first to the last instant of a log.
fn extent(timeline: &Timeline) -> Interval {
    let steps = timeline.steps.iter().map(|s| Interval::new(s.start, s.end.unwrap_or(s.start)));
    let all = steps.chain(timeline.events.iter().map(|e| e.interval));
    let whole = all.reduce(|a, b| Interval::new(a.start.min(b.start), a.end.max(b.end)));
    whole.unwrap_or(Interval::new(Timestamp::default(), Timestamp::default()))
}

/// `before`, and then `next`.
fn follow(mut before: Timeline, next: Timeline) -> Timeline {
    let begins = Event {
        interval: Interval::new(extent(&next).start, extent(&next).start),
        open: false,
        kind: EventKind::Launch,
        line: 0,
    };
    if !next.events.iter().any(|event| event.kind == EventKind::Launch) {
        before.events.push(begins);
    }
    if let (Some(devices), true) = (next.devices, next.devices != before.devices) {
        before.events.push(Event { kind: EventKind::Resized { devices }, ..begins });
    }
    let renamed = |kind: EventKind, symbols: &mut Symbols| match kind {
        EventKind::Phase { phase, name } => {
            EventKind::Phase { phase, name: symbols.intern(next.symbols.get(name)) }
        }
        kind => kind,
    };
    for event in &next.events {
        let kind = renamed(event.kind, &mut before.symbols);
        before.events.push(Event { kind, line: 0, ..*event });
    }
    if !before.work.is_empty() || !next.work.is_empty() {
        before.work.resize(before.steps.len(), Default::default());
        before.work.extend(next.work.iter().copied());
        before.work.resize(before.steps.len() + next.steps.len(), Default::default());
    }
    before.steps.extend(next.steps.iter().map(|step| goodput_core::records::Step { line: 0, ..*step }));
    for rank in &next.ranks {
        let host = before.symbols.intern(next.symbols.get(rank.host));
        before.ranks.push(goodput_core::records::RankSample { host, ..*rank });
    }
    before.planned_steps = next.planned_steps.or(before.planned_steps);
    before.job = before.job.or(next.job);
    before.commits = before.commits.min(next.commits);
    before.stamp_resolution_ns = before.stamp_resolution_ns.max(next.stamp_resolution_ns);
    before
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodput_core::records::Step;

    fn log(first_step: u64, at: i64, steps: i64) -> Timeline {
        let step = |i: i64| Step {
            index: first_step + i as u64,
            count: 1,
            line: 1 + i as u32,
            start: Timestamp::from_seconds(at + i),
            end: Some(Timestamp::from_seconds(at + i + 1)),
            input_wait_ns: 0,
        };
        Timeline { steps: (0..steps).map(step).collect(), devices: Some(8), ..Timeline::default() }
    }

    #[test]
    fn attempts_follow_each_other_whatever_order_they_are_named_in() {
        let whole = combine(vec![log(5, 1000, 3), log(0, 100, 7)]).unwrap();
        let indices: Vec<u64> = whole.steps.iter().map(|s| s.index).collect();
        assert_eq!(indices, [0, 1, 2, 3, 4, 5, 6, 5, 6, 7]);
        assert!(
            whole
                .events
                .iter()
                .any(|e| e.kind == EventKind::Launch && e.interval.start == Timestamp::from_seconds(1000))
        );
        assert!(combine(Vec::new()).is_none());
    }

    #[test]
    fn a_coarse_log_beside_a_detailed_one_adds_its_events() {
        let mut coarse = log(0, 102, 1);
        let at = Timestamp::from_seconds(105);
        let commit = EventKind::Committed { step: 4 };
        coarse.events.push(Event { interval: Interval::new(at, at), open: false, kind: commit, line: 9 });
        let whole = combine(vec![coarse, log(0, 100, 7)]).unwrap();
        assert_eq!(whole.steps.len(), 7);
        assert!(whole.events.iter().any(|e| e.kind == commit));
    }
}
