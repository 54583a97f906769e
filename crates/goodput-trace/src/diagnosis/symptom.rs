//! The trace patterns that a reader of traces knows, each with its lever and its trade-off.

use goodput_core::{Boundary, Owner, Pattern};

use super::Term;

/// What a pattern stands for.
struct Facts {
    key: &'static str,
    label: &'static str,
    cause: &'static str,
    pattern: Pattern,
    term: Term,
    lever: &'static str,
    trade_off: &'static str,
}

macro_rules! symptoms {
    ($( $(#[$doc:meta])* $name:ident => $key:literal, $label:literal, $cause:literal, $pattern:ident, $term:ident, $lever:literal, $trade_off:literal; )+) => {
        /// A pattern of a step trace: a hypothesis to test by changing one thing and tracing again.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Symptom { $( $(#[$doc])* $name, )+ }

        impl Symptom {
            /// Every pattern.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            fn facts(self) -> Facts {
                match self {
                    $( Self::$name => Facts {
                        key: $key, label: $label, cause: $cause, pattern: Pattern::$pattern, term: Term::$term,
                        lever: $lever, trade_off: $trade_off,
                    }, )+
                }
            }
        }
    };
}

symptoms! {
    /// The device has nothing queued between kernels.
    DispatchGaps => "dispatch_gaps", "gaps between kernels while the host dispatches", "the host dispatches kernels slower than the device runs them",
        HostDispatch, Dispatch, "graph replay, fusion or compilation", "compilation time (a runtime cost); one variant per input shape";
    /// The host waits for the device inside the step.
    HostSynchronisation => "host_synchronisation", "the host waits for the device inside the step", "a read-back (.item(), a synchronous copy) or an explicit synchronisation drains the queue",
        HostDispatch, Dispatch, "keep the value on the device, read it back later or less often", "later logging and stopping decisions";
    /// Queued work starts late.
    QueueLatency => "queue_latency", "queued kernels start late", "launch latency, a full queue or waits between streams",
        HostDispatch, Dispatch, "graph replay; fewer stream dependencies", "static shapes and addresses";
    /// A collective with nothing beside it.
    ExposedCollectives => "exposed_collectives", "collective bars while nothing computes", "communication serialised instead of overlapped",
        ExposedCommunication, Communication, "overlap with independent work (bucket size, launch order, prefetch); another partitioning", "contention for the device; memory of the buckets; complexity of the schedule";
    /// Exposed communication whose peers are not known.
    ExposedNotSplit => "exposed_not_split", "collective bars while nothing computes, peers unknown", "transfer or waiting: one rank's trace cannot tell",
        ExposedCommunication, CommunicationOrSynchronisation, "trace the other members of the group in the same steps", "volume of the traces";
    /// Embeddings of a recommendation model, exchanged with nothing beside it.
    EmbeddingExchanges => "embedding_exchanges", "exchanges of embeddings while nothing computes", "tables are spread over ranks, and look-ups wait for their rows",
        ExposedCommunication, Communication, "overlap with the dense part, shard tables evenly, keep hot rows local, smaller types on the wire", "memory of replicated rows; accuracy";
    /// Everyone waits for one.
    BarrierWaits => "barrier_waits", "all ranks but one wait at a collective", "uneven work, or a rank that degrades",
        Straggler, Synchronisation, "even partitioning; expert capacity limits; replace the node", "the restart (a runtime cost) against the step time won";
    /// Stages wait for each other.
    PipelineBubbles => "pipeline_bubbles", "stages idle before their first and after their last micro-batch", "pipeline bubbles",
        PipelineBubble, Synchronisation, "more micro-batches, or an interleaved schedule", "activation memory; efficiency of each micro-batch";
    /// Kernels that move bytes rather than multiply.
    NonMatrixKernels => "non_matrix_kernels", "much of the compute time outside matrix products", "normalisation, activation, softmax, copies and optimizer sit on the bandwidth slope",
        MemoryStall, DataMovement, "fuse them into neighbouring kernels; tiled attention; compilation", "numerical validation; upkeep of kernels";
    /// Measured against the roofline.
    BandwidthBound => "bandwidth_bound", "low FLOP/s at a high bandwidth", "memory-bound kernels hold the step",
        MemoryStall, DataMovement, "fewer bytes: fusion, smaller representations, a larger batch per device", "accuracy; cache pressure; convergence";
    /// Measured against the roofline.
    BelowBothCeilings => "below_both_ceilings", "kernels far below both ceilings", "serial dependencies, small problems, a poor instruction mix",
        ArithmeticBelowPeak, Arithmetic, "another kernel, larger problems, compilation with autotuning", "compilation time; numerical validation";
    /// The allocator's curve has needles.
    MemorySpikes => "memory_spikes", "large memory spikes", "intermediates are written out whole",
        MemoryStall, DataMovement, "fusion, or tiled attention that never writes its score matrix", "numerical validation; upkeep of kernels";
    /// The driver is asked for memory inside the step.
    AllocatorChurn => "allocator_churn", "allocations by the driver inside the step", "buffers made anew instead of reused",
        HostDispatch, Dispatch, "planned memory, preallocated pools, expandable segments", "the allocator's behaviour; recomputation if activations are dropped instead";
    /// Shapes change and code is built again.
    RecompilationInLoop => "recompilation", "compilation inside the step", "a new shape or a failed guard builds code again",
        Recompilation, Dispatch, "stable or bucketed shapes; mark dynamic dimensions", "padding";
    /// The next batch is not there.
    InputWaits => "input_waits", "the device idles while the host waits for the next batch", "input preparation is not pipelined with the step",
        InputWait, Input, "more workers, prefetch, preprocessing services, pretokenised data", "storage cost; freshness of the data";
    /// Copies with nothing beside them.
    ExposedCopies => "exposed_copies", "copies while nothing computes", "pageable or late copies, offloading without prefetch",
        MemoryStall, DataMovement, "pinned memory, asynchronous copies on a stream of their own, prefetch", "host memory";
    /// Overlap is not free.
    OverlapContention => "overlap_contention", "kernels beside collectives run longer than alone", "collectives take multiprocessors and bandwidth from the kernels beside them",
        Contention, Communication, "fewer channels or multiprocessors for collectives; copy-engine or in-network collectives", "a longer collective";
    /// More is executed than the model needs.
    RecomputedForward => "recomputation", "forward operators in the backward pass", "activations are recomputed",
        Recomputation, Arithmetic, "recompute fewer layers, or only attention, where memory allows", "activation memory";
    /// The collector ran.
    GarbageCollection => "garbage_collection", "the collector runs inside the step", "the host's garbage collector stops the dispatch",
        HostDispatch, Dispatch, "collect at fixed steps on all ranks at once", "host memory between collections";
    /// The measurement disturbs.
    ProfilerOverhead => "profiler_overhead", "the profiler's own work inside the step", "tracing slows the step it measures",
        HostDispatch, Dispatch, "record fewer kinds of events; compare with untraced steps", "less detail";
}

impl Symptom {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        self.facts().key
    }

    /// What the trace shows.
    pub fn label(self) -> &'static str {
        self.facts().label
    }

    /// The likely cause.
    pub fn cause(self) -> &'static str {
        self.facts().cause
    }

    /// The loss of the ledger.
    pub fn pattern(self) -> Pattern {
        self.facts().pattern
    }

    /// The factor that it lowers.
    pub fn boundary(self) -> Boundary {
        self.facts().pattern.boundary()
    }

    /// The term to shorten.
    pub fn term(self) -> Term {
        self.facts().term
    }

    /// Who can shorten it.
    pub fn owner(self) -> Owner {
        self.facts().pattern.owner()
    }

    /// The lever to try first.
    pub fn lever(self) -> &'static str {
        self.facts().lever
    }

    /// What to check before it is pulled.
    pub fn trade_off(self) -> &'static str {
        self.facts().trade_off
    }
}
