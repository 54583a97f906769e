//! FLOPs of a run's sequence as a formula counts them, right or wrong.

use crate::architecture::{Architecture, Attention, FeedForward, LatentAttention, Mixer, TextModel};
use crate::batch::Batch;
use crate::flops::{Component, FlopCounter, Recompute};
use crate::mask::Mask;
use crate::training::Training;

use super::{AuditError, Run};

/// A way to count. It starts out right; a fault changes it.
#[derive(Debug, Clone)]
pub struct Count {
    pub(super) architecture: Architecture,
    pub(super) documents: Vec<u64>,
    pub(super) sequence_length: u64,
    pub(super) recompute: Recompute,
    /// What the attention core is multiplied by.
    pub(super) attention: f64,
    /// Weights that are counted beside the model's matrices, at 6 FLOPs a token; negative for ones left out.
    pub(super) extra_weights: f64,
}

impl Count {
    pub(super) fn right(run: &Run) -> Self {
        Self {
            architecture: run.architecture.clone(),
            documents: run.documents.clone(),
            sequence_length: run.sequence_length,
            recompute: Recompute::None,
            attention: 1.0,
            extra_weights: 0.0,
        }
    }

    /// Training FLOPs of one real token.
    pub(super) fn flops_per_token(&self) -> Result<f64, AuditError> {
        let batch = Batch::documents(&self.documents)?;
        let counter = FlopCounter::new(&self.architecture, &Training::full())?;
        let flops = counter.count(&batch, self.recompute)?;
        let core = flops.component(Component::AttentionCore);
        let core = core.useful.total() as f64 + core.recompute as f64;
        let total = flops.useful().total() as f64 + flops.recompute() as f64;
        let tokens = batch.tokens() as f64;
        Ok((total + (self.attention - 1.0) * core) / tokens + 6.0 * self.extra_weights)
    }

    /// Changes the mask of every attention layer; whether any changed.
    pub(super) fn masks(&mut self, change: fn(Mask) -> Mask) -> bool {
        self.mixers(|mixer| match mixer {
            Mixer::Attention(Attention { mask, .. })
            | Mixer::LatentAttention(LatentAttention { mask, .. }) => replace(mask, change(*mask)),
            Mixer::None | Mixer::Mamba1(_) | Mixer::Mamba2(_) | Mixer::GatedDeltaNet(_) => false,
        })
    }

    /// Changes every layer of ordinary attention; whether any changed.
    pub(super) fn attentions(&mut self, change: impl Fn(&mut Attention)) -> bool {
        self.mixers(|mixer| match mixer {
            Mixer::Attention(attention) => {
                let before = *attention;
                change(attention);
                *attention != before
            }
            _ => false,
        })
    }

    /// Changes every feed-forward network; whether any changed.
    pub(super) fn feed_forwards(&mut self, change: impl Fn(&mut FeedForward)) -> bool {
        let mut changed = false;
        for group in self.architecture.text.iter_mut().flat_map(|text| &mut text.decoder) {
            let before = group.feed_forward;
            change(&mut group.feed_forward);
            changed |= group.feed_forward != before;
        }
        changed
    }

    pub(super) const fn text(&self) -> Option<&TextModel> {
        self.architecture.text.as_ref()
    }

    fn mixers(&mut self, change: impl Fn(&mut Mixer) -> bool) -> bool {
        let mut changed = false;
        for group in self.architecture.text.iter_mut().flat_map(|text| &mut text.decoder) {
            changed |= change(&mut group.mixer);
        }
        changed
    }
}

fn replace(mask: &mut Mask, with: Mask) -> bool {
    std::mem::replace(mask, with) != with
}
