//! Calls of a layer that launch nothing, counted in the layers of Megatron-LM (2022): `ParallelTransformerLayer`,
//! `ColumnParallelLinear`, `RowParallelLinear`, `CudaRNGStatesTracker`, `CheckpointFunction`. Other eager frameworks are taken alike;
//! compiled ones have none. Pairs are of the forward pass, which calls, and of the backward pass, which runs a node of autograd
//! for each operation that has a gradient.

/// A linear layer: its module and the function around its input or result (identity or sum over tensor ranks).
pub(super) const LINEAR: [f64; 2] = [2.0, 1.0];
/// Unfused attention: three modules; views and transposes of queries, keys, values (11), of scores (4), of the result (5); the empty
/// scores; the softmax's function, its scale as a tensor and that one's element.
pub(super) const UNFUSED_ATTENTION: [f64; 2] = [27.0, 21.0];
/// Fused attention: two modules, views of queries, keys and values (7) and of the result (2).
pub(super) const FUSED_ATTENTION: [f64; 2] = [11.0, 9.0];
/// The rest of a block: two norms (module, function, three operands made contiguous: 5 and 1), the activation (function, script: 2 and
/// 1), bias, dropout and addition twice (bias expanded, script, mode of autograd: 3 and 1), modules of block and feed-forward
/// network with their arguments (3).
pub(super) const REST: [f64; 2] = [21.0, 5.0];
/// Dropout that differs between tensor ranks has a random state of its own: read three times, copied and set twice, within a context.
pub(super) const RANDOM_STATE: f64 = 9.0;
/// Checkpointing: a function, its inputs kept, the states of three generators read; before the second forward pass inputs detached, the
/// states read again and set, set back after it, and a backward pass begun.
pub(super) const CHECKPOINT: [f64; 2] = [7.0, 20.0];
