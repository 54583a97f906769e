//! The walk over a text model.

use super::{Linear, NeedsGradient, Operations, Unit};
use crate::architecture::{Blocks, Mixer, TextModel};
use crate::flops::Component;
use crate::training::Module;

/// The tokens that a stack of blocks works on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    pub tokens: Unit,
    /// Whether these are sources, which see all of each other.
    pub is_source: bool,
}

const DOCUMENT: Stream = Stream { tokens: Unit::Tokens, is_source: false };
const SOURCE: Stream = Stream { tokens: Unit::SourceTokens, is_source: true };

impl Operations<'_> {
    /// `seen`: whether image tokens among the text need a gradient.
    pub(super) fn text(&mut self, text: &TextModel, seen: NeedsGradient) {
        let embedded = self.embed(text) || seen;
        let encoded = if text.encoder.is_empty() {
            false
        } else {
            let encoded = self.stack(text, &text.encoder, SOURCE, embedded, false);
            self.final_norm(text, encoded)
        };
        let decoded = self.stack(text, &text.decoder, DOCUMENT, embedded, encoded);
        let decoded = self.final_norm(text, decoded);
        self.head(text, decoded, if text.tied { Linear::tied } else { |own| own });
        self.multi_token_prediction(text, decoded);
    }

    fn embed(&mut self, text: &TextModel) -> NeedsGradient {
        let width = u128::from(text.width);
        let tokens = u128::from(text.vocabulary + text.token_types) * width;
        let positions = u128::from(text.positions) * width;
        self.hold(tokens + positions, Module::Embedding);
        self.parameters.input_embedding += tokens;
        self.parameters.position_embedding += positions;
        self.parameters.tied = text.tied;
        let trained = self.training.trains(Module::Embedding);
        if text.embedding_norm { self.vectors(trained, text.norm.parameters(text.width)) } else { trained }
    }

    fn stack(
        &mut self,
        text: &TextModel,
        groups: &[Blocks],
        stream: Stream,
        input: NeedsGradient,
        encoded: NeedsGradient,
    ) -> NeedsGradient {
        if let (true, Some(heads)) = (text.relative_buckets > 0, groups.first().and_then(heads)) {
            self.vectors(false, u128::from(text.relative_buckets) * u128::from(heads));
        }
        groups.iter().fold(input, |input, group| {
            self.blocks(group.blocks, input, |block, input| block.block(text, group, stream, input, encoded))
        })
    }

    fn block(
        &mut self,
        text: &TextModel,
        block: &Blocks,
        stream: Stream,
        input: NeedsGradient,
        encoded: NeedsGradient,
    ) -> NeedsGradient {
        let width = text.width;
        let norms = u128::from(block.norms()) * text.norm.parameters(width);
        let mut hidden = self.vectors(input, norms);
        hidden |= match &block.mixer {
            Mixer::None => hidden,
            Mixer::Attention(attention) => self.attention(hidden, width, attention, stream),
            Mixer::LatentAttention(attention) => self.latent_attention(hidden, width, attention, stream),
            Mixer::Mamba1(mamba) => self.mamba1(hidden, width, mamba),
            Mixer::Mamba2(mamba) => self.mamba2(hidden, width, mamba),
            Mixer::GatedDeltaNet(net) => self.gated_delta_net(hidden, width, net),
        };
        if let Some(attention) = &block.cross_attention {
            hidden |= self.cross_attention(hidden, encoded, width, attention);
        }
        self.feed_forward(hidden, width, &block.feed_forward, stream.tokens)
    }

    fn final_norm(&mut self, text: &TextModel, input: NeedsGradient) -> NeedsGradient {
        if text.final_norm { self.vectors(input, text.norm.parameters(text.width)) } else { input }
    }

    fn head(&mut self, text: &TextModel, input: NeedsGradient, held: fn(Linear) -> Linear) {
        let linear =
            |outputs| Linear::new(Component::Logits, Module::Head, Unit::Tokens, text.width, outputs);
        let mut hidden = input;
        if text.head.transform {
            hidden = self.linear(hidden, linear(text.width).bias(true));
            hidden = self.vectors(hidden, text.norm.parameters(text.width));
        }
        if text.head.bias {
            self.vectors(hidden, text.vocabulary.into());
        }
        self.linear(hidden, held(linear(text.vocabulary)));
    }

    fn multi_token_prediction(&mut self, text: &TextModel, decoded: NeedsGradient) {
        let Some(last) = text.decoder.last() else { return };
        self.blocks(text.multi_token_prediction, decoded, |module, input| {
            let component = Component::MultiTokenPrediction;
            let hidden = module.vectors(input, 2 * text.norm.parameters(text.width));
            let join = Linear::new(component, Module::Up, Unit::Tokens, 2 * text.width, text.width);
            let hidden = module.linear(hidden, join);
            let hidden = module.block(text, last, DOCUMENT, hidden, false);
            let hidden = module.final_norm(text, hidden);
            module.head(text, hidden, Linear::shared);
            for term in &mut module.terms {
                term.component = component;
            }
            hidden
        });
    }
}

/// Heads of a group's attention.
fn heads(group: &Blocks) -> Option<u64> {
    match &group.mixer {
        Mixer::Attention(attention) => Some(attention.heads),
        Mixer::LatentAttention(attention) => Some(attention.heads),
        _ => None,
    }
}
