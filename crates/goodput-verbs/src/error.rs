//! Errors as a person reads them: what is wrong, where, and what to do.

use std::fmt;
use std::path::Path;

use goodput_records::ReadError;

/// Why a verb cannot answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerbError {
    message: String,
    remedy: Option<String>,
    place: Place,
}

/// Where an error is, as far as it is in a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The file as the user named it.
    pub path: Option<String>,
    /// One-based line.
    pub line: Option<u32>,
    /// The field.
    pub field: Option<String>,
}

impl VerbError {
    /// What is wrong.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), remedy: None, place: Place::default() }
    }

    /// What to do about it.
    #[must_use]
    pub fn help(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// A file that the system refuses.
    pub fn io(path: &Path, error: &std::io::Error) -> Self {
        let path = path.display().to_string();
        let place = Place { path: Some(path.clone()), ..Place::default() };
        Self { place, ..Self::new(format!("{path}: {error}")) }
    }

    /// Where it is.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// What to do about it, when that is known.
    pub fn remedy(&self) -> Option<&str> {
        self.remedy.as_deref()
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }
}

impl fmt::Display for VerbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for VerbError {}

impl From<ReadError> for VerbError {
    fn from(error: ReadError) -> Self {
        let place = match &error {
            ReadError::Io { path, .. } => Place { path: Some(path.clone()), ..Place::default() },
            ReadError::Format { path, line, field, .. } => Place {
                path: Some(path.clone()),
                line: Some(*line).filter(|line| *line > 0),
                field: Some(field.clone()).filter(|field| !field.is_empty()),
            },
        };
        let remedy = error.remedy().map(str::to_owned);
        Self { message: error.to_string(), remedy, place }
    }
}
