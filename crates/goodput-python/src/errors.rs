//! One Python exception for whatever cannot be answered.

use goodput_records::timeline::RecordError;
use goodput_verbs::VerbError;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    fleet_goodput,
    GoodputError,
    PyValueError,
    "What cannot be answered. `path`, `line` and `field` say where (None where there is no such place), `remedy` what to do."
);

/// What a [`GoodputError`] carries beside its message.
#[derive(Debug, Default)]
pub struct Place {
    /// The file as the user named it.
    pub path: Option<String>,
    /// One-based line.
    pub line: Option<u32>,
    /// The field.
    pub field: Option<String>,
    /// What to do.
    pub remedy: Option<String>,
}

/// An exception with `message`, and where and what to do as attributes.
pub fn raise(message: String, place: Place) -> PyErr {
    let text = match &place.remedy {
        Some(remedy) => format!("{message}\n{remedy}"),
        None => message,
    };
    let error = GoodputError::new_err(text);
    Python::attach(|py| {
        let value = error.value(py);
        // An exception takes attributes; were it not to, its message still says everything.
        let _ = value.setattr("path", place.path);
        let _ = value.setattr("line", place.line);
        let _ = value.setattr("field", place.field);
        let _ = value.setattr("remedy", place.remedy);
    });
    error
}

/// An exception about an argument.
pub fn argument(error: impl std::fmt::Display) -> PyErr {
    raise(error.to_string(), Place::default())
}

/// An exception about a timeline that is being written.
pub fn record(error: RecordError) -> PyErr {
    let (path, line, field) = match &error {
        RecordError::Io { path, .. }
        | RecordError::Locked { path, .. }
        | RecordError::Forked { path, .. } => (path, None, None),
        RecordError::OtherJob { path, .. } | RecordError::NotATimeline { path } => (path, Some(1), None),
        RecordError::Value { path, field, .. } => (path, None, Some((*field).to_owned())),
    };
    let place = Place { path: Some(path.display().to_string()), line, field, remedy: None };
    raise(error.to_string(), place)
}

/// An exception about a verb. Its words name the command's options; here they are arguments.
pub fn verb(error: &VerbError) -> PyErr {
    let at = error.place().clone();
    let remedy = error.remedy().map(arguments);
    raise(arguments(&error.to_string()), Place { path: at.path, line: at.line, field: at.field, remedy })
}

/// `--time-zone` as `time_zone=`.
fn arguments(text: &str) -> String {
    let mut parts = text.split("--");
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c != '-' && !c.is_ascii_lowercase()).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        if name.is_empty() {
            said.push_str("--");
        } else {
            let name = if name == "from" { "from_".to_owned() } else { name.replace('-', "_") };
            said.push_str(&name);
            said.push('=');
        }
        said.push_str(rest);
    }
    said
}
