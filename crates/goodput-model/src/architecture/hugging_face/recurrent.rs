//! Models of state-space layers alone.

use super::Read;
use super::config::Config;
use super::decoder::{text_model, text_only};
use super::layers;
use crate::architecture::{Blocks, FeedForward, Mamba2, Mixer, TextModel};

pub(super) fn mamba2(config: &Config) -> Read {
    let mamba = Mamba2 {
        heads: config.required("num_heads")?,
        head_dim: config.required("head_dim")?,
        state: config.required("state_size")?,
        groups: config.required("n_groups")?,
        kernel: config.required("conv_kernel")?,
        bias: config.flag("use_bias", false)?,
        conv_bias: config.flag("use_conv_bias", true)?,
    };
    let group = Blocks {
        blocks: layers::count(config, "num_hidden_layers")?,
        mixer: Mixer::Mamba2(mamba),
        cross_attention: None,
        feed_forward: FeedForward::None,
        norms: None,
    };
    let tied = config.flag("tie_word_embeddings", false)?;
    Ok(text_only(config, TextModel { tied, ..text_model(config, vec![group])? }))
}
