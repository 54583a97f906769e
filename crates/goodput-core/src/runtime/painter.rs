//! Gives every instant one use, and adds the uses up.

use super::clock::{HeldClock, Reading};
use super::declared::{Cursor, DeclaredPhases};
use super::{Segment, Use};
use crate::capacity::CapacityTime;
use crate::ledger::Loss;
use crate::pattern::Pattern;
use crate::records::{FileId, Phase, SourceRef};
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
    at: Timestamp,
    /// The stretch of one use that is being laid, and its line.
    open: (Timestamp, Use, u32),
    tally: Tally,
    lanes: Vec<Vec<Segment>>,
}

/// Amounts by use.
#[derive(Debug)]
pub(super) struct Tally {
    amounts: Vec<Reading>,
    evidence: Vec<[(i128, u32); EVIDENCE]>,
}

fn slot(used_for: Use) -> usize {
    match used_for {
        Use::Productive => Pattern::ALL.len(),
        Use::Lost(pattern) => pattern as usize,
    }
}

impl<'a> Painter<'a> {
    /// A painter at the beginning of time.
    pub(super) fn new(clock: &'a HeldClock, phases: &'a DeclaredPhases, lanes: usize) -> Self {
        let start = Timestamp::from_nanos(i64::MIN);
        Self {
            clock,
            phases: Cursor::new(phases),
            at: start,
            open: (start, Use::Lost(Pattern::RuntimeUnsettled), 0),
            tally: Tally {
                amounts: vec![Reading::default(); Pattern::ALL.len() + 1],
                evidence: vec![[(0, 0); EVIDENCE]; Pattern::ALL.len() + 1],
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
        line: u32,
    ) {
        if until < self.at {
            // The clock stepped back: negative by the stamps, and nothing is clamped.
            let used_for = parts.last().map_or(rest, |p| p.0);
            self.lay(until, used_for, line);
            return;
        }
        let mut part = 0;
        for declared in self.phases.overlapping(epoch, Interval::new(self.at, until)) {
            self.fill(declared.interval.start, parts, &mut part, rest, line);
            self.lay(declared.interval.end, phase_use(declared.phase, scene), declared.line);
        }
        self.fill(until, parts, &mut part, rest, line);
    }

    fn fill(&mut self, until: Timestamp, parts: &mut [Part], part: &mut usize, rest: Use, line: u32) {
        while let Some((used_for, left)) = parts.get_mut(*part)
            && self.at < until
        {
            let take = (until - self.at).min(*left).max(0);
            *left -= take;
            let (used_for, spent) = (*used_for, *left <= 0);
            *part += usize::from(spent);
            self.lay(self.at + take, used_for, line);
        }
        self.lay(until, rest, line);
    }

    /// Extends the open stretch, or closes it and opens another.
    fn lay(&mut self, until: Timestamp, used_for: Use, line: u32) {
        if until == self.at {
            return;
        }
        if self.open.1 != used_for {
            self.close();
            self.open = (self.at, used_for, line);
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
        let (from, used_for, line) = self.open;
        let held = self.clock.read(self.at).minus(self.clock.read(from));
        let amount = &mut self.tally.amounts[slot(used_for)];
        *amount = amount.plus(held);
        keep_largest(&mut self.tally.evidence[slot(used_for)], (held.active, line));
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

fn keep_largest(kept: &mut [(i128, u32); EVIDENCE], new: (i128, u32)) {
    if new.1 > 0 && new.0 > kept[EVIDENCE - 1].0 {
        kept[EVIDENCE - 1] = new;
        kept.sort_unstable_by_key(|&(amount, _)| std::cmp::Reverse(amount));
    }
}

impl Tally {
    /// Held time of one use in nanoseconds, whatever the number of devices.
    pub(super) fn time_ns(&self, used_for: Use) -> i64 {
        self.amounts[slot(used_for)].time_ns
    }

    /// Capacity-time of one use.
    pub(super) fn amount(&self, used_for: Use) -> CapacityTime {
        CapacityTime::from_device_ns(self.amounts[slot(used_for)].active)
    }

    /// The losses with the records that show the largest parts of each.
    pub(super) fn losses(&self, file: FileId) -> Vec<Loss> {
        Pattern::ALL
            .iter()
            .map(|&pattern| Loss {
                pattern,
                amount: self.amount(Use::Lost(pattern)),
                evidence: self.evidence[pattern as usize]
                    .iter()
                    .filter(|e| e.1 > 0)
                    .map(|&(_, line)| SourceRef { file, line })
                    .collect(),
            })
            .filter(|loss| !loss.amount.is_zero())
            .collect()
    }
}
