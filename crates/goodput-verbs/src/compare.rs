//! Two reports under one contract.

use std::path::{Path, PathBuf};

use goodput_decide::compare::{self, Lever, Options, Refused};
use goodput_decide::report::Report;
use goodput_report::CompareView;
use serde::Deserialize;

use crate::Answer;
use crate::error::{Place, VerbError};
use crate::file_kind::{self, REPORT};
use crate::inputs::label;
use crate::request::ReportRequest;

/// `goodput compare`: two reports, and how to judge them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompareRequest {
    /// The report before the change.
    pub before: PathBuf,
    /// The report after it.
    pub after: PathBuf,
    /// `job` or `pool`; found from the reports where nobody says.
    pub lever: Option<String>,
    /// Confidence of the intervals; 0.95 where nobody says.
    pub confidence: Option<f64>,
    /// Resamples of the bootstrap.
    pub resamples: Option<usize>,
    /// Seed of its draws.
    pub seed: Option<u64>,
    /// Title.
    pub report: ReportRequest,
}

/// Compares two reports. The answer falls short where the change is not accepted.
///
/// # Errors
/// [`VerbError`] when a report cannot be read, or the two have no comparison.
pub fn compare(request: &CompareRequest) -> Result<Answer<CompareView>, VerbError> {
    let lever = match request.lever.as_deref() {
        None => None,
        Some("job") => Some(Lever::Job),
        Some("pool") => Some(Lever::Pool),
        Some(other) => return Err(VerbError::new(format!("lever {other:?}: expected job or pool"))),
    };
    let usual = Options::default();
    let options = Options {
        lever,
        confidence: request.confidence.unwrap_or(usual.confidence),
        resamples: request.resamples.unwrap_or(usual.resamples),
        seed: request.seed.unwrap_or(usual.seed),
    };
    let (before, after) = (read(&request.before)?, read(&request.after)?);
    let refused =
        |why: Refused| VerbError::new(why.to_string()).help("docs/compare.md says what can be compared");
    let found = compare::compare(&before, &after, &options).map_err(refused)?;
    let (one, other) = (label(&request.before), label(&request.after));
    let sides = [(one.as_str(), &before), (other.as_str(), &after)];
    let view = CompareView::new(&found, sides, &options, &request.report.settings()?);
    let falls_short = !view.is_accepted();
    Ok(Answer { view, falls_short })
}

/// A report that `account` or `timeline` wrote as JSON.
fn read(path: &Path) -> Result<Report, VerbError> {
    let json = file_kind::bytes(path, &REPORT)?;
    Report::read(&label(path), &json).map_err(|why| {
        let place = Place { path: Some(label(path)), ..Place::default() };
        file_kind::instead(path, &REPORT, VerbError::new(why.to_string()).help(REPORT.help).at(place))
    })
}
