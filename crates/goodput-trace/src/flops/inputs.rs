//! The inputs of an operator as a trace records them.

use goodput_model::device::Dtype;
use serde_json::Value;

/// A tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tensor {
    pub dims: Vec<u64>,
    /// Bytes of one element, if the type is known.
    pub element_bytes: Option<u64>,
    /// What a product of such elements computes in.
    pub dtype: Option<Dtype>,
}

impl Tensor {
    pub fn elements(&self) -> Option<u128> {
        self.dims.iter().try_fold(1u128, |product, &dim| product.checked_mul(dim.into()))
    }

    pub fn bytes(&self) -> Option<u128> {
        self.elements()?.checked_mul(self.element_bytes?.into())
    }
}

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// A scalar, an absent tensor or anything else.
    Other,
    Tensor(Tensor),
    Tensors(Vec<Tensor>),
}

/// All inputs, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inputs {
    inputs: Vec<Input>,
    values: Vec<String>,
}

impl Inputs {
    /// Reads the texts of `Input Dims`, `Input type` and `Concrete Inputs`. Lists of tensors carry no type of their
    /// elements: `of_lists` is what the kernel's name says.
    pub fn read(shapes: &str, types: &str, values: &str, of_lists: Option<&str>) -> Option<Self> {
        let shapes: Vec<Value> = serde_json::from_str(shapes).ok()?;
        let types: Vec<Value> = serde_json::from_str(types).unwrap_or_default();
        let inputs = shapes
            .iter()
            .enumerate()
            .map(|(i, shape)| input(shape, types.get(i).and_then(Value::as_str), of_lists))
            .collect();
        let values: Vec<Value> = serde_json::from_str(values).unwrap_or_default();
        let values = values.iter().map(|value| value.as_str().unwrap_or_default().to_owned()).collect();
        Some(Self { inputs, values })
    }

