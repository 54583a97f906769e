//! From a convention and a model to FLOPs.

use super::stack::{Heads, Stack};
use super::{AttentionPairs, Convention, ConventionError, FlopsPerToken, Recomputed, Weights, Windows};
use crate::architecture::{Architecture, ArchitectureError, FeedForward, Mixer};
use crate::flops::Component;
use crate::mask::Mask;

/// Forward, and twice that backward.
const PASSES: u128 = 3;
/// FLOPs of one weight in all passes.
const PER_WEIGHT: u128 = 2 * PASSES;
/// As long as any batch.
const LONGEST: u64 = 1 << 47;
/// Families for which verl has a formula of its own that knows windows.
const VERL_WINDOWED: [&str; 3] = ["gemma3_text", "gemma3", "gpt_oss"];

impl Convention {
    /// Training FLOPs of a token of the text model, in sequences of `length` tokens, one document each.
    ///
    /// # Errors
    /// [`ConventionError::NotDefined`] when the formula does not say what a part of the model counts.
    pub fn flops_per_token(
        &self,
        architecture: &Architecture,
        length: u64,
    ) -> Result<FlopsPerToken, ConventionError> {
        if !(1..=LONGEST).contains(&length) {
            return Err(ConventionError::Length { length, most: LONGEST });
        }
        let stack = Stack::new(self, architecture)?;
        self.check(&stack)?;
        let tokens = u128::from(length);
        let (each, pairs) = match self.weights {
            Weights::Megatron2021 => (self.megatron_2021(&stack, tokens), 0),
            Weights::Chinchilla => (chinchilla(&stack, tokens)?, 0),
            _ => (self.linear(&stack)?, self.twice_attention(&stack, length)?),
        };
        let twice = each.checked_mul(2 * tokens).and_then(|twice| twice.checked_add(pairs));
        let twice = twice.ok_or_else(|| ArchitectureError::TooLarge {
            name: architecture.name.clone(),
            what: "the FLOPs of a sequence",
        })?;
        Ok(FlopsPerToken::new(twice, length))
    }

    fn check(&self, stack: &Stack) -> Result<(), ConventionError> {
        let is_exact = self.attention == AttentionPairs::Exact;
        if stack.has_experts() && !self.mixtures {
            return Err(stack.not_defined("its formula knows no experts"));
        }
        let is_megatron = self.name == "megatron-lm";
        if stack.text.multi_token_prediction > 0 && !is_exact && !is_megatron {
            return Err(stack.not_defined("its formula knows no multi-token prediction"));
        }
        let by_parameters = matches!(self.weights, Weights::Parameters { .. });
        if stack.has_recurrence() && !is_exact && !by_parameters {
            return Err(stack.not_defined("frameworks do not agree on the recurrence of its mixers"));
        }
        Ok(())
    }

    /// FLOPs a token that do not depend on the sequence.
    fn linear(&self, stack: &Stack) -> Result<u128, ConventionError> {
        let parameters = &stack.parameters;
        let head = u128::from(stack.text.vocabulary) * u128::from(stack.text.width);
        let weights = match self.weights {
            Weights::Products { router, embedding } => {
                let routing = stack.component(Component::Router) + stack.shared_gates();
                let latent = if self.name == "megatron-lm" { stack.latent_norms() } else { 0 };
                stack.products() - if router { 0 } else { routing }
                    + if embedding { head } else { 0 }
                    + latent
            }
            Weights::Parameters { active_experts, input_embedding, position_embedding, head: with_head } => {
                let all = if active_experts { parameters.active } else { parameters.total };
                let own_head = if parameters.tied || with_head { 0 } else { head };
                let input = if input_embedding { 0 } else { parameters.input_embedding };
                let positions = if position_embedding { 0 } else { parameters.position_embedding };
                all - own_head - input - positions
            }
            Weights::BlocksAndHead => {
                let embeddings = parameters.input_embedding + parameters.position_embedding;
                parameters.active - embeddings + if parameters.tied { head } else { 0 }
            }
            Weights::UngatedProducts => stack.products() - stack.gates(),
            Weights::Cookbook => {
                let flops = PER_WEIGHT * (stack.products() - stack.component(Component::Logits));
                return Ok(flops + 2 * head + 4 * u128::from(stack.text.width));
            }
            Weights::Chinchilla | Weights::Megatron2021 => {
                return Err(stack.not_defined("its terms are one sum"));
            }
        };
        let again = if self.recompute == Recomputed::Blocks { stack.checkpointed() } else { 0 };
        Ok(PER_WEIGHT * weights + again)
    }

