//! Keys of a mapping in RUN.yaml: one that is not known is refused with the nearest that is.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::Value;

/// A field of the file that cannot be, with what was found and what to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldError {
    pub field: String,
    pub message: String,
}

impl FieldError {
    pub fn new(field: &str, message: impl Display) -> Self {
        Self { field: field.to_owned(), message: message.to_string() }
    }
}

/// Reads a mapping that stands under `field`.
pub(super) fn read<T: DeserializeOwned>(field: &str, value: &Value, known: &[&str]) -> Result<T, FieldError> {
    let Value::Object(mapping) = value else {
        let message = format!("found {value}, expected a mapping of {}", known.join(", "));
        return Err(FieldError::new(field, message));
    };
    if let Some(key) = mapping.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(FieldError::new(&format!("{field}.{key}"), unknown(key, known)));
    }
    // One key after the other names the one that cannot be read.
    serde_json::from_value(value.clone()).map_err(|error| {
        let alone = mapping.iter().find(|(key, value)| {
            let one = Value::Object([((*key).clone(), (*value).clone())].into_iter().collect());
            serde_json::from_value::<T>(one).is_err_and(|error| !error.to_string().starts_with("missing"))
        });
        let place = alone.map_or_else(|| field.to_owned(), |(key, _)| format!("{field}.{key}"));
        let message =
            if alone.is_some() { plain(&error) } else { format!("{error}; known are {}", known.join(", ")) };
        FieldError::new(&place, message)
    })
}

/// What a value of the wrong kind is told, without the names that types have in the program.
pub(super) fn plain(error: &serde_json::Error) -> String {
    let kinds = [
        ("an array of length 2", "a list of two"),
        ("struct Architecture", "a known model's name, a file, or a model (docs/flops.md)"),
        ("u32", "a whole number from 0 to 4,294,967,295"),
        ("u64", "a whole number of at least 0"),
        ("u8", "a whole number of at least 0"),
        ("f64", "a number"),
        ("a boolean", "true or false"),
        ("a string", "text, in quotes where it looks like a number"),
    ];
    let message = error.to_string();
    let Some((found, expected)) = message.rsplit_once(", expected ") else { return message };
    let expected = kinds.iter().find(|(kind, _)| *kind == expected).map_or(expected, |(_, words)| words);
    let found = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|start| found.strip_prefix(start))
        .map_or_else(|| found.to_owned(), |value| format!("found {value}"));
    format!("{found}, expected {expected}")
}

/// What the YAML reader says, with a remedy in place of its own settings.
pub(super) fn syntax(message: &str) -> String {
    message
        .replace(", set DuplicateKeyPolicy in Options if acceptable", ": leave one of them")
        .replace(" rejected by the configured policy", " is no number: write one, or leave the field out")
}

/// What to say of a key that is not known.
pub(super) fn unknown(key: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|name| (strsim::jaro_winkler(key, name), name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    let meant = near.map_or_else(String::new, |(_, name)| format!(": did you mean `{name}`?"));
    format!("is not known{meant}; known are {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named() {
        assert!(unknown("overlap_gradient", &["tp", "overlap_gradients"]).contains("`overlap_gradients`?"));
        assert!(!unknown("zzz", &["tp", "cp"]).contains("did you mean"));
    }
}