    /// The tensor at a position.
    pub fn tensor(&self, index: usize) -> Option<&Tensor> {
        match self.inputs.get(index)? {
            Input::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The list of tensors at a position.
    pub fn tensors(&self, index: usize) -> Option<&[Tensor]> {
        match self.inputs.get(index)? {
            Input::Tensors(tensors) => Some(tensors),
            _ => None,
        }
    }

    /// All tensors that are no members of lists.
    pub fn all(&self) -> impl Iterator<Item = &Tensor> {
        self.inputs.iter().filter_map(|input| match input {
            Input::Tensor(tensor) => Some(tensor),
            _ => None,
        })
    }

    /// The truth value of an input that is no tensor.
    pub fn flag(&self, index: usize) -> Option<bool> {
        match self.values.get(index)?.as_str() {
            "True" | "true" => Some(true),
            "False" | "false" => Some(false),
            _ => None,
        }
    }

    /// The whole number of an input that is no tensor.
    pub fn number(&self, index: usize) -> Option<u64> {
        self.values.get(index)?.parse().ok()
    }

    /// The list of whole numbers, or of truth values as ones and zeros, of an input that is no tensor: `[2, 2]`.
    pub fn numbers(&self, index: usize) -> Option<Vec<u64>> {
        let list = self.values.get(index)?.strip_prefix('[')?.strip_suffix(']')?;
        list.split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(|item| match item {
                "True" | "true" => Some(1),
                "False" | "false" => Some(0),
                _ => item.parse().ok(),
            })
            .collect()
    }
}

fn input(shape: &Value, kind: Option<&str>, of_lists: Option<&str>) -> Input {
    let Value::Array(dims) = shape else { return Input::Other };
    if dims.iter().any(Value::is_array) || kind == Some("TensorList") {
        let kind = kind.filter(|kind| *kind != "TensorList").or(of_lists);
        let tensors: Option<Vec<_>> = dims.iter().map(|dims| tensor(dims.as_array()?, kind)).collect();
        // Older versions record that there is a list and not what is in it.
        return tensors.filter(|tensors| !tensors.is_empty()).map_or(Input::Other, Input::Tensors);
    }
    let is_tensor = match kind {
        Some(kind) => element_bytes(kind).is_some() || !dims.is_empty(),
        None => !dims.is_empty(),
    };
    match tensor(dims, kind) {
        Some(tensor) if is_tensor => Input::Tensor(tensor),
        _ => Input::Other,
    }
}

fn tensor(dims: &[Value], kind: Option<&str>) -> Option<Tensor> {
    Some(Tensor {
        dims: dims.iter().map(Value::as_u64).collect::<Option<_>>()?,
        element_bytes: kind.and_then(element_bytes),
        dtype: kind.and_then(dtype),
    })
}

/// Bytes of a C++ type as PyTorch writes it.
fn element_bytes(kind: &str) -> Option<u64> {
    Some(match kind.trim_start_matches("c10::") {
        "double" | "long int" | "long" | "int64_t" | "complex<float>" => 8,
        "float" | "int" | "int32_t" => 4,
        "Half" | "BFloat16" | "short" | "short int" => 2,
        "unsigned char" | "signed char" | "char" | "bool" | "qint8" | "quint8" => 1,
        kind if kind.starts_with("Float8") => 1,
        "complex<double>" => 16,
        _ => return None,
    })
}

fn dtype(kind: &str) -> Option<Dtype> {
    Some(match kind.trim_start_matches("c10::") {
        "float" => Dtype::Fp32,
        "BFloat16" => Dtype::Bf16,
        "Half" => Dtype::Fp16,
        "signed char" | "qint8" => Dtype::Int8,
        kind if kind.starts_with("Float8") => Dtype::Fp8,
        kind if kind.starts_with("Float4") => Dtype::Fp4,
        _ => return None,
    })
}

/// The type of the elements that a kernel's name gives first: `CatArrayBatchedCopy<OpaqueType<2u>, …>` moves elements
/// of two bytes, `FusedAdamMathFunctor<float, 4>` updates floats.
pub(super) fn type_in_name(kernel: &str) -> Option<&'static str> {
    const TYPES: [(&str, &str); 10] = [
        ("OpaqueType<1", "unsigned char"),
        ("OpaqueType<2", "short"),
        ("OpaqueType<4", "int"),
        ("OpaqueType<8", "long"),
        ("OpaqueType<(unsigned int)2", "short"),
        ("OpaqueType<(unsigned int)4", "int"),
        ("c10::BFloat16", "c10::BFloat16"),
        ("c10::Half", "c10::Half"),
        ("<float", "float"),
        ("<double", "double"),
    ];
    let found = TYPES.iter().filter_map(|(pattern, kind)| Some((kernel.find(pattern)?, *kind)));
    found.min_by_key(|(at, _)| *at).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_scalars_and_lists_are_told_apart() {
        let inputs = Inputs::read(
            "[[2, 3], [], [], [[4], [5, 6]], [0], []]",
            r#"["c10::BFloat16", "Scalar", "float", "TensorList", "ScalarList", ""]"#,
            r#"["", "True", "", "", "[1, 2]", ""]"#,
            Some("float"),
        )
        .unwrap();
        let first = inputs.tensor(0).unwrap();
        assert_eq!((first.elements(), first.bytes(), first.dtype), (Some(6), Some(12), Some(Dtype::Bf16)));
        assert_eq!(inputs.tensor(1), None);
        // A tensor without dimensions has one element.
        assert_eq!(inputs.tensor(2).unwrap().bytes(), Some(4));
        assert_eq!(inputs.tensors(3).unwrap().iter().filter_map(Tensor::bytes).sum::<u128>(), 4 * 34);
        assert_eq!(inputs.tensor(5), None);
        assert_eq!((inputs.flag(1), inputs.numbers(4)), (Some(true), Some(vec![1, 2])));
        assert_eq!((inputs.flag(9), inputs.numbers(0), inputs.number(4)), (None, None, None));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert_eq!(Inputs::read("[[2, 3", "[]", "", None), None);
        assert_eq!(Inputs::read("", "", "", None), None);
        let negative = Inputs::read("[[-1, 3], 7]", "", "", None).unwrap();
        assert_eq!((negative.tensor(0), negative.tensor(1)), (None, None));
        let huge = Inputs::read(&format!("[[{0}, {0}, {0}]]", u64::MAX), "", "", None).unwrap();
        assert_eq!(huge.tensor(0).unwrap().elements(), None);
    }

    #[test]
    fn a_kernel_names_the_type_of_its_lists() {
        let cat = "void at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int, 2>(float*)";
        assert_eq!(type_in_name(cat), Some("short"));
        let adam =
            "multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float, 4>, c10::Half>";
        assert_eq!(type_in_name(adam), Some("float"));
        assert_eq!(type_in_name("Kernel"), None);
    }
}
