//! Several logs of one job as one timeline.

use goodput_core::records::{Event, EventKind, Symbols, Timeline, TimelineWork};
use goodput_core::{Interval, Timestamp};
use rustc_hash::FxHashMap;

use super::merge;

/// The logs of one job as one timeline: logs that follow each other are its attempts, and a log that runs beside a more
/// detailed one (Megatron-LM's `progress.txt` beside its stdout) adds what it knows besides. `None` without a log.
///
/// Lines are those of the first file; what comes from another has line 0.
pub fn combine(mut parts: Vec<Timeline>) -> Option<Timeline> {
    // The most detailed first, so that a coarse log meets everything it runs beside.
    parts.sort_by_key(|part| (std::cmp::Reverse(part.steps.len()), extent(part).start));
    let mut attempts: Vec<Timeline> = Vec::new();
    let mut coarse = Vec::new();
    for part in parts {
        if attempts.iter().any(|other| run_together(extent(other), extent(&part))) {
            coarse.push(part)
        } else {
            attempts.push(part)
        }
    }
    attempts.sort_by_key(|part| extent(part).start);
    let mut attempts = attempts.into_iter();
    let first = attempts.next()?;
    let whole = attempts.fold(first, follow);
    Some(coarse.iter().fold(whole, merge))
}

/// The logs of several jobs, one timeline a job, in the order in which the jobs are first named. Logs that do not say
/// which job they are of stay apart.
pub fn combine_by_job(parts: Vec<Timeline>) -> Vec<Timeline> {
    let mut jobs: Vec<Vec<Timeline>> = Vec::new();
    let mut by_id: FxHashMap<String, usize> = FxHashMap::default();
    for part in parts {
        let known = part.job.as_ref().and_then(|job| by_id.get(job).copied());
        let Some(position) = known else {
            if let Some(job) = &part.job {
                by_id.insert(job.clone(), jobs.len());
            }
            jobs.push(vec![part]);
            continue;
        };
        jobs[position].push(part);
    }
    jobs.into_iter().filter_map(combine).collect()
}

/// Whether two logs are of the same stretch of a run: they share at least half of the shorter one. Attempts that follow
/// each other may touch, since clocks differ and a dying process still writes.
fn run_together(a: Interval, b: Interval) -> bool {
    let shorter = a.duration_ns().min(b.duration_ns());
    let touch = a.start <= b.end && b.start <= a.end;
    touch && a.intersect(b).duration_ns() >= shorter - shorter / 2
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
    before.devices = before.devices.or(next.devices);
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
    if before.ideal == TimelineWork::default() {
        before.ideal = next.ideal;
    }
    if before.software.is_empty() {
        before.software = next.software;
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
    fn attempts_whose_stamps_touch_still_follow_each_other() {
        let (first, second) = (log(0, 100, 50), log(30, 148, 50));
        for parts in [vec![first.clone(), second.clone()], vec![second, first]] {
            let whole = combine(parts).unwrap();
            assert_eq!(whole.steps.len(), 100);
            assert_eq!((whole.steps[0].index, whole.steps[50].index), (0, 30));
        }
    }

    #[test]
    fn what_one_attempt_says_holds_for_one_that_does_not_say_it() {
        let silent = Timeline { devices: None, ..log(0, 100, 3) };
        let mut speaking = log(3, 200, 3);
        speaking.ideal.device = Some("H100-SXM5".to_owned());
        let whole = combine(vec![silent, speaking.clone()]).unwrap();
        assert_eq!((whole.devices, &whole.ideal), (Some(8), &speaking.ideal));
        assert!(!whole.events.iter().any(|e| matches!(e.kind, EventKind::Resized { .. })));
    }

    #[test]
    fn logs_are_combined_job_by_job() {
        let of = |job: Option<&str>, at| Timeline { job: job.map(str::to_owned), ..log(0, at, 3) };
        let parts = vec![of(Some("7"), 500), of(None, 0), of(Some("8"), 0), of(Some("7"), 100), of(None, 0)];
        let jobs = combine_by_job(parts);
        let found: Vec<_> = jobs.iter().map(|t| (t.job.as_deref(), t.steps.len())).collect();
        assert_eq!(found, [(Some("7"), 6), (None, 3), (Some("8"), 3), (None, 3)]);
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
