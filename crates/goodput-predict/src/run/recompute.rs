//! What is computed again in the backward pass.

/// What is computed again in the backward pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Recompute {
    /// Nothing.
    None,
    /// The attention core: scores, softmax, dropout.
    AttentionCore,
    /// Norms, activations and other cheap modules.
    Cheap,
    /// The named modules of each block.
    Modules(Modules),
    /// All but attention and every other product (torchtitan's selective `op`).
    EveryOtherProduct,
    /// Whole layers.
    Full,
    /// So many layers of each stage whole.
    Layers(u32),
}

/// A part of a block that can be recomputed by itself, as Megatron-Core's `recompute_modules` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Module {
    /// The attention core.
    AttentionCore,
    /// The two norms in front of attention and feed-forward network.
    Norms,
    /// The activation of the experts.
    ExpertActivation,
    /// Of latent attention: norms, expansions and positions of queries, keys and values.
    LatentExpansion,
    /// The dense feed-forward network.
    Mlp,
    /// The whole layer of experts, exchanges included.
    Experts,
    /// The network that all experts share.
    SharedExperts,
}

impl Module {
    /// All of them, with Megatron-Core's names.
    pub const NAMED: [(&'static str, Self); 7] = [
        ("core_attn", Self::AttentionCore),
        ("layernorm", Self::Norms),
        ("moe_act", Self::ExpertActivation),
        ("mla_up_proj", Self::LatentExpansion),
        ("mlp", Self::Mlp),
        ("moe", Self::Experts),
        ("shared_experts", Self::SharedExperts),
    ];

    /// The module of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.into_iter().find(|(known, _)| *known == name.trim()).map(|(_, module)| module)
    }
}

/// A set of modules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modules(u8);

impl Modules {
    /// None.
    pub const NONE: Self = Self(0);

    /// These and one more.
    #[must_use]
    pub const fn and(self, module: Module) -> Self {
        Self(self.0 | 1 << module as u8)
    }

    /// Whether both have a module in common.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let held = move |(_, module): &(_, Module)| self.meets(Self::NONE.and(*module));
        Module::NAMED.into_iter().filter(held).map(|(name, _)| name)
    }
}

impl std::fmt::Debug for Modules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl FromIterator<Module> for Modules {
    fn from_iter<I: IntoIterator<Item = Module>>(modules: I) -> Self {
        modules.into_iter().fold(Self::NONE, Self::and)
    }
}

impl Recompute {
    /// The modules that it names.
    #[must_use]
    pub const fn modules(self) -> Modules {
        match self {
            Self::AttentionCore => Modules::NONE.and(Module::AttentionCore),
            Self::Modules(modules) => modules,
            _ => Modules::NONE,
        }
    }
}
