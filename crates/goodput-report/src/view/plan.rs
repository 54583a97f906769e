//! The view of `goodput plan`: each question's answer with what it rests on.

use goodput_decide::plan::{Answer, Input, Picture, Rows, Sheet, Source, Unit};
use serde::{Serialize, Serializer};

use super::settings::ViewSettings;

/// Answers of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanView {
    /// `goodput.plan/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// Title, when the plan has one.
    pub title: Option<String>,
    /// Currency of all money, as the plan writes it.
    pub currency: Option<String>,
    /// Of the draws.
    pub seed: u64,
    /// The answers, in the order of the questions.
    pub answers: Vec<PlanAnswerView>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanAnswerView {
    /// The word after `ask`.
    pub question: String,
    /// The question's name in the plan.
    pub name: Option<String>,
    /// The decision in words.
    pub verdict: String,
    /// Figures, the most important first.
    pub figures: Vec<PlanFigureView>,
    /// Options, sizes or terms.
    pub rows: Vec<PlanRowsView>,
    /// What the answer rests on.
    pub inputs: Vec<PlanInputView>,
    /// What to know before trusting it.
    pub warnings: Vec<String>,
    /// A picture, for pages.
    #[serde(skip)]
    pub picture: Option<Picture>,
}

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanFigureView {
    /// Its key, with the unit where it has one.
    pub key: &'static str,
    /// The figure in words.
    pub label: &'static str,
    /// Its value; `null` where there is no finite one.
    pub value: f64,
    /// What it is measured in.
    #[serde(serialize_with = "unit_key")]
    pub unit: Unit,
}

/// Rows with their columns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanRowsView {
    /// What the rows are.
    pub title: &'static str,
    /// The columns.
    pub columns: Vec<PlanColumnView>,
    /// The rows.
    pub rows: Vec<PlanRowView>,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanColumnView {
    /// Its key.
    pub key: &'static str,
    /// Its heading.
    pub label: &'static str,
    /// What it is measured in.
    #[serde(serialize_with = "unit_key")]
    pub unit: Unit,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanRowView {
    /// What it is about.
    pub name: String,
    /// A value a column.
    pub values: Vec<Option<f64>>,
    /// What to know of it: `dominated by …`, `not feasible: …`.
    pub mark: Option<String>,
}

/// One input.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanInputView {
    /// Where it stands in the plan.
    pub field: String,
    /// As written, or as the report gives it.
    pub text: String,
    /// In base units.
    pub value: f64,
    /// `s`, `device_s`, `share`, `count` or `number`.
    pub unit: &'static str,
    /// `assumed`, `measured`, `report` or `default`.
    pub source: &'static str,
    /// Whether a measurement stands behind it.
    pub measured: bool,
    /// The report, and which of its figures.
    pub evidence: Option<String>,
}

fn unit_key<S: Serializer>(unit: &Unit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(unit.key())
}

impl PlanView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.plan/1";

    /// The view of a plan's answers.
    pub fn new(sheet: &Sheet, answers: Vec<Answer>, settings: &ViewSettings) -> Self {
        Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            title: sheet.title.clone(),
            currency: sheet.currency().map(str::to_owned),
            seed: sheet.seed,
            answers: answers.into_iter().map(PlanAnswerView::new).collect(),
        }
    }

    /// Inputs of all answers, each field once: how many there are, and how many of them were measured.
    pub fn measured_inputs(&self) -> (usize, usize) {
        let inputs = self.answers.iter().flat_map(|answer| &answer.inputs);
        let fields: std::collections::BTreeMap<_, _> =
            inputs.map(|input| (input.field.as_str(), input.measured)).collect();
        (fields.len(), fields.values().filter(|measured| **measured).count())
    }
}

impl PlanAnswerView {
    fn new(answer: Answer) -> Self {
        Self {
            question: answer.question,
            name: answer.name,
            verdict: answer.verdict,
            figures: answer
                .figures
                .into_iter()
                .map(|f| PlanFigureView { key: f.key, label: f.label, value: f.value, unit: f.unit })
                .collect(),
            rows: answer.rows.into_iter().map(PlanRowsView::new).collect(),
            inputs: answer.inputs.into_iter().map(PlanInputView::new).collect(),
            warnings: answer.warnings,
            picture: answer.picture,
        }
    }
}

impl PlanRowsView {
    fn new(rows: Rows) -> Self {
        let columns = rows.columns.into_iter().map(|(key, label, unit)| PlanColumnView { key, label, unit });
        Self {
            title: rows.title,
            columns: columns.collect(),
            rows: rows
                .rows
                .into_iter()
                .map(|row| PlanRowView { name: row.name, values: row.cells, mark: row.mark })
                .collect(),
        }
    }
}

impl PlanInputView {
    fn new(input: Input) -> Self {
        let measured = input.source.is_measured();
        let (source, evidence) = match input.source {
            Source::Assumed => ("assumed", None),
            Source::Measured => ("measured", None),
            Source::Report { file, how } => ("report", Some(format!("{file}: {how}"))),
            Source::Default => ("default", None),
        };
        Self {
            field: input.field,
            text: input.text,
            value: input.value,
            unit: input.unit,
            source,
            measured,
            evidence,
        }
    }
}
