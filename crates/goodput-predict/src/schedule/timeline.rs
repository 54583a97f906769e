//! Where each stage's time goes.

use super::cost::{Cost, round};
use super::exchange::reduced;
use super::program::{Kind, Program};
use super::simulate::State;
use super::{Pipeline, parts_of_a_stage};
use crate::run::Schedule;

/// Where the time of one stage goes. The parts add up to the step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StageTime {
    /// Forward passes.
    pub forward_ns: f64,
    /// Gradients of inputs and weights, with what is computed again.
    pub backward_ns: f64,
    /// The device waits for kernels that the host has not yet enqueued.
    pub host_ns: f64,
    /// The stage waits for its own send, or for a transfer that is under way.
    pub send_ns: f64,
    /// First forwards wait for parameters.
    pub gather_ns: f64,
    /// Gradients are still being reduced when the last backward has ended.
    pub reduce_ns: f64,
    /// Optimizer.
    pub optimizer_ns: f64,
    /// Nothing to do: other stages have not come so far.
    pub bubble_ns: f64,
    /// What forwards beside backwards took less than one after the other; not a part of the step.
    pub hidden_ns: f64,
    /// Most activations held at once, in the unit of [`Part::activation`](super::Part::activation).
    pub peak_activation: f64,
}

impl StageTime {
    /// All of it, which is the step.
    pub fn total_ns(&self) -> f64 {
        self.known_ns() + self.bubble_ns
    }

    fn known_ns(&self) -> f64 {
        self.forward_ns
            + self.backward_ns
            + self.host_ns
            + self.send_ns
            + self.gather_ns
            + self.reduce_ns
            + self.optimizer_ns
    }
}

/// A simulated step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Timeline {
    /// From the start of a step to the start of the next.
    pub step_ns: f64,
    /// Each stage's share of it.
    pub stages: Vec<StageTime>,
}

impl Timeline {
    /// Share of the step in which the busiest stage is idle: what the schedule itself costs.
    pub fn bubble_share(&self) -> f64 {
        let idle = self.stages.iter().map(|stage| stage.bubble_ns).fold(f64::INFINITY, f64::min);
        if self.step_ns > 0.0 { idle / self.step_ns } else { 0.0 }
    }
}

/// Exchanges, optimizer, the step and what is left of it.
pub(super) fn settle(
    program: &Program,
    pipeline: &Pipeline,
    costs: &[Cost],
    state: &State,
    ready: &mut Vec<(f64, f64)>,
    timeline: &mut Timeline,
) {
    let parts = parts_of_a_stage(pipeline.schedule);
    timeline.stages.clear();
    let (mut all_done, mut longest) = (0.0_f64, 0.0_f64);
    for (at, stage) in state.stages.iter().enumerate() {
        let mut time = StageTime {
            host_ns: stage.host_bound,
            send_ns: stage.send,
            gather_ns: stage.gather,
            optimizer_ns: pipeline.optimizer_ns.get(at).copied().map_or(0.0, round),
            ..StageTime::default()
        };
        for part in at * parts..(at + 1) * parts {
            let total = |kind: Kind| {
                let class = kind.class(part);
                f64::from(program.counts[class]) * costs[class].duration_ns
            };
            time.forward_ns += total(Kind::Forward) + total(Kind::FirstForward);
            time.backward_ns +=
                total(Kind::Backward) + total(Kind::InputGradient) + total(Kind::WeightGradient);
            if pipeline.schedule != Schedule::DualPipe {
                let saved = |alone: Kind, paired: Kind| {
                    let [alone, class] = [alone, paired].map(|kind| kind.class(part));
                    f64::from(program.counts[class]) * (costs[alone].duration_ns - costs[class].duration_ns)
                };
                time.forward_ns += total(Kind::PairedForward);
                time.backward_ns += total(Kind::PairedBackward);
                time.hidden_ns +=
                    saved(Kind::Forward, Kind::PairedForward) + saved(Kind::Backward, Kind::PairedBackward);
                continue;
            }
            // A pair is told apart as its passes would be alone.
            let pairs = total(Kind::PairedForward);
            let other = at * parts + (parts - 1 - part % parts);
            let (forward, backward) = (
                costs[Kind::Forward.class(part)].duration_ns,
                costs[Kind::Backward.class(other)].duration_ns,
            );
            let share = if forward > 0.0 { forward / (forward + backward) } else { 0.0 };
            let count = f64::from(program.counts[Kind::PairedForward.class(part)]);
            time.hidden_ns += count * (forward + backward) - pairs;
            time.forward_ns += round(pairs * share);
            time.backward_ns += pairs - round(pairs * share);
        }
        let reduced = pipeline.exchanges.get(at).map_or(0.0, |exchange| {
            reduced(&exchange.reductions, |part| last_backward(state, parts, at, part), ready)
        });
        time.reduce_ns = (reduced - stage.free).max(0.0);
        let done = stage.free + time.reduce_ns;
        all_done = all_done.max(done);
        longest = longest.max(done + time.optimizer_ns - stage.first);
        timeline.stages.push(time);
    }
    let slowest = timeline.stages.iter().map(|stage| stage.optimizer_ns).fold(0.0, f64::max);
    timeline.step_ns = if pipeline.optimizers_wait { all_done + slowest } else { longest };
    for stage in &mut timeline.stages {
        stage.bubble_ns = timeline.step_ns - stage.known_ns();
    }
}

/// End and length of the last backward of a stage's part. Where the host is late its kernels, and so its gradients, come as the host
/// enqueues them.
pub(super) fn last_backward(state: &State, parts: usize, stage: usize, part: usize) -> (f64, f64) {
    [Kind::Backward, Kind::WeightGradient, Kind::PairedBackward]
        .map(|kind| kind.class(stage * parts + part.min(parts - 1)))
        .into_iter()
        .map(|class| {
            let (start, end) = state.last[class];
            (end, end - start)
        })
        .fold((0.0, 0.0), |best, next| if next.0 > best.0 { next } else { best })
}

/// The most activations that each stage holds. The body leaves as many as it finds.
pub(super) fn peaks(program: &Program, costs: &[Cost], stages: &mut [StageTime]) {
    let mut held = vec![0.0; stages.len()];
    for op in &program.ops {
        let at = op.stage as usize;
        held[at] += costs[op.class as usize].held;
        stages[at].peak_activation = stages[at].peak_activation.max(held[at]);
    }
}
