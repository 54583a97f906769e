//! Decoders that mix attention with state-space or linear-attention layers.

use serde_json::Value;

use super::Read;
use super::config::Config;
use super::decoder::{heads, text_model, text_only};
use super::gpt::{attention, plain};
use super::layers::{self, Windows};
use crate::architecture::{
    ArchitectureError, Attention, Blocks, Dense, Experts, FeedForward, GatedDeltaNet, Mamba1, Mamba2, Mixer,
    QkNorm,
};

const fn block(mixer: Mixer, feed_forward: FeedForward) -> Blocks {
    Blocks { blocks: 1, mixer, cross_attention: None, feed_forward, norms: None }
}

pub(super) fn qwen3_next(config: &Config) -> Read {
    let layers = layers::count(config, "num_hidden_layers")?;
    let masks = match config.has("layer_types") {
        true => layers::masks(config, layers, Windows::Never)?,
        false => {
            let every = config.or("full_attention_interval", 4)?.max(1);
            let full = layers::masks(config, layers, Windows::Never)?;
            (1..)
                .zip(full)
                .map(|(layer, mask): (u64, _)| mask.filter(|_| layer.is_multiple_of(every)))
                .collect()
        }
    };
    let (heads, kv_heads, head_dim) = heads(config)?;
    let softmax = Attention {
        output_gate: true,
        qk_norm: QkNorm::Head,
        ..attention(heads, kv_heads, head_dim, config.flag("attention_bias", false)?)
    };
    let linear = GatedDeltaNet {
        key_heads: config.required("linear_num_key_heads")?,
        key_head_dim: config.required("linear_key_head_dim")?,
        value_heads: config.required("linear_num_value_heads")?,
        value_head_dim: config.required("linear_value_head_dim")?,
        kernel: config.required("linear_conv_kernel_dim")?,
    };
    let step = config.or("decoder_sparse_step", 1)?;
    let dense_layers = config.numbers("mlp_only_layers")?.unwrap_or_default();
    let shared_inner = config.or("shared_expert_intermediate_size", 0)?;
    let experts = Experts {
        experts: config.or("num_experts", 0)?,
        active: config.or("num_experts_per_tok", 0)?,
        inner: config.required("moe_intermediate_size")?,
        gated: true,
        bias: false,
        shared_inner,
        shared_gate: shared_inner > 0,
    };
    let dense = Dense { inner: config.required("intermediate_size")?, gated: true, bias: false };
    let blocks = (0..).zip(masks).map(|(layer, mask): (u64, _)| {
        let mixer = match mask {
            Some(mask) => Mixer::Attention(Attention { mask, ..softmax }),
            None => Mixer::GatedDeltaNet(linear),
        };
        let is_sparse = step > 0 && (layer + 1).is_multiple_of(step) && !dense_layers.contains(&layer);
        let feed_forward = match is_sparse && experts.experts > 0 {
            true => FeedForward::Experts(experts),
            false => FeedForward::Dense(dense),
        };
        block(mixer, feed_forward)
    });
    let decoder = layers::runs(blocks);
    Ok(text_only(config, text_model(config, decoder)?))
}

/// Every layer is a mixer or a feed-forward part alone.
pub(super) fn nemotron_h(config: &Config) -> Read {
    let (heads, kv_heads, head_dim) = heads(config)?;
    let softmax = attention(heads, kv_heads, head_dim, config.flag("attention_bias", false)?);
    let mamba = Mamba2 {
        heads: config.required("mamba_num_heads")?,
        head_dim: config.required("mamba_head_dim")?,
        state: config.required("ssm_state_size")?,
        groups: config.required("n_groups")?,
        kernel: config.required("conv_kernel")?,
        bias: config.flag("use_bias", false)? || config.flag("mamba_proj_bias", false)?,
        conv_bias: config.flag("use_conv_bias", true)?,
    };
    let mlp = plain(config.required("intermediate_size")?, config.flag("mlp_bias", false)?);
    let remedy = "describe the model in YAML";
    config.refuse_unless("sliding_window", |_| false, remedy)?;
    let kinds: Vec<String> = match config.texts("layers_block_type")? {
        Some(kinds) => kinds.into_iter().map(str::to_owned).collect(),
        None => config
            .text("hybrid_override_pattern")?
            .ok_or_else(|| {
                config.missing("layers_block_type` or `hybrid_override_pattern", "the kind of each layer")
            })?
            .chars()
            .map(String::from)
            .collect(),
    };
    let kind = |kind: &String| match kind.as_str() {
        "linear_attention" | "mamba" | "M" => Ok(block(Mixer::Mamba2(mamba), FeedForward::None)),
        "full_attention" | "attention" | "*" => Ok(block(Mixer::Attention(softmax), FeedForward::None)),
        "mlp" | "-" => Ok(block(Mixer::None, mlp)),
        other => Err(config.unsupported("layers_block_type", &Value::from(other), remedy)),
    };
    let blocks: Vec<Blocks> = kinds.iter().map(kind).collect::<Result<_, _>>()?;
    Ok(text_only(config, text_model(config, layers::runs(blocks))?))
}

pub(super) fn jamba(config: &Config) -> Read {
    let layers = layers::count(config, "num_hidden_layers")?;
    let (heads, kv_heads, head_dim) = heads(config)?;
    let softmax = attention(heads, kv_heads, head_dim, false);
    let width = config.required("hidden_size")?;
    let expansion = config.or("mamba_expand", 2)?;
    let mamba = Mamba1 {
        inner: width.saturating_mul(expansion),
        state: config.or("mamba_d_state", 16)?,
        // The class's `auto` is a sixteenth of the width, rounded up.
        time_step_rank: match config.value("mamba_dt_rank") {
            Some(Value::String(auto)) if auto == "auto" => width.div_ceil(16),
            _ => config.or("mamba_dt_rank", width.div_ceil(16))?,
        },
        kernel: config.or("mamba_d_conv", 4)?,
        inner_norms: true,
        bias: config.flag("mamba_proj_bias", false)?,
        conv_bias: config.flag("mamba_conv_bias", true)?,
    };
    let inner = config.required("intermediate_size")?;
    let experts = Experts {
        experts: config.or("num_experts", 16)?,
        active: config.or("num_experts_per_tok", 2)?,
        inner,
        gated: true,
        bias: false,
        shared_inner: 0,
        shared_gate: false,
    };
    let every = |period: &str, offset: &str, default: (u64, u64)| -> Result<_, ArchitectureError> {
        let period = config.or(period, default.0)?.max(1);
        let offset = config.or(offset, default.1)?;
        Ok(move |layer: u64| layer % period == offset)
    };
    let is_attention = every("attn_layer_period", "attn_layer_offset", (8, 4))?;
    let is_sparse = every("expert_layer_period", "expert_layer_offset", (2, 1))?;
    let blocks = (0..layers).map(|layer| {
        let mixer = if is_attention(layer) { Mixer::Attention(softmax) } else { Mixer::Mamba1(mamba) };
        let feed_forward = match experts.experts > 1 && is_sparse(layer) {
            true => FeedForward::Experts(experts),
            false => FeedForward::Dense(Dense { inner, gated: true, bias: false }),
        };
        block(mixer, feed_forward)
    });
    let decoder = layers::runs(blocks);
    Ok(text_only(config, text_model(config, decoder)?))
}
