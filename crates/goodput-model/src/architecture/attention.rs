//! Softmax attention and its projections.

use serde::{Deserialize, Serialize};

use super::text::is_default;
use crate::mask::Mask;

/// Multi-head attention; grouped-query with fewer key-value heads, multi-query with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attention {
    /// Query heads.
    pub heads: u64,
    /// Key and value heads, a divisor of the query heads.
    pub kv_heads: u64,
    /// Channels of one head's query, key and value.
    pub head_dim: u64,
    /// Which keys a query sees.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mask: Mask,
    /// Whether the query projection also makes a gate for the output (Qwen3-Next).
    #[serde(default, skip_serializing_if = "is_default")]
    pub output_gate: bool,
    /// Which projections have a bias.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bias: AttentionBias,
    /// Normalised queries and keys.
    #[serde(default, skip_serializing_if = "is_default")]
    pub qk_norm: QkNorm,
    /// One learned sink a head (gpt-oss).
    #[serde(default, skip_serializing_if = "is_default")]
    pub sinks: bool,
}

/// Which projections have a bias.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttentionBias {
    /// None.
    #[default]
    None,
    /// Queries, keys and values.
    Inputs,
    /// Queries, keys, values and output.
    All,
}

impl AttentionBias {
    pub(crate) const fn inputs(self) -> bool {
        !matches!(self, Self::None)
    }

    pub(crate) const fn output(self) -> bool {
        matches!(self, Self::All)
    }
}

/// How queries and keys are normalised.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QkNorm {
    /// Not, or without parameters.
    #[default]
    None,
    /// Over one head's channels, shared by all heads.
    Head,
    /// Over the channels of all heads.
    Width,
}

/// Multi-head latent attention (DeepSeek-V2, section 2.1), with keys and values expanded as in training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatentAttention {
    /// Heads.
    pub heads: u64,
    /// Rank of the compressed query; none when queries are projected directly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q_rank: Option<u64>,
    /// Rank of the compressed keys and values.
    pub kv_rank: u64,
    /// Channels of a head's query and key without rotary positions.
    pub nope_head_dim: u64,
    /// Channels of a head's query with rotary positions, and of the one key that all heads share.
    pub rope_head_dim: u64,
    /// Channels of a head's value.
    pub v_head_dim: u64,
    /// Which keys a query sees.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mask: Mask,
    /// Bias of the compressing projections and the output.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bias: bool,
}

impl LatentAttention {
    /// Channels of one head's query and key.
    pub const fn qk_head_dim(&self) -> u64 {
        self.nope_head_dim + self.rope_head_dim
    }
}
