//! PLAN.yaml: inputs that are stated once, and questions that may restate them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::error::{PlanError, unknown};
use super::quantity::Quantity;
use crate::report::Report;

/// Sections that all questions share, with the keys of each. A section without keys is one value.
pub(super) const SHARED: [(&str, &[&str]); 9] = [
    ("job", &["devices", "held", "launches", "ideal", "tokens", "flops_per_token", "peak_tflops", "step"]),
    ("reliability", &["mtbf", "at_devices", "failures_per_node_day", "nodes", "recovery", "failures_at"]),
    ("checkpoint", &["write", "mode", "every", "contention", "durable_after"]),
    ("preemption", &["per_day", "cost", "lost_work", "restart", "notice", "requeue"]),
    ("startup", &[]),
    ("input_wait", &[]),
    ("factors", &["scheduling", "runtime", "program"]),
    ("price", &["per_device_hour", "currency"]),
    ("queue_wait", &[]),
];

/// What the shared fields hold that are one quantity wherever they are read.
pub(super) const QUANTITIES: [(&str, Quantity); 28] = [
    ("job.devices", Quantity::Count),
    ("job.held", Quantity::Span),
    ("job.launches", Quantity::Count),
    ("job.ideal", Quantity::DeviceTime),
    ("job.tokens", Quantity::Positive),
    ("job.flops_per_token", Quantity::Positive),
    ("job.peak_tflops", Quantity::Positive),
    ("job.step", Quantity::Span),
    ("reliability.mtbf", Quantity::Span),
    ("reliability.at_devices", Quantity::Count),
    ("reliability.failures_per_node_day", Quantity::Number),
    ("reliability.nodes", Quantity::Count),
    ("reliability.recovery", Quantity::Duration),
    ("checkpoint.write", Quantity::Duration),
    ("checkpoint.contention", Quantity::Share),
    ("checkpoint.durable_after", Quantity::Duration),
    ("preemption.per_day", Quantity::Number),
    ("preemption.cost", Quantity::Duration),
    ("preemption.lost_work", Quantity::Duration),
    ("preemption.restart", Quantity::Duration),
    ("preemption.notice", Quantity::Duration),
    ("preemption.requeue", Quantity::Duration),
    ("startup", Quantity::Duration),
    ("input_wait", Quantity::Share),
    ("factors.scheduling", Quantity::Factor),
    ("factors.runtime", Quantity::Factor),
    ("factors.program", Quantity::Factor),
    ("price.per_device_hour", Quantity::Positive),
];

/// The file as read: nothing in it is answered yet, but every key is known.
#[derive(Debug, Clone)]
pub struct Sheet {
    /// Heading of the answers.
    pub title: Option<String>,
    /// Of the draws.
    pub seed: u64,
    pub(super) shared: Map<String, Value>,
    pub(super) questions: Vec<Map<String, Value>>,
    pub(super) reports: BTreeMap<String, Report>,
    /// Reports of `goodput trace` that questions name under `trace`.
    pub(super) traces: BTreeMap<String, Value>,
}

impl Sheet {
    /// Reads a plan; `load` returns the bytes of a report that it names.
    ///
    /// # Errors
    /// [`PlanError`] for what is no YAML, a key that is not known, no question, or a report that cannot be read.
    pub fn read(
        yaml: &str,
        load: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
    ) -> Result<Self, PlanError> {
        let file = crate::yaml::read(yaml).map_err(|why| PlanError::new("the file", why))?;
        let Value::Object(mut file) = file else {
            return Err(PlanError::new("the file", "expected a mapping with `questions`"));
        };
        let title = match file.remove("title") {
            None => None,
            Some(Value::String(title)) => Some(title),
            Some(other) => return Err(PlanError::new("title", format!("found {other}, expected text"))),
        };
        let seed = match file.remove("seed") {
            None => 0,
            Some(seed) => seed.as_u64().ok_or_else(|| {
                PlanError::new("seed", format!("found {seed}, expected a whole number of zero or more"))
            })?,
        };
        let questions = match file.remove("questions") {
            Some(Value::Array(questions)) if !questions.is_empty() => questions,
            _ => {
                return Err(PlanError::new(
                    "questions",
                    "there is none: list at least one, such as `- ask: cadence` (docs/plan.md names them all)",
                ));
            }
        };
        known_sections("", &file, &["title", "seed", "questions"])?;
        let questions = questions
            .into_iter()
            .enumerate()
            .map(|(i, question)| match question {
                Value::Object(question) => Ok(question),
                Value::String(ask) => Ok([("ask".to_owned(), Value::String(ask))].into_iter().collect()),
                other => Err(PlanError::new(
                    format!("questions[{i}]"),
                    format!("found {other}, expected a mapping with `ask`"),
                )),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut sheet =
            Self { title, seed, shared: file, questions, reports: BTreeMap::new(), traces: BTreeMap::new() };
        sheet.load_reports(load)?;
        Ok(sheet)
    }

    fn load_reports(
        &mut self,
        load: &mut dyn FnMut(&str) -> Result<Vec<u8>, String>,
    ) -> Result<(), PlanError> {
        let mut named = Vec::new();
        for (key, value) in &self.shared {
            reports_of(key, value, &mut named);
        }
        for (i, question) in self.questions.iter().enumerate() {
            for (key, value) in question {
                reports_of(&format!("questions[{i}].{key}"), value, &mut named);
            }
        }
        for (field, file) in named {
            if self.reports.contains_key(&file) {
                continue;
            }
            let field = format!("{field}.from");
            let bytes = load(&file).map_err(|why| PlanError::new(&field, why))?;
            let report =
                Report::read(&file, &bytes).map_err(|error| PlanError::new(&field, error.to_string()))?;
            self.reports.insert(file, report);
        }
        for (i, question) in self.questions.iter().enumerate() {
            let Some(Value::String(file)) = question.get("trace") else { continue };
            let refused = |why: String| PlanError::new(format!("questions[{i}].trace"), why);
            let bytes = load(file).map_err(refused)?;
            let report = serde_json::from_slice(&bytes).map_err(|e| refused(format!("{file}: {e}")))?;
            self.traces.insert(file.clone(), report);
        }
        Ok(())
    }
}

fn reports_of(field: &str, value: &Value, named: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(file)) = map.get("from") {
                named.push((field.to_owned(), file.clone()));
            }
            for (key, value) in map {
                reports_of(&format!("{field}.{key}"), value, named);
            }
        }
        Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                reports_of(&format!("{field}[{i}]"), value, named);
            }
        }
        _ => {}
    }
}

/// Refuses a key that is neither one of `own` nor a shared section, or a key that its section does not have.
pub(super) fn known_sections(path: &str, map: &Map<String, Value>, own: &[&str]) -> Result<(), PlanError> {
    let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    for (key, value) in map {
        if own.contains(&key.as_str()) {
            continue;
        }
        let Some((_, keys)) = SHARED.iter().find(|(name, _)| name == key) else {
            let known: Vec<_> = own.iter().copied().chain(SHARED.iter().map(|(name, _)| *name)).collect();
            return Err(PlanError::new(at(key), unknown(key, &known)));
        };
        if keys.is_empty() {
            continue;
        }
        let Value::Object(section) = value else {
            let message = format!("found {value}, expected a mapping of {}", keys.join(", "));
            return Err(PlanError::new(at(key), message));
        };
        if let Some(wrong) = section.keys().find(|name| !keys.contains(&name.as_str())) {
            return Err(PlanError::new(format!("{}.{wrong}", at(key)), unknown(wrong, keys)));
        }
    }
    Ok(())
}
