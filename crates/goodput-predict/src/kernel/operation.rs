//! What a step does besides products and attention, as explicit lists of operands.
//!
//! Bytes count bf16 activations (2), fp32 statistics and losses (4), masks (1), fp8 (1). Every list can be checked by hand.

use super::attention::Direction;
use super::memory_bound::{Access, Traffic};

/// How much of an operation one kernel does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fusion {
    /// A kernel for each arithmetic operation.
    Eager,
    /// Elementwise chains joined (`torch.jit`, `torch.compile`, Megatron's fused functions).
    Joined,
    /// One kernel made for it (Transformer Engine, Apex, Liger).
    Fused,
}

/// Which norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NormKind {
    /// LayerNorm: one kernel even in eager PyTorch.
    Layer,
    /// RMSNorm: six kernels in eager PyTorch.
    Rms,
}

/// An operation on one device's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// A norm over rows; with `residual` it also adds its input to the residual stream.
    Norm {
        /// Which.
        kind: NormKind,
        /// Rows (tokens) x width.
        values: u64,
        /// Adds the residual first.
        residual: bool,
    },
    /// Rotary positions of queries and keys.
    Rope {
        /// Tokens x (heads + KV heads) x head dimension.
        values: u64,
    },
    /// SwiGLU, GEGLU: half of the input gates the other half.
    GatedActivation {
        /// Values that come out.
        values: u64,
    },
    /// GELU, ReLU; with `bias` that of the product before it is added.
    Activation {
        /// Values.
        values: u64,
        /// Adds a bias.
        bias: bool,
    },
    /// An addition to the residual stream.
    Residual {
        /// Values.
        values: u64,
    },
    /// Dropout; with `residual` in one function with bias and residual, as Megatron's.
    Dropout {
        /// Values.
        values: u64,
        /// Adds bias and residual.
        residual: bool,
    },
    /// Softmax over attention scores that are in memory, with scale and mask.
    Softmax {
        /// Scores.
        values: u64,
    },
    /// Loss over logits in bf16, and its gradient.
    CrossEntropy {
        /// Tokens x vocabulary on this device.
        values: u64,
    },
    /// Scores to weights and choices of a router, after its product.
    Router {
        /// Tokens.
        tokens: u64,
        /// Experts of the whole layer.
        experts: u64,
    },
    /// Tokens into the order of their experts: one copy for each choice.
    Permute {
        /// Tokens x width.
        values: u64,
        /// Choices of a token.
        top_k: u64,
    },
    /// Back into the order of tokens, weighted and summed over choices.
    Unpermute {
        /// Tokens x width.
        values: u64,
        /// Choices of a token.
        top_k: u64,
    },
    /// Rows of a table; backward adds to the table's gradient.
    Embedding {
        /// Tokens x width.
        values: u64,
    },
    /// A cast between formats.
    Cast {
        /// Values.
        values: u64,
        /// Bytes of one before.
        from_bytes: u64,
        /// Bytes of one after.
        to_bytes: u64,
    },
    /// Norm of all gradients, for clipping.
    GradientNorm {
        /// Gradients in fp32.
        parameters: u64,
    },
    /// Adam on fp32 master weights and moments, with bf16 weights written.
    Adam {
        /// Parameters that this device updates.
        parameters: u64,
    },
    /// SGD with momentum, or the momentum of Muon before its products.
    Momentum {
        /// Parameters that this device updates.
        parameters: u64,
    },
}

use Access::{Columns, ColumnsUnfused, Gather, Rows, Stream};

