//! Declared phases, laid out so that each instant has at most one.

use crate::records::Phase;
use crate::time::{Interval, Timestamp};

/// A declared phase, trimmed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Declared {
    /// When; disjoint from every other phase of its epoch.
    pub interval: Interval,
    /// What.
    pub phase: Phase,
    /// Clock epoch.
    pub epoch: u32,
    /// Line of the log.
    pub line: u32,
}

/// Phases in time order.
#[derive(Debug, Default)]
pub(super) struct DeclaredPhases {
    phases: Vec<Declared>,
    covered_to: Option<(u32, Timestamp)>,
}

impl DeclaredPhases {
    /// Adds a phase that began no earlier than those before it. Of overlapping phases the one that
    /// began first has the time; the later one keeps what is left of it.
    pub(super) fn push(&mut self, mut phase: Declared) {
        if let Some((epoch, to)) = self.covered_to
            && epoch == phase.epoch
        {
            phase.interval.start = phase.interval.start.max(to);
        }
        if !phase.interval.is_empty() {
            self.covered_to = Some((phase.epoch, phase.interval.end));
            self.phases.push(phase);
        }
    }

    /// Every phase.
    pub(super) fn all(&self) -> &[Declared] {
        &self.phases
    }
}

/// Walks the phases along intervals that are asked for in the order of the log.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    phases: &'a [Declared],
    next: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(phases: &'a DeclaredPhases) -> Self {
        Self { phases: phases.all(), next: 0 }
    }

    /// Phases of `epoch` that overlap `interval`, in time order.
    pub(super) fn overlapping(
        &mut self,
        epoch: u32,
        interval: Interval,
    ) -> impl Iterator<Item = Declared> + 'a {
        let over = |p: &Declared| (p.epoch, p.interval.end) <= (epoch, interval.start);
        while self.phases.get(self.next).is_some_and(over) {
            self.next += 1;
        }
        self.phases[self.next..]
            .iter()
            .take_while(move |p| p.epoch == epoch && p.interval.start < interval.end)
            .map(move |p| Declared { interval: p.interval.intersect(interval), ..*p })
            .filter(|p| !p.interval.is_empty())
    }

    /// Declared time inside `interval`.
    pub(super) fn covered_ns(&mut self, epoch: u32, interval: Interval) -> i64 {
        self.overlapping(epoch, interval).map(|p| p.interval.duration_ns()).sum()
    }
}
