//! How the time of a step answers to its host's.

/// The time of one run's step with a host that takes so many times as long, the devices as predicted. A step is made of sums and
/// maxima of times, so that between two points it lies on or a little below the line between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostResponse([f64; HostResponse::FACTORS.len()]);

impl HostResponse {
    /// The host's factors at which the step is predicted.
    pub const FACTORS: [f64; 8] = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0];

    /// The least of them.
    pub const LEAST: f64 = Self::FACTORS[0];
    /// The largest.
    pub const MOST: f64 = Self::FACTORS[Self::FACTORS.len() - 1];

    /// From the step's time at each of [`Self::FACTORS`], in nanoseconds.
    #[must_use]
    pub const fn new(steps_ns: [f64; Self::FACTORS.len()]) -> Self {
        Self(steps_ns)
    }

    /// Lines through the times at the least factor, at 1 and at the largest.
    #[must_use]
    pub fn through([least_ns, one_ns, most_ns]: [f64; 3]) -> Self {
        Self(Self::FACTORS.map(|factor| {
            let (end_ns, end) = if factor < 1.0 { (least_ns, Self::LEAST) } else { (most_ns, Self::MOST) };
            one_ns + (end_ns - one_ns) * (factor - 1.0) / (end - 1.0)
        }))
    }

    /// A step whose host is never behind.
    #[must_use]
    pub const fn none(step_ns: f64) -> Self {
        Self([step_ns; Self::FACTORS.len()])
    }

    /// The step's time, in nanoseconds, at any factor of the host; the outer lines go on beyond their ends.
    #[must_use]
    pub fn step_ns(&self, factor: f64) -> f64 {
        let inner = &Self::FACTORS[1..Self::FACTORS.len() - 1];
        let at = inner.partition_point(|known| *known < factor);
        let [from, to] = [Self::FACTORS[at], Self::FACTORS[at + 1]];
        self.0[at] + (self.0[at + 1] - self.0[at]) * (factor - from) / (to - from)
    }

    /// Whether a host of half or twice the speed is felt: whether the step changes by more than a twentieth.
    #[must_use]
    pub fn is_felt(&self) -> bool {
        self.step_ns(2.0) > 1.05 * self.step_ns(0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_between_points_and_beyond_them() {
        let bound = HostResponse::new(HostResponse::FACTORS.map(|factor| 10.0_f64.max(10.0 * factor)));
        for (factor, step) in
            [(0.1, 10.0), (0.25, 10.0), (1.0, 10.0), (1.25, 12.5), (3.5, 35.0), (4.0, 40.0), (8.0, 80.0)]
        {
            assert!((bound.step_ns(factor) - step).abs() < 1e-12, "{factor}");
        }
        let lines = HostResponse::through([10.0, 10.6, 13.6]);
        assert_eq!([0.25, 1.0, 2.0, 4.0].map(|factor| lines.step_ns(factor)), [10.0, 10.6, 11.6, 13.6]);
        assert!(bound.is_felt() && !HostResponse::none(10.0).is_felt());
    }
}
