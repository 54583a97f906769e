//! The stretches between executions: what held time without steps was used for.

use super::cause::{Cause, Released, of_stop};
use super::executions::{Evidence, Sign};
use super::pace::scale;
use super::{HeldInterval, RuntimeOptions, Use};
use crate::pattern::Pattern;
use crate::records::{SourceRef, StopCause};
use crate::time::{Interval, Timestamp};

const EVER: Timestamp = Timestamp::from_nanos(i64::MAX);

/// A gap and everything that is known of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Between<'a> {
    /// End of the last step before; `None` before the first step of the log.
    pub from: Option<Timestamp>,
    /// Start of the first step after; `None` after the last step of the log.
    pub to: Option<Timestamp>,
    /// The last step before.
    pub last: SourceRef,
    /// End of the last phase that the log declares in a gap that no step follows: the job was alive until then.
    pub alive_to: Option<Timestamp>,
    /// Signs of stops and starts, in order.
    pub evidence: &'a [Evidence],
    /// The held intervals, of which those that end at or before `from` may be left out.
    pub held: &'a [HeldInterval],
    /// Fault-free time of the last record before.
    pub usual_ns: i64,
    /// The log begins in the middle of a run: nothing is known of the time before it.
    pub mid_run: bool,
    /// The window's end: an allocation that ends there without a state may still run.
    pub window_to: Timestamp,
}

/// A stretch of a gap, from the end of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub until: Timestamp,
    pub used_for: Use,
    pub source: SourceRef,
}

/// A gap, told.
#[derive(Debug)]
pub(super) struct Story {
    /// Covers the gap whole.
    pub stretches: Vec<Stretch>,
    /// What caused the start that ends the gap.
    pub cause: Cause,
    /// Where the steps are charged that this start discarded.
    pub lost_work: Pattern,
    /// Each cause, and when it struck.
    pub causes: Vec<(Timestamp, Cause)>,
}

/// Evidence of the log and of the scheduler, in one order.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Log(Sign),
    Released(Released),
    Gained,
}

#[derive(Debug, Clone, Copy)]
struct At {
    at: Timestamp,
    turn: Turn,
    source: SourceRef,
}

/// Tells one gap.
pub(super) fn tell(gap: &Between<'_>, options: &RuntimeOptions) -> Story {
    let turns = gap.turns();
    let mut teller = Teller {
        gap,
        options,
        cause: Cause::Launch,
        at: gap.from.unwrap_or(Timestamp::from_nanos(i64::MIN)),
        story: Story {
            stretches: Vec::new(),
            cause: Cause::Launch,
            lost_work: Pattern::Rework,
            causes: Vec::new(),
        },
    };
    if gap.from.is_none() && !gap.mid_run && (gap.to.is_some() || turns.iter().any(|t| gap.is_start(t))) {
        let began = turns.first().map(|t| t.at).or(gap.to).unwrap_or(EVER);
        teller.story.causes.push((began, Cause::Launch));
    }
    // Execution rests, starts, rests again … until the first step.
    let mut rest = turns.as_slice();
    loop {
        let idle = rest.iter().position(|t| gap.is_start(t)).unwrap_or(rest.len());
        let (resting, starting) = rest.split_at(idle);
        teller.rest(resting, starting.first().map(|t| t.at).or(gap.to));
        let started = starting.iter().position(|t| !goes_on_starting(t)).unwrap_or(starting.len());
        let (starts, after) = starting.split_at(started);
        if let Some(first) = starts.first() {
            let until = after.first().map(|t| t.at).or(gap.to).unwrap_or(EVER);
            teller.paint(until, teller.cause.restart(), Some(first.source));
        }
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    teller.story.cause = teller.cause;
    teller.story
}

impl Between<'_> {
    fn turns(&self) -> Vec<At> {
        let from = self.from.unwrap_or(Timestamp::from_nanos(i64::MIN));
        let to = self.to.unwrap_or(EVER);
        let mut turns: Vec<At> = Vec::new();
        // The allocation of the last step is released in this gap even if the step ran up to it.
        let running = self.held.partition_point(|h| h.interval.start < from).saturating_sub(1);
        for held in self.held.get(running..).unwrap_or_default() {
            let Interval { start, end } = held.interval;
            if start >= to {
                break;
            }
            if start >= from {
                turns.push(At { at: start, turn: Turn::Gained, source: held.source });
            }
            if end <= to && end < EVER {
                let released = Turn::Released(Released::of(held.ended_by));
                turns.push(At { at: end.max(from), turn: released, source: held.source });
            }
        }
        turns.extend(self.evidence.iter().map(|e| At {
            at: e.at.max(from),
            turn: Turn::Log(e.sign),
            source: SourceRef { line: e.line, ..self.last },
        }));
        // At one instant: the log's stop, then the release, then a new allocation, then a start.
        turns.sort_by_key(|t| {
            let rank = match t.turn {
                Turn::Log(Sign::Stopped(_)) => 0,
                Turn::Released(_) => 1,
                Turn::Gained => 2,
                Turn::Log(_) => 3,
            };
            (t.at, rank)
        });
        turns
    }

    /// Whether a turn shows that a (re)start is under way. After the log's last step, state that is
    /// read back (the best checkpoint, for a last evaluation) is no start.
    fn is_start(&self, turn: &At) -> bool {
        match turn.turn {
            Turn::Log(Sign::Launched) => true,
            Turn::Log(Sign::Restored) => self.to.is_some(),
            _ => false,
        }
    }
}

