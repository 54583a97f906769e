//! What the first stage holds at least: most layouts of a large model do not fit, and need no prediction to say so.

use goodput_model::architecture::TextModel;

use crate::memory::{Activity, BlockActivations, Memory, RankParameters};
use crate::run::{Recompute, Run, Schedule, Sharding};

/// Bytes of the first stage with its blocks' states and activations alone, allowance included. Of several kinds of blocks the lightest: what
/// is held is linear in each.
pub(super) fn bytes(run: &Run, text: &TextModel, micro_batches: u64) -> f64 {
    let layout = &run.layout;
    let layers: u64 = text.decoder.iter().map(|group| group.blocks).sum();
    let lack = layout.uneven_ends.map(u64::from);
    let (stages, parts) = (u64::from(layout.pipeline), u64::from(run.parts()));
    let of_a_part = ((layers + lack[0] + lack[1]) / (stages * parts)).saturating_sub(lack[0].max(lack[1]));
    let in_flight = match layout.schedule {
        Schedule::GPipe => micro_batches,
        Schedule::OneForwardOneBackward | Schedule::ZeroBubbleH1 => stages.min(micro_batches),
        Schedule::Interleaved { .. } => {
            (2 * (stages - 1) + (parts - 1) * stages + 1).min(micro_batches * parts)
        }
        Schedule::ZeroBubble2p | Schedule::DualPipe => 1,
    };
    let replicas = u64::from(layout.data) * u64::from(layout.context);
    let ranks = u64::from(layout.tensor) * replicas;
    let sharers = if layout.sharding == Sharding::None {
        [1; 2]
    } else {
        let of_experts = u64::from(layout.expert) * u64::from(layout.expert_tensor);
        [replicas, (ranks / of_experts).max(replicas).max(1)]
    };
    let is_whole = matches!(run.recompute, Recompute::Full | Recompute::Layers(_));
    let of_blocks = |group| {
        let mut held = RankParameters::default();
        held.add_times(RankParameters::of_block(run, text, group), of_a_part * parts);
        let each = BlockActivations::of(run, text, group, is_whole).held;
        let activations = each * (of_a_part * in_flight) as f64;
        let activity = Activity { activations, ..Activity::default() };
        let memory = Memory::of_stage(run, 0, held, RankParameters::default(), sharers, activity);
        memory.total() + memory.allowance
    };
    text.decoder.iter().map(of_blocks).fold(f64::INFINITY, f64::min)
}
