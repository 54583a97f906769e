//! `goodput calibrate`, and predictions with its files, as a person runs them.
#![allow(clippy::unwrap_used)]

mod command;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use command::{Output, run};
use serde_json::Value;
use tempfile::TempDir;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/run.yaml");

/// Products of the example's layers, which take 100 TFLOP/s, and an exchange.
fn table() -> String {
    let mut csv = "kind,device,dtype,pass,m,n,k,ranks,nodes,bytes,state,time_us\n".to_owned();
    let layers = [(4608, 12_288), (12_288, 1536), (6144, 12_288), (12_288, 6144), (6400, 12_288)];
    for (n, k) in layers {
        for pass in ["forward", "dgrad", "wgrad"] {
            let us = 2.0 * 2048.0 * f64::from(n) * f64::from(k) / 100e6;
            writeln!(csv, "gemm,NVIDIA A100-SXM4-80GB,fp16,{pass},2048,{n},{k},,,,sustained,{us}").unwrap();
        }
    }
    csv + "all_reduce,NVIDIA A100-SXM4-80GB,fp16,,,,,8,1,50331648,burst,600\n"
}

fn folder(name: &str, text: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, text).unwrap();
    (folder, file)
}

fn goodput(verb: &str, file: &Path, options: &[&str]) -> Output {
    let mut args = vec![verb, file.to_str().unwrap()];
    args.extend(options);
    run(&args)
}

#[track_caller]
fn valid(schema: &str, output: &Output) -> Value {
    let report: Value = serde_json::from_str(&output.stdout).expect(&output.stderr);
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(&report).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?}");
    report
}

fn calibrated(options: &[&str], text: impl AsRef<[u8]>) -> (TempDir, Value, i32) {
    let (folder, file) = folder("bench.csv", text);
    let options = [&["--format", "json", "--strict"], options].concat();
    let output = goodput("calibrate", &file, &options);
    let code = output.status.code().unwrap();
    if code == 2 {
        return (folder, Value::String(output.stderr), code);
    }
    (folder, valid(include_str!("../../../schemas/calibrate.schema.json"), &output), code)
}

