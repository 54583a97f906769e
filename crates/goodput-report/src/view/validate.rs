//! The view of `goodput validate`: how far predictions are from measured runs.

use goodput_predict::validate::{Evaluation, Refusal, Report};
use serde::Serialize;

use super::settings::ViewSettings;

/// Prediction errors, ready to be printed. Fractions, not percent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValidationView {
    /// `goodput.validate/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// The file.
    pub file: String,
    /// Errors of all rows, by group, of memory, and of the ranking of layouts.
    #[serde(flatten)]
    pub report: Report,
    /// Rows that became runs.
    pub runs: usize,
    /// Rows that did not, each with the column that stands in the way.
    pub refused: Vec<RefusedRowView>,
    /// Runs that could not be predicted.
    pub failures: Vec<FailedRunView>,
    /// The runs with the largest errors first.
    pub rows: Vec<ValidatedRowView>,
}

/// A row that is no run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedRowView {
    /// Line of the file.
    pub line: u64,
    /// Its id.
    pub id: String,
    /// The column.
    pub field: &'static str,
    /// What stands there.
    pub found: String,
    /// What was looked for.
    pub expected: String,
}

/// A run without a prediction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedRunView {
    /// Its id.
    pub id: String,
    /// Why.
    pub reason: String,
}

/// A measured run beside its prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ValidatedRowView {
    /// Its id.
    pub id: String,
    /// Who measured.
    pub source: String,
    /// The model.
    pub model: String,
    /// The device.
    pub device: String,
    /// Measured step.
    pub measured_ns: f64,
    /// Predicted step.
    pub predicted_ns: f64,
    /// (predicted - measured) / measured.
    pub error: f64,
}

impl ValidationView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.validate/1";

    /// The view of an evaluation; `None` when nothing could be predicted.
    pub fn new(
        file: &str,
        evaluation: &Evaluation<'_>,
        refused: &[Refusal],
        settings: &ViewSettings,
    ) -> Option<Self> {
        let report = evaluation.report()?;
        let mut rows: Vec<_> = evaluation
            .outcomes
            .iter()
            .map(|outcome| {
                let (measured_ns, predicted_ns) = outcome.pair();
                ValidatedRowView {
                    id: outcome.row.id.clone(),
                    source: outcome.row.source.clone(),
                    model: outcome.row.model.clone(),
                    device: outcome.row.device.clone(),
                    measured_ns,
                    predicted_ns,
                    error: outcome.relative_error(),
                }
            })
            .collect();
        rows.sort_by(|a, b| b.error.abs().total_cmp(&a.error.abs()).then_with(|| a.id.cmp(&b.id)));
        Some(Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            file: file.to_owned(),
            runs: evaluation.outcomes.len() + evaluation.failures.len(),
            report,
            refused: refused
                .iter()
                .map(|r| RefusedRowView {
                    line: r.line,
                    id: r.id.clone(),
                    field: r.field,
                    found: r.found.clone(),
                    expected: r.expected.clone(),
                })
                .collect(),
            failures: evaluation
                .failures
                .iter()
                .map(|f| FailedRunView { id: f.row.id.clone(), reason: f.reason.clone() })
                .collect(),
            rows,
        })
    }
}
