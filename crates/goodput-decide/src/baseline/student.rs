//! The newest run against the earlier ones, by Student's t.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The newest value against earlier ones, by the prediction interval of a normal sample: how likely one at least as far off is, on
/// either side. `None` below [`FEWEST`] earlier values. The scale is at least `floor`.
#[must_use]
pub fn newest_p_value(earlier: &[f64], newest: f64, floor: f64) -> Option<f64> {
    let n = earlier.len();
    if n < FEWEST {
        return None;
    }
    let mean = earlier.iter().sum::<f64>() / n as f64;
    let variance = earlier.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
    let scale = (variance.max(floor * floor) * (1.0 + 1.0 / n as f64)).sqrt();
    let student = StudentsT::new(0.0, 1.0, (n - 1) as f64).ok()?;
    Some((2.0 * student.sf((newest - mean).abs() / scale)).min(1.0))
}

/// Earlier runs that a newest one needs.
pub const FEWEST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tabulated_quantile() {
        // Eight values of mean 0 and standard deviation 1; t of 7 degrees of freedom at 0.95, two-sided, is 2.365.
        let side = (7.0_f64 / 8.0).sqrt();
        let earlier = [side, -side, side, -side, side, -side, side, -side];
        let p = newest_p_value(&earlier, 2.365 * 1.125_f64.sqrt(), 0.0).unwrap();
        assert!((p - 0.05).abs() < 1e-4, "{p}");
    }

    #[test]
    fn one_more_like_the_others_is_nothing() {
        let earlier = [1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.02, 0.98];
        assert!(newest_p_value(&earlier, 1.01, 0.0).unwrap() > 0.8);
        assert!(newest_p_value(&earlier, 1.6, 0.0).unwrap() < 1e-3);
        assert_eq!(newest_p_value(&earlier[1..], 1.6, 0.0), None);
    }
}
