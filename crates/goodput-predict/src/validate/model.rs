//! The model of a row, from its columns.

use goodput_model::architecture::{
    Attention, AttentionBias, Blocks, Dense, Experts, FeedForward, LatentAttention, Mixer, Norm, TextModel,
};
use goodput_model::{Architecture, Mask};

use super::fields::{Fields, Refusal};

/// The text model that the columns describe.
pub(super) fn architecture(row: &Fields) -> Result<Architecture, Refusal> {
    let layers: u64 = row.count("n_layers")?;
    let mut decoder = Vec::new();
    let experts: Option<u64> = row.optional_count("moe_experts")?;
    let dense_layers = if experts.is_some() { row.whole("moe_dense_layers")? } else { layers };
    if dense_layers > layers {
        return Err(row.refuse("moe_dense_layers", format!("at most n_layers, {layers}")));
    }
    let gated = is_gated(row)?;
    let bias = row.switch("biases")?;
    let mut group = |blocks, mask, feed_forward| -> Result<(), Refusal> {
        if blocks > 0 {
            let mixer = mixer(row, mask, bias)?;
            decoder.push(Blocks { blocks, mixer, cross_attention: None, feed_forward, norms: None });
        }
        Ok(())
    };
    if dense_layers > 0 {
        let inner = row.count("ffn_hidden")?;
        group(dense_layers, Mask::Causal, FeedForward::Dense(Dense { inner, gated, bias }))?;
    }
    if let Some(experts) = experts {
        let feed_forward = FeedForward::Experts(Experts {
            experts,
            active: row.count("moe_topk")?,
            inner: row.count("moe_ffn")?,
            gated,
            bias,
            shared_inner: row.whole("moe_shared_ffn")?,
            shared_gate: false,
        });
        let layers = layers - dense_layers;
        let windowed = if window(row)?.is_some() { layers / 2 } else { 0 };
        if let Some(window) = window(row)? {
            group(windowed, Mask::SlidingWindow(window), feed_forward)?;
        }
        group(layers - windowed, Mask::Causal, feed_forward)?;
    }
    let norm = match row.text("norm") {
        "layer" => Norm::Layer,
        "rms" => Norm::Rms,
        "plain" => Norm::Plain,
        _ => return Err(row.refuse("norm", "layer, rms or plain")),
    };
    let positions = match row.text("positions") {
        "learned" => row.count("seq_len")?,
        "rotary" | "alibi" | "none" => 0,
        _ => return Err(row.refuse("positions", "learned, rotary, alibi or none")),
    };
    let text = TextModel {
        width: row.count("hidden")?,
        vocabulary: row.count("vocab")?,
        positions,
        token_types: 0,
        tied: row.switch("tied_embeddings")?,
        norm,
        embedding_norm: row.optional_switch("embedding_norm")?.unwrap_or(false),
        final_norm: true,
        relative_buckets: 0,
        encoder: Vec::new(),
        decoder,
        head: Default::default(),
        multi_token_prediction: row.whole("mtp_layers")?,
    };
    let name = match row.text("model") {
        "" => row.text("id"),
        model => model,
    };
    let architecture = Architecture {
        name: name.to_owned(),
        family: String::new(),
        text: Some(text),
        vision: None,
        diffusion: None,
    };
    architecture.check().map_err(|error| row.refuse_found("model", error.to_string(), "a model"))?;
    Ok(architecture)
}

fn is_gated(row: &Fields) -> Result<bool, Refusal> {
    match row.text("ffn_type") {
        "swiglu" | "geglu" => Ok(true),
        "gelu" | "relu" | "squared-relu" => Ok(false),
        _ => {
            Err(row.refuse("ffn_type", "swiglu or geglu (three matrices), gelu, relu or squared-relu (two)"))
        }
    }
}

/// The window of every other layer.
fn window(row: &Fields) -> Result<Option<u64>, Refusal> {
    let text = row.text("attn_type");
    let Some((_, after)) = text.split_once("alternating sliding-window ") else { return Ok(None) };
    let number = after.split_whitespace().next().unwrap_or_default();
    let expected = "gqa (alternating sliding-window TOKENS / full)";
    number.parse().map(Some).map_err(|_| row.refuse("attn_type", expected))
}

fn mixer(row: &Fields, mask: Mask, bias: bool) -> Result<Mixer, Refusal> {
    let heads = row.count("n_heads")?;
    if row.text("attn_type").starts_with("mla") {
        return Ok(Mixer::LatentAttention(LatentAttention {
            heads,
            q_rank: noted(row, "q_lora")?,
            kv_rank: required(row, "kv_lora")?,
            nope_head_dim: required(row, "qk_nope")?,
            rope_head_dim: required(row, "qk_rope")?,
            v_head_dim: required(row, "v")?,
            mask,
            bias: false,
        }));
    }
    Ok(Mixer::Attention(Attention {
        heads,
        kv_heads: row.count("n_kv_heads")?,
        head_dim: row.count("head_dim")?,
        mask,
        output_gate: false,
        bias: if bias { AttentionBias::All } else { AttentionBias::None },
        qk_norm: Default::default(),
        sinks: row.text("attn_type").contains("sinks"),
    }))
}

/// A number after a word of `arch_note`: `MLA q_lora 1536 kv_lora 512 qk_nope 128 qk_rope 64 v 128`.
fn noted(row: &Fields, word: &str) -> Result<Option<u64>, Refusal> {
    let mut words = row.text("arch_note").split_whitespace().skip_while(|found| *found != word).skip(1);
    let Some(number) = words.next() else { return Ok(None) };
    number.parse().map(Some).map_err(|_| row.refuse("arch_note", format!("a number after {word}")))
}

fn required(row: &Fields, word: &str) -> Result<u64, Refusal> {
    noted(row, word)?.ok_or_else(|| {
        row.refuse("arch_note", "MLA q_lora N kv_lora N qk_nope N qk_rope N v N for attn_type mla")
    })
}
