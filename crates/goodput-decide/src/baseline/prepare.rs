//! A series made ready for the test: outliers replaced and the weekly cycle taken out, or ranks in place of values.
//!
//! F. R. Hampel, "The influence curve and its role in robust estimation", J. Am. Stat. Assoc. 69 (1974).

/// Observations of the running median: a change that lasts four of them survives it.
const WINDOW: usize = 7;
/// Deviations from the running median beyond this many robust standard deviations are outliers.
const OUTLIER: f64 = 3.5;
/// Standard deviation of a normal distribution over its median absolute deviation.
const MAD_TO_SIGMA: f64 = 1.4826;
/// Observations from which on the weekly cycle is taken out: eight of each weekday.
pub const WEEKLY_FROM: usize = 56;
/// Least scale of logarithms and shares: noise of 0.1 %.
const FLOOR: f64 = 0.001;
/// Least scale of ranks over their number; without ties it is 0.29.
const RANK_FLOOR: f64 = 0.1;

/// A series as it is tested.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// Its values, or ranks over their number.
    pub values: Vec<f64>,
    /// The least scale that their noise is taken to have, so that a clean step stays finite.
    pub floor: f64,
}

/// `values` without outliers and without the weekly cycle. Where half of them or more do not move (shares and counts that are mostly
/// zero), large values are no outliers: then ranks stand for the values.
#[must_use]
pub fn prepare(values: &[f64], weekdays: Option<&[u8]>) -> Prepared {
    let running = running_median(values);
    let mut deviations: Vec<f64> =
        values.iter().zip(&running).map(|(value, middle)| value - middle).collect();
    if let Some(weekdays) = weekdays.filter(|_| values.len() >= WEEKLY_FROM) {
        take_out_weekly(&mut deviations, weekdays);
    }
    let mut absolute: Vec<f64> = deviations.iter().map(|d| d.abs()).collect();
    let limit = OUTLIER * MAD_TO_SIGMA * median(&mut absolute);
    if limit == 0.0 {
        return Prepared { values: ranked(values), floor: RANK_FLOOR };
    }
    let kept = |(middle, d): (&f64, &f64)| if d.abs() > limit { *middle } else { middle + d };
    Prepared { values: running.iter().zip(&deviations).map(kept).collect(), floor: FLOOR }
}

/// Less the median deviation of each weekday, 0 to 6.
fn take_out_weekly(deviations: &mut [f64], weekdays: &[u8]) {
    let mut of_day = Vec::with_capacity(deviations.len() / 7 + 1);
    for weekday in 0..7 {
        of_day.clear();
        of_day.extend(deviations.iter().zip(weekdays).filter(|(_, w)| **w == weekday).map(|(d, _)| *d));
        let usual = median(&mut of_day);
        deviations.iter_mut().zip(weekdays).filter(|(_, w)| **w == weekday).for_each(|(d, _)| *d -= usual);
    }
}

/// Ranks of `values` over their number, equal values sharing theirs.
#[must_use]
pub fn ranked(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; n];
    let mut start = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let rank = (start as f64 + (equal.len() as f64 - 1.0) / 2.0) / n as f64;
        equal.iter().for_each(|i| ranks[*i] = rank);
        start += equal.len();
    }
    ranks
}

/// The median of `values`, which it reorders; zero of none.
#[must_use]
pub fn median(values: &mut [f64]) -> f64 {
    let n = values.len();
    if n == 0 {
        return 0.0;
    }
    let (below, middle, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    let middle = *middle;
    if n % 2 == 1 {
        return middle;
    }
    let below = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    f64::midpoint(below, middle)
}

fn running_median(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let width = WINDOW.min(n);
    let mut window = [0.0; WINDOW];
    (0..n)
        .map(|i| {
            // At the ends the window stays whole and stops being centred.
            let start = i.saturating_sub(width / 2).min(n - width);
            window[..width].copy_from_slice(&values[start..start + width]);
            median(&mut window[..width])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ranks() {
        assert_eq!(
            (median(&mut [3.0, 1.0, 2.0]), median(&mut [4.0, 1.0, 2.0, 3.0]), median(&mut [])),
            (2.0, 2.5, 0.0)
        );
        assert_eq!(ranked(&[5.0, 1.0, 5.0, 2.0]), [0.625, 0.0, 0.625, 0.25]);
    }

    #[test]
    fn an_outlier_goes_and_a_step_stays() {
        let mut values: Vec<f64> = (0..40).map(|i| f64::from(i * 37 % 11) / 100.0).collect();
        values[10] = 50.0;
        values[20..].iter_mut().for_each(|value| *value += 5.0);
        let prepared = prepare(&values, None).values;
        assert!(prepared[10] < 0.2, "{}", prepared[10]);
        assert!(prepared[19] < 0.2 && prepared[20] > 4.9, "{prepared:?}");
    }

    #[test]
    fn a_weekly_cycle_goes() {
        let weekdays: Vec<u8> = (0..84).map(|i| i % 7).collect();
        let noise = |i: u32| f64::from(i * 37 % 11) / 1000.0;
        let values: Vec<f64> = (0..84).map(|i| noise(i) + if i % 7 >= 5 { -1.0 } else { 0.0 }).collect();
        let prepared = prepare(&values, Some(&weekdays)).values;
        let spread = prepared.iter().copied().fold(f64::MIN, f64::max)
            - prepared.iter().copied().fold(f64::MAX, f64::min);
        assert!(spread < 0.05, "{spread}");
    }
}
