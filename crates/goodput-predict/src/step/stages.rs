//! What each stage does and holds, ready to be simulated. Parts that hold the same are reckoned once.

use goodput_model::architecture::TextModel;

use super::parts::{Holding, Units, holdings, parameters, parts_of_a_stage, position, sent_bytes};
use super::replicas::{Replicas, tied};
use super::{offload, optimizer, sharded};
use crate::Estimate;
use crate::kernel::{Dispatch, HostCost, KernelError, KernelTables};
use crate::layer::{Cost, Exchanges, PassCosts};
use crate::memory::{self, BlockActivations, RankParameters};
use crate::run::{Recompute, Run, Schedule};
use crate::schedule::{Exchange, Host, Part, Pipeline};

/// A part of the model.
#[derive(Debug, Clone)]
pub(super) struct Held {
    holding: Holding,
    pub costs: PassCosts,
    /// All passes together.
    pub all: Cost,
    pub activations: BlockActivations,
    /// Bytes of the block that holds most.
    pub block: f64,
    parameters: RankParameters,
}

/// One stage.
#[derive(Debug, Clone, Default)]
pub(super) struct Stage {
    /// Its parts, as indices into [`Stages::held`].
    pub parts: Vec<usize>,
    pub parameters: RankParameters,
    pub exchange: Exchange,
    pub optimizer: Estimate,
    pub has_head: bool,
    pub placeholders: f64,
}

/// All stages.
#[derive(Debug, Clone)]
pub(super) struct Stages {
    pub held: Vec<Held>,
    pub stages: Vec<Stage>,
    send_ns: f64,
}

impl Stages {
    pub fn new(
        run: &Run,
        text: &TextModel,
        tables: &KernelTables,
        exchanges: &Exchanges,
        replicas: &Replicas,
        units: &Units,
    ) -> Result<Self, KernelError> {
        let send_bytes = sent_bytes(run, text);
        let send_ns = exchanges.stage_ns(run, send_bytes).map_or(0.0, |time| time.estimate.ns);
        let tied_ns = tied(run, exchanges, text.width, text.vocabulary).map(|sum| sum.ns);
        let mut held: Vec<Held> = Vec::with_capacity(4);
        let of: Vec<usize> = holdings(run, text)
            .into_iter()
            .map(|holding| {
                if let Some(known) = held.iter().rposition(|known| known.holding == holding) {
                    return known;
                }
                held.push(Held::new(run, text, units, holding, send_bytes));
                held.len() - 1
            })
            .collect();
        let count = run.layout.pipeline as usize;
        let mut stages: Vec<Stage> = Vec::with_capacity(count);
        for index in 0..count {
            let parts = (0..parts_of_a_stage(run)).map(|part| of[position(run, index, part)]).collect();
            let is_end = index == 0 || index + 1 == count;
            let stage = match stages.last() {
                // The stages between the ends are mostly alike.
                Some(before) if before.parts == parts && index != 1 && !is_end => before.clone(),
                _ => Stage::new(run, text, tables, replicas, &held, parts, tied_ns.filter(|_| is_end))?,
            };
            stages.push(stage);
        }
        Ok(Self { held, stages, send_ns })
    }

    /// The parts of a stage.
    pub fn parts<'a>(&'a self, stage: &'a Stage) -> impl Iterator<Item = &'a Held> {
        stage.parts.iter().map(|part| &self.held[*part])
    }

    pub fn pipeline(&mut self, run: &Run, host: HostCost, micro_batches: usize) -> Pipeline {
        let parts: Vec<Part> = self
            .stages
            .iter()
            .flat_map(|stage| self.parts(stage))
            .map(|held| held.part(self.send_ns))
            .collect();
        let mut enqueue_us = [0.0; 2];
        for held in self.stages.iter().flat_map(|stage| self.parts(stage)) {
            let PassCosts { forward, recompute, input_gradient, weight_gradient, .. } = &held.costs;
            enqueue_us[0] += host.forward_us(&forward.host);
            enqueue_us[1] += host.forward_us(&recompute.host)
                + host.backward_us(&input_gradient.host)
                + host.backward_us(&weight_gradient.host);
        }
        let [forward_ns, backward_ns] = enqueue_us.map(|us| us * 1e3 / parts.len() as f64);
        let is_zero_bubble = matches!(run.layout.schedule, Schedule::ZeroBubbleH1 | Schedule::ZeroBubble2p);
        let waits = run.framework.blocking_sends && !is_zero_bubble && self.stages.len() > 1;
        // Where each pass takes longer than its kernels take to enqueue, the host is never behind.
        let never_behind = !is_zero_bubble
            && parts.iter().all(|part| {
                part.forward_ns >= forward_ns
                    && part.input_gradient_ns + part.weight_gradient_ns >= backward_ns
            });
        // Awaited launches stand in the passes themselves.
        let is_free = matches!(run.framework.dispatch, Dispatch::Graph | Dispatch::Blocking) || never_behind;
        let optimizer_ns = self.stages.iter().map(|stage| stage.optimizer.ns + host.step_us * 1e3).collect();
        Pipeline {
            schedule: run.layout.schedule,
            stages: self.stages.len(),
            micro_batches,
            parts,
            pairs: run.layout.pairs(),
            blocking_sends: waits,
            exchanges: self.stages.iter_mut().map(|stage| std::mem::take(&mut stage.exchange)).collect(),
            optimizer_ns,
            // The authors check for overflow after the update (post-validation).
            optimizers_wait: !is_zero_bubble,
            host: (!is_free).then_some(Host { forward_ns, backward_ns, waits_for_receives: waits }),
        }
    }
}

