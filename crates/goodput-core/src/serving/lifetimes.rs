//! What becoming ready costs by how long a replica lives: the same minutes weigh more on a short life.

use crate::capacity::CapacityTime;

use super::lifecycle::{HeldUse, Life};

const HOUR_NS: i64 = 3_600_000_000_000;

/// Lifetimes up to and including this many nanoseconds, with their names; the last takes the rest.
pub const LIFETIMES: [(&str, i64); 6] = [
    ("up to 1 h", HOUR_NS),
    ("1 to 6 h", 6 * HOUR_NS),
    ("6 to 24 h", 24 * HOUR_NS),
    ("1 to 7 days", 7 * 24 * HOUR_NS),
    ("over 7 days", i64::MAX),
    ("not released", i64::MAX),
];

/// Median of durations in ascending order: the mean of the middle two where their number is even.
#[must_use]
pub fn median_ns(sorted_ns: &[i64]) -> Option<i64> {
    let upper = *sorted_ns.get(sorted_ns.len() / 2)?;
    let lower = *sorted_ns.get((sorted_ns.len() - 1) / 2)?;
    Some(i64::midpoint(lower, upper))
}

/// Replicas of one range of lifetimes, whole lives: the window does not cut them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LifetimeShare {
    /// Lives.
    pub lives: u64,
    /// Held.
    pub held: CapacityTime,
    /// Weight load, compilation and warm-up.
    pub cold_start: CapacityTime,
    /// Ready.
    pub ready: CapacityTime,
}

impl LifetimeShare {
    pub(super) fn add(&mut self, life: &Life) {
        let amount = |ns| CapacityTime::of(life.devices, ns);
        self.lives += 1;
        self.held += amount(life.held().duration_ns());
        self.ready += amount(life.used_ns(HeldUse::Ready));
        self.cold_start += amount(cold_start_ns(life));
    }
}

/// Nanoseconds that a life spent becoming ready, restarts after failures left out.
pub(super) fn cold_start_ns(life: &Life) -> i64 {
    [HeldUse::WeightLoad, HeldUse::Compilation, HeldUse::WarmUp, HeldUse::ColdStart]
        .iter()
        .map(|used_for| life.used_ns(*used_for))
        .sum()
}

/// Index into [`LIFETIMES`].
pub(super) fn range_of(life: &Life) -> usize {
    if !life.released {
        return LIFETIMES.len() - 1;
    }
    let lifetime_ns = life.held().duration_ns();
    LIFETIMES.iter().position(|(_, most_ns)| lifetime_ns <= *most_ns).unwrap_or(LIFETIMES.len() - 2)
}

#[cfg(test)]
mod tests {
    use super::median_ns;

    #[test]
    fn an_even_number_of_durations_has_its_median_between_the_middle_two() {
        assert_eq!(median_ns(&[60, 3000]), Some(1530));
        assert_eq!(median_ns(&[1, 2, 9]), Some(2));
        assert_eq!(median_ns(&[]), None);
    }
}
