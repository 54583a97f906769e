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
#[case("cluster: DGX H100", "cluster: L40", "no cluster called")]
#[case("model: llama3.1-8b", "model: llama3.1-8b\nframework: jax", "torchtitan")]
fn a_bad_field_is_named_with_its_remedy(#[case] good: &str, #[case] bad: &str, #[case] named: &str) {
    assert!(BASE.contains(good));
    let error = read(&BASE.replace(good, bad)).unwrap_err();
    assert!(error.contains("run.yaml") && error.contains(named), "{error}");
}
