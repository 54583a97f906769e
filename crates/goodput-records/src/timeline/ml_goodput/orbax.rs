//! Orbax's save and restore entries, which go to the same log.
//!
//! A save entry is written when the blocking part has ended. It says how long training was halted, not
//! when (or whether) the checkpoint was committed. `checkpoint_manager_blocking` spans the parts
//! (`wait_for_prev`, `checkpointer_blocking`, ..), so it is never added to them.

use goodput_core::records::{EventKind, Phase};
use goodput_core::{Interval, Timestamp};

use super::entry::{Entry, Key, Scalar};
use super::job::{Job, stamp};
use crate::decimal::{seconds_to_ns, whole};

/// What is known of this attempt's checkpoints.
#[derive(Debug, Default)]
pub(super) struct Checkpoints {
    last_save: Option<Logged>,
    last_restore: Option<Logged>,
    /// End and line of a save on an eviction notice, until a further step.
    eviction: Option<(Timestamp, u32)>,
}

/// One save or restore as first logged, to tell other hosts' copies.
#[derive(Debug, Clone, Copy)]
struct Logged {
    step: Option<u64>,
    generation: u32,
    interval: Interval,
    /// Position of its phase among the events.
    phase: Option<usize>,
}

impl Checkpoints {
    pub(super) fn stepped(&mut self) {
        self.eviction = None;
    }

    /// The eviction that this attempt saved for, if it made no step since.
    pub(super) fn take_eviction(&mut self) -> Option<(Timestamp, u32)> {
        self.eviction.take()
    }
}

impl Job {
    pub(super) fn checkpoint(&mut self, entry: &Entry<'_>, line: u32) {
        match entry.text(Key::EventType) {
            Some("save") => self.save(entry, line),
            Some(name @ ("restore" | "emergency_restore")) => self.restore(name, entry, line),
            _ => self.draft.skip("other checkpoint entry"),
        }
    }

    fn save(&mut self, entry: &Entry<'_>, line: u32) {
        let Some(step) = step(entry) else {
            return self
                .draft
                .refuse("bad_value", line, "step", || "a save needs the step that it holds".to_owned());
        };
        let manager = span(entry, Key::ManagerBlockingStart, Key::ManagerBlockingDuration);
        let checkpointer = span(entry, Key::CheckpointerBlockingStart, Key::CheckpointerBlockingDuration);
        let waited = span(entry, Key::WaitForPrevStart, Key::WaitForPrevDuration);
        let parts = match (manager, waited, checkpointer) {
            (Some(whole), ..) => [Some(whole), None],
            (None, waited, checkpointer) => [waited, checkpointer],
        };
        let mut parts: Vec<Interval> = parts.into_iter().flatten().collect();
        parts.dedup_by(|later, earlier| {
            let touches = later.start <= earlier.end;
            if touches {
                earlier.end = earlier.end.max(later.end);
            }
            touches
        });
        let stamps = [Key::ManagerBlockingStart, Key::WaitForPrevStart, Key::CheckpointerBlockingStart];
        let started = parts.first().map(|part| part.start);
        let Some(start) = started.or_else(|| stamps.iter().find_map(|key| entry.get(*key).and_then(stamp)))
        else {
            return self.draft.refuse("bad_value", line, "checkpoint_manager_blocking_start_time", || {
                "a save without any start time: when it happened is not known".to_owned()
            });
        };
        let interval = Interval::new(start, parts.last().map_or(start, |part| part.end));
        if self.is_copy(self.checkpoints.last_save, Some(step), interval) {
            self.lengthen(self.checkpoints.last_save, interval);
            return self.duplicate("duplicate_event_writer", line, "step");
        }
        if parts.is_empty() {
            self.draft.note(
                "save_without_duration",
                line,
                "checkpoint_manager_blocking_duration_secs",
                || {
                    "a save without a blocking time: its pause is not known and stays in the step around it"
                        .to_owned()
                },
            );
        }
        self.draft.instant(EventKind::SaveStarted { step }, start, line);
        let mut phase = None;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            phase = Some(self.draft.phase(Phase::CheckpointPause, "save", *part, line));
        }
        self.checkpoints.last_save =
            Some(Logged { step: Some(step), generation: self.writers.generation, interval, phase });
        if entry.get(Key::ReachedPreemption) == Some(&Scalar::Bool(true)) {
            self.checkpoints.eviction = Some((interval.end, line));
        }
    }

    fn restore(&mut self, name: &str, entry: &Entry<'_>, line: u32) {
        let step = step(entry);
        let manager = span(entry, Key::ManagerStart, Key::ManagerDuration);
        let interval = manager.or_else(|| span(entry, Key::CheckpointerStart, Key::CheckpointerDuration));
        let started = || {
            [Key::ManagerStart, Key::CheckpointerStart].iter().find_map(|key| entry.get(*key).and_then(stamp))
        };
        let Some(interval) = interval.or_else(|| started().map(|at| Interval::new(at, at))) else {
            return self.draft.refuse("bad_value", line, "checkpoint_manager_start_time", || {
                "a restore without any start time: when it happened is not known".to_owned()
            });
        };
        if self.is_copy(self.checkpoints.last_restore, step, interval) {
            self.lengthen(self.checkpoints.last_restore, interval);
            return self.duplicate("duplicate_event_writer", line, "step");
        }
        let phase =
            (!interval.is_empty()).then(|| self.draft.phase(Phase::CheckpointLoad, name, interval, line));
        self.draft.instant(EventKind::Restored { step }, interval.end, line);
        self.checkpoints.last_restore =
            Some(Logged { step, generation: self.writers.generation, interval, phase });
    }

    /// Whether another host has logged this save or restore already: the same step, no start or rollback
    /// between, and it began before the first one's was over.
    fn is_copy(&self, first: Option<Logged>, step: Option<u64>, interval: Interval) -> bool {
        first.is_some_and(|first| {
            first.step == step
                && first.generation == self.writers.generation
                && interval.start < first.interval.end + self.writers.skew_ns()
        })
    }

    /// The job waits for its slowest host.
    fn lengthen(&mut self, first: Option<Logged>, copy: Interval) {
        let event = first.and_then(|first| self.draft.timeline.events.get_mut(first.phase?));
        if let Some(event) = event {
            event.interval.end = event.interval.end.max(copy.end);
        }
    }
}

fn step(entry: &Entry<'_>) -> Option<u64> {
    match entry.get(Key::Step)? {
        Scalar::Number(digits) => whole(digits.as_bytes()),
        _ => None,
    }
}

/// A start and a duration, `None` when either is missing or null.
fn span(entry: &Entry<'_>, start: Key, duration: Key) -> Option<Interval> {
    let start = entry.get(start).and_then(stamp)?;
    let duration_ns = match entry.get(duration)? {
        Scalar::Number(digits) => seconds_to_ns(digits).filter(|ns| *ns >= 0)?,
        _ => return None,
    };
    Some(Interval::new(start, start + duration_ns))
}
