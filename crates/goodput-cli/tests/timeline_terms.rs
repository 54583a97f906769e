//! `goodput timeline --trace`: the ledger's program loss divided by the terms of traced steps.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use goodput_simulate::step_trace::{Scenario, simulate};
use serde_json::Value;

/// Forty steps of 15 ms on four devices; `tokens` a step at a million FLOPs each, on a device of 1 TFLOP/s.
fn log(folder: &Path, tokens: u64) -> std::path::PathBuf {
    let mut text = String::from(
        r#"{"goodput_timeline":1,"job":"a","devices":4,"device":"X","peak_tflops":1.0,"dtype":"bf16","model_flops_per_token":1e6}"#,
    );
    for step in 0..40 {
        let start = 1_700_000_000_000_u64 + step * 15;
        let end = start + 15;
        text += &format!(
            "\n{{\"step\":{step},\"start\":{}.{:03},\"end\":{}.{:03},\"tokens\":{tokens}}}",
            start / 1000,
            start % 1000,
            end / 1000,
            end % 1000
        );
    }
    let path = folder.join("run.jsonl");
    std::fs::write(&path, text + "\n").unwrap();
    path
}

fn report(log: &Path, traces: Option<&Path>) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodput"));
    command.arg("timeline").arg(log).args(["--format", "json"]);
    if let Some(traces) = traces {
        command.arg("--trace").arg(traces);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn program_losses(report: &Value) -> Vec<(String, i128)> {
    let rows = report["losses"].as_array().unwrap().iter();
    rows.filter(|row| row["boundary"] == "program")
        .map(|row| {
            (row["pattern"].as_str().unwrap().to_owned(), row["amount_ns"].as_str().unwrap().parse().unwrap())
        })
        .collect()
}

#[test]
fn traced_terms_divide_the_program_loss_and_keep_its_sum() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    simulate(&Scenario::named("straggler").unwrap()).write(&traces).unwrap();
    std::fs::remove_file(traces.join("truth.json")).unwrap();
    let log = log(folder.path(), 20_000);

    let whole = program_losses(&report(&log, None));
    assert_eq!(whole.len(), 1);
    assert_eq!(whole[0].0, "term_unsettled");
    let divided_report = report(&log, Some(&traces));
    let divided = program_losses(&divided_report);
    assert_eq!(divided.iter().map(|(_, ns)| ns).sum::<i128>(), whole[0].1);
    let patterns: Vec<_> = divided.iter().map(|(pattern, _)| pattern.as_str()).collect();
    assert!(patterns.contains(&"straggler") && patterns.contains(&"exposed_communication"), "{patterns:?}");
    let evidence = &divided_report["losses"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["pattern"] == "straggler")
        .unwrap()["evidence"];
    assert!(
        evidence.as_array().unwrap().iter().any(|e| e.as_str().unwrap().contains("rank0.json")),
        "{evidence}"
    );
}

#[test]
fn a_trace_that_contradicts_the_log_divides_nothing_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    simulate(&Scenario::named("host_bound").unwrap()).write(&traces).unwrap();
    // 14.5 of 15 ms ideal: more than a host-bound step computes.
    let log = log(folder.path(), 58_000);
    let report = report(&log, Some(&traces));
    assert_eq!(program_losses(&report).len(), 1);
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("does not divide the program loss"), "{warnings}");
}
