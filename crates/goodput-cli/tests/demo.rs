//! `goodput demo` and `goodput simulate`, as a person runs them.

mod command;

use command::{json, run};
use serde_json::Value;

#[test]
fn the_running_example_comes_out() {
    let report = json(&["demo", "--format", "json"]);
    let factor = |of: &Value, name: &str| of["factors"][name].as_f64().unwrap_or_default();
    let named = |list: &str, name: &str| {
        report[list].as_array().unwrap().iter().find(|item| item["name"] == name).cloned().unwrap()
    };
    let (pool, job) = (named("pools", "train"), named("jobs", "pretrain-70b"));
    for (of, name, expected) in
        [(&pool, "scheduling", 0.65), (&job, "runtime", 0.904), (&job, "program", 0.480)]
    {
        let got = factor(of, name);
        assert!((got - expected).abs() < 0.005, "{name} is {got}, not {expected}");
    }
}

#[test]
fn every_format_answers() {
    for format in ["table", "html", "openmetrics"] {
        let output = run(&["demo", "--format", format]);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", output.stderr);
        assert!(output.stdout.len() > 1000, "{format}");
    }
}

#[test]
fn simulated_records_are_accounted_as_the_truth_says() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let output = run(&["simulate", "-o", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr);
    let file = |name: &str| folder.path().join(name).display().to_string();
    let truth: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("truth.json")).unwrap()).unwrap();
    let mut args: Vec<String> =
        ["account", "--time-zone", "UTC", "--format", "json"].map(str::to_owned).into();
    for (option, name) in [
        ("--sacct", "sacct.json"),
        ("--events", "events.txt"),
        ("--nodes", "nodes.txt"),
        ("--snapshots", "snapshots.jsonl"),
        ("--reservations", "reservations.txt"),
    ] {
        args.extend([option.to_owned(), file(name)]);
    }
    for (option, end) in [("--from", "from_ns"), ("--to", "to_ns")] {
        let ns: i64 = truth["window"][end].as_str().unwrap().parse().unwrap();
        args.extend([option.to_owned(), (ns / 1_000_000_000).to_string()]);
    }
    for log in std::fs::read_dir(folder.path().join("timelines")).unwrap() {
        args.extend(["--timeline".to_owned(), log.unwrap().path().display().to_string()]);
    }
    let report = json(&args);
    let (found, fleet) = (&report["capacity_time"], &truth["fleet"]);
    for level in ["offered_ns", "held_ns"] {
        assert_eq!(found[level], fleet[level], "{level}");
    }
    for class in ["gang_reservation_ns", "fragmentation_ns", "too_few_free_ns"] {
        let (found, expected) = (&found["scheduling_losses"][class], &fleet["scheduling"][class]);
        assert_eq!(found, expected, "{class}");
    }
    let jobs = truth["jobs"].as_array().unwrap();
    let logged = jobs.iter().filter(|job| !job["log"].is_null() && job["log"] != "none");
    for (expected, found) in logged.filter_map(|job| {
        let found = report["jobs"].as_array().unwrap().iter().find(|found| found["id"] == job["id"])?;
        Some((job, &found["capacity_time"]))
    }) {
        for level in ["held_ns", "retained_ns"] {
            assert_eq!(found[level], expected[level], "{level} of job {}", expected["id"]);
        }
        for (category, amount) in expected["runtime"].as_object().unwrap() {
            assert_eq!(&found["runtime_losses"][category], amount, "{category} of job {}", expected["id"]);
        }
    }
}

#[test]
fn the_seed_decides() {
    let records = |seed: &str| {
        let folder = tempfile::tempdir().unwrap();
        run(&["simulate", "-o", &folder.path().display().to_string(), "--seed", seed]);
        std::fs::read(folder.path().join("sacct.txt")).unwrap()
    };
    assert_eq!(records("3"), records("3"));
    assert_ne!(records("3"), records("4"));
}
