//! Which degrees a model can be split by.

use std::ops::RangeInclusive;

use goodput_model::architecture::{FeedForward, Mixer, TextModel};

/// Divisors of a number within a range, ascending.
pub(super) fn divisors(of: u64, range: &RangeInclusive<u32>) -> Vec<u32> {
    let end = u64::from(*range.end()).min(of) as u32;
    (*range.start().max(&1)..=end).filter(|&degree| of.is_multiple_of(degree.into())).collect()
}

/// What degrees of a model divide, as [`Run::check`](crate::run::Run::check) asks.
#[derive(Debug, Clone, Default)]
pub(super) struct Splits {
    pub layers: u64,
    heads: Vec<(u64, u64)>,
    inner: Vec<u64>,
    experts: Vec<(u64, u64)>,
}

impl Splits {
    pub fn of(text: &TextModel) -> Self {
        let mut splits = Self::default();
        for blocks in &text.decoder {
            splits.layers += blocks.blocks;
            let (heads, kv_heads) = match &blocks.mixer {
                Mixer::Attention(attention) => (attention.heads, attention.kv_heads),
                Mixer::LatentAttention(attention) => (attention.heads, attention.heads),
                _ => continue,
            };
            splits.heads.push((heads, kv_heads));
            match &blocks.feed_forward {
                FeedForward::Dense(dense) => splits.inner.push(dense.inner),
                FeedForward::Experts(experts) => splits.experts.push((experts.experts, experts.inner)),
                FeedForward::None => {}
            }
        }
        splits
    }

    pub fn has_experts(&self) -> bool {
        !self.experts.is_empty()
    }

    pub fn tensor(&self, tensor: u32) -> bool {
        let tensor = u64::from(tensor);
        self.heads.iter().all(|&(heads, kv_heads)| {
            let kept = if kv_heads >= tensor {
                kv_heads.is_multiple_of(tensor)
            } else {
                tensor.is_multiple_of(kv_heads)
            };
            heads.is_multiple_of(tensor) && kept
        }) && self.inner.iter().all(|inner| inner.is_multiple_of(tensor))
    }

    /// Whether heads split over tensor and context ranks (Ulysses).
    pub fn heads(&self, ranks: u64) -> bool {
        self.heads.iter().all(|(heads, _)| heads.is_multiple_of(ranks))
    }

    pub fn experts(&self, expert: u32, expert_tensor: u32) -> bool {
        let fits = |&(experts, inner): &(u64, u64)| {
            experts.is_multiple_of(expert.into()) && inner.is_multiple_of(expert_tensor.into())
        };
        if self.experts.is_empty() {
            (expert, expert_tensor) == (1, 1)
        } else {
            self.experts.iter().all(fits)
        }
    }
}
