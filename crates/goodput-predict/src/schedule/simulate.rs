//! Runs a merged list against the clocks of the stages.

use std::collections::BTreeMap;

use super::cost::{self, Cost};
use super::exchange::wait_for_parameters;
use super::picture::{Event, Picture, Ran};
use super::program::{Kind, NOTHING, Op, Program};
use super::timeline::{Timeline, peaks, settle};
use super::{Pipeline, Unschedulable, parts_of_a_stage, zero_bubble};
use crate::run::Schedule;

/// Buffers that a simulation needs, and the lists of the shapes it has seen.
#[derive(Debug, Default)]
pub struct Simulator {
    programs: BTreeMap<Shape, Program>,
    kept_ops: usize,
    costs: Vec<Cost>,
    state: State,
    ready: Vec<(f64, f64)>,
    timeline: Timeline,
}

/// Schedule, its parts, stages and micro-batches, whether it pairs.
type Shape = (u8, usize, usize, usize, bool);

/// Operations of all lists kept (12 bytes each); beyond, they are made anew.
const KEPT_OPS: usize = 2_000_000;

/// Clocks while a list runs.
#[derive(Debug, Default)]
pub(super) struct State {
    /// When each slot's content has arrived.
    arrived: Vec<f64>,
    /// Start and end of the last pass of each class.
    pub last: Vec<(f64, f64)>,
    pub stages: Vec<Clocks>,
    before: Vec<Clocks>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Clocks {
    /// When the stage is free.
    pub free: f64,
    /// When the host is.
    pub host: f64,
    /// Time waited for sends, for the host and for parameters.
    pub send: f64,
    pub host_bound: f64,
    pub gather: f64,
    /// When the stage's first input had arrived.
    pub first: f64,
}

/// When an operation waited and ran.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moments {
    /// Before it was ready: time that its input was being sent.
    pub under_way: f64,
    /// Stage and input are there.
    pub ready: f64,
    /// The host has enqueued it.
    pub start: f64,
    /// Of what follows, time that it waits for parameters.
    pub gather: f64,
    /// It has ended, and the host's enqueueing of it.
    pub end: f64,
    /// Its own send lets the stage go on.
    pub free: f64,
}

impl Simulator {
    /// Simulates one step.
    pub fn run(&mut self, pipeline: &Pipeline) -> Result<&Timeline, Unschedulable> {
        self.simulate(pipeline, true, &mut |_| {})?;
        Ok(&self.timeline)
    }

    /// Simulates one step and returns each of its passes and exchanges, stage by stage in the order of time.
    pub fn events(&mut self, pipeline: &Pipeline) -> Result<Vec<Event>, Unschedulable> {
        let mut events = Vec::new();
        self.simulate(pipeline, false, &mut |ran| events.extend(Event::of(pipeline, &ran)))?;
        events
            .sort_by(|one, other| one.stage.cmp(&other.stage).then(one.start_ns.total_cmp(&other.start_ns)));
        Ok(events)
    }

    /// Simulates one step and returns what every stage does at every moment of it.
    pub fn picture(&mut self, pipeline: &Pipeline) -> Result<Picture, Unschedulable> {
        let mut ran = Vec::new();
        self.simulate(pipeline, false, &mut |one| ran.push(one))?;
        Ok(Picture::new(pipeline, &self.costs, &self.state, &self.timeline, &ran))
    }

