//! A kernel's name taken apart into the words that rules match.

/// The words of a kernel's name.
///
/// Each text is in lower case with one `_` between words and at both ends, so that `_lamb_` is a word and does not
/// match `lambda`. Words are divided at every sign that is no letter or digit and where camel case begins a word:
/// `cunn_SoftMaxForward` becomes `_cunn_soft_max_forward_`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words {
    /// The function with its namespaces.
    pub head: String,
    /// The template arguments: for a wrapper (`elementwise_kernel<…>`) the functor is there. Parameters are left
    /// out: their types name libraries, not the operation (`cudnnConvolutionStruct` of an `im2col`).
    pub arguments: String,
}

/// Words that are a library's name and look like an operation.
const LIBRARIES: [(&str, &str); 5] = [
    ("fbgemm", "fb"),
    ("flashinfer", "fi"),
    ("flash_infer", "fi"),
    ("deep_gemm", "dg"),
    ("type_convert", "type_cast"),
];

impl Words {
    pub fn of(name: &str) -> Self {
        // XLA's profiler may give the whole instruction: `%fusion.3 = f32[8] fusion(…)`.
        let name = match name.strip_prefix('%') {
            Some(instruction) => instruction.split(" = ").next().unwrap_or(instruction),
            None => name,
        };
        let (head, arguments) =
            if name.starts_with("_Z") { divide_mangled(name) } else { divide_demangled(name) };
        Self { head: words(&head), arguments: words(&arguments) }
    }
}

/// What stands outside all brackets, and what stands inside angle brackets.
fn divide_demangled(name: &str) -> (String, String) {
    let name = name.replace("(anonymous namespace)::", "").replace("<unnamed>::", "");
    let (mut head, mut arguments) = (String::new(), String::new());
    let mut open = Vec::new();
    for character in name.chars() {
        match character {
            '<' | '(' | '{' | '[' => open.push(character),
            // An arrow or a comparison inside parentheses closes nothing.
            '>' if open.last() != Some(&'<') => {}
            '>' => {
                open.pop();
            }
            ')' | '}' | ']' => {
                open.pop();
            }
            _ => {}
        }
        match open.first() {
            None => head.push(character),
            Some('<') => arguments.push(character),
            Some(_) => {}
        }
    }
    (head, arguments)
}

/// The identifiers of an Itanium-mangled name: the nested name of the function, and all others.
///
/// No demangler: identifiers carry their length (`24add_rmsnorm_quant_kernel`), and nothing else is asked for.
fn divide_mangled(name: &str) -> (String, String) {
    let (mut head, mut arguments) = (String::new(), String::new());
    let bytes = name.as_bytes();
    let mut at = 2;
    let mut in_head = true;
    while let Some(&byte) = bytes.get(at) {
        if !byte.is_ascii_digit() {
            // `I` opens template arguments; a function without them goes on to its parameters.
            in_head &= !(byte == b'I' || (byte == b'E' && !head.is_empty()));
            at += 1;
            continue;
        }
        let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let start = at + digits;
        let length = name.get(at..start).and_then(|n| n.parse::<usize>().ok()).unwrap_or(0);
        // A name that was cut short keeps what is left.
        let end = start.saturating_add(length).min(bytes.len());
        let identifier = name.get(start..end);
        match identifier {
            Some(identifier) if length > 0 && !is_number(bytes, at, start) => {
                let part = if in_head { &mut head } else { &mut arguments };
                part.push(' ');
                part.push_str(identifier);
                at = end;
            }
            _ => at = start,
        }
    }
    (head, arguments)
}

/// Whether digits of a mangled name are no length: a literal (`Li128E`), a substitution (`S3_`, `T0_`), the width of
/// a type (`DF16b`, `Dv4_`) or the number of a local name (`E0_`).
fn is_number(bytes: &[u8], at: usize, end: usize) -> bool {
    let before = |n: usize| at.checked_sub(n).and_then(|i| bytes.get(i)).copied().unwrap_or(0);
    let literal = before(2) == b'L' && before(1).is_ascii_lowercase();
    let numbered = bytes.get(end) == Some(&b'_') && end == at + 1 && matches!(before(1), b'S' | b'T' | b'E');
    literal || numbered || before(2) == b'D' && matches!(before(1), b'F' | b'v')
}

/// Lower case, one `_` between words.
fn words(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut words = String::with_capacity(text.len() + text.len() / 4 + 2);
    words.push('_');
    for (i, &byte) in bytes.iter().enumerate() {
        if byte.is_ascii_uppercase() {
            let before = i.checked_sub(1).map_or(b'_', |b| bytes[b]);
            let after = bytes.get(i + 1).copied().unwrap_or(b'_');
            let begins = before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || before.is_ascii_uppercase() && after.is_ascii_lowercase();
            if begins && !words.ends_with('_') {
                words.push('_');
            }
        }
        if byte.is_ascii_alphanumeric() {
            words.push(char::from(byte.to_ascii_lowercase()));
        } else if !words.ends_with('_') {
            words.push('_');
        }
    }
    if !words.ends_with('_') {
        words.push('_');
    }
    for (library, short) in LIBRARIES {
        if words.contains(library) {
            words = words.replace(library, short);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn camel_case_and_signs_divide_words() {
        for (text, expected) in [
            ("cunn_SoftMaxForward", "_cunn_soft_max_forward_"),
            ("RMSNormKernel", "_rms_norm_kernel_"),
            ("CUDAFunctor_add", "_cuda_functor_add_"),
            ("all-gather-start.3", "_all_gather_start_3_"),
            ("nchwToNhwcKernel", "_nchw_to_nhwc_kernel_"),
            ("fbgemm_gpu::_float_to_hfp8_gpu", "_fb_gpu_float_to_hfp8_gpu_"),
            ("", "_"),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn the_function_is_outside_brackets_and_the_functor_inside() {
        let words =
            Words::of("std::enable_if<((A)>(B))&&(anonymous namespace)::ok<T>, void>::type ns::run<F>(P*)");
        assert_eq!(words.head, "_std_enable_if_type_ns_run_");
        assert_eq!(words.arguments, "_a_b_ok_t_void_f_");
    }

    #[test]
    fn mangled_names_give_their_identifiers() {
        let words =
            Words::of("_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_15gpu_kernel_implIfEEvDF16bE0_");
        assert_eq!(words.head, "_at_native_elementwise_kernel_");
        assert_eq!(words.arguments, "_gpu_kernel_impl_");
        let plain = Words::of("_Z9my_kernelPKf8MyParams");
        assert_eq!(plain.head, "_my_kernel_my_params_");
    }

    #[test]
    fn nonsense_is_taken_apart_without_a_panic() {
        for name in ["_Z", "_ZN99999999999999999999999x", "_ZN5ab", ">>)]<", "é<ü>(ß)", "_Z3é", "%", "% = "]
        {
            Words::of(name);
        }
    }
}
