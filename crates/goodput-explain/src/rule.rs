//! Symptoms of a prediction that is off, as a person would check them: the troubleshooting table of the MFU guide, with the
//! term that each shows in, what to check and which lever to try.
//!
//! Where the guide is wrong the rule follows the simulation. Its first stage is not always exposed: the simulation puts
//! buckets on the real backward pass of each stage, so that a difference there is a finding like any other. A bubble
//! larger than predicted is not explained by few micro-batches, whose bubble the schedule already has, but by stages of
//! unequal length; their number is the lever, not the cause. Faster than predicted is no "conservative estimate" but a
//! prediction of other kernels, to be set right in RUN.yaml.

use goodput_core::Owner;

struct Facts {
    key: &'static str,
    symptom: &'static str,
    check: &'static str,
    lever: &'static str,
    owner: Owner,
}

macro_rules! rules {
    ($( $(#[$doc:meta])* $name:ident => $key:literal, $symptom:literal, $check:literal, $lever:literal, $owner:ident; )+) => {
        /// A hypothesis of why a term differs, to test by changing one thing and tracing again.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $( $(#[$doc])* $name, )+ }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            fn facts(self) -> Facts {
                match self {
                    $( Self::$name => Facts {
                        key: $key, symptom: $symptom, check: $check, lever: $lever, owner: Owner::$owner,
                    }, )+
                }
            }
        }
    };
}

