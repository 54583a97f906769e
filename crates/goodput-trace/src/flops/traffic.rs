//! Operators that move more than they compute: their bytes, and one FLOP an element.

use super::inputs::{Inputs, Tensor};
use super::{Cost, bytes_of};
use crate::class::Class;

/// The cost of an operator on the bandwidth slope by its name without its namespace.
pub(super) fn cost(name: &str, inputs: &Inputs) -> Option<Cost> {
    let plain = name.strip_suffix('_').unwrap_or(name);
    match plain {
        "cat" | "stack" => lists(inputs, 1, 1, 0, Class::CopyLayout),
        "embedding" => rows(inputs, 0, 1, Class::Embedding),
        "index_select" => rows(inputs, 0, 2, Class::CopyLayout),
        // Names of lists of parameters: what is read, what is written, FLOPs an element.
        "_foreach_norm" => lists(inputs, 1, 0, 1, Class::Optimizer),
        "_foreach_copy" => lists(inputs, 2, 1, 0, Class::CopyLayout),
        "_fused_sgd" => lists(inputs, 3, 2, 1, Class::Optimizer),
        "_fused_adam" | "_fused_adamw" => lists(inputs, 4, 3, 1, Class::Optimizer),
        _ if plain.starts_with("_foreach_") => lists(inputs, usize::MAX, 1, 1, Class::Optimizer),
        _ => one_result(plain, inputs),
    }
}

/// Reads its tensors and writes one like the largest of them.
fn one_result(name: &str, inputs: &Inputs) -> Option<Cost> {
    let (class, per_element, writes) = match name {
        "copy" | "clone" | "contiguous" | "_to_copy" => (Class::CopyLayout, 0, name != "copy"),
        "fill" | "zero" => return fill(inputs),
        "native_layer_norm"
        | "native_group_norm"
        | "native_batch_norm"
        | "cudnn_batch_norm"
        | "miopen_batch_norm"
        | "_fused_rms_norm"
        | "rms_norm"
        | "native_layer_norm_backward"
        | "native_group_norm_backward"
        | "native_batch_norm_backward"
        | "cudnn_batch_norm_backward"
        | "miopen_batch_norm_backward"
        | "_fused_rms_norm_backward" => (Class::Normalisation, 1, true),
        "_softmax" | "_log_softmax" | "_softmax_backward_data" | "_log_softmax_backward_data" => {
            (Class::SoftmaxLoss, 1, true)
        }
        // The result is small: left out of a lower bound.
        "sum" | "mean" | "amax" | "amin" | "max" | "min" | "argmax" | "linalg_vector_norm" | "norm" => {
            (Class::Reduce, 1, false)
        }
        "add"
        | "sub"
        | "rsub"
        | "mul"
        | "div"
        | "pow"
        | "exp"
        | "log"
        | "neg"
        | "abs"
        | "sqrt"
        | "rsqrt"
        | "cos"
        | "sin"
        | "tanh"
        | "sigmoid"
        | "silu"
        | "gelu"
        | "relu"
        | "clamp_min"
        | "clamp"
        | "addcmul"
        | "addcdiv"
        | "lerp"
        | "where"
        | "masked_fill"
        | "native_dropout"
        | "threshold_backward"
        | "silu_backward"
        | "gelu_backward"
        | "tanh_backward"
        | "sigmoid_backward"
        | "native_dropout_backward"
        | "bitwise_and"
        | "reciprocal"
        | "square"
        | "maximum"
        | "minimum" => (Class::Elementwise, 1, true),
        _ => return None,
    };
    let largest = inputs.all().max_by_key(|tensor| tensor.elements())?;
    let elements = result_elements(class, inputs, largest)?;
    let written =
        if writes { elements.checked_mul(inputs.tensor(0)?.element_bytes?.into()) } else { Some(0) };
    let bytes = bytes_of(inputs.all()).zip(written).and_then(|(read, written)| read.checked_add(written));
    Some(Cost {
        flops: elements.checked_mul(per_element)?,
        bytes,
        dtype: inputs.tensor(0).and_then(|tensor| tensor.dtype),
        class,
        parts: 1,
        assumed: None,
    })
}

/// Elements of the result: pointwise operators broadcast.
fn result_elements(class: Class, inputs: &Inputs, largest: &Tensor) -> Option<u128> {
    if class != Class::Elementwise {
        return largest.elements();
    }
    let dimensions = inputs.all().map(|tensor| tensor.dims.len()).max()?;
    (0..dimensions).try_fold(1u128, |product, from_end| {
        let sizes = inputs.all().filter_map(|tensor| {
            tensor.dims.len().checked_sub(from_end + 1).and_then(|i| tensor.dims.get(i)).copied()
        });
        product.checked_mul(sizes.max()?.into())
    })
}

