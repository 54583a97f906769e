//! Where steps begin and end, and which device work is theirs.
//!
//! A step is known on the host; its device work runs later, by up to a step. So a step has two windows. Work belongs to
//! the step in which it was *launched*; the device window runs from the end of the device work of the steps before to
//! the end of the step's own, so that the windows of all steps, and what lies before the first and after the last, cover
//! the device's time once.

mod across;
mod evidence;
mod flags;
mod marks;
mod membership;
mod period;
#[cfg(test)]
mod tests;

pub use across::{MatchedBy, StepRow, StepsAcross};
pub use evidence::Evidence;
pub use period::Period;

use goodput_core::records::Symbol;

use crate::trace::RankTrace;

/// The steps of one rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    /// How the boundaries are known.
    pub evidence: Evidence,
    /// The period of the kernel sequence, when that is the evidence.
    pub period: Option<Period>,
    /// The steps in order; never empty for a trace with any event.
    pub steps: Vec<Step>,
    /// To what each piece of device work belongs, by its index.
    pub members: Vec<Member>,
    /// Whether work was assigned by when it ran, since the trace records no launch of any.
    pub by_device_time: bool,
    /// Device time of work that belongs to steps before the first one here, `[from, to)` in nanoseconds.
    pub before: Option<(i64, i64)>,
    /// Device time of work launched after the last step, `[from, to)` in nanoseconds.
    pub after: Option<(i64, i64)>,
    /// Pieces of work whose launch came before the capture: they belong to an earlier step and their latency is
    /// unknown.
    pub launched_before_capture: usize,
}

/// To what a piece of device work belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Member {
    /// A step before the first one of the trace.
    Before,
    /// The step of this index.
    Step(u32),
    /// Launched after the last step.
    After,
}

impl Member {
    /// The index of its step.
    pub fn step(self) -> Option<usize> {
        match self {
            Self::Step(step) => Some(step as usize),
            Self::Before | Self::After => None,
        }
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The number that the trace gives it.
    pub number: Option<i64>,
    /// What the trace calls it; [`Symbol::EMPTY`] when it does not.
    pub name: Symbol,
    /// The window on the host `[from, to)` in nanoseconds as recorded, cut where the next step begins. `None` when the
    /// boundaries are known on the device only.
    pub host: Option<(i64, i64)>,
    /// From the step's start to the start of the next, in nanoseconds, on the clock of the evidence: what is launched in
    /// it is the step's. It ends with the step for the last one.
    pub turn: (i64, i64),
    /// The window on the device `[from, to)` in nanoseconds. `None` for a step without device work.
    pub device: Option<(i64, i64)>,
    /// Pieces of device work.
    pub work: usize,
    /// Kernels and graph replays among them.
    pub kernels: usize,
    /// The first step of a capture: its start may be missing.
    pub may_lack_start: bool,
    /// The last step of a capture: its end may be missing.
    pub may_lack_end: bool,
    /// Fewer kernels than its siblings: some were lost, it is not fast. See [`Step::INCOMPLETE_BELOW`].
    pub incomplete: bool,
    /// One of the first steps, longer than the steady ones. See [`Step::WARM_UP_ABOVE`].
    pub warm_up: bool,
}

impl Steps {
    /// Finds the steps of a trace by the best evidence it has.
    pub fn of(trace: &RankTrace) -> Self {
        let found = marks::find(trace);
        let mut steps = membership::assign(trace, found);
        flags::set(&mut steps);
        steps
    }

    /// Indices of the device work of a step, in the order of the trace.
    pub fn work_of(&self, step: usize) -> impl Iterator<Item = usize> + '_ {
        let is_of = move |member: &Member| matches!(member, Member::Step(s) if *s as usize == step);
        self.members.iter().enumerate().filter(move |(_, member)| is_of(member)).map(|(index, _)| index)
    }
}

impl Step {
    /// Length in nanoseconds: on the device, else on the host.
    pub fn length_ns(&self) -> i64 {
        let (from_ns, to_ns) = self.device.unwrap_or(self.turn);
        to_ns - from_ns
    }
}
