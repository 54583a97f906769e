//! The YAML of a contract (`examples/contract.yaml`): sections of conditions.

use serde_json::Value;

use super::ContractError;
use super::condition::{CONDITIONS, Condition, Kind, condition};
use crate::nearest::nearest;

/// The stated conditions, in the order of the contract.
pub(super) fn read(label: &str, yaml: &str) -> Result<Vec<(&'static Condition, String)>, ContractError> {
    let malformed = |why: String| ContractError::Malformed { label: label.to_owned(), why };
    let root = crate::yaml::read(yaml).map_err(malformed)?;
    let sections = match root {
        Value::Object(sections) => sections,
        Value::Null => return Ok(Vec::new()),
        _ => {
            return Err(malformed(
                "expected sections: workload, quality, system, timing, statistics".to_owned(),
            ));
        }
    };
    let mut stated = Vec::new();
    for (section, conditions) in sections {
        match conditions {
            Value::Object(conditions) => {
                for (name, value) in conditions {
                    let key = format!("{section}.{name}");
                    let of = condition(&key).ok_or_else(|| unknown(label, &key))?;
                    if let Some(value) = text(label, of, &value)? {
                        stated.push((of, value));
                    }
                }
            }
            Value::Null => {}
            other => {
                return Err(malformed(format!(
                    "`{section}` is {other}, expected a section of conditions, such as {}",
                    nearest_condition(&section)
                )));
            }
        }
    }
    stated.sort_by_key(|(of, _)| CONDITIONS.iter().position(|c| c.key == of.key));
    Ok(stated)
}

fn unknown(label: &str, key: &str) -> ContractError {
    ContractError::UnknownKey {
        label: label.to_owned(),
        key: key.to_owned(),
        nearest: nearest_condition(key),
    }
}

fn nearest_condition(key: &str) -> &'static str {
    nearest(key, CONDITIONS.iter().map(|of| of.key)).unwrap_or_default()
}

/// A value as text; `None` for an empty one, which states nothing.
fn text(label: &str, of: &'static Condition, value: &Value) -> Result<Option<String>, ContractError> {
    let bad = |expected| ContractError::BadValue {
        label: label.to_owned(),
        key: of.key,
        found: value.to_string(),
        expected,
    };
    let plain = |value: &Value| match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    if matches!(value, Value::Null) && !matches!(of.kind, Kind::Positive | Kind::Number) {
        return Ok(None);
    }
    match of.kind {
        Kind::Text | Kind::Versions => match value {
            Value::Array(items) => {
                let items: Option<Vec<String>> = items.iter().map(plain).collect();
                items.map(|items| Some(items.join(", "))).ok_or_else(|| bad("words or numbers"))
            }
            Value::Object(table) if of.kind == Kind::Versions => {
                let mut versions = table
                    .iter()
                    .map(|(name, version)| Some(format!("{name} {}", plain(version)?)))
                    .collect::<Option<Vec<_>>>()
                    .ok_or_else(|| bad("a version (text or number) for each name"))?;
                versions.sort();
                Ok(Some(versions.join(", ")))
            }
            Value::Bool(_) | Value::Object(_) => Err(bad("words or a number")),
            _ => plain(value).map(Some).ok_or_else(|| bad("words or a number")),
        },
        // YAML's `.nan` and `.inf` come as text here: no number.
        Kind::Positive | Kind::Number => {
            let number = value.as_f64().filter(|number| number.is_finite());
            match number {
                Some(number) if of.kind == Kind::Number || number > 0.0 => Ok(plain(value)),
                _ => {
                    Err(bad(if of.kind == Kind::Number { "a finite number" } else { "a number above zero" }))
                }
            }
        }
        Kind::Flag => value.as_bool().map(|flag| Some(flag.to_string())).ok_or_else(|| bad("true or false")),
        Kind::Direction => match value.as_str() {
            Some(word @ ("at_least" | "at_most")) => Ok(Some(word.to_owned())),
            _ => Err(bad("at_least or at_most")),
        },
    }
}
