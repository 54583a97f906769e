//! What of a report can be drawn again: days of a fleet, cycles and steps of a job.

use super::bootstrap::{Levels, Series};
use crate::report::Report;

/// The series of a report.
pub(super) struct Blocks {
    /// Days: all levels together.
    pub days: Option<Series>,
    /// Cycles between interruptions: held and retained.
    pub cycles: Option<Series>,
    /// Blocks of steps: retained time, and its steps in the place of ideal time.
    pub steps: Option<Series>,
}

impl Blocks {
    pub fn of(report: &Report) -> Self {
        let mut blocks = Self { days: None, cycles: None, steps: None };
        match report {
            Report::Account(account) => {
                let day = |day: &crate::report::Day| -> Levels {
                    [day.offered_ns, day.held_ns, day.retained_ns, day.ideal_ns].map(|ns| ns.0 as f64)
                };
                blocks.days = Series::new(&account.days.iter().map(day).collect::<Vec<_>>());
            }
            Report::Timeline(job) => {
                let cycle = |c: &crate::report::Cycle| [0.0, c.held_ns.0 as f64, c.retained_ns.0 as f64, 0.0];
                let steps =
                    |b: &crate::report::StepBlock| [0.0, 0.0, b.productive_ns.0 as f64, b.steps as f64];
                blocks.cycles = Series::new(&job.samples.cycles.iter().map(cycle).collect::<Vec<_>>());
                blocks.steps = Series::new(&job.samples.step_blocks.iter().map(steps).collect::<Vec<_>>());
            }
        }
        blocks
    }
}
