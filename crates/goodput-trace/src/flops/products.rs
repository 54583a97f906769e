//! Products of matrices.

use super::inputs::{Inputs, Tensor};
use super::{Cost, bytes_of, product};
use crate::class::Class;

/// The cost of a product by the operator's name without its namespace.
pub(super) fn cost(name: &str, inputs: &Inputs) -> Option<Cost> {
    // Positions of the two factors, and whether the second is stored transposed (a weight `[out, in]`).
    let (left, right, transposed) = match name {
        "mm" | "bmm" | "matmul" | "mv" | "dot" | "_int_mm" | "_scaled_mm" | "_grouped_mm"
        | "_scaled_grouped_mm" => (0, 1, false),
        "addmm" | "addmm_" | "baddbmm" | "baddbmm_" | "addmv" | "addmv_" | "_addmm_activation" => {
            (1, 2, false)
        }
        "linear" | "rocm_unquantized_gemm" => (0, 1, true),
        _ => return None,
    };
    let (a, b) = (inputs.tensor(left)?, inputs.tensor(right)?);
    let (flops, outputs) = multiply(a, b, transposed, name.ends_with("grouped_mm"))?;
    // The result of a scaled product has a type of its own, which is not recorded.
    let result = match name {
        "_scaled_mm" | "_scaled_grouped_mm" | "_int_mm" => Some(0),
        _ => a.element_bytes.and_then(|size| outputs.checked_mul(size.into())),
    };
    let bytes = bytes_of(inputs.all()).zip(result).and_then(|(inputs, result)| inputs.checked_add(result));
    Some(Cost { flops, bytes, dtype: a.dtype, class: Class::Gemm, parts: 1, assumed: None })
}

/// FLOPs of a product and elements of its result. Leading dimensions are batches, of which one of the two may have
/// fewer (broadcast). Of grouped rows each meets the matrix of its group only.
fn multiply(a: &Tensor, b: &Tensor, transposed: bool, grouped: bool) -> Option<(u128, u128)> {
    let (&inner, rows) = a.dims.split_last()?;
    let (batches, columns) = match *b.dims.as_slice() {
        [one] => (&[][..], (one == inner).then_some(1)?),
        [ref batches @ .., out, depth] if transposed => (batches, (depth == inner).then_some(out)?),
        [ref batches @ .., depth, out] => (batches, (depth == inner).then_some(out)?),
        [] => return None,
    };
    let rows = match (rows, batches) {
        ([row], [_, ..]) if grouped => product([*row])?,
        ([outer @ .., row], batches) => {
            let (outer, batches) = (product(outer.iter().copied())?, product(batches.iter().copied())?);
            outer.max(batches).checked_mul((*row).into())?
        }
        ([], _) => 1,
    };
    let outputs = rows.checked_mul(columns.into())?;
    Some((outputs.checked_mul(inner.into())?.checked_mul(2)?, outputs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn of(name: &str, shapes: &str) -> Option<Cost> {
        let types = r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"]"#;
        cost(name, &Inputs::read(shapes, types, "", None)?)
    }

    #[rstest]
    #[case("mm", "[[8, 3], [3, 5]]", 2 * 8 * 3 * 5, 2 * (24 + 15 + 40))]
    #[case("addmm", "[[5], [8, 3], [3, 5], [], []]", 2 * 8 * 3 * 5, 2 * (5 + 24 + 15 + 40))]
    #[case("bmm", "[[7, 8, 3], [7, 3, 5]]", 7 * 2 * 8 * 3 * 5, 7 * 2 * (24 + 15 + 40))]
    #[case("baddbmm", "[[7, 8, 5], [7, 8, 3], [7, 3, 5]]", 7 * 2 * 8 * 3 * 5, 7 * 2 * (24 + 15 + 80))]
    #[case("linear", "[[2, 4, 3], [5, 3], [5]]", 2 * 8 * 3 * 5, 2 * (24 + 15 + 5 + 40))]
    #[case("matmul", "[[2, 4, 3], [3, 5]]", 2 * 8 * 3 * 5, 2 * (24 + 15 + 40))]
    #[case("matmul", "[[4, 3], [2, 3, 5]]", 2 * 2 * 4 * 3 * 5, 2 * (12 + 30 + 40))]
    #[case("mv", "[[8, 3], [3]]", 2 * 8 * 3, 2 * (24 + 3 + 8))]
    #[case("_grouped_mm", "[[8, 3], [4, 3, 5]]", 2 * 8 * 3 * 5, 2 * (24 + 60 + 40))]
    fn products_count_two_for_each_multiply_and_add(
        #[case] name: &str,
        #[case] shapes: &str,
        #[case] flops: u128,
        #[case] bytes: u128,
    ) {
        let cost = of(name, shapes).unwrap();
        assert_eq!((cost.flops, cost.bytes), (flops, Some(bytes)));
    }

    #[test]
    fn factors_that_do_not_fit_are_refused() {
        assert_eq!(of("mm", "[[8, 3], [4, 5]]"), None);
        assert_eq!(of("mm", "[[8, 3]]"), None);
        assert_eq!(of("add", "[[8, 3], [8, 3]]"), None);
        assert_eq!(of("mm", &format!("[[{0}, {0}], [{0}, {0}]]", u64::MAX)), None);
    }
}
