//! Which weights a training step updates.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A kind of weights, as adapters and freezing name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Module {
    /// Token, position and type embeddings.
    Embedding,
    /// Query projections; of latent attention, both of them.
    Query,
    /// Key projections; of latent attention, the compressed keys and values and their expansion.
    Key,
    /// Value projections.
    Value,
    /// Output projections of attention.
    Output,
    /// Gate projections of feed-forward networks.
    Gate,
    /// Up projections.
    Up,
    /// Down projections.
    Down,
    /// Projections of state-space and linear-attention mixers.
    Recurrent,
    /// The router, and the gate of shared experts.
    Router,
    /// The map to the vocabulary.
    Head,
    /// Patch embedding, blocks and classifier of a vision tower.
    Vision,
    /// What turns patches into text tokens.
    Merger,
    /// A diffusion transformer.
    Diffusion,
    /// Normalisations, and whatever else multiplies no matrix.
    Vectors,
}

impl Module {
    /// All kinds.
    pub const ALL: [Self; 15] = [
        Self::Embedding,
        Self::Query,
        Self::Key,
        Self::Value,
        Self::Output,
        Self::Gate,
        Self::Up,
        Self::Down,
        Self::Recurrent,
        Self::Router,
        Self::Head,
        Self::Vision,
        Self::Merger,
        Self::Diffusion,
        Self::Vectors,
    ];

    /// The name in option lists and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Query => "query",
            Self::Key => "key",
            Self::Value => "value",
            Self::Output => "output",
            Self::Gate => "gate",
            Self::Up => "up",
            Self::Down => "down",
            Self::Recurrent => "recurrent",
            Self::Router => "router",
            Self::Head => "head",
            Self::Vision => "vision",
            Self::Merger => "merger",
            Self::Diffusion => "diffusion",
            Self::Vectors => "vectors",
        }
    }

    /// The seven projections of a decoder block, the usual targets of adapters.
    pub const BLOCK_PROJECTIONS: [Self; 7] =
        [Self::Query, Self::Key, Self::Value, Self::Output, Self::Gate, Self::Up, Self::Down];
}

/// Which weights are trained, and which carry adapters.
///
/// A weight that is not trained has no weight gradient; an activation in front of which nothing is
/// trained has no gradient either. So a frozen model under adapters costs forward and input
/// gradient, and a frozen tower costs its forward pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Training {
    trained: BTreeSet<Module>,
    adapted: BTreeSet<Module>,
    rank: u64,
}

impl Default for Training {
    fn default() -> Self {
        Self::full()
    }
}

impl Training {
    /// Every weight is trained.
    pub fn full() -> Self {
        Self { trained: Module::ALL.into(), adapted: BTreeSet::new(), rank: 0 }
    }

    /// No weight is trained: a forward pass.
    pub const fn none() -> Self {
        Self { trained: BTreeSet::new(), adapted: BTreeSet::new(), rank: 0 }
    }

    /// Every weight is trained but those of `modules`.
    pub fn frozen(modules: &[Module]) -> Self {
        let mut training = Self::full();
        for module in modules {
            training.trained.remove(module);
        }
        training
    }

    /// Adapters of `rank` on `modules` (Hu et al. 2021); the model itself is frozen.
    pub fn lora(rank: u64, modules: &[Module]) -> Self {
        Self { trained: BTreeSet::new(), adapted: modules.iter().copied().collect(), rank }
    }

    /// The same, with `modules` trained too.
    #[must_use]
    pub fn and_trained(mut self, modules: &[Module]) -> Self {
        self.trained.extend(modules);
        self
    }

    pub(crate) const fn rank(&self) -> u64 {
        self.rank
    }

    pub(crate) fn adapted(&self) -> impl Iterator<Item = Module> {
        self.adapted.iter().copied()
    }

    pub(crate) fn trains(&self, module: Module) -> bool {
        self.trained.contains(&module)
    }

    /// Rank of the adapter on a module; 0 for none.
    pub(crate) fn rank_on(&self, module: Module) -> u64 {
        if self.adapted.contains(&module) { self.rank } else { 0 }
    }
}
