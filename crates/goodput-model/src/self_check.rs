//! The batch formula against the per-token constant that it replaces.
//!
//! Megatron charges every token of a row with the attention of one document as long as the row, and
//! every patch with a frame as long as the row. Written out here from the model's sizes alone, that
//! constant must equal the batch's own count where its assumption holds, and the difference must be
//! accounted for to the last FLOP where it does not.

use crate::architecture::{
    Architecture, ArchitectureError, FeedForward, Mixer, TextModel, VisionBlocks, VisionTower,
};
use crate::batch::{Batch, BatchError, Grid};
use crate::flops::{FlopCounter, Recompute};
use crate::training::Training;

/// Tokens of the row, and the length that the constant charges each token and patch with.
pub const ROW: u64 = 32_768;
/// The models that the check is made for: text and towers from 3 to 72 billion parameters.
pub const MODELS: [&str; 5] =
    ["qwen2.5-vl-3b", "qwen2.5-vl-7b", "qwen3-vl-8b", "qwen2.5-vl-32b", "qwen2.5-vl-72b"];

/// A self-check that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelfCheckError {
    /// A model with other parts than the constant knows.
    #[error(
        "{model}: the constant is defined for grouped-query attention with a gated dense feed-forward part and a \
         vision tower with a merger; check one of {}",
        MODELS.join(", ")
    )]
    OtherKind {
        /// The model.
        model: String,
    },
    /// The model.
    #[error(transparent)]
    Architecture(#[from] ArchitectureError),
    /// The batch.
    #[error(transparent)]
    Batch(#[from] BatchError),
}

/// One batch of one model, counted both ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The model.
    pub model: String,
    /// The batch.
    pub case: &'static str,
    /// Training FLOPs of the batch.
    pub batch: u128,
    /// The constant times the batch's tokens and patches.
    pub constant: u128,
    /// What the constant leaves out of account, as FLOPs by which the batch differs from it.
    pub departures: Vec<Departure>,
}

/// FLOPs by which a batch differs from the constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// Why.
    pub reason: &'static str,
    /// Batch less constant.
    pub flops: i128,
}

impl Comparison {
    /// What no departure accounts for: zero, or the check has failed.
    pub fn remainder(&self) -> i128 {
        let departures: i128 = self.departures.iter().map(|departure| departure.flops).sum();
        signed(self.batch) - signed(self.constant) - departures
    }
}

/// Compares both counts of a vision-language model: where the constant's assumption holds (one
/// document fills the row, one frame has as many patches, every layer of the tower sees all of it),
/// with the tower's own windows, and for a packed row with ordinary images.
///
/// # Errors
/// [`SelfCheckError`] when the model has parts that the constant does not know.
pub fn self_check(architecture: &Architecture) -> Result<Vec<Comparison>, SelfCheckError> {
    let other = || SelfCheckError::OtherKind { model: architecture.name.clone() };
    let text = architecture.text.as_ref().and_then(Text::new).ok_or_else(other)?;
    let tower = architecture.vision.as_ref().filter(|tower| tower.merger.is_some()).ok_or_else(other)?;
    let mut without_windows = architecture.clone();
    for group in without_windows.vision.iter_mut().flat_map(|tower| &mut tower.blocks) {
        group.window = None;
    }
    let whole_row = (vec![ROW], vec![Grid::image(128, 256)]);
    // Eleven documents and sixteen images of 896 x 1792 pixels at 14 pixels a patch side.
    let packed = ([vec![2979; 10], vec![2978]].concat(), vec![Grid::image(64, 128); 16]);
    let mut cases = vec![("one document and one frame fill the row", &without_windows, &whole_row)];
    if tower.blocks.iter().any(|group| group.window.is_some()) {
        cases.push(("the same, the tower's windows as they are", architecture, &whole_row));
    }
    cases.push(("11 documents, 16 images of 64x128 patches", architecture, &packed));
    cases
        .into_iter()
        .map(|(case, model, (lengths, grids))| {
            let batch = Batch::packed(lengths, ROW)?.with_images(grids)?;
            let counter = FlopCounter::new(model, &Training::full())?;
            let tower = model.vision.as_ref().unwrap_or(tower);
            let patches: u128 = grids.iter().map(|grid| u128::from(grid.height * grid.width)).sum();
            Ok(Comparison {
                model: architecture.name.clone(),
                case,
                batch: counter.count(&batch, Recompute::None)?.useful().total(),
                constant: text.constant() * u128::from(ROW)
                    + vision_constant(tower) * patches / merged(tower),
                departures: vec![
                    text.departure(lengths),
                    attention_departure(tower, grids, patches),
                    Departure {
                        reason: "the patch embedding has no input gradient",
                        flops: -signed(2 * pixels(tower) * u128::from(tower.width) * patches),
                    },
                ],
            })
        })
        .collect()
}

/// Sizes of a text model that the constant knows.
struct Text {
    layers: u128,
    width: u128,
    vocabulary: u128,
    heads: u128,
    kv_heads: u128,
    head_dim: u128,
    inner: u128,
}

