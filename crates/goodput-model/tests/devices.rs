//! The device catalogue against the reference table, and against the names that tools print.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use goodput_model::device::{Catalogue, ClockBasis, Device, Dtype, Figure, NoPeak, PeakError, UnknownDevice};
use proptest::prelude::*;
use rstest::rstest;

fn built_in() -> &'static Catalogue {
    Catalogue::built_in()
}

fn found(name: &str) -> &'static Device {
    built_in().find(name).unwrap()
}

#[rstest]
// nvidia-smi and torch.cuda.get_device_name
#[case("NVIDIA H100 80GB HBM3", "H100 SXM5")]
#[case("NVIDIA H100 PCIe", "H100 PCIe")]
#[case("NVIDIA H100 NVL", "H100 NVL")]
#[case("NVIDIA H200", "H200 SXM")]
#[case("NVIDIA H200 NVL", "H200 NVL")]
#[case("NVIDIA H20", "H20")]
#[case("NVIDIA H800", "H800 SXM5")]
#[case("NVIDIA GH200 480GB", "GH200")]
#[case("NVIDIA GH200 120GB", "GH200")]
#[case("NVIDIA A100-SXM4-80GB", "A100 SXM4 80GB")]
#[case("A100-SXM4-40GB", "A100 SXM4 40GB")]
#[case("NVIDIA A100-PCIE-40GB", "A100 PCIe 40GB")]
#[case("NVIDIA A100 80GB PCIe", "A100 PCIe 80GB")]
#[case("NVIDIA A800-SXM4-80GB", "A800 SXM4")]
#[case("Tesla V100-SXM2-16GB", "V100 SXM2")]
#[case("Tesla V100-PCIE-32GB", "V100 PCIe")]
#[case("NVIDIA B200", "B200")]
#[case("NVIDIA B300 SXM6 AC", "B300")]
#[case("NVIDIA GB200", "GB200")]
#[case("NVIDIA GB300", "GB300")]
#[case("NVIDIA L40", "L40")]
#[case("NVIDIA L40S", "L40S")]
#[case("NVIDIA GeForce RTX 4090", "GeForce RTX 4090")]
#[case("NVIDIA GeForce RTX 5090", "GeForce RTX 5090")]
#[case("AMD Instinct MI300X", "MI300X")]
#[case("AMD Instinct MI250X", "MI250X")]
#[case("AMD Instinct MI355X", "MI355X")]
// JAX device_kind, Cloud accelerator types
#[case("TPU v3", "TPU v3")]
#[case("TPU v4", "TPU v4")]
#[case("TPU v5 lite", "TPU v5e")]
#[case("v5litepod", "TPU v5e")]
#[case("tpu-v5-lite-podslice", "TPU v5e")]
#[case("TPU v5", "TPU v5p")]
#[case("TPU v5p", "TPU v5p")]
#[case("TPU v6 lite", "TPU v6e")]
#[case("TPU7x", "TPU7x")]
// Slurm gres, as typed by NVML or by a site
#[case("gpu:nvidia_h100_80gb_hbm3", "H100 SXM5")]
#[case("gres/gpu:a100_sxm4_80g:8", "A100 SXM4 80GB")]
#[case("gpu:l40s:4(S:0-1)", "L40S")]
#[case("gpu:nvidia_h200", "H200 SXM")]
#[case("gpu:rtx_4090", "GeForce RTX 4090")]
#[case("gpu:mi300x:8", "MI300X")]
// people
#[case("h100-sxm", "H100 SXM5")]
#[case("H100 94 GB", "H100 NVL")]
#[case("trn2", "Trainium2")]
#[case("HL-225", "Gaudi2")]
#[case("gaudi3", "Gaudi3")]
fn a_name_that_a_tool_prints_is_found(#[case] name: &str, #[case] device: &str) {
    assert_eq!(found(name).name, device);
    assert_eq!(found(&name.to_uppercase()).name, device);
}

