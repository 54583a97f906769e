//! The run that a user describes in RUN.yaml.

use std::fmt::Display;
use std::path::Path;

use goodput_predict::run::{Run, RunError};

use crate::error::{Place, VerbError};

/// Reads a run.
///
/// # Errors
/// [`VerbError`] names the field, what was found and what to write.
pub fn read_run(path: &Path) -> Result<Run, VerbError> {
    read(path, Run::from_yaml)
}

/// Reads a run whose layout is to be found.
///
/// # Errors
/// As [`read_run`].
pub fn read_run_for_search(path: &Path) -> Result<Run, VerbError> {
    read(path, Run::for_search)
}

fn read(path: &Path, run: fn(&str, &str, &Path) -> Result<Run, RunError>) -> Result<Run, VerbError> {
    let text = std::fs::read_to_string(path).map_err(|e| VerbError::io(path, &e))?;
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    run(&path.display().to_string(), &text, folder).map_err(|e| refused(path, e))
}

/// What stands in the way of a run, with the file and what to do.
pub fn refused(path: &Path, why: impl Display) -> VerbError {
    let path = path.display().to_string();
    let why = why.to_string();
    let message = if why.starts_with(&path) { why } else { format!("{path}: {why}") };
    VerbError::new(message)
        .help("examples/run.yaml has every field")
        .at(Place { path: Some(path), ..Place::default() })
}
