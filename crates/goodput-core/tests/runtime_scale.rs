//! How the accounting grows; `bench/run.sh` measures how fast it is.

#![allow(clippy::unwrap_used, clippy::cast_possible_wrap, missing_docs)]

use std::time::{Duration, Instant};

use goodput_core::records::{Event, EventKind, Phase, Step, StopCause, Symbol, Timeline};
use goodput_core::runtime::{Allocation, RuntimeOptions, account};
use goodput_core::{Interval, Timestamp};

const S: i64 = 1_000_000_000;

/// Steps of about 2 s, `rollbacks` of them followed by a fault that discards `depth` steps, and
/// `events` evaluations and pauses, evenly spread.
fn job(steps: u64, rollbacks: u64, depth: u64, events: u64) -> Timeline {
    let mut timeline = Timeline::default();
    let (mut now, mut line, mut index) = (0, 0, 0u64);
    for n in 0..steps {
        let mut event = |timeline: &mut Timeline, lasts: i64, kind| {
            line += 1;
            let interval = Interval::new(Timestamp::from_nanos(now), Timestamp::from_nanos(now + lasts));
            timeline.events.push(Event { interval, open: false, kind, line });
            now += lasts;
        };
        let phase = |phase| EventKind::Phase { phase, name: Symbol::EMPTY };
        if n * (rollbacks + 1) / steps != n.saturating_sub(1) * (rollbacks + 1) / steps {
            event(&mut timeline, 0, EventKind::Stopped { cause: StopCause::Fault });
            event(&mut timeline, 30 * S, EventKind::Launch);
            event(&mut timeline, 60 * S, phase(Phase::Launch));
            index = index.saturating_sub(depth);
        }
        if n * events / steps != n.saturating_sub(1) * events / steps {
            let kind = if n % 2 == 0 { Phase::Evaluation } else { Phase::CheckpointPause };
            event(&mut timeline, 3 * S, phase(kind));
        }
        line += 1;
        let start = Timestamp::from_nanos(now);
        timeline.steps.push(Step { index, count: 1, line, start, end: None, input_wait_ns: 0 });
        // A cheap, fixed jitter of 2 %.
        now += 2 * S + (n.wrapping_mul(2_654_435_761) % 80_000_000) as i64 - 40_000_000;
        index += 1;
    }
    timeline
}

/// Processor time of this thread where the system tells (other work on the machine does not count),
/// else time that passed.
fn clock(started: Instant) -> Duration {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_cpu = status.split(' ').next().and_then(|ns| ns.parse().ok()).map(Duration::from_nanos);
    on_cpu.unwrap_or_else(|| started.elapsed())
}

fn timed(timeline: &Timeline) -> Duration {
    let started = Instant::now();
    let before = clock(started);
    account(timeline, &Allocation::FromLog { devices: Some(1024) }, &RuntimeOptions::default()).unwrap();
    clock(started) - before
}

/// Twice the input takes about twice the time, however many faults and events there are.
#[test]
fn work_grows_with_the_input_only() {
    let small = timed(&job(20_000, 2_000, 5_000, 5_000));
    let large = timed(&job(160_000, 16_000, 40_000, 40_000));
    assert!(
        large < small * 8 * 4 + Duration::from_millis(200),
        "{small:?} for 1, {large:?} for 8 times as much"
    );
}
