//! Every JSON that the verbs print, and every timeline that the simulator writes, against the schemas.
#![allow(clippy::unwrap_used)]

mod command;

use std::path::Path;

use command::{json, run, shared};
use jsonschema::Validator;
use serde_json::Value;

fn schema(text: &str) -> Validator {
    jsonschema::draft202012::new(&serde_json::from_str(text).unwrap()).unwrap()
}

fn account_schema() -> Validator {
    schema(include_str!("../../../schemas/account.schema.json"))
}

fn timeline_report_schema() -> Validator {
    schema(include_str!("../../../schemas/timeline-report.schema.json"))
}

#[track_caller]
fn assert_valid(schema: &Validator, document: &Value, what: &str) {
    let errors: Vec<_> =
        schema.iter_errors(document).take(5).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}");
}

/// What a contract must say, whatever the verb.
#[track_caller]
fn assert_contract(report: &Value) {
    let contract = &report["contract"];
    for key in ["window", "denominator", "devices", "software", "timing_boundary", "coverage"] {
        assert!(!contract[key].is_null(), "{key}");
    }
}

#[test]
fn the_demo() {
    let report = json(&["demo", "--format", "json"]);
    assert_valid(&account_schema(), &report, "demo");
    assert_contract(&report);
    // Every job of the scenario that logs is joined to its allocation, and its FLOPs have a convention.
    for warning in report["warnings"].as_array().unwrap() {
        assert_ne!(warning["code"], "timeline_without_attempt", "{warning}");
    }
    for ideal in report["contract"]["ideals"].as_array().unwrap() {
        assert_ne!(ideal["convention"], "not stated");
    }
    assert!(!report["contract"]["software"].as_array().unwrap().is_empty());
    for job in report["jobs"].as_array().unwrap() {
        assert!(job["next"]["record"].is_string() && job["next"]["why"].is_string());
        // A factor without evidence is null, never a guess.
        if job["commits"].is_null() {
            assert!(job["factors"]["runtime"].is_null(), "{}", job["id"]);
        } else {
            assert!(job["steps"]["retained"].is_number() && job["composed"].is_object(), "{}", job["id"]);
        }
    }
}

#[test]
fn dumps_of_a_scheduler() {
    let here = |name: &str| format!("slurm-22.05.8/{name}");
    let (sacct, events, nodes) = (here("sacct-delim.txt"), here("event-all.txt"), here("scontrol-node.txt"));
    let args = ["account", "--sacct", &sacct, "--events", &events, "--nodes", &nodes];
    let report = json(&[&args[..], &["--time-zone", "UTC", "--price", "2", "--format", "json"]].concat());
    assert_valid(&account_schema(), &report, "22.05.8");
    assert_contract(&report);

    let Some(shared) = shared() else { return };
    for version in ["24.11.5", "22.05.8-load"] {
        let folder = shared.join("scheduler/slurm").join(version);
        let file = |name: &str| folder.join(name).display().to_string();
        let Some(sacct) = ["sacct.json", "sacct-delim.txt"].into_iter().find(|n| folder.join(n).is_file())
        else {
            continue;
        };
        let mut args: Vec<String> =
            ["account", "--time-zone", "UTC", "--format", "json"].map(str::to_owned).into();
        args.extend(["--sacct".to_owned(), file(sacct), "--events".to_owned(), file("event-all.txt")]);
        let output = run(&args);
        assert!(output.status.success(), "{version}: {}", output.stderr);
        let report: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_valid(&account_schema(), &report, version);
    }
}

#[test]
fn timelines_of_jobs() {
    let schema = timeline_report_schema();
    for name in ["fault-mid-step", "final-eval", "graceful-eviction-queue", "two-loggers"] {
        let log = format!("timelines/{name}.jsonl");
        let report = json(&["timeline", &log, "--format", "json", "--planned-steps", "1000"]);
        assert_valid(&schema, &report, name);
        assert_contract(&report);
        assert_eq!(report["steps"]["planned"], 1000);
    }
    let Some(shared) = shared() else { return };
    for entry in std::fs::read_dir(shared.join("timelines/cases")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "jsonl") {
            let report = json(&["timeline", &path.display().to_string(), "--format", "json"]);
            assert_valid(&schema, &report, &path.display().to_string());
        }
    }
}

/// What the simulator writes is what the format's page says.
#[test]
fn simulated_timelines() {
    let line_schema = schema(include_str!("../../../schemas/timeline.schema.json"));
    let folder = tempfile::tempdir().unwrap();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/fleet.yaml");
    let output = run(&["simulate", example, "-o", &folder.path().display().to_string()]);
    assert!(output.status.success(), "{}", output.stderr);
    let mut lines = 0;
    for entry in std::fs::read_dir(folder.path().join("timelines")).unwrap() {
        lines += valid_lines(&line_schema, &entry.unwrap().path());
    }
    assert!(lines > 1000, "{lines} lines");
}

/// Lines of a timeline in our own format, all valid; zero for another format.
fn valid_lines(schema: &Validator, path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap();
    if !text.starts_with("{\"goodput_timeline\"") && !text.contains("\"goodput_timeline\":1") {
        return 0;
    }
    let parsed = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    parsed.inspect(|line| assert_valid(schema, line, &format!("{}: {line}", path.display()))).count()
}

/// The example of docs/simulate.md: everything that it says befalls its fleet is found by the accounting.
#[test]
fn the_example_fleet() {
    let folder = tempfile::tempdir().unwrap();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/fleet.yaml");
    let output = run(&["simulate", example, "-o", &folder.path().display().to_string()]);
    assert!(output.status.success(), "{}", output.stderr);
    let truth: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("truth.json")).unwrap()).unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let mut args: Vec<String> =
        ["account", "--time-zone", "UTC", "--format", "json"].map(str::to_owned).into();
    for (option, end) in [("--from", "from_ns"), ("--to", "to_ns")] {
        let ns: i64 = truth["window"][end].as_str().unwrap().parse().unwrap();
        args.extend([option.to_owned(), (ns / 1_000_000_000).to_string()]);
    }
    for (option, name) in [
        ("--sacct", "sacct.txt"),
        ("--events", "events.txt"),
        ("--nodes", "nodes.txt"),
        ("--snapshots", "snapshots.jsonl"),
        ("--reservations", "reservations.txt"),
    ] {
        args.extend([option.to_owned(), file(name)]);
    }
    for log in std::fs::read_dir(folder.path().join("timelines")).unwrap() {
        let path = log.unwrap().path();
        let job = path.file_stem().unwrap().to_string_lossy();
        args.extend(["--timeline".to_owned(), format!("{job}={}", path.display())]);
    }
    let report = json(&args);
    assert_valid(&account_schema(), &report, "the example fleet");
    for level in ["offered_ns", "held_ns"] {
        assert_eq!(report["capacity_time"][level], truth["fleet"][level], "{level}");
    }
    let amounts = |boundary: &str| report["capacity_time"][boundary].as_object().unwrap().clone();
    for (boundary, words) in [
        ("scheduling_losses", &["no_demand", "gang_reservation", "too_few_free"][..]),
        (
            "runtime_losses",
            &[
                "startup",
                "input_wait",
                "checkpoint_pause",
                "rework",
                "recovery",
                "preemption",
                "evaluation",
                "suspension",
                "hang",
                "zombie",
                "idle_reservation",
                "unsettled",
            ],
        ),
    ] {
        let found = amounts(boundary);
        for word in words {
            let amount = found.get(&format!("{word}_ns")).and_then(Value::as_str).unwrap_or("0");
            assert_ne!(amount, "0", "{word}");
        }
    }
}