fn fill(inputs: &Inputs) -> Option<Cost> {
    let tensor = inputs.tensor(0)?;
    Some(Cost {
        flops: 0,
        bytes: tensor.bytes(),
        dtype: tensor.dtype,
        class: Class::Elementwise,
        parts: 1,
        assumed: None,
    })
}

/// Rows of a table, read and written.
fn rows(inputs: &Inputs, table: usize, indices: usize, class: Class) -> Option<Cost> {
    let (table, indices) = (inputs.tensor(table)?, inputs.tensor(indices)?);
    let row = table.elements()?.checked_div((*table.dims.first()?).into())?;
    let moved = indices.elements()?.checked_mul(row)?.checked_mul(2)?;
    let bytes = table
        .element_bytes
        .and_then(|size| moved.checked_mul(size.into()))
        .zip(indices.bytes())
        .and_then(|(moved, indices)| moved.checked_add(indices));
    Some(Cost { flops: 0, bytes, dtype: table.dtype, class, parts: 1, assumed: None })
}

/// Reads up to `read` lists of tensors and writes the first `written` of them, or as much.
fn lists(inputs: &Inputs, read: usize, written: u32, per_element: u128, class: Class) -> Option<Cost> {
    let first = inputs.tensors(0)?;
    let elements = first.iter().try_fold(0u128, |sum, tensor| sum.checked_add(tensor.elements()?))?;
    let lists = (0..).map_while(|i| inputs.tensors(i)).take(read);
    let read = lists.flatten().collect::<Vec<_>>();
    let bytes = bytes_of(read)
        .zip(bytes_of(first).and_then(|first| first.checked_mul(written.into())))
        .and_then(|(read, written)| read.checked_add(written));
    let dtype = first.first().and_then(|tensor| tensor.dtype);
    Some(Cost { flops: elements.checked_mul(per_element)?, bytes, dtype, class, parts: 1, assumed: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("add", "[[4, 197, 768], [1, 197, 768], []]", 605_184, 2 * (605_184 + 151_296 + 605_184))]
    #[case("mul", "[[4, 1], [1, 8]]", 32, 2 * (4 + 8 + 32))]
    #[case("add_", "[[10], [10]]", 10, 2 * 30)]
    #[case("copy_", "[[10], [10]]", 0, 2 * 20)]
    #[case("native_layer_norm", "[[4, 100], [], [100], [100]]", 400, 2 * (400 + 200 + 400))]
    #[case("sum", "[[4, 100]]", 400, 2 * 400)]
    #[case("fill_", "[[4, 100], []]", 0, 2 * 400)]
    #[case("cat", "[[[4, 100], [4, 50]], []]", 0, 2 * 2 * 600)]
    #[case("_foreach_add_", "[[[10], [5]], [[10], [5]], []]", 15, 2 * (15 + 15 + 15))]
    #[case("_fused_adamw_", "[[[10]], [[10]], [[10]], [[10]], [], [[1]]]", 10, 2 * 70)]
    fn bytes_are_what_is_read_and_written_once(
        #[case] name: &str,
        #[case] shapes: &str,
        #[case] flops: u128,
        #[case] bytes: u128,
    ) {
        let types = match shapes.starts_with("[[[") {
            true => r#"["TensorList", "TensorList", "TensorList", "TensorList", "", "TensorList"]"#,
            false => r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]"#,
        };
        // Scalars have neither shape nor element type.
        let shapes = &shapes.replace(", []", ", null");
        let inputs = Inputs::read(shapes, types, "", Some("c10::BFloat16")).unwrap();
        let cost = cost(name, &inputs).unwrap();
        assert_eq!((cost.flops, cost.bytes), (flops, Some(bytes)), "{name}");
    }

    #[test]
    fn a_table_is_read_by_its_rows() {
        let types = r#"["c10::BFloat16", "long int"]"#;
        let inputs = Inputs::read("[[151936, 1024], [16, 559]]", types, "", None).unwrap();
        assert_eq!(cost("embedding", &inputs).unwrap().bytes, Some(8944 * (2 * 2 * 1024 + 8)));
    }

    #[test]
    fn what_is_not_known_has_no_cost() {
        let inputs = Inputs::read("[[4, 100]]", r#"["float"]"#, "", None).unwrap();
        assert_eq!(cost("nonzero", &inputs), None);
        let untyped = Inputs::read("[[4, 100], [4, 100]]", "[]", "", None).unwrap();
        assert_eq!(cost("add", &untyped), None);
    }
}
