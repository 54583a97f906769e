//! `goodput validate`, as a person runs it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const HEAD: &str = "\
id,source_key,n_layers,hidden,n_heads,n_kv_heads,head_dim,ffn_hidden,ffn_type,vocab,tied_embeddings,seq_len,device_class,\
n_devices,tp,sp,cp,pp,dp,zero_or_sharding,mbs,gbs,precision_class,recompute,step_time_s
";

/// A row of 8 devices; `tp` and `dp` may not fit.
fn row(id: &str, tp: u32, dp: u32, step_s: f64) -> String {
    let sp = if tp > 1 { "yes" } else { "no" };
    format!(
        "{id},ours,32,4096,32,8,128,14336,swiglu,128256,no,8192,h100,8,{tp},{sp},1,1,{dp},zero-1,1,64,bf16,none,{step_s}\n"
    )
}

/// Runs of our own columns: three that can be predicted, one whose degrees do not divide.
fn runs() -> String {
    HEAD.to_owned()
        + &row("run-1", 1, 8, 12.5)
        + &row("run-2", 3, 8, 12.5)
        + &row("run-3", 2, 4, 13.0)
        + &row("run-4", 4, 2, 14.0)
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("runs.csv"), runs()).unwrap();
    folder
}

fn validate(folder: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodput"));
    command.current_dir(folder).args(["validate", "runs.csv"]).args(options).output().unwrap()
}

