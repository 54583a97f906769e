//! The view of `goodput validate collect`: the rows that were made, and what each lacks.

use goodput_predict::validate::{CollectedRow, Conflict, Derived, Missing, RunLog};
use goodput_records::ReadReport;
use serde::Serialize;

use super::read::ReadReportView;
use super::settings::ViewSettings;

/// Collected runs, ready to be printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectionView {
    /// `goodput.collect/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// The RUNS.csv that was written.
    pub output: String,
    /// Rows that lack nothing.
    pub complete: usize,
    /// Rows that lack a column.
    pub partial: usize,
    /// Each row.
    pub rows: Vec<CollectedRunView>,
    /// Runs that contradict themselves.
    pub refused: Vec<RefusedRunView>,
    /// Sources that hold no run.
    pub refused_sources: Vec<RefusedSourceView>,
    /// What became of the files.
    pub read_report: ReadReportView,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectedRunView {
    /// Its id in RUNS.csv.
    pub id: String,
    /// Where the run was found.
    pub source: String,
    /// The step time or throughput, in words: steps, spread, metric.
    pub step: Option<String>,
    /// Column of the measurement.
    pub measure: Option<&'static str>,
    /// Its value: seconds, or a throughput.
    pub value: Option<f64>,
    /// Steady steps.
    pub steps: u64,
    /// Columns that nothing states.
    pub missing: Vec<Missing>,
    /// Columns that follow from others.
    pub derived: Vec<Derived>,
}

/// A run that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedRunView {
    /// Its id.
    pub id: String,
    /// Where it was found.
    pub source: String,
    /// The column.
    pub column: String,
    /// Each parameter with its value.
    pub values: Vec<StatedValueView>,
}

/// What a parameter says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatedValueView {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A source without runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedSourceView {
    /// As the user named it.
    pub source: String,
    /// Why.
    pub reason: String,
}

impl CollectionView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.collect/1";

    /// The view of what was collected.
    #[must_use]
    pub fn new(
        output: &str,
        rows: Vec<CollectedRunView>,
        refused: Vec<RefusedRunView>,
        refused_sources: Vec<RefusedSourceView>,
        read: &ReadReport,
        settings: &ViewSettings,
    ) -> Self {
        let complete = rows.iter().filter(|row| row.missing.is_empty()).count();
        Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            output: output.to_owned(),
            complete,
            partial: rows.len() - complete,
            rows,
            refused,
            refused_sources,
            read_report: ReadReportView::new(read),
        }
    }
}

impl CollectedRunView {
    /// A row and the run that it is of.
    #[must_use]
    pub fn new(log: &RunLog, row: &CollectedRow) -> Self {
        Self {
            id: row.text("id").to_owned(),
            source: log.source.clone(),
            step: row.step.as_ref().map(|step| step.words()),
            measure: row.step.as_ref().map(|step| step.column),
            value: row.step.as_ref().map(|step| step.value),
            steps: row.step.as_ref().map_or(0, |step| step.steps),
            missing: row.missing.clone(),
            derived: row.derived.clone(),
        }
    }
}

impl RefusedRunView {
    /// A run and what it says twice.
    #[must_use]
    pub fn new(log: &RunLog, conflict: Conflict) -> Self {
        let values = conflict.values.into_iter().map(|(name, value)| StatedValueView { name, value });
        Self {
            id: log.id.clone(),
            source: log.source.clone(),
            column: conflict.column,
            values: values.collect(),
        }
    }

    /// `tp: tensor_model_parallel_size is 4, tp_size is 8`
    #[must_use]
    pub fn message(&self) -> String {
        let values = self.values.iter().map(|said| format!("{} is {}", said.name, said.value));
        format!("{}: {}", self.column, values.collect::<Vec<_>>().join(", "))
    }
}