    fn simulate(
        &mut self,
        pipeline: &Pipeline,
        skip: bool,
        watch: &mut impl FnMut(Ran),
    ) -> Result<(), Unschedulable> {
        pipeline.check()?;
        cost::table(pipeline, &mut self.costs)?;
        let made;
        let program = if pipeline.schedule == Schedule::ZeroBubble2p {
            made = zero_bubble::plan(pipeline, &self.costs)?;
            &made
        } else {
            let shape = shape(pipeline);
            if !self.programs.contains_key(&shape) {
                let program = Program::new(pipeline)?;
                if self.kept_ops + program.ops.len() > KEPT_OPS {
                    self.programs.clear();
                    self.kept_ops = 0;
                }
                self.kept_ops += program.ops.len();
                self.programs.insert(shape, program);
            }
            &self.programs[&shape]
        };
        self.state.run(program, pipeline, &self.costs, skip, watch);
        settle(program, pipeline, &self.costs, &self.state, &mut self.ready, &mut self.timeline);
        peaks(program, &self.costs, &mut self.timeline.stages);
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn run_program(&mut self, program: &Program, pipeline: &Pipeline) -> &Timeline {
        cost::table(pipeline, &mut self.costs).unwrap();
        self.state.run(program, pipeline, &self.costs, false, &mut |_| {});
        settle(program, pipeline, &self.costs, &self.state, &mut self.ready, &mut self.timeline);
        peaks(program, &self.costs, &mut self.timeline.stages);
        &self.timeline
    }
}

fn shape(pipeline: &Pipeline) -> Shape {
    let schedule = match pipeline.schedule {
        Schedule::GPipe => 0,
        Schedule::OneForwardOneBackward => 1,
        Schedule::Interleaved { .. } => 2,
        Schedule::ZeroBubbleH1 => 3,
        Schedule::ZeroBubble2p => 4,
        Schedule::DualPipe => 5,
    };
    (schedule, parts_of_a_stage(pipeline.schedule), pipeline.stages, pipeline.micro_batches, pipeline.pairs)
}

impl State {
    fn run(
        &mut self,
        program: &Program,
        pipeline: &Pipeline,
        costs: &[Cost],
        skip: bool,
        watch: &mut impl FnMut(Ran),
    ) {
        self.arrived.clear();
        self.arrived.resize(program.slots, 0.0);
        self.last.clear();
        self.last.resize(costs.len(), (0.0, 0.0));
        self.stages.clear();
        self.stages.resize(pipeline.stages, Clocks { first: f64::INFINITY, ..Clocks::default() });
        let host = pipeline.host.is_some();
        let mut piece = |state: &mut Self, ops: &[Op], shift: usize| {
            let watch = &mut |op: &Op, moments: Moments| {
                watch(Ran {
                    class: op.class as usize,
                    micro_batch: program.micro_batch(op) + shift,
                    moments,
                });
            };
            if host {
                state.ops::<true>(ops, pipeline, costs, watch);
            } else {
                state.ops::<false>(ops, pipeline, costs, watch);
            }
        };
        let body = &program.ops[program.body.clone()];
        piece(self, &program.ops[..program.body.start], 0);
        let mut run = 0;
        while run < program.runs {
            if run > 0 {
                for op in body.iter().filter(|op| op.is_read()) {
                    self.arrived[(op.gives - program.stride) as usize] = self.arrived[op.gives as usize];
                }
            }
            self.before.clone_from(&self.stages);
            piece(self, body, run * pipeline.stages);
            run += 1;
            if skip && run < program.runs && self.skip(body, program.stride, program.runs - run) {
                break;
            }
        }
        piece(self, &program.ops[program.body.end..], program.runs.saturating_sub(1) * pipeline.stages);
    }

    /// The inner loop.
    fn ops<const HOST: bool>(
        &mut self,
        ops: &[Op],
        pipeline: &Pipeline,
        costs: &[Cost],
        watch: &mut impl FnMut(&Op, Moments),
    ) {
        let waits = pipeline.host.is_some_and(|host| host.waits_for_receives);
        let parts = parts_of_a_stage(pipeline.schedule);
        for op in ops {
            let class = op.class as usize;
            let cost = &costs[class];
            let stage = &mut self.stages[op.stage as usize];
            let arrival = self.arrived[op.needs as usize];
            let ready = stage.free.max(arrival);
            let mut under_way = ready - stage.free.max(arrival - cost.transfer_ns);
            let mut gather = 0.0;
            stage.send += under_way + cost.blocked_ns;
            let mut start = ready;
            if HOST {
                let behind = waits && op.needs != NOTHING;
                let host = if behind { stage.host.max(ready) } else { stage.host };
                start = ready.max(host);
                stage.host = host + cost.enqueue_ns;
            }
            let mut end = start + cost.duration_ns;
            if class % Kind::COUNT == Kind::FirstForward as usize {
                if stage.first.is_infinite() {
                    // Until its first input is there a stage has no part in the step.
                    stage.first = ready;
                    stage.send -= under_way;
                    under_way = 0.0;
                }
                if let Some(exchange) = pipeline.exchanges.get(op.stage as usize) {
                    let part = class / Kind::COUNT % parts;
                    let wait = wait_for_parameters(&exchange.gathers, part, start, cost.duration_ns);
                    stage.gather += wait;
                    gather = wait;
                    if HOST {
                        stage.host_bound -= wait;
                    }
                    end += wait;
                }
            }
            if HOST {
                end = end.max(stage.host);
                stage.host_bound += end - ready - cost.duration_ns;
            }
            stage.free = end + cost.blocked_ns;
            self.arrived[op.gives as usize] = end + cost.send_ns;
            self.last[class] = (start, end);
            watch(op, Moments { under_way, ready, start, gather, end, free: stage.free });
        }
    }

