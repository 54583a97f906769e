//! The parts of a model by which FLOPs are reported.

use serde::Serialize;

/// A part of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Component {
    /// Query, key, value and output projections.
    AttentionProjections,
    /// Scores and weighted sums over attention pairs.
    AttentionCore,
    /// Dense feed-forward networks.
    Mlp,
    /// The choice of experts.
    Router,
    /// Routed experts.
    Experts,
    /// Shared experts and their gate.
    SharedExperts,
    /// Projections of state-space and linear-attention mixers.
    LinearAttentionProjections,
    /// The recurrence of those mixers. No two frameworks count it alike, so it stands beside the
    /// total and never in it.
    RecurrenceCore,
    /// Depthwise convolutions of those mixers.
    Convolution,
    /// The map to the vocabulary.
    Logits,
    /// Multi-token prediction modules with their logits.
    MultiTokenPrediction,
    /// The patch embedding of a vision tower or a diffusion transformer.
    PatchEmbedding,
    /// Projections and feed-forward networks of a vision tower.
    VisionBlocks,
    /// Scores and weighted sums of a vision tower.
    VisionAttention,
    /// What turns patches into text tokens.
    VisionMerger,
    /// A classifier on the class token.
    VisionHead,
    /// Time, class and prompt embeddings of a diffusion transformer and what they modulate.
    Conditioning,
    /// Low-rank adapters.
    Lora,
}

impl Component {
    /// All components, in the order of a report.
    pub const ALL: [Self; 18] = [
        Self::AttentionProjections,
        Self::AttentionCore,
        Self::Mlp,
        Self::Router,
        Self::Experts,
        Self::SharedExperts,
        Self::LinearAttentionProjections,
        Self::Convolution,
        Self::Logits,
        Self::MultiTokenPrediction,
        Self::PatchEmbedding,
        Self::VisionBlocks,
        Self::VisionAttention,
        Self::VisionMerger,
        Self::VisionHead,
        Self::Conditioning,
        Self::Lora,
        Self::RecurrenceCore,
    ];

    /// A person's word for it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::AttentionProjections => "attention projections",
            Self::AttentionCore => "attention core",
            Self::Mlp => "dense feed-forward",
            Self::Router => "router",
            Self::Experts => "routed experts",
            Self::SharedExperts => "shared experts",
            Self::LinearAttentionProjections => "linear-attention projections",
            Self::RecurrenceCore => "recurrence core",
            Self::Convolution => "convolution",
            Self::Logits => "logits",
            Self::MultiTokenPrediction => "multi-token prediction",
            Self::PatchEmbedding => "patch embedding",
            Self::VisionBlocks => "vision blocks",
            Self::VisionAttention => "vision attention",
            Self::VisionMerger => "vision merger",
            Self::VisionHead => "vision head",
            Self::Conditioning => "conditioning",
            Self::Lora => "low-rank adapters",
        }
    }
}
