//! The view of `goodput validate`: how far predictions are from measured runs.

use std::collections::BTreeMap;

use goodput_predict::layer::Term;
use goodput_predict::validate::{
    Blame, Dimension, Evaluation, Outcome, Refusal, Regression, Report, TermBlame, Worse,
};
use serde::Serialize;

use super::calibration::CalibrationView;
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
    /// Calibration files that the predictions rest on where they say something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub measured_tables: Vec<String>,
    /// Errors of all rows, by group, of memory, and of the ranking of layouts.
    #[serde(flatten)]
    pub report: Report,
    /// The breakdowns that the tables and the page show; JSON has them all under `by`.
    #[serde(skip)]
    pub breakdown: Vec<Dimension>,
    /// By source, how each term would have to be for the predictions to meet the measurements: where to look, not what to use.
    pub blame: BTreeMap<String, Vec<TermBlame>>,
    /// Values that no column of the file states, each with its reason.
    pub assumed: Vec<AssumedView>,
    /// Errors with a calibration, of rows that it never saw; all other errors are without.
    pub calibration: Option<CalibrationView>,
    /// What the file of errors that may not grow says.
    pub regression: Option<RegressionView>,
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
    /// Software and version.
    pub software: String,
    /// Measured step.
    pub measured_ns: f64,
    /// Predicted step.
    pub predicted_ns: f64,
    /// (predicted - measured) / measured.
    pub error: f64,
    /// The predicted terms in nanoseconds, those that take time.
    pub terms: BTreeMap<&'static str, f64>,
    /// The term that would have to change most, going by the rows of its source.
    pub blame: Option<&'static str>,
}

/// A value that no column states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AssumedView {
    /// The column.
    pub column: String,
    /// The value taken.
    pub value: String,
    /// Why, and from where.
    pub because: String,
    /// Rows.
    pub rows: usize,
}

/// Errors against those that were once reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RegressionView {
    /// The file.
    pub file: String,
    /// Whether it was written now, so that nothing was compared.
    pub recorded: bool,
    /// How much larger an error may be.
    pub margin: f64,
    /// Sources that are checked.
    pub sources: usize,
    /// What has become worse.
    pub worse: Vec<WorseView>,
}

/// An error that grew, or rows that can no longer be predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorseView {
    /// The source.
    pub source: String,
    /// `mape`, `median_ape`, `p90_ape` or `rows`.
    pub measure: &'static str,
    /// As recorded.
    pub before: f64,
    /// As it is.
    pub now: f64,
}

impl RegressionView {
    /// What `regression`, read from or written to `file`, says of the errors.
    #[must_use]
    pub fn new(file: &str, regression: &Regression, recorded: bool, worse: Vec<Worse>) -> Self {
        Self {
            file: file.to_owned(),
            recorded,
            margin: regression.margin,
            sources: regression.sources.len(),
            worse: worse.into_iter().map(WorseView::from).collect(),
        }
    }
}

impl From<Worse> for WorseView {
    fn from(worse: Worse) -> Self {
        match worse {
            Worse::Error { source_key, measure, before, now, .. } => {
                Self { source: source_key, measure, before, now }
            }
            Worse::Rows { source_key, before, now } => {
                Self { source: source_key, measure: "rows", before: before as f64, now: now as f64 }
            }
        }
    }
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
        let blame = Blame::of(evaluation);
        let mut rows: Vec<_> =
            evaluation.outcomes.iter().map(|outcome| ValidatedRowView::new(outcome, &blame)).collect();
        rows.sort_by(|a, b| b.error.abs().total_cmp(&a.error.abs()).then_with(|| a.id.cmp(&b.id)));
        Some(Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            file: file.to_owned(),
            measured_tables: Vec::new(),
            runs: evaluation.outcomes.len() + evaluation.failures.len(),
            report,
            breakdown: vec![Dimension::Source, Dimension::Device],
            blame: blame.by_source(evaluation),
            assumed: assumed(evaluation),
            calibration: None,
            regression: None,
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

impl ValidatedRowView {
    fn new(outcome: &Outcome<'_>, blame: &Blame) -> Self {
        let (measured_ns, predicted_ns) = outcome.pair();
        let terms = outcome.predicted.terms.iter().flat_map(|terms| terms.iter());
        Self {
            id: outcome.row.id.clone(),
            source: outcome.row.source.clone(),
            model: outcome.row.model.clone(),
            device: outcome.row.device.clone(),
            software: outcome.row.software.clone(),
            measured_ns,
            predicted_ns,
            error: outcome.relative_error(),
            terms: terms.filter(|(_, ns)| *ns > 0.0).map(|(term, ns)| (term.label(), ns)).collect(),
            blame: blame.of_row(outcome).map(Term::label),
        }
    }
}

/// What rules gave to the rows that are predicted, the most frequent first.
fn assumed(evaluation: &Evaluation<'_>) -> Vec<AssumedView> {
    let mut rows: BTreeMap<(&str, &str, &str), usize> = BTreeMap::new();
    for value in evaluation.outcomes.iter().flat_map(|outcome| &outcome.row.assumed) {
        *rows.entry((&value.column, &value.value, &value.because)).or_default() += 1;
    }
    let mut assumed: Vec<_> = rows
        .into_iter()
        .map(|((column, value, because), rows)| AssumedView {
            column: column.to_owned(),
            value: value.to_owned(),
            because: because.to_owned(),
            rows,
        })
        .collect();
    assumed.sort_by_key(|value| std::cmp::Reverse(value.rows));
    assumed
}