    /// Skips the rest of the body's runs when the last one only moved everything by one and the same time: each pass is a maximum of sums
    /// of times of this and the last run, so that all later runs do the same.
    fn skip(&mut self, body: &[Op], stride: u32, runs: usize) -> bool {
        let moved = |op: &Op| self.arrived[op.gives as usize] - self.arrived[(op.gives - stride) as usize];
        let read = || body.iter().filter(|op| op.is_read());
        let Some(by) = read().next().map(moved) else { return false };
        if !read().all(|op| moved(op) == by) {
            return false;
        }
        // The host keeps its distance, or falls behind without being waited for.
        let host = self.stages.iter().zip(&self.before).all(|(now, before)| {
            let host = now.host - before.host;
            host == by || (host < by && now.host_bound == before.host_bound)
        });
        if !host {
            return false;
        }
        let runs = runs as f64;
        for op in read() {
            self.arrived[op.gives as usize] += by * runs;
            self.arrived[(op.gives - stride) as usize] += by * runs;
        }
        for (start, end) in &mut self.last {
            *start += by * runs;
            *end += by * runs;
        }
        for (now, before) in self.stages.iter_mut().zip(&self.before) {
            now.free += by * runs;
            now.host += (now.host - before.host) * runs;
            now.send += (now.send - before.send) * runs;
            now.host_bound += (now.host_bound - before.host_bound) * runs;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::schedule::{Host, Part};

    fn both(pipeline: &Pipeline) -> [Timeline; 2] {
        let mut simulator = Simulator::default();
        let fast = simulator.run(pipeline).unwrap().clone();
        let whole = simulator.run_program(&Program::unrolled(pipeline).unwrap(), pipeline).clone();
        [fast, whole]
    }

    proptest! {
        /// The repeated piece and the jump over it change nothing, to the last bit.
        #[test]
        fn long_steps_are_those_written_out(
            kind in 0..3, stages in 1_usize..6, parts in 1_u32..4, groups in 1_usize..40, rest in 0_usize..5, equal in any::<bool>(),
            times in prop::collection::vec(prop::array::uniform4(0.0..1000.0_f64), 18), enqueue in prop::option::of(0.0..900.0_f64),
            waits_for_receives in any::<bool>(), blocking_sends in any::<bool>(), pairs in any::<bool>(),
        ) {
            let (schedule, stages, rest) = match kind {
                0 => (Schedule::OneForwardOneBackward, stages, rest),
                1 => (Schedule::Interleaved { parts }, stages + 1, 0),
                _ => (Schedule::ZeroBubbleH1, stages, rest),
            };
            let mut pipeline = Pipeline::equal(schedule, stages, groups * stages + rest, Part::default());
            for (at, part) in pipeline.parts.iter_mut().enumerate() {
                let [forward_ns, input_gradient_ns, weight_gradient_ns, send] = times[if equal { 0 } else { at }];
                *part = Part { forward_ns, input_gradient_ns, weight_gradient_ns, send_forward_ns: send / 4.0, send_backward_ns: send / 3.0,
                    hidden_ns: [forward_ns / 3.0, input_gradient_ns / 5.0], activation: 1.0, weight_activation: 0.5, ..Part::default() };
            }
            pipeline.blocking_sends = blocking_sends;
            pipeline.pairs = pairs && kind != 2;
            pipeline.host = enqueue.map(|ns| Host { forward_ns: ns, backward_ns: 1.7 * ns, waits_for_receives });
            let [fast, whole] = both(&pipeline);
            prop_assert_eq!(fast, whole);
        }
    }
}
