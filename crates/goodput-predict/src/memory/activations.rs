//! What a micro-batch leaves in memory between its forward and its backward pass, by the tensors that autograd keeps.
//!
//! For GPT with unfused attention this is s b h (34 + 5 a s / h) bytes a layer, and its tensor- and sequence-parallel forms
//! (Korthikanti et al. 2022, equations 1 to 5).

use goodput_model::architecture::{Blocks, Dense, Experts, FeedForward, Mixer, TextModel};

use crate::run::{ContextMethod, Module, Modules, Recompute, Run};

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
        let mut sum = Sum { named: run.recompute.modules(), ..Sum::default() };
        sizes.mixer(text, blocks, &mut sum);
        sizes.feed_forward(text.width, &blocks.feed_forward, &mut sum);
        let all = sum.products + sum.core + sum.cheap + sum.other;
        let again = match run.recompute {
            _ if whole => all - sizes.own * text.width as f64 * sizes.bytes,
            Recompute::AttentionCore | Recompute::Modules(_) => sum.again,
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
    /// Modules that are recomputed, and of all these bytes what they make.
    named: Modules,
    again: f64,
}

impl Sum {
    /// Bytes that a module makes of those that are counted.
    fn made(&mut self, by: Modules, bytes: f64) -> f64 {
        if by.meets(self.named) {
            self.again += bytes;
        }
        bytes
    }
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
                self.run.expert_imbalance * rows * if experts.gated { 2.0 * inner } else { inner }
            }
        };
        (inner + 2.0 * self.own * width as f64) * self.bytes
    }

    fn mixer(&self, text: &TextModel, blocks: &Blocks, sum: &mut Sum) {
        let (width, tensor) = (text.width as f64, f64::from(self.run.layout.tensor));
        // The block's input, which the norm keeps, and the norm's result.
        sum.other += self.own * width * self.bytes;
        let norms = Modules::NONE.and(Module::Norms);
        sum.cheap += sum.made(norms, self.own * width * self.input);
        let expansion = Modules::NONE.and(Module::LatentExpansion);
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
                sum.cheap += sum.made(expansion, self.own * ranks * self.input);
                let width = heads * latent.qk_head_dim() as f64;
                (heads, width, width, heads * latent.v_head_dim as f64)
            }
            _ => return,
        };
        let expanded = self.tokens * (queries + keys + values) * self.bytes;
        sum.other += if matches!(blocks.mixer, Mixer::LatentAttention(_)) {
            sum.made(expansion, expanded)
        } else {
            expanded
        };
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
        let core = Modules::NONE.and(Module::AttentionCore);
        if self.run.framework.fused_attention {
            // The logarithm of each row's sum, in fp32.
            sum.other += sum.made(core, self.tokens * heads * 4.0);
        } else {
            // Softmax's result; with dropout its mask and its result.
            let dropout = if self.run.framework.dropout { 1.0 + self.bytes } else { 0.0 };
            sum.core += sum.made(core, self.tokens * length * heads * (self.bytes + dropout));
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
            sum.cheap += sum.made(Modules::NONE.and(Module::Norms), self.own * hidden * self.input);
        }
        match feed_forward {
            FeedForward::None => {}
            FeedForward::Dense(dense) => {
                let by = Modules::NONE.and(Module::Mlp);
                self.dense(self.tokens, dense, f64::from(self.run.layout.tensor), [by; 2], sum);
            }
            FeedForward::Experts(experts) => self.experts(hidden, experts, sum),
        }
        self.dropout(hidden, sum);
    }

    /// `by`: modules that make the activation's input, and its result.
    fn dense(&self, rows: f64, dense: &Dense, split: f64, by: [Modules; 2], sum: &mut Sum) {
        let inner = dense.inner as f64 / split;
        let into = if dense.gated { 2.0 * inner } else { inner };
        sum.other += sum.made(by[0], rows * into * self.bytes);
        sum.cheap += sum.made(by[1], rows * inner * self.input);
    }

    /// Router scores in fp32, tokens in the order of experts, what the experts keep, and their results, which the weights'
    /// gradients need.
    fn experts(&self, width: f64, experts: &Experts, sum: &mut Sum) {
        let shared = f64::from(self.run.layout.expert_tensor);
        let rows = self.own * experts.active as f64 * shared * self.run.expert_imbalance;
        let layer = Modules::NONE.and(Module::Experts);
        sum.other += sum.made(layer, self.own * experts.experts as f64 * 8.0);
        sum.products += sum.made(layer, rows * width * self.input);
        let one = Dense { inner: experts.inner, gated: experts.gated, bias: false };
        self.dense(rows, &one, shared, [layer, layer.and(Module::ExpertActivation)], sum);
        sum.other += sum.made(layer, rows / shared * width * self.bytes);
        if experts.shared_inner > 0 {
            let common = Dense { inner: experts.shared_inner, gated: experts.gated, bias: false };
            let by = [layer.and(Module::SharedExperts); 2];
            self.dense(self.tokens, &common, f64::from(self.run.layout.tensor), by, sum);
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
