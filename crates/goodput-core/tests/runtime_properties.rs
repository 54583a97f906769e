//! Whatever the log contains, held time is retained or lost exactly once; and on logs of lives whose
//! truth is known the account finds that truth to the nanosecond.

#![allow(clippy::unwrap_used, clippy::cast_possible_wrap, missing_docs)]

use std::collections::BTreeMap;

use goodput_core::records::{
    Commits, Event, EventKind, JobState, Phase, SourceRef, Step, StepWork, StopCause, Symbol, Timeline,
};
use goodput_core::runtime::{Allocation, HeldInterval, RuntimeAccount, RuntimeOptions, account};
use goodput_core::{CapacityTime, Interval, Pattern, Timestamp, Window};
use proptest::prelude::*;
use proptest::sample::select;

const PHASES: [Phase; 8] = [
    Phase::Launch,
    Phase::CheckpointLoad,
    Phase::CheckpointPause,
    Phase::InputWait,
    Phase::Evaluation,
    Phase::Reconfiguration,
    Phase::Suspension,
    Phase::Declared,
];
const STOPS: [StopCause; 5] = [
    StopCause::Finished,
    StopCause::Ended,
    StopCause::Fault,
    StopCause::Preempted,
    StopCause::Reconfiguration,
];
const STATES: [JobState; 9] = [
    JobState::Completed,
    JobState::Cancelled,
    JobState::Failed,
    JobState::NodeFail,
    JobState::Preempted,
    JobState::Requeued,
    JobState::Resizing,
    JobState::Timeout,
    JobState::OutOfMemory,
];

/// Mostly near each other, now and then absurd.
fn instant() -> impl Strategy<Value = Timestamp> {
    prop_oneof![
        50 => (-50i64..400).prop_map(Timestamp::from_nanos),
        1 => (-(1i64 << 61)..1 << 61).prop_map(Timestamp::from_nanos),
    ]
}

fn length() -> impl Strategy<Value = i64> {
    prop_oneof![3 => Just(0), 20 => 0i64..40, 1 => Just(-3), 1 => 0i64..1 << 60]
}

fn event() -> impl Strategy<Value = Event> {
    let kind = prop_oneof![
        1 => Just(EventKind::Launch),
        8 => select(&PHASES[..]).prop_map(|phase| EventKind::Phase { phase, name: Symbol::EMPTY }),
        1 => (0u64..40).prop_map(|step| EventKind::SaveStarted { step }),
        2 => (0u64..40).prop_map(|step| EventKind::Committed { step }),
        1 => prop::option::of(0u64..40).prop_map(|step| EventKind::Restored { step }),
        1 => (0u64..9).prop_map(|devices| EventKind::Resized { devices }),
        1 => (0u64..5).prop_map(|devices| EventKind::Standby { devices }),
        2 => select(&STOPS[..]).prop_map(|cause| EventKind::Stopped { cause }),
        1 => Just(EventKind::LoggingCost),
    ];
    (kind, instant(), length(), any::<bool>(), 0u32..80).prop_map(|(kind, start, lasts, open, line)| Event {
        interval: Interval::new(start, start + lasts),
        open: open && lasts == 0,
        kind,
        line,
    })
}

fn step() -> impl Strategy<Value = Step> {
    (0u64..40, 0u32..6, 0u32..80, instant(), prop::option::of(length()), 0i64..6).prop_map(
        |(index, count, line, start, lasts, input_wait_ns)| Step {
            index,
            count,
            line,
            start,
            end: lasts.map(|lasts| start + lasts),
            input_wait_ns,
        },
    )
}

