//! Mixers with a state instead of keys and values.

use serde::{Deserialize, Serialize};

use super::text::is_default;

/// Mamba's selective state space (Gu and Dao 2023, algorithm 2), with Jamba's inner normalisations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mamba1 {
    /// Channels inside the mixer.
    pub inner: u64,
    /// State a channel.
    pub state: u64,
    /// Rank of the time step's projection.
    pub time_step_rank: u64,
    /// Taps of the depthwise convolution.
    pub kernel: u64,
    /// Normalised time step, input and output matrices (Jamba).
    #[serde(default, skip_serializing_if = "is_default")]
    pub inner_norms: bool,
    /// Biases of the projections in and out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bias: bool,
    /// Bias of the convolution.
    #[serde(default, skip_serializing_if = "is_default")]
    pub conv_bias: bool,
}

/// Mamba-2 (Dao and Gu 2024, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mamba2 {
    /// Heads; the mixer's inner width is heads x head_dim, whatever `expand` says.
    pub heads: u64,
    /// Channels of a head.
    pub head_dim: u64,
    /// State a channel.
    pub state: u64,
    /// Groups that share input and output matrices.
    pub groups: u64,
    /// Taps of the depthwise convolution.
    pub kernel: u64,
    /// Biases of the projections in and out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bias: bool,
    /// Bias of the convolution.
    #[serde(default, skip_serializing_if = "is_default")]
    pub conv_bias: bool,
}

impl Mamba2 {
    /// Channels inside the mixer.
    pub const fn inner(&self) -> u64 {
        self.heads * self.head_dim
    }

    /// Channels that pass the convolution: the input, and the input and output matrices.
    pub const fn convolved(&self) -> u64 {
        self.inner() + 2 * self.groups * self.state
    }
}

/// A gated delta rule (Yang et al. 2024; Qwen3-Next).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatedDeltaNet {
    /// Query and key heads.
    pub key_heads: u64,
    /// Channels of a query or key head.
    pub key_head_dim: u64,
    /// Value heads.
    pub value_heads: u64,
    /// Channels of a value head.
    pub value_head_dim: u64,
    /// Taps of the depthwise convolution.
    pub kernel: u64,
}

impl GatedDeltaNet {
    /// Channels of all queries, or of all keys.
    pub const fn keys(&self) -> u64 {
        self.key_heads * self.key_head_dim
    }

    /// Channels of all values.
    pub const fn values(&self) -> u64 {
        self.value_heads * self.value_head_dim
    }
}
