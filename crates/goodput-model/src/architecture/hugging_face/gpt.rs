//! Decoders before Llama: layer norms, biases, plain feed-forward.

use super::Read;
use super::config::Config;
use super::decoder::{heads, per_head, text_model, text_only};
use super::layers;
use crate::architecture::{
    Attention, AttentionBias, Blocks, Dense, FeedForward, Head, Mixer, Norm, QkNorm, TextModel,
};
use crate::mask::Mask;

pub(super) const fn attention(heads: u64, kv_heads: u64, head_dim: u64, bias: bool) -> Attention {
    Attention {
        heads,
        kv_heads,
        head_dim,
        mask: Mask::Causal,
        output_gate: false,
        bias: if bias { AttentionBias::All } else { AttentionBias::None },
        qk_norm: QkNorm::None,
        sinks: false,
    }
}

pub(super) const fn plain(inner: u64, bias: bool) -> FeedForward {
    FeedForward::Dense(Dense { inner, gated: false, bias })
}

pub(super) const fn blocks(blocks: u64, attention: Attention, feed_forward: FeedForward) -> Blocks {
    Blocks { blocks, mixer: Mixer::Attention(attention), cross_attention: None, feed_forward, norms: None }
}

pub(super) fn gpt2(config: &Config) -> Read {
    config.refuse_switch("add_cross_attention", "describe the model in YAML")?;
    let width = config.required("n_embd")?;
    let heads = config.required("n_head")?;
    let inner = config.or("n_inner", width.saturating_mul(4))?;
    let attention = attention(heads, heads, per_head(config, "n_embd", heads)?, true);
    let text = TextModel {
        width,
        vocabulary: config.required("vocab_size")?,
        positions: config.required("n_positions")?,
        token_types: 0,
        tied: config.flag("tie_word_embeddings", true)?,
        norm: Norm::Layer,
        embedding_norm: false,
        final_norm: true,
        relative_buckets: 0,
        encoder: Vec::new(),
        decoder: vec![blocks(layers::count(config, "n_layer")?, attention, plain(inner, true))],
        head: Head::default(),
        multi_token_prediction: 0,
    };
    Ok(text_only(config, text))
}

pub(super) fn gpt_neox(config: &Config) -> Read {
    let (heads, kv_heads, head_dim) = heads(config)?;
    let attention = attention(heads, kv_heads, head_dim, config.flag("attention_bias", true)?);
    let inner = config.required("intermediate_size")?;
    let decoder = vec![blocks(layers::count(config, "num_hidden_layers")?, attention, plain(inner, true))];
    Ok(text_only(config, TextModel { norm: Norm::Layer, ..text_model(config, decoder)? }))
}

pub(super) fn falcon(config: &Config) -> Read {
    let heads = config.required("num_attention_heads")?;
    let is_new = config.flag("new_decoder_architecture", false)?;
    let multi_query = config.flag("multi_query", true)?;
    // The class reads `num_kv_heads` in the new layout only: an old multi-query model has one head
    // whatever it says.
    let kv_heads = match (is_new, multi_query) {
        (true, _) => config.or("num_kv_heads", heads)?,
        (false, true) => 1,
        (false, false) => heads,
    };
    let parallel = config.flag("parallel_attn", true)?;
    let norms = match config.number("num_ln_in_parallel_attn")? {
        Some(norms) if is_new => norms,
        None if is_new => 2,
        _ if parallel => 1,
        _ => 2,
    };
    let bias = config.flag("bias", false)?;
    let width = config.required("hidden_size")?;
    let inner = config.or("ffn_hidden_size", width.saturating_mul(4))?;
    let attention = attention(heads, kv_heads, per_head(config, "hidden_size", heads)?, bias);
    let group = blocks(layers::count(config, "num_hidden_layers")?, attention, plain(inner, bias));
    let decoder = vec![Blocks { norms: Some(norms), ..group }];
    let tied = config.flag("tie_word_embeddings", true)?;
    Ok(text_only(config, TextModel { norm: Norm::Layer, tied, ..text_model(config, decoder)? }))
}
