//! The order of the passes on each stage.

use std::collections::VecDeque;

use crate::run::Schedule;

/// A pass of one part over one micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Pass {
    /// Forward.
    Forward,
    /// Both gradients in one go.
    Backward,
    /// Gradient of the input.
    InputGradient,
    /// Gradient of the weights.
    WeightGradient,
    /// Forward beside the whole backward that [`Pass::PairedBackward`] names next (DualPipe, and wherever pipelines pair).
    PairedForward,
    /// The backward of such a pair.
    PairedBackward,
}

/// One entry of a stage's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    pub pass: Pass,
    pub part: usize,
    pub micro_batch: usize,
}

fn step(pass: Pass, part: usize, micro_batch: usize) -> Step {
    Step { pass, part, micro_batch }
}

/// The stage and part that come before and after a part in the model.
pub fn positions(
    schedule: Schedule,
    stages: usize,
    stage: usize,
    part: usize,
) -> [Option<(usize, usize)>; 2] {
    let parts = super::parts_of_a_stage(schedule);
    let down = stage.checked_sub(1).map(|before| (before, part));
    let up = (stage + 1 < stages).then_some((stage + 1, part));
    if schedule == Schedule::DualPipe {
        return if part == 0 { [down, up] } else { [up, down] };
    }
    let wrapped_down = || part.checked_sub(1).map(|before| (stages - 1, before));
    let wrapped_up = || (part + 1 < parts).then_some((0, part + 1));
    [down.or_else(wrapped_down), up.or_else(wrapped_up)]
}

/// The order of one stage, where it does not depend on times.
pub(super) fn of_stage(
    schedule: Schedule,
    stages: usize,
    micro_batches: usize,
    pairs: bool,
    stage: usize,
    steps: &mut Vec<Step>,
) {
    steps.clear();
    match schedule {
        Schedule::GPipe => {
            steps.extend((0..micro_batches).map(|m| step(Pass::Forward, 0, m)));
            steps.extend((0..micro_batches).map(|m| step(Pass::Backward, 0, m)));
        }
        Schedule::OneForwardOneBackward => one_part(stages, micro_batches, pairs, stage, steps),
        Schedule::Interleaved { parts } => {
            interleaved(stages, parts as usize, micro_batches, pairs, stage, steps);
        }
        Schedule::ZeroBubbleH1 | Schedule::ZeroBubble2p => handcrafted(stages, micro_batches, stage, steps),
        Schedule::DualPipe => dual(stages, micro_batches, stage, steps),
    }
}

fn one_part(stages: usize, micro_batches: usize, pairs: bool, stage: usize, steps: &mut Vec<Step>) {
    let all = (0..micro_batches).map(|m| (0, m));
    // In pairs each stage on the way back does a forward too, so that twice as many are needed to fill the way.
    let warm_up = (stages - stage - 1) * if pairs { 2 } else { 1 };
    alternate(warm_up, micro_batches, pairs, steps, all.clone(), all);
}

/// So many forwards to warm up, then a forward and a backward in turn, then the rest of the backwards. In pairs the two run beside each
/// other, after one more forward.
fn alternate(
    warm_up: usize,
    count: usize,
    pairs: bool,
    steps: &mut Vec<Step>,
    forwards: impl Iterator<Item = (usize, usize)>,
    backwards: impl Iterator<Item = (usize, usize)>,
) {
    let forward = |(part, micro_batch)| step(Pass::Forward, part, micro_batch);
    let backward = |(part, micro_batch)| step(Pass::Backward, part, micro_batch);
    let (mut forwards, mut backwards) = (forwards.map(forward), backwards.map(backward));
    let warm_up = (warm_up + usize::from(pairs)).min(count);
    steps.extend(forwards.by_ref().take(warm_up));
    let paired = |step: Step, pass| Step { pass: if pairs { pass } else { step.pass }, ..step };
    for _ in warm_up..count {
        steps.extend(forwards.next().map(|step| paired(step, Pass::PairedForward)));
        steps.extend(backwards.next().map(|step| paired(step, Pass::PairedBackward)));
    }
    steps.extend(backwards);
}

/// Megatron's interleaved order (`forward_backward_pipelining_with_interleaving`): groups of p micro-batches go through part after part.
fn interleaved(
    stages: usize,
    parts: usize,
    micro_batches: usize,
    pairs: bool,
    stage: usize,
    steps: &mut Vec<Step>,
) {
    if parts == 1 {
        return one_part(stages, micro_batches, pairs, stage, steps);
    }
    let groups = (0..micro_batches).step_by(stages);
    let through = move |group: usize, part: usize| (group..group + stages).map(move |m| (part, m));
    let forwards =
        groups.clone().flat_map(move |group| (0..parts).flat_map(move |part| through(group, part)));
    let backwards = groups.flat_map(move |group| (0..parts).rev().flat_map(move |part| through(group, part)));
    let warm_up = (stages - stage - 1) * 2 + (parts - 1) * stages;
    alternate(warm_up, micro_batches * parts, pairs, steps, forwards, backwards);
}

