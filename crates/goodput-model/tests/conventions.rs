//! Published conventions against what the frameworks' own functions print.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use goodput_model::convention::recurrence_counts;
use goodput_model::{Architecture, Convention, ConventionError, Mask};

const LENGTH: u64 = 8192;

fn per_token(convention: &str, model: &Architecture, length: u64) -> f64 {
    Convention::named(convention).unwrap().flops_per_token(model, length).unwrap().value()
}

/// Rows of the table by the name that each has here.
const LLAMA3_8B: [(&str, &str); 24] = [
    ("ORACLE full-square", "flopcounter"),
    ("ORACLE exact causal S(S+1)/2", "exact"),
    ("ORACLE exact causal, flash", "hfu-fused"),
    ("torch FlopCounterMode on CUDA flash", "flopcounter-flash"),
    ("Megatron-LM num_floating", "megatron-lm"),
    ("NeMo flops_formulas.llama3", "nemo-llama3"),
    ("NeMo flops_formulas.transformer", "nemo-transformer"),
    ("nanotron", "nanotron"),
    ("torchtitan", "torchtitan"),
    ("nanoGPT", "nanogpt"),
    ("PaLM App.B 6N", "palm"),
    ("PaLM App.B with all N", "palm-all"),
    ("Chinchilla", "chinchilla"),
    ("Kaplan 6ND (N=all", "kaplan-all"),
    ("Kaplan 6ND (N non", "kaplan"),
    ("llm-foundry", "llm-foundry"),
    ("OLMo-core", "olmo-core"),
    ("levanter", "levanter"),
    ("verl", "verl"),
    ("VeOmni", "veomni"),
    ("MaxText", "maxtext"),
    ("Megatron 2021 paper eq.3 (GPT", "megatron-2021"),
    ("Megatron 2021 paper eq.3 with", "megatron-2021-hfu"),
    ("EleutherAI", "cookbook"),
];

#[test]
fn every_convention_of_llama3_8b_is_what_its_framework_prints() {
    let Some(rows) = support::rows("conventions_llama3_8b_8192.csv") else { return };
    let llama = support::architecture("llama3.1-8b");
    let exact = Convention::EXACT.flops_per_token(&llama, LENGTH).unwrap();
    for row in &rows {
        let found = LLAMA3_8B.iter().find(|(title, _)| row["convention"].starts_with(title));
        let (_, name) = found.unwrap_or_else(|| panic!("{}", row["convention"]));
        let flops = Convention::named(name).unwrap().flops_per_token(&llama, LENGTH).unwrap();
        let token: f64 = row["flops_per_token"].parse().unwrap();
        assert!((flops.value() - token).abs() <= 0.5, "{name}: {} instead of {token}", flops.value());
        let sequence: u128 = row["flops_per_seq8192"].parse().unwrap();
        assert_eq!(flops.sequence(), sequence, "{name}");
        let ratio: f64 = row["ratio_to_exact_causal"].parse().unwrap();
        assert!((flops.ratio_to(exact) - ratio).abs() <= 5e-7, "{name}");
    }
    assert_eq!(rows.len(), LLAMA3_8B.len());
    // The row that the table does not have.
    assert_eq!(format!("{:.4}", per_token("hf-trainer", &llama, LENGTH) / 1e9), "45.0295");
}

#[test]
fn every_convention_of_other_models_is_what_its_framework_prints() {
    let Some(rows) = support::rows("convention_errors_other_models.csv") else { return };
    for row in &rows {
        let model = support::architecture(&row["model"]);
        let name = if row["formula"].starts_with("verl") { "verl" } else { "megatron-lm" };
        let sequence = |convention: &str| {
            Convention::named(convention).unwrap().flops_per_token(&model, LENGTH).unwrap().sequence() as f64
        };
        // The table's own doubles are the only rounding.
        let near = |found: f64, expected: &str| {
            let expected: f64 = expected.parse().unwrap();
            assert!((found / expected - 1.0).abs() < 1e-15, "{name} {}: {found} {expected}", row["model"]);
        };
        near(sequence(name), &row["train_flops"]);
        near(sequence("exact"), &row["exact_masked_train_flops"]);
        let error: f64 = row["rel_err_vs_exact"].parse().unwrap();
        assert!((sequence(name) / sequence("exact") - 1.0 - error).abs() < 1e-14, "{}", row["model"]);
        let square =
            Convention::EXACT.flops_per_token(&model.with_mask(Mask::Bidirectional), LENGTH).unwrap();
        let error: f64 = row["rel_err_vs_square"].parse().unwrap();
        assert!((sequence(name) / square.sequence() as f64 - 1.0 - error).abs() < 1e-14, "{}", row["model"]);
    }
    assert_eq!(rows.len(), 17);
}

/// MaxText's issue #1972: four sequences a device.
#[test]
fn maxtext_counted_the_square_before_2025() {
    let model = Architecture::known("llama2-7b").unwrap();
    for (length, before, after, digits) in
        [(8192, 1721.22, 1510.11, 0.005), (129_024, 125_194.0, 72_827.0, 0.5)]
    {
        let device = |convention| per_token(convention, &model, length) * length as f64 * 4.0 / 1e12;
        assert!((device("maxtext-square") - before).abs() < digits);
        assert!((device("maxtext") - after).abs() < digits);
    }
}

