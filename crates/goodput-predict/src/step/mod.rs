//! The step of a run, put together: times of layers, the pipeline as a simulated schedule, replicas, the optimizer, the host as
//! a second clock, memory.
//!
//! ```
//! use std::path::Path;
//! use goodput_predict::run::Run;
//! use goodput_predict::step::Predictor;
//! let run = Run::from_yaml("run.yaml", "
//! model: llama3.1-8b
//! cluster: DGX H100
//! devices: 8
//! layout: {dp: 8, zero: 3, overlap_gradients: true, overlap_parameters: true}
//! batch: {sequence: 8192, micro: 1, global: 8}
//! recompute: full
//! framework: torchtitan
//! ", Path::new("."))?;
//! let prediction = Predictor::new(&run.cluster)?.predict(&run)?;
//! assert!((prediction.terms.sum() / prediction.step_ns - 1.0).abs() < 1e-9);
//! assert!((0.2..0.6).contains(&prediction.mfu));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod efficiency;
pub mod guide;
mod optimizer;
mod parts;
mod prediction;
mod replicas;
mod sharded;
mod straggler;

use goodput_model::architecture::TextModel;
use goodput_model::device::{Catalogue, Device, UnknownDevice};
use goodput_model::{ArchitectureError, BatchError};

use crate::cluster::Cluster;
use crate::kernel::{Dispatch, HostCost, KernelError, KernelTables};
use crate::layer::{Cost, Layers, PassCosts, Term, Terms};
use crate::memory::{self, Activity, BlockActivations, Memory, RankParameters};
use crate::run::{Run, RunError, Schedule};
use crate::schedule::{Host, Part, Pipeline, Simulator, Unschedulable};

use guide::GuideStep;
use parts::{Holding, Units};
use replicas::Replicas;

pub use prediction::{Prediction, StagePrediction};
pub use straggler::expected_largest;