fn json(output: &Output) -> Value {
    assert!(!output.stdout.is_empty(), "{}", errors(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn assert_valid(report: &Value) {
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/validate.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(report).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn measured_runs_are_compared_and_odd_rows_refused_by_column() {
    let folder = folder();
    let output = validate(folder.path(), &["--format", "json", "--strict"]);
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    let report = json(&output);
    assert_valid(&report);
    let rows = report["rows"].as_array().unwrap();
    let ape = |row: &Value| {
        let (predicted, measured) =
            (row["predicted_ns"].as_f64().unwrap(), row["measured_ns"].as_f64().unwrap());
        let terms: f64 = row["terms"].as_object().unwrap().values().map(|ns| ns.as_f64().unwrap()).sum();
        assert!((terms / predicted - 1.0).abs() < 1e-9, "{row}");
        (predicted / measured - 1.0).abs()
    };
    let mape = rows.iter().map(ape).sum::<f64>() / 3.0;
    assert!((report["mape"].as_f64().unwrap() - mape).abs() < 1e-12);
    assert_eq!(report["refused"][0]["field"], "tp, cp, pp, dp");
    assert!(report["assumed"].as_array().unwrap().iter().any(|value| value["column"] == "cluster"));
}

#[test]
fn a_file_that_is_no_table_of_runs_is_refused() {
    let folder = folder();
    fs::write(folder.path().join("runs.csv"), "a,b\n1,2\n").unwrap();
    let output = validate(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    let message = errors(&output);
    assert!(message.contains("runs.csv") && message.contains("docs/validation.md"), "{message}");
}

#[test]
fn own_rules_come_first_and_breakdowns_are_chosen() {
    let folder = folder();
    let rules = "rules:\n  - when: {source_key: ours}\n    set: {cluster: DGX H100, dropout: 'yes'}\n    because: ours\n";
    fs::write(folder.path().join("ours.yaml"), rules).unwrap();
    let output = validate(folder.path(), &["--rules", "ours.yaml", "--format", "json"]);
    let report = json(&output);
    let assumed = report["assumed"].as_array().unwrap();
    assert!(assumed.iter().any(|v| v["column"] == "dropout" && v["because"] == "ours" && v["rows"] == 3));

    let output = validate(folder.path(), &["--by", "tp,dp"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("By tp") && text.contains("By dp") && !text.contains("By source"), "{text}");
    let output = validate(folder.path(), &["--by", "colour"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("colour") && errors(&output).contains("software"),
        "{}",
        errors(&output)
    );

    fs::write(folder.path().join("ours.yaml"), "rules:\n  - wenn: {}\n").unwrap();
    let output = validate(folder.path(), &["--rules", "ours.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("ours.yaml") && errors(&output).contains("wenn"), "{}", errors(&output));
}

#[test]
fn errors_that_grow_beyond_the_margin_fail() {
    let folder = folder();
    let gate = ["--regression", "errors.json", "--format", "json"];
    let output = validate(folder.path(), &gate);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("--record"), "{}", errors(&output));

    let output = validate(folder.path(), &[&gate[..], &["--record", "--margin", "1%"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    assert_eq!(json(&output)["regression"]["recorded"], true);
    let output = validate(folder.path(), &gate);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let report = json(&output);
    assert_valid(&report);
    assert_eq!(
        (&report["regression"]["margin"], &report["regression"]["worse"]),
        (&0.01.into(), &Value::from([0; 0]))
    );

    // The same runs, measured twice as slow, and one row less.
    let slower = HEAD.to_owned() + &row("run-1", 1, 8, 50.0) + &row("run-3", 2, 4, 52.0);
    fs::write(folder.path().join("runs.csv"), slower).unwrap();
    let output = validate(folder.path(), &gate);
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    let report = json(&output);
    assert_valid(&report);
    let worse: Vec<_> =
        report["regression"]["worse"].as_array().unwrap().iter().map(|w| w["measure"].clone()).collect();
    assert!(worse.contains(&"rows".into()) && worse.contains(&"mape".into()), "{worse:?}");

    fs::write(folder.path().join("errors.json"), "{\"margin\": 0.01, \"quellen\": {}}").unwrap();
    let output = validate(folder.path(), &gate);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("errors.json") && errors(&output).contains("quellen"),
        "{}",
        errors(&output)
    );
}

#[test]
fn outcomes_are_written_a_row_each_and_never_over_an_input() {
    let folder = folder();
    let output = validate(folder.path(), &["--rows", "rows.csv"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let text = fs::read_to_string(folder.path().join("rows.csv")).unwrap();
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.starts_with(
        "id,source_key,software,model,device,measured_s,predicted_s,error,blame,matrix products (s)"
    ));
    for option in ["--rows", "-o"] {
        let output = validate(folder.path(), &[option, "runs.csv"]);
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(fs::read_to_string(folder.path().join("runs.csv")).unwrap(), runs());
    }
}

#[test]
fn the_page_stands_alone() {
    let folder = folder();
    let output = validate(folder.path(), &["--format", "html", "-o", "errors.html", "--by", "source,tp"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let page = fs::read_to_string(folder.path().join("errors.html")).unwrap();
    for id in ["scatter", "histogram", "by-tp", "ranking-section", "worst-section", "rows-section"] {
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
    assert!(page.contains("default-src 'none'") && page.contains("run-4"));
}

/// Runs of one device and software: the factors of one half are tested on the other, and multiply a prediction by name.
#[test]
fn a_calibration_is_tested_on_rows_that_it_never_saw() {
    let folder = folder();
    let rows: String = (0..16).map(|i| row(&format!("run-{i}"), 1, 8, 12.5)).collect();
    fs::write(folder.path().join("runs.csv"), HEAD.to_owned() + &rows).unwrap();
    let output = validate(folder.path(), &["--calibrate", "factors.yaml", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    let report = json(&output);
    assert_valid(&report);
    let calibration = &report["calibration"];
    let fitted = calibration["factors"][0]["rows"].as_array().unwrap().len();
    assert_eq!(calibration["left_out"], fitted);
    assert_eq!(calibration["calibrated"]["rows"].as_u64().unwrap() as usize, 16 - fitted);
    // All rows are alike: the factor of one half makes the other exact, and the report's own errors stay without.
    assert!(calibration["calibrated"]["mape"].as_f64().unwrap() < 1e-3, "{calibration:#}");
    let (of_half, of_all) =
        (calibration["uncalibrated"]["mape"].as_f64().unwrap(), report["mape"].as_f64().unwrap());
    assert!((of_half - of_all).abs() < 1e-12, "{of_half} {of_all}");

    let used = json(&validate(folder.path(), &["--calibration", "factors.yaml", "--format", "json"]));
    assert_eq!(
        (&used["calibration"]["left_out"], &used["calibration"]["fitted"]),
        (&fitted.into(), &false.into())
    );
    assert_eq!(used["calibration"]["calibrated"]["mape"], calibration["calibrated"]["mape"]);

    let run = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/run.yaml")).unwrap();
    fs::write(folder.path().join("run.yaml"), run.replace("DGX A100", "DGX H100")).unwrap();
    let step = |verb: &str, options: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodput"));
        command.current_dir(folder.path()).args([verb, "run.yaml", "--format", "json"]).args(options);
        json(&command.output().unwrap())
    };
    let (plain, with) = (step("predict", &[]), step("predict", &["--calibration", "factors.yaml"]));
    assert!(plain["calibration"].is_null());
    assert_eq!(
        (&with["calibration"]["file"], &with["calibration"]["rows"]),
        (&"factors.yaml".into(), &fitted.into())
    );
    let ratio = with["step_ns"].as_f64().unwrap() / plain["step_ns"].as_f64().unwrap();
    let factor = with["calibration"]["device_time"].as_f64().unwrap();
    assert!((ratio / factor - 1.0).abs() < 0.02, "{ratio} {factor}");
    let mfu = plain["mfu"].as_f64().unwrap() / with["mfu"].as_f64().unwrap();
    assert!((mfu / ratio - 1.0).abs() < 1e-9, "{mfu} {ratio}");
    let options = ["--constraint", "tp=8", "--top", "1", "--calibration", "factors.yaml"];
    assert_eq!(step("search", &options)["calibration"]["runs"], "runs.csv");

    fs::write(folder.path().join("factors.yaml"), "schema: goodput.calibration/1\nfaktoren: []\n").unwrap();
    let output = validate(folder.path(), &["--calibration", "factors.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        errors(&output).contains("factors.yaml") && errors(&output).contains("faktoren"),
        "{}",
        errors(&output)
    );
}
