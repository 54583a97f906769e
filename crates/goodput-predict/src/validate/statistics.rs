//! Measures of error, exactly defined.

use serde::{Deserialize, Serialize};

/// How far predictions are from measurements, over a number of rows. Fractions, not percent; times in seconds.
///
/// With t the measured and p the predicted step time of a row, its relative error is e = (p - t) / t: above 0 where the
/// prediction is too slow.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Errors {
    /// Rows.
    pub rows: usize,
    /// Mean of |e|.
    pub mape: f64,
    /// Median of |e|: the mean of the two in the middle where the rows are even in number.
    pub median_ape: f64,
    /// 90th percentile of |e|, linear between neighbours: at place 0.9 (n - 1), counted from 0.
    pub p90_ape: f64,
    /// Largest |e|.
    pub max_ape: f64,
    /// Mean of e.
    pub bias: f64,
    /// Mean of |p - t|, in seconds.
    pub mae_s: f64,
    /// Root of the mean of (p - t)^2, in seconds.
    pub rmse_s: f64,
    /// Mean of |t / p - 1|: the same as [`Errors::mape`] for MFU and for throughput, which go with 1 / time. FLOPs and peak
    /// cancel, so that it holds for MFU in every convention, the guide's among them.
    pub mfu_mape: f64,
    /// Mean of t / p - 1: above 0 where the predicted MFU is too high.
    pub mfu_bias: f64,
}

impl Errors {
    /// Of measured and predicted times in nanoseconds; none without a row.
    #[must_use]
    pub fn of(pairs: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let pairs: Vec<_> = pairs.into_iter().collect();
        if pairs.is_empty() {
            return None;
        }
        let mean = |of: &dyn Fn(f64, f64) -> f64| {
            pairs.iter().map(|(measured, predicted)| of(*measured, *predicted)).sum::<f64>()
                / pairs.len() as f64
        };
        let mut shares: Vec<f64> =
            pairs.iter().map(|(measured, predicted)| (predicted / measured - 1.0).abs()).collect();
        shares.sort_by(f64::total_cmp);
        Some(Self {
            rows: pairs.len(),
            mape: mean(&|t, p| (p / t - 1.0).abs()),
            median_ape: percentile(&shares, 0.5),
            p90_ape: percentile(&shares, 0.9),
            max_ape: percentile(&shares, 1.0),
            bias: mean(&|t, p| p / t - 1.0),
            mae_s: mean(&|t, p| (p - t).abs() / 1e9),
            rmse_s: mean(&|t, p| ((p - t) / 1e9).powi(2)).sqrt(),
            mfu_mape: mean(&|t, p| (t / p - 1.0).abs()),
            mfu_bias: mean(&|t, p| t / p - 1.0),
        })
    }
}

/// The same of memory, which has no MFU and is not counted in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct MemoryErrors {
    /// Rows.
    pub rows: usize,
    /// As [`Errors::mape`].
    pub mape: f64,
    /// As [`Errors::median_ape`].
    pub median_ape: f64,
    /// As [`Errors::p90_ape`].
    pub p90_ape: f64,
    /// As [`Errors::bias`].
    pub bias: f64,
}

impl From<Errors> for MemoryErrors {
    fn from(errors: Errors) -> Self {
        let Errors { rows, mape, median_ape, p90_ape, bias, .. } = errors;
        Self { rows, mape, median_ape, p90_ape, bias }
    }
}

/// Of ascending values, which must not be none.
fn percentile(ascending: &[f64], share: f64) -> f64 {
    let place = share * (ascending.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = place.ceil() as usize;
    ascending[below] + (place - place.floor()) * (ascending[above] - ascending[below])
}

/// Spearman's rank correlation: Pearson's of the ranks, equal values sharing the mean of theirs. None for fewer than 3 pairs,
/// or where one side has one value only.
#[must_use]
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.len() < 3 {
        return None;
    }
    let measured = ranks(pairs.iter().map(|pair| pair.0));
    let predicted = ranks(pairs.iter().map(|pair| pair.1));
    let middle = (pairs.len() - 1) as f64 / 2.0;
    let product =
        |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - middle) * (b - middle)).sum() };
    let spread = (product(&measured, &measured) * product(&predicted, &predicted)).sqrt();
    (spread > 0.0).then(|| product(&measured, &predicted) / spread)
}

/// Ranks from 0.
fn ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let equal = values.iter().filter(|other| *other == value).count();
        below as f64 + (equal - 1) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
    }

    #[test]
    fn errors_by_hand() {
        // e: +0.5, -0.25, 0, +0.1 of 2, 4, 1 and 10 s.
        let errors = Errors::of([(2e9, 3e9), (4e9, 3e9), (1e9, 1e9), (10e9, 11e9)]).unwrap();
        assert_eq!(errors.rows, 4);
        near(errors.mape, 0.85 / 4.0);
        near(errors.median_ape, 0.175);
        // Place 2.7 of 0, 0.1, 0.25, 0.5.
        near(errors.p90_ape, 0.25 + 0.7 * 0.25);
        near(errors.max_ape, 0.5);
        near(errors.bias, 0.35 / 4.0);
        near(errors.mae_s, 0.75);
        near(errors.rmse_s, 0.75_f64.sqrt());
        // t / p - 1: -1/3, +1/3, 0, -1/11.
        near(errors.mfu_mape, (2.0 / 3.0 + 1.0 / 11.0) / 4.0);
        near(errors.mfu_bias, -1.0 / 44.0);
        assert_eq!(Errors::of([]), None);
        near(Errors::of([(1.0, 2.0)]).unwrap().p90_ape, 1.0);
    }

    #[test]
    fn ranks_by_hand() {
        // Ranks 0 1 2 3 against 1 0 2 3: 1 - 6 x 2 / (4 x 15).
        near(spearman(&[(1.0, 5.0), (2.0, 4.0), (3.0, 6.0), (4.0, 7.0)]).unwrap(), 0.8);
        near(spearman(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]).unwrap(), -1.0);
        // Ranks 0 1 2 against 0.5 0.5 2: 1.5 / sqrt(2 x 1.5).
        near(spearman(&[(1.0, 1.0), (2.0, 1.0), (3.0, 9.0)]).unwrap(), 1.5 / 3.0_f64.sqrt());
        assert_eq!(spearman(&[(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]), None);
        assert_eq!(spearman(&[(1.0, 1.0), (2.0, 2.0)]), None);
    }
}