/// Why a run has no prediction.
#[derive(Debug, thiserror::Error)]
pub enum PredictError {
    /// The run itself.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The device is not known.
    #[error(transparent)]
    Device(#[from] UnknownDevice),
    /// A kernel has no time.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The schedule cannot be.
    #[error("layout.schedule: {0}")]
    Schedule(#[from] Unschedulable),
    /// The model's FLOPs cannot be counted.
    #[error(transparent)]
    Architecture(#[from] ArchitectureError),
    /// The batch cannot be counted.
    #[error(transparent)]
    Batch(#[from] BatchError),
}

/// Predicts runs on one device. Keeps tables and buffers, no answers.
#[derive(Debug)]
pub struct Predictor {
    device: Device,
    tables: KernelTables,
    simulator: Simulator,
    straggler_deviation: f64,
}

impl Predictor {
    /// For the cluster's device, with the shipped tables.
    ///
    /// # Errors
    /// [`PredictError::Device`] if the catalogue does not know it.
    pub fn new(cluster: &Cluster) -> Result<Self, PredictError> {
        let device = Catalogue::built_in().find(&cluster.device)?;
        Ok(Self::with_tables(device.clone(), KernelTables::new(device)))
    }

    /// With tables of one's own.
    #[must_use]
    pub fn with_tables(device: Device, tables: KernelTables) -> Self {
        Self { device, tables, simulator: Simulator::default(), straggler_deviation: 0.0 }
    }

    /// With devices whose speeds differ by this relative standard deviation (normal): the step waits for the slowest.
    #[must_use]
    pub fn with_stragglers(self, deviation: f64) -> Self {
        Self { straggler_deviation: deviation.max(0.0), ..self }
    }

    /// The prediction of a run on this device.
    ///
    /// # Errors
    /// [`PredictError`] names what does not fit.
    pub fn predict(&mut self, run: &Run) -> Result<Prediction, PredictError> {
        let text = run.text(RUN)?;
        let micro_batches = run.micro_batches().ok_or_else(|| RunError::Field {
            label: RUN.to_owned(),
            field: "batch.global".to_owned(),
            message: "does not split into micro-batches".to_owned(),
        })?;
        let layers = Layers::new(run, &self.tables);
        let replicas = Replicas::new(run);
        let mut units = Units::new(run, text, &layers)?;
        sharded::add_exchanges(run, text, &self.tables, &replicas, &mut units);
        let holdings = parts::holdings(run, text);
        let stages = self.stages(run, text, &layers, &replicas, &units, &holdings)?;
        let pipeline = pipeline(run, &stages, micro_batches as usize);
        let timeline = self.simulator.run(&pipeline)?;
        let step_host_ns = host(run).step_us * 1e3;
        let mut prediction = Prediction {
            step_ns: timeline.step_ns,
            deviation: 0.0,
            basis: crate::Basis::UserTable,
            terms: Terms::default(),
            stages: Vec::with_capacity(stages.len()),
            recompute_ns: 0.0,
            tokens_per_second_per_device: 0.0,
            mfu: 0.0,
            hfu: 0.0,
            memory: Memory::default(),
            guide: GuideStep::default(),
        };
        // Each of DualPipe's two parts of a stage sees every other micro-batch.
        let passed = if run.layout.schedule == Schedule::DualPipe { 0.5 } else { 1.0 } * micro_batches as f64;
        let (mut busiest, share) = (Cost::default(), 1.0 / stages.len() as f64);
        for (stage, time) in stages.iter().zip(&timeline.stages) {
            let mut busy = Cost::default();
            for costs in &stage.costs {
                for pass in [&costs.forward, &costs.recompute, &costs.input_gradient, &costs.weight_gradient]
                {
                    busy.add_times(pass, passed);
                }
                prediction.recompute_ns += costs.recompute.ns * passed * share;
            }
            let mut terms = busy.terms;
            terms.add(Term::Launch, time.host_ns + step_host_ns);
            terms.add(Term::PipelineExchange, time.send_ns);
            terms.add(Term::DataExchange, time.gather_ns + time.reduce_ns);
            terms.add(Term::Optimizer, time.optimizer_ns - step_host_ns);
            terms.add(Term::Bubble, time.bubble_ns);
            prediction.terms.add_times(&terms, share);
            prediction.stages.push(StagePrediction { terms, activation_bytes: time.peak_activation });
            if busy.ns > busiest.ns {
                busiest = busy;
            }
        }
        prediction.deviation = if busiest.ns > 0.0 { busiest.spread_ns / busiest.ns } else { 0.0 };
        prediction.basis = busiest.basis;
        let data_ns = stages[0].exchange.reductions.iter().map(|bucket| bucket.ns).sum();
        let count = text.decoder.iter().map(|blocks| blocks.blocks).sum();
        prediction.guide = GuideStep::new(run, &busiest.terms, data_ns, count);
        prediction.memory = self.memory(run, text, &stages, &replicas, &prediction.stages);
        straggler::add(&mut prediction, run.devices, self.straggler_deviation);
        efficiency::fill(&mut prediction, run, &self.device)?;
        Ok(prediction)
    }

    fn stages(
        &self,
        run: &Run,
        text: &TextModel,
        layers: &Layers<'_>,
        replicas: &Replicas,
        units: &Units,
        holdings: &[Holding],
    ) -> Result<Vec<Stage>, PredictError> {
        let count = run.layout.pipeline as usize;
        let parts = parts::parts_of_a_stage(run);
        let tied = replicas::tied_ns(run, layers.exchanges(), text.width, text.vocabulary);
        let kept: Vec<[BlockActivations; 2]> = text
            .decoder
            .iter()
            .map(|blocks| [false, true].map(|whole| BlockActivations::of(run, text, blocks, whole)))
            .collect();
        let values = run.batch.micro * run.batch.sequence / u64::from(run.layout.context) * text.width;
        let split = if run.layout.sequence_parallel { f64::from(run.layout.tensor) } else { 1.0 };
        let bytes = values as f64 * f64::from(run.precision.activation_bytes) / split;
        let send_ns = layers.exchanges().stage_ns(run, bytes).map_or(0.0, |time| time.estimate.ns);
        (0..count)
            .map(|stage| {
                let mut result = Stage { send_ns, ..Stage::default() };
                let mut held = Vec::with_capacity(parts);
                for part in 0..parts {
                    let holding = &holdings[parts::position(run, stage, part)];
                    result.costs.push(units.of(holding));
                    held.push(parts::parameters(run, text, holding));
                    let mut activations = BlockActivations::default();
                    let blocks = kept.iter().zip(&holding.blocks).zip(&holding.recomputed);
                    for (([plain, whole], count), again) in blocks {
                        for (of, times) in [(plain, (count - again) as f64), (whole, *again as f64)] {
                            activations.held += times * of.held;
                            activations.for_weights += times * of.for_weights;
                            if times > 0.0 {
                                activations.working = activations.working.max(of.working);
                            }
                        }
                    }
                    if holding.head {
                        // The final norm's input and result.
                        activations.held += 2.0 * bytes;
                        result.logits = memory::logits(run, text);
                    }
                    result.activations.push(activations);
                }
                let held_groups = text.decoder.iter().enumerate().filter(|(group, _)| {
                    (0..parts).any(|part| holdings[parts::position(run, stage, part)].blocks[*group] > 0)
                });
                result.placeholders =
                    memory::placeholders::of_blocks(run, text, held_groups.map(|(_, blocks)| blocks));
                let is_end = stage == 0 || stage + 1 == count;
                result.exchange = replicas.exchange(run, &held, tied.filter(|_| is_end));
                for of_a_part in &held {
                    result.parameters.add_times(*of_a_part, 1);
                }
                let matrices = sharded::matrices(run, text, &holdings[parts::position(run, stage, 0)]);
                result.optimizer =
                    optimizer::update(run, &self.tables, result.parameters, replicas.shards(), &matrices)?;
                Ok(result)
            })
            .collect()
    }

    fn memory(
        &self,
        run: &Run,
        text: &TextModel,
        stages: &[Stage],
        replicas: &Replicas,
        predicted: &[StagePrediction],
    ) -> Memory {
        let largest = text.decoder.iter().map(|blocks| RankParameters::of_block(run, text, blocks));
        let largest = largest.max_by_key(|held| held.total()).unwrap_or_default();
        let of_stage = |(index, (stage, predicted)): (usize, (&Stage, &StagePrediction))| {
            let working = stage.activations.iter().map(|part| part.working).fold(0.0, f64::max);
            let activity = Activity {
                activations: predicted.activation_bytes,
                placeholders: stage.placeholders,
                working,
                head: if stage.logits > 0.0 { memory::placeholders::of_head(run, text) } else { 0.0 },
                logits: stage.logits,
            };
            Memory::of_stage(run, index, stage.parameters, largest, replicas.shards(), activity)
        };
        let all = stages.iter().zip(predicted).enumerate().map(of_stage);
        let most = all.max_by(|one, other| one.total().total_cmp(&other.total())).unwrap_or_default();
        Memory { capacity: memory::capacity(&self.device), ..most }
    }
}

/// How an error calls a run that is no file.
const RUN: &str = "run";

/// One stage, ready to be simulated.
#[derive(Debug, Clone, Default)]
struct Stage {
    costs: Vec<PassCosts>,
    activations: Vec<BlockActivations>,
    parameters: RankParameters,
    exchange: crate::schedule::Exchange,
    optimizer: crate::Estimate,
    send_ns: f64,
    logits: f64,
    placeholders: f64,
}

fn host(run: &Run) -> HostCost {
    HostCost::of(run.framework.dispatch)
}

fn pipeline(run: &Run, stages: &[Stage], micro_batches: usize) -> Pipeline {
    let costs = || stages.iter().flat_map(|stage| &stage.costs);
    let parts = stages
        .iter()
        .flat_map(|stage| stage.costs.iter().zip(&stage.activations).map(move |pair| (stage, pair)))
        .map(|(stage, (costs, activations))| Part {
            forward_ns: costs.forward.ns,
            input_gradient_ns: costs.recompute.ns + costs.input_gradient.ns,
            weight_gradient_ns: costs.weight_gradient.ns,
            beside_backward_ns: None,
            send_forward_ns: stage.send_ns,
            send_backward_ns: stage.send_ns,
            activation: activations.held,
            weight_activation: activations.for_weights,
        })
        .collect();
    let host = host(run);
    let per_part = 1e3 / costs().count() as f64;
    let sum = |launches: fn(&PassCosts) -> f64| costs().map(launches).sum::<f64>();
    let forward = sum(|costs| costs.forward.launches);
    let again = sum(|costs| costs.recompute.launches);
    let backward = sum(|costs| costs.input_gradient.launches + costs.weight_gradient.launches);
    let is_zero_bubble = matches!(run.layout.schedule, Schedule::ZeroBubbleH1 | Schedule::ZeroBubble2p);
    let waits = run.framework.blocking_sends && !is_zero_bubble && stages.len() > 1;
    let is_graph = run.framework.dispatch == Dispatch::Graph;
    Pipeline {
        schedule: run.layout.schedule,
        stages: stages.len(),
        micro_batches,
        parts,
        blocking_sends: waits,
        exchanges: stages.iter().map(|stage| stage.exchange.clone()).collect(),
        optimizer_ns: stages.iter().map(|stage| stage.optimizer.ns + host.step_us * 1e3).collect(),
        // The authors check for overflow after the update (post-validation).
        optimizers_wait: !is_zero_bubble,
        host: (!is_graph).then_some(Host {
            forward_ns: forward * host.launch_us * per_part,
            backward_ns: (again * host.launch_us + backward * host.backward_launch_us) * per_part,
            waits_for_receives: waits,
        }),
    }
}
