//! Decoders of the Llama shape: grouped-query or latent attention, gated feed-forward or experts.

use serde_json::Value;

use super::Read;
use super::config::Config;
use super::layers::{self, Windows};
use crate::architecture::{
    Architecture, ArchitectureError, Attention, AttentionBias, Blocks, Dense, Experts, FeedForward,
    LatentAttention, Mixer, Norm, QkNorm, TextModel,
};
use crate::mask::Mask;

pub(super) const TYPES: &[&str] = &[
    "llama",
    "mistral",
    "mixtral",
    "qwen2",
    "qwen2_moe",
    "qwen3",
    "qwen3_moe",
    "deepseek_v2",
    "deepseek_v3",
    "kimi_k2",
    "gemma",
    "gemma2",
    "gemma3_text",
    "olmo2",
    "olmo3",
    "phi3",
    "granite",
    "gpt_oss",
    "glm4_moe",
    "llama4_text",
];

/// Where a family's biases come from.
#[derive(Debug, Clone, Copy)]
enum BiasRule {
    Never,
    /// Queries, keys and values, always.
    Inputs,
    /// Queries, keys and values, if `qkv_bias` (true unless set).
    QkvField,
    /// All projections, if `attention_bias`.
    Field,
    /// Queries, keys and values, if `attention_bias`.
    FieldInputs,
}

/// What sets one family apart from Llama.
#[derive(Debug, Clone, Copy)]
struct Family {
    bias: BiasRule,
    qk_norm: QkNorm,
    /// Normalisations of a block.
    norms: u64,
    windows: Windows,
    sinks: bool,
    /// Whether `mlp_bias` is read.
    mlp_bias: bool,
}

const LLAMA: Family = Family {
    bias: BiasRule::Field,
    qk_norm: QkNorm::None,
    norms: 2,
    windows: Windows::Never,
    sinks: false,
    mlp_bias: true,
};

/// What `Gemma3TextConfig` takes: the published text parts leave these out where they agree.
const GEMMA3: &[(&str, u64)] =
    &[("vocab_size", 262_208), ("num_attention_heads", 8), ("num_key_value_heads", 4), ("head_dim", 256)];

fn family(config: &Config, model_type: &str) -> Result<Family, ArchitectureError> {
    let plain = Family { mlp_bias: false, ..LLAMA };
    Ok(match model_type {
        "mistral" | "mixtral" | "phi3" => Family { bias: BiasRule::Never, windows: Windows::All, ..plain },
        "qwen2" => Family { bias: BiasRule::Inputs, windows: Windows::Qwen, ..plain },
        "qwen2_moe" => Family { bias: BiasRule::QkvField, windows: Windows::Qwen, ..plain },
        "qwen3" | "qwen3_moe" => Family { qk_norm: QkNorm::Head, windows: Windows::Qwen, ..plain },
        "gemma2" => Family { norms: 4, windows: Windows::AllBut(2), ..plain },
        "gemma3_text" => Family { norms: 4, qk_norm: QkNorm::Head, windows: Windows::AllBut(6), ..plain },
        "olmo2" => Family { qk_norm: QkNorm::Width, ..plain },
        "olmo3" => Family { qk_norm: QkNorm::Width, windows: Windows::AllBut(4), ..plain },
        "gpt_oss" => Family { sinks: true, windows: Windows::AllBut(2), ..plain },
        "glm4_moe" => {
            let qk_norm = if config.flag("use_qk_norm", false)? { QkNorm::Head } else { QkNorm::None };
            Family { bias: BiasRule::FieldInputs, qk_norm, ..plain }
        }
        "llama4_text" => Family { windows: Windows::ChunkedAllBut(4), ..plain },
        "gemma" | "deepseek_v2" | "deepseek_v3" | "kimi_k2" => plain,
        _ => LLAMA,
    })
}

pub(super) fn read(config: &Config) -> Read {
    let model_type = config.text("model_type")?.unwrap_or_default();
    read_as(config, model_type)
}

/// The text part of another model, which is of this type whatever its own field says.
pub(super) fn read_as(config: &Config, model_type: &str) -> Read {
    if model_type == "gemma3_text" {
        config.default_to(GEMMA3);
    }
    let family = family(config, model_type)?;
    decoder(config, model_type, family)
}

