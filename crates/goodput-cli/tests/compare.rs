//! `goodput compare`, from the logs of a job to the verdict.
#![allow(clippy::unwrap_used)]

mod command;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use command::{Output, json, run};
use serde_json::Value;

/// The log of a job that fails every few hours, in our own format, with steps of about `step_ms`.
fn log(job: &str, start_s: u64, step_ms: u64) -> String {
    let header = format!(
        r#"{{"goodput_timeline":1,"job":"{job}","devices":8,"device":"H100-SXM5","peak_tflops":989.4,"dtype":"bf16","model_flops_per_token":4.2e10,"commits":true}}"#
    );
    let mut text = header + "\n";
    let at = |ms: u64| format!("{}.{:03}", start_s + ms / 1000, ms % 1000);
    let (mut now, mut step) = (0, 0u64);
    for cycle in 0..10u64 {
        writeln!(text, r#"{{"event":"launch","at":{}}}"#, at(now)).unwrap();
        now += 180_000 + 20_000 * (cycle % 3);
        // Fails between two commits, at another place in each cycle.
        let steps = 700 + 50 * (cycle * 7 % 5) + 13;
        let mut committed = step;
        for _ in 0..steps {
            let end = now + step_ms + (step * 7919 % 97) * step_ms / 2000;
            writeln!(
                text,
                r#"{{"step":{step},"start":{},"end":{},"input_wait_s":0.05,"tokens":1048576}}"#,
                at(now),
                at(end)
            )
            .unwrap();
            now = end;
            step += 1;
            if step.is_multiple_of(50) {
                writeln!(text, r#"{{"event":"commit","step":{},"at":{}}}"#, step - 1, at(now)).unwrap();
                committed = step;
            }
        }
        let cause = if cycle < 9 { "fault" } else { "finished" };
        writeln!(text, r#"{{"event":"stop","cause":"{cause}","at":{}}}"#, at(now)).unwrap();
        if cycle < 9 {
            step = committed;
        }
    }
    text
}

const CONTRACT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/contract.yaml");

/// The report of a log over the first 40 hours.
fn report(folder: &Path, name: &str, start_s: u64, step_ms: u64, contract: &str) -> PathBuf {
    let (log_file, out) = (folder.join(format!("{name}.jsonl")), folder.join(format!("{name}.json")));
    std::fs::write(&log_file, log(name, start_s, step_ms)).unwrap();
    let (from, to) = (start_s.to_string(), (start_s + 20 * 3600).to_string());
    let output = run(&[
        "timeline",
        &log_file.display().to_string(),
        "--from",
        &from,
        "--to",
        &to,
        "--contract",
        contract,
        "--format",
        "json",
        "-o",
        &out.display().to_string(),
    ]);
    assert!(output.status.success(), "{}", output.stderr);
    out
}

fn compare(before: &Path, after: &Path, more: &[&str]) -> Output {
    let paths = [before, after].map(|path| path.display().to_string());
    run(&[&["compare", &paths[0], &paths[1]][..], more].concat())
}

fn read(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|_| output.stderr.clone().into())
}

#[test]
fn a_faster_step_is_accepted_and_a_slower_one_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let before = report(folder.path(), "before", 1_767_225_600, 9000, CONTRACT);
    let after = report(folder.path(), "after", 1_767_484_800, 8000, CONTRACT);
    let found = compare(&before, &after, &["--format", "json"]);
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/compare.schema.json")).unwrap();
    let view = read(&found);
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(&view).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!((view["verdict"].as_str(), found.status.code()), (Some("accept"), Some(0)), "{view:#}");
    assert_eq!(view["lever"], "job");
    assert_eq!(view["after"]["quality_gate"], "passed");
    assert!(view["product"]["low"].as_f64().unwrap() > 1.0);
    assert_eq!(view["differences"].as_array().unwrap().len(), 0, "{:#}", view["differences"]);
    // The same work in less time.
    let time = &view["time_to_result"];
    assert!(time["after_s"].as_f64() < time["before_s"].as_f64());
    // Startup and rework stayed, so that runtime goodput dips: said, not blamed.
    let runtime = view["factors"].as_array().unwrap().iter().find(|f| f["factor"] == "runtime").unwrap();
    assert!(runtime["ratio"]["value"].as_f64().unwrap() < 1.0, "{runtime:#}");

    let undone = compare(&after, &before, &["--format", "json"]);
    assert_eq!((read(&undone)["verdict"].as_str(), undone.status.code()), (Some("reject"), Some(1)));
    // The same seed, the same page.
    assert_eq!(compare(&before, &after, &["--format", "json"]).stdout, found.stdout);
    let table = compare(&before, &after, &[]).stdout;
    assert!(table.contains("Accept: the job's product, runtime x program goodput"), "{table}");
    let page = compare(&before, &after, &["--format", "html"]).stdout;
    assert!(page.contains("Curves of one product") && page.contains("id=\"iso\""));
}

#[test]
fn a_failed_gate_rejects_whatever_the_speed() {
    let folder = tempfile::tempdir().unwrap();
    let failed = folder.path().join("failed.yaml");
    std::fs::write(&failed, "quality: {metric: loss, direction: at_most, target: 1.8, reached: 2.4}\n")
        .unwrap();
    let before = report(folder.path(), "before", 1_767_225_600, 9000, CONTRACT);
    let after = report(folder.path(), "after", 1_767_484_800, 8000, &failed.display().to_string());
    let found = compare(&before, &after, &["--format", "json"]);
    let view = read(&found);
    assert_eq!((view["verdict"].as_str(), found.status.code()), (Some("reject"), Some(1)));
    assert!(view["reasons"][0].as_str().unwrap().contains("quality gate on loss failed"));
    assert!(view["differences"].as_array().unwrap().iter().any(|d| d["field"] == "system.driver"));
}

/// What cannot be drawn again has no interval, and no confidence.
#[test]
fn without_an_interval_no_confidence_is_stated() {
    let folder = tempfile::tempdir().unwrap();
    let before = report(folder.path(), "before", 1_767_225_600, 9000, CONTRACT);
    let after = report(folder.path(), "after", 1_767_484_800, 8000, CONTRACT);
    let mut few: Value = serde_json::from_str(&std::fs::read_to_string(&after).unwrap()).unwrap();
    few["samples"]["cycles"].as_array_mut().unwrap().truncate(2);
    let file = folder.path().join("few.json");
    std::fs::write(&file, few.to_string()).unwrap();
    let answer =
        |after: &Path| compare(&before, after, &[]).stdout.split("Quality").next().unwrap().to_owned();
    assert!(answer(&after).contains("confidence"), "{}", answer(&after));
    let found = answer(&file);
    assert!(found.contains("no interval") && !found.contains("confidence"), "{found}");
}

#[test]
fn bad_input_names_the_field_and_the_need() {
    let folder = tempfile::tempdir().unwrap();
    let before = report(folder.path(), "before", 1_767_225_600, 9000, CONTRACT);
    let refused = |other: &Path, more: &[&str], words: &[&str]| {
        let output = compare(&before, other, more);
        assert_eq!(output.status.code(), Some(2), "{}", output.stdout);
        for word in words {
            assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
        }
    };
    refused(&before, &[], &["same report"]);
    let torn = folder.path().join("torn.json");
    let text = std::fs::read_to_string(&before).unwrap();
    std::fs::write(&torn, &text[..text.len() / 2]).unwrap();
    refused(&torn, &[], &["torn.json", "line"]);
    let other = folder.path().join("other.json");
    std::fs::write(&other, r#"{"schema":"goodput.trace/1"}"#).unwrap();
    refused(&other, &[], &["goodput.trace/1", "goodput.timeline/1"]);
    refused(&folder.path().join("none.json"), &[], &["none.json"]);
    let after = report(folder.path(), "after", 1_767_484_800, 9000, CONTRACT);
    refused(&after, &["--confidence", "1.5"], &["confidence"]);
    refused(&after, &["--lever", "pool"], &["one job", "goodput account"]);

    // A contract file is checked against the records.
    let log = folder.path().join("before.jsonl").display().to_string();
    for (yaml, words) in [
        ("system: {devices: 9}", ["system.devices", "records say 8"]),
        ("workload: {batch: 9}", ["workload.batch", "workload."]),
        ("quality: {passed: perhaps}", ["quality.passed", "true or false"]),
    ] {
        let file = folder.path().join("contract.yaml");
        std::fs::write(&file, yaml).unwrap();
        let output = run(&["timeline", &log, "--contract", &file.display().to_string()]);
        assert_eq!(output.status.code(), Some(2));
        for word in words {
            assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
        }
    }
}

/// A fleet's days carry the interval of its MPG, and sum to the window.
#[test]
fn a_fleet_accounts_its_days() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().display().to_string();
    assert!(run(&["demo", "--records", &here]).status.success());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let truth: Value = serde_json::from_str(&std::fs::read_to_string(file("truth.json")).unwrap()).unwrap();
    let from: i64 = truth["window"]["from_ns"].as_str().unwrap().parse::<i64>().unwrap() / 1_000_000_000;
    let (sacct, events, nodes) = (file("sacct.txt"), file("events.txt"), file("nodes.txt"));
    let (start, end) = (from.to_string(), (from + 7 * 86_400).to_string());
    let mut args =
        vec!["account", "--time-zone", "UTC", "--sacct", &sacct, "--events", &events, "--nodes", &nodes];
    args.extend(["--from", &start, "--to", &end, "--blocks", "day", "--format", "json"]);
    let report = json(&args);
    let days = report["days"].as_array().unwrap();
    assert_eq!(days.len(), 7);
    let sum =
        |level: &str| days.iter().map(|d| d[level].as_str().unwrap().parse::<i128>().unwrap()).sum::<i128>();
    for level in ["offered_ns", "held_ns"] {
        assert_eq!(report["capacity_time"][level], sum(level).to_string(), "{level}");
    }
}
