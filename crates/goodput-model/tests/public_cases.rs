//! Public wrong numbers (issue and pull-request threads), each with its right number and the fault behind it.
#![allow(clippy::unwrap_used, clippy::panic)]

use goodput_model::architecture::{Architecture, FeedForward, Mixer};
use goodput_model::audit::{Audit, Claim, Claims, FAULTS, Fault, Figure, Run, Verdict, audit};
use goodput_model::device::{Catalogue, Dtype};
use goodput_model::{Batch, Component, FlopCounter, Mask, Recompute, Training, bottom_right_causal_pairs};
use proptest::prelude::*;
use rstest::rstest;

fn model(name: &str) -> Architecture {
    Architecture::known(name).unwrap()
}

fn run(name: &str, sequence: u64, devices: u64) -> Run {
    Run::new(model(name), sequence, devices).unwrap()
}

fn on(mut run: Run, device: &str) -> Run {
    run.set_device(Catalogue::built_in().find(device).unwrap(), Dtype::Bf16).unwrap();
    run
}

fn laid_out(mut run: Run, tp: u64, cp: u64, pp: u64) -> Run {
    run.set_layout(tp, cp, pp).unwrap();
    run
}

fn named(name: &str) -> &'static Fault {
    FAULTS.iter().find(|fault| fault.name == name).unwrap()
}

fn factor(name: &str, run: &Run) -> f64 {
    named(name).factor(run).unwrap()
}

/// Asserts that one of the explanations of a figure is exactly these faults.
fn explained(audit: &Audit, figure: Figure, faults: &[&str]) {
    let row = audit.row(figure).unwrap();
    let Verdict::Explained(explanations) = &row.verdict else { panic!("{row:?}") };
    let found: Vec<Vec<&str>> =
        explanations.iter().map(|e| e.faults.iter().map(|fault| fault.name).collect()).collect();
    assert!(found.iter().any(|names| names == faults), "{faults:?} is not in {found:?}");
}

fn right(audit: &Audit, figure: Figure) -> f64 {
    audit.row(figure).unwrap().right.unwrap()
}

fn close(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() < relative, "{found} against {expected}");
}

/// Training FLOPs of rows of one document each.
fn flops(architecture: &Architecture, rows: u64, length: u64) -> f64 {
    let counter = FlopCounter::new(architecture, &Training::full()).unwrap();
    counter.count(&Batch::rows(rows, length).unwrap(), Recompute::None).unwrap().useful().total() as f64
}

/// A printed MFU over printed tokens a second and device.
fn speed_and_mfu(tokens: f64, mfu: f64) -> Claims {
    Claims {
        tokens_per_second_per_device: Some(Claim::exact(tokens)),
        mfu: Some(Claim::exact(mfu)),
        ..Claims::default()
    }
}

// 1, 2: MaxText #1972 -> PR #1988, four sequences a device and step (Megatron-LM #831 and torchtitan #341 alike).
#[rstest]
#[case(4, 8_192, 1_721.22, 1_510.11)]
#[case(4, 129_024, 125_194.0, 72_827.0)]
fn causal_attention_counted_as_a_square(
    #[case] rows: u64,
    #[case] length: u64,
    #[case] wrong: f64,
    #[case] right_tflop: f64,
) {
    let llama = model("llama2-7b");
    let counted = flops(&llama, rows, length) / 1e12;
    close(counted, right_tflop, 1e-4);
    let run = run("llama2-7b", length, 1);
    close(factor("causal-as-square", &run), wrong / right_tflop, 1e-4);
    let printed = Claims {
        seconds: Some(Claim::exact(1.0)),
        tokens_per_step: Some((rows * length) as f64),
        tflops_per_device: Some(Claim::exact(counted * wrong / right_tflop)),
        ..Claims::default()
    };
    explained(&audit(&run, &printed, 0.01).unwrap(), Figure::TflopsPerDevice, &["causal-as-square"]);
}

