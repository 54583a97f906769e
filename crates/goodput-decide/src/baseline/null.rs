//! How strong the strongest split is where nothing changes.

/// Probabilities of the columns of [`TABLE`].
const PROBABILITIES: [f64; 8] = [0.5, 0.2, 0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-5];

/// Statistics that a series without a change exceeds with those probabilities, by its length: simulated first-order
/// autoregressions of coefficient 0.5 with normal noise, prepared as every series is, the weekly cycle taken out from 56 on
/// (`cargo run --release -p goodput-decide --example baseline_null`). Weaker autocorrelation gives smaller statistics. The last
/// figure of the two longest lies on the line of the two before it.
const TABLE: [(usize, [f64; 8]); 11] = [
    (21, [1.43, 2.84, 3.83, 4.83, 7.28, 11.77, 17.55, 24.16]),
    (28, [1.59, 2.93, 3.86, 4.76, 6.86, 10.26, 14.12, 20.04]),
    (40, [1.73, 2.97, 3.83, 4.65, 6.50, 9.22, 12.25, 15.33]),
    (55, [1.83, 2.98, 3.75, 4.50, 6.16, 8.52, 10.81, 13.45]),
    (56, [2.14, 3.46, 4.35, 5.21, 7.11, 9.77, 12.49, 15.55]),
    (75, [2.13, 3.30, 4.07, 4.81, 6.45, 8.71, 11.10, 13.38]),
    (100, [2.15, 3.19, 3.88, 4.54, 5.99, 7.98, 9.74, 11.61]),
    (150, [2.18, 3.10, 3.69, 4.24, 5.45, 7.14, 8.76, 10.50]),
    (250, [2.23, 3.03, 3.53, 3.99, 5.01, 6.34, 7.70, 9.12]),
    (365, [2.27, 3.00, 3.46, 3.88, 4.77, 5.91, 6.96, 8.01]),
    (730, [2.37, 3.02, 3.42, 3.77, 4.53, 5.51, 6.37, 7.23]),
];

/// The probability that a series of `length` observations without a change has a strongest split of `statistic` or more: at least
/// 1e-6, beyond which the table does not reach.
#[must_use]
pub fn false_alarm(statistic: f64, length: usize) -> f64 {
    let row = quantiles(length);
    let column = row.iter().position(|quantile| statistic < *quantile).unwrap_or(row.len());
    let logs = PROBABILITIES.map(f64::ln);
    let log = match column {
        0 => {
            // From certainty at nothing to a half.
            return 1.0 - (1.0 - PROBABILITIES[0]) * (statistic / row[0]).max(0.0);
        }
        // Beyond the last column on the line of the last two: the tail falls at least as fast.
        8 => logs[7] + (statistic - row[7]) * (logs[7] - logs[6]) / (row[7] - row[6]),
        i => logs[i - 1] + (statistic - row[i - 1]) * (logs[i] - logs[i - 1]) / (row[i] - row[i - 1]),
    };
    log.exp().max(1e-6)
}

/// The row of a length: between two of the table by its logarithm, at the ends the last.
fn quantiles(length: usize) -> [f64; 8] {
    let above = TABLE.partition_point(|(n, _)| *n < length);
    let (high, low) = (TABLE[above.min(TABLE.len() - 1)], TABLE[above.saturating_sub(1)]);
    if high.0 <= low.0 {
        return high.1;
    }
    let share = ((length as f64 / low.0 as f64).ln() / (high.0 as f64 / low.0 as f64).ln()).clamp(0.0, 1.0);
    std::array::from_fn(|i| low.1[i] + share * (high.1[i] - low.1[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_met_at_its_own_figures_and_falls() {
        for (n, row) in TABLE {
            for (statistic, p) in row.into_iter().zip(PROBABILITIES) {
                assert!((false_alarm(statistic, n) / p - 1.0).abs() < 1e-9, "{n} {statistic}");
            }
        }
        for n in [21, 33, 56, 80, 364, 365, 5000] {
            let p: Vec<f64> = (0..400).map(|i| false_alarm(f64::from(i) / 10.0, n)).collect();
            assert!(p.windows(2).all(|w| w[1] <= w[0]) && p[0] == 1.0 && p[399] == 1e-6, "{n}");
        }
    }
}