prop_compose! {
    /// Half of the logs in time order with rising step numbers, half without any order.
    fn timeline()(
        mut steps in prop::collection::vec(step(), 0..60),
        mut events in prop::collection::vec(event(), 0..30),
        orderly in any::<bool>(),
        resolution in select(vec![0i64, 1, 5]),
        devices in prop::option::of(0u64..9),
        recorded in any::<bool>(),
        works in any::<bool>(),
    ) -> Timeline {
        if orderly {
            steps.sort_by_key(|s| s.start);
            events.sort_by_key(|e| e.interval.start);
            for (i, step) in steps.iter_mut().enumerate() {
                step.index = step.index / 4 + i as u64;
            }
        }
        let work = StepWork { tokens: 1 << 40, model_flops: u128::MAX >> 64 };
        Timeline {
            work: if works { vec![work; steps.len()] } else { Vec::new() },
            steps,
            events,
            devices,
            commits: if recorded { Commits::Recorded } else { Commits::Unknown },
            stamp_resolution_ns: resolution,
            ..Timeline::default()
        }
    }
}

prop_compose! {
    fn held()(
        intervals in prop::collection::vec((1i64..60, 0i64..150, 0u64..9, 0i64..30, select(&STATES[..])), 0..5),
        first in -60i64..60,
    ) -> Vec<HeldInterval> {
        let mut from = first;
        intervals.into_iter().map(|(wait, lasts, devices, suspended_ns, state)| {
            let start = from + wait / 2;
            from = start + lasts;
            HeldInterval {
                interval: Interval::new(Timestamp::from_nanos(start), Timestamp::from_nanos(from)),
                devices,
                ended_by: Some(state),
                suspended_ns,
                source: SourceRef::default(),
            }
        }).collect()
    }
}

/// Failures are printed whole; no regression files beside the tests.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn adds_up(job: &RuntimeAccount) -> Result<(), TestCaseError> {
    let lost: CapacityTime = job.losses.iter().map(|l| l.amount).sum();
    prop_assert_eq!(job.held - job.retained, lost);
    let steps = job.steps;
    prop_assert_eq!(steps.executed, steps.retained + steps.discarded + steps.pending);
    for segment in job.lanes.iter().flatten() {
        prop_assert!(!segment.interval.is_empty());
        prop_assert_eq!(job.window.clip(segment.interval), segment.interval);
    }
    Ok(())
}

fn amounts(job: &RuntimeAccount) -> BTreeMap<Option<Pattern>, i128> {
    let losses = job.losses.iter().map(|l| (Some(l.pattern), l.amount.device_ns()));
    losses.chain([(None, job.retained.device_ns())]).filter(|l| l.1 != 0).collect()
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn the_parts_of_any_log_sum_to_held_time(
        timeline in timeline(),
        held in held(),
        from in -80i64..300,
        lasts in 1i64..300,
    ) {
        let window = Window::new(Timestamp::from_nanos(from), Timestamp::from_nanos(from + lasts)).unwrap();
        for window in [None, Some(window)] {
            let options = RuntimeOptions { window, teardown_limit_ns: 20, ..RuntimeOptions::default() };
            for allocation in [
                Allocation::Recorded(held.clone()),
                Allocation::FromLog { devices: None },
                Allocation::FromLog { devices: Some(3) },
            ] {
                if let Ok(job) = account(&timeline, &allocation, &options) {
                    adds_up(&job)?;
                }
            }
        }
    }

    /// Cutting the window anywhere moves no time between categories: the two sides add up to the whole.
    #[test]
    fn the_two_sides_of_a_cut_add_up(timeline in timeline(), held in held(), cut in -40i64..350) {
        let at = Timestamp::from_nanos;
        let of = |from, to| {
            let window = Some(Window::new(at(from), at(to)).unwrap());
            let options = RuntimeOptions { window, teardown_limit_ns: 20, ..RuntimeOptions::default() };
            amounts(&account(&timeline, &Allocation::Recorded(held.clone()), &options).unwrap())
        };
        let mut sides = of(-100, cut);
        for (used_for, amount) in of(cut, 1000) {
            *sides.entry(used_for).or_default() += amount;
        }
        sides.retain(|_, amount| *amount != 0);
        prop_assert_eq!(sides, of(-100, 1000));
    }
}

/// f of the simulated life, in nanoseconds.
const F: i64 = 1_000_000;

#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// A fault, whether or not the log names it.
    Fault { logged: bool },
    /// An eviction: release, a wait in the queue, a new allocation.
    Eviction { queue: i64 },
}

