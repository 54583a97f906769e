//! Plain records: what schedulers and job logs say, free of any file format.

mod fleet;
mod source;
mod symbol;
mod timeline;

pub use fleet::{
    Attempt, AttemptKey, CapacityStep, DeviceUnit, FleetRecords, JobState, Node, NodeInterval, NodeSample,
    NodeSet, NodeStatus, PartialHold, PoolSample, QueueSample, Reservation, WaitReason,
};
pub use source::{FileId, SourceRef};
pub use symbol::{Symbol, Symbols};
pub use timeline::{
    Commits, Event, EventKind, Phase, RankSample, Step, StepWork, StopCause, Timeline, TimelineWork, Writer,
};
