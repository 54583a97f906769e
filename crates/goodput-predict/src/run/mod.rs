//! What is asked: a model on a cluster, laid out and trained in a stated way.

use goodput_model::Architecture;

use crate::cluster::Cluster;
use crate::kernel::{Dispatch, Format, Fusion};

/// One training job, complete. Degrees multiply to the devices: `tp x cp x pp x dp`; experts are spread over `ep x etp` of
/// them.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The model.
    pub architecture: Architecture,
    /// Where it runs.
    pub cluster: Cluster,
    /// Devices.
    pub devices: u32,
    /// How the work is split.
    pub layout: Layout,
    /// What is computed again in the backward pass.
    pub recompute: Recompute,
    /// Formats of the arithmetic and of the states.
    pub precision: Precision,
    /// The optimizer.
    pub optimizer: Optimizer,
    /// Sequences of a step.
    pub batch: Batch,
    /// How the framework runs it.
    pub framework: Framework,
}

/// Degrees of parallelism.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Tensor.
    pub tensor: u32,
    /// Whether norms and residuals are split over the tensor ranks.
    pub sequence_parallel: bool,
    /// Context, and how its ranks exchange keys and values.
    pub context: u32,
    /// How context ranks exchange.
    pub context_method: ContextMethod,
    /// Pipeline stages.
    pub pipeline: u32,
    /// Order of the micro-batches.
    pub schedule: Schedule,
    /// Ranks over which experts are spread.
    pub expert: u32,
    /// Ranks that share the matrices of one expert.
    pub expert_tensor: u32,
    /// Replicas, FSDP's shards among them.
    pub data: u32,
    /// What the data-parallel ranks shard.
    pub sharding: Sharding,
    /// Ranks over which states are sharded when not over all replicas (HSDP).
    pub shard_size: Option<u32>,
    /// Bytes of a gradient bucket; the framework's default when not stated.
    pub bucket_bytes: Option<u64>,
    /// Whether gradients are reduced beside the backward pass.
    pub overlap_gradients: bool,
    /// Whether parameters are gathered beside the forward pass.
    pub overlap_parameters: bool,
    /// Whether tensor-parallel exchanges are cut into pieces that run beside their products.
    pub overlap_tensor: bool,
    /// Layers of the first and of the last stage less than those of the others (zero-bubble setups), whole layers.
    pub uneven_ends: [u32; 2],
}

/// How context ranks exchange keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContextMethod {
    /// Passed around, beside the attention of the part at hand.
    Ring,
    /// Gathered before the attention.
    AllGather,
    /// Exchanged for heads (Ulysses).
    Ulysses,
}

/// Order of the micro-batches over the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// All forward, then all backward.
    GPipe,
    /// One forward, one backward.
    OneForwardOneBackward,
    /// The same with several parts of the model on each stage.
    Interleaved {
        /// Parts of each stage.
        parts: u32,
    },
    /// Backward split into input and weight gradients; memory as one-forward-one-backward (ZB-H1, ZB-1p).
    ZeroBubbleH1,
    /// The same with twice the memory (ZB-2p).
    ZeroBubble2p,
    /// Both ends at once (DeepSeek).
    DualPipe,
}

/// What the data-parallel ranks shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sharding {
    /// Nothing.
    None,
    /// The optimizer's states (ZeRO 1, distributed optimizer).
    Optimizer,
    /// And gradients (ZeRO 2).
    Gradients,
    /// And parameters (ZeRO 3, FSDP).
    Parameters {
        /// Whether they are gathered again in the backward pass.
        reshard_after_forward: bool,
    },
}

/// What is computed again in the backward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recompute {
    /// Nothing.
    None,
    /// The attention core: scores, softmax, dropout.
    AttentionCore,
    /// Norms, activations and other cheap modules.
    Cheap,
    /// Whole layers.
    Full,
    /// So many layers of each stage whole.
    Layers(u32),
}

/// Formats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// Of the matrix products of the layers.
    pub products: Format,
    /// Bytes of an element of activations on the wire and in memory.
    pub activation_bytes: u32,
    /// Bytes of a parameter as it is used.
    pub parameter_bytes: u32,
    /// Bytes of a gradient as it is accumulated and reduced.
    pub gradient_bytes: u32,
    /// Whether the attention runs in the products' format.
    pub low_precision_attention: bool,
}

/// The optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Optimizer {
    /// Two moments and a master copy in fp32.
    Adam,
    /// Momentum and orthogonalised updates of matrices.
    Muon,
    /// No moments.
    Sgd,
}

/// Sequences of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Batch {
    /// Tokens of a sequence.
    pub sequence: u64,
    /// Sequences of a micro-batch of one replica.
    pub micro: u64,
    /// Sequences of a step of the job.
    pub global: u64,
}

/// How a framework runs the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Framework {
    /// How kernels are launched.
    pub dispatch: Dispatch,
    /// Which kernels are fused.
    pub fusion: Fusion,
    /// Whether attention is one fused kernel.
    pub fused_attention: bool,
    /// Whether dropout is on.
    pub dropout: bool,
}

impl Run {
    /// Micro-batches of a replica in one step. `None` when the batch does not divide.
    pub fn micro_batches(&self) -> Option<u64> {
        let of_one = self.batch.micro.checked_mul(u64::from(self.layout.data))?;
        (of_one > 0 && self.batch.global.is_multiple_of(of_one)).then(|| self.batch.global / of_one)
    }

    /// Parts of the model on each stage.
    pub fn parts(&self) -> u32 {
        match self.layout.schedule {
            Schedule::Interleaved { parts } => parts,
            _ => 1,
        }
    }
}