// 3: torchtitan #452, #280.
#[test]
fn the_input_embedding_is_no_matrix_multiplication() {
    let run = run("llama3.1-8b", 8192, 1);
    let per_token = flops(&model("llama3.1-8b"), 1, 8192) / 8192.0;
    close(factor("embedding-counted", &run), 1.0 + 6.0 * 128_256.0 * 4_096.0 / per_token, 1e-9);
    // Both, as nanoGPT and PaLM with all N: 61.07 against 51.47 GFLOP a token.
    let printed = speed_and_mfu(1000.0, 1000.0 * 61.0665e9 / 989.4e12);
    let found = audit(&on(run, "H100 SXM5"), &printed, 0.005).unwrap();
    explained(&found, Figure::Mfu, &["causal-as-square", "embedding-counted"]);
}

// 4: torchtitan #1920, on a Qwen3 whose heads are 128 wide and not 1024 / 16 = 64.
#[test]
fn head_dim_is_the_models_own() {
    let run = run("qwen3-0.6b", 32_768, 1);
    let expected = factor("head-dim-from-width", &run);
    assert!(expected < 0.7, "{expected}");
    let tokens = 10_000.0;
    let per_token = flops(&model("qwen3-0.6b"), 1, 32_768) / 32_768.0;
    let printed = speed_and_mfu(tokens, tokens * per_token * expected / 989.4e12);
    let found = audit(&on(run, "H100 SXM5"), &printed, 0.01).unwrap();
    explained(&found, Figure::Mfu, &["head-dim-from-width"]);
}

// 5: torchtitan #4300.
#[test]
fn windows_and_inactive_experts_are_not_counted() {
    let gpt_oss = run("gpt-oss-20b", 8192, 1);
    // Megatron's full causal count on every layer: +9.64 % against the exact one, which has the router too.
    close(factor("window-as-full", &gpt_oss), 1.0964, 2e-3);
    // 6 N with all experts against exact FLOPs.
    let mixtral = run("mixtral-8x7b", 8192, 1);
    assert!(factor("inactive-experts-counted", &mixtral) > 3.0);
    let tokens = 1000.0;
    let per_token = flops(&model("mixtral-8x7b"), 1, 8192) / 8192.0;
    let wrong = factor("inactive-experts-counted", &mixtral);
    let printed = Claims {
        tokens_per_second_per_device: Some(Claim::exact(tokens)),
        tflops_per_device: Some(Claim::exact(tokens * per_token * wrong / 1e12)),
        ..Claims::default()
    };
    let found = audit(&mixtral, &printed, 0.01).unwrap();
    explained(&found, Figure::TflopsPerDevice, &["inactive-experts-counted"]);
}

// 6: torchtitan #4366. Flux at 4096 image and 512 text tokens: 22.3 of 44.6 TFLOP of attention, forward and backward.
#[test]
fn flux_attention_has_two_products() {
    let counter = FlopCounter::new(&model("flux.1-dev"), &Training::full()).unwrap();
    let batch = Batch::rows(1, 4096).unwrap().with_sources(&[512]).unwrap();
    let counted = counter.count(&batch, Recompute::None).unwrap();
    let core = counted.component(Component::AttentionCore).useful.total() as f64;
    close(core, 44.6e12, 2e-3);
    close(core / 2.0, 22.3e12, 2e-3);
}

// 8: torchtitan #1393.
#[test]
fn the_sparse_peak_of_b200() {
    let run = on(run("llama3.1-8b", 8192, 8), "B200");
    let printed = Claims { peak_flops_per_second: Some(Claim::exact(4.5e15)), ..Claims::default() };
    let found = audit(&run, &printed, 0.01).unwrap();
    assert_eq!(right(&found, Figure::PeakTflops), 2250.0);
    explained(&found, Figure::PeakTflops, &["sparse-peak"]);
}

// 9, 12, 13, 15, 16, 17 and the like: what multiplies the tokens.
#[rstest]
#[case::torchtitan_2983("tokens-summed-over-cp", 1, 4, 4.0)]
#[case::trl_7100("tokens-summed-over-tp", 4, 1, 4.0)]
#[case::prime_rl_2424("divided-by-cp-though-split", 1, 2, 0.5)]
#[case::lmms_engine_158("divided-by-cp-though-split", 1, 4, 0.25)]
#[case::lm_engine_47("whole-model-on-each-tp-rank", 8, 1, 8.0)]
#[case::nemo_rl_1015("tokens-summed-over-cp", 1, 8, 8.0)]
fn a_scope_multiplies(#[case] name: &str, #[case] tp: u64, #[case] cp: u64, #[case] expected: f64) {
    let run = laid_out(run("llama3.1-8b", 8192, 16), tp, cp, 1);
    assert_eq!(factor(name, &run), expected);
}

