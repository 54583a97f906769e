//! ZB-2p: weight gradients where they fill gaps, within twice the activations of 1F1B (arXiv:2401.10241, 3.1).
//!
//! The order depends on the times, so that it is planned for each pipeline: the stage that is behind all others decides what it does
//! next, by what has arrived and what it may hold. The plan takes the better of two warm-ups, with and without the forward that
//! would delay the first backward.

use super::Unschedulable;
use super::cost::Cost;
use super::order::{self, Pass, Step};
use super::program::{Kind, Program};
use super::{Pipeline, parts_of_a_stage};

pub(super) fn plan(pipeline: &Pipeline, costs: &[Cost]) -> Result<Program, Unschedulable> {
    debug_assert_eq!(parts_of_a_stage(pipeline.schedule), 1);
    let best = [false, true]
        .into_iter()
        .filter_map(|eager| Planner::new(pipeline, costs, eager).plan())
        .min_by(|one, other| one.0.total_cmp(&other.0));
    let orders = best.map_or_else(
        || {
            let mut orders = vec![Vec::new(); pipeline.stages];
            for (stage, steps) in orders.iter_mut().enumerate() {
                order::of_stage(
                    pipeline.schedule,
                    pipeline.stages,
                    pipeline.micro_batches,
                    false,
                    stage,
                    steps,
                );
            }
            orders
        },
        |(_, orders)| orders,
    );
    Program::of_orders(pipeline.schedule, &orders, pipeline.micro_batches)
}

/// What a stage has done and seen so far.
#[derive(Debug, Clone, Default)]
struct Stage {
    now: f64,
    /// Forwards, input gradients and weight gradients done.
    done: [usize; 3],
    /// When inputs and gradients of each micro-batch arrived, as far as known.
    arrived: [Vec<f64>; 2],
    held: f64,
    limit: f64,
    /// Idle since its first pass.
    idle: f64,
    first: f64,
    after_forward: bool,
    steps: Vec<Step>,
    forward: Cost,
    input: Cost,
    weight: Cost,
}

struct Planner {
    stages: Vec<Stage>,
    micro_batches: usize,
    /// Whether another forward may delay the first backward.
    eager: bool,
    /// Earliest arrival of the first gradient at each stage.
    first_gradient: Vec<f64>,
}

/// What a stage does next.
enum Choice {
    Run(Pass),
    Wait(f64),
}

impl Planner {
    fn new(pipeline: &Pipeline, costs: &[Cost], eager: bool) -> Self {
        let micro_batches = pipeline.micro_batches;
        let of = |kind: Kind, stage: usize| costs[kind.class(stage)];
        let mut stages: Vec<Stage> = (0..pipeline.stages)
            .map(|stage| {
                let forward = of(Kind::Forward, stage);
                Stage {
                    arrived: [Vec::with_capacity(micro_batches), Vec::with_capacity(micro_batches)],
                    // Equal activations give twice those that stage 0 holds in 1F1B.
                    limit: 2.0 * pipeline.stages as f64 * forward.held,
                    first: f64::INFINITY,
                    forward,
                    input: of(Kind::InputGradient, stage),
                    weight: of(Kind::WeightGradient, stage),
                    ..Stage::default()
                }
            })
            .collect();
        stages[0].arrived[0].resize(micro_batches, 0.0);
        let mut at: f64 = stages.iter().map(|s| s.forward.transfer_ns + s.forward.duration_ns).sum();
        let mut first_gradient = vec![0.0; stages.len()];
        for (stage, first) in stages.iter().zip(&mut first_gradient).rev() {
            *first = at + stage.input.transfer_ns;
            at = *first + stage.input.duration_ns;
        }
        Self { stages, micro_batches, eager, first_gradient }
    }

