//! What a block does to each token alone.

use serde::{Deserialize, Serialize};

use super::text::{is_default, is_yes, yes};

/// The feed-forward part of a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FeedForward {
    /// Nothing.
    #[default]
    None,
    /// One network for every token.
    Dense(Dense),
    /// A router that sends each token to a few of many networks.
    Experts(Experts),
}

/// Two projections, or three with a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dense {
    /// Channels between the projections.
    pub inner: u64,
    /// Whether a third projection gates the first (SwiGLU, GeGLU).
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub gated: bool,
    /// Biases.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bias: bool,
}

/// A mixture of experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experts {
    /// Routed experts held.
    pub experts: u64,
    /// Routed experts that one token passes.
    pub active: u64,
    /// Channels between an expert's projections.
    pub inner: u64,
    /// Whether an expert has a gate.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub gated: bool,
    /// Biases of the experts and of the router (gpt-oss).
    #[serde(default, skip_serializing_if = "is_default")]
    pub bias: bool,
    /// Channels between the projections of the experts that every token passes, all together.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared_inner: u64,
    /// Whether a scalar gate weighs the shared experts (Qwen2-MoE).
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared_gate: bool,
}