// 9: torchtitan #2983.
#[test]
fn context_parallel_ranks_count_a_sequence_once() {
    let run = laid_out(run("llama3.1-8b", 8192, 16), 1, 4, 1);
    let printed = Claims {
        seconds: Some(Claim::exact(2.0)),
        tokens_per_step: Some(65_536.0),
        tokens_per_second: Some(Claim::exact(4.0 * 32_768.0)),
        ..Claims::default()
    };
    let found = audit(&run, &printed, 0.01).unwrap();
    assert_eq!(right(&found, Figure::TokensPerSecond), 32_768.0);
    explained(&found, Figure::TokensPerSecond, &["tokens-summed-over-cp"]);
}

// 13: prime-rl #2424, cp = 2: 38.3 -> 76.6 %.
#[test]
fn a_sequence_that_is_split_is_not_divided_again() {
    let run = on(laid_out(run("llama3.1-8b", 8192, 8), 1, 2, 1), "H100 SXM5");
    let per_token = flops(&model("llama3.1-8b"), 1, 8192) / 8192.0;
    let tokens = 0.766 * 989.4e12 * 8.0 / per_token;
    let printed = Claims {
        seconds: Some(Claim::exact(1.0)),
        tokens_per_step: Some(tokens),
        mfu: Some(Claim::exact(0.383)),
        ..Claims::default()
    };
    let found = audit(&run, &printed, 0.01).unwrap();
    close(right(&found, Figure::Mfu), 0.766, 1e-9);
    explained(&found, Figure::Mfu, &["divided-by-cp-though-split"]);
}

// 15: nanochat #177: four micro-batches.
#[test]
fn gradient_accumulation_belongs_to_the_step() {
    let mut run = run("gpt2-124m", 1024, 8);
    run.set_gradient_accumulation(Some(4));
    let printed = Claims {
        seconds: Some(Claim { value: 0.5, rounding: 0.000_005 }),
        tokens_per_step: Some(524_288.0),
        tokens_per_second: Some(Claim::exact(262_144.0)),
        ..Claims::default()
    };
    let found = audit(&run, &printed, 0.01).unwrap();
    assert_eq!(right(&found, Figure::TokensPerSecond), 1_048_576.0);
    explained(&found, Figure::TokensPerSecond, &["gradient-accumulation-missing"]);
}

// 16: open-instruct #1032: about 250 % MFU at the fifth step of a run at 50 %.
#[test]
fn cumulative_tokens_over_the_last_step() {
    let mut run = on(run("llama3.1-8b", 8192, 8), "H100 SXM5");
    run.set_step(Some(5));
    let per_token = flops(&model("llama3.1-8b"), 1, 8192) / 8192.0;
    let printed = Claims {
        seconds: Some(Claim::exact(1.0)),
        tokens_per_step: Some(0.5 * 989.4e12 * 8.0 / per_token),
        mfu: Some(Claim::exact(2.5)),
        ..Claims::default()
    };
    let found = audit(&run, &printed, 0.01).unwrap();
    close(right(&found, Figure::Mfu), 0.5, 1e-9);
    explained(&found, Figure::Mfu, &["cumulative-tokens-over-one-step"]);
}

// 10: Megatron-Bridge #3498 and BioNeMo #1548: documents of 1000, 1000 and 2096 tokens in a row of 4096.
#[test]
fn documents_are_not_one() {
    let pairs = |lengths: &[u64]| lengths.iter().map(|l| u128::from(l * l)).sum::<u128>() as f64;
    close(pairs(&[4096]) / pairs(&[1000, 1000, 2096]), 2.6, 0.02);
    let mut run = run("llama3.1-8b", 4096, 1);
    run.set_documents(&[1000, 1000, 2096]).unwrap();
    let per_token = audit(&run, &Claims::default(), 0.01).unwrap().flops_per_token;
    close(
        factor("documents-as-one", &run),
        flops(&model("llama3.1-8b"), 1, 4096) / 4096.0 / per_token,
        1e-12,
    );
    // 8192 tokens in documents of 64: the whole step +14.2 %.
    let mut packed = crate::run("llama3.1-8b", 8192, 1);
    packed.set_documents(&[64; 128]).unwrap();
    close(factor("documents-as-one", &packed), 1.142, 1e-3);
}

