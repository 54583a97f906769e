//! Confidence intervals of ratios by a circular block bootstrap.
//!
//! Blocks of consecutive samples are drawn with replacement on a circle (Politis and Romano, 1992), so that what recurs from
//! one sample to the next stays inside a block; its length is the cube root of the number of samples. The percentiles are
//! expanded for few blocks (Hesterberg, "What teachers should know about the bootstrap", 2015): plain ones are too narrow
//! there by sqrt((n-1)/n) and by the normal's tail against Student's.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// What crossed and what arrived, of one sample: device-time at offered, held, retained and ideal. A sample of one level has
/// zeros elsewhere.
pub type Levels = [f64; 4];

/// Fewest samples of a side from which an interval is made.
pub const FEWEST: usize = 3;

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// Samples in time order, ready to be drawn in blocks.
#[derive(Debug, Clone)]
pub struct Series {
    /// Sums of the first samples of two rounds of the circle.
    sums: Vec<Levels>,
    count: usize,
    block: usize,
}

fn add(one: Levels, other: Levels, sign: f64) -> Levels {
    std::array::from_fn(|i| one[i] + sign * other[i])
}

impl Series {
    /// Samples in time order; `None` for fewer than [`FEWEST`].
    #[must_use]
    pub fn new(samples: &[Levels]) -> Option<Self> {
        let count = samples.len();
        if count < FEWEST {
            return None;
        }
        let mut sums = Vec::with_capacity(2 * count + 1);
        let mut sum = Levels::default();
        sums.push(sum);
        for sample in samples.iter().chain(samples) {
            sum = add(sum, *sample, 1.0);
            sums.push(sum);
        }
        // Few samples are long ones (cycles, days): a block of several would leave too few to draw from.
        let block = if count < 30 { 1 } else { (count as f64).cbrt().round() as usize };
        Some(Self { sums, count, block })
    }

    /// Samples.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Samples of a block.
    #[must_use]
    pub const fn block(&self) -> usize {
        self.block
    }

    /// Blocks that are drawn.
    fn blocks(&self) -> usize {
        self.count / self.block
    }

    fn total(&self) -> Levels {
        self.sums[self.count]
    }

    /// The sum of as many samples as there are, drawn in blocks.
    fn draw(&self, rng: &mut ChaCha8Rng) -> Levels {
        let mut sum = Levels::default();
        let mut left = self.count;
        while left > 0 {
            let length = self.block.min(left);
            let start = below(rng, self.count);
            sum = add(sum, add(self.sums[start + length], self.sums[start], -1.0), 1.0);
            left -= length;
        }
        sum
    }
}

/// A whole number below `count`, uniform up to 2^-32 by multiplication (Lemire, 2019).
fn below(rng: &mut ChaCha8Rng, count: usize) -> usize {
    ((u128::from(rng.next_u64()) * count as u128) >> 64) as usize
}

/// Relative deviations of a ratio of two sides from its value: what a resample made of each factor.
#[derive(Debug, Clone)]
pub struct Deviations {
    /// One entry a resample.
    pub drawn: Vec<f64>,
    /// The fewest blocks that any of them rests on.
    pub blocks: usize,
}

/// Draws both sides and follows `factors` of the levels: `(crossed, arrived)` as positions in [`Levels`]. `None` where a
/// side has nothing to divide by.
#[must_use]
pub fn deviations(
    before: &Series,
    after: &Series,
    factors: &[(usize, usize)],
    resamples: usize,
    rng: &mut ChaCha8Rng,
) -> Option<Vec<Deviations>> {
    let value = |levels: Levels, (crossed, arrived): (usize, usize)| levels[crossed] / levels[arrived];
    let usual: Vec<f64> =
        factors.iter().map(|&f| value(after.total(), f) / value(before.total(), f)).collect();
    if usual.iter().any(|ratio| !(ratio.is_finite() && *ratio > 0.0)) {
        return None;
    }
    let blocks = before.blocks().min(after.blocks());
    let mut all = vec![Deviations { drawn: Vec::with_capacity(resamples), blocks }; factors.len()];
    for _ in 0..resamples {
        let (one, other) = (before.draw(rng), after.draw(rng));
        for ((of, &factor), usual) in all.iter_mut().zip(factors).zip(&usual) {
            let ratio = value(other, factor) / value(one, factor);
            // A draw in which a side crossed or arrived with nothing bounds nothing: it stands at the far end.
            let ratio = if ratio.is_nan() { usual * f64::EPSILON } else { ratio };
            of.drawn.push(ratio / usual);
        }
    }
    Some(all)
}

/// The interval around `value` at `confidence`.
#[must_use]
pub fn interval(value: f64, deviations: &Deviations, confidence: f64) -> Option<Interval> {
    let tail = expanded_tail(deviations.blocks, confidence)?;
    let mut sorted = deviations.drawn.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = |share: f64| sorted[((share * last as f64).round() as usize).min(last)];
    Some(Interval { low: value * at(tail), high: value * at(1.0 - tail) })
}

/// The tail share that makes percentiles of few blocks as wide as Student's interval.
fn expanded_tail(blocks: usize, confidence: f64) -> Option<f64> {
    let n = blocks as f64;
    let t = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf((1.0 + confidence) / 2.0);
    let normal = Normal::new(0.0, 1.0).ok()?;
    Some(normal.cdf(-(n / (n - 1.0)).sqrt() * t))
}

/// The product of independent or joint deviations, resample by resample.
#[must_use]
pub fn product(parts: &[Deviations]) -> Option<Deviations> {
    let blocks = parts.iter().map(|part| part.blocks).min()?;
    let resamples = parts.iter().map(|part| part.drawn.len()).min()?;
    let drawn = (0..resamples).map(|i| parts.iter().map(|part| part.drawn[i]).product()).collect();
    Some(Deviations { drawn, blocks })
}

/// A generator of draws from a seed.
#[must_use]
pub fn generator(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_blocks_make_wide_percentiles() {
        let many = expanded_tail(100_000, 0.95).unwrap();
        assert!((many - 0.025).abs() < 1e-4, "{many}");
        assert!(expanded_tail(5, 0.95).unwrap() < 0.002);
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let samples: Vec<Levels> =
            (0..100).map(|i| [0.0, 1.0, 0.8 + 0.001 * f64::from(i % 7), 0.0]).collect();
        let series = Series::new(&samples).unwrap();
        let draw = |seed| {
            let drawn = deviations(&series, &series, &[(2, 1)], 500, &mut generator(seed)).unwrap();
            interval(1.0, &drawn[0], 0.95).unwrap()
        };
        assert_eq!(draw(1), draw(1));
        let Interval { low, high } = draw(2);
        assert!(low < 1.0 && high > 1.0 && high - low < 0.01, "{low} {high}");
        assert!(Series::new(&samples[..2]).is_none());
    }
}
