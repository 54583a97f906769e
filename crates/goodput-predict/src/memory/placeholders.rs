//! Empty gradients that products hand to autograd when they add to the gradient buffer themselves.

use goodput_model::architecture::{Blocks, FeedForward, Mixer, TextModel};

use crate::run::Run;

/// Bytes of one empty gradient for each shape of weight among the blocks: each is made once and kept.
pub(crate) fn of_blocks<'a>(run: &Run, text: &TextModel, blocks: impl Iterator<Item = &'a Blocks>) -> f64 {
    if !run.framework.placeholder_gradients {
        return 0.0;
    }
    let mut shapes = Vec::new();
    for blocks in blocks {
        add_shapes(run, text.width, blocks, &mut shapes);
    }
    shapes.sort_unstable();
    shapes.dedup();
    shapes.iter().map(|(rows, columns)| (rows * columns) as f64).sum::<f64>()
        * f64::from(run.precision.parameter_bytes)
}

fn add_shapes(run: &Run, width: u64, blocks: &Blocks, shapes: &mut Vec<(u64, u64)>) {
    let tensor = u64::from(run.layout.tensor);
    match &blocks.mixer {
        Mixer::Attention(attention) => {
            let queries = attention.heads / tensor * attention.head_dim;
            let keys = (attention.kv_heads / tensor).max(1) * attention.head_dim;
            shapes.extend([(queries + 2 * keys, width), (width, queries)]);
        }
        Mixer::LatentAttention(latent) => {
            let heads = latent.heads / tensor;
            let queries = heads * latent.qk_head_dim();
            match latent.q_rank {
                Some(rank) => shapes.extend([(rank, width), (queries, rank)]),
                None => shapes.push((queries, width)),
            }
            let expanded = heads * (latent.nope_head_dim + latent.v_head_dim);
            shapes.extend([(latent.kv_rank + latent.rope_head_dim, width), (expanded, latent.kv_rank)]);
            shapes.push((width, heads * latent.v_head_dim));
        }
        _ => {}
    }
    let mut dense = |inner: u64, gated: bool| {
        shapes.extend([(if gated { 2 * inner } else { inner }, width), (width, inner)]);
    };
    match &blocks.feed_forward {
        FeedForward::None => {}
        FeedForward::Dense(of) => dense(of.inner / tensor, of.gated),
        FeedForward::Experts(experts) => {
            dense(experts.inner / u64::from(run.layout.expert_tensor), experts.gated);
            if experts.shared_inner > 0 {
                dense(experts.shared_inner / tensor, experts.gated);
            }
        }
    }
}

/// What the head's backward pass needs beside the logits: its own empty gradient, and the gathered input with its gradient.
pub(crate) fn of_head(run: &Run, text: &TextModel) -> f64 {
    let tensor = u64::from(run.layout.tensor);
    let rows = run.framework.padded_vocabulary(text.vocabulary, run.layout.tensor) / tensor;
    let empty = if run.framework.placeholder_gradients { rows * text.width } else { 0 };
    let tokens = run.batch.micro * run.batch.sequence / u64::from(run.layout.context);
    empty as f64 * f64::from(run.precision.parameter_bytes)
        + (2 * tokens * text.width) as f64 * f64::from(run.precision.activation_bytes)
}
