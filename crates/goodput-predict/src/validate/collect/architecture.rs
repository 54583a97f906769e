//! The columns of a model that the user names.

use goodput_model::architecture::{
    Attention, AttentionBias, Blocks, FeedForward, LatentAttention, Mixer, Norm,
};
use goodput_model::{Architecture, Mask};

/// What columns cannot say of the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("model {name}: RUNS.csv has no columns for {part}")]
pub struct NoColumns {
    /// The model.
    pub name: String,
    /// What it has.
    pub part: &'static str,
}

/// The columns that describe the model.
pub(super) fn columns(architecture: &Architecture) -> Result<Vec<(&'static str, String)>, NoColumns> {
    let no = |part| NoColumns { name: architecture.name.clone(), part };
    let text = architecture.text.as_ref().ok_or_else(|| no("anything but a text model"))?;
    if architecture.vision.is_some() || !text.encoder.is_empty() {
        return Err(no("an encoder"));
    }
    let yes = |on: bool| if on { "yes" } else { "no" }.to_owned();
    let mut columns = vec![
        ("model", architecture.name.clone()),
        ("hidden", text.width.to_string()),
        ("vocab", text.vocabulary.to_string()),
        ("tied_embeddings", yes(text.tied)),
        ("n_layers", text.decoder.iter().map(|group| group.blocks).sum::<u64>().to_string()),
        (
            "norm",
            match text.norm {
                Norm::Layer => "layer",
                Norm::Rms => "rms",
                Norm::Plain => "plain",
            }
            .to_owned(),
        ),
        ("embedding_norm", yes(text.embedding_norm)),
    ];
    if text.positions > 0 {
        columns.push(("positions", "learned".to_owned()));
    }
    if text.multi_token_prediction > 0 {
        columns.push(("mtp_layers", text.multi_token_prediction.to_string()));
    }
    let first = text.decoder.first().ok_or_else(|| no("a model without blocks"))?;
    let same_mixer =
        text.decoder.iter().all(|group| same_but_window(group, first) && group.cross_attention.is_none());
    if !same_mixer {
        return Err(no("blocks of several kinds"));
    }
    match first.mixer {
        Mixer::Attention(attention) => columns.extend(plain_attention(&attention)),
        Mixer::LatentAttention(latent) => columns.extend(latent_attention(&latent)),
        _ => return Err(no("mixers beside attention")),
    }
    if text.decoder.iter().any(|group| window(&group.mixer).is_some()) {
        return Err(no("attention with a window in some blocks"));
    }
    columns.extend(feed_forward(&text.decoder).ok_or_else(|| no("feed-forward blocks of several kinds"))?);
    Ok(columns)
}

fn window(mixer: &Mixer) -> Option<u64> {
    match mixer {
        Mixer::Attention(Attention { mask: Mask::SlidingWindow(window), .. }) => Some(*window),
        _ => None,
    }
}

fn same_but_window(group: &Blocks, first: &Blocks) -> bool {
    match (group.mixer, first.mixer) {
        (Mixer::Attention(a), Mixer::Attention(b)) => Attention { mask: b.mask, ..a } == b,
        (a, b) => a == b,
    }
}

fn plain_attention(attention: &Attention) -> Vec<(&'static str, String)> {
    let mut columns = vec![
        ("n_heads", attention.heads.to_string()),
        ("n_kv_heads", attention.kv_heads.to_string()),
        ("head_dim", attention.head_dim.to_string()),
    ];
    // `biases` speaks of all products; models that have them in some alone are left to the row's rules.
    match attention.bias {
        AttentionBias::All => columns.push(("biases", "yes".to_owned())),
        AttentionBias::None => columns.push(("biases", "no".to_owned())),
        _ => {}
    }
    columns
}

fn latent_attention(latent: &LatentAttention) -> Vec<(&'static str, String)> {
    let q = latent.q_rank.map(|rank| format!(" q_lora {rank}")).unwrap_or_default();
    let note = format!(
        "MLA{q} kv_lora {} qk_nope {} qk_rope {} v {}",
        latent.kv_rank, latent.nope_head_dim, latent.rope_head_dim, latent.v_head_dim
    );
    vec![("n_heads", latent.heads.to_string()), ("attn_type", "mla".to_owned()), ("arch_note", note)]
}

/// Dense blocks, or dense ones first and experts behind them.
fn feed_forward(groups: &[Blocks]) -> Option<Vec<(&'static str, String)>> {
    let mut columns = Vec::new();
    let mut dense = None;
    let mut dense_layers = 0;
    let mut experts = None;
    for group in groups {
        match group.feed_forward {
            FeedForward::Dense(block) if experts.is_none() && dense.is_none_or(|known| known == block) => {
                dense = Some(block);
                dense_layers += group.blocks;
            }
            FeedForward::Experts(block) if experts.is_none_or(|known| known == block) => {
                experts = Some(block)
            }
            _ => return None,
        }
    }
    // A gate is an activation of two matrices, whatever its function: the time is the same.
    let kind = |gated: bool| if gated { "swiglu" } else { "gelu" }.to_owned();
    if let Some(block) = dense {
        columns.extend([("ffn_hidden", block.inner.to_string()), ("ffn_type", kind(block.gated))]);
    }
    if let Some(block) = experts {
        if dense.is_some_and(|dense| dense.gated != block.gated) {
            return None;
        }
        if dense.is_none() {
            columns.push(("ffn_type", kind(block.gated)));
        }
        columns.extend([
            ("moe_experts", block.experts.to_string()),
            ("moe_topk", block.active.to_string()),
            ("moe_ffn", block.inner.to_string()),
            ("moe_shared_ffn", block.shared_inner.to_string()),
            ("moe_dense_layers", dense_layers.to_string()),
        ]);
    }
    Some(columns)
}
