//! Vision towers: patches, blocks, and what hands the result on.

use serde::{Deserialize, Serialize};

use super::text::{Norm, is_default};

/// A transformer over the patches of images and video frames. Every frame is a sequence of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VisionTower {
    /// Channels of the residual stream.
    pub width: u64,
    /// Channels of a pixel.
    pub channels: u64,
    /// Pixels along a patch's side.
    pub patch_size: u64,
    /// Frames that one patch spans.
    #[serde(default = "one")]
    pub temporal_patch_size: u64,
    /// Bias of the patch embedding.
    #[serde(default, skip_serializing_if = "is_default")]
    pub patch_bias: bool,
    /// Learned position embeddings.
    #[serde(default, skip_serializing_if = "is_default")]
    pub positions: u64,
    /// Whether a class token joins the patches of each image.
    #[serde(default, skip_serializing_if = "is_default")]
    pub class_token: bool,
    /// The normalisation of every block.
    #[serde(default, skip_serializing_if = "is_default")]
    pub norm: Norm,
    /// Whether the last block's output is normalised before the head.
    #[serde(default, skip_serializing_if = "is_default")]
    pub final_norm: bool,
    /// The blocks, in order.
    pub blocks: Vec<VisionBlocks>,
    /// What turns patches into tokens of the text model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merger: Option<Merger>,
    /// Classes of a linear head on the class token.
    #[serde(default, skip_serializing_if = "is_default")]
    pub classes: u64,
}

/// A number of equal blocks of a vision tower: bidirectional attention and a feed-forward part,
/// every projection with a bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VisionBlocks {
    /// How many.
    pub blocks: u64,
    /// Attention heads, a divisor of the width.
    pub heads: u64,
    /// Channels between the projections of the feed-forward part.
    pub inner: u64,
    /// Whether a third projection gates the first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub gated: bool,
    /// Side of an attention window in merged cells; none attends to the whole frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// The two projections that join `side` x `side` patches into one text token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merger {
    /// Patches along a merged cell's side.
    pub side: u64,
    /// Channels of the text model.
    pub outputs: u64,
    /// Further mergers that feed early text layers (Qwen3-VL's DeepStack).
    #[serde(default, skip_serializing_if = "is_default")]
    pub deepstack: u64,
}

const fn one() -> u64 {
    1
}
