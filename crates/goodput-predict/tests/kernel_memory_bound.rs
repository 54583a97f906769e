//! Memory-bound kernels and grouped products against measurements.
#![allow(clippy::unwrap_used, clippy::panic)]

mod measured;

use goodput_predict::kernel::{
    Accumulator, Direction, ExpertGemm, Fusion, Gemm, NormKind, Operation, Pass, Power,
};
use measured::{Row, errors, parquet, tables};

fn setting(row: &Row, name: &str) -> u64 {
    let settings: serde_json::Value = serde_json::from_str(row.text("extra_benchmark_config_str")).unwrap();
    settings[name].as_u64().unwrap()
}

#[test]
fn liger_kernels() {
    println!("| kernel | n | predicted / measured, median | median error % | p90 % | after that bias % |");
    let h100 = tables("H100 SXM5");
    let (forward, backward) = (vec![Direction::Forward], vec![Direction::Backward]);
    let full = vec![Direction::Forward, Direction::Backward];
    let cases = [
        ("megatron_swiglu", "liger", "forward", &forward, Fusion::Fused, 0.9..1.1),
        // The benchmark's own Python function does more than the two operations that it needs.
        ("megatron_swiglu", "torch", "forward", &forward, Fusion::Eager, 0.55..1.1),
        ("megatron_swiglu", "liger", "full", &full, Fusion::Fused, 0.65..1.1),
        ("megatron_cross_entropy", "megatron-unfused", "forward", &forward, Fusion::Eager, 0.8..1.1),
        ("megatron_cross_entropy", "megatron-fused", "forward", &forward, Fusion::Joined, 0.9..1.1),
        ("megatron_cross_entropy", "megatron-fused", "full", &full, Fusion::Joined, 0.9..1.1),
        ("megatron_cross_entropy", "liger", "forward", &forward, Fusion::Fused, 0.65..1.1),
        // The share is of the largest size; these are the others.
        ("megatron_rms_norm", "torch", "backward", &backward, Fusion::Joined, 0.85..1.1),
    ];
    for (name, provider, mode, directions, fusion, bias) in cases {
        let rows = parquet("memory/liger_fwd_bwd.parquet", "kernel_name", name);
        let is_asked = |row: &&Row| {
            // Smaller ones wait for the host.
            [row.text("kernel_provider"), row.text("kernel_operation_mode")] == [provider, mode]
                && row.number("x_value") >= 2048.0
                && !(name == "megatron_rms_norm" && row.number("x_value") > 8192.0)
        };
        let time = |row: &Row| {
            let width = row.count("x_value");
            let tokens = setting(row, "S") * setting(row, "B");
            let operation = match name {
                "megatron_swiglu" => Operation::GatedActivation { values: tokens * width },
                "megatron_rms_norm" => {
                    Operation::Norm { kind: NormKind::Rms, values: tokens * width, residual: false }
                }
                _ => Operation::CrossEntropy { values: tokens * width },
            };
            let kernels: Vec<_> = directions.iter().flat_map(|way| operation.kernels(*way, fusion)).collect();
            (h100.memory_bound(&kernels).unwrap().ns / 1e3, row.number("time_us"))
        };
        let pairs: Vec<_> = rows.iter().filter(is_asked).map(time).collect();
        if !pairs.is_empty() {
            let errors = errors(&pairs);
            println!("| {name} {provider} {mode} {errors}");
            assert!(bias.contains(&errors.bias), "{name} {provider} {mode}: {errors:?}");
        }
    }
}

#[test]
fn grouped_products() {
    println!("| rows | n | predicted / measured, median | median error % | p90 % | after that bias % |");
    let rows = parquet("reference/simumax_training_ops.parquet", "op", "group_matmul");
    for (theirs, device, bias) in
        [("a100_pcie", "A100 PCIe 80GB", 1.0..1.35), ("b200_sxm", "B200", 0.8..1.05)]
    {
        let tables = tables(device);
        for role in ["fwd", "dgrad", "wgrad"] {
            let is_asked = |row: &&Row| [row.text("device"), row.text("role")] == [theirs, role];
            let time = |row: &Row| {
                let [m, n, k] = ["m", "n", "k"].map(|name| row.count(name));
                let each = match role {
                    "fwd" => Gemm::new(m, n, k),
                    "dgrad" => Gemm::new(m, k, n).pass(Pass::InputGradient),
                    _ => Gemm::new(m, n, k).pass(Pass::WeightGradient).accumulate(Accumulator::Fp32),
                };
                let experts = row.count("groups");
                (tables.expert_gemm(&ExpertGemm { experts, each }).unwrap().ns / 1e3, row.number("time_us"))
            };
            let pairs: Vec<_> = rows.iter().filter(is_asked).map(time).collect();
            if !pairs.is_empty() {
                let errors = errors(&pairs);
                println!("| {device} grouped {role} {errors}");
                assert!(bias.contains(&errors.bias) && errors.median_unbiased < 15.0, "{errors:?}");
            }
        }
    }
}

#[test]
fn fused_experts_of_an_inference_engine() {
    // Routing and both products of all experts, against the two grouped products. TensorRT-LLM's kernel on B200: the
    // other tables are of a Triton kernel that reaches a quarter of the chip, which no training run would use.
    println!("| rows | n | predicted / measured, median | median error % | p90 % | after that bias % |");
    let b200 = tables("B200").at(Power::Burst);
    let rows = parquet("moe/b200_sxm.parquet", "kernel", "sglang_flashinfer_trtllm_moe");
    let is_asked = |row: &&Row| {
        [row.text("routing"), row.text("dtype")] == ["balanced", "bfloat16"]
            && row.number("tp") == 1.0
            && row.number("ep") <= 4.0
            && row.number("tokens") >= 8192.0
    };
    let time = |row: &Row| {
        let [tokens, hidden, inter, top_k, experts, ep] =
            ["tokens", "hidden", "inter", "topk", "experts", "ep"].map(|name| row.count(name));
        let m = tokens * top_k / experts;
        let of = |each| b200.expert_gemm(&ExpertGemm { experts: experts / ep, each }).unwrap().ns / 1e3;
        (of(Gemm::new(m, 2 * inter, hidden)) + of(Gemm::new(m, hidden, inter)), row.number("time_us"))
    };
    let pairs: Vec<_> = rows.iter().filter(is_asked).map(time).collect();
    if !pairs.is_empty() {
        let errors = errors(&pairs);
        println!("| B200 fused experts {errors}");
        assert!((0.75..1.25).contains(&errors.bias), "{errors:?}");
    }
}
