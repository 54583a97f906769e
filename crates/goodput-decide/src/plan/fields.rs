//! Fields of one question: its own first, then what the plan states once for all. Each that is read is kept as an input
//! of the answer.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::answer::{Input, Source};
use super::error::{PlanError, unknown};
use super::measured;
use super::quantity::Quantity;
use super::sheet::{QUANTITIES, SHARED, Sheet, known_sections};

/// Inputs in the order in which they were first read.
#[derive(Debug, Default)]
pub(super) struct Used {
    order: Vec<Input>,
    by_field: BTreeMap<String, usize>,
}

impl Used {
    fn keep(&mut self, input: Input) {
        if !self.by_field.contains_key(&input.field) {
            self.by_field.insert(input.field.clone(), self.order.len());
            self.order.push(input);
        }
    }

    pub fn into_inputs(self) -> Vec<Input> {
        self.order
    }
}

/// Layers of mappings, the nearest first, over the plan's shared sections.
#[derive(Clone)]
pub(super) struct Fields<'a> {
    sheet: &'a Sheet,
    layers: Vec<(String, &'a Map<String, Value>)>,
    used: &'a RefCell<Used>,
}

impl<'a> Fields<'a> {
    pub fn new(sheet: &'a Sheet, path: String, own: &'a Map<String, Value>, used: &'a RefCell<Used>) -> Self {
        Self { sheet, layers: vec![(path, own)], used }
    }

    /// Refuses keys that this question does not have, and shared values that cannot be, whether it reads them or not.
    pub fn keys(&self, own: &[&str]) -> Result<(), PlanError> {
        let (path, map) = &self.layers[0];
        known_sections(path, map, own)?;
        for (prefix, map) in [(format!("{path}."), *map), (String::new(), &self.sheet.shared)] {
            for (key, quantity) in QUANTITIES {
                if let Some(value) = walk(map, key).filter(|value| !value.is_null()) {
                    self.stated(&format!("{prefix}{key}"), value, quantity)?;
                }
            }
        }
        Ok(())
    }

    /// Refuses a value that is written here and cannot be; what a report gives is judged where it is read.
    fn stated(&self, field: &str, value: &Value, quantity: Quantity) -> Result<(), PlanError> {
        match value {
            Value::Object(map) if map.contains_key("from") => Ok(()),
            _ => self.resolve(field, field, value, quantity).map(drop),
        }
    }

    /// Refuses keys other than these: for mappings that restate no shared section.
    pub fn only(&self, own: &[&str]) -> Result<(), PlanError> {
        let (path, map) = &self.layers[0];
        match map.keys().find(|key| !own.contains(&key.as_str())) {
            Some(key) => Err(PlanError::new(format!("{path}.{key}"), unknown(key, own))),
            None => Ok(()),
        }
    }

    pub fn seed(&self) -> u64 {
        self.sheet.seed
    }

    /// Where a field of this question would stand.
    pub fn at(&self, key: &str) -> String {
        format!("{}.{key}", self.layers[0].0)
    }

    /// Where a field is written, or would stand in this question.
    pub fn place(&self, key: &str) -> String {
        self.find(key).map_or_else(|| self.at(key), |(field, _)| field)
    }

    /// A field that cannot stand beside another, with what is needed.
    pub fn refuse(&self, key: &str, message: impl Into<String>) -> PlanError {
        PlanError::new(self.place(key), message)
    }

    /// The path of the question itself.
    pub fn path(&self) -> &str {
        &self.layers[0].0
    }

    /// The same question with `map` before everything else.
    pub fn over(&self, path: String, map: &'a Map<String, Value>) -> Self {
        let mut layers = Vec::with_capacity(self.layers.len() + 1);
        layers.push((path, map));
        layers.extend(self.layers.iter().cloned());
        Self { layers, ..self.clone() }
    }

