//! What is asked: a model on a cluster, laid out and trained in a stated way.
//!
//! ```
//! use std::path::Path;
//! use goodput_predict::run::Run;
//! let run = Run::from_yaml("run.yaml", "
//! model: megatron-22b
//! cluster: DGX A100
//! devices: 8
//! layout: {tp: 8, sp: true}
//! batch: {sequence: 2048, micro: 4, global: 4}
//! recompute: selective
//! ", Path::new("."))?;
//! assert_eq!(run.micro_batches(), Some(1));
//! # Ok::<(), goodput_predict::run::RunError>(())
//! ```

mod check;
mod framework;
mod framework_file;
mod hardware;
mod keys;
mod packing;
mod precision;
mod recompute;
mod yaml;

use goodput_model::Architecture;
use serde::Deserialize;

use crate::cluster::Cluster;

pub use check::RunError;
pub use framework::{Framework, UnknownFramework};
pub use packing::{LengthDistribution, Packing};
pub use precision::{Precision, UnknownPrecision};
pub use recompute::{Module, Modules, Recompute};
pub use yaml::KEYS;

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
    /// Tokens of the busiest rank of experts over the mean; no token is dropped.
    pub expert_imbalance: f64,
    /// Documents of a sequence.
    pub packing: Packing,
    /// What is kept in the host's memory.
    pub offload: Offload,
}

/// What is kept in the host's memory instead of the device's, over the link between the two.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Offload {
    /// Share of the activations that wait for their backward pass: out beside the forward pass, back beside the backward pass.
    pub activations: f64,
    /// Whether master copies and moments pass through the device for the update alone.
    pub optimizer: bool,
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
    /// Whether a micro-batch's exchanges of experts run beside another's computation: its forward pass beside a backward pass.
    pub overlap_experts: bool,
    /// Whether the network that all experts share runs beside the exchange.
    pub overlap_shared_experts: bool,
    /// Layers of the first and of the last part less than those of the others (zero-bubble setups), whole layers.
    pub uneven_ends: [u32; 2],
}

impl Default for Layout {
    /// One device, nothing split.
    fn default() -> Self {
        Self {
            tensor: 1,
            sequence_parallel: false,
            context: 1,
            context_method: ContextMethod::default(),
            pipeline: 1,
            schedule: Schedule::OneForwardOneBackward,
            expert: 1,
            expert_tensor: 1,
            data: 1,
            sharding: Sharding::None,
            shard_size: None,
            bucket_bytes: None,
            overlap_gradients: false,
            overlap_parameters: false,
            overlap_tensor: false,
            overlap_experts: false,
            overlap_shared_experts: false,
            uneven_ends: [0, 0],
        }
    }
}

impl Layout {
    /// Whether one micro-batch's forward pass runs beside another's backward pass in a schedule that otherwise has one after the
    /// other. DualPipe always pairs.
    #[must_use]
    pub fn pairs(&self) -> bool {
        self.overlap_experts
            && self.expert > 1
            && matches!(self.schedule, Schedule::OneForwardOneBackward | Schedule::Interleaved { .. })
    }
}

/// How context ranks exchange keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContextMethod {
    /// Passed around, beside the attention of the part at hand.
    #[default]
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

/// The optimizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimizer {
    /// Two moments and a master copy in fp32.
    #[default]
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
