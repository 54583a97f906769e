//! Diffusion transformers: blocks over latent patches, modulated once a sample.

use serde::{Deserialize, Serialize};

use super::text::is_default;

/// A transformer over latents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiffusionTransformer {
    /// Peebles and Xie 2022, as diffusers builds it: every block embeds time and class again.
    Patch(PatchDiffusion),
    /// Prompt and image in two streams, then in one (Flux).
    DoubleStream(DoubleStream),
}

/// DiT with adaptive normalisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PatchDiffusion {
    /// Blocks.
    pub blocks: u64,
    /// Attention heads.
    pub heads: u64,
    /// Channels of a head; the width is heads x head_dim.
    pub head_dim: u64,
    /// Channels of a latent.
    pub channels: u64,
    /// Channels predicted for a latent.
    pub outputs: u64,
    /// Latents along a patch's side.
    pub patch_size: u64,
    /// Classes, without the empty one.
    pub classes: u64,
    /// Biases of the attention projections.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attention_bias: bool,
}

/// Flux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoubleStream {
    /// Blocks with weights of their own for prompt and image.
    pub double_blocks: u64,
    /// Blocks with one set of weights.
    pub single_blocks: u64,
    /// Attention heads.
    pub heads: u64,
    /// Channels of a head; the width is heads x head_dim.
    pub head_dim: u64,
    /// Channels of an image token, in and out.
    pub channels: u64,
    /// Channels of a prompt token.
    pub prompt_channels: u64,
    /// Channels of the pooled prompt.
    pub pooled_channels: u64,
    /// Whether guidance is embedded as time is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub guidance: bool,
}
