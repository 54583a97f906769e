//! Predictions against measured runs.

use std::fs::File;
use std::path::PathBuf;

use goodput_predict::cluster::Clusters;
use goodput_predict::validate::{Rules, evaluate, read};
use goodput_report::{ValidationView, ViewSettings};

use crate::Answer;
use crate::error::VerbError;

/// `goodput validate`: a file of measured runs.
#[derive(Debug, Clone, Default)]
pub struct ValidateRequest {
    /// RUNS.csv (docs/validation.md).
    pub runs: PathBuf,
}

/// Predicts every run of the file and compares.
///
/// # Errors
/// [`VerbError`] when the file is no CSV of runs, or none of them can be predicted.
pub fn validate(request: &ValidateRequest) -> Result<Answer<ValidationView>, VerbError> {
    let path = &request.runs;
    let label = path.display().to_string();
    let file = File::open(path).map_err(|e| VerbError::io(path, &e))?;
    let read = read(&label, file, Rules::built_in(), Clusters::built_in())
        .map_err(|e| VerbError::new(e.to_string()).help("docs/validation.md lists the columns"))?;
    let mut rows = Vec::new();
    let mut refused = Vec::new();
    for row in read {
        match row {
            Ok(row) => rows.push(row),
            Err(refusal) => refused.push(refusal),
        }
    }
    let view = ValidationView::new(&label, &evaluate(&rows), &refused, &ViewSettings::default());
    let view = view.ok_or_else(|| {
        let why = refused.first().map_or_else(
            || "it holds no row".to_owned(),
            |r| format!("line {}: {} is {:?}, expected {}", r.line, r.field, r.found, r.expected),
        );
        VerbError::new(format!("{label}: no run of it can be predicted: {why}"))
            .help("docs/validation.md lists the columns")
    })?;
    let falls_short = !view.refused.is_empty() || !view.failures.is_empty();
    Ok(Answer { view, falls_short })
}
