//! The order of a pipeline stage's passes.

/// One micro-batch through a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    Forward(u32),
    Backward(u32),
}

/// One forward, one backward (PipeDream-Flush; Narayanan et al., 2021): a stage first runs as many forward passes as
/// there are stages after it, then alternates, then runs the backward passes that are left.
pub(super) fn one_forward_one_backward(stage: u32, stages: u32, micro_batches: u32) -> Vec<Pass> {
    let ahead = stages.saturating_sub(stage + 1).min(micro_batches);
    let mut passes: Vec<Pass> = (0..ahead).map(Pass::Forward).collect();
    for micro_batch in ahead..micro_batches {
        passes.extend([Pass::Forward(micro_batch), Pass::Backward(micro_batch - ahead)]);
    }
    passes.extend((micro_batches - ahead..micro_batches).map(Pass::Backward));
    passes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_stage_alternates_and_the_first_runs_ahead() {
        use Pass::{Backward as B, Forward as F};
        assert_eq!(one_forward_one_backward(1, 2, 2), [F(0), B(0), F(1), B(1)]);
        assert_eq!(one_forward_one_backward(0, 2, 3), [F(0), F(1), B(0), F(2), B(1), B(2)]);
        assert_eq!(one_forward_one_backward(0, 4, 2), [F(0), F(1), B(0), B(1)]);
    }
}
