//! Small job logs for tests, in whole seconds.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::cast_possible_wrap,
    reason = "each test file uses a part; a test may fail"
)]

use goodput_core::records::{
    Commits, Event, EventKind, JobState, Phase, SourceRef, Step, StopCause, Symbol, Timeline,
};
use goodput_core::runtime::{Allocation, HeldInterval, RuntimeAccount, RuntimeOptions, Use, account};
use goodput_core::{CapacityTime, Interval, Pattern, Timestamp, Window};

pub fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

/// A log under construction; each record is one line.
#[derive(Default)]
pub struct Log {
    pub timeline: Timeline,
    line: u32,
}

impl Log {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn recording_commits() -> Self {
        let mut log = Self::default();
        log.timeline.commits = Commits::Recorded;
        log
    }

    fn next_line(&mut self) -> u32 {
        self.line += 1;
        self.line
    }

    /// Steps that the log stamps at their start, each `lasts` seconds after the one before.
    pub fn steps(mut self, numbers: std::ops::Range<u64>, from: i64, lasts: i64) -> Self {
        for (i, index) in numbers.enumerate() {
            self = self.record(index, 1, from + i as i64 * lasts, None, 0);
        }
        self
    }

    /// Steps with ends of their own.
    pub fn whole_steps(mut self, numbers: std::ops::Range<u64>, from: i64, lasts: i64) -> Self {
        for (i, index) in numbers.enumerate() {
            let start = from + i as i64 * lasts;
            self = self.record(index, 1, start, Some(start + lasts), 0);
        }
        self
    }

    pub fn record(mut self, index: u64, count: u32, start: i64, end: Option<i64>, wait: i64) -> Self {
        let line = self.next_line();
        self.timeline.steps.push(Step {
            index,
            count,
            line,
            start: at(start),
            end: end.map(at),
            input_wait_ns: wait * 1_000_000_000,
        });
        self
    }

    pub fn event(mut self, kind: EventKind, from: i64, to: i64) -> Self {
        let line = self.next_line();
        let interval = Interval::new(at(from), at(to));
        self.timeline.events.push(Event { interval, open: false, kind, line });
        self
    }

    pub fn open_phase(mut self, phase: Phase, from: i64) -> Self {
        self = self.phase(phase, from, from);
        self.timeline.events.last_mut().unwrap().open = true;
        self
    }

    pub fn phase(self, phase: Phase, from: i64, to: i64) -> Self {
        self.event(EventKind::Phase { phase, name: Symbol::EMPTY }, from, to)
    }

    pub fn launch(self, when: i64) -> Self {
        self.event(EventKind::Launch, when, when)
    }

    pub fn stop(self, cause: StopCause, when: i64) -> Self {
        self.event(EventKind::Stopped { cause }, when, when)
    }

    pub fn commit(self, step: u64, when: i64) -> Self {
        self.event(EventKind::Committed { step }, when, when)
    }

    pub fn restored(self, step: u64, when: i64) -> Self {
        self.event(EventKind::Restored { step: Some(step) }, when, when)
    }

    pub fn resized(self, devices: u64, when: i64) -> Self {
        self.event(EventKind::Resized { devices }, when, when)
    }

    pub fn standby(self, devices: u64, when: i64) -> Self {
        self.event(EventKind::Standby { devices }, when, when)
    }

    pub fn in_held(&self, held: &[HeldInterval]) -> Job {
        self.in_window(held, None)
    }

    pub fn in_window(&self, held: &[HeldInterval], window: Option<(i64, i64)>) -> Job {
        self.account(&Allocation::Recorded(held.to_vec()), window)
    }

    pub fn alone(&self, window: Option<(i64, i64)>) -> Job {
        self.account(&Allocation::FromLog { devices: None }, window)
    }

    fn account(&self, allocation: &Allocation, window: Option<(i64, i64)>) -> Job {
        let window = window.map(|(from, to)| Window::new(at(from), at(to)).unwrap());
        let options = RuntimeOptions { window, ..RuntimeOptions::default() };
        Job(account(&self.timeline, allocation, &options).unwrap())
    }
}

/// One device held over `[from, to)`.
pub fn held(from: i64, to: i64) -> HeldInterval {
    HeldInterval {
        interval: Interval::new(at(from), at(to)),
        devices: 1,
        ended_by: None,
        suspended_ns: 0,
        source: SourceRef::default(),
    }
}

pub fn ended(from: i64, to: i64, state: JobState) -> HeldInterval {
    HeldInterval { ended_by: Some(state), ..held(from, to) }
}

/// An account with its figures in device-seconds.
pub struct Job(pub RuntimeAccount);

impl Job {
    pub fn retained(&self) -> f64 {
        self.0.retained.device_seconds()
    }

    pub fn lost(&self, pattern: Pattern) -> f64 {
        self.0.losses.iter().filter(|l| l.pattern == pattern).map(|l| l.amount.device_seconds()).sum()
    }

    pub fn warned(&self, code: &str) -> bool {
        self.0.warnings.iter().any(|w| w.code == code)
    }

    /// Asserts the whole account: retained and every loss, in device-seconds, nothing else.
    #[track_caller]
    pub fn is(&self, retained: f64, losses: &[(Pattern, f64)]) {
        let mut right = losses.to_vec();
        right.sort_by_key(|l| l.0);
        let got: Vec<_> = self.0.losses.iter().map(|l| (l.pattern, l.amount.device_seconds())).collect();
        assert_eq!((self.retained(), got), (retained, right));
        self.adds_up();
    }

    /// Held time is retained or lost, to the nanosecond, and the lanes show the same.
    #[track_caller]
    pub fn adds_up(&self) {
        let lost: CapacityTime = self.0.losses.iter().map(|l| l.amount).sum();
        assert_eq!(self.0.held - self.0.retained, lost);
    }

    /// Capacity-time that the lanes show for a use.
    pub fn drawn(&self, used_for: Use) -> f64 {
        let segments = self.0.lanes.iter().flatten().filter(|s| s.used_for == used_for);
        segments.map(|s| CapacityTime::of(s.devices, s.interval.duration_ns()).device_seconds()).sum()
    }
}
