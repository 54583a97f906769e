//! RUN.yaml: what is read, and what each bad field is told.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use goodput_predict::run::{Recompute, Run, Schedule, Sharding};

fn read(text: &str) -> Result<Run, String> {
    Run::from_yaml("run.yaml", text, Path::new(".")).map_err(|error| error.to_string())
}

const BASE: &str = "model: llama3.1-8b\ncluster: DGX H100\ndevices: 64\n\
                    layout: {tp: 4, pp: 2}\nbatch: {sequence: 8192, micro: 1, global: 128}\n";

#[test]
fn the_example_of_the_repository_is_read() {
    let run = read(include_str!("../../../examples/run.yaml")).unwrap();
    assert_eq!(run.layout.schedule, Schedule::Interleaved { parts: 3 });
    assert_eq!((run.layout.data, run.micro_batches()), (1, Some(64)));
    assert_eq!(run.recompute, Recompute::AttentionCore);
}

#[test]
fn what_is_not_stated_has_the_documented_default() {
    let run = read(BASE).unwrap();
    assert_eq!((run.layout.data, run.micro_batches()), (8, Some(16)));
    assert_eq!(run.layout.sharding, Sharding::None);
    assert_eq!(run.recompute, Recompute::None);
    assert_eq!(run.framework.name, "megatron-lm");
    assert_eq!(run.precision.gradient_bytes, 4);
}

#[rstest::rstest]
#[case(1, "tp: 1", 8)]
#[case(2, "tp: 2", 8)]
#[case(4, "tp: 2, pp: 2", 8)]
#[case(100_000, "tp: 4, pp: 4", 6250)]
fn one_device_and_a_hundred_thousand(#[case] devices: u32, #[case] layout: &str, #[case] global: u64) {
    let text = BASE
        .replace("devices: 64", &format!("devices: {devices}"))
        .replace("tp: 4, pp: 2", layout)
        .replace("128}", &format!("{global}}}"));
    assert_eq!(read(&text).unwrap().devices, devices);
}

#[rstest::rstest]
#[case("tp: 4, pp: 2", "tp: 3, pp: 2", "does not divide 64 devices")]
#[case("tp: 4, pp: 2", "tp: 64", "layout.tp: 64 does not divide the query heads (32)")]
#[case("tp: 4, pp: 2", "pp: 64", "64 parts for 32 layers")]
#[case("tp: 4, pp: 2", "pp: 2, vpp: 32", "layers")]
#[case("tp: 4, pp: 2", "tp: 4, dp: 2", "is not the 64 devices")]
#[case("tp: 4, pp: 2", "sp: true", "layout.sp")]
#[case("tp: 4, pp: 2", "tp: 4, pp: 2, ep: 2", "no experts to spread")]
#[case("tp: 4, pp: 2", "tp: 4, ep: 3", "layout.ep: 3 does not divide")]
#[case("tp: 4, pp: 2", "tp: 4, zero: 5", "layout.zero")]
#[case("tp: 4, pp: 2", "tp: 4, ppp: 2", "ppp")]
#[case("tp: 4, pp: 2", "tp: 4, pp: 2, vpp: 2, schedule: zb-h1", "layout.vpp")]
#[case("tp: 4, pp: 2", "tp: 4, pp: 2, schedule: interleaved", "give 2 or more")]
#[case("global: 128", "global: 130", "batch.global")]
#[case("global: 128", "global: 0", "batch")]
#[case("model: llama3.1-8b", "model: mixtral-8x7b\nprecision: fp7", "fp8_block")]
#[case("model: llama3.1-8b", "model: llama-9", "llama")]
#[case("model: llama3.1-8b", "model: mamba2-2.7b", "without softmax attention")]
#[case("model: llama3.1-8b", "model: t5-large", "an encoder")]
#[case("cluster: DGX H100", "cluster: DGX A100\nprecision: fp8", "field precision")]
#[case("cluster: DGX H100", "cluster: DGX H100\nprecision: mxfp8", "no tensor cores for mxfp8")]
#[case(
    "cluster: DGX H100",
    "cluster: DGX H100\nprecision: {recipe: mxfp8}",
    "it has (bf16, fp16, fp8, fp8_block)"
)]
#[case("cluster: DGX H100", "cluster: DGX H100\nprecision: nvfp4", "it has (bf16, fp16, fp8, fp8_block)")]
#[case("cluster: DGX H100", "cluster: DGX A100\nprecision: fp8_block", "it has (bf16, fp16)")]
#[case(
    "cluster: DGX H100",
    "cluster: DGX H100\nframework: {attention_kernel: flash4}",
    "flash3, flash1, flash2, unfused"
)]
#[case(
    "cluster: DGX H100",
    "cluster: DGX A100\nframework: {attention_kernel: flash3}",
    "framework.attention_kernel"
)]
#[case(
    "cluster: DGX H100",
    "cluster: DGX B200\nframework: {attention_kernel: flash3}",
    "write one of flash4, unfused"
)]
#[case("cluster: DGX H100", "cluster: L40", "no cluster called")]
#[case("model: llama3.1-8b", "model: llama3.1-8b\nframework: jax", "torchtitan")]
fn a_bad_field_is_named_with_its_remedy(#[case] good: &str, #[case] bad: &str, #[case] named: &str) {
    assert!(BASE.contains(good));
    let error = read(&BASE.replace(good, bad)).unwrap_err();
    assert!(error.contains("run.yaml") && error.contains(named), "{error}");
}