    /// Twice the attention FLOPs of a sequence.
    fn twice_attention(&self, stack: &Stack, length: u64) -> Result<u128, ConventionError> {
        let mut twice = 0;
        for heads in stack.heads() {
            let again = match self.recompute {
                Recomputed::Nothing => 0,
                Recomputed::Scores => heads.scores,
                // A fused attention inside a checkpointed block computes its scores a third time.
                Recomputed::Blocks => heads.per_pair + heads.scores,
            };
            twice += (PASSES * heads.per_pair + again) * self.twice_pairs(stack, &heads, length)?;
        }
        if self.attention == AttentionPairs::SquareAndSoftmax {
            twice += 2 * PASSES * 3 * stack.all_heads() * u128::from(length).pow(2);
        }
        Ok(twice)
    }

    /// Twice the pairs that this convention sees in a layer.
    fn twice_pairs(&self, stack: &Stack, heads: &Heads, length: u64) -> Result<u128, ConventionError> {
        let tokens = u128::from(length);
        let full = match self.attention {
            AttentionPairs::None => return Ok(0),
            AttentionPairs::Exact => return Ok(2 * heads.mask.pairs(length)),
            AttentionPairs::Half => tokens.pow(2),
            AttentionPairs::Square | AttentionPairs::SquareAndSoftmax => 2 * tokens.pow(2),
        };
        let keys = match heads.mask {
            Mask::Causal => return Ok(full),
            Mask::Bidirectional if self.attention == AttentionPairs::Half => {
                return Err(stack.not_defined("its formula halves attention that is not causal"));
            }
            Mask::Bidirectional => return Ok(full),
            Mask::Prefix => return Err(stack.not_defined("its formula knows no prefix")),
            Mask::SlidingWindow(keys) | Mask::Chunked(keys) => u128::from(keys.min(length)),
        };
        Ok(match self.windows {
            Windows::HalfBand if VERL_WINDOWED.contains(&stack.family) => tokens * keys,
            Windows::Ignored | Windows::HalfBand => full,
            Windows::Exact => 2 * heads.mask.pairs(length),
            Windows::Trapezoid if matches!(heads.mask, Mask::Chunked(_)) => tokens * keys,
            Windows::Trapezoid => 2 * tokens * keys - keys.pow(2),
            Windows::Band => 2 * tokens * keys,
        })
    }

    /// `24 L h² (1 + S / 6h)` for each pass of the blocks, and `6 V h`.
    fn megatron_2021(&self, stack: &Stack, tokens: u128) -> u128 {
        let width = u128::from(stack.text.width);
        let passes = if self.recompute == Recomputed::Blocks { PASSES + 1 } else { PASSES };
        let blocks = passes * stack.layers() * (24 * width.pow(2) + 4 * tokens * width);
        blocks + PER_WEIGHT * u128::from(stack.text.vocabulary) * width
    }
}

/// Appendix F: embedding, queries, keys and values, scores, softmax, sums, output, two feed-forward
/// matrices, logits; the backward pass is twice the forward pass.
fn chinchilla(stack: &Stack, tokens: u128) -> Result<u128, ConventionError> {
    let width = u128::from(stack.text.width);
    let mut forward = 2 * (2 * u128::from(stack.text.vocabulary) * width);
    for group in stack.blocks() {
        let (Mixer::Attention(attention), FeedForward::Dense(dense)) = (&group.mixer, &group.feed_forward)
        else {
            return Err(stack.not_defined("its terms are those of attention and a dense feed-forward part"));
        };
        let heads = u128::from(attention.heads);
        let inner = heads * u128::from(attention.head_dim);
        let projections = 2 * 3 * width * inner + 2 * inner * width;
        let attended = 2 * tokens * inner + 3 * heads * tokens + 2 * tokens * inner;
        let feed_forward = 4 * width * u128::from(dense.inner);
        forward += u128::from(group.blocks) * (projections + attended + feed_forward);
    }
    Ok(PASSES * forward)
}
