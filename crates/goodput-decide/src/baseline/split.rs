//! The strongest single change of a series: a standardised CUSUM whose scale allows for autocorrelation.
//!
//! The long-run variance comes from squared differences at lags one and two. A change of level touches those at few places
//! only, and the ones that straddle the candidate are left out, so that a change does not hide itself in the scale.
//!
//! E. S. Page, "A test for a change in a parameter occurring at an unknown point", Biometrika 42 (1955); for differences and
//! autocorrelated errors, P. Hall and I. Van Keilegom, "Using difference-based methods for inference in nonparametric
//! regression with time series errors", J. R. Stat. Soc. B 65 (2003).

/// Fewest observations on either side of a change.
pub const MIN_SIDE: usize = 5;
/// Fewest observations of a series that is tested.
pub const MIN_LENGTH: usize = 21;

/// A candidate change: the first `at` observations against the rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// Index of the first observation after the change.
    pub at: usize,
    /// The largest standardised CUSUM.
    pub statistic: f64,
    /// Autocorrelation at lag one, as the differences say it: from nothing to 0.8.
    pub autocorrelation: f64,
    /// First index that the change may as well have been at.
    pub from: usize,
    /// Last such index.
    pub to: usize,
}

/// Autocorrelation up to which the scale follows; a series beyond it drifts, and what it does is no change of level.
const MOST_AUTOCORRELATION: f64 = 0.8;
/// Candidates whose squared statistic is within this of the largest make the interval (coverage: docs/baseline.md).
const INTERVAL: f64 = 7.0;

/// The strongest split of prepared `values` ([`super::prepare`]), whose scale is at least `floor`; `None` below
/// [`MIN_LENGTH`].
#[must_use]
pub fn strongest(values: &[f64], floor: f64) -> Option<Split> {
    let n = values.len();
    if n < MIN_LENGTH {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let lag = |by: usize| -> f64 { values.windows(by + 1).map(|w| (w[by] - w[0]).powi(2)).sum() };
    let (lag1, lag2) = (lag(1), lag(2));
    let square = |i: usize, j: usize| (values[j] - values[i]).powi(2);
    // Where the two means differ most, over how well so many values settle them: no scale yet.
    let mut squared = vec![0.0; n];
    let mut sum = 0.0;
    for k in 1..=n - MIN_SIDE {
        sum += values[k - 1] - mean;
        if k >= MIN_SIDE {
            squared[k] = sum * sum * n as f64 / (k as f64 * (n - k) as f64);
        }
    }
    let at = (MIN_SIDE..=n - MIN_SIDE).max_by(|a, b| squared[*a].total_cmp(&squared[*b]))?;
    let straddling = square(at - 2, at) + square(at - 1, at + 1);
    let v1 = ((lag1 - square(at - 1, at)) / (2 * (n - 2)) as f64).max(floor * floor);
    let v2 = (lag2 - straddling) / (2 * (n - 4)) as f64;
    let autocorrelation = (v2 / v1 - 1.0).clamp(0.0, MOST_AUTOCORRELATION);
    let variance = long_run_variance(v1, autocorrelation);
    if variance <= 0.0 {
        return None;
    }
    let near = |k: &usize| squared[*k] >= squared[at] - INTERVAL * variance;
    let from = (MIN_SIDE..=at).rev().take_while(near).last().unwrap_or(at);
    let to = (at..=n - MIN_SIDE).take_while(near).last().unwrap_or(at);
    // An outlier beside the change may be taken for it, or hide its first day.
    let (from, to) = (from - 1, (to + 1).min(n - 1));
    Some(Split { at, statistic: (squared[at] / variance).sqrt(), autocorrelation, from, to })
}

/// Of a first-order autoregression with correlation r and variance s2, whose half mean squared difference at lag one is
/// `v1` = s2 (1 - r) (at lag two it is s2 (1 - r2), so that their ratio less one is r): s2 (1 + r) / (1 - r).
fn long_run_variance(v1: f64, r: f64) -> f64 {
    v1 * (1.0 + r) / (1.0 - r).powi(2)
}