// 11: verl #4959 (causal 12 -> 6), #6944 (lm_head x 2): Qwen2.5-0.5B +20.3 %, Qwen3-8B +7.1 %.
#[rstest]
#[case("qwen2.5-0.5b", 0.203)]
#[case("qwen3-8b", 0.071)]
#[case("llama3.1-8b", 0.0612)]
fn the_head_is_counted_once(#[case] name: &str, #[case] over: f64) {
    close(factor("embedding-counted", &run(name, 8192, 1)), 1.0 + over, 2e-3);
}

// 14: transformers #29889: a quarter of the batch is padding.
#[test]
fn padding_is_no_token() {
    let mut run = run("llama3.1-8b", 8192, 1);
    run.set_real_share(0.75).unwrap();
    let printed = Claims {
        seconds: Some(Claim::exact(1.0)),
        tokens_per_step: Some(6_144.0),
        tokens_per_second: Some(Claim::exact(8_192.0)),
        ..Claims::default()
    };
    explained(&audit(&run, &printed, 0.01).unwrap(), Figure::TokensPerSecond, &["padding-counted"]);
}

// 14: transformers #40560: resumed at 1e9 tokens seen, 1e6 new ones in 10 s.
#[test]
fn tokens_seen_before_the_start_are_not_of_this_step() {
    let mut run = run("llama3.1-8b", 8192, 1);
    run.set_step(Some(1001));
    let printed = Claims {
        seconds: Some(Claim::exact(10.0)),
        tokens_per_step: Some(1e6),
        tokens_per_second: Some(Claim::exact(1.001e8)),
        ..Claims::default()
    };
    let found = audit(&run, &printed, 0.01).unwrap();
    assert_eq!(right(&found, Figure::TokensPerSecond), 1e5);
    explained(&found, Figure::TokensPerSecond, &["cumulative-tokens-over-one-step"]);
}

// 18 to 22: the peak.
#[rstest]
#[case::lightning_21677_h200("H200 SXM", 1979e12, "sparse-peak")]
#[case::lightning_21743_h100_nvl("H100 NVL", 1671e12, "sparse-peak")]
#[case::olmo_core_614("A100 SXM4 80GB", 156e12, "dense-peak-halved")]
#[case::primus_772("MI355X", 312e12, "a100-peak")]
#[case::nanogpt_464("H100 SXM5", 312e12, "a100-peak")]
#[case::nanochat_147("RTX 5090", 989e12, "h100-peak")]
#[case::megatron_1565("H100 SXM5", 1979e12, "sparse-peak")]
#[case::fms_fsdp_89("H100 SXM5", 2000e12, "sparse-peak")]
#[case::automodel("H100 SXM5", 1979e12, "fp8-peak")]
#[case::veomni_l40s("L40S", 181.05e12, "name-inside-name")]
#[case::veomni_b200("B200", 2382e12, "largest-clock-peak")]
#[case::veomni_gb200("GB200", 2565e12, "largest-clock-peak")]
#[case::lightning_4090("RTX 4090", 82.6e12, "vector-peak")]
#[case::lightning_tpu_v3("TPU v3", 123e12, "module-peak")]
#[case::gb200_superchip("GB200", 5000e12, "superchip-peak")]
fn a_wrong_peak_is_named(#[case] device: &str, #[case] peak: f64, #[case] fault: &str) {
    let run = on(run("llama3.1-8b", 8192, 8), device);
    let wrong = peak / run.peak_flops_per_second().unwrap();
    let tokens = 1000.0;
    let per_token = flops(&model("llama3.1-8b"), 1, 8192) / 8192.0;
    let mfu = tokens * per_token / peak;
    let found = audit(&run, &speed_and_mfu(tokens, mfu), 0.015).unwrap();
    close(right(&found, Figure::Mfu), mfu * wrong, 1e-9);
    explained(&found, Figure::Mfu, &[fault]);
}

