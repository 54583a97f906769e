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
mod evidence;
mod factors;
pub mod guide;
mod offload;
mod optimizer;
mod parts;
mod prediction;
mod replicas;
mod sharded;
mod stages;
mod straggler;

use goodput_model::architecture::TextModel;
use goodput_model::device::{Device, UnknownDevice};
use goodput_model::{ArchitectureError, BatchError};

use crate::cluster::Cluster;
use crate::kernel::{Dispatch, HostCost, KernelError, KernelTables};
use crate::layer::{Cost, Layers, Term, Terms};
use crate::memory::{self, Activity, Memory, RankParameters};
use crate::run::{Run, RunError, Schedule};
use crate::schedule::{Picture, Pipeline, Simulator, Unschedulable};

use guide::GuideStep;
use replicas::Replicas;
use stages::Stages;

pub use evidence::{BeyondTable, Evidence};
pub use factors::TimeFactors;
pub(crate) use parts::Units;
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
    factors: TimeFactors,
}

impl Predictor {
    /// For the cluster's device, with the shipped tables.
    ///
    /// # Errors
    /// [`PredictError::Device`] if the catalogue does not know it.
    pub fn new(cluster: &Cluster) -> Result<Self, PredictError> {
        let device = cluster.fitted_device()?;
        let tables = cluster.kernels(&device);
        Ok(Self::with_tables(device, tables))
    }

    /// With tables of one's own.
    #[must_use]
    pub fn with_tables(device: Device, tables: KernelTables) -> Self {
        Self {
            device,
            tables,
            simulator: Simulator::default(),
            straggler_deviation: 0.0,
            factors: TimeFactors::NONE,
        }
    }

    /// The kernel times that it predicts with.
    #[must_use]
    pub const fn tables(&self) -> &KernelTables {
        &self.tables
    }

    /// With devices whose speeds differ by this relative standard deviation (normal): the step waits for the slowest.
    #[must_use]
    pub fn with_stragglers(self, deviation: f64) -> Self {
        Self { straggler_deviation: deviation.max(0.0), ..self }
    }

    /// With all times of the devices and of the host multiplied by factors, as a calibration found them.
    #[must_use]
    pub fn with_factors(self, factors: TimeFactors) -> Self {
        Self { factors, ..self }
    }

    pub(crate) const fn set_factors(&mut self, factors: TimeFactors) {
        self.factors = factors;
    }

    /// The prediction of a run on this device.
    ///
    /// # Errors
    /// [`PredictError`] names what does not fit.
    pub fn predict(&mut self, run: &Run) -> Result<Prediction, PredictError> {
        let text = run.text(RUN)?;
        let micro_batches = micro_batches(run)?;
        let host = self.host(run);
        let (replicas, stages, pipeline) = self.assemble(run, text)?;
        let timeline = self.simulator.run(&pipeline)?;
        let step_host_ns = host.step_us * 1e3;
        let mut prediction = Prediction {
            step_ns: timeline.step_ns,
            deviation: 0.0,
            basis: crate::Basis::UserTable,
            terms: Terms::default(),
            stages: Vec::with_capacity(timeline.stages.len()),
            recompute_ns: 0.0,
            tokens_per_second_per_device: 0.0,
            mfu: 0.0,
            hfu: 0.0,
            memory: Memory::default(),
            guide: GuideStep::default(),
        };
        // Each of DualPipe's two parts of a stage sees every other micro-batch.
        let passed = if run.layout.schedule == Schedule::DualPipe { 0.5 } else { 1.0 } * micro_batches as f64;
        let mut recompute_flops = 0.0;
        let (mut busiest, share) = (Cost::default(), 1.0 / timeline.stages.len() as f64);
        // Of the busiest stage: time of its passes and of what stands beside them, and the spread of both.
        let mut known = [0.0; 2];
        for (stage, time) in stages.stages.iter().zip(&timeline.stages) {
            let mut busy = Cost::default();
            for part in stages.parts(stage) {
                busy.add_times(&part.all, passed);
                recompute_flops += part.costs.recompute.flops * passed * share;
                prediction.recompute_ns += part.costs.recompute.ns * passed * share;
            }
            let mut terms = busy.terms;
            terms.add(Term::ExpertExchange, -time.hidden_ns.min(terms.of(Term::ExpertExchange)));
            terms.add(Term::Launch, time.host_ns + step_host_ns);
            terms.add(Term::PipelineExchange, time.send_ns);
            terms.add(Term::DataExchange, time.gather_ns + time.reduce_ns);
            terms.add(Term::Optimizer, time.optimizer_ns - step_host_ns);
            terms.add(Term::Bubble, time.bubble_ns);
            prediction.terms.add_times(&terms, share);
            prediction.stages.push(StagePrediction { terms, activation_bytes: time.peak_activation });
            if busy.ns > busiest.ns {
                let launch = time.host_ns + step_host_ns;
                let exchange = time.send_ns + time.gather_ns + time.reduce_ns;
                let beside = [
                    (launch, host.deviation),
                    (exchange, sharded::DEVIATION),
                    (stage.optimizer.ns, stage.optimizer.deviation),
                ];
                known = beside.iter().fold([busy.ns, busy.spread_ns], |[ns, spread], (time, deviation)| {
                    [ns + time, spread + time * deviation]
                });
                busiest = busy;
            }
        }
        prediction.deviation = if known[0] > 0.0 { known[1] / known[0] } else { 0.0 };
        prediction.basis = busiest.basis;
        let data_ns = pipeline.exchanges[0].reductions.iter().map(|bucket| bucket.ns).sum();
        let count = text.decoder.iter().map(|blocks| blocks.blocks).sum();
        prediction.guide = GuideStep::new(run, &busiest.terms, data_ns, count);
        factors::apply(&mut prediction, self.factors);
        prediction.memory = self.memory(run, text, &stages, &replicas, &prediction.stages);
        straggler::add(&mut prediction, run.devices, self.straggler_deviation);
        efficiency::fill(&mut prediction, run, &self.device, recompute_flops)?;
        Ok(prediction)
    }

