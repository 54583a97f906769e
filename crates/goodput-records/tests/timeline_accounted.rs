//! Logs read here and accounted by the core give the right answers of `../shared`.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};

use goodput_core::records::{FileId, Timeline};
use goodput_core::runtime::{Allocation, HeldInterval, RuntimeAccount, RuntimeOptions, account};
use goodput_core::{Boundary, Interval, Pattern, Timestamp, Window};
use goodput_records::timeline::{TimelineOptions, TimelineWriter, read_timeline};
use jiff::tz::TimeZone;
use serde_json::Value;

fn shared(path: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/timelines").join(path);
    if !path.exists() {
        println!("skipped: ../shared is not there");
        return None;
    }
    Some(path)
}

fn read(bytes: &[u8]) -> Timeline {
    let options = TimelineOptions { time_zone: Some(TimeZone::UTC), ..TimelineOptions::default() };
    read_timeline("log", FileId(0), bytes, &options).unwrap().remove(0).0
}

fn stamp(seconds: &Value) -> Timestamp {
    Timestamp::from_nanos((seconds.as_f64().unwrap() * 1e9).round() as i64)
}

fn account_case(timeline: &Timeline, case: &Value) -> RuntimeAccount {
    let interval = |pair: &Value| Interval::new(stamp(&pair[0]), stamp(&pair[1]));
    let held = case["allocations"].as_array().unwrap().iter().map(|pair| HeldInterval {
        interval: interval(pair),
        devices: 1,
        ended_by: None,
        suspended_ns: 0,
        source: Default::default(),
    });
    let window = interval(&case["window"]);
    let window = Some(Window::new(window.start, window.end).unwrap());
    let options = RuntimeOptions { window, ..RuntimeOptions::default() };
    account(timeline, &Allocation::Recorded(held.collect()), &options).unwrap()
}

fn lost_s(job: &RuntimeAccount, pattern: Pattern) -> f64 {
    job.losses.iter().filter(|loss| loss.pattern == pattern).map(|loss| loss.amount.device_seconds()).sum()
}

fn check(name: &str, job: &RuntimeAccount, right: &Value) {
    for (key, right) in right.as_object().unwrap() {
        let got = match key.as_str() {
            "note" => continue,
            "held_s" => job.held.device_seconds(),
            "retained_s" | "productive_s" => job.retained.device_seconds(),
            "queue_s" => job.queue_wait_ns as f64 / 1e9,
            "window_s" => job.window.duration_ns() as f64 / 1e9,
            key => {
                let key = key.strip_suffix("_s").unwrap();
                lost_s(job, Pattern::at(Boundary::Runtime).find(|pattern| pattern.key() == key).unwrap())
            }
        };
        assert!((got - right.as_f64().unwrap()).abs() < 1e-3, "{name}: {key} is {got}, right is {right}");
    }
}

/// The cases from their own logs, and once more through our own format.
#[test]
fn the_cases_give_the_right_answers() {
    let Some(cases) = shared("cases") else { return };
    let answers: Value = serde_json::from_slice(&std::fs::read(cases.join("answers.json")).unwrap()).unwrap();
    for (name, case) in answers.as_object().unwrap() {
        let timeline = read(&std::fs::read(cases.join(name).with_extension("jsonl")).unwrap());
        check(name, &account_case(&timeline, case), &case["right"]);
        let mut writer = TimelineWriter::new(Vec::new());
        writer.timeline(&timeline).unwrap();
        check(name, &account_case(&read(&writer.into_inner()), case), &case["right"]);
    }
}

/// The real Megatron-LM log: 133 s from the first line to the last are 124.19 s of steps and 8.74 s of
/// evaluation and one save, each exact to the stamps' second.
#[test]
fn the_real_megatron_log_is_accounted_whole() {
    let Some(path) = shared("megatron/megatron_core_r0.11_gpt2_1gpu.log") else { return };
    let timeline = read(&std::fs::read(path).unwrap());
    let window = Window::new(timeline.steps[0].end.unwrap(), timeline.steps[14].end.unwrap()).unwrap();
    let options = RuntimeOptions { window: Some(window), ..RuntimeOptions::default() };
    let job = account(&timeline, &Allocation::FromLog { devices: Some(1) }, &options).unwrap();
    let losses: f64 = job.losses.iter().map(|loss| loss.amount.device_seconds()).sum();
    assert!((job.retained.device_seconds() + losses - job.held.device_seconds()).abs() < 1e-9);
    assert!((lost_s(&job, Pattern::Evaluation) - 5.327_25).abs() < 1e-6, "{:?}", job.losses);
    assert!((lost_s(&job, Pattern::CheckpointPause) - 3.413_14).abs() < 1e-6, "{:?}", job.losses);
    assert!(lost_s(&job, Pattern::RuntimeUnsettled) < 1.0, "{:?}", job.losses);
}
