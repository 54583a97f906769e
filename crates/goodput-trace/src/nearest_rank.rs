//! Percentiles as every table and finding of a trace gives them.

/// The smallest value that at least `percent` of the values do not exceed (nearest rank): one of the values, never
/// between two. `None` of nothing. Reorders.
///
/// ```
/// use goodput_trace::nearest_rank::percentile;
/// assert_eq!(percentile(&mut [40, 10, 30, 20], 50), Some(20));
/// assert_eq!(percentile(&mut [40, 10, 30, 20], 99), Some(40));
/// ```
pub fn percentile<T: Ord + Copy>(values: &mut [T], percent: usize) -> Option<T> {
    let rank = (values.len() * percent).div_ceil(100).max(1) - 1;
    (rank < values.len()).then(|| *values.select_nth_unstable(rank).1)
}

/// The median: of an even number the lower one in the middle.
pub fn median<T: Ord + Copy>(values: &mut [T]) -> Option<T> {
    percentile(values, 50)
}