    /// What every stage does and when, with what it does it in.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn picture(&mut self, run: &Run) -> Result<(Pipeline, Picture), PredictError> {
        let (_, _, pipeline) = self.assemble(run, run.text(RUN)?)?;
        let picture = self.simulator.picture(&pipeline)?;
        Ok((pipeline, picture.times_as_long(self.factors.device_time)))
    }

    fn host(&self, run: &Run) -> HostCost {
        stages::host(run).times_as_long(self.factors.host_of_device())
    }

    /// The run, ready to be simulated.
    fn assemble(&self, run: &Run, text: &TextModel) -> Result<(Replicas, Stages, Pipeline), PredictError> {
        let layers = Layers::new(run, &self.tables);
        let replicas = Replicas::new(run);
        let mut units = Units::new(run, text, &layers)?;
        sharded::add_exchanges(run, text, &self.tables, &replicas, &mut units)?;
        offload::add_exchanges(run, text, &mut units);
        if run.framework.dispatch == Dispatch::Blocking {
            units.await_launches(&self.host(run));
        }
        let mut stages = Stages::new(run, text, &self.tables, layers.exchanges(), &replicas, &units)?;
        let pipeline = stages.pipeline(run, self.host(run), micro_batches(run)? as usize);
        Ok((replicas, stages, pipeline))
    }

    fn memory(
        &self,
        run: &Run,
        text: &TextModel,
        stages: &Stages,
        replicas: &Replicas,
        predicted: &[StagePrediction],
    ) -> Memory {
        let largest = text.decoder.iter().map(|blocks| RankParameters::of_block(run, text, blocks));
        let largest = largest.max_by_key(|held| held.total()).unwrap_or_default();
        let of_stage = |(index, (stage, predicted)): (usize, (&stages::Stage, &StagePrediction))| {
            let working = stages.parts(stage).map(|part| part.activations.working).fold(0.0, f64::max);
            let activity = Activity {
                activations: predicted.activation_bytes,
                block: stages.parts(stage).map(|part| part.block).fold(0.0, f64::max),
                placeholders: stage.placeholders,
                working,
                head: if stage.has_head { memory::placeholders::of_head(run, text) } else { 0.0 },
                logits: if stage.has_head { memory::logits(run, text) } else { 0.0 },
            };
            Memory::of_stage(run, index, stage.parameters, largest, replicas.shards(), activity)
        };
        let all = stages.stages.iter().zip(predicted).enumerate().map(of_stage);
        let most = all.max_by(|one, other| one.total().total_cmp(&other.total())).unwrap_or_default();
        Memory { capacity: memory::capacity(&self.device), ..most }
    }
}

/// How an error calls a run that is no file.
const RUN: &str = "run";

fn micro_batches(run: &Run) -> Result<u64, RunError> {
    run.micro_batches().ok_or_else(|| RunError::Field {
        label: RUN.to_owned(),
        field: "batch.global".to_owned(),
        message: "does not split into micro-batches".to_owned(),
    })
}
