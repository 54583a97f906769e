//! What a space leaves out, and why.

/// Why a candidate cannot run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Too little memory.
    Memory,
    /// No kernel or no schedule.
    NoTime,
}

/// A rule by which combinations of degrees are left out before they are layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Several nodes, and a cluster without a network.
    Network,
    /// A tensor group that leaves its node.
    AcrossNodes,
    /// Heads and feed-forward widths do not split over tensor ranks.
    Tensor,
    /// The sequence does not split over context ranks.
    Sequence,
    /// The batch does not split over replicas.
    Batch,
    /// Replicas do not split into shard groups.
    ShardSize,
    /// Layers do not fill the stages of any schedule.
    Layers,
    /// The schedule cannot run so many micro-batches.
    MicroBatches,
    /// Experts do not split.
    Experts,
    /// Heads do not split over tensor and context ranks (Ulysses).
    Heads,
}

impl Rule {
    /// Every rule, in the order in which they are asked.
    pub const ALL: [Self; 10] = [
        Self::Network,
        Self::AcrossNodes,
        Self::Tensor,
        Self::Sequence,
        Self::Batch,
        Self::ShardSize,
        Self::Layers,
        Self::MicroBatches,
        Self::Experts,
        Self::Heads,
    ];

    /// In words.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Network => "several nodes need a network, which the cluster has not",
            Self::AcrossNodes => "a tensor group would leave its node",
            Self::Tensor => "heads or feed-forward widths do not split over tp",
            Self::Sequence => "the sequence does not split over cp",
            Self::Batch => "the global batch does not split over dp",
            Self::ShardSize => "replicas do not split into shard groups",
            Self::Layers => "layers do not fill the pipeline's stages and parts",
            Self::MicroBatches => "the schedule cannot run so many micro-batches",
            Self::Experts => "experts do not split over ep and etp",
            Self::Heads => "heads do not split over tp x cp (Ulysses)",
        }
    }
}

/// Combinations of degrees that each rule leaves out: each counts once, at the first rule that it breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Refused([u64; Rule::ALL.len()]);

impl Refused {
    pub(super) fn add(&mut self, rule: Rule) {
        self.0[rule as usize] += 1;
    }

    /// Each rule that left something out.
    pub fn iter(&self) -> impl Iterator<Item = (Rule, u64)> + '_ {
        Rule::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }
}
