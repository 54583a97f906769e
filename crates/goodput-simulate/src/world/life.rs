//! What one attempt of a job does inside its allocation.
//!
//! Times are milliseconds after the scenario's start. A life is a list of stretches: those that
//! are no [`What::Mark`] and no [`What::Suspension`] tile the allocation from start to release.

use goodput_core::Pattern;
use goodput_core::records::{Phase, StopCause};

use crate::random::Stream;
use crate::scenario::{Ending, Program};

/// Part of a life: `[from, to)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// From, in milliseconds after the scenario's start.
    pub from: i64,
    /// Until.
    pub to: i64,
    /// What happened.
    pub what: What,
}

/// What a stretch of an allocation was used for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// Steps, as one line of a log covers them.
    Steps(Steps),
    /// Work that is no step and that a log declares.
    Phase {
        /// What a log calls it.
        phase: Phase,
        /// Where it is charged.
        charged: Pattern,
    },
    /// Suspended by the scheduler, inside a step.
    Suspension,
    /// Time without a line of its own.
    Silence(Pattern),
    /// An instant.
    Mark(Mark),
}

/// Consecutive steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// Number of the first one.
    pub first: u64,
    /// How many.
    pub count: u32,
    /// Waiting for input inside the stretch, in milliseconds.
    pub input_wait: i64,
    /// Suspended inside the stretch, in milliseconds.
    pub suspended: i64,
    /// For warm-up (until the first step at or under 1.05 times the fault-free one): where its excess
    /// and its input wait are charged.
    pub warm_up: Option<Pattern>,
}

/// An instant in a life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// Processes started.
    Launch,
    /// The job goes on with this step; what it ran from there on before is lost to the pattern.
    Resume {
        /// The next step.
        step: u64,
        /// Why it (re)started.
        cause: Pattern,
    },
    /// State was restored from the checkpoint that holds this step.
    Restore(u64),
    /// A save of the state after this step began.
    Save(u64),
    /// The checkpoint that holds this step is complete.
    Commit(u64),
    /// Execution stopped.
    Stop(StopCause),
}

/// How an attempt would end if nobody interrupted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Completed,
    Failed,
    Cancelled,
    /// It has not ended by the time it may live until.
    Running,
}

/// What a job carries from attempt to attempt.
#[derive(Debug, Clone)]
pub(crate) struct Progress {
    /// Steps it is to run.
    pub steps: u64,
    /// The step after which it fails.
    pub fails_after: Option<u64>,
    /// The last step that a committed checkpoint holds.
    pub committed: Option<u64>,
    /// Why the next attempt starts.
    pub cause: Pattern,
    /// When its first step began.
    pub first_step_at: Option<i64>,
    /// Whether its suspension is behind it.
    pub suspended: bool,
}

/// A life in the making.
pub(crate) struct Life<'a> {
    program: &'a Program,
    nodes: u32,
    stretches: Vec<Stretch>,
    rng: Stream,
    now: i64,
    start: i64,
    /// A save whose checkpoint is not yet committed: last step held, instant of the commit.
    in_flight: Option<(u64, i64)>,
}

impl<'a> Life<'a> {
    /// Lives from `start` until the program ends, or up to `until` (time limit or horizon).
    /// Returns the life, and how and when it ends, in milliseconds.
    pub(crate) fn live(
        program: &'a Program,
        nodes: u32,
        mut progress: Progress,
        start: i64,
        until: i64,
        rng: Stream,
    ) -> (Vec<Stretch>, End, i64) {
        let progress = &mut progress;
        let mut life =
            Self { program, nodes, stretches: Vec::new(), rng, now: start, start, in_flight: None };
        let cause = progress.cause;
        life.launch(progress, cause, program.startup.as_millis());
        let end = life.work(progress, until);
        life.commit_until(progress, life.now);
        let now = life.now;
        // An asynchronous commit stands where it happened, not where its save began.
        life.stretches.sort_by_key(|s| s.to);
        (life.stretches, end, now)
    }

