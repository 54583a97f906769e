//! Matrix products against measurements that no table or constant was fitted to, unless a line says so.
#![allow(clippy::unwrap_used, clippy::panic)]

mod measured;

use goodput_predict::Basis;
use goodput_predict::kernel::{Accumulator, ExpertGemm, Format, Gemm, Pass, Power};
use measured::{Errors, Row, csv, errors, parquet, tables};

/// The layer's shape from the product's own, which SimuMax gives.
fn simumax(row: &Row) -> Gemm {
    let [m, n, k] = ["m", "n", "k"].map(|name| row.count(name));
    let pass = |layer: Gemm, pass| layer.pass(pass).accumulate(accumulator(row));
    match row.text("role") {
        "fwd" => Gemm::new(m, n, k),
        "dgrad" => pass(Gemm::new(m, k, n), Pass::InputGradient),
        _ => pass(Gemm::new(k, m, n), Pass::WeightGradient),
    }
}

fn accumulator(row: &Row) -> Accumulator {
    match (row.text("accumulate"), row.text("out_dtype")) {
        ("True", "fp32") => Accumulator::Fp32,
        ("True", _) => Accumulator::Half,
        _ => Accumulator::None,
    }
}

fn print(what: &str, errors: &Errors) {
    println!("| {what} {errors}");
}

#[test]
fn sustained_products_of_training() {
    println!("| rows | n | predicted / measured, median | median error % | p90 % | after that bias % |");
    let rows = parquet("reference/simumax_training_ops.parquet", "op", "matmul");
    for (theirs, device) in [("a100_pcie", "A100 PCIe 80GB"), ("b200_sxm", "B200")] {
        let tables = tables(device);
        for role in ["fwd", "dgrad", "wgrad"] {
            for output in ["bf16", "fp32"] {
                let is_asked = |row: &&Row| {
                    [row.text("device"), row.text("role"), row.text("out_dtype")] == [theirs, role, output]
                };
                let pairs: Vec<_> = rows
                    .iter()
                    .filter(is_asked)
                    .map(|row| (tables.gemm(&simumax(row)).unwrap().ns / 1e3, row.number("time_us")))
                    .collect();
                if pairs.is_empty() {
                    continue;
                }
                let errors = errors(&pairs);
                print(&format!("{device} {role} {output}"), &errors);
                // The power curve of B200 rests on its forward rows, that of A100 PCIe on forward and dgrad. The bf16
                // accumulation of B200 is a kernel of its own that the model does not have.
                if output == "fp32" || role != "wgrad" {
                    assert!(errors.median < 8.0, "{device} {role}: {errors:?}");
                }
            }
        }
    }
}

#[test]
fn products_of_an_inference_engine_off_the_grid() {
    println!("| rows | n | predicted / measured, median | median error % | p90 % | after that bias % |");
    // fp16 products of six models under vLLM. A constant ratio between two pieces of software is no error of the
    // interpolation; what is left after it is.
    for (theirs, device, most) in [("a100_sxm", "A100 SXM4 80GB", 5.5), ("h100_sxm", "H100 SXM5", 7.3)] {
        let tables = tables(device).at(Power::Burst);
        let rows = parquet("gemm/vidur_fp16.parquet", "device", theirs);
        for least in [1.0, 1024.0] {
            let pairs: Vec<_> = rows
                .iter()
                .filter(|row| row.number("m") >= least)
                .map(|row| {
                    let gemm = Gemm::new(row.count("m"), row.count("n"), row.count("k")).format(Format::Fp16);
                    (tables.gemm(&gemm).unwrap().ns / 1e3, row.number("time_us"))
                })
                .collect();
            if pairs.is_empty() {
                continue;
            }
            let errors = errors(&pairs);
            print(&format!("Vidur {device}, m >= {least}"), &errors);
            if least > 1.0 {
                assert!(errors.median_unbiased <= most && (errors.bias - 1.0).abs() < 0.12, "{errors:?}");
            }
        }
    }
}