impl Operation {
    /// The kernels of one direction, in order. Optimizer steps and casts have no backward pass.
    #[must_use]
    pub fn kernels(&self, direction: Direction, fusion: Fusion) -> Vec<Traffic> {
        use Direction::{Backward, Forward};
        use Fusion::{Eager, Fused, Joined};
        let list = |values: u64, kernels: &[(f64, Access)]| {
            kernels
                .iter()
                .map(|(bytes, access)| Traffic::new(bytes * values as f64, *access))
                .collect::<Vec<_>>()
        };
        match (*self, direction, fusion) {
            // x -> y; with the residual x, r -> x + r, y.
            (Self::Norm { values, residual: false, kind }, Forward, _)
                if kind == NormKind::Layer || fusion != Eager =>
            {
                list(values, &[(4.0, Rows)])
            }
            (Self::Norm { values, residual: true, kind }, Forward, Fused)
                if kind == NormKind::Layer || fusion != Eager =>
            {
                list(values, &[(8.0, Rows)])
            }
            (Self::Norm { values, residual: true, kind }, Forward, _) => {
                let norm = Self::Norm { values, residual: false, kind }.kernels(Forward, fusion);
                [list(values, &[(6.0, Stream)]), norm].concat()
            }
            // To fp32, square, mean, scale, to bf16, weight.
            (Self::Norm { values, .. }, Forward, _) => list(
                values,
                &[(6.0, Stream), (8.0, Stream), (4.0, Rows), (8.0, Stream), (6.0, Stream), (4.0, Stream)],
            ),
            // x, dy -> dx; with the residual its gradient is added.
            (Self::Norm { values, residual, .. }, Backward, Fused) => {
                list(values, &[(if residual { 8.0 } else { 6.0 }, Columns)])
            }
            (Self::Norm { values, residual, .. }, Backward, _) => {
                let norm = list(values, &[(6.0, ColumnsUnfused)]);
                if residual { [norm, list(values, &[(6.0, Stream)])].concat() } else { norm }
            }
            // Negate and join halves, times cosine, times sine, add.
            (Self::Rope { values }, _, Eager) => {
                list(values, &[(2.0, Stream), (4.0, Stream), (4.0, Stream), (4.0, Stream), (6.0, Stream)])
            }
            (Self::Rope { values }, ..) => list(values, &[(4.0, Stream)]),
            // g, u -> silu(g) u.
            (Self::GatedActivation { values }, Forward, Eager) => {
                list(values, &[(4.0, Stream), (6.0, Stream)])
            }
            (Self::GatedActivation { values }, Forward, _) => list(values, &[(6.0, Stream)]),
            // dy, g, u -> dg, du.
            (Self::GatedActivation { values }, Backward, Eager) => {
                list(values, &[(6.0, Stream), (6.0, Stream), (6.0, Stream), (8.0, Stream)])
            }
            (Self::GatedActivation { values }, Backward, _) => list(values, &[(10.0, Stream)]),
            (Self::Activation { values, bias: true }, Forward, Eager) => {
                list(values, &[(4.0, Stream), (4.0, Stream)])
            }
            (Self::Activation { values, .. }, Forward, _) => list(values, &[(4.0, Stream)]),
            (Self::Activation { values, bias: true }, Backward, Eager) => {
                list(values, &[(6.0, Stream), (2.0, Columns)])
            }
            (Self::Activation { values, .. }, Backward, _) => list(values, &[(6.0, Stream)]),
            // Backward the gradient flows on both ways and is summed where they meet again.
            (Self::Residual { values }, ..) => list(values, &[(6.0, Stream)]),
            (Self::Dropout { values, residual: false }, ..) => list(values, &[(5.0, Stream)]),
            (Self::Dropout { values, residual: true }, Forward, Eager) => {
                list(values, &[(4.0, Stream), (5.0, Stream), (6.0, Stream)])
            }
            (Self::Dropout { values, residual: true }, Forward, _) => list(values, &[(7.0, Stream)]),
            (Self::Dropout { values, residual: true }, Backward, _) => list(values, &[(5.0, Stream)]),
            (Self::Softmax { values }, Forward, Eager) => {
                list(values, &[(4.0, Stream), (5.0, Stream), (4.0, Rows)])
            }
            (Self::Softmax { values }, Forward, _) => list(values, &[(4.0, Rows)]),
            (Self::Softmax { values }, Backward, Eager) => {
                list(values, &[(6.0, Rows), (5.0, Stream), (4.0, Stream)])
            }
            (Self::Softmax { values }, Backward, _) => list(values, &[(6.0, Rows)]),
            // To fp32, maximum, subtract, exponentiate, sum, divide.
            (Self::CrossEntropy { values }, Forward, Eager) => list(
                values,
                &[(6.0, Stream), (4.0, Rows), (8.0, Stream), (8.0, Stream), (4.0, Rows), (8.0, Stream)],
            ),
            // To fp32; maximum; subtract; exponentiate with sum and divide.
            (Self::CrossEntropy { values }, Forward, Joined) => {
                list(values, &[(6.0, Stream), (4.0, Rows), (8.0, Stream), (12.0, Rows)])
            }
            // Read for maximum and sum, read again and the gradient written in its place.
            (Self::CrossEntropy { values }, Forward, Fused) => list(values, &[(6.0, Rows)]),
            // Times the loss's gradient, to bf16.
            (Self::CrossEntropy { values }, Backward, Eager | Joined) => {
                list(values, &[(8.0, Stream), (6.0, Stream)])
            }
            (Self::CrossEntropy { values }, Backward, Fused) => list(values, &[(4.0, Stream)]),
            // Softmax, choices, one-hot, counts, balance loss; small operands, so launches are what counts.
            (Self::Router { tokens, experts }, _, Eager) => list(tokens * experts, &[(8.0, Rows); 8]),
            (Self::Router { tokens, experts }, ..) => list(tokens * experts, &[(8.0, Rows), (8.0, Rows)]),
            (Self::Permute { values, top_k }, Forward, _) => list(values * top_k, &[(4.0, Gather)]),
            (Self::Permute { values, top_k }, Backward, _) => {
                list(values, &[(2.0 * top_k as f64 + 2.0, Gather)])
            }
            (Self::Unpermute { values, top_k }, Forward, _) => {
                list(values, &[(2.0 * top_k as f64 + 2.0, Gather)])
            }
            // The weights' gradients need the experts' results again.
            (Self::Unpermute { values, top_k }, Backward, _) => {
                list(values, &[(4.0 * top_k as f64 + 2.0, Gather)])
            }
            (Self::Embedding { values }, Forward, _) => list(values, &[(4.0, Gather)]),
            (Self::Embedding { values }, Backward, _) => list(values, &[(10.0, Gather)]),
            (Self::Cast { values, from_bytes, to_bytes }, Forward, _) => {
                list(values, &[((from_bytes + to_bytes) as f64, Stream)])
            }
            (Self::GradientNorm { parameters }, Forward, _) => list(parameters, &[(4.0, Stream)]),
            // Gradient, master, two moments read (16); master, moments, bf16 weight written (14).
            (Self::Adam { parameters }, Forward, Eager) => list(
                parameters,
                &[
                    (8.0, Stream),
                    (12.0, Stream),
                    (8.0, Stream),
                    (12.0, Stream),
                    (8.0, Stream),
                    (8.0, Stream),
                    (8.0, Stream),
                    (16.0, Stream),
                    (6.0, Stream),
                ],
            ),
            (Self::Adam { parameters }, Forward, _) => list(parameters, &[(30.0, Stream)]),
            // Gradient, master, moment read (12); master, moment, bf16 weight written (10).
            (Self::Momentum { parameters }, Forward, _) => list(parameters, &[(22.0, Stream)]),
            (
                Self::Cast { .. } | Self::GradientNorm { .. } | Self::Adam { .. } | Self::Momentum { .. },
                Backward,
                _,
            ) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(operation: Operation, direction: Direction, fusion: Fusion) -> f64 {
        operation.kernels(direction, fusion).iter().map(|kernel| kernel.bytes).sum()
    }

    #[test]
    fn fusing_never_moves_more() {
        let values = 1000;
        for operation in [
            Operation::Norm { kind: NormKind::Rms, values, residual: true },
            Operation::Norm { kind: NormKind::Layer, values, residual: false },
            Operation::Rope { values },
            Operation::GatedActivation { values },
            Operation::Activation { values, bias: true },
            Operation::Dropout { values, residual: true },
            Operation::Softmax { values },
            Operation::CrossEntropy { values },
            Operation::Router { tokens: 100, experts: 10 },
            Operation::Adam { parameters: values },
        ] {
            for direction in [Direction::Forward, Direction::Backward] {
                let of = |fusion| bytes(operation, direction, fusion);
                assert!(of(Fusion::Eager) >= of(Fusion::Joined), "{operation:?} {direction:?}");
                assert!(of(Fusion::Joined) >= of(Fusion::Fused), "{operation:?} {direction:?}");
            }
        }
    }

    #[test]
    fn a_list_can_be_checked_by_hand() {
        let adam = Operation::Adam { parameters: 10 };
        assert_eq!(bytes(adam, Direction::Forward, Fusion::Fused), 300.0);
        assert!(adam.kernels(Direction::Backward, Fusion::Fused).is_empty());
        let permute = Operation::Permute { values: 10, top_k: 8 };
        assert_eq!(bytes(permute, Direction::Forward, Fusion::Fused), 320.0);
        assert_eq!(bytes(permute, Direction::Backward, Fusion::Fused), 180.0);
    }
}