/// ZB-H1 (arXiv:2401.10241, 2.1): 1F1B, with weight gradients so many micro-batches late that every stage holds the same number.
fn handcrafted(stages: usize, micro_batches: usize, stage: usize, steps: &mut Vec<Step>) {
    let warm_up = (stages - stage - 1).min(micro_batches);
    let mut weights = 0;
    for k in 0..micro_batches + warm_up {
        if k < micro_batches {
            steps.push(step(Pass::Forward, 0, k));
        }
        let Some(k) = k.checked_sub(warm_up) else { continue };
        steps.push(step(Pass::InputGradient, 0, k));
        if k >= stage {
            steps.push(step(Pass::WeightGradient, 0, weights));
            weights += 1;
        }
    }
    steps.extend((weights..micro_batches).map(|m| step(Pass::WeightGradient, 0, m)));
}

/// DualPipe's eight phases (DeepSeek-V3, arXiv:2412.19437, 3.2.1; `deepseek-ai/DualPipe`). `near` is the direction whose start is closer to
/// the stage.
fn dual(stages: usize, micro_batches: usize, stage: usize, steps: &mut Vec<Step>) {
    let half = stages / 2;
    let rank = stage.min(stages - 1 - stage);
    let (near, far) = if stage < half { (0, 1) } else { (1, 0) };
    let mut dual = Dual { steps, next: [[0; 2]; 2], late: VecDeque::new(), each: micro_batches / 2 };
    for _ in 0..(half - rank - 1) * 2 {
        dual.forward(near);
    }
    for _ in 0..=rank {
        dual.forward(near);
        dual.forward(far);
    }
    for _ in 0..half - rank - 1 {
        dual.input_gradient(far);
        dual.weight_gradient();
        dual.forward(far);
    }
    for turn in 0..micro_batches / 2 + rank + 1 - stages {
        if turn == 0 && rank + 1 == half {
            dual.forward(near);
            dual.backward(far);
        } else {
            dual.pair(near, far);
        }
        dual.pair(far, near);
    }
    for _ in 0..half - rank - 1 {
        dual.backward(far);
        dual.pair(far, near);
    }
    let middle = rank.div_ceil(2);
    let mut split = false;
    for turn in 0..=rank {
        split |= turn == middle && rank % 2 == 1;
        dual.either_backward(far, split);
        split |= turn == middle && rank.is_multiple_of(2);
        dual.either_backward(near, split);
    }
    for _ in 0..half - rank - 1 {
        dual.weight_gradient();
        dual.input_gradient(near);
    }
    for _ in 0..=rank {
        dual.weight_gradient();
    }
}

struct Dual<'a> {
    steps: &'a mut Vec<Step>,
    /// Next micro-batch of each direction, forward and backward.
    next: [[usize; 2]; 2],
    /// Weight gradients put off, oldest first.
    late: VecDeque<(usize, usize)>,
    /// Micro-batches of each direction.
    each: usize,
}

impl Dual<'_> {
    fn push(&mut self, pass: Pass, direction: usize) -> usize {
        let backward = !matches!(pass, Pass::Forward | Pass::PairedForward);
        let count = &mut self.next[direction][usize::from(backward)];
        let micro_batch = direction * self.each + *count;
        *count += 1;
        self.steps.push(step(pass, direction, micro_batch));
        micro_batch
    }

    fn forward(&mut self, direction: usize) {
        self.push(Pass::Forward, direction);
    }

    fn backward(&mut self, direction: usize) {
        self.push(Pass::Backward, direction);
    }

    fn input_gradient(&mut self, direction: usize) {
        let micro_batch = self.push(Pass::InputGradient, direction);
        self.late.push_back((direction, micro_batch));
    }

    fn either_backward(&mut self, direction: usize, split: bool) {
        if split { self.input_gradient(direction) } else { self.backward(direction) }
    }

    fn weight_gradient(&mut self) {
        if let Some((part, micro_batch)) = self.late.pop_front() {
            self.steps.push(step(Pass::WeightGradient, part, micro_batch));
        }
    }

    fn pair(&mut self, forward: usize, backward: usize) {
        self.push(Pass::PairedForward, forward);
        self.push(Pass::PairedBackward, backward);
    }
}
