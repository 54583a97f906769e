//! Workload classes: jobs by the ideal that their program factor divides by.

use std::cmp::Reverse;

use goodput_core::fleet::JobAccount;
use goodput_core::{Boundary, CapacityTime, Chain, Levels, Open, Window};
use serde::Serialize;

use super::exact::Exact;

/// Jobs whose program factor divides by the same ideal. Classes with different ideals have no common MPG.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkloadClassView {
    /// The named ideal; `not stated` for jobs without one.
    pub ideal: &'static str,
    /// Jobs.
    pub jobs: u64,
    /// Held.
    pub held_ns: Exact,
    /// Retained.
    pub retained_ns: Exact,
    /// Ideal.
    pub ideal_ns: Exact,
    /// Retained over held, on the settled share.
    pub runtime: Option<f64>,
    /// Ideal over retained, on the settled share.
    pub program: Option<f64>,
}

impl WorkloadClassView {
    const NOT_STATED: &'static str = "not stated";

    pub(crate) fn of(jobs: &[JobAccount], window: Window) -> Vec<Self> {
        struct Sum {
            ideal: &'static str,
            jobs: u64,
            levels: Levels,
            open: Open,
        }
        let mut sums: Vec<Sum> = Vec::new();
        for job in jobs {
            let ideal = job.program.as_ref().map_or(Self::NOT_STATED, |p| p.ideal);
            let at = sums.iter().position(|s| s.ideal == ideal).unwrap_or_else(|| {
                sums.push(Sum { ideal, jobs: 0, levels: Levels::default(), open: Open::default() });
                sums.len() - 1
            });
            let open = |boundary| -> CapacityTime {
                let open = job.ledger.losses().iter().filter(|l| l.pattern.is_open());
                open.filter(|l| l.pattern.boundary() == boundary).map(|l| l.amount).sum()
            };
            let sum = &mut sums[at];
            sum.jobs += 1;
            sum.levels += job.ledger.chain().levels();
            sum.open.runtime += open(Boundary::Runtime);
            sum.open.program += open(Boundary::Program);
        }
        sums.sort_by_key(|s| (s.ideal == Self::NOT_STATED, Reverse(s.levels.held)));
        let view = |s: Sum| {
            let chain = Chain::with_open(window, s.levels, s.open);
            Self {
                ideal: s.ideal,
                jobs: s.jobs,
                held_ns: s.levels.held.into(),
                retained_ns: s.levels.retained.into(),
                ideal_ns: s.levels.ideal.into(),
                runtime: chain.factor(Boundary::Runtime).settled,
                program: chain.factor(Boundary::Program).settled,
            }
        };
        sums.into_iter().map(view).collect()
    }

    /// Whether the jobs divide by more than one named ideal.
    pub(crate) fn are_mixed(classes: &[Self]) -> bool {
        classes.iter().filter(|c| c.ideal != Self::NOT_STATED).count() > 1
    }
}
