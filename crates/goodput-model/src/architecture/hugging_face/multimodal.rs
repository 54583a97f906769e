//! Qwen's vision towers, alone and with their text models.

use serde_json::Value;

use super::Read;
use super::config::Config;
use super::encoder::vision_only;
use super::{decoder, layers};
use crate::architecture::{Architecture, ArchitectureError, Merger, Norm, VisionBlocks, VisionTower};

/// Types of a tower's own configuration. Older files call the tower what they call the model.
pub(super) const TOWERS: &[&str] = &["qwen2_vl_vision", "qwen2_5_vl_vision", "qwen3_vl_vision"];

pub(super) const MODELS: &[&str] = &["qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe"];

pub(super) fn tower(config: &Config) -> Read {
    let model_type = config.text("model_type")?.unwrap_or_default();
    Ok(vision_only(config, vision(config, model_type)?))
}

/// Text and tower. The text's fields stand in `text_config`, in older files at the top. A file with
/// `depth` at the top is a tower alone, under the model's name.
pub(super) fn model(config: &Config) -> Read {
    let model_type = config.text("model_type")?.unwrap_or_default();
    if config.has("depth") {
        return tower(config);
    }
    let text_type = match model_type {
        "qwen3_vl" => "qwen3",
        "qwen3_vl_moe" => "qwen3_moe",
        _ => "qwen2",
    };
    let inside = config.object("text_config")?;
    let text = decoder::read_as(inside.as_ref().unwrap_or(config), text_type)?;
    let vision_config =
        config.object("vision_config")?.ok_or_else(|| config.missing("vision_config", "the vision tower"))?;
    let mut text_model = text.text;
    if let (Some(text), Some(tied)) = (&mut text_model, tied(config)?) {
        text.tied = tied;
    }
    let vision = Some(vision(&vision_config, model_type)?);
    Ok(Architecture { name: text.name, family: text.family, text: text_model, vision, diffusion: None })
}

/// The whole model's word stands over its text part's.
fn tied(config: &Config) -> Result<Option<bool>, ArchitectureError> {
    match config.has("tie_word_embeddings") {
        true => config.flag("tie_word_embeddings", false).map(Some),
        false => Ok(None),
    }
}

fn vision(config: &Config, model_type: &str) -> Result<VisionTower, ArchitectureError> {
    let side = config.or("spatial_merge_size", 2)?;
    let patch_size = config.or("patch_size", if model_type.starts_with("qwen3") { 16 } else { 14 })?;
    let common = |width, norm, blocks, outputs| -> Result<VisionTower, ArchitectureError> {
        Ok(VisionTower {
            width,
            channels: config.either(&["in_channels", "in_chans"])?.unwrap_or(3),
            patch_size,
            temporal_patch_size: config.or("temporal_patch_size", 2)?,
            patch_bias: false,
            positions: 0,
            class_token: false,
            norm,
            final_norm: false,
            blocks,
            merger: Some(Merger { side, outputs, deepstack: 0 }),
            classes: 0,
        })
    };
    let heads = config.required("num_heads")?;
    let depth = layers::count(config, "depth")?;
    if model_type.starts_with("qwen2_vl") {
        // Here `hidden_size` is the text model's width.
        let width = config.required("embed_dim")?;
        let ratio = config.or("mlp_ratio", 4)?;
        let inner = width.saturating_mul(ratio);
        let blocks = vec![VisionBlocks { blocks: depth, heads, inner, gated: false, window: None }];
        return common(width, Norm::Layer, blocks, config.required("hidden_size")?);
    }
    let (width, inner) = (config.required("hidden_size")?, config.required("intermediate_size")?);
    let outputs = config.required("out_hidden_size")?;
    if model_type.starts_with("qwen2_5_vl") {
        let cells = window_cells(config, patch_size, side)?;
        let full = config.numbers("fullatt_block_indexes")?.unwrap_or_default();
        let mut blocks: Vec<VisionBlocks> = Vec::new();
        for layer in 0..depth {
            let window = if full.contains(&layer) { None } else { Some(cells) };
            match blocks.last_mut() {
                Some(last) if last.window == window => last.blocks += 1,
                _ => blocks.push(VisionBlocks { blocks: 1, heads, inner, gated: true, window }),
            }
        }
        return common(width, Norm::Rms, blocks, outputs);
    }
    let blocks = vec![VisionBlocks { blocks: depth, heads, inner, gated: false, window: None }];
    let deepstack = config.numbers("deepstack_visual_indexes")?.unwrap_or_default().len() as u64;
    Ok(VisionTower {
        patch_bias: true,
        positions: config.or("num_position_embeddings", 0)?,
        merger: Some(Merger { side, outputs, deepstack }),
        ..common(width, Norm::Layer, blocks, outputs)?
    })
}

/// The side of a window: pixels in the file, merged cells here.
fn window_cells(config: &Config, patch_size: u64, side: u64) -> Result<u64, ArchitectureError> {
    let pixels = config.required("window_size")?;
    let cell = patch_size.checked_mul(side).filter(|cell| *cell > 0);
    match cell.map(|cell| pixels / cell).filter(|cells| *cells > 0) {
        Some(cells) => Ok(cells),
        None => Err(config.invalid("window_size", &Value::from(pixels), "at least one merged cell")),
    }
}