#[derive(Debug, Clone, Copy)]
struct Attempt {
    steps: u64,
    end: End,
    /// Into the step that never completes.
    partial: i64,
    /// From the end to the relaunch, or to the release.
    down: i64,
    startup: i64,
    excess: i64,
    first_wait: i64,
}

#[derive(Debug, Clone, Copy)]
struct Program {
    save_every: u64,
    pause: i64,
    evaluate_every: u64,
    wait_every: u64,
    wait: i64,
    finishes: bool,
}

fn program() -> impl Strategy<Value = Program> {
    (3u64..15, 1i64..3 * F, 4u64..20, 2u64..9, 1i64..F, any::<bool>()).prop_map(
        |(save_every, pause, evaluate_every, wait_every, wait, finishes)| Program {
            save_every,
            pause,
            evaluate_every,
            wait_every,
            wait,
            finishes,
        },
    )
}

fn attempt() -> impl Strategy<Value = Attempt> {
    let end = prop_oneof![
        any::<bool>().prop_map(|logged| End::Fault { logged }),
        (0i64..50 * F).prop_map(|queue| End::Eviction { queue }),
    ];
    let excess = prop_oneof![Just(0), F / 10..9 * F];
    (0u64..40, end, 0..F, 1i64..40 * F, 1i64..90 * F, excess, 0..2 * F).prop_map(
        |(steps, end, partial, down, startup, excess, first_wait)| Attempt {
            steps,
            end,
            partial,
            down,
            startup,
            excess,
            first_wait,
        },
    )
}

struct Executed {
    index: u64,
    counted: i64,
    excess: i64,
    wait: i64,
    warm: bool,
    cause: Pattern,
    discarded: Option<Pattern>,
}

/// A life in the making: its log, its allocations and the truth.
struct Life {
    timeline: Timeline,
    held: Vec<HeldInterval>,
    now: i64,
    truth: BTreeMap<Option<Pattern>, i128>,
    executed: Vec<Executed>,
}

impl Life {
    fn lose(&mut self, pattern: Pattern, ns: i64) {
        *self.truth.entry(Some(pattern)).or_default() += i128::from(ns);
    }

    fn event(&mut self, kind: EventKind, lasts: i64) {
        let at = Timestamp::from_nanos;
        let line = self.line();
        let interval = Interval::new(at(self.now), at(self.now + lasts));
        self.timeline.events.push(Event { interval, open: false, kind, line });
        self.now += lasts;
    }

    fn line(&self) -> u32 {
        (self.timeline.events.len() + self.timeline.steps.len()) as u32 + 1
    }

    fn step(&mut self, index: u64, wait: i64, net: i64) {
        let at = Timestamp::from_nanos;
        let line = self.line();
        let end = Some(at(self.now + wait + net));
        self.timeline.steps.push(Step {
            index,
            count: 1,
            line,
            start: at(self.now),
            end,
            input_wait_ns: wait,
        });
        self.now += wait + net;
    }

    fn release(&mut self, from: i64, state: JobState) {
        let at = Timestamp::from_nanos;
        self.held.push(HeldInterval {
            interval: Interval::new(at(from), at(self.now)),
            devices: 1,
            ended_by: Some(state),
            suspended_ns: 0,
            source: SourceRef::default(),
        });
    }
}

