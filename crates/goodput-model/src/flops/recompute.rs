//! What a step computes a second time instead of keeping it.

use serde::{Deserialize, Serialize};

/// Activations that are computed again in the backward pass: hardware FLOPs, never model FLOPs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recompute {
    /// Nothing: every activation is kept.
    #[default]
    None,
    /// The scores, as every fused attention does: five products backward instead of four.
    FusedAttention,
    /// The attention core (Korthikanti et al. 2022), and in it the scores.
    Attention,
    /// Whole blocks, and in them the scores. Embedding and logits are not blocks.
    Full,
}
