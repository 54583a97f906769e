//! Operations whose time a table can hold by the number of their values.

use super::attention::Direction;
use super::operation::{NormKind, Operation};

/// An operation that bytes bound, whatever its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryKind {
    /// [`Operation::Norm`], LayerNorm.
    LayerNorm,
    /// [`Operation::Norm`], RMSNorm.
    RmsNorm,
    /// [`Operation::Rope`].
    Rope,
    /// [`Operation::GatedActivation`].
    GatedActivation,
    /// [`Operation::Activation`] without a bias.
    Activation,
    /// [`Operation::Residual`].
    Residual,
    /// [`Operation::Softmax`].
    Softmax,
    /// [`Operation::CrossEntropy`].
    CrossEntropy,
    /// [`Operation::Embedding`].
    Embedding,
    /// [`Operation::GradientNorm`].
    GradientNorm,
    /// [`Operation::Adam`].
    Adam,
    /// [`Operation::Momentum`].
    Momentum,
}

impl MemoryKind {
    /// Every kind.
    pub const ALL: [Self; 12] = [
        Self::LayerNorm,
        Self::RmsNorm,
        Self::Rope,
        Self::GatedActivation,
        Self::Activation,
        Self::Residual,
        Self::Softmax,
        Self::CrossEntropy,
        Self::Embedding,
        Self::GradientNorm,
        Self::Adam,
        Self::Momentum,
    ];

    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LayerNorm => "layer_norm",
            Self::RmsNorm => "rms_norm",
            Self::Rope => "rope",
            Self::GatedActivation => "gated_activation",
            Self::Activation => "activation",
            Self::Residual => "residual",
            Self::Softmax => "softmax",
            Self::CrossEntropy => "cross_entropy",
            Self::Embedding => "embedding",
            Self::GradientNorm => "gradient_norm",
            Self::Adam => "adam",
            Self::Momentum => "momentum",
        }
    }

    /// Kind and values of an operation; none for those that depend on more.
    #[must_use]
    pub const fn of(operation: &Operation) -> Option<(Self, u64)> {
        Some(match *operation {
            Operation::Norm { kind: NormKind::Layer, values, residual: false } => (Self::LayerNorm, values),
            Operation::Norm { kind: NormKind::Rms, values, residual: false } => (Self::RmsNorm, values),
            Operation::Rope { values } => (Self::Rope, values),
            Operation::GatedActivation { values } => (Self::GatedActivation, values),
            Operation::Activation { values, bias: false } => (Self::Activation, values),
            Operation::Residual { values } => (Self::Residual, values),
            Operation::Softmax { values } => (Self::Softmax, values),
            Operation::CrossEntropy { values } => (Self::CrossEntropy, values),
            Operation::Embedding { values } => (Self::Embedding, values),
            Operation::GradientNorm { parameters } => (Self::GradientNorm, parameters),
            Operation::Adam { parameters } => (Self::Adam, parameters),
            Operation::Momentum { parameters } => (Self::Momentum, parameters),
            _ => return None,
        })
    }

    /// The operation on so many values.
    #[must_use]
    pub const fn operation(self, values: u64) -> Operation {
        match self {
            Self::LayerNorm => Operation::Norm { kind: NormKind::Layer, values, residual: false },
            Self::RmsNorm => Operation::Norm { kind: NormKind::Rms, values, residual: false },
            Self::Rope => Operation::Rope { values },
            Self::GatedActivation => Operation::GatedActivation { values },
            Self::Activation => Operation::Activation { values, bias: false },
            Self::Residual => Operation::Residual { values },
            Self::Softmax => Operation::Softmax { values },
            Self::CrossEntropy => Operation::CrossEntropy { values },
            Self::Embedding => Operation::Embedding { values },
            Self::GradientNorm => Operation::GradientNorm { parameters: values },
            Self::Adam => Operation::Adam { parameters: values },
            Self::Momentum => Operation::Momentum { parameters: values },
        }
    }

    /// Bytes of a value that every implementation moves: operands and results once, bf16 (an optimizer's state fp32). Less
    /// cannot be, whatever is fused.
    #[must_use]
    pub const fn least_bytes(self, direction: Direction) -> f64 {
        match (self, direction) {
            (Self::CrossEntropy, Direction::Forward) => 2.0,
            (Self::GradientNorm, Direction::Forward) => 2.0,
            // Gradient, weight, two moments in 16 bits, of which all but the gradient are written again.
            (Self::Adam, Direction::Forward) => 14.0,
            (Self::Momentum, Direction::Forward) => 10.0,
            (Self::GradientNorm | Self::Adam | Self::Momentum, Direction::Backward) => 0.0,
            (Self::GatedActivation | Self::Residual, Direction::Forward) => 6.0,
            (Self::GatedActivation, Direction::Backward) => 10.0,
            (Self::LayerNorm | Self::RmsNorm | Self::Softmax | Self::Activation, Direction::Backward) => 6.0,
            // A residual's gradient may be handed on as it is.
            (Self::Residual | Self::Embedding, Direction::Backward) => 2.0,
            _ => 4.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Fusion;

    #[test]
    fn a_kind_and_its_operation_mean_each_other_and_no_fusion_moves_less_than_must_be() {
        for kind in MemoryKind::ALL {
            let operation = kind.operation(1000);
            assert_eq!(MemoryKind::of(&operation), Some((kind, 1000)));
            for direction in [Direction::Forward, Direction::Backward] {
                let kernels = operation.kernels(direction, Fusion::Fused);
                let bytes: f64 = kernels.iter().map(|kernel| kernel.bytes).sum();
                assert!(kernels.is_empty() || bytes >= 1000.0 * kind.least_bytes(direction), "{kind:?}");
            }
        }
    }
}
