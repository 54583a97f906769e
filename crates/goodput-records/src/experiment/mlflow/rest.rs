//! What MLflow's REST interface returned, as files: `runs/search`, `runs/get`, `metrics/get-history`.
//!
//! Beside one answer a file may hold several, one after the other or in an array, as `curl` in a loop leaves them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::super::{ExperimentRun, Experiments, Point, RunStatus, Series, Wanted, io, refused};
use crate::{FileReport, ReadError, Treatment};

/// Bytes looked at to tell an export from other JSON.
const HEAD_BYTES: u64 = 4096;
/// Largest export that is read: it is held whole.
const LARGEST: u64 = 1 << 30;

#[derive(Deserialize)]
struct Pair {
    key: String,
    #[serde(default)]
    value: Option<String>,
}

#[derive(Deserialize)]
struct Metric {
    key: String,
    value: Value,
    #[serde(default)]
    timestamp: Value,
    #[serde(default)]
    step: Value,
    #[serde(default)]
    run_id: Option<String>,
}

#[derive(Deserialize)]
struct Run {
    info: Info,
    #[serde(default)]
    data: Data,
}

#[derive(Deserialize)]
struct Info {
    #[serde(alias = "run_uuid")]
    run_id: String,
    #[serde(default)]
    run_name: String,
    #[serde(default)]
    experiment_id: Value,
    #[serde(default)]
    status: String,
    #[serde(default)]
    lifecycle_stage: String,
}

#[derive(Deserialize, Default)]
struct Data {
    #[serde(default)]
    metrics: Vec<Metric>,
    #[serde(default)]
    params: Vec<Pair>,
    #[serde(default)]
    tags: Vec<Pair>,
}

/// Whether a file begins as an answer does.
pub(super) fn is_export(path: &Path) -> bool {
    let mut head = Vec::new();
    if File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head)).is_err() {
        return false;
    }
    let text = String::from_utf8_lossy(&head);
    let text: String = text.chars().filter(|c| !c.is_whitespace()).take(256).collect();
    let text = text.trim_start_matches(['\u{feff}', '[']);
    let answers = ["{\"runs\":[", "{\"run\":{\"info\"", "{\"run\":{\"data\"", "{\"metrics\":["];
    let with_run = text.starts_with("{\"run_id\":") && text.contains("\"metrics\":[");
    with_run || answers.iter().any(|start| text.starts_with(start))
}

/// Reads a file.
pub(super) fn read_file(path: &Path, wanted: Wanted<'_>) -> Result<Experiments, ReadError> {
    let length = path.metadata().map_err(|e| io(path, e))?.len();
    if length > LARGEST {
        return Err(refused(path, "larger than 1 GiB", "export fewer runs a file, or use the store itself"));
    }
    let bytes = fs::read(path).map_err(|e| io(path, e))?;
    read(&path.display().to_string(), &bytes, wanted)
}

/// Reads the answers in a text.
///
/// # Errors
/// [`ReadError::Format`] when it is no JSON, or none of these answers.
pub fn read(label: &str, text: &[u8], wanted: Wanted<'_>) -> Result<Experiments, ReadError> {
    let path = Path::new(label);
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut export = Export {
        label,
        wanted,
        runs: BTreeMap::new(),
        histories: Vec::new(),
        report: FileReport::new(label, "mlflow REST export"),
    };
    for document in serde_json::Deserializer::from_slice(text).into_iter::<Value>() {
        let document = document.map_err(|e| ReadError::Format {
            path: label.to_owned(),
            line: u32::try_from(e.line()).unwrap_or(u32::MAX),
            field: String::new(),
            message: format!("no JSON: {e}"),
            remedy: "export the answer again".to_owned(),
        })?;
        match document {
            Value::Array(documents) => documents.into_iter().for_each(|document| export.answer(document)),
            document => export.answer(document),
        }
    }
    if export.report.rows == 0 {
        return Err(refused(
            path,
            "no answer of MLflow's REST interface",
            "expected `runs` (runs/search), `run` (runs/get) or `metrics` (metrics/get-history)",
        ));
    }
    Ok(export.finish(path))
}

struct Export<'a> {
    label: &'a str,
    wanted: Wanted<'a>,
    runs: BTreeMap<String, ExperimentRun>,
    /// Histories with the run that they name, if any.
    histories: Vec<(Option<String>, Vec<Metric>)>,
    report: FileReport,
}

