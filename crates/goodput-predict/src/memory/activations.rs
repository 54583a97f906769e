//! What a micro-batch leaves in memory between its forward and its backward pass, by the tensors that autograd keeps.
//!
//! For GPT with unfused attention this is s b h (34 + 5 a s / h) bytes a layer, and its tensor- and sequence-parallel forms
//! (Korthikanti et al. 2022, equations 1 to 5).

use goodput_model::architecture::{Blocks, Dense, Experts, FeedForward, Mixer, TextModel};

use crate::run::{ContextMethod, Recompute, Run};

/// Bytes of one micro-batch in one block of one rank.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BlockActivations {
    /// Held from the forward to the backward pass.
    pub held: f64,
    /// Of these, inputs of products, which weight gradients need.
    pub for_weights: f64,
    /// Made again, and gradients on their way, while the block's own backward pass runs.
    pub working: f64,
}

impl BlockActivations {
    /// Of a block; `whole`: it is recomputed whole.
    #[must_use]
    pub fn of(run: &Run, text: &TextModel, blocks: &Blocks, whole: bool) -> Self {
        let sizes = Sizes::new(run);
        let mut sum = Sum::default();
        sizes.mixer(text, blocks, &mut sum);
        sizes.feed_forward(text.width, &blocks.feed_forward, &mut sum);
        let all = sum.products + sum.core + sum.cheap + sum.other;
        let again = match run.recompute {
            _ if whole => all - sizes.own * text.width as f64 * sizes.bytes,
            Recompute::AttentionCore => sum.core,
            Recompute::Cheap => sum.cheap,
            // About half of what products make is kept.
            Recompute::EveryOtherProduct => sum.cheap + sum.other / 2.0,
            Recompute::None | Recompute::Full | Recompute::Layers(_) => 0.0,
        };
        let held = all - again;
        Self {
            held,
            for_weights: sum.products.min(held),
            working: again + sizes.gradients(text.width, blocks),
        }
    }
}

/// Bytes by what becomes of them.
#[derive(Debug, Default)]
struct Sum {
    /// Inputs of products that nothing makes cheaply.
    products: f64,
    /// Scores, their dropout, and what fused attention keeps of them.
    core: f64,
    /// Results of norms and activations.
    cheap: f64,
    /// The rest.
    other: f64,
}

struct Sizes<'a> {
    run: &'a Run,
    /// Tokens of a context rank.
    tokens: f64,
    /// Of them those between tensor-parallel products.
    own: f64,
    /// Bytes of a number.
    bytes: f64,
    /// Bytes of a product's input as it is kept.
    input: f64,
}

impl<'a> Sizes<'a> {
    fn new(run: &'a Run) -> Self {
        let tokens = (run.batch.micro * run.batch.sequence / u64::from(run.layout.context)) as f64;
        let split = if run.layout.sequence_parallel { f64::from(run.layout.tensor) } else { 1.0 };
        let bytes = f64::from(run.precision.activation_bytes);
        let input = if run.precision.products.is_quantised() {
            run.precision.products.operand_bytes()
        } else {
            bytes
        };
        Self { run, tokens, own: tokens / split, bytes, input }
    }

    /// Gradients where most are on their way: of the activation's input, and of the residual stream on both ways.
    fn gradients(&self, width: u64, blocks: &Blocks) -> f64 {
        let inner = match &blocks.feed_forward {
            FeedForward::None => 0.0,
            FeedForward::Dense(dense) => {
                let inner = dense.inner as f64 / f64::from(self.run.layout.tensor);
                self.tokens * if dense.gated { 2.0 * inner } else { inner }
            }
            FeedForward::Experts(experts) => {
                let inner = experts.inner as f64 / f64::from(self.run.layout.expert_tensor);
                let rows = self.own * experts.active as f64 * f64::from(self.run.layout.expert_tensor);
                rows * if experts.gated { 2.0 * inner } else { inner }
            }
        };
        (inner + 2.0 * self.own * width as f64) * self.bytes
    }

