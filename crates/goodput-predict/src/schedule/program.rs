//! The orders of all stages merged into one list in which everything that a pass needs comes before it.
//!
//! The list depends on the shape of a schedule and not on its times, so that it is made once and run many times. In steady state it
//! repeats with every p micro-batches; that piece is kept once, and a longer step only repeats it.

use std::ops::Range;

use super::order::{self, Pass, Step};
use super::{Pipeline, Unschedulable, parts_of_a_stage, positions};
use crate::run::Schedule;

/// What an operation of the list does: the passes, the first forward of each part, and the wait before a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Forward,
    FirstForward,
    Backward,
    InputGradient,
    WeightGradient,
    PairedForward,
    PairedBackward,
    Gate,
}

impl Kind {
    pub const COUNT: usize = 8;
    pub const ALL: [Self; Self::COUNT] = [
        Self::Forward,
        Self::FirstForward,
        Self::Backward,
        Self::InputGradient,
        Self::WeightGradient,
        Self::PairedForward,
        Self::PairedBackward,
        Self::Gate,
    ];

    pub fn class(self, part: usize) -> usize {
        part * Self::COUNT + self as usize
    }

    /// The pass that it stands for; none for a wait.
    pub fn pass(self) -> Option<Pass> {
        Some(match self {
            Self::Forward | Self::FirstForward => Pass::Forward,
            Self::Backward => Pass::Backward,
            Self::InputGradient => Pass::InputGradient,
            Self::WeightGradient => Pass::WeightGradient,
            Self::PairedForward => Pass::PairedForward,
            Self::PairedBackward => Pass::PairedBackward,
            Self::Gate => return None,
        })
    }

    fn of(pass: Pass, first: bool) -> Self {
        match pass {
            Pass::Forward if first => Self::FirstForward,
            Pass::Forward => Self::Forward,
            Pass::Backward => Self::Backward,
            Pass::InputGradient => Self::InputGradient,
            Pass::WeightGradient => Self::WeightGradient,
            Pass::PairedForward => Self::PairedForward,
            Pass::PairedBackward => Self::PairedBackward,
        }
    }
}

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Op {
    pub stage: u16,
    /// [`Kind::class`] of its part, counted over all stages.
    pub class: u16,
    /// Slot of the time that it waits for.
    pub needs: u32,
    /// Slot into which the time goes at which its result has arrived.
    pub gives: u32,
}

impl Op {
    /// Whether its result goes anywhere: that of a wait does not.
    pub const fn is_read(&self) -> bool {
        self.gives > UNREAD
    }
}

/// Slot that is always zero.
pub(super) const NOTHING: u32 = 0;
/// Slot that nobody reads.
const UNREAD: u32 = 1;
const FIRST_SLOT: usize = 2;

/// A merged list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Program {
    pub ops: Vec<Op>,
    /// The piece that repeats; empty when none does. The same piece, `stride` slots lower, stands right before it.
    pub body: Range<usize>,
    /// How often the body runs.
    pub runs: usize,
    pub stride: u32,
    pub slots: usize,
    /// How often each class runs.
    pub counts: Vec<u32>,
    lanes: usize,
    /// Operations of a part for each micro-batch once the pipeline is full.
    each: usize,
    stages: usize,
    parts: usize,
}

/// Micro-batches, in groups of p, of which the list is made for a longer step: warm-up, two repeats to compare, cool-down.
const GROUPS: usize = 4;

impl Program {
    /// The list of a schedule whose order does not depend on times.
    pub fn new(pipeline: &Pipeline) -> Result<Self, Unschedulable> {
        let (stages, micro_batches) = (pipeline.stages, pipeline.micro_batches);
        let repeats = !matches!(pipeline.schedule, Schedule::GPipe | Schedule::DualPipe);
        let short = micro_batches % stages + GROUPS * stages;
        if repeats && short < micro_batches {
            let mut program = Self::of_static(pipeline, short)?;
            if program.find_body() {
                program.runs += (micro_batches - short) / stages;
                program.count();
                return Ok(program);
            }
        }
        let mut program = Self::of_static(pipeline, micro_batches)?;
        program.count();
        Ok(program)
    }

