//! Sizing an elastic job: how far each schedule gets in a window, when it reaches a target, and what it holds.

use crate::range::{OutOfRange, factor, non_negative, positive};

/// The rate that other sizes are compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReferenceRate {
    /// Devices of the reference allocation.
    pub devices: f64,
    /// Units of progress (epochs, steps) an hour on it.
    pub units_per_hour: f64,
}

/// An allocation that makes progress.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Running {
    /// Devices held.
    pub devices: f64,
    /// Program goodput over that of the reference allocation.
    pub efficiency: f64,
}

/// One stage of a schedule before its last allocation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage {
    /// Holding nothing.
    Wait {
        /// Hours in the queue.
        hours: f64,
    },
    /// Holding devices without progress: checkpoint, reshard, restart.
    Pause {
        /// Devices held.
        devices: f64,
        /// Hours.
        hours: f64,
    },
    /// Making progress.
    Run {
        /// The allocation.
        running: Running,
        /// Hours.
        hours: f64,
    },
}

impl Stage {
    const fn hours(self) -> f64 {
        match self {
            Self::Wait { hours } | Self::Pause { hours, .. } | Self::Run { hours, .. } => hours,
        }
    }

    const fn is_pause(self) -> bool {
        matches!(self, Self::Pause { .. })
    }
}

/// Stages, then one allocation for as long as it takes.
///
/// ```
/// use goodput_core::elastic::{ReferenceRate, Running, Schedule, Stage};
/// let reference = ReferenceRate { devices: 128.0, units_per_hour: 1.0 };
/// let full = Running { devices: 512.0, efficiency: 0.80 };
/// let wait_for_all = Schedule::new(reference, vec![Stage::Wait { hours: 4.0 }], full)?;
/// assert!((wait_for_all.units_within(24.0) - 64.0).abs() < 1e-9);
/// assert!((wait_for_all.relative_goodput(64.0)? - 0.80).abs() < 1e-9);
/// # Ok::<(), goodput_core::OutOfRange>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    reference: ReferenceRate,
    stages: Vec<Stage>,
    last: Running,
}

/// A schedule's way to a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reached {
    /// From submission, in hours.
    pub hours: f64,
    /// Held until then, pauses included.
    pub held_device_hours: f64,
}

impl Schedule {
    /// A schedule of `stages` that ends on `last`.
    ///
    /// # Errors
    /// [`OutOfRange`] names the quantity that has no meaning.
    pub fn new(reference: ReferenceRate, stages: Vec<Stage>, last: Running) -> Result<Self, OutOfRange> {
        positive("reference devices", reference.devices)?;
        positive("reference units_per_hour", reference.units_per_hour)?;
        let running = |running: Running| {
            positive("devices", running.devices)?;
            factor("efficiency", running.efficiency)
        };
        for stage in &stages {
            match *stage {
                Stage::Wait { .. } => {}
                Stage::Pause { devices, .. } => {
                    positive("devices", devices)?;
                }
                Stage::Run { running: allocation, .. } => {
                    running(allocation)?;
                }
            }
            non_negative("hours", stage.hours())?;
        }
        running(last)?;
        Ok(Self { reference, stages, last })
    }

    /// Units an hour on an allocation.
    pub fn rate(&self, running: Running) -> f64 {
        self.reference.units_per_hour * running.devices / self.reference.devices * running.efficiency
    }

    /// Whether a stage holds devices without progress.
    pub fn has_pause(&self) -> bool {
        self.stages.iter().any(|stage| stage.is_pause())
    }

    /// Every stage as (hours, devices held, units an hour), the last one without end.
    fn legs(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let stages = self.stages.iter().map(|stage| match *stage {
            Stage::Wait { hours } => (hours, 0.0, 0.0),
            Stage::Pause { devices, hours } => (hours, devices, 0.0),
            Stage::Run { running, hours } => (hours, running.devices, self.rate(running)),
        });
        stages.chain(std::iter::once((f64::INFINITY, self.last.devices, self.rate(self.last))))
    }

    /// Progress in the first `window_hours` after submission.
    pub fn units_within(&self, window_hours: f64) -> f64 {
        let mut left = window_hours.max(0.0);
        let mut units = 0.0;
        for (hours, _, rate) in self.legs() {
            let spent = hours.min(left);
            units += spent * rate;
            left -= spent;
        }
        units
    }

    /// When `units` are reached, and what was held until then.
    ///
    /// # Errors
    /// [`OutOfRange`] when `units` is negative or not finite.
    pub fn reach(&self, units: f64) -> Result<Reached, OutOfRange> {
        let mut left = non_negative("units", units)?;
        let mut reached = Reached { hours: 0.0, held_device_hours: 0.0 };
        for (hours, devices, rate) in self.legs() {
            if left <= 0.0 {
                break;
            }
            let spent = if rate > 0.0 { hours.min(left / rate) } else { hours };
            reached.hours += spent;
            reached.held_device_hours += spent * devices;
            left -= spent * rate;
        }
        Ok(reached)
    }

    /// Useful work a held device-hour until `units` are reached, against the reference allocation.
    ///
    /// # Errors
    /// [`OutOfRange`] when `units` is not positive.
    pub fn relative_goodput(&self, units: f64) -> Result<f64, OutOfRange> {
        let reference_hours = positive("units", units)? / self.reference.units_per_hour;
        Ok(reference_hours * self.reference.devices / self.reach(units)?.held_device_hours)
    }

    /// The total pause with which this schedule gets just as far as `other` in the window; beyond
    /// it, changing size does not pay. `None` when the last allocation would have to start outside
    /// the window, or this schedule falls behind without any pause.
    pub fn break_even_pause_hours(&self, other: &Self, window_hours: f64) -> Option<f64> {
        let unpaused =
            Self { stages: self.stages.iter().copied().filter(|s| !s.is_pause()).collect(), ..*self };
        let before_last: f64 = unpaused.stages.iter().map(|s| s.hours()).sum();
        let ahead = unpaused.units_within(window_hours) - other.units_within(window_hours);
        let hours = ahead / self.rate(self.last);
        (ahead >= 0.0 && before_last + hours <= window_hours).then_some(hours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const REFERENCE: ReferenceRate = ReferenceRate { devices: 128.0, units_per_hour: 1.0 };

    #[test]
    fn a_schedule_that_never_catches_up_has_no_break_even_pause() {
        let small = Running { devices: 128.0, efficiency: 1.0 };
        let stay = Schedule::new(REFERENCE, vec![], small).unwrap();
        let late = Schedule::new(REFERENCE, vec![Stage::Wait { hours: 1.0 }], small).unwrap();
        assert_eq!(late.break_even_pause_hours(&stay, 24.0), None);
    }

    proptest! {
        #[test]
        fn reaching_what_a_window_gives_takes_no_longer_than_the_window(
            wait in 0.0..5.0, pause in 0.0..2.0, run in 0.0..10.0, window in 0.1..100.0,
        ) {
            let running = Running { devices: 256.0, efficiency: 0.9 };
            let stages = vec![
                Stage::Wait { hours: wait },
                Stage::Run { running: Running { devices: 128.0, efficiency: 1.0 }, hours: run },
                Stage::Pause { devices: 256.0, hours: pause },
            ];
            let schedule = Schedule::new(REFERENCE, stages, running).unwrap();
            let reached = schedule.reach(schedule.units_within(window)).unwrap();
            prop_assert!(reached.hours <= window * (1.0 + 1e-12));
        }
    }
}
