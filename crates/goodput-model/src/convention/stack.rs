//! What formulas need to know of a decoder.

use super::{Convention, ConventionError};
use crate::architecture::{Architecture, Blocks, FeedForward, Mixer, TextModel};
use crate::flops::Component;
use crate::mask::Mask;
use crate::operations::{Operations, Term, Unit};
use crate::parameters::Parameters;
use crate::training::Training;

/// A text model, walked.
pub(super) struct Stack<'a> {
    pub convention: &'static str,
    pub model: &'a str,
    pub family: &'a str,
    pub text: &'a TextModel,
    pub parameters: Parameters,
    terms: Vec<Term>,
}

/// Attention heads under one mask.
pub(super) struct Heads {
    pub mask: Mask,
    /// Forward FLOPs a pair, all layers.
    pub per_pair: u128,
    /// Of them the scores.
    pub scores: u128,
}

impl<'a> Stack<'a> {
    pub fn new(convention: &Convention, architecture: &'a Architecture) -> Result<Self, ConventionError> {
        architecture.check()?;
        let not_defined = |why| ConventionError::NotDefined {
            convention: convention.name,
            model: architecture.name.clone(),
            why,
        };
        let text = architecture.text.as_ref().ok_or_else(|| not_defined("it has no text model"))?;
        if !text.encoder.is_empty() {
            return Err(not_defined("an encoder-decoder has two kinds of tokens"));
        }
        let alone = Architecture { vision: None, diffusion: None, ..architecture.clone() };
        let training = Training::full();
        let operations = Operations::of(&alone, &training);
        Ok(Self {
            convention: convention.name,
            model: &architecture.name,
            family: &architecture.family,
            text,
            parameters: operations.parameters,
            terms: operations.terms,
        })
    }

    pub fn not_defined(&self, why: &'static str) -> ConventionError {
        ConventionError::NotDefined { convention: self.convention, model: self.model.to_owned(), why }
    }

    /// Weights of all products that a token passes, convolutions among them.
    pub fn products(&self) -> u128 {
        let counted = |term: &&Term| term.unit == Unit::Tokens && term.component != Component::RecurrenceCore;
        self.terms.iter().filter(counted).map(|term| term.forward).sum::<u128>() / 2
    }

    pub fn component(&self, component: Component) -> u128 {
        self.terms.iter().filter(|term| term.component == component).map(|term| term.forward).sum::<u128>()
            / 2
    }

    /// Forward FLOPs a token in what full checkpointing runs again.
    pub fn checkpointed(&self) -> u128 {
        let tokens = self.terms.iter().filter(|term| term.unit == Unit::Tokens);
        let counted = tokens.filter(|term| term.component != Component::RecurrenceCore);
        counted.map(|term| term.checkpointed).sum()
    }

    pub fn heads(&self) -> impl Iterator<Item = Heads> {
        self.terms.iter().filter_map(|term| match term.unit {
            Unit::Pairs(mask) => Some(Heads { mask, per_pair: term.forward, scores: term.scores }),
            _ => None,
        })
    }

    pub fn blocks(&self) -> impl Iterator<Item = &Blocks> {
        self.text.decoder.iter()
    }

    pub fn layers(&self) -> u128 {
        self.blocks().map(|group| u128::from(group.blocks)).sum()
    }

    pub fn has_recurrence(&self) -> bool {
        self.blocks()
            .any(|group| matches!(group.mixer, Mixer::Mamba1(_) | Mixer::Mamba2(_) | Mixer::GatedDeltaNet(_)))
    }

    pub fn has_experts(&self) -> bool {
        self.blocks().any(|group| matches!(group.feed_forward, FeedForward::Experts(_)))
    }

    /// Weights of the gates in front of shared experts, which belong to routing.
    pub fn shared_gates(&self) -> u128 {
        let gates = self.blocks().filter(|group| match &group.feed_forward {
            FeedForward::Experts(experts) => experts.shared_gate,
            _ => false,
        });
        gates.map(|group| u128::from(group.blocks) * u128::from(self.text.width)).sum()
    }

    /// Weights of the third matrices of gated dense feed-forward parts.
    pub fn gates(&self) -> u128 {
        let dense = self.blocks().filter_map(|group| match &group.feed_forward {
            FeedForward::Dense(dense) if dense.gated => Some((group, dense)),
            _ => None,
        });
        let width = u128::from(self.text.width);
        dense.map(|(group, dense)| u128::from(group.blocks) * width * u128::from(dense.inner)).sum()
    }

    /// Heads of softmax attention, all layers.
    pub fn all_heads(&self) -> u128 {
        let heads = |group: &Blocks| match &group.mixer {
            Mixer::Attention(attention) => attention.heads,
            Mixer::LatentAttention(attention) => attention.heads,
            _ => 0,
        };
        self.blocks().map(|group| u128::from(group.blocks) * u128::from(heads(group))).sum()
    }

    /// Ranks of compressed queries, keys and values, all layers: their norms' parameters.
    pub fn latent_norms(&self) -> u128 {
        let ranks = |group: &Blocks| match &group.mixer {
            Mixer::LatentAttention(attention) => attention.q_rank.unwrap_or(0) + attention.kv_rank,
            _ => 0,
        };
        self.blocks().map(|group| u128::from(group.blocks) * u128::from(ranks(group))).sum()
    }
}