    /// Time of the longest stage, and the orders. `None` when stages without any time keep each other waiting.
    fn plan(mut self) -> Option<(f64, Vec<Vec<Step>>)> {
        let patience = 64 * self.micro_batches * self.stages.len() + 1024;
        for _ in 0..patience {
            let behind = (0..self.stages.len())
                .filter(|&s| self.stages[s].done[2] < self.micro_batches)
                .min_by(|&one, &other| self.stages[one].now.total_cmp(&self.stages[other].now));
            let Some(at) = behind else {
                let longest = self.stages.iter().map(|s| s.now - s.first).fold(0.0, f64::max);
                return Some((longest, self.stages.into_iter().map(|s| s.steps).collect()));
            };
            match self.choose(at) {
                Choice::Run(pass) => self.run(at, pass),
                Choice::Wait(until) => {
                    let stage = &mut self.stages[at];
                    if stage.first.is_finite() {
                        stage.idle += until - stage.now;
                    }
                    stage.now = until;
                }
            }
        }
        None
    }

    /// Earliest time at which the next input (0) or gradient (1) can arrive; infinite when there is none to come.
    fn next(&self, at: usize, which: usize) -> f64 {
        let stage = &self.stages[at];
        let k = stage.done[which];
        if k == self.micro_batches {
            return f64::INFINITY;
        }
        if let Some(&known) = stage.arrived[which].get(k) {
            return known;
        }
        let from = if which == 0 { at.checked_sub(1) } else { Some(at + 1) };
        let Some(from) = from.and_then(|from| self.stages.get(from)) else { return f64::INFINITY };
        let soonest = from.now
            + if which == 0 {
                from.forward.duration_ns + stage.forward.transfer_ns
            } else {
                from.input.duration_ns + stage.input.transfer_ns
            };
        if which == 1 && k == 0 { soonest.max(self.first_gradient[at]) } else { soonest }
    }

    fn choose(&self, at: usize) -> Choice {
        let stage = &self.stages[at];
        let [forwards, inputs, weights] = stage.done;
        let gradient = self.next(at, 1).max(if inputs < forwards { 0.0 } else { f64::INFINITY });
        let input = self.next(at, 0);
        let room = stage.held + stage.forward.held <= stage.limit;
        let known = |which: usize| stage.done[which] < stage.arrived[which].len();
        let gradient_here = inputs < forwards && known(1) && gradient <= stage.now;
        let input_here = known(0) && input <= stage.now;
        let warming_up = inputs == 0;
        let forward_fits = if warming_up {
            let end = stage.now + stage.forward.duration_ns;
            forwards == 0 || end <= gradient || (self.eager && stage.now < gradient)
        } else {
            !(gradient_here && stage.after_forward)
        };
        if input_here && room && forward_fits {
            return Choice::Run(Pass::Forward);
        }
        if gradient_here {
            return Choice::Run(Pass::InputGradient);
        }
        let next = if room { gradient.min(input.max(stage.now)) } else { gradient };
        if weights < inputs {
            let gap = next - stage.now;
            let most_idle = self.stages.iter().map(|s| s.idle).fold(0.0, f64::max);
            let needs_room = !room && input_here;
            if needs_room || gap >= stage.weight.duration_ns || stage.idle + gap > most_idle {
                return Choice::Run(Pass::WeightGradient);
            }
        }
        // Held up by memory or by the warm-up's end: the gradient is what comes next.
        let until = if next > stage.now { next } else { gradient };
        Choice::Wait(if until.is_finite() { until.max(stage.now.next_up()) } else { stage.now.next_up() })
    }

    fn run(&mut self, at: usize, pass: Pass) {
        let stage = &mut self.stages[at];
        let (which, cost) = match pass {
            Pass::Forward => (0, stage.forward),
            Pass::InputGradient => (1, stage.input),
            _ => (2, stage.weight),
        };
        stage.first = stage.first.min(stage.now);
        stage.steps.push(Step { pass, part: 0, micro_batch: stage.done[which] });
        stage.done[which] += 1;
        stage.now += cost.duration_ns;
        stage.held += cost.held;
        let end = stage.now;
        match pass {
            Pass::Forward => {
                stage.after_forward = true;
                // The last stage has its gradient at once.
                match self.stages.get_mut(at + 1) {
                    Some(next) => next.arrived[0].push(end + next.forward.transfer_ns),
                    None => self.stages[at].arrived[1].push(end),
                }
            }
            Pass::InputGradient => {
                stage.after_forward = false;
                if let Some(before) = at.checked_sub(1) {
                    let transfer = self.stages[before].input.transfer_ns;
                    self.stages[before].arrived[1].push(end + transfer);
                }
            }
            _ => {}
        }
    }
}
