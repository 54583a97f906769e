//! Attention against published figures and the measured tables.
#![allow(clippy::unwrap_used, clippy::panic)]

mod measured;

use goodput_predict::kernel::{Attention, AttentionKernel, Direction, Format, Mask, Power};
use measured::{Row, csv, errors, parquet, tables};

fn published(row: &Row) -> Attention {
    let count = |name| row.count(name);
    let causal = Attention::causal(
        count("batch"),
        count("seqlen"),
        count("heads"),
        count("kv_heads"),
        count("head_dim"),
    );
    let mask = if row.text("causal") == "True" { Mask::Causal } else { Mask::Full };
    Attention { mask, ..causal }
}

#[test]
fn published_rows() {
    println!("| rows | n | predicted / published, median | median error % | p90 % | after that bias % |");
    let rows = csv("reference/flash_attention.csv");
    let cases = [
        ("a100_sxm", "A100 SXM4 80GB", "FA2", AttentionKernel::Flash2, "fp16/bf16", "fwd+bwd", 5.0),
        ("h100_sxm", "H100 SXM5", "FA2", AttentionKernel::Flash2, "fp16", "fwd", 5.0),
        ("h100_sxm", "H100 SXM5", "FA2", AttentionKernel::Flash2, "fp16/bf16", "fwd+bwd", 5.0),
        ("h100_sxm", "H100 SXM5", "FA3", AttentionKernel::Flash3, "fp16", "fwd", 8.0),
        // Not fitted: a newer FA3 than the figure that the forward curve is of.
        ("h100_sxm", "H100 SXM5", "FA3", AttentionKernel::Flash3, "bf16", "fwd", 12.0),
        ("h100_sxm", "H100 SXM5", "FA3", AttentionKernel::Flash3, "bf16", "bwd", 8.0),
    ];
    for (theirs, device, lib, kernel, dtype, direction, most) in cases {
        let asked = [theirs, lib, dtype, direction];
        let is_asked = |row: &&Row| {
            [row.text("device"), row.text("lib"), row.text("dtype"), row.text("direction")] == asked
        };
        let tables = tables(device).at(Power::Burst);
        let time = |row: &Row| {
            let of = |direction| tables.attention(&published(row), direction, kernel).unwrap().ns / 1e3;
            let predicted = match direction {
                "fwd" => of(Direction::Forward),
                "bwd" => of(Direction::Backward),
                _ => of(Direction::Forward) + of(Direction::Backward),
            };
            (predicted, row.number("time_us"))
        };
        let pairs: Vec<_> = rows.iter().filter(is_asked).map(time).collect();
        if pairs.is_empty() {
            continue;
        }
        let errors = errors(&pairs);
        println!("| {device} {lib} {dtype} {direction} {errors}");
        assert!(errors.median < most, "{device} {lib} {direction}: {errors:?}");
    }
}

#[test]
fn prefill_tables_from_8192_tokens() {
    // Their times hold the write of the KV cache, which matters little from there up; their kernels are an inference
    // engine's: FlashAttention 2 and 3 on A100 and Hopper, TensorRT-LLM's on Blackwell, FlashInfer's on L40S.
    println!("| rows | n | predicted / measured, median | median error % | p90 % | after that bias % |");
    for (theirs, device, bias) in [
        ("a100_sxm", "A100 SXM4 80GB", 0.95..1.05),
        ("h100_sxm", "H100 SXM5", 0.90..1.05),
        ("h200_sxm", "H200 SXM", 0.90..1.05),
        ("b200_sxm", "B200", 0.75..1.05),
        ("b300_sxm", "B300", 0.85..1.10),
        ("gb200", "GB200", 0.70..1.05),
        ("l40s", "L40S", 0.70..1.05),
    ] {
        let rows = parquet(&format!("attention_prefill/{theirs}.parquet"), "causal", "true");
        let tables = tables(device).at(Power::Burst);
        for (dtype, format) in [("bfloat16", Format::Bf16), ("fp8", Format::Fp8)] {
            let is_asked = |row: &&Row| {
                row.text("dtype") == dtype && row.text("kv_dtype") == dtype && row.number("seqlen") >= 8192.0
            };
            let time = |row: &Row| {
                let attention = Attention { mask: Mask::Causal, format, ..published(row) };
                let kernel = tables.default_attention();
                (
                    tables.attention(&attention, Direction::Forward, kernel).unwrap().ns / 1e3,
                    row.number("time_us"),
                )
            };
            let pairs: Vec<_> = rows.iter().filter(is_asked).map(time).collect();
            if pairs.len() < 20 {
                continue;
            }
            let errors = errors(&pairs);
            println!("| {device} {dtype} {errors}");
            assert!(
                bias.contains(&errors.bias) && errors.median_unbiased < 15.0,
                "{device} {dtype}: {errors:?}"
            );
        }
    }
}

#[test]
fn sustained_rows_of_training() {
    // SimuMax measures with some 70 us (B200) to 95 us (A100) of host time in every call: rows that it does not rule.
    println!("| rows | n | predicted / measured, median | median error % | p90 % | after that bias % |");
    for (theirs, device) in [("a100_pcie", "A100 PCIe 80GB"), ("b200_sxm", "B200")] {
        let tables = tables(device);
        for (op, direction) in [("sdp_fwd", Direction::Forward), ("sdp_bwd", Direction::Backward)] {
            let rows = parquet("reference/simumax_training_ops.parquet", "op", op);
            let is_asked = |row: &&Row| row.text("device") == theirs && row.number("time_us") > 700.0;
            let time = |row: &Row| {
                let attention =
                    Attention { value_dim: row.count("head_dim_v"), mask: Mask::Causal, ..published(row) };
                let kernel = tables.default_attention();
                (tables.attention(&attention, direction, kernel).unwrap().ns / 1e3, row.number("time_us"))
            };
            let pairs: Vec<_> = rows.iter().filter(is_asked).map(time).collect();
            if !pairs.is_empty() {
                let errors = errors(&pairs);
                println!("| {device} {op} {errors}");
                assert!(errors.median < 12.0, "{errors:?}");
            }
        }
    }
}
