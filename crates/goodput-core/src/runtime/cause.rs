//! What caused a start, decided by evidence.

use super::executions::Sign;
use crate::pattern::Pattern;
use crate::records::{JobState, StopCause};

/// What caused a start, and so owns the time up to its first step and through its warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// A cold launch: the first one, or one after a graceful end and in a new allocation.
    Launch,
    /// A fault, or a silence that ended in a new start.
    Failure,
    /// An eviction.
    Preemption,
    /// A planned change of the allocation.
    Reconfiguration,
}

impl Cause {
    /// Where the time from the stop to the first new step and the warm-up are charged.
    pub(super) fn restart(self) -> Pattern {
        match self {
            Self::Launch => Pattern::Startup,
            Self::Failure => Pattern::Recovery,
            Self::Preemption => Pattern::Preemption,
            Self::Reconfiguration => Pattern::Reconfiguration,
        }
    }

    /// Where the steps are charged that the start discarded: an eviction pays for the work that it
    /// lost; everything else is rework.
    pub(super) fn lost_work(self) -> Pattern {
        match self {
            Self::Preemption => Pattern::Preemption,
            Self::Launch | Self::Failure | Self::Reconfiguration => Pattern::Rework,
        }
    }

    /// What a stop in the log says; `None` for a graceful end.
    pub(super) fn of_stop(stop: StopCause) -> Option<Self> {
        match stop {
            StopCause::Fault => Some(Self::Failure),
            StopCause::Preempted => Some(Self::Preemption),
            StopCause::Reconfiguration => Some(Self::Reconfiguration),
            StopCause::Finished | StopCause::Ended => None,
        }
    }
}

/// What the scheduler's record says of how an allocation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Released {
    /// The scheduler itself ended it: its word stands above the log's.
    ByScheduler(Cause),
    /// Somebody requeued it, for a reason that only the log can tell.
    Requeued,
    /// The processes failed.
    Failed,
    /// A normal end, or one that somebody asked for.
    Gracefully,
    /// It does not say.
    Silently,
}

impl Released {
    /// Reads a state.
    pub(super) fn of(state: Option<JobState>) -> Self {
        match state {
            Some(JobState::Preempted) => Self::ByScheduler(Cause::Preemption),
            Some(JobState::NodeFail | JobState::BootFail) => Self::ByScheduler(Cause::Failure),
            Some(JobState::Resizing) => Self::ByScheduler(Cause::Reconfiguration),
            Some(JobState::Requeued) => Self::Requeued,
            Some(JobState::Failed | JobState::OutOfMemory) => Self::Failed,
            Some(JobState::Completed | JobState::Cancelled | JobState::Timeout | JobState::Deadline) => {
                Self::Gracefully
            }
            Some(JobState::Pending | JobState::Running | JobState::Suspended | JobState::Other) | None => {
                Self::Silently
            }
        }
    }

    /// The cause that the state names, if it names one.
    pub(super) fn cause(self) -> Option<Cause> {
        match self {
            Self::ByScheduler(cause) => Some(cause),
            Self::Requeued => Some(Cause::Reconfiguration),
            Self::Failed => Some(Cause::Failure),
            Self::Gracefully | Self::Silently => None,
        }
    }
}

/// What ended an execution: the scheduler's own act, else what the log says, else the exit state;
/// a graceful end is followed by a cold launch only in a new allocation; a silence that ends in a
/// new start is a failure.
pub(super) fn of_stop(
    signs: impl Iterator<Item = Sign> + Clone,
    released: Option<Released>,
    new_allocation: bool,
) -> Cause {
    if let Some(Released::ByScheduler(cause)) = released {
        return cause;
    }
    let logged = signs.clone().find_map(|sign| match sign {
        Sign::Stopped(stop) => Cause::of_stop(stop),
        _ => None,
    });
    if let Some(cause) = logged.or_else(|| released.and_then(Released::cause)) {
        return cause;
    }
    let graceful = released == Some(Released::Gracefully)
        || signs.clone().any(|s| matches!(s, Sign::Stopped(StopCause::Ended | StopCause::Finished)));
    if graceful && new_allocation {
        return Cause::Launch;
    }
    if signs.clone().any(|s| s == Sign::Reconfigured) { Cause::Reconfiguration } else { Cause::Failure }
}
