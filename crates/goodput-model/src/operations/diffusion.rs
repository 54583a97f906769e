//! The walk over diffusion transformers. Time, class and pooled prompt are embedded once a sample.

use super::{Linear, NeedsGradient, Operations, Unit};
use crate::architecture::{DiffusionTransformer, DoubleStream, PatchDiffusion};
use crate::flops::Component;
use crate::mask::Mask;
use crate::training::Module;

/// Channels of the sinusoidal embedding of a time step, before its projections.
const TIME_CHANNELS: u64 = 256;

fn linear(component: Component, unit: Unit, inputs: u64, outputs: u64) -> Linear {
    Linear::new(component, Module::Diffusion, unit, inputs, outputs).bias(true)
}

fn conditioning(inputs: u64, outputs: u64) -> Linear {
    linear(Component::Conditioning, Unit::Documents, inputs, outputs)
}

impl Operations<'_> {
    pub(super) fn diffusion(&mut self, model: &DiffusionTransformer) {
        match model {
            DiffusionTransformer::Patch(model) => self.patch_diffusion(model),
            DiffusionTransformer::DoubleStream(model) => self.double_stream(model),
        }
    }

    /// A two-layer embedding of something that needs no gradient.
    fn embedding(&mut self, inputs: u64, width: u64) -> NeedsGradient {
        let hidden = self.linear(false, conditioning(inputs, width));
        self.linear(hidden, conditioning(width, width))
    }

    /// Four attention projections of `tokens`, `output` among them.
    fn projections(&mut self, input: NeedsGradient, tokens: Unit, width: u64, bias: bool) -> NeedsGradient {
        let projections = linear(Component::AttentionProjections, tokens, width, 3 * width);
        self.linear(input, projections.bias(bias))
    }

    fn mlp(&mut self, input: NeedsGradient, tokens: Unit, width: u64) -> NeedsGradient {
        let hidden = self.linear(input, linear(Component::Mlp, tokens, width, 4 * width));
        self.linear(hidden, linear(Component::Mlp, tokens, 4 * width, width))
    }

    fn patch_diffusion(&mut self, model: &PatchDiffusion) {
        let width = model.heads * model.head_dim;
        let patch = model.patch_size * model.patch_size;
        let embedding = linear(Component::PatchEmbedding, Unit::Tokens, model.channels * patch, width);
        let embedded = self.linear(false, embedding);
        let hidden = self.blocks(model.blocks, embedded, |block, input| {
            let condition = block.embedding(TIME_CHANNELS, width);
            // One class more stands for none.
            block.hold(u128::from(model.classes + 1) * u128::from(width), Module::Diffusion);
            let modulated = block.linear(condition, conditioning(width, 6 * width)) || input;
            let bias = model.attention_bias;
            let heads = block.projections(modulated, Unit::Tokens, width, bias);
            let product = 2 * u128::from(width);
            let pairs = Unit::Pairs(Mask::Bidirectional);
            block.core(heads, Component::AttentionCore, pairs, product, product);
            let output = linear(Component::AttentionProjections, Unit::Tokens, width, width);
            let hidden = block.linear(heads, output);
            block.mlp(hidden, Unit::Tokens, width)
        });
        // The last modulation embeds time and class with the first block's weights.
        let shared = |inputs| conditioning(inputs, width).bias(false).shared();
        let condition = self.linear(false, shared(TIME_CHANNELS));
        let condition = self.linear(condition, shared(width));
        let modulated = self.linear(condition, conditioning(width, 2 * width)) || hidden;
        self.linear(modulated, linear(Component::Logits, Unit::Tokens, width, model.outputs * patch));
    }

    fn double_stream(&mut self, model: &DoubleStream) {
        let width = model.heads * model.head_dim;
        let (image, prompt) = (Unit::Tokens, Unit::SourceTokens);
        let channels = linear(Component::PatchEmbedding, image, model.channels, width);
        let mut hidden = self.linear(false, channels);
        let read = linear(Component::Conditioning, prompt, model.prompt_channels, width);
        hidden |= self.linear(false, read);
        let mut condition = self.embedding(TIME_CHANNELS, width);
        if model.guidance {
            condition |= self.embedding(TIME_CHANNELS, width);
        }
        condition |= self.embedding(model.pooled_channels, width);
        let product = 2 * u128::from(width);
        let norms = 2 * u128::from(model.head_dim);

        hidden = self.blocks(model.double_blocks, hidden, |block, input| {
            let mut heads = false;
            for tokens in [image, prompt] {
                let modulated = block.linear(condition, conditioning(width, 6 * width)) || input;
                heads |= block.projections(modulated, tokens, width, true);
                block.hold(norms, Module::Diffusion);
            }
            block.core(heads, Component::AttentionCore, Unit::JointPairs, product, product);
            let mut output = false;
            for tokens in [image, prompt] {
                let projection = linear(Component::AttentionProjections, tokens, width, width);
                let hidden = block.linear(heads, projection);
                output |= block.mlp(hidden, tokens, width);
            }
            output
        });
        hidden = self.blocks(model.single_blocks, hidden, |block, input| {
            let joint = Unit::JointTokens;
            let modulated = block.linear(condition, conditioning(width, 3 * width)) || input;
            let heads = block.projections(modulated, joint, width, true);
            block.hold(norms, Module::Diffusion);
            block.core(heads, Component::AttentionCore, Unit::JointPairs, product, product);
            let up = block.linear(modulated, linear(Component::Mlp, joint, width, 4 * width));
            // One projection takes attention and feed-forward together.
            block.linear(heads || up, linear(Component::Mlp, joint, 5 * width, width))
        });
        let modulated = self.linear(condition, conditioning(width, 2 * width)) || hidden;
        self.linear(modulated, linear(Component::Logits, image, width, model.channels));
    }
}