/// A decoder of an unknown type that has the common fields. Its class is not known, so its
/// activation must say that the feed-forward part is gated: of the types with these fields those with
/// `silu` are, and those with `gelu` or `relu2` are mostly not.
pub(super) fn read_plain(config: &Config) -> Read {
    const REMEDY: &str = "describe the model in YAML";
    let activation = if config.has("hidden_activation") { "hidden_activation" } else { "hidden_act" };
    if !config.has(activation) {
        return Err(config.missing("hidden_act", "`silu`, which says that the feed-forward part is gated"));
    }
    config.refuse_unless(activation, |value| *value == "silu" || *value == "swish", REMEDY)?;
    for switch in ["is_encoder_decoder", "add_cross_attention"] {
        config.refuse_switch(switch, REMEDY)?;
    }
    let is_empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
    config.refuse_unless("pruned_heads", is_empty, REMEDY)?;
    decoder(config, "", Family { windows: Windows::Unknown, ..LLAMA })
}

fn decoder(config: &Config, model_type: &str, family: Family) -> Read {
    let layers = layers::count(config, "num_hidden_layers")?;
    let masks = layers::masks(config, layers, family.windows)?;
    let mut blocks = Vec::with_capacity(masks.len());
    for (layer, mask) in (0..).zip(masks) {
        let Some(mask) = mask else {
            let value = Value::from("linear_attention");
            return Err(config.unsupported("layer_types", &value, "describe the model in YAML"));
        };
        let mixer = if config.has("kv_lora_rank") {
            Mixer::LatentAttention(latent_attention(config, mask)?)
        } else {
            Mixer::Attention(attention(config, family, mask)?)
        };
        let feed_forward = feed_forward(config, model_type, family, layer)?;
        let norms = Some(family.norms).filter(|norms| *norms != 2);
        blocks.push(Blocks { blocks: 1, mixer, cross_attention: None, feed_forward, norms });
    }
    let gemma = model_type.starts_with("gemma");
    let text = TextModel {
        // Gemma's class ties unless told otherwise, and so do its serialised configurations.
        tied: config.flag("tie_word_embeddings", gemma)?,
        ..text_model(config, layers::runs(blocks))?
    };
    Ok(text_only(config, text))
}

/// Width, vocabulary and blocks, everything else as Llama has it.
pub(super) fn text_model(config: &Config, decoder: Vec<Blocks>) -> Result<TextModel, ArchitectureError> {
    Ok(TextModel {
        width: config.required("hidden_size")?,
        vocabulary: config.required("vocab_size")?,
        positions: 0,
        token_types: 0,
        tied: config.flag("tie_word_embeddings", false)?,
        norm: Norm::Rms,
        embedding_norm: false,
        final_norm: true,
        relative_buckets: 0,
        encoder: Vec::new(),
        decoder,
        head: crate::architecture::Head::default(),
        multi_token_prediction: 0,
    })
}

pub(super) fn text_only(config: &Config, text: TextModel) -> Architecture {
    let name = config.name().to_owned();
    Architecture { name, family: String::new(), text: Some(text), vision: None, diffusion: None }
}

/// Query heads, key-value heads and channels of a head. The head's channels are the
/// configuration's own where it says them: they need not be width over heads.
pub(super) fn heads(config: &Config) -> Result<(u64, u64, u64), ArchitectureError> {
    let heads = config.required("num_attention_heads")?;
    let kv_heads = config.or("num_key_value_heads", heads)?;
    let head_dim = match config.number("head_dim")? {
        Some(head_dim) => head_dim,
        None => per_head(config, "hidden_size", heads)?,
    };
    if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
        let expected = format!("a divisor of num_attention_heads ({heads})");
        return Err(config.invalid("num_key_value_heads", &Value::from(kv_heads), &expected));
    }
    Ok((heads, kv_heads, head_dim))
}

/// A width divided among heads.
pub(super) fn per_head(config: &Config, width: &str, heads: u64) -> Result<u64, ArchitectureError> {
    let channels = config.required(width)?;
    if heads > 0 && channels.is_multiple_of(heads) {
        return Ok(channels / heads);
    }
    let expected = format!("a multiple of the {heads} attention heads, or a head_dim beside it");
    Err(config.invalid(width, &Value::from(channels), &expected))
}