    /// Every pass written out, nothing repeated.
    #[cfg(test)]
    pub fn unrolled(pipeline: &Pipeline) -> Result<Self, Unschedulable> {
        let mut program = Self::of_static(pipeline, pipeline.micro_batches)?;
        program.count();
        Ok(program)
    }

    /// The list of given orders.
    pub fn of_orders(
        schedule: Schedule,
        orders: &[Vec<Step>],
        micro_batches: usize,
    ) -> Result<Self, Unschedulable> {
        let mut program = merge(schedule, orders, micro_batches)?;
        program.count();
        Ok(program)
    }

    fn of_static(pipeline: &Pipeline, micro_batches: usize) -> Result<Self, Unschedulable> {
        let (schedule, stages) = (pipeline.schedule, pipeline.stages);
        let mut orders = vec![Vec::new(); stages];
        for (stage, steps) in orders.iter_mut().enumerate() {
            steps.reserve(3 * micro_batches * parts_of_a_stage(schedule));
            order::of_stage(schedule, stages, micro_batches, pipeline.pairs, stage, steps);
        }
        let mut program = merge(schedule, &orders, micro_batches)?;
        if pipeline.pairs {
            // A gate, a forward, a backward.
            program.each = 3;
        }
        Ok(program)
    }

    /// The micro-batch of an operation; of the body's first run for one of the body.
    pub fn micro_batch(&self, op: &Op) -> usize {
        (op.gives as usize).saturating_sub(FIRST_SLOT) / (self.lanes * self.stages * self.parts)
    }

    /// Finds two pieces, one after the other, that are the same but for p micro-batches.
    fn find_body(&mut self) -> bool {
        let group = self.stages * self.stages * self.parts;
        let length = group * self.each;
        let stride = (group * self.lanes) as u32;
        let moved = |slot: u32| if slot < FIRST_SLOT as u32 { slot } else { slot + stride };
        let same = |early: &Op, late: &Op| {
            early.stage == late.stage
                && early.class == late.class
                && moved(early.needs) == late.needs
                && moved(early.gives) == late.gives
        };
        let mut streak = 0;
        for at in 0..self.ops.len().saturating_sub(length) {
            streak = if same(&self.ops[at], &self.ops[at + length]) { streak + 1 } else { 0 };
            if streak == length && self.reaches_back_to(at + 1 - length, length) {
                self.body = at + 1..at + 1 + length;
                self.runs = 1;
                self.stride = stride;
                return true;
            }
        }
        false
    }

    /// Whether nothing from the second piece on needs what came before the first.
    fn reaches_back_to(&self, first: usize, length: usize) -> bool {
        let mut early = vec![false; self.slots];
        for op in self.ops[..first].iter().filter(|op| op.is_read()) {
            early[op.gives as usize] = true;
        }
        self.ops[first + length..].iter().all(|op| !early[op.needs as usize])
    }

    fn count(&mut self) {
        self.counts.clear();
        self.counts.resize(self.stages * self.parts * Kind::COUNT, 0);
        for (at, op) in self.ops.iter().enumerate() {
            let times = if self.body.contains(&at) { self.runs } else { 1 };
            self.counts[op.class as usize] += times as u32;
        }
    }
}

