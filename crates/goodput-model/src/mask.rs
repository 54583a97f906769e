//! Which keys a query attends to, and how many (query, key) pairs that makes.

use serde::{Deserialize, Serialize};

/// The mask of one attention layer. Pairs are counted inside one document: attention never crosses a document's end.
///
/// ```
/// use goodput_model::Mask;
/// assert_eq!(Mask::Causal.pairs(4), 10);
/// assert_eq!(Mask::SlidingWindow(2).pairs(4), 7); // 1 + 2 + 2 + 2
/// assert_eq!(Mask::Chunked(3).pairs(4), 7); // 6 in the first chunk, 1 in the second
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mask {
    /// A token attends to itself and to all before it.
    #[default]
    Causal,
    /// A token attends to this many keys, itself included, and none after it. Hugging Face writes
    /// `kv > q - window`; flash-attention's `(window - 1, 0)` is the same.
    SlidingWindow(u64),
    /// Causal inside consecutive chunks of this many tokens, counted from the document's start.
    Chunked(u64),
    /// Every token attends to every token.
    Bidirectional,
    /// Bidirectional inside a document's prefix, causal after it. The prefix's length is the batch's.
    Prefix,
}

impl Mask {
    /// Attention pairs of one document of `length` tokens, without a prefix.
    pub const fn pairs(self, length: u64) -> u128 {
        self.pairs_with_prefix(length, 0)
    }

    /// Attention pairs of one document whose first `prefix` tokens see each other; only
    /// [`Mask::Prefix`] looks at it. A prefix longer than the document ends with it.
    pub const fn pairs_with_prefix(self, length: u64, prefix: u64) -> u128 {
        match self {
            Self::Causal => triangle(length),
            Self::SlidingWindow(window) if window < length => {
                triangle(window) + (length - window) as u128 * window as u128
            }
            Self::SlidingWindow(_) => triangle(length),
            Self::Chunked(0) => 0,
            Self::Chunked(chunk) => (length / chunk) as u128 * triangle(chunk) + triangle(length % chunk),
            Self::Bidirectional => length as u128 * length as u128,
            Self::Prefix => {
                let prefix = if prefix < length { prefix } else { length };
                // The pairs above the diagonal of the prefix join the triangle.
                triangle(length) + triangle(prefix.saturating_sub(1))
            }
        }
    }
}

/// Pairs of a causal attention whose last query sees the last key ("bottom right"): `queries` new
/// tokens after `keys - queries` cached ones. With fewer keys than queries, the first queries see none.
///
/// ```
/// use goodput_model::bottom_right_causal_pairs;
/// assert_eq!(bottom_right_causal_pairs(2, 5), 4 + 5);
/// ```
pub const fn bottom_right_causal_pairs(queries: u64, keys: u64) -> u128 {
    if queries <= keys {
        queries as u128 * (keys - queries) as u128 + triangle(queries)
    } else {
        triangle(keys)
    }
}

/// 1 + 2 + … + `side`.
const fn triangle(side: u64) -> u128 {
    side as u128 * (side as u128 + 1) / 2
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn attends(mask: Mask, prefix: u64, query: u64, key: u64) -> bool {
        match mask {
            Mask::Causal => key <= query,
            Mask::SlidingWindow(window) => key <= query && query - key < window,
            Mask::Chunked(chunk) => chunk > 0 && key <= query && key / chunk == query / chunk,
            Mask::Bidirectional => true,
            Mask::Prefix => key <= query || (key < prefix && query < prefix),
        }
    }

    fn masks() -> impl Strategy<Value = Mask> {
        prop_oneof![
            Just(Mask::Causal),
            (0_u64..50).prop_map(Mask::SlidingWindow),
            (0_u64..50).prop_map(Mask::Chunked),
            Just(Mask::Bidirectional),
            Just(Mask::Prefix),
        ]
    }

    proptest! {
        #[test]
        fn pairs_are_those_that_a_mask_lets_through(mask in masks(), length in 0_u64..40, prefix in 0_u64..60) {
            let counted = (0..length)
                .flat_map(|query| (0..length).map(move |key| (query, key)))
                .filter(|&(query, key)| attends(mask, prefix, query, key))
                .count();
            prop_assert_eq!(mask.pairs_with_prefix(length, prefix), counted as u128);
        }

        #[test]
        fn bottom_right_pairs_are_those_of_the_shifted_diagonal(queries in 0_u64..40, keys in 0_u64..40) {
            let counted = (0..queries)
                .flat_map(|query| (0..keys).map(move |key| (query, key)))
                .filter(|&(query, key)| key + queries <= query + keys)
                .count();
            prop_assert_eq!(bottom_right_causal_pairs(queries, keys), counted as u128);
        }
    }

    #[test]
    fn the_longest_document_does_not_overflow() {
        for mask in [Mask::Causal, Mask::SlidingWindow(u64::MAX - 1), Mask::Chunked(3), Mask::Bidirectional] {
            assert!(mask.pairs(u64::MAX) > 0);
        }
        assert!(Mask::Prefix.pairs_with_prefix(u64::MAX, u64::MAX) > 0);
    }
}