/// The run's host. Costs of dispatching were measured on hosts of H100s, whose kernels the guide counts 5 us for; the cluster says
/// what its own take.
pub(super) fn host(run: &Run) -> HostCost {
    const OF_H100: f64 = 5.0;
    let own = run.cluster.host.dispatch_us;
    let measured = HostCost::of(run.framework.dispatch);
    let cost = if own > 0.0 { measured.times_as_long(own / OF_H100) } else { measured };
    match &run.cluster.measured {
        Some(measured) => measured.host(run.framework.dispatch, cost),
        None => cost,
    }
}

impl Held {
    fn new(run: &Run, text: &TextModel, units: &Units, holding: Holding, send_bytes: f64) -> Self {
        let costs = units.of(&holding);
        let mut all = Cost::default();
        for pass in [&costs.forward, &costs.recompute, &costs.input_gradient, &costs.weight_gradient] {
            all.add_times(pass, 1.0);
        }
        let mut activations = BlockActivations::default();
        let mut block = 0.0_f64;
        let counts = holding.blocks.iter().zip(&holding.recomputed);
        for (blocks, (count, again)) in text.decoder.iter().zip(counts) {
            for (whole, times) in [(false, count - again), (true, *again)] {
                if times > 0 {
                    let of = BlockActivations::of(run, text, blocks, whole);
                    block = block.max(of.held);
                    activations.held += times as f64 * of.held;
                    activations.for_weights += times as f64 * of.for_weights;
                    activations.working = activations.working.max(of.working);
                }
            }
        }
        if holding.head {
            // The final norm's input and result.
            activations.held += 2.0 * send_bytes;
            // Modules of multi-token prediction: a block each, both normed streams, the head's input.
            let whole = run.recompute == Recompute::Full;
            if let Some(last) = text.decoder.last().filter(|_| text.multi_token_prediction > 0) {
                let of = BlockActivations::of(run, text, last, whole);
                let module = of.held + 5.0 * send_bytes + memory::logits(run, text);
                activations.held += text.multi_token_prediction as f64 * module;
            }
        }
        let parameters = parameters(run, text, &holding);
        Self { holding, costs, all, activations, block, parameters }
    }

    fn part(&self, send_ns: f64) -> Part {
        let PassCosts { forward, recompute, input_gradient, weight_gradient, hidden_ns } = &self.costs;
        Part {
            forward_ns: forward.ns,
            input_gradient_ns: recompute.ns + input_gradient.ns,
            weight_gradient_ns: weight_gradient.ns,
            hidden_ns: *hidden_ns,
            beside_backward_ns: None,
            send_forward_ns: send_ns,
            send_backward_ns: send_ns,
            activation: self.activations.held,
            weight_activation: self.activations.for_weights,
        }
    }
}

impl Stage {
    fn new(
        run: &Run,
        text: &TextModel,
        tables: &KernelTables,
        replicas: &Replicas,
        all: &[Held],
        parts: Vec<usize>,
        tied_ns: Option<f64>,
    ) -> Result<Self, KernelError> {
        let held: Vec<RankParameters> = parts.iter().map(|part| all[*part].parameters).collect();
        let mut parameters = RankParameters::default();
        held.iter().for_each(|of_a_part| parameters.add_times(*of_a_part, 1));
        let holds = |group: usize| parts.iter().any(|part| all[*part].holding.blocks[group] > 0);
        let groups = text.decoder.iter().enumerate().filter(|(group, _)| holds(*group));
        let matrices =
            parts.iter().flat_map(|part| sharded::matrices(run, text, &all[*part].holding)).collect();
        Ok(Self {
            parameters,
            exchange: replicas.exchange(run, &held, tied_ns),
            optimizer: offload::update(
                run,
                memory::state_bytes(run, parameters, replicas.shards()),
                optimizer::update(run, tables, parameters, replicas.shards(), matrices)?,
            ),
            has_head: parts.iter().any(|part| all[*part].holding.head),
            placeholders: memory::placeholders::of_blocks(run, text, groups.map(|(_, blocks)| blocks)),
            parts,
        })
    }
}
