//! The search's evaluator that predicts.

use goodput_model::architecture::TextModel;
use goodput_model::device::Device;

use super::{Candidate, Evaluate, Family, Needs, Refusal, Shared, floor};
use crate::kernel::KernelTables;
use crate::layer::{Layers, PassCosts};
use crate::memory;
use crate::run::{ContextMethod, Recompute, Run, Schedule};
use crate::step::{PredictError, Predictor, TimeFactors, Units};

/// Predicts candidates of one run's model, cluster and batch. The times of a block are shared by all layouts that split it alike.
#[derive(Debug)]
pub struct Predicted<'a> {
    run: &'a Run,
    text: &'a TextModel,
    device: Device,
    tables: KernelTables,
    /// Bytes of a device; infinite where not known.
    capacity: f64,
    factors: TimeFactors,
    blocks: Shared<Split, Option<Blocks>>,
}

/// What a block's time depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Split {
    devices: u32,
    degrees: [u32; 6],
    sequence_parallel: bool,
    overlap_tensor: bool,
    pairs: bool,
    context_method: ContextMethod,
    recompute: Recompute,
    micro: u64,
}

/// Times of one micro-batch that no schedule changes.
#[derive(Debug, Clone, Copy)]
struct Blocks {
    /// Of the whole model.
    all_ns: f64,
    /// Of the head.
    head_ns: f64,
    /// Of the fastest block.
    block_ns: f64,
}

impl<'a> Predicted<'a> {
    /// For a run that [`Run::check`] has passed.
    ///
    /// # Errors
    /// A model without a decoder, or a device that the catalogue does not know.
    pub fn new(run: &'a Run) -> Result<Self, PredictError> {
        let device = run.cluster.fitted_device()?;
        let tables = run.cluster.kernels(&device);
        let capacity = memory::capacity(&device).unwrap_or(f64::INFINITY);
        Ok(Self {
            run,
            text: run.text("run")?,
            device,
            tables,
            capacity,
            factors: TimeFactors::NONE,
            blocks: Shared::default(),
        })
    }

    /// With all times of the devices and of the host multiplied by factors, as a calibration found them.
    #[must_use]
    pub fn with_factors(self, factors: TimeFactors) -> Self {
        Self { factors, ..self }
    }

    /// A bound of the step as predicted, as one with the factors. A step is made of sums and maxima of times of devices and host:
    /// it shrinks by no more than the smaller of their factors.
    fn with_factors_at_least(&self, needs: Needs) -> Needs {
        let least = self.factors.device_time.min(self.factors.host_time);
        Needs { step_ns: needs.step_ns * least, ..needs }
    }

    /// With ranks that may need no more than so many bytes, allowance included.
    #[must_use]
    pub fn with_memory_limit(self, bytes: f64) -> Self {
        Self { capacity: self.capacity.min(bytes), ..self }
    }

    fn blocks(&self, run: &Run) -> Option<Blocks> {
        let layout = &run.layout;
        let recompute = match run.recompute {
            // Some blocks are recomputed and others not: at least as long as none.
            Recompute::Layers(_) => Recompute::None,
            other => other,
        };
        let key = Split {
            devices: run.devices,
            degrees: [
                layout.tensor,
                layout.context,
                layout.pipeline,
                layout.data,
                layout.expert,
                layout.expert_tensor,
            ],
            sequence_parallel: layout.sequence_parallel,
            overlap_tensor: layout.overlap_tensor,
            pairs: layout.pairs() || layout.schedule == Schedule::DualPipe,
            context_method: layout.context_method,
            recompute,
            micro: run.batch.micro,
        };
        self.blocks.get(key, |_| {
            let run = Run { recompute, ..run.clone() };
            let units = Units::new(&run, self.text, &Layers::new(&run, &self.tables)).ok()?;
            // A forward beside a backward hides some of it, in all but the first and the last micro-batches.
            let hides = run.layout.pairs() || run.layout.schedule == Schedule::DualPipe;
            let ns = |costs: &PassCosts| {
                let hidden = if hides { costs.hidden_ns.iter().sum() } else { 0.0 };
                costs.forward.ns + costs.recompute.ns + costs.input_gradient.ns + costs.weight_gradient.ns
                    - hidden
            };
            let each = || units.blocks.iter().map(|[_, block]| ns(block));
            let counts = self.text.decoder.iter().map(|group| group.blocks as f64);
            let head_ns = ns(&units.head);
            Some(Blocks {
                all_ns: each().zip(counts).map(|(ns, count)| ns * count).sum::<f64>()
                    + ns(&units.embedding)
                    + head_ns,
                head_ns,
                block_ns: each().fold(f64::INFINITY, f64::min),
            })
        })
    }

