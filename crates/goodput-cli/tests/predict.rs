//! `goodput predict`, as a person runs it.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/run.yaml");
const SCHEMA: &str = include_str!("../../../schemas/predict.schema.json");

fn predict(run: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodput")).arg("predict").arg(run).args(options).output().unwrap()
}

#[test]
fn the_example_is_predicted_by_its_schema_and_its_terms_sum_to_the_step() {
    let output = predict(Path::new(EXAMPLE), &["--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(&report).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");

    let step_ns = report["step_ns"].as_f64().unwrap();
    let terms = report["terms"].as_array().unwrap().iter().map(|t| t["time_ns"].as_f64().unwrap());
    assert!((terms.sum::<f64>() / step_ns - 1.0).abs() < 1e-9);
    for stage in report["stages"].as_array().unwrap() {
        let parts = ["compute_ns", "exchange_ns", "bubble_ns", "other_ns"];
        let sum: f64 = parts.iter().map(|part| stage[part].as_f64().unwrap()).sum();
        assert!((sum / step_ns - 1.0).abs() < 1e-9, "{stage}");
    }
    // Korthikanti et al. 2022, table 5: 13.75 s.
    assert!((step_ns / 13.75e9 - 1.0).abs() < 0.035, "{step_ns}");
}

#[test]
fn a_layout_that_does_not_divide_is_refused_with_field_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run.yaml");
    let text = std::fs::read_to_string(EXAMPLE).unwrap().replace("pp: 8", "pp: 7");
    std::fs::write(&run, text).unwrap();
    let output = predict(&run, &[]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("run.yaml") && message.contains("examples/run.yaml"), "{message}");
    assert!(message.contains("pp") || message.contains("devices"), "{message}");
}

#[test]
fn a_job_that_does_not_fit_is_an_answer_that_falls_short_under_strict() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run.yaml");
    let text = std::fs::read_to_string(EXAMPLE)
        .unwrap()
        .replace("devices: 64", "devices: 8")
        .replace("pp: 8, vpp: 3", "pp: 1, vpp: 1");
    std::fs::write(&run, text).unwrap();
    let output = predict(&run, &["--strict"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("does not fit"));
}

fn search(options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodput")).args(["search", EXAMPLE]).args(options).output().unwrap()
}

#[test]
fn layouts_are_ranked_keep_the_constraints_and_fit() {
    let output = search(&[
        "--constraint",
        "tp=8",
        "--constraint",
        "micro=1",
        "--top",
        "3",
        "--pareto",
        "--format",
        "json",
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/search.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(&report).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let best = report["best"].as_array().unwrap();
    let steps: Vec<f64> = best.iter().map(|l| l["step_ns"].as_f64().unwrap()).collect();
    assert!(!steps.is_empty() && steps.is_sorted(), "{steps:?}");
    for layout in best {
        let degree = |name: &str| layout[name].as_u64().unwrap();
        assert_eq!((degree("tp"), degree("micro_batch")), (8, 1));
        assert_eq!(degree("tp") * degree("cp") * degree("pp") * degree("dp"), degree("devices"));
        assert!(layout["memory_bytes"].as_f64().unwrap() < 86e9);
    }
}

#[test]
fn a_constraint_that_says_nothing_and_a_space_without_a_layout_are_refused() {
    let odd = search(&["--constraint", "width<=8"]);
    assert_eq!(odd.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&odd.stderr).contains("width<=8"));
    let none = search(&["--devices", "1"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("memory"));
}
