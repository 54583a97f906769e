//! Several processes that write one log: which entry is a second writer's copy of what is known already.
//!
//! Two processes of one job (two hosts, or a controller and a worker) may both record. Their stamps of one
//! step lie a fraction of a step apart, while a step that is executed again comes at the earliest when its
//! first execution and whatever followed have begun.

use goodput_core::Timestamp;
use goodput_core::records::Step;

/// Clocks of one job's hosts are never further apart than this.
const MOST_SKEW_NS: i64 = 1_000_000_000;
/// Steps looked back to for the first writer's copy.
const LOOK_BACK: usize = 64;

/// Which steps a copy may repeat: those since the last start or rollback.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Writers {
    /// Position of the first step since the last start or rollback.
    since: usize,
    /// Time between the last two steps that followed each other, once there are two.
    step_ns: Option<i64>,
    /// Counts starts and rollbacks.
    pub generation: u32,
}

impl Writers {
    /// A start or a rollback: nothing before it can be repeated by a second writer.
    pub(super) fn begin(&mut self, steps: &[Step]) {
        self.since = steps.len();
        self.generation += 1;
    }

    /// Takes note of the newest step.
    pub(super) fn stepped(&mut self, steps: &[Step]) {
        if let [.., before, last] = steps.get(self.since..).unwrap_or(&[]) {
            self.step_ns = Some(last.start - before.start).filter(|ns| *ns > 0).or(self.step_ns);
        }
    }

    /// How far apart two writers' stamps of one event may lie: three quarters of a step, since a step is executed again
    /// at the earliest when it is over, and at most a second.
    pub(super) fn skew_ns(&self) -> i64 {
        self.step_ns.map_or(MOST_SKEW_NS, |ns| (ns / 4 * 3).min(MOST_SKEW_NS))
    }

    /// Whether two stamps of one event may come from two writers.
    pub(super) fn same(&self, a: Timestamp, b: Timestamp) -> bool {
        (a - b).unsigned_abs() <= self.skew_ns().unsigned_abs()
    }

    /// Whether a step of number `index` at `start` is a copy of one of `steps`.
    pub(super) fn is_copy(&self, steps: &[Step], index: u64, start: Timestamp) -> bool {
        let since = self.since.max(steps.len().saturating_sub(LOOK_BACK));
        let recent = steps.get(since..).unwrap_or(&[]);
        recent.iter().rev().any(|step| step.index == index && self.same(step.start, start))
    }
}