fn attention(config: &Config, family: Family, mask: Mask) -> Result<Attention, ArchitectureError> {
    let (heads, kv_heads, head_dim) = heads(config)?;
    let field = config.flag("attention_bias", false)?;
    let bias = match family.bias {
        BiasRule::Inputs => AttentionBias::Inputs,
        BiasRule::QkvField if config.flag("qkv_bias", true)? => AttentionBias::Inputs,
        BiasRule::Field if field => AttentionBias::All,
        BiasRule::FieldInputs if field => AttentionBias::Inputs,
        _ => AttentionBias::None,
    };
    let Family { qk_norm, sinks, .. } = family;
    Ok(Attention { heads, kv_heads, head_dim, mask, output_gate: false, bias, qk_norm, sinks })
}

/// DeepSeek's `head_dim` is the rotary part alone, so it is not read.
fn latent_attention(config: &Config, mask: Mask) -> Result<LatentAttention, ArchitectureError> {
    let remedy = "sparse attention by an indexer is not counted; describe the model in YAML";
    config.refuse_unless("index_topk", |_| false, remedy)?;
    Ok(LatentAttention {
        heads: config.required("num_attention_heads")?,
        q_rank: config.number("q_lora_rank")?,
        kv_rank: config.required("kv_lora_rank")?,
        nope_head_dim: config.required("qk_nope_head_dim")?,
        rope_head_dim: config.required("qk_rope_head_dim")?,
        v_head_dim: config.required("v_head_dim")?,
        mask,
        bias: config.flag("attention_bias", false)?,
    })
}

fn feed_forward(
    config: &Config,
    model_type: &str,
    family: Family,
    layer: u64,
) -> Result<FeedForward, ArchitectureError> {
    if let Some(experts) = experts(config, model_type)?
        && has_experts(config, model_type, layer)?
    {
        return Ok(FeedForward::Experts(experts));
    }
    let inner = match model_type {
        "llama4_text" => config.required("intermediate_size_mlp")?,
        _ => config.required("intermediate_size")?,
    };
    let bias = family.mlp_bias && config.flag("mlp_bias", false)?;
    Ok(FeedForward::Dense(Dense { inner, gated: true, bias }))
}

/// Types whose class has experts.
const MIXTURES: [&str; 9] = [
    "mixtral",
    "qwen2_moe",
    "qwen3_moe",
    "deepseek_v2",
    "deepseek_v3",
    "kimi_k2",
    "gpt_oss",
    "glm4_moe",
    "llama4_text",
];

/// The experts of a mixture, `None` for a dense family or a mixture without any.
fn experts(config: &Config, model_type: &str) -> Result<Option<Experts>, ArchitectureError> {
    if !MIXTURES.contains(&model_type) {
        return Ok(None);
    }
    let held = config.either(&["num_experts", "num_local_experts", "n_routed_experts"])?;
    let Some(held) = held.filter(|held| *held > 0) else { return Ok(None) };
    let active = config.required_of(&["num_experts_per_tok", "experts_per_token"])?;
    let inner = config.required_of(&["moe_intermediate_size", "intermediate_size"])?;
    let shared_inner = match model_type {
        "qwen2_moe" => config.or("shared_expert_intermediate_size", 0)?,
        "llama4_text" => inner,
        "deepseek_v2" | "deepseek_v3" | "kimi_k2" | "glm4_moe" => {
            let shared = config.or("n_shared_experts", 0)?.checked_mul(inner);
            shared.ok_or_else(|| config.invalid("n_shared_experts", &Value::Null, "fewer shared experts"))?
        }
        _ => 0,
    };
    Ok(Some(Experts {
        experts: held,
        active,
        inner,
        gated: true,
        bias: model_type == "gpt_oss",
        shared_inner,
        shared_gate: model_type == "qwen2_moe" && shared_inner > 0,
    }))
}

fn has_experts(config: &Config, model_type: &str, layer: u64) -> Result<bool, ArchitectureError> {
    let every = |step: u64| step > 0 && (layer + 1).is_multiple_of(step);
    Ok(match model_type {
        "qwen2_moe" | "qwen3_moe" => {
            let dense = config.numbers("mlp_only_layers")?.unwrap_or_default();
            !dense.contains(&layer) && every(config.or("decoder_sparse_step", 1)?)
        }
        "deepseek_v2" | "deepseek_v3" | "kimi_k2" | "glm4_moe" => {
            config.refuse_unless("moe_layer_freq", |value| *value == 1, "describe the model in YAML")?;
            layer >= config.or("first_k_dense_replace", 0)?
        }
        "llama4_text" => match config.numbers("moe_layers")? {
            Some(layers) => layers.contains(&layer),
            None => every(config.or("interleave_moe_layer_step", 1)?),
        },
        _ => true,
    })
}
