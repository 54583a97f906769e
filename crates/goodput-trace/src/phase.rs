//! Which part of a training step launched a piece of work.
//!
//! The launching thread tells: PyTorch's autograd engine wraps every backward function in a range, and optimizers wrap
//! their update. A forward operator inside a backward range is recomputation, in one of two ways (torch.utils.checkpoint):
//! a reentrant checkpoint runs it under `CheckpointFunctionBackward`, from which nested backward ranges follow; others
//! run it when the first backward function asks for a saved tensor, so that what that function launches before the end
//! of its last forward operator is recomputed.

use goodput_core::records::Symbol;
use rustc_hash::FxHashMap;

use crate::trace::{Around, HostKind, RankTrace, around_launches};

/// A part of a training step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Launched outside of the backward pass and of the optimizer: the forward pass, the loss, clipping of gradients.
    Forward,
    /// Launched by the autograd engine.
    Backward,
    /// The forward pass of a checkpointed region, once more.
    Recompute,
    /// Launched by the optimizer's update.
    Optimizer,
    /// The trace does not tell what launched it.
    Unknown,
}

impl Phase {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
            Self::Recompute => "recompute",
            Self::Optimizer => "optimizer",
            Self::Unknown => "unknown",
        }
    }
}

/// What the name of an operator or range says of the phase inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Backward,
    Recompute,
    /// An operator that no derivative formula calls.
    ForwardOnly,
}

/// The phase of each piece of work, by its index.
pub fn phases(trace: &RankTrace) -> Vec<Phase> {
    let mut phases = vec![Phase::Unknown; trace.work.len()];
    if trace.operators.is_empty() && trace.ranges.is_empty() {
        return phases;
    }
    let mut marks = FxHashMap::<Symbol, Option<Mark>>::default();
    for name in trace.operators.iter().map(|o| o.name).chain(trace.ranges.iter().map(|r| r.name)) {
        marks.entry(name).or_insert_with(|| mark(trace.name(name)));
    }
    let mark = |around: &Around| marks.get(&around.name).copied().flatten();

    // Ends of the last forward operator inside a backward range, by the range's thread and start.
    let mut recomputes_until = FxHashMap::<(u32, i64), i64>::default();
    let mut backward = Vec::new();
    around_launches(trace, |index, around| {
        let innermost =
            around.iter().rposition(|a| matches!(mark(a), Some(Mark::Backward | Mark::Recompute)));
        phases[index] = match innermost {
            Some(at) if mark(&around[at]) == Some(Mark::Recompute) => Phase::Recompute,
            Some(at) => {
                let Some(launch) = trace.launch_of(&trace.work[index]) else { return };
                let range = (launch.thread, around[at].start_ns);
                let forward = around[at..].iter().filter(|a| mark(a) == Some(Mark::ForwardOnly));
                if let Some(end_ns) = forward.map(|a| a.end_ns).max() {
                    let until = recomputes_until.entry(range).or_insert(end_ns);
                    *until = end_ns.max(*until);
                }
                backward.push((index, range, launch.start_ns));
                Phase::Backward
            }
            None if around.iter().any(|a| a.kind == Some(HostKind::Optimizer)) => Phase::Optimizer,
            None => Phase::Forward,
        };
    });
    for (index, range, launch_ns) in backward {
        if recomputes_until.get(&range).is_some_and(|&until_ns| launch_ns < until_ns) {
            phases[index] = Phase::Recompute;
        }
    }
    phases
}

