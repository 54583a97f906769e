//! FLOPs per token of published runs, each within the convention that its source states.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use goodput_model::{Architecture, Convention, Mask};

type Row = BTreeMap<String, String>;

/// A source, the convention that it states, and the medians of its rows over a count with the full
/// square and with half of it (data/runs/README.md).
const SOURCES: [(&str, &str, f64, f64); 11] = [
    ("mosaic-llm-foundry", "llm-foundry", 1.001, 1.072),
    ("dgxc-benchmarking", "flopcounter", 0.999, 1.050),
    ("nemo-24.07", "flopcounter", 1.000, 1.039),
    ("korthikanti-2022", "megatron-2021", 1.000, 1.011),
    ("paper-palm", "palm", 0.999, 1.006),
    ("megatron-bridge", "megatron-lm", 0.925, 1.000),
    ("tpu-recipes-ironwood", "maxtext", 0.887, 1.000),
    ("nemo-automodel", "megatron-lm", 0.888, 0.997),
    ("bloom-prequel", "megatron-2021-hfu", 1.327, 1.342),
    ("megatron-2021-gpt3", "megatron-2021-hfu", 1.335, 1.354),
    // No row gives the vocabulary, so none is counted.
    ("megatron-2020", "megatron-2021-hfu", 1.391, 1.441),
];

/// The model of a row, from the row's columns alone; `None` where one that matters is empty.
fn architecture(row: &Row) -> Option<Architecture> {
    let size = |column: &str| row[column].parse::<u64>().ok();
    let [layers, width, heads, kv_heads, head_dim, vocabulary] =
        ["n_layers", "hidden", "n_heads", "n_kv_heads", "head_dim", "vocab"].map(size);
    let (layers, heads, kv_heads, head_dim) = (layers?, heads?, kv_heads?, head_dim?);
    let length = size("seq_len")?;
    // MPT: `n_params` holds learned positions and the biases that `arch_note` denies.
    let is_mpt = row["arch_note"].starts_with("learned positional");
    let (positions, norm, biases) = if is_mpt { (length, "layer", "all") } else { (0, "rms", "none") };
    // Three matrices for Grok: trap 16.
    let gated = match row["ffn_type"].as_str() {
        "swiglu" | "gated (see yaml)" => true,
        "gelu" | "squared-relu" => false,
        _ => return None,
    };
    let attention = |mask: &str| {
        if row["attn_type"] != "mla" {
            return format!(
                "attention: {{heads: {heads}, kv_heads: {kv_heads}, head_dim: {head_dim}, mask: {mask}, bias: {biases}}}",
            );
        }
        let words: Vec<&str> = row["arch_note"].split_whitespace().collect();
        let after = |word: &str| words[words.iter().position(|found| *found == word).unwrap() + 1];
        format!(
            "latent_attention: {{heads: {heads}, q_rank: {}, kv_rank: {}, nope_head_dim: {}, rope_head_dim: {}, \
             v_head_dim: {}}}",
            after("q_lora"),
            after("kv_lora"),
            after("qk_nope"),
            after("qk_rope"),
            after("v"),
        )
    };
    let dense = || Some(format!("dense: {{inner: {}, gated: {gated}, bias: {is_mpt}}}", size("ffn_hidden")?));
    let dense_layers = if row["moe_experts"].is_empty() { layers } else { size("moe_dense_layers")? };
    let mut groups = Vec::new();
    if dense_layers > 0 {
        groups.push((dense_layers, "causal", dense()?));
    }
    if let Some(experts) = size("moe_experts") {
        let feed_forward = format!(
            "experts: {{experts: {experts}, active: {}, inner: {}, shared_inner: {}, gated: {gated}}}",
            size("moe_topk")?,
            size("moe_ffn")?,
            size("moe_shared_ffn")?
        );
        let layers = layers - dense_layers;
        // Windows of 128 keys in every other layer: gpt-oss.
        let windowed = if row["attn_type"].contains("sliding-window 128 / full") { layers / 2 } else { 0 };
        if windowed > 0 {
            groups.push((windowed, "{sliding_window: 128}", feed_forward.clone()));
        }
        groups.push((layers - windowed, "causal", feed_forward));
    }
    let mut yaml = format!(
        "name: {}\ntext:\n  width: {}\n  vocabulary: {}\n  positions: {positions}\n  norm: {norm}\n  tied: {}\n  \
         multi_token_prediction: {}\n  decoder:\n",
        row["id"],
        width?,
        vocabulary?,
        row["tied_embeddings"] == "yes",
        size("mtp_layers").unwrap_or(0),
    );
    for (blocks, mask, feed_forward) in groups {
        let mixer = attention(mask);
        writeln!(yaml, "  - {{blocks: {blocks}, mixer: {{{mixer}}}, feed_forward: {{{feed_forward}}}}}")
            .unwrap();
    }
    Some(Architecture::from_yaml(&yaml, &row["id"]).unwrap())
}

fn flops(convention: &str, model: &Architecture, row: &Row) -> f64 {
    let length = row["seq_len"].parse().unwrap();
    Convention::named(convention).unwrap().flops_per_token(model, length).unwrap().value()
}