#[rstest]
#[case("h100", &["H100 SXM5", "H100 PCIe", "H100 NVL"])]
#[case("gpu:h200:8", &["H200 SXM", "H200 NVL"])]
#[case("H100 80GB", &["H100 SXM5", "H100 PCIe"])]
#[case("gpu:v100", &["V100 SXM2", "V100 PCIe"])]
#[case("a100_80g", &["A100 SXM4 80GB", "A100 PCIe 80GB"])]
fn a_name_of_several_devices_is_refused(#[case] name: &str, #[case] expected: &[&str]) {
    let UnknownDevice::Ambiguous { candidates, .. } = built_in().find(name).unwrap_err() else {
        panic!("{name} was not ambiguous");
    };
    assert_eq!(candidates, expected);
}

#[rstest]
#[case("H10", "H100")]
#[case("H2000", "H200")]
#[case("H100 64GB", "H100 SXM5")]
#[case("A100X", "A100")]
#[case("NVIDIA A100-SXM4-80GB MIG 3g.40gb", "A100")]
#[case("RTX 4090 Laptop", "GeForce RTX 4090")]
#[case("gpu:h800", "H800 SXM5")]
#[case("TPU v6", "TPU v6e")]
#[case("MI300A", "MI300X")]
#[case("AMD H100 PCIe", "H100 PCIe")]
fn an_unknown_name_lists_near_ones(#[case] name: &str, #[case] expected: &str) {
    let UnknownDevice::NotFound { near, .. } = built_in().find(name).unwrap_err() else {
        panic!("{name} was found");
    };
    assert!(near.iter().any(|name| name.starts_with(expected)), "{near:?}");
}

#[rstest]
#[case("")]
#[case("gpu")]
#[case("gpu:8")]
#[case("NVIDIA")]
#[case("Quantum Abacus 9")]
fn nothing_is_guessed(#[case] name: &str) {
    let error = built_in().find(name).unwrap_err();
    assert!(matches!(error, UnknownDevice::NotFound { .. }), "{error}");
}

#[test]
fn a_peak_that_all_candidates_share_is_known_and_any_other_refused() {
    let a100 = built_in().peak("gpu:a100", Dtype::Bf16).unwrap();
    assert_eq!(a100.flops_per_second, 312e12);
    assert!(a100.device.contains("A100 PCIe 80GB"));
    let h100 = built_in().peak("gpu:h100", Dtype::Bf16).unwrap_err();
    assert!(matches!(h100, PeakError::Device(UnknownDevice::Ambiguous { .. })), "{h100}");
    // Whichever V100 it is, it has no bf16.
    let v100 = built_in().peak("gpu:v100", Dtype::Bf16).unwrap_err();
    assert!(matches!(v100, PeakError::NoPeak(NoPeak::Unsupported { .. })), "{v100}");
}

#[rstest]
#[case("V100 SXM2", Dtype::Bf16, "V100")]
#[case("A100 SXM4 80GB", Dtype::Fp8, "Ampere")]
#[case("H100 SXM5", Dtype::Fp4, "Hopper")]
#[case("B300", Dtype::Fp4, "13125 to 15000")]
#[case("B300", Dtype::Int8, "not known")]
fn a_dtype_without_a_peak_is_refused_with_the_reason(
    #[case] name: &str,
    #[case] dtype: Dtype,
    #[case] reason: &str,
) {
    let error = found(name).peak(dtype).unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
}

#[rstest]
#[case("MI250X", 191.5e12)]
#[case("TPU v3", 61.5e12)]
#[case("TPU v4", 275e12)]
#[case("TPU v5p", 459e12)]
#[case("TPU7x", 1153.5e12)]
#[case("Trainium1", 95e12)]
#[case("Trainium2", 166.75e12)]
#[case("GB200", 2500e12)]
#[case("GH200", 989.4e12)]
fn the_peak_is_of_one_device_as_frameworks_count_them(#[case] name: &str, #[case] peak: f64) {
    assert_eq!(found(name).peak(Dtype::Bf16).unwrap(), peak);
}