/// Every error names the field, what was found or expected, and what to write; nothing hangs, overflows or stops the program.
#[rstest::rstest]
#[case("devices: 64", "devices: 0", "devices")]
#[case("devices: 64", "devices: -8", "devices")]
#[case("devices: 64", "devices: 64.5", "devices")]
#[case("devices: 64", "devices: 99999999999", "devices")]
#[case("devices: 64", "devices: many", "devices")]
#[case("devices: 64", "devices: .nan", "devices")]
#[case("devices: 64", "devices: 64\ndevices: 32", "duplicate")]
#[case("devices: 64", "devices: 64\nlayuot: {tp: 1}", "did you mean `layout`?")]
#[case("tp: 4, pp: 2", "tp: 4, overlap_gradient: true", "did you mean `overlap_gradients`?")]
#[case("tp: 4, pp: 2", "tp: 4, pp: -2", "layout.pp")]
#[case("tp: 4, pp: 2", "tp: 0", "layout")]
#[case("tp: 4, pp: 2", "vpp: 0", "layout.vpp")]
#[case("tp: 4, pp: 2", "tp: 4294967295, pp: 4294967295", "does not divide 64")]
#[case("tp: 4, pp: 2", "etp: 0", "layout.etp")]
#[case("tp: 4, pp: 2", "bucket_mb: .inf", "line 4")]
#[case("tp: 4, pp: 2", "bucket_mb: 0", "layout.bucket_mb")]
#[case("tp: 4, pp: 2", "zero: 3, shard_size: 7", "layout.shard_size")]
#[case("tp: 4, pp: 2", "zero: 3, shard_size: 0", "layout.shard_size")]
#[case("tp: 4, pp: 2", "pp: 2, uneven_ends: [4000000000, 4000000000]", "layout.uneven_ends")]
#[case("tp: 4, pp: 2", "pp: 4, schedule: gpipe, moe_a2a_overlap: true", "layout.overlap_experts")]
#[case("tp: 4, pp: 2", "cp_method: rings", "layout.cp_method")]
#[case("tp: 4, pp: 2", "pp: 4, schedule: 2f2b", "layout.schedule")]
#[case("sequence: 8192", "sequence: 0", "batch.sequence")]
#[case("sequence: 8192", "sequence: 1000000000000", "batch.sequence")]
#[case("micro: 1", "micro: 18446744073709551615", "batch.micro")]
#[case("micro: 1", "micro: -1", "batch.micro")]
#[case("global: 128", "globl: 128", "batch.globl")]
#[case("global: 128", "global: 127", "batch.global")]
#[case("global: 128", "global: 128, documents: [9000]", "do not fit into a sequence of 8192")]
#[case("global: 128", "global: 128, documents: []", "batch.documents")]
#[case("global: 128", "global: 128, documents: [18446744073709551615, 1]", "batch.documents")]
#[case("global: 128", "global: 128, packing: {mean_length: 0}", "batch.packing.mean_length")]
#[case("global: 128", "global: 128, packing: {mean_length: 100, padding: 1}", "batch.packing.padding")]
#[case("global: 128", "global: 128, packing: {mean: 100}", "batch.packing.mean")]
#[case("cluster: DGX H100", "cluster: {like: DGX Z1}", "cluster.like")]
#[case("cluster: DGX H100", "cluster: {like: DGX H100, nodes: 4}", "4 x 8")]
#[case("cluster: DGX H100", "cluster: {like: DGX H100, network: null}", "has no network")]
#[case("cluster: DGX H100", "cluster: {like: DGX H100, hosts: 4}", "cluster.hosts")]
#[case("cluster: DGX H100", "cluster: {like: DGX H100, intra: {gb_per_s: -1}}", "intra.gb_per_s")]
#[case("cluster: DGX H100", "cluster: {like: DGX H100, device: {name: X}}", "cluster.device")]
#[case(
    "cluster: DGX H100",
    "cluster: {like: DGX H100, device: {name: X, dense_peaks: {fp16_tflops: 9}}}",
    "dense_peaks"
)]
#[case("cluster: DGX H100", "cluster: [DGX H100]", "field cluster")]
#[case("cluster: DGX H100", "cluster: DGX H100\nprecision: nvfp4", "field precision")]
#[case(
    "cluster: DGX H100",
    "cluster: DGX H100\nprecision: {recipe: bf16, gradient_bytes: 3}",
    "precision.gradient_bytes"
)]
#[case("cluster: DGX H100", "cluster: DGX H100\nrecompute: some", "every-other-product")]
#[case("cluster: DGX H100", "cluster: DGX H100\nrecompute: {modules: [layer_norm]}", "`layernorm`?")]
#[case("cluster: DGX H100", "cluster: DGX H100\nrecompute: {layers: -1}", "recompute.layers")]
#[case("cluster: DGX H100", "cluster: DGX H100\noptimizer: lion", "optimizer")]
#[case(
    "cluster: DGX H100",
    "cluster: DGX H100\nframework: {like: megatron}\nexpert_imbalance: 0.5",
    "expert_imbalance"
)]
#[case("cluster: DGX H100", "cluster: DGX H100\nframework: {fused_attn: false}", "`fused_attention`?")]
#[case("cluster: DGX H100", "cluster: DGX H100\nframework: {dispatch: fast}", "framework.dispatch")]
#[case("cluster: DGX H100", "cluster: DGX H100\nframework: {nccl: newest}", "framework.nccl")]
#[case(
    "cluster: DGX H100",
    "cluster: DGX H100\nframework: {vocabulary_multiple: 0}",
    "framework.vocabulary_multiple"
)]
#[case("cluster: DGX H100", "cluster: DGX H100\noffload: {activations: 2}", "offload.activations")]
#[case("cluster: DGX H100", "cluster: TPU v5p 4x4x4\noffload: {optimizer: true}", "link_gb_per_s")]
#[case("tp: 4, pp: 2", "shard_size: 8", "nothing is sharded")]
#[case("cluster: DGX H100", "cluster: DGX H100\nrecompute: {modules: []}", "names no module")]
#[case("cluster: DGX H100", "cluster: DGX H100\nrecompute: {layers: 17}", "the 16 layers of a stage")]
#[case("model: llama3.1-8b", "model: 7", "field model")]
#[case("model: llama3.1-8b", "model: missing.json", "missing.json")]
fn a_bad_input_is_told_where_it_stands(#[case] good: &str, #[case] bad: &str, #[case] named: &str) {
    assert!(BASE.contains(good));
    let text = BASE.replace(good, bad);
    let error = read(&text).unwrap_err();
    assert!(error.contains("run.yaml") && error.contains(named), "{error}");
    assert!(error.len() < 2000, "{error}");
    for inner in ["u8", "u32", "u64", "f64", "boolean", "Policy", "policy", "invalid type", "invalid value"] {
        assert!(!error.contains(inner), "{inner} means nothing to a user: {error}");
    }
}