#[test]
fn measured_products_change_a_prediction_as_far_as_they_reach() {
    let (folder, file) = folder("bench.csv", table());
    let ours = folder.path().join("ours.tables");
    let summary = goodput("calibrate", &file, &["-o", ours.to_str().unwrap()]);
    assert!(summary.status.success(), "{}", summary.stderr);
    assert!(summary.stdout.contains("gemm") && summary.stdout.contains("all_reduce"), "{}", summary.stdout);

    let schema = include_str!("../../../schemas/predict.schema.json");
    let shipped = valid(schema, &goodput("predict", Path::new(EXAMPLE), &["--format", "json"]));
    let tables = ["--format", "json", "--tables", ours.to_str().unwrap()];
    let with = valid(schema, &goodput("predict", Path::new(EXAMPLE), &tables));
    let products = |report: &Value| {
        let terms = report["terms"].as_array().unwrap();
        terms.iter().find(|t| t["term"] == "matrix products").unwrap()["time_ns"].as_f64().unwrap()
    };
    // At 100 instead of about 240 TFLOP/s.
    let slower = products(&with) / products(&shipped);
    assert!((2.0..3.0).contains(&slower), "{slower}");
    let here = &with["measured_here"];
    let term = |name: &str| here["terms"].as_array().unwrap().iter().find(|t| t["term"] == name).unwrap();
    assert!(term("matrix products")["share"].as_f64().unwrap() > 0.95, "{here}");
    assert_eq!(term("attention")["share"], 0.0);
    assert!(term("attention")["not_measured"].as_array().unwrap().contains(&"attention".into()));

    let page = goodput("predict", Path::new(EXAMPLE), &["--tables", ours.to_str().unwrap()]);
    assert!(page.stdout.contains("Measured here"), "{}", page.stdout);
    let search =
        ["--constraint", "tp=8", "--constraint", "micro=1", "--top", "1", "--format", "json", "--tables"];
    let search = goodput("search", Path::new(EXAMPLE), &[&search[..], &[ours.to_str().unwrap()]].concat());
    let search = valid(include_str!("../../../schemas/search.schema.json"), &search);
    assert_eq!(search["measured_tables"], ours.to_str().unwrap());

    // A calibration joined with itself is the same calls.
    let joined = folder.path().join("both");
    let names = [ours.to_str().unwrap(), "-o", joined.to_str().unwrap()];
    assert!(goodput("calibrate", &ours, &names).status.success());
    let times = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines()
            .filter(|l| l.starts_with("gemm"))
            .map(|l| l.split(',').nth(22).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(times(&joined), times(&ours));
    assert_eq!(times(&ours).len(), 15);
}

#[test]
fn a_table_of_another_device_is_refused_by_a_prediction_and_a_raw_table_too() {
    let (folder, file) = folder("bench.csv", table().replace("NVIDIA A100-SXM4-80GB", "B200"));
    let ours = folder.path().join("b200");
    assert!(goodput("calibrate", &file, &["-o", ours.to_str().unwrap()]).status.success());
    let other = goodput("predict", Path::new(EXAMPLE), &["--tables", ours.to_str().unwrap()]);
    assert_eq!(other.status.code(), Some(2));
    assert!(other.stderr.contains("B200") && other.stderr.contains("A100"), "{}", other.stderr);
    let raw = goodput("predict", Path::new(EXAMPLE), &["--tables", file.to_str().unwrap()]);
    assert_eq!(raw.status.code(), Some(2));
    assert!(raw.stderr.contains("goodput calibrate"), "{}", raw.stderr);
}

#[test]
fn every_odd_row_is_refused_with_line_and_field_and_counted() {
    let rows = [
        "gemm,H100 SXM5,bf16,forward,4096,4096,4096,,,,burst,-3",
        "gemm,H100 SXM5,bf16,forward,4096,4096,4096,,,,burst,NaN",
        "gemm,H100 SXM5,bf16,forward,4096,4096,4096,,,,burst,0",
        "gemm,H100 SXM5,bf16,forward,4096,4096,4096,,,,burst,1",
        "gemm,H100 SXM5,int4,forward,4096,4096,4096,,,,burst,300",
        "gemm,Falcon-1,bf16,forward,4096,4096,4096,,,,burst,300",
        "gemm,H100 SXM5,bf16,forward,4096,4096,4096,,,,burst,300",
        "gemm,H100 SXM5,bf16,forward,4096.0,4096,4096,,,,burst,310",
        "gemm,H100 SXM5,bf16",
    ];
    let header = "\u{feff}kind,device,dtype,pass,m,n,k,ranks,nodes,bytes,state,time_us\r\n";
    let (_folder, report, code) = calibrated(&[], format!("{header}{}", rows.join("\r\n")));
    assert_eq!(code, 1);
    let read = &report["read"];
    assert_eq!(
        (&read["rows"], &read["used"], &read["refused"], &read["repaired"]),
        (&9.into(), &2.into(), &7.into(), &1.into())
    );
    let found: Vec<_> = read["files"][0]["findings"].as_array().unwrap().iter().collect();
    let at = |line: u64| found.iter().find(|f| f["line"] == line).unwrap();
    assert_eq!((&at(2)["field"], &at(2)["code"]), (&"time_us".into(), &"bad_value".into()));
    assert_eq!(at(5)["code"], "impossible_rate");
    assert!(at(5)["message"].as_str().unwrap().contains("989.4"), "{}", at(5));
    assert_eq!((&at(6)["field"], &at(7)["field"]), (&"dtype".into(), &"device".into()));
    assert_eq!((&at(9)["treatment"], &at(9)["field"]), (&"repaired".into(), &"m".into()));
    assert_eq!(at(10)["code"], "column_count");
    let kind = &report["devices"][0]["kinds"][0];
    assert_eq!((&kind["rows"], &kind["repeats"]), (&1.into(), &2.into()));
    assert!((kind["noise"].as_f64().unwrap() - 1.4826 * 5.0 / 305.0).abs() < 1e-9);
}

#[test]
fn columns_can_be_renamed_and_stated_and_a_missing_one_is_named() {
    let text = "name,latency,m,n,k\nmm,0.3,4096,4096,4096\n";
    let options = [
        "--device",
        "H100 SXM5",
        "--column",
        "time_ms=latency",
        "--set",
        "kind=gemm",
        "--set",
        "dtype=bf16",
        "--set",
        "pass=forward",
        "--set",
        "state=burst",
    ];
    let (_folder, report, code) = calibrated(&options, text);
    assert_eq!((code, &report["devices"][0]["device"]), (0, &"H100 SXM5".into()));
    let (_folder, message, code) = calibrated(&options[..6], text);
    assert_eq!(code, 2);
    assert!(message.as_str().unwrap().contains("`state`"), "{message}");
    let (_folder, message, code) = calibrated(&["--device", "Falcon"], text);
    assert!(code == 2 && message.as_str().unwrap().contains("Falcon"), "{message}");
    for empty in ["", "kind,device,state,time_us\n"] {
        let (_folder, _, code) = calibrated(&[], empty);
        assert_eq!(code, 2);
    }
    let (_folder, message, code) = calibrated(&[], b"PAR1 but not really PAR1");
    assert!(code == 2 && message.as_str().unwrap().contains("Parquet"), "{message}");
}

#[test]
fn tables_of_several_devices_need_a_folder() {
    let more = table()
        .lines()
        .skip(1)
        .fold(String::new(), |text, line| text + &line.replace("NVIDIA A100-SXM4-80GB", "B200") + "\n");
    let (folder, file) = folder("bench.csv", table() + &more);
    let one = folder.path().join("one");
    let refused = goodput("calibrate", &file, &["-o", one.to_str().unwrap()]);
    assert!(refused.status.code() == Some(2) && refused.stderr.contains("folder"), "{}", refused.stderr);
    let all = format!("{}/all/", folder.path().display());
    assert!(goodput("calibrate", &file, &["-o", &all]).status.success());
    let mut names: Vec<_> =
        std::fs::read_dir(&all).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["a100_sxm4_80gb.tables", "b200.tables"]);
}