// 21: Primus #772: 563 % on MI355X are 563 x 312 / 2500 = 70.3 % (69.8 % at its exact peak).
#[test]
fn mi355x_is_no_a100() {
    let run = on(run("llama3.1-8b", 8192, 8), "MI355X");
    let printed = Claims {
        tflops_per_device: Some(Claim::exact(5.63 * 312.0)),
        mfu: Some(Claim { value: 5.63, rounding: 0.005 }),
        ..Claims::default()
    };
    let found = audit(&run, &printed, 0.01).unwrap();
    close(right(&found, Figure::Mfu), 0.698, 1e-3);
    explained(&found, Figure::Mfu, &["a100-peak"]);
}

// 22: Megatron-LM #1276: 420 TFLOP/s on H200 are 42.4 %, not 21 %.
#[test]
fn h200_at_420_tflops() {
    let run = on(run("llama3.1-8b", 8192, 8), "NVIDIA H200");
    let printed = Claims {
        tflops_per_device: Some(Claim::exact(420.0)),
        mfu: Some(Claim { value: 0.21, rounding: 0.005 }),
        ..Claims::default()
    };
    let found = audit(&run, &printed, 0.01).unwrap();
    close(right(&found, Figure::Mfu), 0.4245, 1e-3);
    explained(&found, Figure::Mfu, &["sparse-peak"]);
}

// 23: Megatron-DeepSpeed #350, #371. Nemotron's READMEs ignored grouped queries: 1.13 to 1.17 times.
#[test]
fn grouped_queries_have_fewer_keys() {
    let llama = run("llama2-70b", 4096, 1);
    let attention = match model("llama2-70b").text.unwrap().decoder[0].mixer {
        Mixer::Attention(attention) => attention,
        ref other => panic!("{other:?}"),
    };
    let more = (attention.heads - attention.kv_heads) * attention.head_dim * 2;
    let per_token = flops(&model("llama2-70b"), 1, 4096) / 4096.0;
    close(factor("grouped-query-ignored", &llama), 1.0 + 6.0 * 80.0 * (more * 8192) as f64 / per_token, 1e-9);
}

// 24: Megatron-LM #682, and 25: Pai-Megatron-Patch #485.
#[test]
fn feed_forward_widths_are_the_models_own() {
    // Llama-3's three matrices of 14336 against two of 16384.
    let run = run("llama3.1-8b", 8192, 1);
    let per_token = flops(&model("llama3.1-8b"), 1, 8192) / 8192.0;
    let less = 6.0 * 32.0 * 4096.0 * (3.0 * 14_336.0 - 2.0 * 16_384.0);
    close(factor("feed-forward-as-4h", &run), 1.0 - less / per_token, 1e-9);
    let deepseek = crate::run("deepseek-v3", 4096, 1);
    let FeedForward::Dense(dense) = model("deepseek-v3").text.unwrap().decoder[0].feed_forward else {
        panic!("the first layers are dense");
    };
    assert_eq!(dense.inner, 18_432);
    assert!(factor("experts-of-dense-width", &deepseek) > 3.0);
}

// 26: Hugging Face blog #1649: 45.51 % from 16 GPUs over one GPU's peak are 2.84 %.
#[test]
fn the_job_has_sixteen_gpus() {
    let run = on(run("llama3.1-8b", 8192, 16), "H100 SXM5");
    let per_token = flops(&model("llama3.1-8b"), 1, 8192) / 8192.0;
    let printed = Claims {
        seconds: Some(Claim::exact(1.0)),
        tokens_per_step: Some(0.4551 * 989.4e12 / per_token),
        mfu: Some(Claim::exact(0.4551)),
        ..Claims::default()
    };
    let found = audit(&run, &printed, 0.01).unwrap();
    close(right(&found, Figure::Mfu), 0.0284, 2e-3);
    explained(&found, Figure::Mfu, &["job-for-device"]);
}

// 27, 28: fused attention counted twice, or not at all.
#[test]
fn attention_is_counted_once() {
    let run = run("llama3.1-8b", 8192, 1);
    let with = factor("attention-twice", &run) - 1.0;
    let without = 1.0 - factor("attention-missing", &run);
    close(with, without, 1e-9);
    close(without, 1.0 - 45.0295 / 51.4712, 1e-3);
    close(1.0 - factor("attention-halved", &run), without / 2.0, 1e-9);
}

