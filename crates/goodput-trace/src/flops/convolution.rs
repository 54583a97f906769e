//! Convolutions, forward and backward.

use super::inputs::Inputs;
use super::{Assumption, Cost, bytes_of, product};
use crate::class::Class;

/// Where an operator keeps what the size of its result depends on.
struct Layout {
    stride: usize,
    padding: usize,
    dilation: usize,
    transposed: Option<usize>,
}

/// The cost of a convolution by the operator's name without its namespace.
pub(super) fn cost(name: &str, inputs: &Inputs) -> Option<Cost> {
    // Signatures of native_functions.yaml and of the cuDNN and MIOpen operators.
    let layout = match name {
        "convolution" | "_convolution" | "convolution_overrideable" => {
            Layout { stride: 3, padding: 4, dilation: 5, transposed: Some(6) }
        }
        "conv1d" | "conv2d" | "conv3d" => Layout { stride: 3, padding: 4, dilation: 5, transposed: None },
        "cudnn_convolution" => Layout { padding: 2, stride: 3, dilation: 4, transposed: None },
        "miopen_convolution" => Layout { padding: 3, stride: 4, dilation: 5, transposed: None },
        "convolution_backward" => return backward(inputs),
        _ => return None,
    };
    let (input, weight) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let [batch, channels, sizes @ ..] = input.dims.as_slice() else { return None };
    let [outer, inner, kernel @ ..] = weight.dims.as_slice() else { return None };
    if kernel.len() != sizes.len() {
        return None;
    }
    let all = |position| per_dimension(inputs.numbers(position)?, sizes.len());
    let (strides, paddings, dilations) = (all(layout.stride)?, all(layout.padding)?, all(layout.dilation)?);
    let transposed = match layout.transposed {
        Some(position) => inputs.flag(position)?,
        None => false,
    };
    // A product for each place of the smaller grid: the result's, or the input's when transposed.
    let (places, out_channels, outputs) = if transposed {
        // The output padding, which is at most a stride, is left out: a lower bound of the bytes.
        let results = (0..sizes.len()).map(|i| {
            let grown = sizes[i].checked_sub(1)?.checked_mul(strides[i])?;
            let reach = dilations[i].checked_mul(kernel[i].checked_sub(1)?)?;
            grown.checked_add(reach)?.checked_add(1)?.checked_sub(paddings[i].checked_mul(2)?)
        });
        let groups = channels.checked_div(*outer)?.max(1);
        (
            product(sizes.iter().copied())?,
            inner.checked_mul(groups)?,
            product(results.collect::<Option<Vec<_>>>()?)?,
        )
    } else {
        let results = (0..sizes.len()).map(|i| {
            let padded = sizes[i].checked_add(paddings[i].checked_mul(2)?)?;
            let reach = dilations[i].checked_mul(kernel[i].checked_sub(1)?)?;
            Some(padded.checked_sub(reach)?.checked_sub(1)?.checked_div(strides[i])? + 1)
        });
        let places = product(results.collect::<Option<Vec<_>>>()?)?;
        (places, *outer, places)
    };
    let flops = 2 * product([*batch])?.checked_mul(places)?.checked_mul(weight.elements()?)?;
    let outputs = product([*batch, out_channels])?.checked_mul(outputs)?;
    let result = input.element_bytes.and_then(|size| outputs.checked_mul(size.into()));
    let bytes = bytes_of(inputs.all()).zip(result).and_then(|(inputs, result)| inputs.checked_add(result));
    Some(Cost { flops, bytes, dtype: input.dtype, class: Class::Convolution, parts: 1, assumed: None })
}

