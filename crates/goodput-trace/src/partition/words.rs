//! The words for charges in JSON and in reports.

use super::{Charge, HostCause};
use crate::class::{Class, Coarse};
use crate::trace::CollectiveKind;

impl Charge {
    /// One charge for every [`key`](Self::key), in the order in which they claim time: a legend's order.
    pub fn one_a_key() -> impl Iterator<Item = Self> {
        let kind = CollectiveKind::AllReduce;
        let classes = Class::ALL.iter().filter(|class| class.coarse() == Coarse::Compute);
        let communication =
            [Self::Transfer(kind), Self::CommunicationNotSplit(kind), Self::PeerWait, Self::Bubble];
        let queued = [Self::LaunchLatency, Self::StreamDependency, Self::Unattributed];
        classes
            .map(|&class| Self::Compute(class))
            .chain(communication)
            .chain([Self::Copy, Self::Fill])
            .chain(HostCause::ALL.iter().map(|&cause| Self::HostLate(cause)))
            .chain(queued)
    }

    /// The word used in JSON (`<key>_ns`). Exchanges of all kinds share one key.
    pub fn key(self) -> &'static str {
        match self {
            Self::Compute(class) => class.key(),
            Self::Transfer(_) => "transfer",
            Self::PeerWait => "peer_wait",
            Self::Bubble => "bubble",
            Self::CommunicationNotSplit(_) => "communication_not_split",
            Self::Copy => "copy",
            Self::Fill => "fill",
            Self::HostLate(cause) => cause.key(),
            Self::LaunchLatency => "launch_latency",
            Self::StreamDependency => "stream_dependency",
            Self::Unattributed => "unattributed",
        }
    }

    /// The name that a report shows.
    pub fn label(self) -> &'static str {
        match self {
            Self::Compute(class) => class.label(),
            Self::Transfer(_) => "exposed transfer",
            Self::PeerWait => "waiting for peers",
            Self::Bubble => "pipeline bubble",
            Self::CommunicationNotSplit(_) => "exposed communication, not split",
            Self::Copy => "exposed copies",
            Self::Fill => "exposed fills",
            Self::HostLate(cause) => cause.label(),
            Self::LaunchLatency => "launch latency and queue",
            Self::StreamDependency => "waiting for another stream",
            Self::Unattributed => "idle, unattributed",
        }
    }
}

impl HostCause {
    /// Every cause.
    pub const ALL: &'static [Self] = &[
        Self::DataLoader,
        Self::HostSync,
        Self::Optimizer,
        Self::Compile,
        Self::GarbageCollection,
        Self::Allocator,
        Self::ProfilerOverhead,
        Self::Dispatch,
    ];

    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::DataLoader => "host_data_loader",
            Self::HostSync => "host_sync",
            Self::Optimizer => "host_optimizer",
            Self::Compile => "host_compile",
            Self::GarbageCollection => "host_garbage_collection",
            Self::Allocator => "host_allocator",
            Self::ProfilerOverhead => "host_profiler",
            Self::Dispatch => "host_dispatch",
        }
    }

    /// The name that a report shows.
    pub fn label(self) -> &'static str {
        match self {
            Self::DataLoader => "host late: data loader",
            Self::HostSync => "host late: synchronisation",
            Self::Optimizer => "host late: optimizer",
            Self::Compile => "host late: compilation",
            Self::GarbageCollection => "host late: garbage collection",
            Self::Allocator => "host late: allocator",
            Self::ProfilerOverhead => "host late: profiler",
            Self::Dispatch => "host late: dispatch",
        }
    }
}