impl Export<'_> {
    fn answer(&mut self, mut document: Value) {
        self.report.rows += 1;
        let run_id = document.get("run_id").and_then(Value::as_str).map(str::to_owned);
        if let Some(runs) = document.get_mut("runs").map(Value::take) {
            if document.get("next_page_token").and_then(Value::as_str).is_some_and(|token| !token.is_empty())
            {
                self.report.find(Treatment::Noted, "more_pages", 0, "next_page_token", || {
                    format!(
                        "{}: there are more runs than this answer holds: export the next page too",
                        self.label
                    )
                });
            }
            match runs {
                Value::Array(runs) => runs.into_iter().for_each(|run| self.run(run)),
                _ => self.refuse("runs", "expected an array"),
            }
        } else if let Some(run) = document.get_mut("run").map(Value::take) {
            self.run(run);
        } else if let Some(metrics) = document.get_mut("metrics").map(Value::take) {
            match serde_json::from_value::<Vec<Metric>>(metrics) {
                Ok(metrics) => {
                    self.report.used += 1;
                    self.histories.push((run_id, metrics));
                }
                Err(error) => self.refuse("metrics", &error.to_string()),
            }
        } else {
            self.refuse("", "neither `runs`, `run` nor `metrics`");
        }
    }

    fn refuse(&mut self, field: &'static str, why: &str) {
        let label = self.label;
        self.report.find(Treatment::Refused, "bad_answer", 0, field, || format!("{label}: {why}"));
    }

    fn run(&mut self, run: Value) {
        let run: Run = match serde_json::from_value(run) {
            Ok(run) => run,
            Err(error) => return self.refuse("run", &error.to_string()),
        };
        if run.info.lifecycle_stage == "deleted" {
            *self.report.skipped.entry("deleted run").or_default() += 1;
            return;
        }
        self.report.used += 1;
        let pairs =
            |pairs: Vec<Pair>| pairs.into_iter().map(|p| (p.key, p.value.unwrap_or_default())).collect();
        let mut found = ExperimentRun {
            id: run.info.run_id,
            name: run.info.run_name,
            experiment: text_of(&run.info.experiment_id),
            status: RunStatus::of(&run.info.status),
            params: pairs(run.data.params),
            tags: pairs(run.data.tags),
            place: self.label.into(),
            ..ExperimentRun::default()
        };
        for metric in run.data.metrics {
            let Some((name, point)) = self.metric(metric) else { continue };
            if (self.wanted)(&name) {
                let series = Series { points: vec![point], is_latest_only: true };
                found.metrics.insert(name, series);
            } else {
                found.other_metrics.push(name);
            }
        }
        self.runs.insert(found.id.clone(), found);
    }

    fn metric(&mut self, metric: Metric) -> Option<(String, Point)> {
        let whole = |value: &Value| value.as_i64().or_else(|| value.as_str()?.parse().ok());
        let value = match &metric.value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let Some(value) = value else {
            let (label, found) = (self.label, metric.value.to_string());
            self.report.find(Treatment::Refused, "bad_metric", 0, "value", || {
                format!("{label}: metric {}: {found} is no number", metric.key)
            });
            return None;
        };
        let point = Point {
            value,
            step: whole(&metric.step).unwrap_or(0),
            at_ms: whole(&metric.timestamp).unwrap_or(0),
        };
        Some((metric.key, point))
    }

    fn finish(mut self, path: &Path) -> Experiments {
        for (run_id, metrics) in std::mem::take(&mut self.histories) {
            // A history names its run only if the exporter wrote it, or the file is named after it.
            let named = run_id.or_else(|| metrics.iter().find_map(|metric| metric.run_id.clone()));
            let by_file = || {
                let name = path.file_name()?.to_string_lossy().into_owned();
                self.runs.keys().find(|id| name.contains(id.as_str())).cloned()
            };
            let only = || (self.runs.len() == 1).then(|| self.runs.keys().next().cloned()).flatten();
            let Some(id) = named.filter(|id| self.runs.contains_key(id)).or_else(by_file).or_else(only)
            else {
                self.refuse(
                    "run_id",
                    "a history of metrics does not say whose it is: put runs/get of its run into the same file, or write \
                     {\"run_id\": …, \"metrics\": […]}",
                );
                continue;
            };
            let mut histories: BTreeMap<String, Series> = BTreeMap::new();
            for metric in metrics {
                let Some((name, point)) = self.metric(metric) else { continue };
                if (self.wanted)(&name) {
                    histories.entry(name).or_default().points.push(point);
                }
            }
            let Some(run) = self.runs.get_mut(&id) else { continue };
            for (name, mut history) in histories {
                let known = run.metrics.entry(name).or_default();
                if !known.is_latest_only {
                    // The next page of the same history.
                    history.points.splice(0..0, known.points.drain(..));
                }
                history.sort();
                *known = history;
            }
        }
        Experiments { runs: self.runs.into_values().collect(), report: self.report }
    }
}

fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned)
}