/// `convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed,
/// output_padding, groups, output_mask)`: each gradient multiplies as often as the forward pass.
fn backward(inputs: &Inputs) -> Option<Cost> {
    const TRANSPOSED: usize = 7;
    const OUTPUT_MASK: usize = 10;
    let (gradient, input, weight) = (inputs.tensor(0)?, inputs.tensor(1)?, inputs.tensor(2)?);
    let (out_channels, in_channels) = (*gradient.dims.get(1)?, *input.dims.get(1)?);
    let first = *weight.dims.first()?;
    // The weight is [out, in/groups, …], and [in, out/groups, …] when transposed.
    let transposed = inputs.flag(TRANSPOSED).unwrap_or(first != out_channels && first == in_channels);
    let grid = if transposed { input } else { gradient };
    let [batch, _, places @ ..] = grid.dims.as_slice() else { return None };
    let forward = 2 * product([*batch])?
        .checked_mul(product(places.iter().copied())?)?
        .checked_mul(weight.elements()?)?;
    let (of_input, of_weight, assumed) = match inputs.numbers(OUTPUT_MASK).as_deref() {
        Some([input, weight, ..]) => (*input != 0, *weight != 0, None),
        _ => (true, true, Some(Assumption::BothGradients)),
    };
    let parts = u32::from(of_input) + u32::from(of_weight);
    let results = [(of_input, input), (of_weight, weight)];
    let written = bytes_of(results.into_iter().filter(|(wanted, _)| *wanted).map(|(_, tensor)| tensor));
    let bytes = bytes_of([gradient, input, weight]).zip(written).map(|(read, written)| read + written);
    Some(Cost {
        flops: forward.checked_mul(parts.into())?,
        bytes,
        dtype: input.dtype,
        class: Class::Convolution,
        parts: parts.max(1),
        assumed,
    })
}

/// One number for each dimension: a list of one stands for all.
fn per_dimension(numbers: Vec<u64>, dimensions: usize) -> Option<Vec<u64>> {
    match *numbers.as_slice() {
        [one] => Some(vec![one; dimensions]),
        _ => (numbers.len() == dimensions).then_some(numbers),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, shapes: &str, values: &str) -> Option<Cost> {
        let third = if name == "cudnn_convolution" { "ScalarList" } else { "float" };
        let types = &format!(r#"["float", "float", "{third}"]"#);
        cost(name, &Inputs::read(shapes, types, values, None)?)
    }

    #[test]
    fn the_patch_embedding_of_a_vision_transformer() {
        // 3 x 16 x 16 patches to 768 channels, 14 x 14 places, batch 4.
        let shapes = "[[4, 3, 224, 224], [768, 3, 16, 16], [], [], [], [], [], [], []]";
        let values = r#"["", "", "[0, 0]", "[16, 16]", "[1, 1]", "1", "False", "False", "True"]"#;
        let cost = of("cudnn_convolution", shapes, values).unwrap();
        assert_eq!(cost.flops, 2 * 4 * 14 * 14 * 768 * 3 * 256);
        assert_eq!(cost.bytes, Some(4 * (4 * 3 * 224 * 224 + 768 * 768 + 4 * 768 * 196)));
        // Without the strides the size of the result is not known.
        assert_eq!(of("cudnn_convolution", shapes, ""), None);
    }

    #[test]
    fn strides_padding_dilation_and_groups_set_the_size_of_the_result() {
        let shapes = "[[2, 64, 56, 56], [128, 16, 3, 3], [128]]";
        let values = r#"["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "4"]"#;
        assert_eq!(of("convolution", shapes, values).unwrap().flops, 2 * 2 * 28 * 28 * 128 * 16 * 9);
        let dilated = r#"["", "", "", "[1]", "[0]", "[2]", "False", "[0]", "4"]"#;
        assert_eq!(of("convolution", shapes, dilated).unwrap().flops, 2 * 2 * 52 * 52 * 128 * 16 * 9);
        let transposed = r#"["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "True", "[1, 1]", "1"]"#;
        let up = of("convolution", "[[2, 128, 28, 28], [128, 64, 3, 3]]", transposed).unwrap();
        assert_eq!(up.flops, 2 * 2 * 28 * 28 * 128 * 64 * 9);
    }

    #[test]
    fn the_backward_multiplies_once_for_each_gradient() {
        let shapes = "[[2, 128, 28, 28], [2, 64, 56, 56], [128, 64, 3, 3]]";
        let once = 2 * 2 * 28 * 28 * 128 * 64 * 9;
        let both = of("convolution_backward", shapes, "").unwrap();
        assert_eq!((both.flops, both.parts, both.assumed), (2 * once, 2, Some(Assumption::BothGradients)));
        let values =
            r#"["","","","[0]","[2, 2]","[1, 1]","[1, 1]","False","[0, 0]","1","[False, True, False]"]"#;
        let first_layer = of("convolution_backward", shapes, values).unwrap();
        assert_eq!((first_layer.flops, first_layer.parts, first_layer.assumed), (once, 1, None));
    }
}