/// Whether a start that is under way goes on.
fn goes_on_starting(turn: &At) -> bool {
    matches!(turn.turn, Turn::Log(Sign::Launched | Sign::Restored | Sign::Reconfigured))
}

struct Teller<'a> {
    gap: &'a Between<'a>,
    options: &'a RuntimeOptions,
    cause: Cause,
    at: Timestamp,
    story: Story,
}

impl Teller<'_> {
    fn paint(&mut self, until: Timestamp, pattern: Pattern, source: Option<SourceRef>) {
        if until != self.at {
            // A silence has no record of its own: it follows the last step.
            let source = source.unwrap_or(self.gap.last);
            self.story.stretches.push(Stretch { until, used_for: Use::Lost(pattern), source });
            self.at = until;
        }
    }

    /// Nothing runs, until `start` (`None`: for as long as the log tells).
    fn rest(&mut self, turns: &[At], start: Option<Timestamp>) {
        let first_gain = turns.iter().position(|t| matches!(t.turn, Turn::Gained)).unwrap_or(turns.len());
        let (ending, later) = turns.split_at(first_gain);
        let ran = self.gap.from.is_some() || !self.story.stretches.is_empty();
        if ran {
            match start {
                Some(start) => self.stop_before_start(ending, later, start),
                None => self.final_stop(ending, later),
            }
        }
        self.later_allocations(later, start.is_some());
        if let Some(start) = start {
            let unknown = self.gap.mid_run && !ran;
            let pattern = if unknown { Pattern::RuntimeUnsettled } else { self.cause.restart() };
            self.paint(start, pattern, turns.last().map(|t| t.source));
        }
    }

    /// From the end of execution to the release, or to the new start in the same allocation.
    fn stop_before_start(&mut self, ending: &[At], later: &[At], start: Timestamp) {
        // A launch that ended before its first step, and nobody says why, is still the same start.
        let first = self.gap.from == Some(self.at);
        if first || ending.iter().any(names_cause) {
            let struck = self.at;
            self.cause = of_stop(signs(ending), release(ending), !later.is_empty());
            if first {
                self.story.lost_work = self.cause.lost_work();
            }
            self.story.causes.push((struck, self.cause));
        }
        if later.is_empty() {
            self.paint(start, self.cause.restart(), source_of(ending));
        } else if self.cause == Cause::Launch && self.gap.from.is_some() {
            self.wind_down(ending, later);
        } else {
            let released = ending.iter().rev().find(|t| matches!(t.turn, Turn::Released(_)));
            let until = released.map_or(later[0].at, |t| t.at);
            self.paint(until, self.cause.restart(), source_of(ending));
        }
    }

    /// The log tells of no later start.
    fn final_stop(&mut self, ending: &[At], later: &[At]) {
        if ending.iter().any(names_cause) {
            self.story.causes.push((self.at, of_stop(signs(ending), release(ending), false)));
        }
        self.wind_down(ending, later);
    }

    /// From the last step to the release of an allocation that nothing started in again. Steps that lie in no allocation
    /// say nothing of a later one.
    fn wind_down(&mut self, ending: &[At], later: &[At]) {
        let released = ending.iter().find(|t| matches!(t.turn, Turn::Released(_)));
        let until = released.or(later.first()).map_or(EVER, |t| t.at);
        let stop = ending.iter().find_map(|t| match t.turn {
            Turn::Log(Sign::Stopped(cause)) => Some((*t, cause)),
            _ => None,
        });
        let cause = of_stop(signs(ending), release(ending), false);
        let taken = matches!(release(ending), Some(Released::ByScheduler(_)));
        let ended = released.is_some_and(|r| {
            !matches!(r.turn, Turn::Released(Released::Silently)) || r.at < self.gap.window_to
        });
        match stop {
            Some((at, StopCause::Preempted | StopCause::Reconfiguration)) => {
                self.paint(until, cause.restart(), Some(at.source));
            }
            Some((at, stop)) => {
                let after = match self.after_execution(at.at, until) {
                    // Taken away, or still held, after a fault: the job was on its way to a new step, and had not ended.
                    Pattern::Teardown if stop == StopCause::Fault && (taken || (!ended && at.at < until)) => {
                        cause.restart()
                    }
                    after => after,
                };
                let before = if self.silent_ns(at.at) <= self.quiet_ns() {
                    after
                } else if stop == StopCause::Fault {
                    Pattern::Hang
                } else {
                    Pattern::RuntimeUnsettled
                };
                self.paint(at.at.min(until), before, Some(at.source));
                self.paint(until, after, Some(at.source));
            }
            None => {
                // What the scheduler takes away may have been in the middle of a step, however long that is.
                let usual_ns = if taken { self.quiet_ns() } else { 0 };
                let silent_ns = self.silent_ns(until);
                let short = silent_ns <= self.options.teardown_limit_ns.max(usual_ns);
                let pattern = if !ended && silent_ns <= self.quiet_ns() {
                    // Still running, and no longer silent than a step may be: one is under way.
                    Pattern::Pending
                } else if !(ended && short) {
                    Pattern::Hang
                } else if taken {
                    cause.restart()
                } else {
                    Pattern::Teardown
                };
                self.paint(until, pattern, None);
            }
        }
    }

    /// How long the log has told of nothing by `until`.
    fn silent_ns(&self, until: Timestamp) -> i64 {
        until - self.gap.alive_to.map_or(self.at, |alive| alive.min(until).max(self.at))
    }

    /// How long no line may come before that is a silence.
    fn quiet_ns(&self) -> i64 {
        scale(self.gap.usual_ns, self.options.silence_multiple)
    }

    /// Execution is known to have ended at `stop`: teardown when the release came shortly after, a
    /// zombie allocation when it did not.
    fn after_execution(&self, stop: Timestamp, release: Timestamp) -> Pattern {
        if release - stop <= self.options.teardown_limit_ns { Pattern::Teardown } else { Pattern::Zombie }
    }

    /// Allocations gained later. One that ended without a line in the log is unsettled, unless the
    /// scheduler says that it failed or was taken away before a start that follows.
    fn later_allocations(&mut self, turns: &[At], starts: bool) {
        for turn in turns {
            let pattern = match turn.turn {
                Turn::Released(released) => {
                    let cause = released.cause().filter(|_| starts);
                    let known = cause.is_some() && self.gap.from.is_some();
                    let pattern = if known { self.cause.restart() } else { Pattern::RuntimeUnsettled };
                    if let Some(cause) = cause {
                        self.cause = cause;
                        self.story.causes.push((turn.at, cause));
                    }
                    pattern
                }
                // Not held.
                Turn::Gained => Pattern::RuntimeUnsettled,
                Turn::Log(_) => self.cause.restart(),
            };
            self.paint(turn.at, pattern, Some(turn.source));
        }
        if !starts {
            self.paint(EVER, Pattern::RuntimeUnsettled, source_of(turns));
        }
    }
}

fn signs(turns: &[At]) -> impl Iterator<Item = Sign> + Clone {
    turns.iter().filter_map(|t| match t.turn {
        Turn::Log(sign) => Some(sign),
        _ => None,
    })
}

fn release(turns: &[At]) -> Option<Released> {
    turns.iter().find_map(|t| match t.turn {
        Turn::Released(released) => Some(released),
        _ => None,
    })
}

fn source_of(turns: &[At]) -> Option<SourceRef> {
    turns.first().map(|t| t.source)
}

/// Whether a turn says why execution stopped, beyond that it did.
fn names_cause(turn: &At) -> bool {
    match turn.turn {
        Turn::Log(Sign::Stopped(stop)) => Cause::of_stop(stop).is_some(),
        Turn::Released(released) => released.cause().is_some(),
        _ => false,
    }
}