// 29: xformers #1402: fewer queries than keys.
#[test]
fn causal_attention_of_few_queries_is_bottom_right() {
    assert_eq!(bottom_right_causal_pairs(4, 4), Mask::Causal.pairs(4));
    assert_eq!(bottom_right_causal_pairs(1, 1000), 1000);
}

// BigScience Megatron-DeepSpeed #221 and #98.
#[rstest]
#[case(30_949.01, 30.949_01, 64, "gflops-for-tflops")]
#[case(125.18, 1.955_937_5, 64, "job-for-device")]
fn a_rate_in_another_unit(
    #[case] printed: f64,
    #[case] right_tflops: f64,
    #[case] devices: u64,
    #[case] fault: &str,
) {
    let run = run("gpt2-xl", 1024, devices);
    let per_token = flops(&model("gpt2-xl"), 1, 1024) / 1024.0;
    let printed = Claims {
        seconds: Some(Claim::exact(1.0)),
        tokens_per_step: Some(right_tflops * 1e12 * devices as f64 / per_token),
        tflops_per_device: Some(Claim::exact(printed)),
        ..Claims::default()
    };
    let found = audit(&run, &printed, 0.01).unwrap();
    close(right(&found, Figure::TflopsPerDevice), right_tflops, 1e-9);
    explained(&found, Figure::TflopsPerDevice, &[fault]);
}

// The reference's table of conventions, Llama-3 8B at 8192: ratios to the exact count.
#[rstest]
#[case(&["causal-as-square"], 1.1252)]
#[case(&["causal-as-square", "embedding-counted"], 1.1864)]
#[case(&["embedding-counted"], 1.0612)]
#[case(&["attention-missing"], 0.8749)]
#[case(&["logits-missing", "attention-missing"], 0.8136)]
#[case(&["embedding-counted", "attention-missing"], 0.9361)]
#[case(&["attention-backward-as-flash"], 1.0209)]
#[case(&["causal-as-square", "attention-backward-as-flash"], 1.1669)]
fn conventions_are_faults_of_known_size(#[case] faults: &[&str], #[case] ratio: f64) {
    let run = run("llama3.1-8b", 8192, 1);
    let per_token = audit(&run, &Claims::default(), 0.01).unwrap().flops_per_token;
    close(per_token, 51.4712e9, 1e-5);
    let printed = Claims {
        tokens_per_second_per_device: Some(Claim::exact(1000.0)),
        tflops_per_device: Some(Claim::exact(1000.0 * per_token * ratio / 1e12)),
        ..Claims::default()
    };
    explained(&audit(&run, &printed, 0.0005).unwrap(), Figure::TflopsPerDevice, faults);
}

