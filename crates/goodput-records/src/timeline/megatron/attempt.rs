//! The attempts of one job, line by line.

use goodput_core::records::{EventKind, Phase, StepWork, StopCause};
use goodput_core::{Interval, Timestamp};

use super::message::Message;
use super::placement::instant;
use super::saves::Saves;
use crate::ReadError;
use crate::timeline::clock::{Stamp, WallClock};
use crate::timeline::draft::Draft;
use crate::timeline::{Account, Source};

/// A printed duration may outlast the stamp after it by the spread of the ranks; more is a clock set back.
const SPREAD_NS: i64 = 1_000_000_000;

/// The job while its log is read.
pub(super) struct Job {
    pub draft: Draft,
    pub clock: WallClock,
    pub attempt: Attempt,
    pub seq_length: Option<u64>,
    pub log_interval: Option<u64>,
    pub world_size: Option<u64>,
    pub unstamped: u64,
    pub last_commit: Option<u64>,
}

/// What is known of the current attempt.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    /// Whether a start-up line said that it began.
    announced: bool,
    launched: bool,
    /// The last instant that something is known to have ended.
    pub now: Option<Timestamp>,
    /// The last iteration done, or held by the checkpoint that was loaded.
    pub done: Option<u64>,
    pub last_stamp: Option<Stamp>,
    pub consumed_samples: Option<u64>,
    pub stepped: bool,
    /// Position of the first record, while its number of iterations is only supposed.
    pub supposed: Option<usize>,
    initialized_ns: Option<i64>,
    pub load_ns: Option<i64>,
    /// Iteration and line of a checkpoint that was loaded since the last stamp.
    loaded: Option<(u64, u32)>,
    pub saves: Saves,
    /// Position of the event that says that it stopped.
    pub stopped: Option<usize>,
    /// Line of the word that training is done.
    trained: Option<u32>,
}

impl Job {
    pub(super) fn new(draft: Draft, clock: WallClock) -> Self {
        Self {
            draft,
            clock,
            attempt: Attempt::default(),
            seq_length: None,
            log_interval: None,
            world_size: None,
            unstamped: 0,
            last_commit: None,
        }
    }

    pub(super) fn take(&mut self, message: Message<'_>, line: u32) {
        match message {
            Message::Iteration(Ok(iteration)) => self.iteration(&iteration, line),
            Message::Iteration(Err(_)) => {}
            Message::WorldSize(size) => {
                self.begin_attempt();
                self.world_size = Some(size);
            }
            Message::Argument { name, value } => self.argument(name, value),
            Message::Initialized { took_ns } => {
                self.begin_attempt();
                self.attempt.initialized_ns = Some(took_ns);
            }
            Message::Milestone { name, stamp } => self.milestone(name, stamp, line),
            Message::Timer { name, took_ns } => self.timer(name, took_ns, line),
            Message::Saving { stamp, iteration } => self.saving(stamp, iteration, line),
            Message::Saved { stamp, iteration } => self.saved(stamp, iteration, line),
            Message::Loaded { iteration } => {
                self.begin_attempt();
                self.last_commit = Some(iteration);
                self.attempt.done = Some(iteration);
                self.attempt.loaded = Some((iteration, line));
            }
            Message::StartsFresh => {
                self.begin_attempt();
                self.last_commit = None;
                self.attempt.done = Some(0);
                self.attempt.consumed_samples = Some(0);
            }
            Message::Cancelled { stamp, reason } => self.cancelled(stamp, reason, line),
        }
    }

    /// A start-up line after steps or an end begins the next attempt.
    fn begin_attempt(&mut self) {
        if self.attempt.stepped || self.attempt.stopped.is_some() || self.attempt.trained.is_some() {
            self.end_attempt();
            self.attempt = Attempt::default();
        }
        self.attempt.announced = true;
    }

    /// The next attempt, whose own start-up lines are not in this log.
    pub(super) fn next_attempt(&mut self) {
        let now = self.attempt.now;
        self.end_attempt();
        self.attempt = Attempt { now, ..Attempt::default() };
    }

    fn argument(&mut self, name: &str, value: &str) {
        match name {
            "world_size" => {
                self.begin_attempt();
                self.world_size = value.parse().ok().or(self.world_size);
            }
            "seq_length" => self.seq_length = value.parse().ok(),
            "log_interval" => self.log_interval = value.parse().ok().filter(|n| *n > 0),
            "train_iters" => self.draft.timeline.planned_steps = value.parse().ok(),
            _ => self.draft.skip("other argument"),
        }
    }

    /// The instant of a stamped line; a refusal when the stamp cannot be read.
    pub(super) fn at(&mut self, stamp: &str, line: u32) -> Option<Timestamp> {
        let Some(stamp) = self.clock.read(stamp) else {
            self.draft.refuse("bad_value", line, "datetime", || "the stamp is no date and time".to_owned());
            return None;
        };
        let at = instant(self.attempt.now, stamp);
        self.check_clock(at, line);
        Some(at)
    }

    pub(super) fn check_clock(&mut self, at: Timestamp, line: u32) {
        if let Some(now) = self.attempt.now.filter(|now| *now - at > SPREAD_NS) {
            self.draft.note_clock_step(now, at, line);
        }
    }