    /// The mean stage's work, or the last stage's with the time until its first input has come and its last gradient has gone
    /// back through all others.
    fn bound(&self, run: &Run) -> Needs {
        let layout = &run.layout;
        let (Some(blocks), Some(micro_batches)) = (self.blocks(run), run.micro_batches()) else {
            return Needs { step_ns: f64::INFINITY, bytes: f64::INFINITY };
        };
        let (count, stages) = (micro_batches as f64, f64::from(layout.pipeline));
        let mean = count * blocks.all_ns / stages;
        let fills = matches!(
            layout.schedule,
            Schedule::GPipe | Schedule::OneForwardOneBackward | Schedule::Interleaved { .. }
        );
        let [first_lacks, last_lacks] = layout.uneven_ends.map(f64::from);
        let layers: u64 = self.text.decoder.iter().map(|group| group.blocks).sum();
        let parts = f64::from(run.parts());
        let of_a_part = (layers as f64 + first_lacks + last_lacks) / (stages * parts);
        let last = count * ((of_a_part * parts - last_lacks) * blocks.block_ns + blocks.head_ns);
        let others = ((stages - 1.0) * of_a_part - first_lacks).max(0.0) * blocks.block_ns;
        let step_ns = if fills { mean.max(last + others) } else { mean };
        // Less by more than rounding can be.
        Needs { step_ns: step_ns * (1.0 - 1e-9), bytes: 0.0 }
    }
}

/// A thread's predictor, and the run that candidates are written into.
#[derive(Debug)]
pub struct Worker {
    predictor: Predictor,
    run: Run,
}

impl Evaluate for Predicted<'_> {
    type Worker = Worker;

    fn worker(&self) -> Worker {
        let predictor =
            Predictor::with_tables(self.device.clone(), self.tables.clone()).with_factors(self.factors);
        Worker { predictor, run: self.run.clone() }
    }

    /// Recomputation only adds: the least of the other switches' bounds without any.
    fn family_bound(&self, Worker { run, .. }: &mut Worker, family: &Family) -> Needs {
        run.devices = family.devices;
        run.layout.clone_from(&family.layout);
        run.batch.micro = family.micro;
        run.recompute = Recompute::None;
        let mut least = Needs { step_ns: f64::INFINITY, bytes: 0.0 };
        let split = if family.layout.tensor > 1 { &[false, true][..] } else { &[false] };
        for &sequence_parallel in split {
            for &overlap_tensor in split {
                run.layout.sequence_parallel = sequence_parallel;
                run.layout.overlap_tensor = overlap_tensor;
                least.step_ns = least.step_ns.min(self.bound(run).step_ns);
            }
        }
        self.with_factors_at_least(least)
    }

    fn lower_bound(&self, Worker { run, .. }: &mut Worker, candidate: &Candidate) -> Result<Needs, Refusal> {
        candidate.apply(run);
        let bytes = run.micro_batches().map_or(0.0, |count| floor::bytes(run, self.text, count));
        if bytes > self.capacity {
            return Err(Refusal::Memory);
        }
        let bound = self.with_factors_at_least(Needs { bytes, ..self.bound(run) });
        if bound.step_ns.is_infinite() { Err(Refusal::NoTime) } else { Ok(bound) }
    }

    fn predict(
        &self,
        Worker { predictor, run }: &mut Worker,
        candidate: &Candidate,
    ) -> Result<Needs, Refusal> {
        candidate.apply(run);
        let prediction = predictor.predict(run).map_err(|_| Refusal::NoTime)?;
        let memory = prediction.memory;
        let bytes = memory.total() + memory.allowance;
        // A device of unknown memory holds everything.
        if bytes > self.capacity {
            Err(Refusal::Memory)
        } else {
            Ok(Needs { step_ns: prediction.step_ns, bytes })
        }
    }
}
