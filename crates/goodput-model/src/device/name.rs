//! Names of devices as whole words, so that H20 is never found in H200, nor L40 in L40S.

use std::collections::BTreeSet;

/// The words of a name. Their order does not matter: the driver writes `A100-SXM4-80GB` and `A100 80GB PCIe`.
pub(super) type Words = BTreeSet<String>;

/// Words that say nothing about which device it is.
const EMPTY_WORDS: [&str; 3] = ["gpu", "gres", "accelerator"];

/// Lower-case words of letters and digits; a memory size is one word (`80gb`), however it is written.
pub(super) fn words(name: &str) -> Words {
    let lower = gres_type(&name.to_lowercase()).to_owned();
    let mut words: Vec<String> = Vec::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let is_unit = matches!(word, "gb" | "gib");
        match words.last_mut() {
            Some(size) if is_unit && is_number(size) => size.push_str("gb"),
            _ => words.push(memory_size(word).unwrap_or_else(|| word.to_owned())),
        }
    }
    words.into_iter().filter(|word| !EMPTY_WORDS.contains(&word.as_str())).collect()
}

/// `h100` of the Slurm gres `gres/gpu:h100:8(S:0-1)`; any other name as it is.
fn gres_type(name: &str) -> &str {
    let name = name.trim();
    let bare = name.strip_prefix("gres/").or_else(|| name.strip_prefix("gres:")).unwrap_or(name);
    match bare.strip_prefix("gpu:") {
        Some(typed) => typed.split([':', '=', '(']).next().unwrap_or(typed),
        None => name,
    }
}

/// `80gb` of `80g`, `80gb` or `80gib`.
fn memory_size(word: &str) -> Option<String> {
    let number = ["gib", "gb", "g"].iter().find_map(|unit| word.strip_suffix(unit))?;
    is_number(number).then(|| format!("{number}gb"))
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Vec<String> {
        words(name).into_iter().collect()
    }

    #[test]
    fn driver_names_and_gres_types_become_the_same_words() {
        assert_eq!(of("NVIDIA A100-SXM4-80GB"), ["80gb", "a100", "nvidia", "sxm4"]);
        assert_eq!(of("nvidia_a100_sxm4_80g"), of("NVIDIA A100-SXM4 80 GiB"));
        assert_eq!(of("gres/gpu:h100:8(S:0-1)"), ["h100"]);
        assert_eq!(of("gpu:h100=8"), ["h100"]);
        assert_eq!(of("TPU v5 lite"), ["lite", "tpu", "v5"]);
        assert_eq!(of("gpu:8(S:0)"), ["8"]);
        assert!(of(" - ").is_empty());
    }
}
