//! The timeline cases with right answers: the figures of `answers.json`, exact to 1e-3 s.
//!
//! The logs are read here by a few lines of their own, so that the accounting is tested apart from the
//! readers.

#![allow(clippy::unwrap_used, clippy::cast_possible_wrap, missing_docs)]

use std::path::{Path, PathBuf};

use goodput_core::records::{Event, EventKind, Phase, Step, StopCause, Symbol, Timeline};
use goodput_core::runtime::{Allocation, HeldInterval, RuntimeAccount, RuntimeOptions, account};
use goodput_core::{Interval, Loss, Pattern, Timestamp, Window};
use serde_json::Value;

fn cases() -> Option<PathBuf> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/timelines/cases");
    if !cases.is_dir() {
        println!("skipped: ../shared is not there");
        return None;
    }
    Some(cases)
}

fn stamp(seconds: f64) -> Timestamp {
    Timestamp::from_nanos((seconds * 1e9).round() as i64)
}

/// Entries of ml-goodput-measurement's log.
fn read(path: &Path) -> Timeline {
    let mut timeline = Timeline::default();
    let mut open: Option<(Timestamp, u32)> = None;
    for (i, line) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
        let line_number = i as u32 + 1;
        let entry: Value = serde_json::from_str(line).unwrap();
        let at = |key: &str| entry.get(key).and_then(Value::as_f64).map(stamp);
        let mut event = |start, end, kind| {
            timeline.events.push(Event {
                interval: Interval::new(start, end),
                open: false,
                kind,
                line: line_number,
            });
        };
        let phase = |phase| EventKind::Phase { phase, name: Symbol::EMPTY };
        if let (Some(start), Some(index)) = (at("step_start_time"), entry["step_count"].as_u64()) {
            timeline.steps.push(Step {
                index,
                count: 1,
                line: line_number,
                start,
                end: None,
                input_wait_ns: 0,
            });
        } else if let Some(start) = at("job_start_time") {
            event(start, start, EventKind::Launch);
        } else if let Some(end) = at("job_end_time") {
            event(end, end, EventKind::Stopped { cause: StopCause::Ended });
        } else if let Some(start) = at("checkpointer_blocking_start_time") {
            let ns = (entry["checkpointer_blocking_duration_secs"].as_f64().unwrap() * 1e9) as i64;
            event(start, start + ns, phase(Phase::CheckpointPause));
        } else {
            for (prefix, kind) in [
                ("tpu_init", Phase::Launch),
                ("training_prep", Phase::Launch),
                ("data_loading", Phase::InputWait),
                ("custom_badput_event", Phase::Evaluation),
            ] {
                if let Some(start) = at(&format!("{prefix}_start_time")) {
                    open = Some((start, line_number));
                } else if let Some(end) = at(&format!("{prefix}_end_time")) {
                    event(open.take().unwrap().0, end, phase(kind));
                }
            }
        }
    }
    timeline
}

fn right_answers(cases: &Path) -> serde_json::Map<String, Value> {
    let text = std::fs::read_to_string(cases.join("answers.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap().as_object().unwrap().clone()
}

fn account_case(cases: &Path, name: &str, case: &Value) -> RuntimeAccount {
    let timeline = read(&cases.join(name).with_extension("jsonl"));
    let pair = |v: &Value| (stamp(v[0].as_f64().unwrap()), stamp(v[1].as_f64().unwrap()));
    let held = case["allocations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| HeldInterval {
            interval: Interval::new(pair(v).0, pair(v).1),
            devices: 4,
            ended_by: None,
            suspended_ns: 0,
            source: Default::default(),
        })
        .collect();
    let (from, to) = pair(&case["window"]);
    let options = RuntimeOptions { window: Some(Window::new(from, to).unwrap()), ..Default::default() };
    account(&timeline, &Allocation::Recorded(held), &options).unwrap()
}

fn loss(account: &RuntimeAccount, pattern: Pattern) -> f64 {
    let amount =
        account.losses.iter().find(|l| l.pattern == pattern).map_or(0.0, |l| l.amount.device_seconds());
    amount / account.devices as f64
}

#[test]
fn every_case_gives_the_right_answers() {
    let Some(cases) = cases() else { return };
    for (name, case) in right_answers(&cases) {
        let job = account_case(&cases, &name, &case);
        let seconds = |c: goodput_core::CapacityTime| c.device_seconds() / 4.0;
        let lost: goodput_core::CapacityTime = job.losses.iter().map(|l: &Loss| l.amount).sum();
        assert_eq!(job.held - job.retained, lost, "{name}");
        for (key, right) in case["right"].as_object().unwrap() {
            let got = match key.as_str() {
                "note" => continue,
                "held_s" => seconds(job.held),
                "retained_s" | "productive_s" => seconds(job.retained),
                "queue_s" => job.queue_wait_ns as f64 / 1e9,
                "window_s" => job.window.duration_ns() as f64 / 1e9,
                key => {
                    let key = key.strip_suffix("_s").unwrap();
                    loss(&job, Pattern::at(goodput_core::Boundary::Runtime).find(|p| p.key() == key).unwrap())
                }
            };
            let right = right.as_f64().unwrap();
            assert!(
                (got - right).abs() < 1e-3,
                "{name}: {key} is {got}, right is {right}: {:#?}",
                job.losses
            );
        }
        assert!(job.warnings.iter().any(|w| w.code == "commits_unknown"), "{name}");
    }
}
