//! The arithmetic and the memory traffic of an operator, from the shapes that a trace records.
//!
//! FLOPs count a multiplication and an addition as two, as the model's conventions do, and are of what the operator
//! executes: the backward of a fused attention computes its scores once more. Additions of a bias are not counted.
//! Bytes are each input read once and each output written once: a lower bound of the traffic, since caches may miss.
//! Work on the bandwidth slope (norms, pointwise operators, reductions, optimizers) counts one FLOP for each element
//! of its largest tensor, a stated convention: where such work stands does not depend on it.

mod attention;
mod convolution;
mod inputs;
mod products;
mod traffic;

use goodput_model::device::Dtype;

use crate::class::Class;
use inputs::{Inputs, Tensor};

/// What one operator does at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Floating-point operations.
    pub flops: u128,
    /// Bytes read and written at least; `None` when a type is not known.
    pub bytes: Option<u128>,
    /// What it computes in, by its first tensor.
    pub dtype: Option<Dtype>,
    /// The class of the kernels that do it.
    pub class: Class,
    /// Kernels of equal arithmetic that it takes: two for both gradients of a convolution.
    pub parts: u32,
    /// What had to be assumed.
    pub assumed: Option<Assumption>,
}

/// What a trace leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Assumption {
    /// The mask of an attention is not recorded: every query is taken to see every key.
    FullMask,
    /// Which gradients a convolution computes is not recorded: both of input and weight are counted.
    BothGradients,
}

impl Assumption {
    /// The words that a report shows.
    pub fn label(self) -> &'static str {
        match self {
            Self::FullMask => "mask not recorded: full attention counted",
            Self::BothGradients => "gradients not recorded: those of input and weight counted",
        }
    }
}

/// An operator as a trace records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    /// Its name (`aten::mm`).
    pub name: &'a str,
    /// The text of its input shapes, a JSON list: `[[2048, 4096], [4096, 4096]]`.
    pub shapes: &'a str,
    /// The text of its input types, a JSON list: `["c10::BFloat16", "c10::BFloat16"]`.
    pub types: &'a str,
    /// The text of its inputs that are no tensors, a JSON list of texts; empty when not recorded.
    pub values: &'a str,
    /// One of its kernels, which tells the type of lists of tensors.
    pub kernel: &'a str,
}

/// What an operator does at least; `None` when its shapes are not recorded or it is not one of those known.
///
/// ```
/// use goodput_trace::flops::{Call, cost};
/// let call = Call {
///     name: "aten::mm",
///     shapes: "[[2048, 4096], [4096, 4096]]",
///     types: r#"["c10::BFloat16", "c10::BFloat16"]"#,
///     values: "",
///     kernel: "",
/// };
/// let cost = cost(call).unwrap();
/// assert_eq!(cost.flops, 2 * 2048 * 4096 * 4096);
/// assert_eq!(cost.bytes, Some(2 * (2 * 2048 * 4096 + 4096 * 4096)));
/// ```
pub fn cost(call: Call<'_>) -> Option<Cost> {
    if call.shapes.is_empty() {
        return None;
    }
    let inputs = Inputs::read(call.shapes, call.types, call.values, inputs::type_in_name(call.kernel))?;
    let name = call.name.rsplit("::").next()?;
    products::cost(name, &inputs)
        .or_else(|| convolution::cost(name, &inputs))
        .or_else(|| attention::cost(name, &inputs))
        .or_else(|| traffic::cost(name, &inputs))
}

/// The product of numbers, `None` beyond what 128 bits hold.
fn product(factors: impl IntoIterator<Item = u64>) -> Option<u128> {
    factors.into_iter().try_fold(1u128, |product, factor| product.checked_mul(factor.into()))
}

/// Bytes of all of them, `None` when a type is not known.
fn bytes_of<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Option<u128> {
    tensors.into_iter().try_fold(0u128, |sum, tensor| sum.checked_add(tensor.bytes()?))
}
