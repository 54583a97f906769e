//! Evaluation, saves and commits: what a log says between the lines of two intervals.

use goodput_core::Interval;
use goodput_core::records::{Commits, EventKind, Phase};

use super::attempt::Job;

/// What is known of the saves of one attempt.
#[derive(Debug, Default)]
pub(super) struct Saves {
    /// The iteration whose save is being written.
    saving: Option<u64>,
    /// Iteration and line of a commit without a stamp, which the save's own timer will place.
    committed: Option<(u64, u32)>,
    /// Lines kept until the interval that they belong behind is printed.
    held: Vec<(Held, u32)>,
}

/// A line without a stamp. The last rank prints the intervals and the first one all else, so a save can
/// come before the line of the interval that it follows.
#[derive(Debug, Clone, Copy)]
enum Held {
    Saving(u64),
    Saved(u64),
    Timer(Phase, &'static str, i64),
}

impl Job {
    /// A timer's time lies after what was last known to end.
    pub(super) fn timer(&mut self, name: &str, took_ns: i64, line: u32) {
        match name {
            "evaluate" => self.hold_or_do(Held::Timer(Phase::Evaluation, "evaluate", took_ns), line),
            "save-checkpoint" => {
                self.hold_or_do(Held::Timer(Phase::CheckpointPause, "save-checkpoint", took_ns), line);
            }
            "load-checkpoint" => self.attempt.load_ns = Some(took_ns),
            "batch-generator" => self.input_wait(took_ns),
            _ => self.draft.skip("other timer"),
        }
    }

    /// `batch-generator` (timing level 2) is the average of the interval whose line came just before.
    fn input_wait(&mut self, took_ns: i64) {
        if let Some(step) = self.draft.timeline.steps.last_mut().filter(|_| self.attempt.stepped) {
            let duration_ns = step.end.map_or(0, |end| end - step.start);
            step.input_wait_ns = took_ns.saturating_mul(i64::from(step.count)).min(duration_ns);
        }
    }

    pub(super) fn saving(&mut self, stamp: Option<&str>, iteration: u64, line: u32) {
        self.draft.timeline.commits = Commits::Recorded;
        let Some(stamp) = stamp else { return self.hold_or_do(Held::Saving(iteration), line) };
        if let Some(at) = self.at(stamp, line) {
            self.attempt.saves.saving = Some(iteration);
            self.attempt.now = Some(at);
            self.draft.instant(EventKind::SaveStarted { step: iteration }, at, line);
        }
    }

    pub(super) fn saved(&mut self, stamp: Option<&str>, iteration: u64, line: u32) {
        self.draft.timeline.commits = Commits::Recorded;
        self.last_commit = Some(iteration);
        let Some(stamp) = stamp else { return self.hold_or_do(Held::Saved(iteration), line) };
        // Not `now`: the timer of the save, which comes next, begins where the save began.
        if let Some(at) = self.at(stamp, line) {
            self.draft.instant(EventKind::Committed { step: iteration }, at, line);
        }
    }

    fn hold_or_do(&mut self, what: Held, line: u32) {
        let early = match what {
            Held::Saving(iteration) => self.attempt.stepped && self.attempt.done < Some(iteration),
            Held::Saved(_) | Held::Timer(..) => false,
        };
        if early || !self.attempt.saves.held.is_empty() {
            self.attempt.saves.held.push((what, line));
        } else {
            self.place_held(what, line);
        }
    }

    /// The interval has been printed, or never will be.
    pub(super) fn release_held(&mut self) {
        for (what, line) in std::mem::take(&mut self.attempt.saves.held) {
            self.place_held(what, line);
        }
    }

    fn place_held(&mut self, what: Held, line: u32) {
        let Some(now) = self.attempt.now else {
            return self.draft.refuse("no_stamp", line, "", || {
                "before the first stamp of the attempt: when it happened is not known".to_owned()
            });
        };
        match what {
            Held::Saving(iteration) => {
                self.attempt.saves.saving = Some(iteration);
                self.draft.instant(EventKind::SaveStarted { step: iteration }, now, line);
            }
            Held::Saved(iteration) => {
                self.commit_now();
                self.attempt.saves.committed = Some((iteration, line));
                if self.attempt.saves.saving != Some(iteration) {
                    self.commit_now();
                }
            }
            Held::Timer(phase, name, took_ns) => {
                let interval = Interval::new(now, now + took_ns);
                self.draft.phase(phase, name, interval, line);
                self.attempt.now = Some(interval.end);
                if phase == Phase::CheckpointPause {
                    self.commit_now();
                    self.attempt.saves.saving = None;
                }
            }
        }
    }

    /// Places a commit that carries no stamp where the last thing known has ended.
    pub(super) fn commit_now(&mut self) {
        let Some((step, line)) = self.attempt.saves.committed.take() else { return };
        let Some(now) = self.attempt.now else { return };
        self.draft.instant(EventKind::Committed { step }, now, line);
        self.draft.note("stampless_commit", line, "", || {
            "the line of the commit carries no stamp (it does from core_v0.16.0 on): placed after the last thing that \
             is known to have ended"
                .to_owned()
        });
    }
}
