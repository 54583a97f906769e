//! `goodput lint` with the built binary.
#![allow(clippy::unwrap_used)]

mod command;

use command::{json, run};
use serde_json::Value;

const SHEET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/sheet.yaml");

fn findings(output: &str) -> Value {
    let report: Value = serde_json::from_str(output).unwrap();
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/lint.schema.json")).unwrap();
    let errors: Vec<String> = jsonschema::draft202012::new(&schema)
        .unwrap()
        .iter_errors(&report)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{errors:#?}");
    report
}

/// The example sheet: every mistake that it makes is found, with the figure put right.
#[test]
fn the_example_sheet() {
    let output = run(&["lint", SHEET, "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    let report = findings(&output.stdout);
    let of = |check: &str| {
        let all = report["findings"].as_array().unwrap();
        all.iter().find(|f| f["check"] == check).unwrap_or_else(|| panic!("{check}")).clone()
    };
    for (check, corrected, value) in [
        ("mixed-overhead-budget", 3, 0.97 * 0.95 * 0.48),
        ("charged-to-fixer", 0, 0.65 * 0.90 * 0.48),
        ("fleet-mfu-times-scaling", 0, 0.48),
        ("loss-share-as-gain", 0, 0.35 * 0.90 * 0.48),
        ("peak-scales-step", 0, 1.0 / 0.85),
        ("benchmark-extrapolated", 2, 37.5),
    ] {
        let found = of(check)["corrected"][corrected]["value"].as_f64().unwrap();
        assert!((found / value - 1.0).abs() < 1e-9, "{check}: {found} {value}");
        assert_eq!(of(check)["severity"], "error", "{check}");
    }
    for check in [
        "activity-called-goodput",
        "largest-loss-first",
        "mean-without-distribution",
        "window-too-short",
        "compiled-as-proof",
        "no-quality-gate",
    ] {
        of(check);
    }
    assert!(report["findings"].as_array().unwrap().iter().all(|f| f["check"] != "parts-beside-the-whole"));
}

#[test]
fn every_format_of_the_example_sheet() {
    let of = |format: &str| run(&["lint", SHEET, "--format", format]).stdout;
    assert!(of("table").contains("error: one overhead budget over several boundaries"));
    assert!(of("markdown").contains("| error | `mixed-overhead-budget` |"));
    assert!(of("html").contains("one overhead budget over several boundaries"));
}

#[test]
fn a_report_without_an_error_is_answered_with_0() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let path = path.to_str().unwrap();
    let written = run(&["timeline", "timelines/fault-mid-step.jsonl", "--format", "json", "-o", path]);
    assert!(written.status.success(), "{}", written.stderr);
    let report = json(&["lint", path, "--format", "json"]);
    assert_eq!((report["kind"].as_str(), report["errors"].as_u64()), (Some("timeline"), Some(0)));
    findings(&report.to_string());

    // The same with a loss charged elsewhere by hand: the books no longer close.
    let mut changed: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    changed["capacity_time"]["held_ns"] = Value::String("1".to_owned());
    std::fs::write(path, changed.to_string()).unwrap();
    assert_eq!(run(&["lint", path]).status.code(), Some(1));
}

#[test]
fn a_key_that_is_none_is_named_with_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sheet.yaml");
    std::fs::write(&path, "figures:\n  - {name: MFU, valeu: 0.4, kind: mfu}\n").unwrap();
    let output = run(&["lint", path.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.contains("nearest is `value`"), "{}", output.stderr);
    assert!(output.stderr.contains("examples/sheet.yaml"), "{}", output.stderr);
    assert_eq!(run(&["lint", "nothing.yaml"]).status.code(), Some(2));
}
