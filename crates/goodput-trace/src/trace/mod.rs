//! One rank's trace, whatever wrote it: device work, launches, operators and host ranges in integer nanoseconds.

mod around;
mod builder;
mod device;
mod host;
mod host_kind;
mod identity;
mod lanes;
mod nesting;
#[cfg(test)]
pub(crate) mod sketch;

pub(crate) use around::{Around, around_launches};
pub use builder::{LinkKey, TraceBuilder};
pub use device::{
    CollectiveArgs, CollectiveKind, DeviceAnnotation, DeviceInfo, DeviceWork, MemorySample, Stream,
    StreamWait, WorkKind,
};
pub use host::{HostKind, HostRange, Launch, Operator, Thread};
pub(crate) use host_kind::{is_garbage_collection, may_enqueue, operator_of_range, unversioned};
pub use identity::{Identity, ProcessGroup, RankEvidence};
pub(crate) use lanes::Lanes;

use std::path::PathBuf;

use goodput_core::records::{Symbol, Symbols};

use crate::reading::Format;

/// One rank's trace.
///
/// All stamps are integer nanoseconds. With [`Epoch::Unix`] they count from 1970 and ranks may be compared; with
/// [`Epoch::Own`] they count from an instant that only this trace knows.
#[derive(Debug, Clone)]
pub struct RankTrace {
    /// The file it came from. One file may hold several ranks.
    pub path: PathBuf,
    /// What wrote the file.
    pub format: Format,
    /// Which rank this is, and how that is known.
    pub identity: Identity,
    /// What the stamps count from.
    pub epoch: Epoch,
    /// The strings that the columns refer to.
    pub names: Symbols,
    /// Device work by start, then by correlation.
    pub work: Vec<DeviceWork>,
    /// Streams (queues) that `work` refers to.
    pub streams: Vec<Stream>,
    /// Arguments of collectives, which `work` refers to.
    pub collectives: Vec<CollectiveArgs>,
    /// Runtime and driver calls that enqueue device work, by start. Of several calls with one correlation only
    /// the earliest is linked.
    pub launches: Vec<Launch>,
    /// Framework operators by start.
    pub operators: Vec<Operator>,
    /// Host ranges of a kind that the partition asks for, by start.
    pub ranges: Vec<HostRange>,
    /// Threads that launches, operators and ranges refer to.
    pub threads: Vec<Thread>,
    /// Annotations on the device's own timeline, by start.
    pub annotations: Vec<DeviceAnnotation>,
    /// Waits of a stream or of the host for another stream, by start.
    pub waits: Vec<StreamWait>,
    /// Samples of the allocator, by instant.
    pub memory: Vec<MemorySample>,
    /// Devices as the trace describes them.
    pub devices: Vec<DeviceInfo>,
    /// Software by name and version, as far as the trace states it.
    pub software: Vec<(&'static str, String)>,
}

/// What stamps count from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Epoch {
    /// 1970-01-01T00:00:00 UTC.
    Unix,
    /// An instant of the trace's own.
    Own,
}

impl RankTrace {
    /// The text of a name.
    pub fn name(&self, symbol: Symbol) -> &str {
        self.names.get(symbol)
    }

    /// First start to last end of the device work, in nanoseconds; `None` for a trace without any.
    pub fn device_window(&self) -> Option<(i64, i64)> {
        let start = self.work.first()?.start_ns;
        let end = self.work.iter().map(|w| w.end_ns).max()?;
        Some((start, end))
    }

    /// When the work was launched, if the trace says.
    pub fn launch_of(&self, work: &DeviceWork) -> Option<&Launch> {
        self.launches.get(work.launch? as usize)
    }

    /// The innermost operator that launched the work, if the trace says.
    pub fn operator_of(&self, work: &DeviceWork) -> Option<&Operator> {
        self.operators.get(work.operator? as usize)
    }

    /// The arguments of a collective, if the trace has them.
    pub fn collective_of(&self, work: &DeviceWork) -> Option<&CollectiveArgs> {
        self.collectives.get(work.collective? as usize)
    }

    /// Which exchange a communication kernel is: as its arguments say, else as its name says, else as the operator or
    /// library call says that launched it (RCCL runs all of them in one kernel).
    pub fn collective_kind(&self, work: &DeviceWork) -> CollectiveKind {
        let by_args = self.collective_of(work).map_or(CollectiveKind::Unknown, |args| args.kind);
        let by_name = |name| CollectiveKind::of_kernel(self.name(name));
        let known = |kind: &CollectiveKind| *kind != CollectiveKind::Unknown;
        let kinds =
            [Some(by_args), Some(by_name(work.name)), self.operator_of(work).map(|op| by_name(op.name))];
        kinds.into_iter().flatten().find(known).unwrap_or(CollectiveKind::Unknown)
    }
}