rules! {
    /// The next batch is not there.
    InputWait => "input_wait", "the device waits for its next batch", "load of the host's cores, workers and storage of the data loader", "more workers, prefetch, pretokenised data", DataStorage;
    /// Kernels are enqueued too late.
    HostLate => "host_late", "the host enqueues kernels later than predicted", "host.dispatch_us of the cluster, other threads that hold the interpreter's lock, load of the host's cores", "graph capture, compilation or fusion", PerformanceEngineering;
    /// Something makes the host wait for the device.
    HostSynchronises => "host_synchronises", "the host waits for the device inside the step", "read-backs of losses and norms (.item()), synchronous copies", "read back less often, or later", PerformanceEngineering;
    /// Allocations by the driver inside the step.
    MemoryFragmented => "memory_fragmented", "the driver is asked for memory inside the step", "reserved against allocated memory, retries of the allocator", "expandable segments, planned memory, a smaller micro-batch", PerformanceEngineering;
    /// The measurement disturbs.
    ProfilerOverhead => "profiler_overhead", "the profiler's own work is in the step", "the step time without tracing (--timeline of goodput trace)", "record fewer kinds of events", PerformanceEngineering;
    /// The same bytes take longer.
    SlowerTransfer => "slower_transfer", "exchanges take longer than the links should need", "the bus bandwidth of the same collective alone (nccl-tests), neighbours on the network, placement over switches, NCCL's algorithm and protocol", "placement, NICs and routes, NCCL's settings; or the cluster's bandwidth in RUN.yaml", CollectiveCommunication;
    /// The same transfer, less of it hidden.
    LessOverlap => "less_overlap", "less communication is hidden than predicted", "launch order, bucket sizes and prefetch of the framework against the overlap switches of RUN.yaml, exchanges that RUN.yaml does not imply", "overlap with independent work; or the switches in RUN.yaml", DistributedTraining;
    /// Exposed communication cannot be told from waiting.
    NotSplit => "not_split", "exposed communication may be transfer or waiting", "traces of all members of the group over the same steps", "trace the other ranks", Evidence;
    /// Some ranks make others wait.
    Stragglers => "stragglers", "ranks wait for slower ones, which no prediction has unless --stragglers states it", "the blamed rank's kernels, clocks, temperature and input", "even work, or another node", Operations;
    /// Experts get unequal loads.
    UnevenExperts => "uneven_experts", "expert ranks compute for unequal times", "tokens of each expert and the load-balancing loss", "balance the router, limit the experts' capacity", Workload;
    /// Kernels on the bandwidth slope take longer, in as many pieces.
    SlowMemoryBound => "slow_memory_bound", "as many memory-bound kernels take longer than predicted", "bytes over time of the largest ones against the device's bandwidth, copies between layouts, fp32 where 16 bits were meant", "kernels made for them, contiguous layouts", PerformanceEngineering;
    /// More of them than predicted.
    Unfused => "unfused", "more memory-bound kernels run than predicted", "whether fused norms, activations and losses are on; the framework's profile in RUN.yaml", "fusion or compilation", PerformanceEngineering;
    /// Fewer of them than predicted.
    FusedFurther => "fused_further", "fewer memory-bound kernels run than predicted: more is fused", "the framework's profile in RUN.yaml", "set fusion, norm and loss kernels in RUN.yaml as they are", PerformanceEngineering;
    /// Products run at another speed.
    SlowProducts => "slow_products", "matrix products run slower than predicted", "clocks and power under load, the kernels' tiles and formats, whether the shapes are those predicted", "shapes that fill the device, another library or autotuning", PerformanceEngineering;
    /// Products in eight or four bits.
    LowPrecisionProducts => "low_precision_products", "products of the 8 or 4 bit recipe run slower than predicted", "which layers stay in 16 bits, scaling and conversion kernels beside the products, whether tables of the format exist for the device", "keep small products in 16 bits; fuse the conversion", PerformanceEngineering;
    /// Products run faster.
    FastProducts => "fast_products", "matrix products run faster than predicted", "whether the prediction rests on a table or is extrapolated, the FLOPs that are executed", "measure the shapes on this device", PerformanceEngineering;
    /// More or fewer products than predicted.
    OtherProducts => "other_products", "another amount of matrix products is executed than predicted", "model, batch, recompute and layout in RUN.yaml against the job's settings; padding of vocabulary and sequences", "state the job as it runs, or drop the work that is not needed", DistributedTraining;
    /// Attention runs at another speed.
    OtherAttention => "other_attention", "attention takes other time than predicted", "which kernel runs, the mask and the length of documents", "name the kernel in RUN.yaml, or take a faster one", PerformanceEngineering;
    /// Choosing experts and moving tokens.
    SlowRouting => "slow_routing", "router and permutation take longer than predicted", "whether top-k and permutation are fused kernels", "fused router and permutation", PerformanceEngineering;
    /// Stages wait longer.
    LargerBubble => "larger_bubble", "stages wait longer than the schedule predicts", "times of the stages against each other: embedding, head and layers may be uneven; sends that block", "even stages, more micro-batches, an interleaved schedule", DistributedTraining;
    /// Stages wait less.
    SmallerBubble => "smaller_bubble", "stages wait less than the schedule predicts", "the schedule and the number of micro-batches in RUN.yaml", "state the schedule that runs", DistributedTraining;
    /// The gradients of one stage are exposed otherwise than predicted.
    StageExposure => "stage_exposure", "gradients' exchange is exposed on some stages otherwise than predicted", "order of the buckets on each stage, whether the last bucket waits for the optimizer", "smaller last buckets, overlap with the optimizer", DistributedTraining;
    /// The update.
    SlowOptimizer => "slow_optimizer", "the optimizer takes longer than predicted", "whether it is one fused kernel, what is sharded, fp32 copies", "a fused or distributed optimizer", PerformanceEngineering;
    /// Copies with nothing beside them.
    ExposedCopies => "exposed_copies", "copies run while nothing computes, which no prediction has", "pageable memory, offloading without prefetch", "pinned memory, asynchronous copies", PerformanceEngineering;
    /// More is computed again.
    MoreRecomputation => "more_recomputation", "more is computed again than predicted", "recompute in RUN.yaml against the job's settings", "recompute fewer layers where memory allows", DistributedTraining;
    /// Less is computed again.
    LessRecomputation => "less_recomputation", "less is computed again than predicted", "recompute in RUN.yaml against the job's settings", "state what is recomputed", DistributedTraining;
    /// More is hidden.
    MoreOverlap => "more_overlap", "more communication is hidden than predicted", "the overlap switches of RUN.yaml against the framework's", "state the overlap that runs", DistributedTraining;
    /// The links are faster.
    FasterTransfer => "faster_transfer", "exchanges take less than the links were thought to need", "links and NCCL release of the cluster in RUN.yaml", "state the cluster's bandwidths as they are", CollectiveCommunication;
    /// Idle time without a launch.
    UnexplainedIdle => "unexplained_idle", "idle time that no launch explains", "whether the trace records launches (CPU activities)", "trace host and device together", Evidence;
}

impl Rule {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        self.facts().key
    }

    /// What is seen.
    pub fn symptom(self) -> &'static str {
        self.facts().symptom
    }

    /// What to check first.
    pub fn check(self) -> &'static str {
        self.facts().check
    }

    /// The lever to try.
    pub fn lever(self) -> &'static str {
        self.facts().lever
    }

    /// Who can.
    pub fn owner(self) -> Owner {
        self.facts().owner
    }
}
