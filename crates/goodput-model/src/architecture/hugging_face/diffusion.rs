//! Diffusion transformers of diffusers, which have a class name instead of a model type.

use super::Read;
use super::config::Config;
use crate::architecture::{
    Architecture, ArchitectureError, DiffusionTransformer, DoubleStream, PatchDiffusion,
};

/// The class; a saved configuration without its name is known by the fields that it alone has.
pub(super) fn class<'a>(config: &Config<'a>) -> Result<Option<&'a str>, ArchitectureError> {
    if let Some(class) = config.text("_class_name")? {
        return Ok(Some(match class {
            // DiT's checkpoints are older than its class.
            "Transformer2DModel" if config.text("norm_type")? == Some("ada_norm_zero") => {
                "DiTTransformer2DModel"
            }
            other => other,
        }));
    }
    if config.has("joint_attention_dim") && config.has("num_single_layers") {
        return Ok(Some("FluxTransformer2DModel"));
    }
    if config.text("norm_type")? == Some("ada_norm_zero") {
        return Ok(Some("DiTTransformer2DModel"));
    }
    Ok(None)
}

pub(super) fn patch(config: &Config) -> Read {
    let channels = config.required("in_channels")?;
    Ok(diffusion(
        config,
        DiffusionTransformer::Patch(PatchDiffusion {
            blocks: config.required("num_layers")?,
            heads: config.required("num_attention_heads")?,
            head_dim: config.required("attention_head_dim")?,
            channels,
            outputs: config.or("out_channels", channels)?,
            patch_size: config.required("patch_size")?,
            classes: config.or("num_embeds_ada_norm", 1000)?,
            attention_bias: config.flag("attention_bias", true)?,
        }),
    ))
}

pub(super) fn double_stream(config: &Config) -> Read {
    let channels = config.required("in_channels")?;
    config.refuse_unless("patch_size", |value| *value == 1, "describe the model in YAML")?;
    config.refuse_unless(
        "out_channels",
        |value| value.as_u64() == Some(channels),
        "describe the model in YAML",
    )?;
    Ok(diffusion(
        config,
        DiffusionTransformer::DoubleStream(DoubleStream {
            double_blocks: config.required("num_layers")?,
            single_blocks: config.required("num_single_layers")?,
            heads: config.required("num_attention_heads")?,
            head_dim: config.required("attention_head_dim")?,
            channels,
            prompt_channels: config.required("joint_attention_dim")?,
            pooled_channels: config.required("pooled_projection_dim")?,
            guidance: config.flag("guidance_embeds", false)?,
        }),
    ))
}

fn diffusion(config: &Config, diffusion: DiffusionTransformer) -> Architecture {
    let name = config.name().to_owned();
    Architecture { name, family: String::new(), text: None, vision: None, diffusion: Some(diffusion) }
}