/// Lets every stage do its next pass, round after round, when what it needs was there before the round: as if all passes took equally
/// long, so that the list becomes periodic when the schedule is.
fn merge(schedule: Schedule, orders: &[Vec<Step>], micro_batches: usize) -> Result<Program, Unschedulable> {
    let (stages, parts) = (orders.len(), parts_of_a_stage(schedule));
    let splits = matches!(schedule, Schedule::ZeroBubbleH1 | Schedule::ZeroBubble2p | Schedule::DualPipe);
    let lanes = if splits { 3 } else { 2 };
    let micro_batch_slots = (parts * stages * lanes) as u32;
    let place = |(stage, part): (usize, usize)| (FIRST_SLOT + (part * stages + stage) * lanes) as u32;
    // Slots of the first micro-batch that a part's forward, its backward and its weight gradient need and give.
    let slots: Vec<[[u32; 2]; 3]> = (0..stages * parts)
        .map(|at| {
            let own = place((at / parts, at % parts));
            let [before, after] = positions(schedule, stages, at / parts, at % parts);
            let forward = before.map_or(NOTHING, place);
            let backward = after.map_or(NOTHING, |after| place(after) + 1);
            [[forward, own], [backward, own + 1], [NOTHING, own + 2]]
        })
        .collect();
    let slots_of = |stage: usize, step: &Step| {
        let lane = match step.pass {
            Pass::Forward | Pass::PairedForward => 0,
            Pass::WeightGradient => 2,
            _ => 1,
        };
        let moved = step.micro_batch as u32 * micro_batch_slots;
        let [needs, gives] = slots[stage * parts + step.part][lane];
        [if needs == NOTHING { NOTHING } else { needs + moved }, gives + moved]
    };
    let mut program = Program {
        ops: Vec::with_capacity(orders.iter().map(Vec::len).sum()),
        slots: FIRST_SLOT + micro_batches * parts * stages * lanes,
        lanes,
        each: lanes,
        stages,
        parts,
        ..Program::default()
    };
    // The round in which each slot is filled.
    let mut filled = vec![u32::MAX; program.slots];
    filled[NOTHING as usize] = 0;
    let mut next = vec![0; stages];
    let mut started = vec![false; stages * parts];
    let mut left: usize = orders.iter().map(Vec::len).sum();
    let mut push =
        |filled: &mut [u32], round, stage: usize, step: &Step, kind: Kind, [needs, gives]: [u32; 2]| {
            let class = kind.class(stage * parts + step.part) as u16;
            program.ops.push(Op { stage: stage as u16, class, needs, gives });
            filled[gives as usize] = round;
        };
    for round in 1.. {
        let before_round = left;
        for (stage, order) in orders.iter().enumerate() {
            let Some(step) = order.get(next[stage]) else { continue };
            let [needs, gives] = slots_of(stage, step);
            if filled[needs as usize] >= round {
                continue;
            }
            if step.pass == Pass::PairedForward
                && let Some(backward) = order.get(next[stage] + 1)
            {
                let [gate, gives_back] = slots_of(stage, backward);
                if filled[gate as usize] >= round {
                    continue;
                }
                push(&mut filled, round, stage, backward, Kind::Gate, [gate, UNREAD]);
                push(&mut filled, round, stage, step, Kind::PairedForward, [needs, gives]);
                push(&mut filled, round, stage, backward, Kind::PairedBackward, [NOTHING, gives_back]);
                next[stage] += 2;
                left -= 2;
                continue;
            }
            let at = stage * parts + step.part;
            let first = step.pass == Pass::Forward && !std::mem::replace(&mut started[at], true);
            push(&mut filled, round, stage, step, Kind::of(step.pass, first), [needs, gives]);
            next[stage] += 1;
            left -= 1;
        }
        if left == 0 {
            break;
        }
        if left == before_round {
            return Err(Unschedulable::Deadlock { schedule });
        }
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Part;

    #[test]
    fn long_steps_are_kept_short() {
        for stages in 1..=16 {
            let interleaved = (2..=6).filter(|_| stages > 1).map(|parts| Schedule::Interleaved { parts });
            let others = [Schedule::OneForwardOneBackward, Schedule::ZeroBubbleH1];
            for schedule in interleaved.chain(others) {
                let rest = if matches!(schedule, Schedule::Interleaved { .. }) { 0 } else { stages / 2 };
                let pipeline = Pipeline::equal(schedule, stages, 20 * stages + rest, Part::default());
                let program = Program::new(&pipeline).unwrap();
                let whole = Program::unrolled(&pipeline).unwrap();
                assert!(program.ops.len() * 3 < whole.ops.len(), "{schedule:?} {stages}");
                assert_eq!(program.counts, whole.counts);
            }
        }
    }
}
