//! What ran on the device.

use goodput_core::records::Symbol;

use crate::class::{Class, Coarse};

/// A kernel, a copy or a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceWork {
    /// Start in nanoseconds.
    pub start_ns: i64,
    /// End in nanoseconds, not before the start.
    pub end_ns: i64,
    /// Name of the kernel or copy.
    pub name: Symbol,
    /// Index into [`RankTrace::streams`](super::RankTrace::streams).
    pub stream: u32,
    /// The id that ties it to its launch: orders work that starts at one instant.
    pub correlation: u64,
    /// Index into [`RankTrace::launches`](super::RankTrace::launches).
    pub launch: Option<u32>,
    /// Index into [`RankTrace::operators`](super::RankTrace::operators).
    pub operator: Option<u32>,
    /// Index into [`RankTrace::collectives`](super::RankTrace::collectives).
    pub collective: Option<u32>,
    /// Bytes moved by a copy or a fill.
    pub bytes: Option<u64>,
    /// What kind of activity the trace recorded.
    pub kind: WorkKind,
    /// The operation.
    pub class: Class,
}

impl DeviceWork {
    /// Duration in nanoseconds.
    pub fn duration_ns(&self) -> i64 {
        self.end_ns - self.start_ns
    }

    /// Compute, communication or memory.
    pub fn coarse(&self) -> Coarse {
        self.class.coarse()
    }
}

/// The activity that the trace recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkKind {
    /// A kernel.
    Kernel,
    /// A copy by the driver.
    Copy,
    /// A fill by the driver.
    Fill,
    /// A whole graph replay whose kernels the trace hides.
    Graph,
}

impl WorkKind {
    /// The activity of a name, for formats that write copies and fills among the kernels: `MemcpyD2D`, `Memset`, and
    /// the kernels by which ROCm copies and fills.
    pub(crate) fn of_name(name: &str) -> Self {
        if name.starts_with("Memcpy") || name.starts_with("__amd_rocclr_copy") {
            Self::Copy
        } else if name.starts_with("Memset") || name.starts_with("__amd_rocclr_fill") {
            Self::Fill
        } else {
            Self::Kernel
        }
    }
}

/// A stream or hardware queue of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stream {
    /// Device index as the trace writes it: no rank.
    pub device: i64,
    /// Stream or queue id.
    pub id: i64,
}

/// Which exchange it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CollectiveKind {
    /// Every rank gets the sum.
    AllReduce,
    /// Every rank gets every part.
    AllGather,
    /// Every rank gets its part of the sum.
    ReduceScatter,
    /// Every rank sends a part to every other.
    AllToAll,
    /// One rank sends to all.
    Broadcast,
    /// One rank gets the sum.
    Reduce,
    /// One rank gets every part.
    Gather,
    /// One rank sends a part to each.
    Scatter,
    /// Nobody passes before all have come.
    Barrier,
    /// Point to point, sending side.
    Send,
    /// Point to point, receiving side.
    Receive,
    /// Sends and receives in one kernel, an all-to-all among them.
    SendReceive,
    /// The trace hides which.
    Unknown,
}

impl CollectiveKind {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::AllReduce => "all_reduce",
            Self::AllGather => "all_gather",
            Self::ReduceScatter => "reduce_scatter",
            Self::AllToAll => "all_to_all",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Barrier => "barrier",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::SendReceive => "send_receive",
            Self::Unknown => "unknown",
        }
    }

    /// The name that a report shows.
    pub fn label(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllToAll => "all-to-all",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Barrier => "barrier",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::SendReceive => "send and receive",
            Self::Unknown => "collective of unknown kind",
        }
    }
}

/// What the trace says of a collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectiveArgs {
    /// Which exchange.
    pub kind: CollectiveKind,
    /// Process group by name.
    pub group: Option<Symbol>,
    /// What the group is for (`Process Group Description`).
    pub description: Option<Symbol>,
    /// Members of the group, when spelled out in full.
    pub ranks: Option<Vec<u32>>,
    /// Size of the group.
    pub group_size: Option<u32>,
    /// Sequence number within the group.
    pub sequence: Option<u64>,
    /// Elements in.
    pub in_elements: Option<u64>,
    /// Elements out.
    pub out_elements: Option<u64>,
    /// Data type as the trace writes it.
    pub dtype: Option<Symbol>,
    /// Sender of a point-to-point exchange, a global rank.
    pub source_rank: Option<u32>,
    /// Receiver of a point-to-point exchange, a global rank.
    pub destination_rank: Option<u32>,
}

/// An annotation on the device's timeline (`gpu_user_annotation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceAnnotation {
    /// Start in nanoseconds.
    pub start_ns: i64,
    /// End in nanoseconds.
    pub end_ns: i64,
    /// Text.
    pub name: Symbol,
    /// Index into [`RankTrace::streams`](super::RankTrace::streams).
    pub stream: u32,
}

/// A stream, or the host, waiting for an event of another stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamWait {
    /// Start in nanoseconds.
    pub start_ns: i64,
    /// End in nanoseconds.
    pub end_ns: i64,
    /// The waiting stream; `None` when the host waits.
    pub stream: Option<u32>,
    /// The stream waited for, when known.
    pub waits_for: Option<u32>,
}

/// The allocator at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySample {
    /// Instant in nanoseconds.
    pub at_ns: i64,
    /// Change in bytes: negative when freed.
    pub change_bytes: i64,
    /// Bytes allocated after it.
    pub allocated_bytes: Option<u64>,
    /// Bytes reserved after it.
    pub reserved_bytes: Option<u64>,
}

/// A device as the trace describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Index as the trace writes it.
    pub id: i64,
    /// Name of the product.
    pub name: String,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Multiprocessors or compute units.
    pub processors: Option<u32>,
}
