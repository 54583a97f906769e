//! A job's timeline: steps, and what happened between them.

use super::{SourceRef, Symbol, Symbols};
use crate::time::{Interval, Timestamp};

/// Which process wrote a step, where a log has several writers. Two writers of one step are one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Writer(pub u32);

/// One or several consecutive steps, as one record of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Number of the first step that the record covers.
    pub index: u64,
    /// Consecutive steps covered (1, or a log interval).
    pub count: u32,
    /// Line in the timeline's file.
    pub line: u32,
    /// Start of the first step.
    pub start: Timestamp,
    /// End of the last step; `None` when the log stamps only starts.
    pub end: Option<Timestamp>,
    /// Time inside `[start, end)` spent waiting for input, in nanoseconds.
    pub input_wait_ns: i64,
}

/// Work done by the record of the same position in [`Timeline::steps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepWork {
    /// Real tokens over all devices, padding excluded; zero when not given.
    pub tokens: u64,
    /// Model FLOPs over all devices, recompute and padding excluded; zero when not given.
    pub model_flops: u128,
}

/// What a timeline says about the ideal: everything that the program factor needs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimelineWork {
    /// Device name.
    pub device: Option<String>,
    /// Dense peak of one device in FLOP/s, for the arithmetic's own dtype.
    pub peak_flops_per_second: Option<f64>,
    /// The dtype of that peak.
    pub dtype: Option<String>,
    /// Model FLOPs per real token, when steps give tokens only.
    pub model_flops_per_token: Option<f64>,
    /// The convention behind the FLOPs, as the source names it.
    pub convention: Option<String>,
}

/// A named stretch of work that is no step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Process launch, device initialisation, model build, preparation, first load: part of a (re)start.
    Launch,
    /// Reading a checkpoint: part of a (re)start.
    CheckpointLoad,
    /// Training halted for a checkpoint.
    CheckpointPause,
    /// Waiting for a batch.
    InputWait,
    /// Evaluation.
    Evaluation,
    /// Elastic resize or planned drain.
    Reconfiguration,
    /// Suspended with the devices kept.
    Suspension,
    /// Other declared non-step work.
    Declared,
}

/// Why execution stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopCause {
    /// The job finished and committed its result.
    Finished,
    /// A graceful end that says nothing about the result.
    Ended,
    /// A fault.
    Fault,
    /// Evicted.
    Preempted,
    /// Stopped on purpose to change the allocation.
    Reconfiguration,
}

/// What an event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// A process of the job started.
    Launch,
    /// A phase over [`Event::interval`]; `name` is the log's word for it.
    Phase {
        /// What kind of work.
        phase: Phase,
        /// The log's own word, [`Symbol::EMPTY`] when it has none.
        name: Symbol,
    },
    /// A save of the state after `step` steps have been executed began.
    SaveStarted {
        /// The last step whose update the save holds.
        step: u64,
    },
    /// A checkpoint that holds the update of `step` was committed.
    Committed {
        /// The last step whose update the checkpoint holds.
        step: u64,
    },
    /// State was restored from a checkpoint that holds the update of `step`.
    Restored {
        /// The last step whose update the checkpoint holds; `None` when the log does not say.
        step: Option<u64>,
    },
    /// The allocation changed size.
    Resized {
        /// Active devices from here on.
        devices: u64,
    },
    /// Of the allocation's devices, this many are hot spares from here on.
    Standby {
        /// Spare devices.
        devices: u64,
    },
    /// Execution stopped.
    Stopped {
        /// Why.
        cause: StopCause,
    },
    /// Logging itself cost this long (already inside the surrounding interval).
    LoggingCost,
}

/// Something between or around steps. An instant has `interval.start == interval.end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When. A phase whose end the log never gives has `end == start` and `open` set.
    pub interval: Interval,
    /// Whether the end is missing from the log.
    pub open: bool,
    /// What.
    pub kind: EventKind,
    /// Line in the timeline's file.
    pub line: u32,
}

/// Whether the source records commits at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Commits {
    /// It does: steps after the last commit are pending.
    Recorded,
    /// It does not: steps that were not rolled back count as retained, and the report says so.
    #[default]
    Unknown,
}

/// One rank's own record of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankSample {
    /// Step number.
    pub step: u64,
    /// Rank.
    pub rank: u32,
    /// Host name.
    pub host: Symbol,
    /// Index of its device on the host, when the log says so.
    pub device: Option<u32>,
    /// Duration in nanoseconds.
    pub duration_ns: i64,
    /// Input wait inside it, in nanoseconds.
    pub input_wait_ns: i64,
}

/// One job's log, free of its format.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// Names.
    pub symbols: Symbols,
    /// The job's id in the scheduler's records, when the log or the user says so.
    pub job: Option<String>,
    /// Where the log came from.
    pub source: SourceRef,
    /// Steps in the order of the log.
    pub steps: Vec<Step>,
    /// Work of the step of the same position; empty when the log gives none.
    pub work: Vec<StepWork>,
    /// Events in the order of the log.
    pub events: Vec<Event>,
    /// Per-rank records.
    pub ranks: Vec<RankSample>,
    /// Active devices (world size) at the beginning, when the log says so.
    pub devices: Option<u64>,
    /// Whether commits are recorded.
    pub commits: Commits,
    /// Resolution of the stamps in nanoseconds (1 s logs cannot show shorter differences).
    pub stamp_resolution_ns: i64,
    /// What the program factor needs.
    pub ideal: TimelineWork,
    /// Steps the job planned, when the log says so.
    pub planned_steps: Option<u64>,
    /// Software as far as the log says: name and version.
    pub software: Vec<(String, String)>,
}