#[test]
fn a_right_report_agrees_and_an_unknown_difference_is_not_explained() {
    let run = on(run("llama3.1-8b", 8192, 8), "H100 SXM5");
    let per_token = flops(&model("llama3.1-8b"), 1, 8192) / 8192.0;
    let tflops = 7000.0 * per_token / 1e12;
    let claims = Claims {
        seconds: Some(Claim::exact(1.0)),
        tokens_per_step: Some(56_000.0),
        tokens_per_second: Some(Claim::exact(56_000.0)),
        tokens_per_second_per_device: Some(Claim::exact(7000.0)),
        tflops_per_device: Some(Claim { value: tflops, rounding: 0.05 }),
        peak_flops_per_second: Some(Claim::exact(989e12)),
        mfu: Some(Claim::exact(tflops / 989.4)),
    };
    let found = audit(&run, &claims, 0.01).unwrap();
    assert!(!found.finds_a_fault(), "{:?}", found.rows);
    let odd = Claims { mfu: Some(Claim::exact(0.0123)), ..claims };
    let found = audit(&run, &odd, 0.001).unwrap();
    assert_eq!(found.row(Figure::Mfu).unwrap().verdict, Verdict::NotExplained);
    // An MFU that only follows from wrong tokens/s is said to.
    let mut wrong = run.clone();
    wrong.set_layout(2, 1, 1).unwrap();
    let doubled = Claims {
        tokens_per_second: Some(Claim::exact(112_000.0)),
        tokens_per_second_per_device: Some(Claim::exact(14_000.0)),
        tflops_per_device: Some(Claim::exact(2.0 * tflops)),
        mfu: Some(Claim::exact(2.0 * tflops / 989.4)),
        ..claims
    };
    let found = audit(&wrong, &doubled, 0.01).unwrap();
    explained(&found, Figure::TokensPerSecond, &["tokens-summed-over-tp"]);
    assert_eq!(
        found.row(Figure::TflopsPerDevice).unwrap().verdict,
        Verdict::Follows(Figure::TokensPerSecondPerDevice)
    );
    assert!(matches!(found.row(Figure::Mfu).unwrap().verdict, Verdict::Follows(_)));
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let run = run("llama3.1-8b", 8192, 8);
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let claims = Claims { mfu: Some(Claim::exact(value)), ..Claims::default() };
        let error = audit(&run, &claims, 0.01).unwrap_err().to_string();
        assert!(error.contains("MFU"), "{error}");
    }
    assert!(Run::new(model("llama3.1-8b"), 0, 8).is_err());
    assert!(Run::new(model("llama3.1-8b"), 8192, 0).is_err());
    assert!(run.clone().set_layout(3, 1, 1).is_err());
    assert!(run.clone().set_layout(u64::MAX, 2, 1).is_err());
    assert!(run.clone().set_documents(&[8000, 200]).is_err());
    assert!(run.clone().set_documents(&[]).is_err());
    assert!(run.clone().set_real_share(1.5).is_err());
    assert!(audit(&run, &Claims::default(), 0.0).is_err());
}

#[test]
fn every_fault_has_a_name_a_title_and_a_citation_and_can_be_found() {
    let mut names: Vec<&str> = FAULTS.iter().map(|fault| fault.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), FAULTS.len());
    // A run for each kind of model and device in which the fault can be.
    let mut runs = Vec::new();
    for name in ["llama3.1-8b", "gpt-oss-20b", "deepseek-v3", "qwen3-0.6b", "mixtral-8x7b"] {
        for device in ["H100 SXM5", "MI250X", "GB200", "L40S", "GeForce RTX 4090", "B200"] {
            let mut run = on(laid_out(run(name, 8192, 64), 2, 4, 8), device);
            run.set_gradient_accumulation(Some(16));
            run.set_step(Some(7));
            run.set_real_share(0.9).unwrap();
            run.set_documents(&[1024; 8]).unwrap();
            runs.push(run);
        }
    }
    for fault in FAULTS {
        assert!(!fault.title.is_empty() && !fault.citation.is_empty());
        let found = runs.iter().any(|run| fault.factor(run).is_some_and(|factor| factor.ln().abs() > 0.01));
        assert!(found, "{} has no run", fault.name);
    }
}

proptest! {
    /// Whatever single fault is planted, an explanation of one fault with its factor is found.
    #[test]
    fn a_planted_fault_is_found(index in 0..FAULTS.len(), tokens in 10.0..1e5_f64) {
        let mut run = on(laid_out(run("gpt-oss-20b", 8192, 64), 2, 4, 8), "GB200");
        run.set_gradient_accumulation(Some(16));
        run.set_step(Some(7));
        run.set_real_share(0.9).unwrap();
        let fault = &FAULTS[index];
        let Some(factor) = fault.factor(&run).filter(|factor| factor.ln().abs() > 0.01) else { return Ok(()) };
        let per_token = audit(&run, &Claims::default(), 0.01).unwrap().flops_per_token;
        let claims = Claims {
            seconds: Some(Claim::exact(1.0)),
            tokens_per_step: Some(tokens * 64.0),
            mfu: Some(Claim::exact(tokens * per_token / 2500e12 * factor)),
            ..Claims::default()
        };
        let found = audit(&run, &claims, 0.001).unwrap();
        let row = found.row(Figure::Mfu).unwrap();
        let Verdict::Explained(explanations) = &row.verdict else { panic!("{row:?}") };
        prop_assert_eq!(explanations[0].faults.len(), 1);
        prop_assert!((explanations[0].factor / factor - 1.0).abs() < 1e-9);
    }
}