/// FLOPs a token as the source counts them.
fn stated(convention: &str, model: &Architecture, row: &Row) -> f64 {
    if row["convention"].starts_with("approximate formula (4*2*N*tokens)") {
        return flops("kaplan-all", model, row) * 4.0 / 3.0;
    }
    // Trap 16: half of the square, although the source says the square.
    let convention = if row["model"].starts_with("Grok1") { "maxtext" } else { convention };
    flops(convention, model, row)
}

/// Why a published figure is not the count in its source's convention (data/runs/README.md, traps).
fn reason(row: &Row) -> Option<&'static str> {
    let model = row["model"].to_lowercase().replace(['-', ' ', '_'], "");
    let steps_of_32 = || row["tokens_per_s_per_device"].parse::<u64>().is_ok_and(|tokens| tokens % 32 == 0);
    Some(match row["source_key"].as_str() {
        _ if row["task"] == "lora" => "adapters: frozen weights have no weight gradient",
        _ if row["task"] == "sft" => "packed documents have fewer pairs",
        "dgxc-benchmarking" if model.starts_with("nemotron") => "grouped queries ignored",
        "dgxc-benchmarking" if model.contains("405b") && row["table"] == "sample output" => {
            "does not fit its own FLOPs"
        }
        "dgxc-benchmarking" if model.contains("405b") => "counted with 16 key-value heads",
        "dgxc-benchmarking" if model.contains("deepseek") => {
            "Megatron's count in this one table: half of the square, and the prediction module"
        }
        "megatron-bridge" if model.starts_with("gptoss") => "its counter changed between releases",
        "megatron-bridge" if model.contains("405b") && steps_of_32() => "tokens/s published in steps of 32",
        "bloom-prequel" if row["attention_counting"] == "not counted" => "parameters without embeddings",
        "bloom-prequel" if row["id"] == "bloom-prequel-041" => "parameters alone, whatever its source says",
        _ => return None,
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

#[test]
fn published_flops_per_token_are_counted_in_each_sources_convention() {
    let Some(rows) = support::table("runs/runs.csv") else { return };
    println!("| source | rows | convention | median | within 1 % |\n|-|-|-|-|-|");
    let mut left_over: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut unexplained = Vec::new();
    for (source, convention, full, half) in SOURCES {
        let with_flops =
            |row: &&Row| row["source_key"] == source && !row["implied_flops_per_token"].is_empty();
        let models = rows.iter().filter(with_flops).filter_map(|row| Some((row, architecture(row)?)));
        let (mut ratios, mut over_full, mut over_half) = (Vec::new(), Vec::new(), Vec::new());
        for (row, model) in models {
            let published: f64 = row["implied_flops_per_token"].parse().unwrap();
            let ratio = published / stated(convention, &model, row);
            // Adapters are in none of the README's medians.
            if row["task"] != "lora" {
                let mut plain = model.with_mask(Mask::Causal);
                plain.text.as_mut().unwrap().multi_token_prediction = 0;
                over_full.push(published / flops("flopcounter", &plain, row));
                over_half.push(published / flops("maxtext", &plain, row));
                ratios.push(ratio);
            }
            if (ratio - 1.0).abs() > 0.01 {
                let (id, model, task) = (&row["id"], &row["model"], &row["task"]);
                match reason(row) {
                    Some(reason) => {
                        left_over.entry(format!("{source} {model} {task}: {reason}")).or_default().push(ratio)
                    }
                    None => unexplained.push(format!("{id} {model} {task} {}: {ratio:.4}", row["table"])),
                }
            }
        }
        if ratios.is_empty() {
            println!("| {source} | 0 | {convention} | - | - |");
            continue;
        }
        let within = ratios.iter().filter(|ratio| (*ratio - 1.0).abs() <= 0.01).count();
        let count = ratios.len();
        println!("| {source} | {count} | {convention} | {:.4} | {within} |", median(ratios.clone()));
        for (found, readme) in [(median(over_full), full), (median(over_half), half)] {
            assert!((found / readme - 1.0).abs() < 0.005, "{source}: {found} instead of {readme}");
        }
        assert!((median(ratios) - 1.0).abs() < 0.005, "{source}");
    }
    for (what, ratios) in &left_over {
        let (least, most) =
            ratios.iter().fold((f64::MAX, f64::MIN), |(a, b), ratio| (a.min(*ratio), b.max(*ratio)));
        println!("{what}: {} rows, {least:.3} to {most:.3}", ratios.len());
    }
    assert!(unexplained.is_empty(), "{unexplained:#?}");
}

/// MPT's published totals, which its FLOPs are six times of.
#[test]
fn parameters_of_published_runs_are_theirs() {
    let Some(rows) = support::table("runs/runs.csv") else { return };
    let mut checked = 0;
    for row in rows.iter().filter(|row| row["source_key"] == "mosaic-llm-foundry") {
        let total = architecture(row).unwrap().parameters().unwrap().total;
        assert_eq!(total.to_string(), row["n_params"], "{}", row["id"]);
        checked += 1;
    }
    assert_eq!(checked, 156);
}
