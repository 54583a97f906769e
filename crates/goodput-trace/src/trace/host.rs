//! What ran on the host.

use goodput_core::records::Symbol;

/// A host thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Thread {
    /// Process id.
    pub process: i64,
    /// Thread id.
    pub id: i64,
}

/// A runtime or driver call that enqueues device work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Start in nanoseconds.
    pub start_ns: i64,
    /// End in nanoseconds.
    pub end_ns: i64,
    /// Name of the call.
    pub name: Symbol,
    /// Index into [`RankTrace::threads`](super::RankTrace::threads).
    pub thread: u32,
}

/// An operator of the framework (`aten::mm`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operator {
    /// Start in nanoseconds.
    pub start_ns: i64,
    /// End in nanoseconds.
    pub end_ns: i64,
    /// Name.
    pub name: Symbol,
    /// Index into [`RankTrace::threads`](super::RankTrace::threads).
    pub thread: u32,
    /// The text of its input shapes (`Input Dims`), a JSON list of lists; [`Symbol::EMPTY`] when not recorded.
    pub input_shapes: Symbol,
    /// The text of its input types (`Input type`), a JSON list; [`Symbol::EMPTY`] when not recorded.
    pub input_types: Symbol,
    /// The text of its inputs that are no tensors (`Concrete Inputs`), a JSON list of texts, of operators whose work
    /// depends on them: strides of a convolution, the mask of an attention. [`Symbol::EMPTY`] otherwise.
    pub input_values: Symbol,
}

impl Operator {
    /// An operator of which only its name and time are known.
    pub fn named(name: Symbol, thread: u32, (start_ns, end_ns): (i64, i64)) -> Self {
        let none = Symbol::EMPTY;
        Self { start_ns, end_ns, name, thread, input_shapes: none, input_types: none, input_values: none }
    }
}

/// Why the host was busy, as far as the partition tells causes apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostKind {
    /// A step, with its number if it has one (`ProfilerStep#12`).
    Step(Option<i64>),
    /// A range that names an iteration, of NVTX or of a serving engine (`execute_…`, `step[…]`).
    Iteration(Option<i64>),
    /// Waiting for the next batch (`enumerate(DataLoader)#…`).
    DataLoader,
    /// The optimizer's update (`Optimizer.step#…`).
    Optimizer,
    /// The host waiting for the device (`cudaStreamSynchronize`, `aten::item`, a synchronous copy).
    HostSync,
    /// Compilation.
    Compile,
    /// Garbage collection.
    GarbageCollection,
    /// The allocator asking the driver (`cudaMalloc`, `cudaFree`, `cudaHostAlloc`).
    Allocator,
    /// The profiler's own work (category `overhead`).
    ProfilerOverhead,
    /// The backward pass on the autograd thread (`autograd::engine::evaluate_function`).
    Backward,
    /// A range that the user named.
    Annotation,
}

/// A host interval of a kind that the partition asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRange {
    /// Start in nanoseconds.
    pub start_ns: i64,
    /// End in nanoseconds.
    pub end_ns: i64,
    /// What the host did.
    pub kind: HostKind,
    /// Text.
    pub name: Symbol,
    /// Index into [`RankTrace::threads`](super::RankTrace::threads).
    pub thread: u32,
}
