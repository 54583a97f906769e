//! What an operation of XLA's HLO does, told by its opcode and by the category that the profiler gives it
//! (openxla.org/xla/operation_semantics).

use crate::class::Class;

/// The class of an operation by its name (`all-reduce-start.3`, `%fusion.7`), and by its category where the name is the
/// compiler's own.
pub(super) fn class_of(name: &str, category: Option<&str>) -> Class {
    let opcode = opcode(name);
    let whole = opcode.trim_end_matches("-start").trim_end_matches("-done");
    match class_of_word(whole).or_else(|| class_of_word(category?)) {
        // The halves of an asynchronous copy or slice: a transfer between memories, beside the compute units.
        Some(Class::CopyLayout) | None if whole != opcode => Class::Memory,
        class => class.unwrap_or(Class::Other),
    }
}

/// The name without its mark and its number.
pub(super) fn opcode(name: &str) -> &str {
    let name = name.trim_start_matches('%').split([' ', '=']).next().unwrap_or_default();
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '_')
}

/// Opcodes, and the categories of fusions.
fn class_of_word(word: &str) -> Option<Class> {
    const COMMUNICATION: [&str; 10] = [
        "all-reduce",
        "all-gather",
        "reduce-scatter",
        "all-to-all",
        "ragged-all-to-all",
        "collective-permute",
        "collective-broadcast",
        "megacore-all-reduce",
        "send",
        "recv",
    ];
    if COMMUNICATION.contains(&word) || word.ends_with("-all-reduce") || word.starts_with("all-reduce ") {
        return Some(Class::Communication);
    }
    Some(match word {
        // Transfers to and from the host.
        "infeed" | "outfeed" => Class::Memory,
        "dot" | "ragged-dot" => Class::Gemm,
        "convolution" | "convolution fusion" | "convolution_fusion" => Class::Convolution,
        "reduce" | "reduce-window" | "input_reduce_fusion" | "reduce fusion" => Class::Reduce,
        "sort" | "topk" => Class::SortScan,
        "copy"
        | "slice"
        | "dynamic-slice"
        | "gather"
        | "scatter"
        | "transpose"
        | "reshape"
        | "concatenate"
        | "pad"
        | "bitcast"
        | "data formatting"
        | "dynamic-update-slice"
        | "copy fusion"
        | "copy_fusion" => Class::CopyLayout,
        "loop fusion"
        | "loop_fusion"
        | "non-fusion elementwise"
        | "rng-bit-generator"
        | "broadcast"
        | "convert"
        | "iota"
        | "select"
        | "add"
        | "multiply" => Class::Elementwise,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("all-reduce.12", None, Class::Communication)]
    #[case("%all-gather-start.3 = (bf16[8]) all-gather-start(x)", None, Class::Communication)]
    #[case("collective-permute-done", None, Class::Communication)]
    #[case("copy-start.4", None, Class::Memory)]
    #[case("copy-done.4", None, Class::Memory)]
    #[case("slice-start.4", None, Class::Memory)]
    #[case("copy.4", None, Class::CopyLayout)]
    #[case("dot.1", None, Class::Gemm)]
    #[case("fusion.7", Some("convolution fusion"), Class::Convolution)]
    #[case("fusion.7", Some("loop fusion"), Class::Elementwise)]
    #[case("custom-call.2", None, Class::Other)]
    #[case("", None, Class::Other)]
    fn opcodes_and_categories_tell_the_class(
        #[case] name: &str,
        #[case] category: Option<&str>,
        #[case] class: Class,
    ) {
        assert_eq!(class_of(name, category), class);
    }
}
