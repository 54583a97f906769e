//! Closed forms of equal stages without transfers, for comparison with the simulation.

/// Idle over busy time of GPipe and 1F1B: (p - 1) / m. With v parts a stage, interleaved: (p - 1) / (v m) (arXiv:2104.04473, 2.2).
pub fn bubble(stages: u32, parts: u32, micro_batches: u32) -> f64 {
    f64::from(stages.saturating_sub(1)) / (f64::from(parts) * f64::from(micro_batches))
}

/// Idle time of 1F1B, ZB-H1 and ZB-H2: (p - 1)(F + B + W), (p - 1)(F + B - W) and (p - 1)(F + B - 2 W) (arXiv:2401.10241, table 2).
pub fn bubble_ns(stages: u32, [forward, input, weight]: [f64; 3], split: Split) -> f64 {
    let weights = match split {
        Split::None => 1.0,
        Split::H1 => -1.0,
        Split::H2 => -2.0,
    };
    f64::from(stages.saturating_sub(1)) * (forward + input + weights * weight)
}

/// How weight gradients are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Not: 1F1B.
    None,
    /// ZB-H1.
    H1,
    /// ZB-H2.
    H2,
}

/// The MFU guide's sum of three phases: p - 1 micro-batches each of fill and drain lose (p - 1) / p of their time, the m - 2 (p - 1) others
/// (p - 1) / (v m), as a share of m. The steady share is the whole bubble already, so that idle time counts twice.
pub fn three_phases(stages: u32, parts: u32, micro_batches: u32) -> f64 {
    if stages <= 1 {
        return 0.0;
    }
    let (p, m) = (f64::from(stages), f64::from(micro_batches));
    let ends = 2.0 * (p - 1.0);
    let steady = (m - ends).max(0.0);
    (ends * (p - 1.0) / p + steady * bubble(stages, parts, micro_batches)) / m
}
