//! Gives every instant one use, and adds the uses up.

use super::clock::{HeldClock, Reading};
use super::declared::{Cursor, DeclaredPhases};
use super::{Segment, Use};
use crate::capacity::CapacityTime;
use crate::ledger::Loss;
use crate::pattern::Pattern;
use crate::records::{Phase, SourceRef};
use crate::time::{Interval, Timestamp};

/// Records shown for each loss.
const EVIDENCE: usize = 3;

/// Where the phases are charged that have no category of their own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scene {
    /// Launch and checkpoint load: part of a (re)start.
    pub start: Use,
    /// Input wait: of a steady step its own category, else that of what surrounds it.
    pub wait: Use,
}

/// Part of a step: this much of the time that no declared phase takes.
pub(super) type Part = (Use, i64);

/// Lays stretches of time end to end. What it is given last begins where the one before ended, so
/// the amounts telescope to held time.
pub(super) struct Painter<'a> {
    clock: &'a HeldClock,
    phases: Cursor<'a>,
    /// The log's file.
    log: SourceRef,
    at: Timestamp,
    /// The stretch of one use that is being laid, and its first record.
    open: (Timestamp, Use, SourceRef),
    tally: Tally,
    lanes: Vec<Vec<Segment>>,
}

/// Amounts by use.
#[derive(Debug)]
pub(super) struct Tally {
    amounts: Vec<Reading>,
    evidence: Vec<[(i128, SourceRef); EVIDENCE]>,
}

fn slot(used_for: Use) -> usize {
    match used_for {
        Use::Productive => Pattern::ALL.len(),
        Use::Lost(pattern) => pattern as usize,
    }
}

impl<'a> Painter<'a> {
    /// A painter at the beginning of time.
    pub(super) fn new(
        clock: &'a HeldClock,
        phases: &'a DeclaredPhases,
        lanes: usize,
        log: SourceRef,
    ) -> Self {
        let start = Timestamp::from_nanos(i64::MIN);
        Self {
            clock,
            phases: Cursor::new(phases),
            log,
            at: start,
            open: (start, Use::Lost(Pattern::RuntimeUnsettled), SourceRef::default()),
            tally: Tally {
                amounts: vec![Reading::default(); Pattern::ALL.len() + 1],
                evidence: vec![[(0, SourceRef::default()); EVIDENCE]; Pattern::ALL.len() + 1],
            },
            lanes: vec![Vec::new(); lanes],
        }
    }

    /// Paints up to `until`. Declared phases win; the rest goes to `parts` in their order, each as
    /// much as it asks for, and what is left to `rest`.
    pub(super) fn paint(
        &mut self,
        until: Timestamp,
        epoch: u32,
        scene: Scene,
        parts: &mut [Part],
        rest: Use,
        source: SourceRef,
    ) {
        if until < self.at {
            // The clock stepped back: negative by the stamps, and nothing is clamped.
            let used_for = parts.last().map_or(rest, |p| p.0);
            self.lay(until, used_for, source);
            return;
        }
        let mut part = 0;
        for declared in self.phases.overlapping(epoch, Interval::new(self.at, until)) {
            self.fill(declared.interval.start, parts, &mut part, rest, source);
            self.lay(
                declared.interval.end,
                phase_use(declared.phase, scene),
                SourceRef { line: declared.line, ..self.log },
            );
        }
        self.fill(until, parts, &mut part, rest, source);
    }

    fn fill(&mut self, until: Timestamp, parts: &mut [Part], part: &mut usize, rest: Use, source: SourceRef) {
        while let Some((used_for, left)) = parts.get_mut(*part)
            && self.at < until
        {
            let take = (until - self.at).min(*left).max(0);
            *left -= take;
            let (used_for, spent) = (*used_for, *left <= 0);
            *part += usize::from(spent);
            self.lay(self.at + take, used_for, source);
        }
        self.lay(until, rest, source);
    }

    /// Extends the open stretch, or closes it and opens another.
    fn lay(&mut self, until: Timestamp, used_for: Use, source: SourceRef) {
        if until == self.at {
            return;
        }
        if self.open.1 != used_for {
            self.close();
            self.open = (self.at, used_for, source);
        }
        self.at = until;
    }

    /// What has been productive so far.
    pub(super) fn productive(&self) -> Reading {
        let closed = self.tally.amounts[slot(Use::Productive)];
        if self.open.1 != Use::Productive {
            return closed;
        }
        closed.plus(self.clock.read(self.at).minus(self.clock.read(self.open.0)))
    }

    fn close(&mut self) {
        let (from, used_for, source) = self.open;
        let held = self.clock.read(self.at).minus(self.clock.read(from));
        let amount = &mut self.tally.amounts[slot(used_for)];
        *amount = amount.plus(held);
        keep_largest(&mut self.tally.evidence[slot(used_for)], (held.active, source));
        self.clock.draw(&mut self.lanes, Interval::new(from, self.at), used_for);
    }

    /// Ends the painting.
    pub(super) fn finish(mut self) -> (Tally, Vec<Vec<Segment>>) {
        self.close();
        (self.tally, self.lanes)
    }
}

fn phase_use(phase: Phase, scene: Scene) -> Use {
    match phase {
        Phase::Launch | Phase::CheckpointLoad => scene.start,
        Phase::InputWait => scene.wait,
        Phase::CheckpointPause => Use::Lost(Pattern::CheckpointPause),
        Phase::Evaluation => Use::Lost(Pattern::Evaluation),
        Phase::Reconfiguration => Use::Lost(Pattern::Reconfiguration),
        Phase::Suspension => Use::Lost(Pattern::Suspension),
        Phase::Declared => Use::Lost(Pattern::DeclaredWork),
    }
}

fn keep_largest(kept: &mut [(i128, SourceRef); EVIDENCE], new: (i128, SourceRef)) {
    if new.1.line > 0 && new.0 > kept[EVIDENCE - 1].0 {
        kept[EVIDENCE - 1] = new;
        kept.sort_unstable_by_key(|&(amount, _)| std::cmp::Reverse(amount));
    }
}

impl Tally {
    /// Held time of one use in nanoseconds, whatever the number of devices.
    pub(super) fn time_ns(&self, used_for: Use) -> i64 {
        // Stamps of a clock that jumps about can exceed the range; amounts of capacity-time cannot.
        i64::try_from(self.amounts[slot(used_for)].time_ns).unwrap_or(i64::MAX)
    }

    /// Capacity-time of one use.
    pub(super) fn amount(&self, used_for: Use) -> CapacityTime {
        CapacityTime::from_device_ns(self.amounts[slot(used_for)].active)
    }

    /// The losses with the records that show the largest parts of each.
    pub(super) fn losses(&self) -> Vec<Loss> {
        Pattern::ALL
            .iter()
            .map(|&pattern| Loss {
                pattern,
                amount: self.amount(Use::Lost(pattern)),
                evidence: self.evidence[pattern as usize]
                    .iter()
                    .map(|&(_, source)| source)
                    .filter(|source| source.line > 0)
                    .collect(),
            })
            .filter(|loss| !loss.amount.is_zero())
            .collect()
    }
}
