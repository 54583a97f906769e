//! Waiting for the slowest of many equal devices: a stated distribution, off unless it is stated.

use super::Prediction;
use crate::layer::Term;

/// The expected largest of `count` standard normal numbers (Blom's approximation of order statistics).
///
/// ```
/// use goodput_predict::step::expected_largest;
/// assert_eq!(expected_largest(1), 0.0);
/// assert!((expected_largest(100) - 2.5).abs() < 0.02);
/// ```
#[must_use]
pub fn expected_largest(count: u32) -> f64 {
    if count <= 1 {
        return 0.0;
    }
    let count = f64::from(count);
    quantile((count - 0.375) / (count + 0.25))
}

/// The standard normal quantile above the median, by bisection of its distribution.
fn quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (0.0, 9.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if below(middle) < probability { low = middle } else { high = middle }
    }
    low
}

/// The standard normal distribution (Abramowitz and Stegun 26.2.17, error below 7.5e-8).
fn below(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x);
    let series = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let sum = series.iter().rev().fold(0.0, |sum, factor| (sum + factor) * t);
    1.0 - (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * sum
}

/// Adds the wait: all device time but idle time grows with the slowest device.
pub(super) fn add(prediction: &mut Prediction, devices: u32, deviation: f64) {
    if deviation == 0.0 {
        return;
    }
    let wait = deviation * expected_largest(devices) * prediction.step_ns;
    prediction.step_ns += wait;
    prediction.terms.add(Term::Straggler, wait);
    for stage in &mut prediction.stages {
        stage.terms.add(Term::Straggler, wait);
    }
}
