//! Series: one figure of one subject over time, all of it comparable.

use super::metric::Metric;
use super::row::Row;

/// Nanoseconds of an hour.
const HOUR_NS: i64 = 3_600_000_000_000;

/// A figure of a subject over its windows.
#[derive(Debug, Clone)]
pub struct Series<'a> {
    /// The figure.
    pub metric: Metric,
    /// Rows that have it, in order.
    pub rows: Vec<&'a Row>,
    /// Its values.
    pub values: Vec<f64>,
}

impl<'a> Series<'a> {
    /// The series of a figure in the rows of one subject. An MFU is followed within one device, dtype, peak and convention, and what
    /// depends on the size of the gang within one size: other rows make a series of their own.
    #[must_use]
    pub fn of(metric: Metric, rows: &'a [Row]) -> Vec<Self> {
        let mut series: Vec<Self> = Vec::new();
        for row in rows {
            let Some(value) = metric.value(row) else { continue };
            // The last series that it continues; there are few.
            match series.iter_mut().rev().find(|series| comparable(metric, series.rows[0], row)) {
                Some(series) => {
                    series.rows.push(row);
                    series.values.push(value);
                }
                None => series.push(Self { metric, rows: vec![row], values: vec![value] }),
            }
        }
        series
    }

    /// The values as they are tested.
    #[must_use]
    pub fn tested(&self) -> Vec<f64> {
        self.values.iter().map(|value| self.metric.tested(*value)).collect()
    }

    /// The weekday of each value, 0 to 6, where every window is about a day long.
    #[must_use]
    pub fn weekdays(&self) -> Option<Vec<u8>> {
        let daily = |row: &&Row| (20 * HOUR_NS..=28 * HOUR_NS).contains(&(row.to_ns - row.from_ns));
        self.rows
            .iter()
            .all(daily)
            .then(|| self.rows.iter().map(|row| row.epoch_day().rem_euclid(7) as u8).collect())
    }
}

/// Whether two values may stand in one series.
fn comparable(metric: Metric, one: &Row, other: &Row) -> bool {
    match metric {
        Metric::Mfu => one.devices == other.devices && same_ideal(one, other),
        Metric::StepTime | Metric::TailRatio | Metric::SlowestRank | Metric::PausePerCommit => {
            one.devices == other.devices
        }
        _ => true,
    }
}

fn same_ideal(one: &Row, other: &Row) -> bool {
    match (&one.program, &other.program) {
        (Some(one), Some(other)) => {
            one.convention == other.convention
                && one.device == other.device
                && one.dtype == other.dtype
                && one.ideal == other.ideal
                && one.peak_flops_per_second == other.peak_flops_per_second
        }
        _ => false,
    }
}
