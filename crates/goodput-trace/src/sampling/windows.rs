//! Which windows: over the hours of the day and the phases of the run, slow steps among them.

use std::collections::BTreeMap;

const HOUR_NS: i64 = 3_600_000_000_000;

/// A step of the job's timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepTime {
    /// Its number.
    pub number: i64,
    /// Start in nanoseconds since 1970.
    pub start_ns: i64,
    /// Length in nanoseconds.
    pub duration_ns: i64,
    /// What the job did.
    pub phase: Phase,
}

/// A phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The first steps after a start.
    WarmUp,
    /// Neither of the others.
    Steady,
    /// Steps beside which a checkpoint is written.
    Checkpoint,
    /// Evaluation.
    Evaluation,
}

/// A window to trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenWindow {
    /// Hour of the day at which it begins, UTC.
    pub hour: u32,
    /// The step of the timeline that it is modelled on: of the same hour and phase. `None` without a timeline.
    pub like_step: Option<i64>,
    /// Steps that it holds, by the length of that step.
    pub steps: Option<u32>,
    /// Why.
    pub reason: WindowReason,
}

/// Why a window is traced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WindowReason {
    /// Hours spread over the day, away from the first minutes: nothing is known of the steps.
    Hour,
    /// A usual step of this hour and phase: its length is the median.
    Usual(Phase),
    /// The slowest steady step of this hour.
    Slow,
}

/// Chooses `count` windows of `window_ns`, by instant of the day.
pub(super) fn choose(count: u32, window_ns: i64, steps: &[StepTime]) -> Vec<ChosenWindow> {
    if steps.is_empty() {
        // The middles of as many equal parts of a day.
        let hour = |at: u32| (2 * at + 1) * 24 / (2 * count);
        let window = |at| ChosenWindow {
            hour: hour(at) % 24,
            like_step: None,
            steps: None,
            reason: WindowReason::Hour,
        };
        return (0..count).map(window).collect();
    }
    let mut strata: BTreeMap<(Phase, u32), Vec<StepTime>> = BTreeMap::new();
    for step in steps {
        strata.entry((step.phase, hour(step))).or_default().push(*step);
    }
    for steps in strata.values_mut() {
        steps.sort_by_key(|step| (step.duration_ns, step.number));
    }
    let window = |step: &StepTime, reason| ChosenWindow {
        hour: hour(step),
        like_step: Some(step.number),
        steps: u32::try_from(window_ns / step.duration_ns.max(1)).ok(),
        reason,
    };
    let usual = |phase: Phase| {
        let of_phase = strata.range((phase, 0)..=(phase, u32::MAX));
        let windows: Vec<ChosenWindow> = of_phase
            .filter_map(|(_, steps)| steps.get((steps.len() - 1) / 2))
            .map(|step| window(step, WindowReason::Usual(phase)))
            .collect();
        spread(windows)
    };
    let slow: Vec<ChosenWindow> = strata
        .range((Phase::Steady, 0)..=(Phase::Steady, u32::MAX))
        .filter_map(|(_, steps)| steps.last())
        .map(|step| window(step, WindowReason::Slow))
        .collect();
    // In turn one of each kind, so that few windows still differ in kind; steady steps first.
    let kinds = [
        usual(Phase::Steady),
        spread(slow),
        usual(Phase::Checkpoint),
        usual(Phase::Evaluation),
        usual(Phase::WarmUp),
    ];
    let longest = kinds.iter().map(Vec::len).max().unwrap_or(0);
    let in_turn = (0..longest).flat_map(|at| kinds.iter().filter_map(move |kind| kind.get(at)));
    let mut chosen: Vec<ChosenWindow> = Vec::new();
    for window in in_turn {
        let is_new = chosen.iter().all(|other| other.like_step != window.like_step);
        if is_new && chosen.len() < count as usize {
            chosen.push(*window);
        }
    }
    chosen.sort_by_key(|window| (window.hour, window.like_step));
    chosen
}

fn hour(step: &StepTime) -> u32 {
    u32::try_from(step.start_ns.div_euclid(HOUR_NS).rem_euclid(24)).unwrap_or(0)
}

/// The order in which any first few are spread over all: halves, then quarters.
fn spread<T: Copy>(items: Vec<T>) -> Vec<T> {
    let bits = items.len().next_power_of_two().trailing_zeros();
    let reversed = |at: u32| if bits == 0 { 0 } else { at.reverse_bits() >> (32 - bits) };
    (0..1 << bits).filter_map(|at| items.get(reversed(at) as usize).copied()).collect()
}
