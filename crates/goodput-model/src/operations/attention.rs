//! The walk over softmax attention.

use super::text::Stream;
use super::{Linear, NeedsGradient, Operations, Unit};
use crate::architecture::{Attention, LatentAttention, QkNorm};
use crate::flops::Component;
use crate::mask::Mask;
use crate::training::Module;

/// The unit of an attention core.
const fn pairs(stream: Stream, mask: Mask) -> Unit {
    if stream.is_source { Unit::SourcePairs } else { Unit::Pairs(mask) }
}

/// FLOPs a pair of `heads` products over `channels` each.
fn product(heads: u64, channels: u64) -> u128 {
    2 * u128::from(heads) * u128::from(channels)
}

impl Operations<'_> {
    pub(super) fn attention(
        &mut self,
        input: NeedsGradient,
        width: u64,
        attention: &Attention,
        stream: Stream,
    ) -> NeedsGradient {
        let core = pairs(stream, attention.mask);
        self.multi_head(input, input, width, attention, (stream.tokens, stream.tokens, core))
    }

    /// Queries of the document, keys and values of the source.
    pub(super) fn cross_attention(
        &mut self,
        input: NeedsGradient,
        encoded: NeedsGradient,
        width: u64,
        attention: &Attention,
    ) -> NeedsGradient {
        let units = (Unit::Tokens, Unit::SourceTokens, Unit::CrossPairs);
        self.multi_head(input, encoded, width, attention, units)
    }

    fn multi_head(
        &mut self,
        queries_from: NeedsGradient,
        keys_from: NeedsGradient,
        width: u64,
        attention: &Attention,
        (query_unit, key_unit, core): (Unit, Unit, Unit),
    ) -> NeedsGradient {
        let Attention { heads, kv_heads, head_dim, bias, .. } = *attention;
        let (queries, keys) = (heads * head_dim, kv_heads * head_dim);
        let linear = |module, unit, inputs, outputs| {
            Linear::new(Component::AttentionProjections, module, unit, inputs, outputs)
        };
        let gate = if attention.output_gate { 2 } else { 1 };
        let inputs = [
            (queries_from, linear(Module::Query, query_unit, width, gate * queries)),
            (keys_from, linear(Module::Key, key_unit, width, keys)),
            (keys_from, linear(Module::Value, key_unit, width, keys)),
        ];
        let mut hidden = false;
        for (from, projection) in inputs {
            hidden |= self.linear(from, projection.bias(bias.inputs()));
        }
        hidden = self.vectors(hidden, qk_norm_parameters(attention));
        self.core(hidden, Component::AttentionCore, core, product(heads, head_dim), product(heads, head_dim));
        self.linear(hidden, linear(Module::Output, query_unit, queries, width).bias(bias.output()))
    }

    /// Keys and values are expanded from their compressed form for every token, as in training.
    pub(super) fn latent_attention(
        &mut self,
        input: NeedsGradient,
        width: u64,
        attention: &LatentAttention,
        stream: Stream,
    ) -> NeedsGradient {
        let LatentAttention { heads, kv_rank, nope_head_dim, rope_head_dim, v_head_dim, bias, .. } =
            *attention;
        let linear = |module, inputs, outputs| {
            Linear::new(Component::AttentionProjections, module, stream.tokens, inputs, outputs)
        };
        let queries = heads * attention.qk_head_dim();
        let query = match attention.q_rank {
            Some(rank) => {
                let compressed = self.linear(input, linear(Module::Query, width, rank).bias(bias));
                let compressed = self.vectors(compressed, rank.into());
                self.linear(compressed, linear(Module::Query, rank, queries))
            }
            None => self.linear(input, linear(Module::Query, width, queries)),
        };
        let compressed = self.linear(input, linear(Module::Key, width, kv_rank + rope_head_dim).bias(bias));
        let compressed = self.vectors(compressed, kv_rank.into());
        let expansion = linear(Module::Key, kv_rank, heads * (nope_head_dim + v_head_dim));
        let hidden = self.linear(compressed, expansion) || query;
        self.core(
            hidden,
            Component::AttentionCore,
            pairs(stream, attention.mask),
            product(heads, attention.qk_head_dim()),
            product(heads, v_head_dim),
        );
        self.linear(hidden, linear(Module::Output, heads * v_head_dim, width).bias(bias))
    }
}

/// Normalised queries and keys, and sinks.
fn qk_norm_parameters(attention: &Attention) -> u128 {
    let Attention { heads, kv_heads, head_dim, .. } = *attention;
    let norm = match attention.qk_norm {
        QkNorm::None => 0,
        QkNorm::Head => 2 * head_dim,
        QkNorm::Width => (heads + kv_heads) * head_dim,
    };
    u128::from(norm) + if attention.sinks { heads.into() } else { 0 }
}
