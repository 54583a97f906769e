//! `goodput account`, as a person runs it.

mod command;

use command::{json, run};
use serde_json::Value;

const RECORDS: [&str; 6] = [
    "--sacct",
    "slurm-22.05.8/sacct-delim.txt",
    "--events",
    "slurm-22.05.8/event-all.txt",
    "--nodes",
    "slurm-22.05.8/scontrol-node.txt",
];

fn account(extra: &[&str]) -> Vec<String> {
    ["account"].iter().chain(&RECORDS).chain(extra).map(|&s| s.to_owned()).collect()
}

#[test]
fn the_terminal_report() {
    let output = run(&account(&["--time-zone", "UTC", "--price", "2"]));
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr);
    insta::assert_snapshot!(output.stdout);
}

#[test]
fn the_ledger_balances_in_integers() {
    let report = json(&account(&["--time-zone", "UTC", "--format", "json"]));
    assert_eq!(report["schema"], "goodput.account/1");
    let level = |name: &str| integer(&report["capacity_time"][name]);
    let losses = |boundary: &str| sum(&report["capacity_time"][format!("{boundary}_losses")]);
    assert_eq!(level("offered_ns") - level("held_ns"), losses("scheduling"));
    assert_eq!(level("held_ns") - level("retained_ns"), losses("runtime"));
    assert_eq!(level("retained_ns") - level("ideal_ns"), losses("program"));
    // 14,111 GPU-seconds held; 264 GPU-seconds of events are not offered.
    assert_eq!(level("held_ns"), 14_111_000_000_000);
    assert_eq!(level("offered_ns"), (39_936 - 264) * 1_000_000_000);
}

#[test]
fn stamps_without_a_zone_are_refused_with_what_to_do() {
    let output = run(&account(&[]));
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.contains("--time-zone"), "{}", output.stderr);
}

#[test]
fn a_missing_record_is_named() {
    let output = run(&["account", "--sacct", "slurm-22.05.8/sacct-delim.txt", "--time-zone", "UTC"]);
    if output.status.code() == Some(2) {
        assert!(output.stderr.contains("--events") || output.stderr.contains("--nodes"), "{}", output.stderr);
    } else {
        // Capacity may be inferred from node lists, and then the report must say so.
        assert!(output.stdout.contains("infer"), "{}", output.stdout);
    }
    let nothing = run(&["account"]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(nothing.stderr.contains("--sacct"), "{}", nothing.stderr);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let output = run(&["account", "--sacct", "no-such-file.txt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.contains("no-such-file.txt"), "{}", output.stderr);
}

#[test]
fn strict_answers_with_one_when_a_warning_questions_a_figure() {
    // The dump holds a resize whose rows overlap: repaired by the accounting, and said.
    let output = run(&account(&["--time-zone", "UTC", "--strict"]));
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
}

#[test]
fn a_timeline_settles_the_runtime_factor_of_its_job() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("job.jsonl");
    // Job 1 holds 32 devices from 17:25:24 to 17:25:59; its log knows 30 steps of one second from 17:25:27.
    let start = 1_795_973_127;
    let mut text = "{\"goodput_timeline\":1,\"job\":\"1\",\"devices\":32}\n".to_owned();
    for step in 0..30 {
        text += &format!("{{\"step\":{step},\"start\":{},\"end\":{}}}\n", start + step, start + step + 1);
    }
    text += &format!("{{\"event\":\"stop\",\"at\":{},\"cause\":\"finished\"}}\n", start + 30);
    std::fs::write(&log, text).unwrap();
    let report =
        json(&account(&["--time-zone", "UTC", "--format", "json", "--timeline", &log.display().to_string()]));
    let job = report["jobs"].as_array().unwrap().iter().find(|job| job["id"] == "1").unwrap();
    assert_eq!(integer(&job["capacity_time"]["held_ns"]), 32 * 35_000_000_000);
    assert_eq!(integer(&job["capacity_time"]["retained_ns"]), 32 * 30_000_000_000);
    assert_eq!(integer(&job["capacity_time"]["runtime_losses"]["startup_ns"]), 32 * 3_000_000_000);
    assert_eq!(integer(&job["capacity_time"]["runtime_losses"]["teardown_ns"]), 32 * 2_000_000_000);
    let runtime = report["factors"]["runtime"].as_f64().unwrap();
    assert!((runtime - 30.0 / 35.0).abs() < 1e-12, "the factor of the settled share, {runtime}");
}

#[test]
fn a_fleet_file_says_the_same_as_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["sacct-delim.txt", "event-all.txt", "scontrol-node.txt"] {
        let from = command::data().join("slurm-22.05.8").join(name);
        std::fs::copy(from, folder.path().join(name)).unwrap();
    }
    let fleet = folder.path().join("fleet.yaml");
    let text = "time_zone: UTC\nrecords:\n  sacct: [sacct-delim.txt]\n  events: [event-all.txt]\n  nodes: [scontrol-node.txt]\n";
    std::fs::write(&fleet, text).unwrap();
    let by_file = json(&["account", &fleet.display().to_string(), "--format", "json"]);
    let by_line = json(&account(&["--time-zone", "UTC", "--format", "json"]));
    assert_eq!(by_file["capacity_time"], by_line["capacity_time"]);

    std::fs::write(&fleet, "records:\n  sacct: [../elsewhere.txt]\n").unwrap();
    let escapes = run(&["account", &fleet.display().to_string()]);
    assert_eq!(escapes.status.code(), Some(2));
    assert!(escapes.stderr.contains("below"), "{}", escapes.stderr);

    std::fs::write(&fleet, "time_zone: UTC\nrecord: {}\n").unwrap();
    let unknown = run(&["account", &fleet.display().to_string()]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(unknown.stderr.contains("record"), "{}", unknown.stderr);
}

#[test]
fn a_pipe_that_closes_is_no_error() {
    let output = std::process::Command::new("sh")
        .current_dir(command::data())
        .arg("-c")
        .arg(format!("{} {} | head -1", command::binary(), account(&["--time-zone", "UTC"]).join(" ")))
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).is_empty());
}

fn integer(value: &Value) -> i128 {
    let digits = value.as_str().unwrap_or_default();
    assert!(digits.parse::<i128>().is_ok(), "no exact integer: {value}");
    digits.parse().unwrap_or_default()
}

fn sum(losses: &Value) -> i128 {
    losses.as_object().map_or(0, |losses| losses.values().map(integer).sum())
}
