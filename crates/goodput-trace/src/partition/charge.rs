//! What a nanosecond can be charged to.

use rustc_hash::FxHashMap;

use crate::class::Class;
use crate::trace::CollectiveKind;

/// What a nanosecond of a rank's window is charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Charge {
    /// A kernel that computes. Where several run at once, the one that started first.
    Compute(Class),
    /// Exposed communication that moves data.
    Transfer(CollectiveKind),
    /// Exposed communication before the last member of the group has come.
    PeerWait,
    /// A receive before its sender has come: an upstream wait, a pipeline bubble.
    Bubble,
    /// Exposed communication of which the peers are not known well enough to tell wait from transfer.
    CommunicationNotSplit(CollectiveKind),
    /// An exposed copy.
    Copy,
    /// An exposed fill.
    Fill,
    /// Nothing was queued: the host was late.
    HostLate(HostCause),
    /// Queued and not yet started: launch latency or the queue.
    LaunchLatency,
    /// Queued and waiting for another stream.
    StreamDependency,
    /// Idle before work whose launch is not known, or at the end of the window.
    Unattributed,
}

impl Charge {
    /// Whether a kernel computes.
    pub fn is_compute(self) -> bool {
        matches!(self, Self::Compute(_))
    }

    /// Whether it is exposed communication, moving data or waiting.
    pub fn is_communication(self) -> bool {
        matches!(self, Self::Transfer(_) | Self::PeerWait | Self::Bubble | Self::CommunicationNotSplit(_))
    }

    /// Whether it is an exposed copy or fill.
    pub fn is_memory(self) -> bool {
        matches!(self, Self::Copy | Self::Fill)
    }

    /// Whether nothing runs on the device.
    pub fn is_idle(self) -> bool {
        matches!(self, Self::HostLate(_) | Self::LaunchLatency | Self::StreamDependency | Self::Unattributed)
    }
}

/// What the launching thread did while the device had nothing queued, in the order in which the causes claim an
/// instant that several share: the wait for a batch holds what it calls, and so does the optimizer's step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostCause {
    /// Waited for the next batch.
    DataLoader,
    /// Waited for the device.
    HostSync,
    /// Ran the optimizer's host code.
    Optimizer,
    /// Compiled.
    Compile,
    /// Collected garbage.
    GarbageCollection,
    /// Asked the driver for memory.
    Allocator,
    /// Ran the profiler.
    ProfilerOverhead,
    /// Dispatched operators.
    Dispatch,
}

/// A maximal interval of one charge and one piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    /// Start in nanoseconds.
    pub start_ns: i64,
    /// End in nanoseconds, after the start.
    pub end_ns: i64,
    /// What it is charged to.
    pub charge: Charge,
    /// Index of the device work charged, or of the work that the idle device waits for.
    pub work: Option<u32>,
}

/// Which kind of waiting the first part of a communication kernel is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WaitKind {
    /// For the last member of a collective's group.
    Peers,
    /// For the sender of a point-to-point exchange.
    Upstream,
}

/// How a communication kernel divides: `[start, waits_until)` waits, the rest transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// End of the wait, on this rank's own clock, within the kernel.
    pub waits_until_ns: i64,
    /// What it waits for.
    pub wait: WaitKind,
}

/// The splits of one rank by index of the device work. A communication kernel that is absent is not split.
pub type Splits = FxHashMap<u32, Split>;
