//! Parameters that one rank holds.

use goodput_model::architecture::{
    Attention, Blocks, Dense, Experts, FeedForward, LatentAttention, Mixer, TextModel,
};

use crate::run::Run;

/// Parameters of one rank: those that all replicas hold alike, and those of its experts, which fewer ranks share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RankParameters {
    /// Held by every data-parallel rank.
    pub dense: u64,
    /// Of this rank's experts.
    pub experts: u64,
}

impl RankParameters {
    /// Both.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.dense + self.experts
    }

    /// Adds so many times another's.
    pub const fn add_times(&mut self, other: Self, times: u64) {
        self.dense += other.dense * times;
        self.experts += other.experts * times;
    }

    /// One block of a group.
    #[must_use]
    pub fn of_block(run: &Run, text: &TextModel, blocks: &Blocks) -> Self {
        let tensor = u64::from(run.layout.tensor);
        let norm = text.norm.parameters(text.width) as u64;
        let mixer = match &blocks.mixer {
            Mixer::Attention(attention) => of_attention(attention, text.width, tensor),
            Mixer::LatentAttention(attention) => of_latent_attention(attention, text.width, tensor),
            _ => 0,
        };
        let norms = blocks.norms.unwrap_or(2) * norm;
        let fed = match &blocks.feed_forward {
            FeedForward::None => Self::default(),
            FeedForward::Dense(dense) => Self { dense: of_dense(dense, text.width, tensor), experts: 0 },
            FeedForward::Experts(experts) => of_experts(run, experts, text.width),
        };
        Self { dense: mixer + norms + fed.dense, experts: fed.experts }
    }

    /// Tokens and positions, before the first stage's blocks.
    #[must_use]
    pub fn of_embedding(run: &Run, text: &TextModel) -> Self {
        let vocabulary = run.framework.padded_vocabulary(text.vocabulary, run.layout.tensor);
        let rows = vocabulary / u64::from(run.layout.tensor) + text.positions + text.token_types;
        let norm = if text.embedding_norm { text.norm.parameters(text.width) as u64 } else { 0 };
        Self { dense: rows * text.width + norm, experts: 0 }
    }

    /// Final norm and head; `beside_embedding`: a tied head that finds its matrix on the same stage.
    #[must_use]
    pub fn of_head(run: &Run, text: &TextModel, beside_embedding: bool) -> Self {
        let vocabulary = run.framework.padded_vocabulary(text.vocabulary, run.layout.tensor);
        let rows = vocabulary / u64::from(run.layout.tensor);
        let matrix = if text.tied && beside_embedding { 0 } else { rows * text.width };
        let norm = if text.final_norm { text.norm.parameters(text.width) as u64 } else { 0 };
        let bias = if text.head.bias { rows } else { 0 };
        Self { dense: matrix + norm + bias, experts: 0 }
    }

    /// A multi-token prediction module: two norms, the product that joins two streams, a block of the last kind, a norm. Its
    /// embedding and head are the model's.
    #[must_use]
    pub fn of_prediction_module(run: &Run, text: &TextModel) -> Self {
        let mut sum = text.decoder.last().map_or(Self::default(), |last| Self::of_block(run, text, last));
        let norms = 3 * text.norm.parameters(text.width) as u64;
        sum.dense += norms + 2 * text.width * text.width / u64::from(run.layout.tensor);
        sum
    }
}

fn of_attention(attention: &Attention, width: u64, tensor: u64) -> u64 {
    use goodput_model::architecture::{AttentionBias, QkNorm};
    let Attention { heads, kv_heads, head_dim, .. } = *attention;
    let queries = heads / tensor * head_dim;
    let keys = (kv_heads / tensor).max(1) * head_dim;
    let gate = if attention.output_gate { queries } else { 0 };
    let inputs = queries + gate + 2 * keys;
    let bias = match attention.bias {
        AttentionBias::None => 0,
        AttentionBias::Inputs => inputs,
        AttentionBias::All => inputs + width,
    };
    let norm = match attention.qk_norm {
        QkNorm::None => 0,
        QkNorm::Head => 2 * head_dim,
        QkNorm::Width => queries + keys,
    };
    let sinks = if attention.sinks { heads / tensor } else { 0 };
    width * (inputs + queries) + bias + norm + sinks
}

/// What compresses is held whole by every tensor rank.
fn of_latent_attention(attention: &LatentAttention, width: u64, tensor: u64) -> u64 {
    let heads = attention.heads / tensor;
    let queries = heads * attention.qk_head_dim();
    let query = match attention.q_rank {
        Some(rank) => width * rank + rank + rank * queries,
        None => width * queries,
    };
    let down = width * (attention.kv_rank + attention.rope_head_dim) + attention.kv_rank;
    let up = attention.kv_rank * heads * (attention.nope_head_dim + attention.v_head_dim);
    let bias = if attention.bias {
        attention.q_rank.unwrap_or(0) + attention.kv_rank + attention.rope_head_dim + width
    } else {
        0
    };
    query + down + up + heads * attention.v_head_dim * width + bias
}

fn of_dense(dense: &Dense, width: u64, tensor: u64) -> u64 {
    let inner = dense.inner / tensor;
    let into = if dense.gated { 2 * inner } else { inner };
    let bias = if dense.bias { into + width } else { 0 };
    width * (into + inner) + bias
}

fn of_experts(run: &Run, experts: &Experts, width: u64) -> RankParameters {
    let (degree, shared) = (u64::from(run.layout.expert), u64::from(run.layout.expert_tensor));
    let one = Dense { inner: experts.inner, gated: experts.gated, bias: experts.bias };
    let common = Dense { inner: experts.shared_inner, gated: experts.gated, bias: false };
    let router = width * experts.experts + if experts.bias { experts.experts } else { 0 };
    let gate = if experts.shared_gate { width } else { 0 };
    RankParameters {
        dense: router + gate + of_dense(&common, width, u64::from(run.layout.tensor)),
        experts: experts.experts / degree * of_dense(&one, width, shared),
    }
}
