//! Documents in a sequence: attention runs within each.

use serde::Deserialize;

use goodput_model::{Batch as Counted, BatchError};

/// What a sequence of the batch holds. Attention pairs tokens of one document; what the documents leave of the sequence is
/// padding, over which everything but attention runs all the same.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packing {
    /// Length and number of the documents of one sequence; empty: one document that fills it.
    documents: Vec<(u64, u64)>,
}

/// How lengths are spread around their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LengthDistribution {
    /// All alike.
    #[default]
    Equal,
    /// Exponentially: many short, few long.
    Exponential,
}

impl Packing {
    /// Documents of these lengths in each sequence. Their sum must not exceed the sequence.
    #[must_use]
    pub fn of(lengths: &[u64]) -> Self {
        let mut sorted: Vec<u64> = lengths.iter().copied().filter(|length| *length > 0).collect();
        sorted.sort_unstable();
        let mut documents: Vec<(u64, u64)> = Vec::new();
        for length in sorted {
            match documents.last_mut() {
                Some((last, count)) if *last == length => *count += 1,
                _ => documents.push((length, 1)),
            }
        }
        Self { documents }
    }

    /// A sequence of `tokens` filled with documents of a mean length; the mean may be missed by rounding.
    #[must_use]
    pub fn around(mean: f64, distribution: LengthDistribution, tokens: u64) -> Self {
        let count = ((tokens as f64 / mean).round().max(1.0) as u64).min(MOST_DOCUMENTS);
        let weights: Vec<f64> = (0..count)
            .map(|index| match distribution {
                LengthDistribution::Equal => 1.0,
                // The mean of the exponential over the index-th of as many equal shares of probability.
                LengthDistribution::Exponential => {
                    let share = |at: u64| 1.0 - at as f64 / count as f64;
                    let part = |left: f64| if left > 0.0 { left - left * left.ln() } else { 0.0 };
                    (part(share(index)) - part(share(index + 1))) * count as f64
                }
            })
            .collect();
        let all: f64 = weights.iter().sum();
        // Cumulative shares, so that the lengths sum to the sequence.
        let mut lengths = Vec::with_capacity(weights.len());
        let (mut weight, mut placed) = (0.0, 0);
        for next in weights {
            weight += next;
            let end = (((weight / all) * tokens as f64).round() as u64).min(tokens);
            lengths.push(end - placed);
            placed = end;
        }
        if let Some(last) = lengths.last_mut() {
            *last += tokens - placed;
        }
        Self::of(&lengths)
    }

    /// Whether a sequence is one document.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.documents.is_empty()
    }

    /// Length and number of each kind of document in a sequence.
    #[must_use]
    pub fn documents(&self, sequence: u64) -> Vec<(u64, u64)> {
        if self.is_whole() { vec![(sequence, 1)] } else { self.documents.clone() }
    }

    /// Real tokens of a sequence.
    #[must_use]
    pub fn tokens(&self, sequence: u64) -> u64 {
        self.documents(sequence).iter().map(|(length, count)| length.saturating_mul(*count)).sum()
    }

    /// A sequence as the FLOP counter takes it.
    pub(crate) fn counted(&self, sequence: u64) -> Result<Counted, BatchError> {
        let mut lengths = Vec::new();
        for (length, count) in self.documents(sequence) {
            lengths.extend(std::iter::repeat_n(length, count as usize));
        }
        Counted::documents(&lengths)?.with_padding(sequence.saturating_sub(self.tokens(sequence)))
    }
}

/// Documents of a sequence, at most.
pub(super) const MOST_DOCUMENTS: u64 = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_fill_the_sequence_and_keep_their_mean() {
        let equal = Packing::around(1000.0, LengthDistribution::Equal, 8192);
        assert_eq!((equal.tokens(8192), equal.documents(8192).len()), (8192, 1));
        assert_eq!(equal.documents(8192), [(1024, 8)]);
        let spread = Packing::around(256.0, LengthDistribution::Exponential, 32_768);
        assert_eq!(spread.tokens(32_768), 32_768);
        // The second moment of an exponential is twice the squared mean; shares of probability lose a little of the tail.
        let square = |packing: &Packing| -> f64 {
            packing.documents(32_768).iter().map(|(length, count)| (length * length * count) as f64).sum()
        };
        let ratio = square(&spread) / (128.0 * 256.0 * 256.0);
        assert!((1.85..2.0).contains(&ratio), "{ratio}");
        assert_eq!(Packing::around(1e9, LengthDistribution::Equal, 4096).documents(4096), [(4096, 1)]);
    }
}
