//! Two reports under one contract.

use std::path::{Path, PathBuf};

use goodput_decide::compare::{self, Lever, Options, Refused};
use goodput_decide::report::{self, Report, ReportError, ServingReport};
use goodput_report::{CompareView, ComparedReport};
use serde::Deserialize;

use crate::Answer;
use crate::error::{Place, VerbError};
use crate::file_kind::{self, Wanted};
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
    let refused =
        |why: Refused| VerbError::new(why.to_string()).help("docs/compare.md says what can be compared");
    let (before, after) = (File::read(&request.before)?, File::read(&request.after)?);
    let settings = request.report.settings()?;
    let view = match [before.is_serving(), after.is_serving()] {
        [true, true] => {
            let (one, other) = (before.serving()?, after.serving()?);
            let found = compare::compare_serving(&one, &other, &options).map_err(refused)?;
            let sides = [(&before, &one), (&after, &other)]
                .map(|(file, report)| (file.label.as_str(), ComparedReport::Serving(report)));
            CompareView::new(&found, sides, &options, &settings)
        }
        [false, false] => {
            let (one, other) = (before.training()?, after.training()?);
            let found = compare::compare(&one, &other, &options).map_err(refused)?;
            let sides = [(&before, &one), (&after, &other)]
                .map(|(file, report)| (file.label.as_str(), ComparedReport::Training(report)));
            CompareView::new(&found, sides, &options, &settings)
        }
        _ => {
            // A file that is no report at all says so first.
            let [one, other] = [before.kind()?, after.kind()?];
            return Err(refused(Refused::ServingAndTraining { before: one, after: other }));
        }
    };
    let falls_short = !view.is_accepted();
    Ok(Answer { view, falls_short })
}

/// Reports that have a comparison.
const WANTED: Wanted = Wanted {
    what: "a report of account, timeline or serving (JSON of goodput.account/1, goodput.timeline/1 or goodput.serving/1)",
    help: "`goodput account … --format json -o FILE`, `goodput timeline …` and `goodput serving …` write such reports",
    is: |kind| file_kind::is_report(kind) || file_kind::is_serving_report(kind),
};

/// A file that should be a report.
struct File<'a> {
    path: &'a Path,
    label: String,
    json: Vec<u8>,
    schema: Option<String>,
}

impl<'a> File<'a> {
    fn read(path: &'a Path) -> Result<Self, VerbError> {
        let (json, label) = (file_kind::bytes(path, &WANTED)?, label(path));
        let schema = report::schema(&label, &json).map_err(|why| unread(path, &why))?;
        Ok(Self { path, label, json, schema })
    }

    fn is_serving(&self) -> bool {
        self.schema.as_deref() == Some(ServingReport::SCHEMA)
    }

    /// A report that `serving` wrote as JSON.
    fn serving(&self) -> Result<ServingReport, VerbError> {
        ServingReport::read(&self.label, &self.json).map_err(|why| unread(self.path, &why))
    }

    /// A report that `account` or `timeline` wrote as JSON.
    fn training(&self) -> Result<Report, VerbError> {
        Report::read(&self.label, &self.json).map_err(|why| unread(self.path, &why))
    }

    /// The schema of a report that reads.
    fn kind(&self) -> Result<String, VerbError> {
        if self.is_serving() {
            self.serving()?;
        } else {
            self.training()?;
        }
        Ok(self.schema.clone().unwrap_or_default())
    }
}

fn unread(path: &Path, why: &ReportError) -> VerbError {
    let place = Place { path: Some(label(path)), ..Place::default() };
    file_kind::instead(path, &WANTED, VerbError::new(why.to_string()).help(WANTED.help).at(place))
}