    /// The same question with the nearest mapping of `value` before everything else.
    pub fn with(&self, value: &Self) -> Self {
        let (path, map) = &value.layers[0];
        self.over(path.clone(), map)
    }

    /// Whether the nearest mapping itself has the field.
    pub fn has_own(&self, key: &str) -> bool {
        Self { layers: vec![self.layers[0].clone()], ..self.clone() }.find_in_layers(key).is_some()
    }

    fn find_in_layers(&self, key: &str) -> Option<(String, &'a Value)> {
        self.layers
            .iter()
            .find_map(|(path, map)| walk(map, key).map(|value| (format!("{path}.{key}"), value)))
    }

    /// The field in the nearest place that has it; `null` there takes back what is stated further out.
    fn find(&self, key: &str) -> Option<(String, &'a Value)> {
        self.written(key).filter(|(_, value)| !value.is_null())
    }

    fn written(&self, key: &str) -> Option<(String, &'a Value)> {
        if let Some(found) = self.find_in_layers(key) {
            return Some(found);
        }
        let section = key.split('.').next().unwrap_or(key);
        SHARED
            .iter()
            .any(|(name, _)| *name == section)
            .then(|| walk(&self.sheet.shared, key))?
            .map(|value| (key.to_owned(), value))
    }

    /// Whether the field is written anywhere.
    pub fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// The field, or `None` where it is not written.
    pub fn get(&self, key: &str, quantity: Quantity) -> Result<Option<f64>, PlanError> {
        let Some((field, value)) = self.find(key) else { return Ok(None) };
        let input = self.resolve(&field, key, value, quantity)?;
        let value = input.value;
        self.used.borrow_mut().keep(input);
        Ok(Some(value))
    }

    /// The field, which must be written.
    pub fn need(&self, key: &str, quantity: Quantity) -> Result<f64, PlanError> {
        self.get(key, quantity)?.ok_or_else(|| self.missing(key, quantity.expected()))
    }

    /// The field, or a default that is shown as one.
    pub fn or(&self, key: &str, quantity: Quantity, default: f64) -> Result<f64, PlanError> {
        if let Some(value) = self.get(key, quantity)? {
            return Ok(value);
        }
        self.used.borrow_mut().keep(Input {
            field: key.to_owned(),
            text: quantity.written(default),
            value: default,
            unit: quantity.unit(),
            source: Source::Default,
        });
        Ok(default)
    }

    /// What is needed here and is not written.
    pub fn missing(&self, key: &str, expected: &str) -> PlanError {
        PlanError::new(self.at(key), format!("missing: this question needs {key}, {expected}"))
    }

