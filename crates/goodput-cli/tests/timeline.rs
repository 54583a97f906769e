//! `goodput timeline`, as a person runs it.

mod command;

use command::{json, run, shared};
use serde_json::Value;

#[test]
fn the_terminal_report() {
    let output = run(&["timeline", "timelines/fault-mid-step.jsonl", "--devices", "8"]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr);
    insta::assert_snapshot!(output.stdout);
}

#[test]
fn only_an_allocation_takes_the_queue_out_of_held_time() {
    let alone = json(&["timeline", "timelines/graceful-eviction-queue.jsonl", "--format", "json"]);
    assert_eq!(alone["capacity_time"]["held_ns"], "4280000000000");
    let warnings = alone["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|w| w["code"] == "no_allocation_record"), "{warnings:?}");

    let allocated = json(&[
        "timeline",
        "timelines/graceful-eviction-queue.jsonl",
        "--format",
        "json",
        "--allocation",
        "1767225600..1767225940",
        "--allocation",
        "1767229540..1767229880",
    ]);
    assert_eq!(allocated["capacity_time"]["held_ns"], "680000000000");
    assert_eq!(allocated["queue_wait_ns"], "3600000000000");
}

#[test]
fn held_intervals_come_from_job_records_too() {
    let folder = tempfile::tempdir().unwrap();
    let sacct = folder.path().join("sacct.txt");
    std::fs::write(
        &sacct,
        "JobIDRaw|State|Submit|Eligible|Start|End|AllocTRES|NNodes\n\
         7|REQUEUED|1767225500|1767225500|1767225600|1767225940|gres/gpu=8|1\n\
         7|COMPLETED|1767225940|1767225940|1767229540|1767229880|gres/gpu=8|1\n",
    )
    .unwrap();
    let sacct = sacct.display().to_string();
    let log = "timelines/graceful-eviction-queue.jsonl";
    let report = json(&["timeline", log, "--job", "7", "--format", "json", "--sacct", &sacct]);
    assert_eq!(report["capacity_time"]["held_ns"], (8_u64 * 680_000_000_000).to_string());
    let wrong_job = run(&["timeline", "timelines/final-eval.jsonl", "--job", "8", "--sacct", &sacct]);
    assert_eq!(wrong_job.status.code(), Some(2), "{}", wrong_job.stdout);
}

#[test]
fn a_truncated_log_is_located_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("torn.jsonl");
    let whole = std::fs::read_to_string(command::data().join("timelines/final-eval.jsonl")).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2 + 7]).unwrap();
    let report = json(&["timeline", &path.display().to_string(), "--format", "json"]);
    let findings = report["read_report"]["files"][0]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0]["line"].as_u64().unwrap() > 100);
    let strict = run(&["timeline", &path.display().to_string(), "--strict"]);
    assert_eq!(strict.status.code(), Some(1));
}

#[test]
fn what_is_no_log_is_refused() {
    let output = run(&["timeline", "slurm-22.05.8/event-all.txt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.contains("event-all.txt"), "{}", output.stderr);
}

/// Every case of the project's own logs with known answers, through the built binary.
#[test]
fn the_cases_have_their_right_answers() {
    let Some(shared) = shared() else { return };
    let cases = shared.join("timelines/cases");
    let answers: Value =
        serde_json::from_str(&std::fs::read_to_string(cases.join("answers.json")).unwrap()).unwrap();
    for (name, case) in answers.as_object().unwrap() {
        let mut args = vec!["timeline".to_owned(), cases.join(format!("{name}.jsonl")).display().to_string()];
        args.extend(["--format".to_owned(), "json".to_owned()]);
        args.extend([
            "--from".to_owned(),
            seconds(&case["window"][0]),
            "--to".to_owned(),
            seconds(&case["window"][1]),
        ]);
        for held in case["allocations"].as_array().unwrap() {
            args.extend(["--allocation".to_owned(), format!("{}..{}", seconds(&held[0]), seconds(&held[1]))]);
        }
        let report = json(&args);
        let capacity = &report["capacity_time"];
        for (figure, expected) in case["right"].as_object().unwrap() {
            let got = match figure.as_str() {
                "note" | "window_s" => continue,
                "held_s" => &capacity["held_ns"],
                "retained_s" | "productive_s" => &capacity["retained_ns"],
                "queue_s" => &report["queue_wait_ns"],
                other => &capacity["runtime_losses"][other.replace("_s", "_ns")],
            };
            let got: f64 = got.as_str().unwrap_or_else(|| panic!("{name}: no {figure}")).parse().unwrap();
            let expected = expected.as_f64().unwrap();
            assert!(
                (got / 1e9 - expected).abs() <= 1e-3,
                "{name}: {figure} is {}, not {expected}",
                got / 1e9
            );
        }
    }
}

/// Seconds since the epoch as the command line takes them, to the microsecond of the cases' own stamps.
fn seconds(value: &Value) -> String {
    format!("{:.6}", value.as_f64().unwrap_or_default())
}
