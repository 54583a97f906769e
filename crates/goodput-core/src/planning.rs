//! Plans against what happened: progress, days, and the volume of a trace.

use crate::range::{OutOfRange, factor, non_negative, positive, share};

/// Retained steps against a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Steps planned for the window.
    pub planned_steps: u64,
    /// Steps retained in it.
    pub retained_steps: u64,
}

impl Progress {
    /// The share of the plan that is missing, negative when ahead; `None` without a plan.
    pub fn shortfall(&self) -> Option<f64> {
        (self.planned_steps > 0).then(|| 1.0 - self.retained_steps as f64 / self.planned_steps as f64)
    }
}

/// How many days a plan of `planned_days` takes at a rate that falls short by `shortfall`.
///
/// ```
/// use goodput_core::planning::days_at_shortfall;
/// assert_eq!(days_at_shortfall(30.0, 0.20)?, 37.5);
/// # Ok::<(), goodput_core::OutOfRange>(())
/// ```
///
/// # Errors
/// [`OutOfRange`] for a shortfall outside `[0, 1)` or a plan of no days.
pub fn days_at_shortfall(planned_days: f64, shortfall: f64) -> Result<f64, OutOfRange> {
    let rate = factor("planned rate less shortfall", 1.0 - share("shortfall", shortfall)?)?;
    Ok(positive("planned_days", planned_days)? / rate)
}

/// Time to result in seconds: queue wait plus ideal device-time over `devices x R x P`. Scheduling
/// goodput enters only through the wait: free capacity elsewhere does not slow a job that holds its gang.
///
/// # Errors
/// [`OutOfRange`] names the quantity that has no meaning.
pub fn time_to_result_s(
    queue_wait_s: f64,
    ideal_device_s: f64,
    devices: u64,
    runtime_goodput: f64,
    program_goodput: f64,
) -> Result<f64, OutOfRange> {
    let rate = positive("devices", devices as f64)?
        * factor("runtime goodput", runtime_goodput)?
        * factor("program goodput", program_goodput)?;
    Ok(non_negative("queue_wait_s", queue_wait_s)? + positive("ideal_device_s", ideal_device_s)? / rate)
}

/// Bytes of a trace over all devices.
pub fn trace_bytes(bytes_per_device: u64, devices: u64) -> u128 {
    u128::from(bytes_per_device) * u128::from(devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_against_a_plan() {
        let behind = Progress { planned_steps: 1000, retained_steps: 850 };
        assert!((behind.shortfall().unwrap() - 0.15).abs() < 1e-12);
        assert_eq!(Progress { planned_steps: 0, retained_steps: 5 }.shortfall(), None);
    }

    #[test]
    fn a_rate_of_nothing_never_arrives() {
        assert!(days_at_shortfall(30.0, 1.0).is_err());
    }

    #[test]
    fn more_devices_at_lower_efficiency_can_be_slower() {
        let small = time_to_result_s(0.0, 1e6, 128, 0.9, 0.48).unwrap();
        let large = time_to_result_s(0.0, 1e6, 256, 0.9, 0.20).unwrap();
        assert!(large > small);
    }
}