#[test]
fn windows_are_counted_wrong_in_known_ways() {
    let window = |keys: u64| {
        let mut model = Architecture::known("llama3.1-8b").unwrap();
        model.family = "gpt_oss".to_owned();
        model.with_mask(Mask::SlidingWindow(keys))
    };
    let error = |convention: &str, keys: u64| {
        let model = window(keys);
        // Attention alone: what is left when a formula without attention is taken away.
        let other = |convention: &str| {
            let with = per_token(convention, &model, LENGTH);
            let causal = per_token(convention, &model.with_mask(Mask::Causal), LENGTH);
            with - causal
        };
        let full = |half: bool| {
            let pairs = LENGTH.pow(2) as f64 / if half { 2.0 } else { 1.0 };
            pairs * 12.0 * 4096.0 * 32.0 / LENGTH as f64
        };
        let half = matches!(convention, "verl" | "maxtext");
        let exact = Mask::SlidingWindow(keys).pairs(LENGTH) as f64 * 12.0 * 4096.0 * 32.0 / LENGTH as f64;
        (other(convention) + full(half)) / exact - 1.0
    };
    for (convention, keys, percent) in [
        ("verl", 4096, -33.3),
        ("olmo-core", 4096, 33.3),
        ("maxtext", 4096, -0.008),
        ("verl", 128, -49.6),
        ("maxtext", 128, -0.006),
    ] {
        let found = error(convention, keys) * 100.0;
        assert!((found - percent).abs() < 0.05 * percent.abs().max(0.005), "{convention} {keys}: {found}");
    }
    let causal = Mask::Causal.pairs(LENGTH) as f64 / Mask::SlidingWindow(128).pairs(LENGTH) as f64;
    assert_eq!(causal.round(), 32.0);
}

#[test]
fn the_trainer_counts_every_expert() {
    for (model, over) in [("mixtral-8x7b", 3.37), ("qwen3-30b-a3b", 6.50), ("deepseek-v3", 14.3)] {
        let model = Architecture::known(model).unwrap();
        let ratio = per_token("hf-trainer", &model, LENGTH) / per_token("exact", &model, LENGTH);
        assert!((ratio / over - 1.0).abs() < 5e-3, "{ratio} {over}");
    }
}

/// Forward FLOPs a layer and token of Qwen3-Next, and the shares of a Mamba-2 layer.
#[test]
fn no_two_frameworks_agree_on_a_recurrence() {
    let model = Architecture::known("qwen3-next-80b-a3b").unwrap();
    let counts = recurrence_counts(&model);
    let of = |framework: &str| {
        let found = counts.iter().find(|count| count.framework.starts_with(framework));
        found.unwrap().forward_per_token / 36
    };
    assert_eq!((of("megatron-lm"), of("veomni"), of("torchtitan")), (4_194_304, 2_621_440, 3_145_728));
    let error = Convention::named("megatron-lm").unwrap().flops_per_token(&model, LENGTH).unwrap_err();
    assert!(matches!(error, ConventionError::NotDefined { .. }), "{error}");
    assert!(Convention::named("hf-trainer").unwrap().flops_per_token(&model, LENGTH).is_ok());
}

#[test]
fn conventions_say_what_they_do_not_define() {
    let t5 = Architecture::known("t5-large").unwrap();
    assert!(Convention::EXACT.flops_per_token(&t5, 512).is_err());
    let mixtral = Architecture::known("mixtral-8x7b").unwrap();
    let error = Convention::named("chinchilla").unwrap().flops_per_token(&mixtral, 512).unwrap_err();
    assert!(error.to_string().contains("experts"), "{error}");
    for length in [0, u64::MAX] {
        let error = Convention::EXACT.flops_per_token(&mixtral, length).unwrap_err();
        assert!(matches!(error, ConventionError::Length { .. }), "{error}");
    }
    let error = Convention::named("megatron").unwrap_err().to_string();
    assert!(error.contains("megatron-lm"), "{error}");
}

#[test]
fn names_and_sources_are_stated_once() {
    let mut names: Vec<&str> = Convention::ALL.iter().map(|convention| convention.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Convention::ALL.len());
    for convention in Convention::ALL {
        assert!(!convention.title.is_empty() && !convention.source.is_empty(), "{}", convention.name);
    }
}

/// A whole sequence counted by `exact` is what the batch counts.
#[test]
fn exact_is_the_batchs_own_count() {
    use goodput_model::{Batch, FlopCounter, Recompute, Training};
    for (name, recompute) in
        [("exact", Recompute::None), ("hfu-fused", Recompute::FusedAttention), ("hfu-full", Recompute::Full)]
    {
        for model in
            ["llama3.1-8b", "deepseek-v3", "gemma3-27b", "gpt-oss-20b", "nemotron-h-8b", "bert-large"]
        {
            let model = Architecture::known(model).unwrap();
            let counter = FlopCounter::new(&model, &Training::full()).unwrap();
            let batch = counter.count(&Batch::rows(1, 5000).unwrap(), recompute).unwrap();
            let flops = Convention::named(name).unwrap().flops_per_token(&model, 5000).unwrap();
            assert_eq!(flops.fraction(), (2 * batch.executed(), 10_000), "{name} {}", model.name);
        }
    }
}
