//! Measured times of one exchange by size.

/// Times over sizes, the line in log-log between them. Below the first size the first time stands, which is latency; beyond
/// the last one each further byte costs what the last ones did: as in the shipped tables.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SizeCurve {
    /// Bytes and nanoseconds, both ascending or level.
    points: Vec<(f64, f64)>,
}

/// A wider gap between two sizes counts as not measured.
const WIDEST_GAP: f64 = 16.0;

impl SizeCurve {
    /// Of sizes in bytes and times in nanoseconds, at least one. Where a larger message took less than a smaller one, noise is
    /// taken to have slowed the smaller.
    pub fn new(mut points: Vec<(f64, f64)>) -> Self {
        points.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
        points.dedup_by(|later, first| later.0 == first.0);
        let mut least = f64::INFINITY;
        for (_, ns) in points.iter_mut().rev() {
            least = least.min(*ns);
            *ns = least;
        }
        Self { points }
    }

    /// Nanoseconds, and whether the size lies between measured ones.
    pub fn ns(&self, bytes: f64) -> (f64, bool) {
        let above = self.points.partition_point(|(size, _)| *size <= bytes);
        let low = above.checked_sub(1).map(|at| self.points[at]);
        match (low, self.points.get(above)) {
            (Some((size, ns)), Some((larger, more))) => {
                let share = (bytes / size).ln() / (larger / size).ln();
                (ns * (more / ns).powf(share), larger / size <= WIDEST_GAP)
            }
            (Some((size, ns)), None) => {
                let before = self.points.len().checked_sub(2).map(|at| self.points[at]);
                // A single size: all of it is taken as bandwidth.
                let per_byte = before.map_or(ns / size, |(less, fewer)| (ns - fewer) / (size - less));
                (ns + (bytes - size) * per_byte, bytes == size)
            }
            (None, Some((_, ns))) => (*ns, false),
            (None, None) => (0.0, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_between_measured_ones_lie_on_the_line_in_log_log() {
        let curve = SizeCurve::new(vec![(4096.0, 40.0), (1024.0, 10.0)]);
        let (ns, inside) = curve.ns(2048.0);
        assert!((ns - 20.0).abs() < 1e-9 && inside);
        assert_eq!(curve.ns(4096.0), (40.0, true));
        assert_eq!(curve.ns(1.0), (10.0, false));
        assert_eq!(curve.ns(8192.0), (40.0 + 4096.0 * 30.0 / 3072.0, false));
    }

    #[test]
    fn a_larger_message_is_never_faster_and_a_wide_gap_is_not_measured() {
        let curve = SizeCurve::new(vec![(1e3, 30.0), (2e3, 20.0), (1e6, 500.0)]);
        assert_eq!(curve.ns(1e3), (20.0, true));
        assert!(!curve.ns(1e5).1);
    }
}
