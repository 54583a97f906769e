//! Attention: fused (FlashAttention) from published rates, unfused as two batched products and a softmax.

mod rates;
mod time;

use serde::Deserialize;

pub(super) use rates::Rates;

use super::Format;

/// Which keys a query sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mask {
    /// All.
    Full,
    /// Those up to its own place; the last query sees all keys.
    Causal,
    /// Of these the last so many.
    Window(u64),
}

/// What computes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttentionKernel {
    /// The scores are written to memory: two batched products with scale, mask, softmax between.
    Unfused,
    /// FlashAttention 1, in CUDA or Triton.
    Flash1,
    /// FlashAttention 2.
    Flash2,
    /// FlashAttention 3, or cuDNN on Hopper.
    Flash3,
    /// FlashAttention 4, or cuDNN on Blackwell.
    Flash4,
}

impl AttentionKernel {
    /// Its name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unfused => "unfused",
            Self::Flash1 => "flash1",
            Self::Flash2 => "flash2",
            Self::Flash3 => "flash3",
            Self::Flash4 => "flash4",
        }
    }
}

/// Attention of one device's heads over one micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attention {
    /// Sequences.
    pub batch: u64,
    /// Query heads on this device.
    pub heads: u64,
    /// Key and value heads on this device.
    pub kv_heads: u64,
    /// Queries of a sequence.
    pub queries: u64,
    /// Keys of a sequence.
    pub keys: u64,
    /// Length of a query and a key.
    pub head_dim: u64,
    /// Length of a value: less than `head_dim` in MLA.
    pub value_dim: u64,
    /// Which keys a query sees.
    pub mask: Mask,
    /// bf16, fp16 or fp8 (the forward pass alone; the backward pass is then bf16).
    pub format: Format,
}

/// Forward or backward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Forward.
    Forward,
    /// Backward: all gradients.
    Backward,
}

impl Attention {
    /// Causal bf16 self-attention of `batch` sequences of `length` tokens.
    #[must_use]
    pub const fn causal(batch: u64, length: u64, heads: u64, kv_heads: u64, head_dim: u64) -> Self {
        Self {
            batch,
            heads,
            kv_heads,
            queries: length,
            keys: length,
            head_dim,
            value_dim: head_dim,
            mask: Mask::Causal,
            format: Format::Bf16,
        }
    }

    /// Pairs of a query and a key that the mask keeps, in one head of one sequence. A causal diagonal counts half.
    #[must_use]
    pub fn pairs(&self) -> f64 {
        let (queries, keys) = (self.queries as f64, self.keys as f64);
        // Queries stand at the end of the keys; one that sees fewer than `width` sees all up to its place.
        let banded = |width: f64| {
            let first = keys - queries;
            let rising = (width.min(keys) - first).clamp(0.0, queries);
            rising * (first + rising / 2.0) + (queries - rising) * width
        };
        match self.mask {
            Mask::Full => queries * keys,
            Mask::Causal => queries * (keys - queries / 2.0),
            Mask::Window(width) => banded((width as f64).min(keys)),
        }
    }

    /// FLOPs of the kept pairs. The backward pass computes the scores again: five products for two.
    #[must_use]
    pub fn flops(&self, direction: Direction) -> f64 {
        let (key, value) = (self.head_dim as f64, self.value_dim as f64);
        let per_pair = match direction {
            Direction::Forward => key + value,
            Direction::Backward => 3.0 * key + 2.0 * value,
        };
        2.0 * (self.batch * self.heads) as f64 * self.pairs() * per_pair
    }

    /// Bytes of queries, keys, values and results, each moved once; gradients too in the backward pass.
    fn bytes(&self, direction: Direction) -> f64 {
        let width = (self.head_dim + self.value_dim) as f64;
        let tokens = (self.heads * self.queries + self.kv_heads * self.keys) as f64;
        let times = if direction == Direction::Forward { 1.0 } else { 2.0 };
        times * 2.0 * self.batch as f64 * tokens * width
    }

    /// What device `rank` computes when `degree` devices gather all keys and values, and each holds an early and a late
    /// chunk of the queries.
    #[must_use]
    pub fn gathered(&self, degree: u64, rank: u64) -> Vec<Self> {
        let chunk = self.queries / (2 * degree);
        let first = self.keys - self.queries;
        let chunks = [rank, 2 * degree - 1 - rank];
        let seen = |place: u64| if self.mask == Mask::Full { self.keys } else { first + (place + 1) * chunk };
        chunks.map(|place| Self { queries: chunk, keys: seen(place), ..*self }).to_vec()
    }

    /// What each device computes, one after the other, when `degree` devices pass keys and values round a ring and each
    /// holds two chunks of the sequence, the one as early as the other is late.
    #[must_use]
    pub fn ring(&self, degree: u64) -> Vec<Self> {
        let local = Self { queries: self.queries / degree, keys: self.keys / degree, ..*self };
        let other = match self.mask {
            Mask::Full => local,
            // Of another's two chunks either all queries see one, or half of the queries see both.
            Mask::Causal | Mask::Window(_) => Self { keys: local.keys / 2, mask: Mask::Full, ..local },
        };
        std::iter::once(local).chain((1..degree).map(|_| other)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_the_pairs_that_a_mask_keeps() {
        let causal = Attention::causal(1, 8, 1, 1, 64);
        assert_eq!(causal.pairs(), 32.0);
        assert_eq!(Attention { mask: Mask::Full, ..causal }.pairs(), 64.0);
        // Two queries see 1 and 2 keys (counted as a triangle of 2), the other six the last 2.
        assert_eq!(Attention { mask: Mask::Window(2), ..causal }.pairs(), 14.0);
        // Four queries at the end of eight keys.
        assert_eq!(Attention { queries: 4, ..causal }.pairs(), 24.0);
    }

    #[test]
    fn backward_is_five_products_for_two() {
        let attention = Attention::causal(2, 1024, 8, 8, 128);
        let ratio = attention.flops(Direction::Backward) / attention.flops(Direction::Forward);
        assert_eq!(ratio, 2.5);
        let mla = Attention { head_dim: 192, ..attention };
        assert_eq!(
            mla.flops(Direction::Backward) / mla.flops(Direction::Forward),
            (3.0 * 192.0 + 256.0) / 320.0
        );
    }

    #[test]
    fn context_parallelism_keeps_every_pair() {
        let whole = Attention::causal(1, 8192, 4, 4, 128);
        let pairs: f64 = whole.ring(4).iter().map(Attention::pairs).sum();
        assert_eq!(pairs * 4.0, whole.pairs());
        for rank in 0..4 {
            let pairs: f64 = whole.gathered(4, rank).iter().map(Attention::pairs).sum();
            assert_eq!(pairs * 4.0, whole.pairs());
        }
        let full = Attention { mask: Mask::Full, ..whole };
        assert_eq!(full.ring(4).iter().map(Attention::pairs).sum::<f64>() * 4.0, full.pairs());
    }
}
