//! Which ranks' counts are summed, and what a rank's count must be multiplied by to be its replica's.

/// How the world's ranks are laid out: `world = data x tensor x context x pipeline`. Expert parallelism regroups
/// these ranks and adds none. Fully sharded data parallelism is data parallelism here.
///
/// ```
/// use goodput_model::meter::ParallelLayout;
/// assert_eq!(ParallelLayout::new(8, 2, 2, 1)?.data(), 2);
/// assert!(ParallelLayout::new(8, 3, 1, 1).is_err());
/// # Ok::<(), goodput_model::meter::LayoutError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ParallelLayout {
    world: u64,
    tensor: u64,
    context: u64,
    pipeline: u64,
}

/// Parallel sizes that do not make a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A size of zero.
    #[error("{field} is 0: expected 1 or more (1: not parallel in this way)")]
    Zero {
        /// The size.
        field: &'static str,
    },
    /// The world is no multiple of a replica.
    #[error(
        "world_size {world} is no multiple of tensor {tensor} x context {context} x pipeline {pipeline}: every \
         replica has as many ranks"
    )]
    NotDivisible {
        /// Ranks.
        world: u64,
        /// Tensor-parallel size.
        tensor: u64,
        /// Context-parallel size.
        context: u64,
        /// Pipeline-parallel size.
        pipeline: u64,
    },
    /// More ranks than sums of counts stay exact for.
    #[error("world_size {world}: expected {} at most", ParallelLayout::MOST_RANKS)]
    TooLarge {
        /// Ranks.
        world: u64,
    },
}

impl ParallelLayout {
    /// Ranks up to which sums of counts stay exact in float64.
    pub const MOST_RANKS: u64 = 1 << 22;

    /// A world of `world` ranks, one device each.
    ///
    /// # Errors
    /// [`LayoutError`] when a size is zero or the world is no multiple of a replica.
    pub fn new(world: u64, tensor: u64, context: u64, pipeline: u64) -> Result<Self, LayoutError> {
        let sizes = [
            ("world_size", world),
            ("tensor_parallel", tensor),
            ("context_parallel", context),
            ("pipeline_parallel", pipeline),
        ];
        if let Some((field, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(LayoutError::Zero { field });
        }
        if world > Self::MOST_RANKS {
            return Err(LayoutError::TooLarge { world });
        }
        let replica = tensor.checked_mul(context).and_then(|n| n.checked_mul(pipeline));
        match replica {
            Some(replica) if world.is_multiple_of(replica) => Ok(Self { world, tensor, context, pipeline }),
            _ => Err(LayoutError::NotDivisible { world, tensor, context, pipeline }),
        }
    }

    /// All ranks, one device each.
    pub const fn world(self) -> u64 {
        self.world
    }

    /// Ranks that share one replica's work: tensor x context x pipeline.
    pub const fn replica(self) -> u64 {
        self.tensor * self.context * self.pipeline
    }

    /// Replicas: ranks of the data-parallel group.
    pub const fn data(self) -> u64 {
        self.world / self.replica()
    }
}

/// What the FLOPs that one rank counts are, of the tokens that it counts. Two forms are in use, and mixing them is the
/// commonest error of a meter, so the form is stated, never guessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RankCounts {
    /// Form (i): the FLOPs of the full model. No factor is put back.
    FullModel,
    /// Form (ii): its tensor-parallel share, `FLOPs / tensor`. The factor `tensor` is put back once.
    TensorShard,
    /// Its share of the layers' tensors and of the pipeline's stages, `FLOPs / (tensor x pipeline)`, and of the
    /// sequence where [`SequenceCounts::Whole`] says that the tokens are the replica's. Shares must be equal: a stage
    /// with the logits does more, so count the full model instead where stages differ.
    DeviceShare,
}

/// What the tokens that one rank counts are, under context parallelism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SequenceCounts {
    /// Counted before the sequences are split: every context rank of a replica counts the same tokens.
    #[default]
    Whole,
    /// Counted after the split: every context rank counts its own tokens, which may be unequally many, so the sum
    /// goes over the context group too.
    ContextShard,
}

/// The ranks over which counts are summed. Ranks outside it count the same tokens again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SumGroup {
    /// The data-parallel group of this rank: one rank a replica.
    DataParallel,
    /// The data-parallel and context-parallel group of this rank: one rank for each part of a sequence.
    DataAndContextParallel,
}

impl SumGroup {
    /// The word used in JSON and Python.
    pub const fn key(self) -> &'static str {
        match self {
            Self::DataParallel => "data_parallel",
            Self::DataAndContextParallel => "data_and_context_parallel",
        }
    }
}

/// How one rank's counts become the job's.
///
/// ```
/// use goodput_model::meter::{CountScope, ParallelLayout, RankCounts, SequenceCounts};
/// let layout = ParallelLayout::new(8, 2, 2, 1)?;
/// let shard = CountScope::new(layout, RankCounts::TensorShard, SequenceCounts::Whole);
/// // Summed over 2 data-parallel ranks, times 2, is the job; 4 ranks hold the same count.
/// assert_eq!((shard.summed_ranks(), shard.flops_factor(), shard.copies()), (2, 2, 4));
/// # Ok::<(), goodput_model::meter::LayoutError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CountScope {
    layout: ParallelLayout,
    flops: RankCounts,
    sequence: SequenceCounts,
}

impl CountScope {
    /// The scope of a rank's counts.
    pub const fn new(layout: ParallelLayout, flops: RankCounts, sequence: SequenceCounts) -> Self {
        Self { layout, flops, sequence }
    }

    /// The layout.
    pub const fn layout(self) -> ParallelLayout {
        self.layout
    }

    /// The group that the caller sums counts over.
    pub const fn sum_group(self) -> SumGroup {
        match self.sequence {
            SequenceCounts::Whole => SumGroup::DataParallel,
            SequenceCounts::ContextShard => SumGroup::DataAndContextParallel,
        }
    }

    /// Ranks of that group.
    pub const fn summed_ranks(self) -> u64 {
        match self.sequence {
            SequenceCounts::Whole => self.layout.data(),
            SequenceCounts::ContextShard => self.layout.data() * self.layout.context,
        }
    }

    /// Ranks of the world that hold the same counts as this one, itself included.
    pub const fn copies(self) -> u64 {
        self.layout.world / self.summed_ranks()
    }

    /// What a sum of FLOPs over the group is multiplied by, once, to be the job's.
    pub const fn flops_factor(self) -> u64 {
        match self.flops {
            RankCounts::FullModel => 1,
            RankCounts::TensorShard => self.layout.tensor,
            RankCounts::DeviceShare => self.copies(),
        }
    }
}
