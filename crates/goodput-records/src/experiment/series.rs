//! The history of one metric.

/// One logged value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Step number as logged; goes back where a run was resumed.
    pub step: i64,
    /// Value; NaN where NaN was logged.
    pub value: f64,
    /// When, in milliseconds since the epoch.
    pub at_ms: i64,
}

/// The history of one metric, in the order in which it was logged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// Its values.
    pub points: Vec<Point>,
    /// Whether only the latest value is known, not the history.
    pub is_latest_only: bool,
}

impl Series {
    /// Puts the points in the order of their stamps; those of one stamp keep theirs.
    pub(super) fn sort(&mut self) {
        if !self.points.is_sorted_by_key(|point| point.at_ms) {
            self.points.sort_by_key(|point| point.at_ms);
        }
    }
}