impl Text {
    fn new(text: &TextModel) -> Option<Self> {
        let [group] = text.decoder.as_slice() else { return None };
        let (Mixer::Attention(attention), FeedForward::Dense(dense)) = (&group.mixer, &group.feed_forward)
        else {
            return None;
        };
        let is_known = dense.gated && text.encoder.is_empty() && text.multi_token_prediction == 0;
        is_known.then(|| Self {
            layers: group.blocks.into(),
            width: text.width.into(),
            vocabulary: text.vocabulary.into(),
            heads: attention.heads.into(),
            kv_heads: attention.kv_heads.into(),
            head_dim: attention.head_dim.into(),
            inner: dense.inner.into(),
        })
    }

    /// Training FLOPs a token: `6` a weight, and the attention of half the row.
    fn constant(&self) -> u128 {
        let projections = self.width * self.head_dim * (2 * self.heads + 2 * self.kv_heads);
        let weights =
            self.layers * (projections + 3 * self.width * self.inner) + self.vocabulary * self.width;
        6 * weights + self.per_pair() * u128::from(ROW) / 2
    }

    /// Training FLOPs a pair: two products forward, four backward.
    const fn per_pair(&self) -> u128 {
        12 * self.layers * self.heads * self.head_dim
    }

    fn departure(&self, lengths: &[u64]) -> Departure {
        let pairs: u128 = lengths.iter().flat_map(|&length| 1..=u128::from(length)).sum();
        let charged = u128::from(ROW).pow(2) / 2;
        Departure {
            reason: "a token sees itself and its document, not half the row",
            flops: signed(self.per_pair()) * (signed(pairs) - signed(charged)),
        }
    }
}

/// Training FLOPs of as many patches as a merged cell has.
fn vision_constant(tower: &VisionTower) -> u128 {
    let width = u128::from(tower.width);
    let per_patch = |group: &VisionBlocks| {
        let matrices = if group.gated { 3 } else { 2 };
        let weights = 4 * width.pow(2) + matrices * width * u128::from(group.inner);
        u128::from(group.blocks) * (6 * weights + 12 * width * u128::from(ROW))
    };
    let blocks: u128 = tower.blocks.iter().map(per_patch).sum();
    let merger = tower.merger.map_or(0, |merger| {
        let joined = width * u128::from(merger.side).pow(2);
        6 * u128::from(1 + merger.deepstack) * (joined.pow(2) + joined * u128::from(merger.outputs))
    });
    merged(tower) * (blocks + 6 * pixels(tower) * width) + merger
}

/// Patches of a merged cell.
fn merged(tower: &VisionTower) -> u128 {
    tower.merger.map_or(1, |merger| u128::from(merger.side).pow(2))
}

/// Numbers of a patch.
fn pixels(tower: &VisionTower) -> u128 {
    let side = u128::from(tower.patch_size);
    u128::from(tower.channels) * side * side * u128::from(tower.temporal_patch_size)
}

fn attention_departure(tower: &VisionTower, grids: &[Grid], patches: u128) -> Departure {
    let charged = patches * u128::from(ROW);
    let side = tower.merger.map_or(1, |merger| merger.side);
    let of_group = |group: &VisionBlocks| {
        let pairs: u128 = grids.iter().map(|&grid| pairs(grid, group.window.map(|cells| cells * side))).sum();
        let per_pair = 12 * u128::from(group.blocks) * u128::from(tower.width);
        signed(per_pair) * (signed(pairs) - signed(charged))
    };
    Departure {
        reason: "a patch sees its frame or window, not the row",
        flops: tower.blocks.iter().map(of_group).sum(),
    }
}

/// Pairs of a frame, window by window.
fn pairs(grid: Grid, window: Option<u64>) -> u128 {
    let side = window.unwrap_or(u64::MAX);
    let strips = |length: u64| {
        let mut left = length;
        std::iter::from_fn(move || {
            let strip = left.min(side);
            left -= strip;
            (strip > 0).then_some(u128::from(strip))
        })
    };
    let windows = strips(grid.height).flat_map(|rows| strips(grid.width).map(move |columns| rows * columns));
    windows.map(|patches| patches.pow(2)).sum::<u128>() * u128::from(grid.frames)
}

/// Counts of checked models are far inside 127 bits.
fn signed(count: u128) -> i128 {
    i128::try_from(count).unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_departure_from_the_constant_is_accounted_for() {
        for name in MODELS {
            let comparisons = self_check(&Architecture::known(name).unwrap()).unwrap();
            assert!(comparisons.len() >= 2);
            for comparison in &comparisons {
                assert_eq!(comparison.remainder(), 0, "{comparison:?}");
            }
            let assumed = &comparisons[0];
            let ratio = assumed.batch as f64 / assumed.constant as f64;
            assert!((ratio - 1.0).abs() < 1e-4, "{name}: {ratio}");
            let packed = &comparisons[comparisons.len() - 1];
            assert!(packed.constant as f64 / packed.batch as f64 > 1.2, "{packed:?}");
        }
    }

    #[test]
    fn a_wrong_count_would_be_seen() {
        let mut comparison = self_check(&Architecture::known(MODELS[0]).unwrap()).unwrap().remove(0);
        comparison.batch += 1;
        assert_eq!(comparison.remainder(), 1);
    }

    #[test]
    fn other_kinds_are_refused() {
        let error = self_check(&Architecture::known("llama3.1-8b").unwrap()).unwrap_err();
        assert!(error.to_string().contains("qwen2.5-vl-7b"), "{error}");
    }
}
