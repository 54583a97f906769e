//! Memory of one rank: weights, gradients, optimizer states, activations, and what the loss needs.

mod activations;
mod parameters;
pub(crate) mod placeholders;

use goodput_model::architecture::TextModel;
use goodput_model::device::{Device, Figure};

use crate::kernel::Format;
use crate::run::{Optimizer, Run, Sharding};

pub use activations::BlockActivations;
pub use parameters::RankParameters;

/// Bytes of the rank of a stage that needs most.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Memory {
    /// The stage.
    pub stage: usize,
    /// Parameters as they are used.
    pub weights: f64,
    /// Gradients.
    pub gradients: f64,
    /// Master copies and moments.
    pub optimizer: f64,
    /// What micro-batches in flight leave for their backward passes.
    pub activations: f64,
    /// At the fullest moment, in a block's backward pass or the head's: what is made again, gradients on their way, empty
    /// gradients.
    pub working: f64,
    /// At the same moment: logits, what their loss keeps, their gradient.
    pub logits: f64,
    /// Allowed for the allocator's fragments, the device's context and buffers of collectives. An assumption, not in
    /// [`Memory::total`].
    pub allowance: f64,
    /// What the device has; `None` where its size is not known.
    pub capacity: Option<f64>,
}

/// Context, buffers of NCCL and fragments: assumed 2 GiB and 4 % of what is allocated.
const ALLOWANCE: (f64, f64) = (2.0 * GIB, 0.04);
const GIB: f64 = 1_073_741_824.0;

impl Memory {
    /// All that is allocated.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.weights + self.gradients + self.optimizer + self.activations + self.working + self.logits
    }

    /// Whether it fits with the allowance; `None` where the device's memory is not known.
    #[must_use]
    pub fn fits(&self) -> Option<bool> {
        self.capacity.map(|capacity| self.total() + self.allowance <= capacity)
    }

    pub(crate) fn of_stage(
        run: &Run,
        stage: usize,
        held: RankParameters,
        largest_block: RankParameters,
        shards: [u64; 2],
        activity: Activity,
    ) -> Self {
        let all = held.total() as f64;
        let precision = &run.precision;
        let (parameter_bytes, gradient_bytes) =
            (f64::from(precision.parameter_bytes), f64::from(precision.gradient_bytes));
        let sharded = sharded(held, shards);
        // Two blocks are gathered at a time: the one at work and the next.
        let (weights, gradients) = match run.layout.sharding {
            Sharding::None | Sharding::Optimizer => (all * parameter_bytes, all * gradient_bytes),
            Sharding::Gradients => (all * parameter_bytes, sharded * gradient_bytes),
            Sharding::Parameters { .. } => {
                let gathered = 2.0 * largest_block.total() as f64;
                (gathered * parameter_bytes, sharded * 4.0 + gathered / 2.0 * gradient_bytes)
            }
        };
        let at_head = activity.logits + activity.head > activity.working;
        let states = state_bytes(run, held, shards);
        // Of offloaded activations those of two blocks are on their way.
        let share = run.offload.activations;
        let away = (activity.activations - 2.0 * activity.block).max(0.0) * share;
        let mut memory = Self {
            stage,
            weights,
            gradients,
            optimizer: if run.offload.optimizer { states.min(STATES_ON_THEIR_WAY) } else { states },
            activations: activity.activations - away,
            working: activity.placeholders + if at_head { activity.head } else { activity.working },
            logits: if at_head { activity.logits } else { 0.0 },
            allowance: 0.0,
            capacity: None,
        };
        memory.allowance = ALLOWANCE.0 + ALLOWANCE.1 * memory.total();
        memory
    }
}

/// Bytes of offloaded states on the device at a time: assumed.
const STATES_ON_THEIR_WAY: f64 = GIB;

/// Parameters whose states a rank owns.
fn sharded(held: RankParameters, shards: [u64; 2]) -> f64 {
    held.dense as f64 / shards[0] as f64 + held.experts as f64 / shards[1] as f64
}

/// Bytes of the optimizer's states of one rank: master copies and moments.
pub(crate) fn state_bytes(run: &Run, held: RankParameters, shards: [u64; 2]) -> f64 {
    let is_wide = matches!(run.precision.products, Format::Fp32 | Format::Tf32);
    let master = if is_wide { 0.0 } else { 4.0 };
    // 16-bit gradients become fp32 for the update.
    let narrow = run.precision.gradient_bytes < 4 && run.layout.sharding == Sharding::None;
    let copy = if narrow { 4.0 } else { 0.0 };
    let moments = match run.optimizer {
        Optimizer::Adam => 8.0,
        Optimizer::Muon => 4.0,
        Optimizer::Sgd => 0.0,
    };
    sharded(held, shards) * (master + copy + moments)
}

/// What a stage holds beside its states.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Activity {
    pub activations: f64,
    /// Of these, one block's of one micro-batch.
    pub block: f64,
    /// Empty gradients that are kept.
    pub placeholders: f64,
    /// Of a block's backward pass.
    pub working: f64,
    /// Of the head's, beside the logits.
    pub head: f64,
    pub logits: f64,
}

/// Bytes of the logits of a micro-batch with what their loss keeps: logits in 16 bits, turned into their gradient in place by a
/// fused loss; else also in fp32, and the softmax.
pub(crate) fn logits(run: &Run, text: &TextModel) -> f64 {
    let tokens = (run.batch.micro * run.batch.sequence / u64::from(run.layout.context)) as f64;
    let vocabulary = run.framework.padded_vocabulary(text.vocabulary, run.layout.tensor) as f64;
    let each = if run.framework.fused_loss { 2.0 } else { 2.0 + 4.0 + 4.0 };
    tokens * vocabulary / f64::from(run.layout.tensor) * each
}

/// What a device has, in bytes: its name counts GiB.
pub(crate) fn capacity(device: &Device) -> Option<f64> {
    let share = 1.0 / f64::from(device.devices_per_unit.max(1));
    device.memory_gb.map(|memory| match memory {
        Figure::Exact(size) => size * GIB * share,
        Figure::Range(least, _) => least * GIB * share,
    })
}
