//! Writes small job logs and checks what the built binary makes of them.
#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses its part; a test may panic")]

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::command;

/// The logs' zero.
pub const T0: i64 = 1_767_225_600;

/// A log and what is known beside it. All times in seconds from [`T0`].
pub struct Case {
    pub folder: tempfile::TempDir,
    pub args: Vec<String>,
}

impl Case {
    pub fn new(log: &[Vec<Value>]) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), args: Vec::new() }.log(log)
    }

    pub fn write(&self, name: &str, text: String) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn log(mut self, log: &[Vec<Value>]) -> Self {
        let name = format!("{}.jsonl", self.args.len());
        let path = self.write(&name, log.concat().iter().map(|line| format!("{line}\n")).collect());
        self.args.push(path.display().to_string());
        self
    }

    pub fn arg(mut self, arg: &[&str]) -> Self {
        self.args.extend(arg.iter().map(|&a| a.to_owned()));
        self
    }

    pub fn held(self, from: i64, to: i64) -> Self {
        self.arg(&["--allocation", &format!("{}..{}", T0 + from, T0 + to)])
    }

    pub fn window(self, from: i64, to: i64) -> Self {
        self.arg(&["--from", &(T0 + from).to_string(), "--to", &(T0 + to).to_string()])
    }

    /// Attempts of job 7 as `sacct` gives them: state, start, end, suspended, devices.
    pub fn sacct(self, attempts: &[(&str, i64, i64, &str, u32)]) -> Self {
        let mut text = "JobIDRaw|State|Submit|Eligible|Start|End|Suspended|AllocTRES|NNodes\n".to_owned();
        for (state, start, end, suspended, devices) in attempts {
            let [start, end] = [T0 + start, T0 + end];
            text += &format!("7|{state}|{start}|{start}|{start}|{end}|{suspended}|gres/gpu={devices}|1\n");
        }
        let path = self.write("sacct.txt", text).display().to_string();
        self.arg(&["--job", "7", "--sacct", &path])
    }

    pub fn report(&self) -> Value {
        let mut args = vec!["timeline".to_owned(), "--format".to_owned(), "json".to_owned()];
        args.extend(self.args.iter().cloned());
        command::json(&args)
    }

    /// Asserts held, retained and every loss in device-seconds: what is not named is zero.
    pub fn is(self, held: f64, retained: f64, losses: &[(&str, f64)]) -> Value {
        let report = self.report();
        let capacity = &report["capacity_time"];
        let seconds = |value: &Value| value.as_str().unwrap().parse::<f64>().unwrap() / 1e9;
        let mut found: Vec<(String, f64)> = capacity["runtime_losses"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(key, ns)| (key.trim_end_matches("_ns").to_owned(), seconds(ns)))
            .filter(|(_, amount)| *amount != 0.0)
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let mut expected: Vec<(String, f64)> =
            losses.iter().map(|(key, s)| ((*key).to_owned(), *s)).collect();
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(
            (seconds(&capacity["held_ns"]), seconds(&capacity["retained_ns"]), found),
            (held, retained, expected)
        );
        report
    }
}

pub fn warns(report: &Value, code: &str) -> bool {
    report["warnings"].as_array().unwrap().iter().any(|w| w["code"] == code)
}

pub fn finding(report: &Value, code: &str) -> Option<Value> {
    let files = report["read_report"]["files"].as_array().unwrap();
    files.iter().flat_map(|f| f["findings"].as_array().unwrap()).find(|f| f["code"] == code).cloned()
}

// goodput's own format.

pub fn header(fields: Value) -> Vec<Value> {
    let mut header = json!({"goodput_timeline": 1, "job": "7", "devices": 1});
    header.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    vec![header]
}

pub fn event(name: &str, at: i64, fields: Value) -> Vec<Value> {
    let mut event = json!({"event": name, "at": T0 + at});
    event.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    vec![event]
}

pub fn launch(at: i64) -> Vec<Value> {
    event("launch", at, json!({}))
}

pub fn stop(cause: &str, at: i64) -> Vec<Value> {
    event("stop", at, json!({"cause": cause}))
}

pub fn commit(step: u64, at: i64) -> Vec<Value> {
    event("commit", at, json!({"step": step}))
}

pub fn phase(phase: &str, from: i64, to: i64) -> Vec<Value> {
    vec![json!({"event": "phase", "phase": phase, "start": T0 + from, "end": T0 + to})]
}

/// Steps of `lasts` seconds each, with further fields.
pub fn steps(numbers: std::ops::Range<i64>, from: i64, lasts: i64, fields: Value) -> Vec<Value> {
    let step = |i: i64| {
        let start = T0 + from + lasts * (i - numbers.start);
        let mut step = json!({"step": i, "start": start, "end": start + lasts});
        step.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        step
    };
    numbers.clone().map(step).collect()
}

// ml-goodput-measurement.

pub fn entry(fields: Value) -> Value {
    let mut entry = json!({"job_name": "j"});
    entry.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    entry
}

/// 110 s of initialisation, preparation and first load.
pub fn ml_start(at: i64) -> Vec<Value> {
    let t = T0 + at;
    [
        json!({"job_start_time": t}),
        json!({"tpu_init_start_time": t}),
        json!({"tpu_init_end_time": t + 60}),
        json!({"training_prep_start_time": t + 60}),
        json!({"training_prep_end_time": t + 100}),
        json!({"data_loading_start_time": t + 100}),
        json!({"data_loading_end_time": t + 110}),
    ]
    .map(entry)
    .to_vec()
}

pub fn ml_steps(numbers: std::ops::Range<i64>, from: f64) -> Vec<Value> {
    let start = |i: i64| T0 as f64 + from + 2.0 * (i - numbers.start) as f64;
    numbers.clone().map(|i| entry(json!({"step_count": i, "step_start_time": start(i)}))).collect()
}

pub fn ml_end(at: i64) -> Vec<Value> {
    vec![entry(json!({"job_end_time": T0 + at}))]
}

pub fn ml_custom(name: &str, edge: &str, at: i64) -> Vec<Value> {
    vec![entry(
        json!({"custom_badput_event_type": name, format!("custom_badput_event_{edge}_time"): T0 + at}),
    )]
}
