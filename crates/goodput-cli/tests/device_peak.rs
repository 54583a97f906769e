//! A known device brings its peak; an unknown one is refused when the user names it.
#![allow(clippy::unwrap_used)]

mod command;
mod job_log;

use command::run;
use job_log::*;
use serde_json::{Value, json};

/// Ten steps of 2 s on four devices, 4e15 FLOPs each.
fn log(fields: Value) -> Case {
    let work = steps(0..10, 100, 2, json!({"model_flops": 4_000_000_000_000_000_u64}));
    let mut head = json!({"devices": 4});
    head.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    Case::new(&[header(head), launch(0), work, stop("finished", 120)])
}

fn program(case: &Case) -> f64 {
    case.report()["factors"]["program"].as_f64().unwrap()
}

#[test]
fn the_catalogue_brings_the_peak_of_a_known_device_and_dtype() {
    let right = 4e15 / (4.0 * 2.0 * 989.4e12);
    let stated = log(json!({})).arg(&["--device", "H100 SXM", "--dtype", "bf16"]);
    assert!((program(&stated) - right).abs() < 1e-9);
    let logged = log(json!({"device": "NVIDIA H100 80GB HBM3", "dtype": "bf16"}));
    assert!((program(&logged) - right).abs() < 1e-9);
    // What is stated wins.
    let peak = log(json!({})).arg(&["--device", "H100 SXM", "--dtype", "bf16", "--peak-tflops", "1000"]);
    assert_eq!(program(&peak), 0.5);
    // A name that only the log knows is no error, and no guess.
    let unknown = log(json!({"device": "Abacus", "dtype": "bf16"})).report();
    assert_eq!(unknown["factors"]["program"], Value::Null);
}

#[test]
fn a_stated_device_that_is_unknown_or_lacks_the_dtype_is_refused() {
    for (device, dtype, expected) in [
        ("H100", "bf16", "H100 SXM5, H100 PCIe, H100 NVL"),
        ("H100 64GB", "bf16", "near names: H100"),
        ("V100 SXM2", "bf16", "does not compute in bf16"),
        ("B200", "bf17", "\"bf17\""),
    ] {
        let case = log(json!({}));
        let output = run(&["timeline", &case.args[0], "--device", device, "--dtype", dtype]);
        assert_eq!(output.status.code(), Some(2), "{device} {dtype}");
        // The message is wrapped at the terminal's width.
        let message: String =
            output.stderr.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_fleet_file_names_a_device_and_a_file_of_devices() {
    let case = log(json!({}));
    case.write(
        "devices.yaml",
        "devices:\n  - {name: Abacus, vendor: Ours, names: [Abacus], dense_peaks: {bf16_tflops: 1000}, source: ours}\n"
            .to_owned(),
    );
    case.write(
        "sacct.txt",
        format!(
            "JobIDRaw|State|Submit|Eligible|Start|End|AllocTRES|NNodes|NodeList|Partition\n\
             7|COMPLETED|{T0}|{T0}|{T0}|{}|gres/gpu=4|1|n1|train\n",
            T0 + 120
        ),
    );
    case.write(
        "events.txt",
        format!(
            "Cluster|ClusterNodes|Duration|End|Event|NodeName|Start|State|TRES\n\
             c|n1|0|Unknown|Cluster||{}||cpu=1,gres/gpu=4,node=1\n",
            T0 - 1000
        ),
    );
    let fleet = case.write(
        "fleet.yaml",
        "time_zone: UTC\nrecords: {sacct: [sacct.txt], events: [events.txt]}\ndevice_file: devices.yaml\n\
         timelines: [{file: 0.jsonl, job: '7', device: abacus, dtype: bf16}]\n"
            .to_owned(),
    );
    let report = command::json(&["account", fleet.to_str().unwrap(), "--format", "json"]);
    let text = report.to_string();
    assert!(text.contains("\"peak_flops_per_second\":1000000000000000.0"), "{text}");
}
