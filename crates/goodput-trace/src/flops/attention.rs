//! Fused attention, forward and backward.

use goodput_model::bottom_right_causal_pairs;

use super::inputs::{Inputs, Tensor};
use super::{Assumption, Cost, bytes_of, product};
use crate::class::Class;

/// The order of a query's dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Batch, heads, tokens, head dimension.
    HeadsFirst,
    /// Batch, tokens, heads, head dimension.
    TokensFirst,
}
use Order::{HeadsFirst, TokensFirst};

/// The signature of an operator.
struct Signature {
    order: Order,
    /// Position of the query; key and value follow.
    query: usize,
    /// Position of the flag that says causal.
    causal: Option<usize>,
    /// Position of the offsets of sequences of different lengths: with them, shapes do not tell the work.
    offsets: Option<usize>,
    is_backward: bool,
}

fn signature(name: &str) -> Option<Signature> {
    let (order, query, causal, offsets) = match name {
        "scaled_dot_product_attention" => (HeadsFirst, 0, Some(5), None),
        "_scaled_dot_product_flash_attention" => (HeadsFirst, 0, Some(4), None),
        "_scaled_dot_product_efficient_attention" | "_scaled_dot_product_cudnn_attention" => {
            (HeadsFirst, 0, Some(6), None)
        }
        "_cudnn_attention_forward" => (HeadsFirst, 0, Some(10), Some(4)),
        "_flash_attention_forward" => (TokensFirst, 0, Some(8), Some(3)),
        "_efficient_attention_forward" => (TokensFirst, 0, Some(9), Some(4)),
        "_flash_attn_forward" => (TokensFirst, 0, Some(5), None),
        "_scaled_dot_product_flash_attention_backward" => (HeadsFirst, 1, Some(11), Some(6)),
        "_scaled_dot_product_efficient_attention_backward" => (HeadsFirst, 1, Some(11), None),
        "_scaled_dot_product_cudnn_attention_backward" => (HeadsFirst, 1, Some(14), Some(9)),
        "_flash_attention_backward" => (TokensFirst, 1, Some(11), Some(6)),
        "_efficient_attention_backward" => (TokensFirst, 1, Some(14), Some(6)),
        "_flash_attn_backward" => (TokensFirst, 1, Some(11), None),
        _ => return None,
    };
    Some(Signature { order, query, causal, offsets, is_backward: name.ends_with("_backward") })
}

/// The cost of a fused attention by the operator's name without its namespace. A causal mask lets the last query see
/// the last key.
pub(super) fn cost(name: &str, inputs: &Inputs) -> Option<Cost> {
    let signature = signature(name)?;
    let has_offsets =
        |position| inputs.tensor(position).is_some_and(|offsets| !matches!(*offsets.dims, [] | [0]));
    if signature.offsets.is_some_and(has_offsets) {
        return None;
    }
    let [query, key, value] = [0, 1, 2].map(|i| inputs.tensor(signature.query + i));
    let (query, key, value) = (query?, key?, value?);
    let (batch, heads, queries, depth) = dimensions(query, signature.order)?;
    let (_, _, keys, _) = dimensions(key, signature.order)?;
    let (_, _, _, value_depth) = dimensions(value, signature.order)?;
    // Memory-efficient attention numbers its masks: 0 is none, 1 and 2 are causal.
    let causal = signature
        .causal
        .and_then(|position| inputs.flag(position).or_else(|| inputs.number(position).map(|mask| mask > 0)));
    let pairs = match causal {
        Some(true) => bottom_right_causal_pairs(queries, keys),
        _ => product([queries, keys])?,
    };
    // Scores and their product with the values; backward the scores again and the gradients of all four.
    let depths = match signature.is_backward {
        false => depth.checked_add(value_depth)?,
        true => depth.checked_mul(3)?.checked_add(value_depth.checked_mul(2)?)?,
    };
    let flops = product([2, batch, heads, depths])?.checked_mul(pairs)?;
    // Forward writes a result like the query with the value's depth; backward reads it and its gradient, and writes
    // three gradients.
    let result = query
        .element_bytes
        .and_then(|size| product([batch, heads, queries, value_depth])?.checked_mul(size.into()));
    let inputs_bytes = bytes_of([query, key, value]);
    let bytes = inputs_bytes.zip(result).map(|(inputs, result)| match signature.is_backward {
        false => inputs + result,
        true => 2 * inputs + 2 * result,
    });
    let assumed = causal.is_none().then_some(Assumption::FullMask);
    Some(Cost { flops, bytes, dtype: query.dtype, class: Class::Attention, parts: 1, assumed })
}

/// Batch, heads, tokens and head dimension.
fn dimensions(tensor: &Tensor, order: Order) -> Option<(u64, u64, u64, u64)> {
    let &[batch, second, third, depth] = tensor.dims.as_slice() else { return None };
    Some(match order {
        HeadsFirst => (batch, second, third, depth),
        TokensFirst => (batch, third, second, depth),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, shapes: &str, values: &str) -> Option<Cost> {
        let types = r#"["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", ""]"#;
        cost(name, &Inputs::read(shapes, types, values, None)?)
    }

    const HEADS_FIRST: &str = "[[2, 16, 100, 64], [2, 4, 100, 64], [2, 4, 100, 64], [], [], [], []]";

    #[test]
    fn a_causal_mask_halves_the_pairs_and_adds_the_diagonal() {
        let name = "_scaled_dot_product_flash_attention";
        let per_pair = 2 * 2 * 16 * 128;
        let causal = of(name, HEADS_FIRST, r#"["", "", "", "0.", "True", "False", ""]"#).unwrap();
        assert_eq!((causal.flops, causal.assumed), (per_pair * 5050, None));
        let full = of(name, HEADS_FIRST, r#"["", "", "", "0.", "False", "False", ""]"#).unwrap();
        assert_eq!((full.flops, full.assumed), (per_pair * 10_000, None));
        let unknown = of(name, HEADS_FIRST, "").unwrap();
        assert_eq!((unknown.flops, unknown.assumed), (per_pair * 10_000, Some(Assumption::FullMask)));
        // Grouped queries: keys and values of four heads are read, results of sixteen written.
        assert_eq!(unknown.bytes, Some(2 * 2 * 100 * 64 * (16 + 4 + 4 + 16)));
    }

    #[test]
    fn the_backward_computes_five_products_where_the_forward_computes_two() {
        let forward =
            of("_flash_attention_forward", "[[2, 100, 16, 64], [2, 100, 16, 64], [2, 100, 16, 64], []]", "");
        let shapes = "[[2, 100, 16, 64], [2, 100, 16, 64], [2, 100, 16, 64], [2, 100, 16, 64]]";
        let types = r#"["float", "float", "float", "float"]"#;
        let backward =
            cost("_flash_attention_backward", &Inputs::read(shapes, types, "", None).unwrap()).unwrap();
        assert_eq!(2 * backward.flops, 5 * forward.unwrap().flops);
    }

    #[test]
    fn sequences_of_different_lengths_are_not_known_by_shape() {
        let shapes = "[[200, 16, 64], [200, 16, 64], [200, 16, 64], [3], [3]]";
        assert_eq!(of("_flash_attention_forward", shapes, ""), None);
        let packed = "[[1, 200, 16, 64], [1, 200, 16, 64], [1, 200, 16, 64], [3], [3]]";
        assert_eq!(of("_flash_attention_forward", packed, ""), None);
    }
}