    fn push(&mut self, lasts: i64, what: What) {
        if lasts > 0 {
            self.stretches.push(Stretch { from: self.now, to: self.now + lasts, what });
            self.now += lasts;
        }
    }

    fn mark(&mut self, mark: Mark) {
        self.stretches.push(Stretch { from: self.now, to: self.now, what: What::Mark(mark) });
    }

    /// A (re)start up to the first step.
    fn launch(&mut self, progress: &Progress, cause: Pattern, startup: i64) {
        let resume = progress.committed.map_or(0, |step| step + 1);
        self.mark(Mark::Resume { step: resume, cause });
        self.mark(Mark::Launch);
        self.push(startup, What::Phase { phase: Phase::Launch, charged: cause });
        if let Some(step) = progress.committed {
            self.push(
                self.program.load.as_millis(),
                What::Phase { phase: Phase::CheckpointLoad, charged: cause },
            );
            self.mark(Mark::Restore(step));
        }
        let first_batch = self.program.first_batch.as_millis();
        self.push(first_batch, What::Phase { phase: Phase::InputWait, charged: cause });
    }

    /// A fault at `at`: what ran since the last line is lost, and the job restarts in place.
    fn recover(&mut self, progress: &mut Progress, at: i64, recovery: i64) {
        self.commit_until(progress, at);
        self.in_flight = None;
        let charged = unfinished_start(&self.stretches).unwrap_or(Pattern::Recovery);
        self.push(at - self.now, What::Silence(charged));
        self.mark(Mark::Stop(StopCause::Fault));
        let load = progress.committed.map_or(0, |_| self.program.load.as_millis());
        let startup = (recovery - load - self.program.first_batch.as_millis()).max(0);
        let launch = startup.min(self.program.startup.as_millis());
        self.push(startup - launch, What::Silence(Pattern::Recovery));
        self.launch(progress, Pattern::Recovery, launch);
    }

    fn commit_until(&mut self, progress: &mut Progress, at: i64) {
        if let Some((step, committed_at)) = self.in_flight.filter(|(_, c)| *c <= at) {
            self.in_flight = None;
            progress.committed = Some(step);
            let what = What::Mark(Mark::Commit(step));
            self.stretches.push(Stretch { from: committed_at, to: committed_at, what });
        }
    }

    fn work(&mut self, progress: &mut Progress, until: i64) -> End {
        let program = self.program;
        let line = u64::from(program.steps_per_line);
        let mut step = progress.committed.map_or(0, |s| s + 1);
        let mut warm_up = Some((program.warm_up_lines, progress.cause));
        let mut next_fault = self.next_fault();
        let hang_after = match program.ending {
            Ending::Hang { after_steps, .. } => after_steps.min(progress.steps),
            _ => u64::MAX,
        };
        while step < progress.steps {
            if self.now >= until {
                return End::Running;
            }
            // A restart runs on for a line before it hangs again.
            if step >= hang_after && unfinished_start(&self.stretches).is_none() {
                return self.stall(Pattern::Hang);
            }
            if progress.fails_after.is_some_and(|last| step > last) {
                self.mark(Mark::Stop(StopCause::Fault));
                self.push(program.teardown.as_millis(), What::Silence(Pattern::Teardown));
                return End::Failed;
            }
            let count = line.min(progress.steps - step);
            let started = *progress.first_step_at.get_or_insert(self.now);
            let (lasts, steps) = self.steps(step, count, started, &mut warm_up, progress);
            // A suspended job does not fail: its fault waits for the next line.
            if let Some(faults) = program.faults.as_ref().filter(|_| steps.suspended == 0)
                && next_fault < self.now + lasts
            {
                let at = next_fault.max(self.now + lasts / 2);
                self.recover(progress, at, faults.recovery.as_millis());
                step = progress.committed.map_or(0, |s| s + 1);
                warm_up = Some((program.warm_up_lines, Pattern::Recovery));
                next_fault = self.next_fault();
                continue;
            }
            self.push(lasts, What::Steps(steps));
            step += count;
            self.commit_until(progress, self.now);
            if step < progress.steps {
                self.between_steps(progress, step);
            }
        }
        self.finish(progress)
    }

