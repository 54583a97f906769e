//! Why a plan cannot be answered.

use goodput_core::OutOfRange;

/// A field that cannot be, with what is needed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct PlanError {
    /// Where it stands: `questions[2].price.per_device_hour`.
    pub field: String,
    /// What was found, what was expected.
    pub message: String,
}

impl PlanError {
    /// What is wrong with a field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }

    /// What the accounting says of an input of this question.
    pub(super) fn range(field: &str) -> impl Fn(OutOfRange) -> Self {
        move |error| Self::new(field, error.to_string())
    }
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