/// Lives the attempts and keeps the books as it goes, by the definitions alone.
fn live(program: Program, attempts: &[Attempt]) -> Life {
    let phase = |phase| EventKind::Phase { phase, name: Symbol::EMPTY };
    let timeline = Timeline { commits: Commits::Recorded, stamp_resolution_ns: 1, ..Timeline::default() };
    let mut life = Life { timeline, held: Vec::new(), now: 0, truth: BTreeMap::new(), executed: Vec::new() };
    let (mut held_from, mut committed, mut cause) = (0, None::<u64>, Pattern::Startup);
    for (n, attempt) in attempts.iter().enumerate() {
        let last = n + 1 == attempts.len();
        life.event(EventKind::Launch, 0);
        life.event(phase(Phase::Launch), attempt.startup);
        life.lose(cause, attempt.startup);
        if let Some(step) = committed {
            life.event(EventKind::Restored { step: Some(step) }, 0);
        }
        let resume = committed.map_or(0, |c| c + 1);
        let lost = if cause == Pattern::Preemption { Pattern::Preemption } else { Pattern::Rework };
        // A fault that leaves no line after a launch that left no step cannot be known.
        let at_least = match attempt.end {
            _ if n == 0 || last => 30,
            End::Fault { logged: false } => 1,
            _ => 0,
        };
        let steps = attempt.steps + at_least;
        // Nor can the end of a launch that left no step be told from what came after it.
        let (partial, down) = match attempt.end {
            _ if steps > 0 => (attempt.partial, attempt.down),
            End::Fault { .. } => (0, attempt.down),
            End::Eviction { .. } => (0, 0),
        };
        // A start discards what lies beyond its checkpoint: by its first step, or by restoring it.
        if steps > 0 || committed.is_some() {
            let beyond = life.executed.iter_mut().filter(|e| e.discarded.is_none() && e.index >= resume);
            beyond.for_each(|e| e.discarded = Some(lost));
        }
        let mut warm = true;
        for index in resume..resume + steps {
            let first = index == resume;
            let wait = if first {
                attempt.first_wait
            } else if index % program.wait_every == 0 {
                program.wait
            } else {
                0
            };
            // Every seventh step is a slow one.
            let net = if index % 7 == 3 { F + F / 2 } else { F } + if first { attempt.excess } else { 0 };
            warm &= net > F + F / 20;
            let counted = if warm { F } else { net };
            life.executed.push(Executed {
                index,
                counted,
                excess: net - counted,
                wait,
                warm,
                cause,
                discarded: None,
            });
            life.step(index, wait, net);
            if (index + 1) % program.save_every == 0 {
                life.event(phase(Phase::CheckpointPause), program.pause);
                life.lose(Pattern::CheckpointPause, program.pause);
                life.event(EventKind::Committed { step: index }, 0);
                committed = Some(index);
            }
            if (index + 1) % program.evaluate_every == 0 {
                life.event(phase(Phase::Evaluation), 2 * F);
                life.lose(Pattern::Evaluation, 2 * F);
            }
        }
        if last {
            let cause = if program.finishes { StopCause::Finished } else { StopCause::Ended };
            life.event(EventKind::Stopped { cause }, 0);
            life.now += down;
            life.lose(Pattern::Teardown, down);
            life.release(held_from, JobState::Completed);
            break;
        }
        // The step that is under way never completes and leaves no line.
        let next = match attempt.end {
            End::Fault { .. } => Pattern::Recovery,
            End::Eviction { .. } => Pattern::Preemption,
        };
        life.now += partial;
        if let End::Fault { logged: true } = attempt.end {
            life.event(EventKind::Stopped { cause: StopCause::Fault }, 0);
        }
        life.now += down;
        life.lose(next, partial + down);
        if let End::Eviction { queue } = attempt.end {
            life.release(held_from, JobState::Preempted);
            life.now += queue;
            held_from = life.now;
        }
        cause = next;
    }
    let mut books = std::mem::take(&mut life.truth);
    let mut add = |used_for, ns: i64| *books.entry(used_for).or_default() += i128::from(ns);
    for e in &life.executed {
        let kept = program.finishes || committed.is_some_and(|c| e.index <= c);
        match e.discarded {
            Some(lost) => add(Some(lost), e.counted + e.excess + e.wait),
            None if !kept => add(Some(Pattern::Pending), e.counted + e.excess + e.wait),
            None => {
                add(Some(e.cause), e.excess);
                add(Some(if e.warm { e.cause } else { Pattern::InputWait }), e.wait);
                add(None, e.counted);
            }
        }
    }
    books.retain(|_, ns| *ns != 0);
    life.truth = books;
    life
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn the_account_of_a_known_life_is_its_truth(
        program in program(),
        attempts in prop::collection::vec(attempt(), 1..7),
    ) {
        let life = live(program, &attempts);
        let job = account(&life.timeline, &Allocation::Recorded(life.held.clone()), &RuntimeOptions::default());
        prop_assert_eq!(amounts(&job.unwrap()), life.truth);
    }
}