    fn mixer(&self, text: &TextModel, blocks: &Blocks, sum: &mut Sum) {
        let (width, tensor) = (text.width as f64, f64::from(self.run.layout.tensor));
        // The block's input, which the norm keeps, and the norm's result.
        sum.other += self.own * width * self.bytes;
        sum.cheap += self.own * width * self.input;
        let (heads, queries, keys, values) = match &blocks.mixer {
            Mixer::Attention(attention) => {
                let heads = attention.heads as f64 / tensor;
                let kv = (attention.kv_heads as f64 / tensor).max(1.0) * attention.head_dim as f64;
                (heads, heads * attention.head_dim as f64, kv, kv)
            }
            Mixer::LatentAttention(latent) => {
                let heads = latent.heads as f64 / tensor;
                let ranks = (latent.q_rank.unwrap_or(0) + latent.kv_rank) as f64;
                // Compressed queries, keys and values, and their norms' results.
                sum.other += self.own * (ranks + latent.rope_head_dim as f64) * self.bytes;
                sum.cheap += self.own * ranks * self.input;
                let width = heads * latent.qk_head_dim() as f64;
                (heads, width, width, heads * latent.v_head_dim as f64)
            }
            _ => return,
        };
        sum.other += self.tokens * (queries + keys + values) * self.bytes;
        let results = match &blocks.mixer {
            Mixer::LatentAttention(latent) => heads * latent.v_head_dim as f64,
            _ => queries,
        };
        sum.products += self.tokens * results * self.input;
        if self.run.layout.context > 1 && self.run.layout.context_method == ContextMethod::Ulysses {
            // Attention keeps its own result beside the exchanged one that the projection keeps.
            sum.other += self.tokens * results * self.bytes;
        }
        let length = self.run.batch.sequence as f64;
        if self.run.framework.fused_attention {
            // The logarithm of each row's sum, in fp32.
            sum.other += self.tokens * heads * 4.0;
        } else {
            // Softmax's result; with dropout its mask and its result.
            let dropout = if self.run.framework.dropout { 1.0 + self.bytes } else { 0.0 };
            sum.core += self.tokens * length * heads * (self.bytes + dropout);
        }
        self.dropout(width, sum);
    }

    /// The mask of the dropout before the residual.
    fn dropout(&self, width: f64, sum: &mut Sum) {
        if self.run.framework.dropout {
            sum.other += self.own * width;
        }
    }

    fn feed_forward(&self, width: u64, feed_forward: &FeedForward, sum: &mut Sum) {
        let hidden = width as f64;
        if *feed_forward != FeedForward::None {
            sum.other += self.own * hidden * self.bytes;
            sum.cheap += self.own * hidden * self.input;
        }
        match feed_forward {
            FeedForward::None => {}
            FeedForward::Dense(dense) => {
                self.dense(self.tokens, dense, f64::from(self.run.layout.tensor), sum)
            }
            FeedForward::Experts(experts) => self.experts(hidden, experts, sum),
        }
        self.dropout(hidden, sum);
    }

    fn dense(&self, rows: f64, dense: &Dense, split: f64, sum: &mut Sum) {
        let inner = dense.inner as f64 / split;
        let into = if dense.gated { 2.0 * inner } else { inner };
        sum.other += rows * into * self.bytes;
        sum.cheap += rows * inner * self.input;
    }

    /// Router scores in fp32, tokens in the order of experts, what the experts keep, and their results, which the weights'
    /// gradients need.
    fn experts(&self, width: f64, experts: &Experts, sum: &mut Sum) {
        let shared = f64::from(self.run.layout.expert_tensor);
        let rows = self.own * experts.active as f64 * shared;
        sum.other += self.own * experts.experts as f64 * 8.0;
        sum.products += rows * width * self.input;
        let one = Dense { inner: experts.inner, gated: experts.gated, bias: false };
        self.dense(rows, &one, shared, sum);
        sum.other += self.own * experts.active as f64 * width * self.bytes;
        if experts.shared_inner > 0 {
            let common = Dense { inner: experts.shared_inner, gated: experts.gated, bias: false };
            self.dense(self.tokens, &common, f64::from(self.run.layout.tensor), sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Korthikanti et al. 2022, table 2: bytes a layer in units of s b h, of the 22B model (a s / h = 21.33).
    #[rstest::rstest]
    #[case("{tp: 1}", "none", 34.0 + 5.0 * 64.0 * 2048.0 / 6144.0)]
    #[case("{tp: 8}", "none", 10.0 + 24.0 / 8.0 + 5.0 * 64.0 * 2048.0 / 6144.0 / 8.0)]
    #[case("{tp: 8, sp: true}", "none", (34.0 + 5.0 * 64.0 * 2048.0 / 6144.0) / 8.0)]
    #[case("{tp: 8, sp: true}", "selective", 34.0 / 8.0)]
    #[case("{tp: 8}", "full", 2.0)]
    fn the_published_formulas_come_out(#[case] layout: &str, #[case] recompute: &str, #[case] expected: f64) {
        let text = format!(
            "model: megatron-22b\ncluster: DGX A100\ndevices: 8\nlayout: {layout}\nrecompute: {recompute}\n\
             precision: fp16\nframework: megatron-lm-2022\nbatch: {{sequence: 2048, micro: 4, global: 32}}\n"
        );
        let run = Run::from_yaml("run.yaml", &text, Path::new(".")).unwrap();
        let text = run.architecture.text.as_ref().unwrap();
        let of = BlockActivations::of(&run, text, &text.decoder[0], recompute == "full");
        let unit = 2048.0 * 4.0 * 6144.0;
        assert!((of.held / unit - expected).abs() < 1e-9, "{} {expected}", of.held / unit);
    }
}