#[test]
fn a_superchip_is_counted_in_gpus() {
    assert_eq!(found("GB200").package.as_ref().map(|package| package.units), Some(2));
    assert_eq!(found("GH200").package.as_ref().map(|package| package.units), Some(1));
}

#[test]
fn a_published_clock_reproduces_the_peak() {
    let mut checked = 0;
    for device in built_in().devices() {
        let Some(of_clock) = device.peak_of_clock() else { continue };
        let peak = device.unit_peak(Dtype::Fp16).or_else(|_| device.unit_peak(Dtype::Bf16)).unwrap();
        assert!((of_clock / peak - 1.0).abs() < 0.01, "{}: {of_clock} against {peak}", device.name);
        let basis = device.engines.as_ref().and_then(|engines| engines.clock_basis);
        checked += usize::from(basis == Some(ClockBasis::Published));
    }
    assert_eq!(checked, 17);
}

#[test]
fn every_row_of_the_reference_is_in_the_catalogue() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    if !root.exists() {
        println!("skipped: ../shared is not there");
        return;
    }
    let mut rows = csv::Reader::from_path(root.join("data/flops/devices.csv")).unwrap();
    let headers = rows.headers().unwrap().clone();
    let mut devices = built_in().devices().iter();
    for row in rows.records() {
        let row = row.unwrap();
        let cell = |column: &str| &row[headers.iter().position(|name| name == column).unwrap()];
        let device = devices.next().unwrap();
        assert_eq!(device.vendor, cell("vendor"), "{}", device.name);
        let number = |column: &str| cell(column).parse::<f64>().ok();
        let peak = |dtype: Dtype| {
            device.unit_peaks().find(|(of, _)| *of == dtype).and_then(|(_, figure)| figure.exact())
        };
        for (column, dtype) in [
            ("bf16_dense_tflops", Dtype::Bf16),
            ("fp16_dense_tflops", Dtype::Fp16),
            ("fp8_dense_tflops", Dtype::Fp8),
            ("fp4_dense_tflops", Dtype::Fp4),
            ("tf32_dense_tflops", Dtype::Tf32),
            ("int8_dense_tops", Dtype::Int8),
            ("fp32_vector_tflops", Dtype::Fp32),
        ] {
            let expected = number(column).map(|tflops| (tflops * 1e12).round());
            assert_eq!(peak(dtype), expected, "{} {column}", device.name);
        }
        let gb_per_s =
            device.scaleup.as_ref().and_then(|link| link.bidirectional_bytes_per_second).map(|b| b / 1e9);
        let engines = device.engines.as_ref();
        for (column, ours) in [
            ("hbm_gb", device.memory_gb.and_then(Figure::exact)),
            ("hbm_tbps", device.memory_bytes_per_second.and_then(Figure::exact).map(|bytes| bytes / 1e12)),
            ("scaleup_bidir_gbps_per_device", gb_per_s),
            ("sm_or_cu", engines.map(|engines| f64::from(engines.count))),
            ("dense16_flop_per_clk_per_unit", engines.and_then(|engines| engines.dense_16bit_flop_per_clock)),
            ("peak_clock_mhz", engines.and_then(|engines| engines.clock_mhz)),
            ("tdp_w", device.power_w.and_then(Figure::exact)),
        ] {
            // Cells of text stand for ranges, one of which has a usual value.
            if let Some(expected) = number(column) {
                assert_eq!(ours, Some(expected), "{} {column}", device.name);
            } else if cell(column).is_empty() {
                assert_eq!(ours, None, "{} {column}", device.name);
            }
        }
        let published = cell("clock_basis") == "published";
        let basis = engines.and_then(|engines| engines.clock_basis);
        assert_eq!(basis == Some(ClockBasis::Published), published, "{}", device.name);
    }
    assert_eq!(devices.next(), None);
    assert_eq!(built_in().devices().len(), 40);
}