    fn resolve(&self, field: &str, key: &str, value: &Value, quantity: Quantity) -> Result<Input, PlanError> {
        let unit = quantity.unit();
        let plain = |value: &Value, source| {
            let read = quantity.read(value).ok_or_else(|| refused(field, value, quantity))?;
            Ok(Input { field: field.to_owned(), text: text(value), value: read, unit, source })
        };
        let Value::Object(map) = value else { return plain(value, Source::Assumed) };
        let known = ["value", "measured", "from", "job"];
        if let Some(wrong) = map.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(PlanError::new(format!("{field}.{wrong}"), unknown(wrong, &known)));
        }
        let measured = match map.get("measured") {
            None => false,
            Some(Value::Bool(measured)) => *measured,
            Some(other) => {
                let message = format!("found {other}, expected true or false");
                return Err(PlanError::new(format!("{field}.measured"), message));
            }
        };
        match (map.get("value"), map.get("from")) {
            (Some(value), None) => plain(value, if measured { Source::Measured } else { Source::Assumed }),
            (None, Some(_)) => {
                let (file, job) = (self.report_of(field, map)?, job_of(field, map)?);
                let found = measured::find(field, key, &self.sheet.reports[file], job.as_deref())?;
                if !quantity.admits(found.value) {
                    let message =
                        format!("the report gives {}, expected {}", found.value, quantity.expected());
                    return Err(PlanError::new(field, message));
                }
                let source = Source::Report { file: file.to_owned(), how: found.how };
                let text = quantity.written(found.value);
                Ok(Input { field: field.to_owned(), text, value: found.value, unit, source })
            }
            (Some(value), Some(_)) => {
                let file = self.report_of(field, map)?.to_owned();
                plain(value, Source::Report { file, how: "as stated".to_owned() })
            }
            (None, None) => Err(PlanError::new(
                field,
                format!(
                    "expected {}, or {{value: …, measured: true}}, or {{from: REPORT.json}}",
                    quantity.expected()
                ),
            )),
        }
    }

    fn report_of<'m>(&self, field: &str, map: &'m Map<String, Value>) -> Result<&'m str, PlanError> {
        match map.get("from") {
            Some(Value::String(file)) if self.sheet.reports.contains_key(file) => Ok(file),
            _ => Err(PlanError::new(format!("{field}.from"), "expected the name of a report file")),
        }
    }

    /// Text of one of `words`.
    pub fn word(
        &self,
        key: &str,
        words: &[&'static str],
        default: &'static str,
    ) -> Result<&'static str, PlanError> {
        let Some((field, value)) = self.find(key) else { return Ok(default) };
        let found = value.as_str().and_then(|word| words.iter().find(|known| **known == word));
        found.copied().ok_or_else(|| {
            PlanError::new(field, format!("found {value}, expected one of {}", words.join(", ")))
        })
    }

    /// Any text.
    pub fn text(&self, key: &str) -> Result<Option<String>, PlanError> {
        match self.find(key) {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text.clone())),
            Some((_, Value::Number(number))) => Ok(Some(number.to_string())),
            Some((field, other)) => Err(PlanError::new(field, format!("found {other}, expected text"))),
        }
    }

    /// Whether the field is written as this word.
    pub fn text_is(&self, key: &str, word: &str) -> bool {
        matches!(self.find(key), Some((_, Value::String(text))) if text == word)
    }

    /// A list of mappings, each read over this question.
    pub fn list(&self, key: &str) -> Result<Vec<Self>, PlanError> {
        let Some((field, value)) = self.find(key) else { return Ok(Vec::new()) };
        let Value::Array(list) = value else {
            return Err(PlanError::new(field, format!("found {value}, expected a list of mappings")));
        };
        let each = |(i, value): (usize, &'a Value)| match value {
            Value::Object(map) => Ok(self.over(format!("{field}[{i}]"), map)),
            other => {
                Err(PlanError::new(format!("{field}[{i}]"), format!("found {other}, expected a mapping")))
            }
        };
        list.iter().enumerate().map(each).collect()
    }

    /// The options of a list by their names, of which no two are the same: an answer calls them by these.
    pub fn named(&self, key: &str) -> Result<Vec<(String, Self)>, PlanError> {
        let options = self.list(key)?.into_iter().map(|option| Ok((option.name()?, option)));
        let options = options.collect::<Result<Vec<_>, _>>()?;
        distinct(&options)?;
        Ok(options)
    }

    /// A mapping, read over this question.
    pub fn under(&self, key: &str) -> Result<Option<Self>, PlanError> {
        match self.find(key) {
            None => Ok(None),
            Some((field, Value::Object(map))) => Ok(Some(self.over(field, map))),
            Some((field, other)) => Err(PlanError::new(field, format!("found {other}, expected a mapping"))),
        }
    }

    /// The nearest mapping as written.
    pub fn own(&self) -> &'a Map<String, Value> {
        self.layers[0].1
    }

    /// The report of `goodput trace` that `key` names.
    pub fn trace(&self, key: &str) -> Result<Option<&'a Value>, PlanError> {
        let Some(file) = self.text(key)? else { return Ok(None) };
        Ok(self.sheet.traces.get(&file))
    }

    /// Keys of the nearest mapping.
    pub fn own_keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.layers[0].1.keys().map(String::as_str)
    }

    /// A list of quantities.
    pub fn many(&self, key: &str, quantity: Quantity) -> Result<Option<Vec<f64>>, PlanError> {
        let Some((field, value)) = self.find(key) else { return Ok(None) };
        let Value::Array(list) = value else {
            return Err(PlanError::new(field, format!("found {value}, expected a list")));
        };
        let mut values = Vec::with_capacity(list.len());
        for (i, value) in list.iter().enumerate() {
            let at = format!("{field}[{i}]");
            values.push(quantity.read(value).ok_or_else(|| refused(&at, value, quantity))?);
        }
        self.used.borrow_mut().keep(Input {
            text: format!("{} values", values.len()),
            value: values.len() as f64,
            unit: "count",
            source: Source::Assumed,
            field,
        });
        Ok(Some(values))
    }

    /// First waits of the report under `key.from`, kept as one measured input.
    pub fn waits_from_report(&self, key: &str) -> Result<Option<Vec<f64>>, PlanError> {
        let Some((field, Value::Object(map))) = self.find(key) else { return Ok(None) };
        if !map.contains_key("from") {
            return Ok(None);
        }
        let file = self.report_of(&field, map)?;
        let waits = measured::first_waits(&field, &self.sheet.reports[file])?;
        self.used.borrow_mut().keep(Input {
            text: format!("first waits of {} jobs", waits.len()),
            value: waits.len() as f64,
            unit: "count",
            source: Source::Report { file: file.to_owned(), how: "first waits".to_owned() },
            field,
        });
        Ok(Some(waits))
    }

    /// Whether the field is a mapping with this key.
    pub fn is_mapping_with(&self, key: &str, inner: &str) -> bool {
        matches!(self.find(key), Some((_, Value::Object(map))) if map.contains_key(inner))
    }

    /// The name of this option, or its place in the list.
    pub fn name(&self) -> Result<String, PlanError> {
        let (path, map) = &self.layers[0];
        match map.get("name") {
            Some(Value::String(name)) => Ok(name.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            None => Ok(path.rsplit('.').next().unwrap_or(path).to_owned()),
            Some(other) => {
                Err(PlanError::new(format!("{path}.name"), format!("found {other}, expected text")))
            }
        }
    }
}

