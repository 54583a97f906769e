//! Encoders and encoder-decoders: BERT, T5, ViT.

use serde_json::Value;

use super::Read;
use super::config::Config;
use super::decoder::{heads, text_model, text_only};
use super::gpt::{attention, blocks, plain};
use super::layers;
use crate::architecture::{
    Architecture, Attention, Blocks, Dense, FeedForward, Head, Norm, TextModel, VisionBlocks, VisionTower,
};
use crate::mask::Mask;

/// With the head of masked language modelling.
pub(super) fn bert(config: &Config) -> Read {
    config.refuse_switch("add_cross_attention", "describe the model in YAML")?;
    config.refuse_switch("is_decoder", "describe the model in YAML")?;
    let (heads, kv_heads, head_dim) = heads(config)?;
    let attention = Attention { mask: Mask::Bidirectional, ..attention(heads, kv_heads, head_dim, true) };
    let inner = config.required("intermediate_size")?;
    let decoder = vec![blocks(layers::count(config, "num_hidden_layers")?, attention, plain(inner, true))];
    let text = TextModel {
        positions: config.required("max_position_embeddings")?,
        token_types: config.or("type_vocab_size", 2)?,
        tied: config.flag("tie_word_embeddings", true)?,
        norm: Norm::Layer,
        embedding_norm: true,
        final_norm: false,
        head: Head { transform: true, bias: true },
        ..text_model(config, decoder)?
    };
    Ok(text_only(config, text))
}

pub(super) fn t5(config: &Config) -> Read {
    config.refuse_switch("is_decoder", "describe the model in YAML")?;
    let heads = config.required("num_heads")?;
    let softmax = attention(heads, heads, config.required("d_kv")?, false);
    let gated = match config.text("feed_forward_proj")? {
        Some(projection) => projection.starts_with("gated"),
        None => config.flag("is_gated_act", false)?,
    };
    let inner = config.required("d_ff")?;
    let feed_forward = FeedForward::Dense(Dense { inner, gated, bias: false });
    let layers = layers::count(config, "num_layers")?;
    let decoder_layers = match config.has("num_decoder_layers") {
        true => layers::count(config, "num_decoder_layers")?,
        false => layers,
    };
    let decoder = Blocks { cross_attention: Some(softmax), ..blocks(decoder_layers, softmax, feed_forward) };
    let text = TextModel {
        width: config.required("d_model")?,
        vocabulary: config.required("vocab_size")?,
        positions: 0,
        token_types: 0,
        tied: config.flag("tie_word_embeddings", true)?,
        norm: Norm::Rms,
        embedding_norm: false,
        final_norm: true,
        relative_buckets: config.or("relative_attention_num_buckets", 32)?,
        encoder: vec![blocks(layers, softmax, feed_forward)],
        decoder: vec![decoder],
        head: Head::default(),
        multi_token_prediction: 0,
    };
    Ok(text_only(config, text))
}

/// With the head of image classification; the pooler is another class's.
pub(super) fn vit(config: &Config) -> Read {
    let width = config.required("hidden_size")?;
    let (image, patch) = (config.required("image_size")?, config.required("patch_size")?);
    config.refuse_unless("qkv_bias", |value| *value == true, "describe the model in YAML")?;
    if patch == 0 || !image.is_multiple_of(patch) {
        let expected = format!("a multiple of patch_size ({patch})");
        return Err(config.invalid("image_size", &Value::from(image), &expected));
    }
    let labels = config.value("id2label").and_then(Value::as_object).map(|labels| labels.len() as u64);
    let classes = match labels {
        Some(labels) => labels,
        // The class's default.
        None => config.or("num_labels", 2)?,
    };
    let tower = VisionTower {
        width,
        channels: config.or("num_channels", 3)?,
        patch_size: patch,
        temporal_patch_size: 1,
        patch_bias: true,
        positions: (image / patch).saturating_pow(2).saturating_add(1),
        class_token: true,
        norm: Norm::Layer,
        final_norm: true,
        blocks: vec![VisionBlocks {
            blocks: layers::count(config, "num_hidden_layers")?,
            heads: config.required("num_attention_heads")?,
            inner: config.required("intermediate_size")?,
            gated: false,
            window: None,
        }],
        merger: None,
        classes,
    };
    Ok(vision_only(config, tower))
}

pub(super) fn vision_only(config: &Config, tower: VisionTower) -> Architecture {
    let name = config.name().to_owned();
    Architecture { name, family: String::new(), text: None, vision: Some(tower), diffusion: None }
}