/// A file of one device with one field replaced or added.
fn file(field: &str) -> String {
    let mut lines =
        vec!["name: Abacus", "vendor: Ours", "names: [Abacus]", "dense_peaks: {bf16_tflops: 100}"];
    lines.push("source: measured here");
    let key = field.split(':').next().unwrap();
    lines.retain(|line| line.split(':').next() != Some(key));
    lines.push(field);
    format!("devices:\n  - {}\n", lines.join("\n    "))
}

#[rstest]
#[case("dense_peaks: {bf16_tflops: -1}", "bf16_tflops: -1 is not possible")]
#[case("dense_peaks: {bf16_tflops: .nan}", "bf16_tflops")]
#[case("dense_peaks: {bf16_tflops: 100e12}", "in the unit of the field's name")]
#[case("dense_peaks: {bf16_gflops: 100}", "bf16_gflops")]
#[case("dense_peaks: {bf16_tflops: [5, 3]}", "ends below its start")]
#[case("memory_tb_per_s: 3350", "in the unit of the field's name")]
#[case("engines: {count: 8, kind: core, clock_mhz: 1.8}", "engines.clock_mhz")]
#[case("devices_per_unit: 0", "at least 1")]
#[case("names: []", "at least one name")]
#[case("names: [Abacus, abacus]", "listed twice")]
#[case("names: ['-']", "holds no word")]
#[case("names: [L40S]\n    qualifiers: [48GB, GDDR6, PCIe]", "Abacus has the same name")]
#[case("full_names: [NVIDIA H200]", "same full name")]
#[case("unsupported: {bf16: none}", "bf16_tflops")]
#[case("colour: green", "colour")]
fn a_bad_device_file_names_the_field(#[case] field: &str, #[case] expected: &str) {
    let error = built_in().clone().with_yaml("ours.yaml", &file(field)).unwrap_err().to_string();
    assert!(error.contains("ours.yaml") && error.contains(expected), "{error}");
}

#[test]
fn a_device_file_adds_and_overrides() {
    let ours = built_in().clone().with_yaml("ours.yaml", &file("memory_gb: [16, 32]")).unwrap();
    assert_eq!(ours.devices().len(), built_in().devices().len() + 1);
    assert_eq!(ours.find("abacus").unwrap().memory_gb, Some(Figure::Range(16.0, 32.0)));
    let again = ours.with_yaml("more.yaml", &file("dense_peaks: {bf16_tflops: 90.5}")).unwrap();
    assert_eq!(again.devices().len(), built_in().devices().len() + 1);
    assert_eq!(again.find("abacus").unwrap().peak(Dtype::Bf16).unwrap(), 90.5e12);
    assert!(built_in().clone().with_yaml("ours.yaml", "devices: 3").is_err());
}

#[test]
fn the_example_file_is_read() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/devices.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let ours = built_in().clone().with_yaml("devices.yaml", &text).unwrap();
    assert!(ours.devices().len() > built_in().devices().len());
}

proptest! {
    /// A model number is never found inside a longer word. (A longer qualifier may be one too: H200 SXM5.)
    #[test]
    fn a_longer_word_is_another_device(position in 0usize..40, suffix in "[a-z0-9]{1,3}") {
        let device = &built_in().devices()[position];
        let number = device.name.find(|c: char| c.is_ascii_digit()).unwrap();
        let end = device.name[number..].find(' ').map_or(device.name.len(), |space| number + space);
        let name = format!("{}{suffix}{}", &device.name[..end], &device.name[end..]);
        if let Ok(other) = built_in().find(&name) {
            prop_assert_ne!(&other.name, &device.name);
        }
    }

    #[test]
    fn any_text_is_answered(name in ".{0,40}", yaml in ".{0,80}") {
        let _ = built_in().find(&name);
        let _ = built_in().clone().with_yaml("any", &yaml);
    }
}