/// Refuses the second of two options that an answer would call the same.
pub(super) fn distinct(options: &[(String, Fields<'_>)]) -> Result<(), PlanError> {
    let mut seen: HashMap<&str, &Fields<'_>> = HashMap::with_capacity(options.len());
    for (name, option) in options {
        if let Some(first) = seen.insert(name.trim(), option) {
            let message = format!(
                "`{name}` is the name of {} too: expected a name of its own, since the answer calls options by their names",
                first.path()
            );
            return Err(PlanError::new(format!("{}.name", option.path()), message));
        }
    }
    Ok(())
}

fn job_of(field: &str, map: &Map<String, Value>) -> Result<Option<String>, PlanError> {
    match map.get("job") {
        None => Ok(None),
        Some(Value::String(job)) => Ok(Some(job.clone())),
        Some(Value::Number(job)) => Ok(Some(job.to_string())),
        Some(other) => {
            Err(PlanError::new(format!("{field}.job"), format!("found {other}, expected a job's id")))
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn refused(field: &str, value: &Value, quantity: Quantity) -> PlanError {
    PlanError::new(field, format!("found {}, expected {}", text(value), quantity.expected()))
}

/// The value under a path of keys.
fn walk<'v>(map: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    let (first, rest) = key.split_once('.').map_or((key, None), |(first, rest)| (first, Some(rest)));
    match (map.get(first)?, rest) {
        (value, None) => Some(value),
        (Value::Object(map), Some(rest)) => walk(map, rest),
        _ => None,
    }
}