#[test]
fn deep_gemm_without_the_cast() {
    // H800, products alone: the shipped grid holds the cast of the activations, which is taken off.
    let h800 = tables("H800 SXM5").at(Power::Burst);
    let rows = csv("reference/deepgemm_h800.csv");
    let time = |row: &Row| {
        let gemm = Gemm::new(row.count("m"), row.count("n"), row.count("k")).format(Format::Fp8Block);
        let gemm = Gemm { with_cast: false, ..gemm };
        (h800.gemm(&gemm).unwrap().ns / 1e3, row.number("time_us"))
    };
    let grouped = |row: &Row| {
        let each = Gemm::new(row.count("m"), row.count("n"), row.count("k")).format(Format::Fp8Block);
        let each = Gemm { with_cast: false, ..each };
        let estimate = h800.expert_gemm(&ExpertGemm { experts: row.count("groups"), each }).unwrap();
        (estimate.ns / 1e3, row.number("time_us"))
    };
    for kind in ["grouped contiguous", "grouped masked"] {
        let pairs: Vec<_> = rows.iter().filter(|row| row.text("kind") == kind).map(grouped).collect();
        if !pairs.is_empty() {
            let errors = errors(&pairs);
            print(&format!("DeepGEMM H800, {kind}"), &errors);
            assert!((0.8..1.2).contains(&errors.bias), "{errors:?}");
        }
    }
    for (what, sizes) in [("m = 64, 128", 1.0..4096.0), ("m = 4096", 4096.0..5000.0)] {
        let is_asked = |row: &&Row| row.text("kind") == "dense" && sizes.contains(&row.number("m"));
        let pairs: Vec<_> = rows.iter().filter(is_asked).map(time).collect();
        if !pairs.is_empty() {
            let errors = errors(&pairs);
            print(&format!("DeepGEMM H800, {what}"), &errors);
            assert!(errors.median < 20.0 && errors.p90 < 40.0, "{errors:?}");
        }
    }
}

#[test]
fn the_best_shape_of_a_search_is_at_least_as_fast() {
    println!("\n| device | predicted / measured at the best shape of a search |");
    for row in csv("reference/mamf.csv") {
        let device = match row.text("device") {
            "a100_sxm" => "A100 SXM4 80GB",
            "a100_pcie" => "A100 PCIe 80GB",
            "h100_sxm" => "H100 SXM5",
            "b200_sxm" => "B200",
            "b300_sxm" => "B300",
            "gb200" => "GB200",
            _ => continue,
        };
        if row.text("dtype") != "bfloat16" {
            continue;
        }
        let gemm = Gemm::new(row.count("m"), row.count("n"), row.count("k"));
        let estimate = tables(device).gemm(&gemm).unwrap();
        let ratio = estimate.ns / 1e3 / row.number("time_us");
        println!("| {device} | {ratio:.2} |");
        // A search keeps its luckiest shape; on B200 the sustained curve is of a slower machine as well.
        assert!((1.0..1.55).contains(&ratio), "{device} {ratio}");
    }
}

#[test]
fn a_vocabulary_beyond_the_grid_is_as_efficient_as_its_end() {
    let h100 = tables("H100 SXM5").at(Power::Burst);
    let narrow = h100.gemm(&Gemm::new(4096, 65_536, 4096)).unwrap();
    let wide = h100.gemm(&Gemm::new(4096, 131_072, 4096)).unwrap();
    assert_eq!((narrow.basis, wide.basis), (Basis::Table, Basis::Extrapolated));
    assert!((wide.ns / narrow.ns - 2.0).abs() < 1e-9);
    assert!(wide.deviation > narrow.deviation);
}

/// A larger product is not slower than its parts, and one scale a tensor not slower than many.
#[test]
fn large_products_in_few_bits_keep_the_rate_of_their_parts() {
    for name in ["H100 SXM5", "B200", "GB200", "GB300"] {
        let tables = tables(name).at(Power::Burst);
        let rate = |format, m, n, k| {
            let gemm = Gemm::new(m, n, k).format(format);
            gemm.flops() / tables.gemm(&gemm).unwrap().ns
        };
        for [m, n, k] in [[8192, 26_624, 16_384], [16_384, 57_344, 8192], [8192, 8192, 8192]] {
            let parts = rate(Format::Fp8, m.min(8192), 8192, k);
            assert!(rate(Format::Fp8, m, n, k) > 0.85 * parts, "{name} {m} {n} {k}");
            assert!(rate(Format::Fp8, m, n, k) >= rate(Format::Fp8Block, m, n, k) * 0.999, "{name}");
            assert!(rate(Format::Fp8, m, n, k) > 1.3 * rate(Format::Bf16, m, n, k), "{name} {m} {n} {k}");
        }
    }
}