#[test]
fn an_error_names_its_line_and_a_missing_field_itself() {
    let error = read(&BASE.replace("tp: 4, pp: 2", "tp: 3, zero: 9")).unwrap_err();
    assert!(error.starts_with("run.yaml, line 4, field layout"), "{error}");
    for key in ["model", "cluster", "devices", "batch"] {
        let without: String =
            BASE.lines().filter(|line| !line.starts_with(key)).map(|line| format!("{line}\n")).collect();
        let error = read(&without).unwrap_err();
        assert!(error.contains(key) && error.contains("missing"), "{error}");
    }
    for nothing in ["", "[]", "7", "a: b: c"] {
        assert!(read(nothing).is_err());
    }
}

/// Layers by the trillion and the like are refused before anything is reckoned with them.
#[rstest::rstest]
#[case("blocks: 1000000000000", "model")]
#[case("blocks: 100000", "layers are too many")]
#[case("blocks: 0", "model")]
fn absurd_models_are_refused_at_once(#[case] size: &str, #[case] named: &str) {
    let model = "{name: ours, family: llama, text: {width: 4096, vocabulary: 32000, decoder: [{blocks: 32, \
                 attention: {heads: 32, kv_heads: 8, head_dim: 128}, feed_forward: {inner: 14336, gated: true}}]}}";
    let text = BASE.replace("llama3.1-8b", &model.replace("blocks: 32", size));
    let error = read(&text).unwrap_err();
    assert!(error.contains(named) || error.contains("model"), "{error}");
}
