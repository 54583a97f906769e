//! What is wrong with a rate, share or duration that a caller states.

/// A stated quantity outside the range in which the question has an answer.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{name} is {value}, expected {expected}")]
pub struct OutOfRange {
    /// The quantity, with its unit.
    pub name: &'static str,
    /// What was given.
    pub value: f64,
    /// What would do.
    pub expected: &'static str,
}

fn check(name: &'static str, value: f64, holds: bool, expected: &'static str) -> Result<f64, OutOfRange> {
    if holds { Ok(value) } else { Err(OutOfRange { name, value, expected }) }
}

/// `value` when it is finite and above zero.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<f64, OutOfRange> {
    check(name, value, value.is_finite() && value > 0.0, "a finite number above zero")
}

/// `value` when it is finite and not negative.
pub(crate) fn non_negative(name: &'static str, value: f64) -> Result<f64, OutOfRange> {
    check(name, value, value.is_finite() && value >= 0.0, "a finite number of zero or more")
}

/// `value` when it lies in `[0, 1]`.
pub(crate) fn share(name: &'static str, value: f64) -> Result<f64, OutOfRange> {
    check(name, value, (0.0..=1.0).contains(&value), "a share between 0 and 1")
}

/// `value` when it lies in `(0, 1]`: a factor that something is divided by or multiplied from.
pub(crate) fn factor(name: &'static str, value: f64) -> Result<f64, OutOfRange> {
    check(name, value, value > 0.0 && value <= 1.0, "a factor above 0 and at most 1")
}