    /// One line's steps: how long they take, and what they are.
    fn steps(
        &mut self,
        first: u64,
        count: u64,
        job_started: i64,
        warm_up: &mut Option<(u32, Pattern)>,
        progress: &mut Progress,
    ) -> (i64, Steps) {
        let program = self.program;
        let fault_free = program.step.as_millis() * i64::try_from(count).unwrap_or(i64::MAX);
        let scaled = |share: f64| (fault_free as f64 * share) as i64;
        let mut lasts = fault_free;
        let slow_start = warm_up.is_some_and(|(left, _)| left > 0);
        if slow_start {
            lasts += scaled(program.warm_up_excess);
        } else if program.jitter > 0.0 && self.rng.happens(0.4) {
            lasts += scaled(self.rng.between(-program.jitter, program.jitter));
        }
        if let Some(slow) = &program.straggler {
            let begins = job_started + slow.after.as_millis();
            if !slow_start && (begins..begins + slow.lasts.as_millis()).contains(&self.now) {
                lasts += scaled(slow.slowdown);
            }
        }
        // Warm-up lasts until the first step at or under 1.05 times the fault-free one.
        *warm_up = warm_up
            .filter(|_| lasts * 20 > fault_free * 21)
            .map(|(left, cause)| (left.saturating_sub(1), cause));
        let charged = warm_up.map(|(_, cause)| cause);
        let mut input_wait = 0;
        if let Some(wait) = &program.input_wait
            && self.rng.happens(wait.share)
        {
            input_wait = (wait.mean.as_millis() as f64 * self.rng.between(0.5, 1.5)) as i64;
            lasts += input_wait;
        }
        let mut suspended = 0;
        if let Some(suspension) = &program.suspension
            && !progress.suspended
        {
            // The scheduler suspends on whole seconds.
            let from = (self.start + suspension.after.as_millis() + 999).div_euclid(1_000) * 1_000;
            if (self.now..self.now + lasts).contains(&from) {
                progress.suspended = true;
                suspended = suspension.lasts.as_seconds() * 1_000;
                self.stretches.push(Stretch { from, to: from + suspended, what: What::Suspension });
                lasts += suspended;
            }
        }
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        (lasts, Steps { first, count, input_wait, suspended, warm_up: charged })
    }

    fn between_steps(&mut self, progress: &mut Progress, step: u64) {
        if let Some(checkpoint) =
            self.program.checkpoint.as_ref().filter(|c| step.is_multiple_of(c.every_steps))
        {
            self.save(progress, step - 1, checkpoint.pause.as_millis(), checkpoint.commit_lag.as_millis());
        }
        if let Some(evaluation) =
            self.program.evaluation.as_ref().filter(|e| step.is_multiple_of(e.every_steps))
        {
            let what = What::Phase { phase: Phase::Evaluation, charged: Pattern::Evaluation };
            self.push(evaluation.takes.as_millis(), what);
        }
    }

    fn save(&mut self, progress: &mut Progress, step: u64, pause: i64, lag: i64) {
        self.mark(Mark::Save(step));
        let what = What::Phase { phase: Phase::CheckpointPause, charged: Pattern::CheckpointPause };
        self.push(pause, what);
        // A save that is still being written when the next begins is superseded by it.
        self.in_flight = Some((step, self.now + lag));
        self.commit_until(progress, self.now);
    }

