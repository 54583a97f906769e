//! Per-layer lists of a configuration, and their runs of equal blocks.

use serde_json::Value;

use super::config::Config;
use crate::architecture::{ArchitectureError, Blocks};
use crate::mask::Mask;

/// More layers than any model has; a list is never longer.
const MOST_LAYERS: u64 = 1 << 14;

/// The number of layers.
pub(super) fn count(config: &Config, field: &str) -> Result<u64, ArchitectureError> {
    let layers = config.required(field)?;
    if (1..=MOST_LAYERS).contains(&layers) {
        return Ok(layers);
    }
    Err(config.invalid(field, &Value::from(layers), &format!("1 to {MOST_LAYERS}")))
}

/// Runs of equal blocks.
pub(super) fn runs(blocks: impl IntoIterator<Item = Blocks>) -> Vec<Blocks> {
    let mut runs: Vec<Blocks> = Vec::new();
    for block in blocks {
        match runs.last_mut() {
            Some(last) if (Blocks { blocks: last.blocks, ..block.clone() }) == *last => {
                last.blocks += block.blocks;
            }
            _ => runs.push(block),
        }
    }
    runs
}

/// What a layer's attention sees where the configuration has no `layer_types`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Windows {
    /// Everything before it, whatever `sliding_window` says.
    Never,
    /// Its window in every layer, where there is one.
    All,
    /// Its window in all but every `n`-th layer.
    AllBut(u64),
    /// Its window from `max_window_layers` on, where `use_sliding_window` is set.
    Qwen,
    /// Chunks in all but every `n`-th layer.
    ChunkedAllBut(u64),
    /// Nobody knows, so a window is refused.
    Unknown,
}

/// The mask of each layer; `None` for a layer of linear attention.
pub(super) fn masks(
    config: &Config,
    layers: u64,
    windows: Windows,
) -> Result<Vec<Option<Mask>>, ArchitectureError> {
    config.refuse_switch("use_bidirectional_attention", "describe the model in YAML")?;
    let types = config.texts("layer_types")?;
    let window = window(config)?;
    let Some(types) = types else {
        return (0..layers).map(|layer| Ok(Some(default_mask(config, layer, windows, window)?))).collect();
    };
    if types.len() as u64 != layers {
        let value = Value::from(types.len());
        return Err(config.invalid("layer_types", &value, &format!("one entry for each of {layers} layers")));
    }
    let mask = |kind: &str| match kind {
        "full_attention" => Ok(Some(Mask::Causal)),
        "sliding_attention" => match window {
            Some(window) => Ok(Some(Mask::SlidingWindow(window))),
            None => {
                Err(config.missing("sliding_window", "the window of the sliding layers of `layer_types`"))
            }
        },
        "chunked_attention" => Ok(Some(Mask::Chunked(config.required("attention_chunk_size")?))),
        "linear_attention" => Ok(None),
        other => Err(config.unsupported("layer_types", &Value::from(other), "describe the model in YAML")),
    };
    types.into_iter().map(mask).collect()
}

/// The window in keys, if there is one. Zero, or a switch that is off, means none.
fn window(config: &Config) -> Result<Option<u64>, ArchitectureError> {
    let switched = config.flag("use_sliding_window", true)?;
    let window = config.number("sliding_window")?.filter(|window| *window > 0);
    Ok(window.filter(|_| switched))
}

fn default_mask(
    config: &Config,
    layer: u64,
    windows: Windows,
    window: Option<u64>,
) -> Result<Mask, ArchitectureError> {
    let sliding = |window: Option<u64>| window.map_or(Mask::Causal, Mask::SlidingWindow);
    Ok(match windows {
        Windows::Never => Mask::Causal,
        Windows::All => sliding(window),
        Windows::AllBut(every) => {
            let every =
                config.either(&["sliding_window_pattern", "_sliding_window_pattern"])?.unwrap_or(every);
            if every > 0 && (layer + 1).is_multiple_of(every) { Mask::Causal } else { sliding(window) }
        }
        Windows::Qwen => {
            let from = config.or("max_window_layers", 0)?;
            // Qwen's switch is off unless it is set.
            let switched = config.flag("use_sliding_window", false)?;
            sliding(window.filter(|_| switched && layer >= from))
        }
        Windows::ChunkedAllBut(every) => {
            let every = config.or("no_rope_layer_interval", every)?;
            let rotary = config.numbers("no_rope_layers")?.filter(|list| !list.is_empty());
            let is_chunked = match rotary {
                Some(list) => {
                    let index = usize::try_from(layer).unwrap_or(usize::MAX);
                    list.get(index).is_some_and(|rotary| *rotary > 0)
                }
                None => every == 0 || !(layer + 1).is_multiple_of(every),
            };
            if is_chunked { Mask::Chunked(config.or("attention_chunk_size", 8192)?) } else { Mask::Causal }
        }
        Windows::Unknown => {
            config.refuse_unless(
                "sliding_window",
                |_| window.is_none(),
                "say with `layer_types` which layers have the window",
            )?;
            Mask::Causal
        }
    })
}
