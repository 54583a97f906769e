//! Text models: embedding, groups of equal blocks, head.

use serde::{Deserialize, Serialize};

use super::{Attention, FeedForward, GatedDeltaNet, LatentAttention, Mamba1, Mamba2};

/// Normalisation, which costs parameters and no counted FLOPs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Norm {
    /// One scale a channel.
    #[default]
    Rms,
    /// A scale and a shift a channel.
    Layer,
    /// No parameters.
    Plain,
}

impl Norm {
    /// Parameters of one normalisation over `width` channels.
    pub const fn parameters(self, width: u64) -> u128 {
        match self {
            Self::Rms => width as u128,
            Self::Layer => 2 * width as u128,
            Self::Plain => 0,
        }
    }
}

/// A decoder, an encoder, or both, over text tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextModel {
    /// Channels of the residual stream.
    pub width: u64,
    /// Rows of the token embedding, padding rows included.
    pub vocabulary: u64,
    /// Learned position embeddings; 0 for rotary, relative or none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub positions: u64,
    /// Rows of the token-type embedding (BERT).
    #[serde(default, skip_serializing_if = "is_default")]
    pub token_types: u64,
    /// Whether the head's matrix is the token embedding.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tied: bool,
    /// The normalisation of every block.
    #[serde(default, skip_serializing_if = "is_default")]
    pub norm: Norm,
    /// Whether the embedding is normalised (BERT).
    #[serde(default, skip_serializing_if = "is_default")]
    pub embedding_norm: bool,
    /// Whether the last block's output is normalised.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub final_norm: bool,
    /// Buckets of a relative position bias, held once a stack and head (T5).
    #[serde(default, skip_serializing_if = "is_default")]
    pub relative_buckets: u64,
    /// Blocks over the source tokens, in order; empty without an encoder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub encoder: Vec<Blocks>,
    /// Blocks over the tokens, in order.
    pub decoder: Vec<Blocks>,
    /// What follows the last block.
    #[serde(default, skip_serializing_if = "is_default")]
    pub head: Head,
    /// Multi-token prediction modules (DeepSeek-V3, eq. 21-23): each joins two streams of the
    /// model's width, runs one more block of the last kind and the shared head.
    #[serde(default, skip_serializing_if = "is_default")]
    pub multi_token_prediction: u64,
}

/// The map from the residual stream to the vocabulary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Head {
    /// A square projection and a normalisation before the head (BERT).
    pub transform: bool,
    /// A bias for each row of the vocabulary.
    pub bias: bool,
}

/// A number of equal blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocks {
    /// How many.
    pub blocks: u64,
    /// What mixes tokens.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mixer: Mixer,
    /// Attention to the encoder's output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_attention: Option<Attention>,
    /// What works on each token alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub feed_forward: FeedForward,
    /// Normalisations over the width; one for each part of the block unless stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norms: Option<u64>,
}

impl Blocks {
    /// The normalisations of one block.
    pub(crate) fn norms(&self) -> u64 {
        let parts = [
            self.mixer != Mixer::None,
            self.cross_attention.is_some(),
            self.feed_forward != FeedForward::None,
        ];
        self.norms.unwrap_or_else(|| parts.into_iter().map(u64::from).sum())
    }
}

/// What mixes the tokens of a document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mixer {
    /// Nothing.
    #[default]
    None,
    /// Multi-head, grouped-query or multi-query attention.
    Attention(Attention),
    /// Multi-head latent attention, not absorbed.
    LatentAttention(LatentAttention),
    /// A selective state space (Mamba).
    Mamba1(Mamba1),
    /// A selective state space with scalar decay per head (Mamba-2).
    Mamba2(Mamba2),
    /// A gated delta rule.
    GatedDeltaNet(GatedDeltaNet),
}

pub(super) const fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(super) const fn is_yes(value: &bool) -> bool {
    *value
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