    fn finish(&mut self, progress: &mut Progress) -> End {
        if let Some(checkpoint) = &self.program.checkpoint {
            self.save(progress, progress.steps - 1, checkpoint.pause.as_millis(), 0);
        }
        self.mark(Mark::Stop(StopCause::Finished));
        if let Ending::Zombie { .. } = self.program.ending {
            return self.stall(Pattern::Zombie);
        }
        self.push(self.program.teardown.as_millis(), What::Silence(Pattern::Teardown));
        End::Completed
    }

    /// Nothing happens any more until somebody cancels the job.
    fn stall(&mut self, charged: Pattern) -> End {
        if let Ending::Hang { lasts, .. } | Ending::Zombie { lasts } = self.program.ending {
            self.push(lasts.as_millis(), What::Silence(charged));
        }
        End::Cancelled
    }

    fn next_fault(&mut self) -> i64 {
        let Some(faults) = &self.program.faults else { return i64::MAX };
        let fixed = faults.at.iter().map(|at| at.as_millis()).find(|at| *at > self.now);
        let rate = faults.per_node_hour * f64::from(self.nodes);
        let drawn = if rate > 0.0 {
            self.now + (self.rng.exponential(1.0 / rate) * 3_600_000.0) as i64
        } else {
            i64::MAX
        };
        fixed.unwrap_or(i64::MAX).min(drawn)
    }
}

/// The cause of the last start, if no step followed it.
fn unfinished_start(stretches: &[Stretch]) -> Option<Pattern> {
    let last = stretches.iter().rev().find_map(|s| match s.what {
        What::Mark(Mark::Resume { cause, .. }) => Some(Some(cause)),
        What::Steps(_) => Some(None),
        _ => None,
    });
    last.flatten()
}

/// Position of a fault that no restart followed.
fn fault_without_restart(stretches: &[Stretch]) -> Option<usize> {
    let last = stretches
        .iter()
        .rposition(|s| matches!(s.what, What::Mark(Mark::Stop(StopCause::Fault) | Mark::Resume { .. })))?;
    (stretches[last].what == What::Mark(Mark::Stop(StopCause::Fault))).then_some(last)
}

/// Ends a life whose job worked until `alive` and was released at `release`: whatever was not
/// complete by then leaves no line, and its time is charged to `charged`, or, before the first step
/// of a start, to the cause of that start.
pub(crate) fn cut(stretches: &mut Vec<Stretch>, start: i64, alive: i64, release: i64, charged: Pattern) {
    stretches.retain(|s| s.to <= alive);
    let charged = match fault_without_restart(stretches) {
        // The end of execution like any other, for the step that it cut off too.
        Some(fault) => {
            let stepped = unfinished_start(&stretches[..fault]).is_none();
            let cut_off =
                stretches[..fault].last_mut().filter(|s| s.what == What::Silence(Pattern::Recovery));
            if let Some(cut_off) = cut_off.filter(|_| stepped) {
                cut_off.what = What::Silence(charged);
            }
            charged
        }
        None => unfinished_start(stretches).unwrap_or(charged),
    };
    let mut last = stretches.iter().filter(|s| s.what.is_tile()).map(|s| s.to).max().unwrap_or(start);
    let suspensions = stretches.iter().filter(|s| s.what == What::Suspension && s.from >= last);
    let bounds: Vec<_> = suspensions.map(|s| (s.from, s.to)).chain([(release, release)]).collect();
    for (from, to) in bounds {
        let silence = Stretch { from: last, to: from, what: What::Silence(charged) };
        stretches.extend((last < from).then_some(silence));
        last = to;
    }
}

impl What {
    /// Whether a log line shows that the job worked.
    pub(crate) fn is_work(&self) -> bool {
        match self {
            Self::Steps(_) => true,
            Self::Phase { phase, .. } => matches!(phase, Phase::Evaluation | Phase::CheckpointPause),
            _ => false,
        }
    }

    /// Whether it is one of the stretches that tile an allocation.
    pub fn is_tile(&self) -> bool {
        !matches!(self, Self::Mark(_) | Self::Suspension)
    }
}