    /// The first stamp after start-up lines is the evidence of a launch.
    pub(super) fn launch(&mut self, at: Timestamp, line: u32) {
        if std::mem::replace(&mut self.attempt.launched, true) {
            return;
        }
        let start = at - self.attempt.initialized_ns.unwrap_or(0);
        if self.attempt.announced {
            self.draft.instant(EventKind::Launch, start, line);
        }
        if self.draft.timeline.devices.is_none() {
            self.draft.timeline.devices = self.world_size;
        } else if let Some(devices) = self.world_size.filter(|_| self.size_now() != self.world_size) {
            self.draft.instant(EventKind::Resized { devices }, start, line);
        }
    }

    fn size_now(&self) -> Option<u64> {
        let resized = self.draft.timeline.events.iter().rev().find_map(|event| match event.kind {
            EventKind::Resized { devices } => Some(devices),
            _ => None,
        });
        resized.or(self.draft.timeline.devices)
    }

    fn milestone(&mut self, name: &str, stamp: &str, line: u32) {
        if name.starts_with("exiting program") || name == "after training is done" {
            return self.end(name, stamp, line);
        }
        self.begin_attempt();
        if name.starts_with("after model") && self.attempt.done.is_none() {
            // The model is built and no checkpoint was loaded into it.
            self.attempt.done = Some(0);
            self.attempt.consumed_samples = Some(0);
        }
        let Some(at) = self.at(stamp, line) else { return };
        self.launch(at, line);
        let since = self.attempt.now.unwrap_or(at - self.attempt.initialized_ns.unwrap_or(0));
        let load_ns = self.attempt.load_ns.take().filter(|_| self.attempt.loaded.is_some()).unwrap_or(0);
        let loading = Interval::new((at - load_ns).max(since), at);
        let launching = Interval::new(since, loading.start);
        if !launching.is_empty() {
            self.draft.phase(Phase::Launch, name, launching, line);
        }
        if !loading.is_empty() {
            self.draft.phase(Phase::CheckpointLoad, "load-checkpoint", loading, line);
        }
        self.restored(at);
        self.attempt.now = Some(at);
    }

    fn end(&mut self, name: &str, stamp: &str, line: u32) {
        self.release_held();
        let Some(at) = self.at(stamp, line) else { return };
        self.commit_now();
        self.attempt.now = Some(at);
        if name == "after training is done" {
            self.attempt.trained = Some(line);
        } else {
            self.stop(StopCause::Ended, at, line);
        }
    }

    pub(super) fn restored(&mut self, at: Timestamp) {
        if let Some((step, line)) = self.attempt.loaded.take() {
            self.draft.instant(EventKind::Restored { step: Some(step) }, at, line);
        }
    }

    fn cancelled(&mut self, stamp: &str, reason: &str, line: u32) {
        let cause = match reason {
            reason if reason.starts_with("PREEMPTION") => StopCause::Preempted,
            // Somebody requeued it: the state that sacct gives such a job is no eviction either.
            reason if reason.starts_with("JOB REQUEUE") => StopCause::Reconfiguration,
            reason if reason.starts_with("NODE FAILURE") || reason.starts_with("SEE SLURMCTLD LOG") => {
                StopCause::Fault
            }
            _ => StopCause::Ended,
        };
        self.release_held();
        let Some(at) = self.at(stamp, line) else { return };
        self.commit_now();
        self.stop(cause, at, line);
        self.attempt.now = Some(at);
    }

    /// One end an attempt: the first that is printed, with the cause of the one that knows it.
    fn stop(&mut self, cause: StopCause, at: Timestamp, line: u32) {
        if let Some(event) =
            self.attempt.stopped.and_then(|stopped| self.draft.timeline.events.get_mut(stopped))
        {
            if event.kind == (EventKind::Stopped { cause: StopCause::Ended }) {
                event.kind = EventKind::Stopped { cause };
                event.line = line;
            }
            return;
        }
        self.attempt.stopped = Some(self.draft.timeline.events.len());
        self.draft.instant(EventKind::Stopped { cause }, at, line);
    }

    /// Training that is done and whose last iteration is committed has finished.
    fn end_attempt(&mut self) {
        self.release_held();
        self.commit_now();
        if let (Some(line), Some(at)) = (self.attempt.trained, self.attempt.now) {
            let committed = self.attempt.done.is_some() && self.last_commit >= self.attempt.done;
            self.stop(if committed { StopCause::Finished } else { StopCause::Ended }, at, line);
        }
    }

    pub(super) fn finish(mut self, source: &Source<'_>) -> Result<Vec<Account>, ReadError> {
        self.end_attempt();
        let Draft { mut timeline, mut report, .. } = self.draft;
        if timeline.steps.is_empty() && self.unstamped > 0 {
            return Err(source.refused(
                0,
                format!("none of the {} iterations carries a stamp", self.unstamped),
                "Megatron-LM prints stamps from core_v0.6.0 on; read the run's progress.txt (--log-progress) instead, or \
                 print stamps before the lines as `[YYYY-MM-DD HH:MM:SS] `",
            ));
        }
        if timeline.work.iter().all(|work| *work == StepWork::default()) {
            timeline.work.clear();
        }
        report.used = report.rows - report.refused - report.skipped.values().sum::<u64>();
        Ok(vec![(timeline, report)])
    }
}