fn mark(name: &str) -> Option<Mark> {
    const FORWARD_ONLY: [&str; 14] = [
        "aten::linear",
        "aten::layer_norm",
        "aten::native_layer_norm",
        "aten::rms_norm",
        "aten::batch_norm",
        "aten::group_norm",
        "aten::embedding",
        "aten::conv1d",
        "aten::conv2d",
        "aten::conv3d",
        "aten::scaled_dot_product_attention",
        "aten::_flash_attention_forward",
        "aten::_efficient_attention_forward",
        "flash_attn::_flash_attn_forward",
    ];
    let is_engine = name.starts_with("autograd::engine::evaluate_function");
    if name.contains("CheckpointFunctionBackward") || name.to_ascii_lowercase().contains("recompute") {
        Some(Mark::Recompute)
    } else if is_engine {
        Some(Mark::Backward)
    } else {
        FORWARD_ONLY.contains(&name).then_some(Mark::ForwardOnly)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Class;
    use crate::trace::sketch::{MAIN, Sketch};

    const ENGINE: i64 = 2;

    fn launches(sketch: &mut Sketch, thread: i64, at_ns: &[i64]) {
        for &launch_ns in at_ns {
            let device_ns = (1000 + launch_ns, 1001 + launch_ns);
            sketch.launched_by(thread, launch_ns, 7, device_ns, Class::Gemm, "k");
        }
    }

    /// Phases by the instant of the launch, which the sketches spread over the device in order.
    fn phases_of(sketch: &mut Sketch) -> Vec<Phase> {
        phases(&sketch.trace())
    }

    #[test]
    fn threads_and_ranges_tell_the_phase() {
        let mut sketch = Sketch::default();
        sketch
            .range(HostKind::Step(Some(1)), "ProfilerStep#1", 0, 100)
            .range_of(ENGINE, HostKind::Backward, "autograd::engine::evaluate_function: MmBackward0", 30, 40)
            .range(HostKind::Optimizer, "Optimizer.step#SGD.step", 50, 60);
        launches(&mut sketch, MAIN, &[10, 35, 55]);
        launches(&mut sketch, ENGINE, &[36]);
        sketch.work(7, 2000, 2001, Class::Gemm);
        let expected = [Phase::Forward, Phase::Forward, Phase::Backward, Phase::Optimizer, Phase::Unknown];
        assert_eq!(phases_of(&mut sketch), expected);
    }

    #[test]
    fn a_reentrant_checkpoint_recomputes_outside_of_its_nested_backward() {
        let mut sketch = Sketch::default();
        sketch
            .range_of(
                ENGINE,
                HostKind::Backward,
                "autograd::engine::evaluate_function: CheckpointFunctionBackward",
                0,
                90,
            )
            .range_of(ENGINE, HostKind::Annotation, "CheckpointFunctionBackward", 1, 89)
            .range_of(
                ENGINE,
                HostKind::Backward,
                "autograd::engine::evaluate_function: AddmmBackward0",
                50,
                60,
            );
        launches(&mut sketch, ENGINE, &[10, 55, 70]);
        assert_eq!(phases_of(&mut sketch), [Phase::Recompute, Phase::Backward, Phase::Recompute]);
    }

    #[test]
    fn saved_tensors_are_recomputed_before_their_backward_begins() {
        let mut sketch = Sketch::default();
        let engine = "autograd::engine::evaluate_function: AddmmBackward0";
        sketch
            .range_of(ENGINE, HostKind::Backward, engine, 0, 90)
            .range_of(ENGINE, HostKind::Annotation, "aten::linear", 10, 20)
            .range_of(ENGINE, HostKind::Annotation, "aten::silu", 22, 24)
            .range_of(ENGINE, HostKind::Annotation, "aten::linear", 30, 40)
            .range_of(ENGINE, HostKind::Annotation, "aten::mm", 50, 60)
            .range_of(ENGINE, HostKind::Backward, engine, 100, 190)
            .range_of(ENGINE, HostKind::Annotation, "aten::mm", 110, 120);
        launches(&mut sketch, ENGINE, &[15, 23, 35, 55, 115]);
        let [r, b] = [Phase::Recompute, Phase::Backward];
        assert_eq!(phases_of(&mut sketch), [r, r, r, b, b]);
    }

    #[test]
    fn without_any_host_record_nothing_is_known() {
        let mut sketch = Sketch::default();
        launches(&mut sketch, MAIN, &[10]);
        assert_eq!(phases_of(&mut sketch), [Phase::Unknown]);
    }
}
