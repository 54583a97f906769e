//! Rows of RUNS.csv from what training runs logged of themselves.
//!
//! A column is stated by a parameter (names by framework, and a site's own map), by the model that the user names, or follows
//! from others by the framework's own definition. What nothing states stays empty and is named with what would fill it;
//! what is stated twice and differently refuses the run.
//!
//! ```
//! use goodput_predict::validate::{Collector, RunLog};
//! let log = RunLog {
//!     id: "run-1".into(),
//!     params: [("tensor_model_parallel_size", "8"), ("world_size", "64")].map(|(n, v)| (n.into(), v.into())).into(),
//!     metrics: [("perf/step_time_s".into(), (0..20).map(|step| (step, 2.0)).collect())].into(),
//!     ..RunLog::default()
//! };
//! let row = Collector::default().row(&log)?;
//! assert_eq!((row.text("tp"), row.text("n_devices"), row.text("step_time_s")), ("8", "64", "2"));
//! assert!(row.missing.iter().any(|missing| missing.column == "pp"));
//! # Ok::<(), goodput_predict::validate::Conflict>(())
//! ```

mod architecture;
mod catalogue;
mod derive;
mod draft;
mod metric;
mod parameters;
mod required;
mod steps;

use std::collections::BTreeMap;
use std::io::Write;

use goodput_model::Architecture;
use serde::Serialize;

pub use architecture::NoColumns;
pub use catalogue::{ParameterMap, StepMetric};
pub use parameters::Conflict;
pub use steps::{LEAST_STEPS, MeasuredStep, TooFewSteps};

use catalogue::Catalogue;
use draft::Draft;
use metric::{Meaning, Unit};
use parameters::{Parameters, Stated};

/// The columns that are written, in their order.
pub const COLUMNS: [&str; 67] = [
    "id",
    "source_key",
    "source",
    "software",
    "model",
    "n_layers",
    "hidden",
    "n_heads",
    "n_kv_heads",
    "head_dim",
    "ffn_hidden",
    "ffn_type",
    "vocab",
    "tied_embeddings",
    "attn_type",
    "moe_experts",
    "moe_topk",
    "moe_ffn",
    "moe_shared_ffn",
    "moe_dense_layers",
    "mtp_layers",
    "arch_note",
    "norm",
    "positions",
    "biases",
    "embedding_norm",
    "task",
    "device_class",
    "cluster",
    "devices_per_node",
    "n_devices",
    "tp",
    "sp",
    "cp",
    "cp_method",
    "pp",
    "vpp",
    "schedule",
    "ep",
    "etp",
    "dp",
    "zero_or_sharding",
    "shard_size",
    "mbs",
    "gbs",
    "grad_accum",
    "seq_len",
    "precision_class",
    "recompute",
    "gradient_bytes",
    "dp_overlap",
    "param_overlap",
    "tp_comm_overlap",
    "optimizer",
    "profile",
    "dispatch",
    "dropout",
    "nccl",
    "step_time_s",
    "tokens_per_s",
    "tokens_per_s_per_device",
    "samples_per_s",
    "step_time_stat",
    "steps_used",
    "completeness",
    "missing",
    "notes",
];

/// What a run logged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunLog {
    /// Identifier of the row.
    pub id: String,
    /// Who measured; errors are grouped by it.
    pub source_key: String,
    /// Where it was found.
    pub source: String,
    /// Parameters as logged.
    pub params: BTreeMap<String, String>,
    /// Histories of metrics that may be the step time: step number and value in the order of logging.
    pub metrics: BTreeMap<String, Vec<(i64, f64)>>,
    /// Metrics of which only the latest value is known.
    pub latest_only: Vec<String>,
    /// The step, where it is measured already: a timeline, a trace.
    pub step: Option<MeasuredStep>,
    /// Columns that the source itself states, with where: the devices of a trace.
    pub stated: Vec<(&'static str, String, String)>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
}

/// A column that nothing states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The column of RUNS.csv.
    pub column: String,
    /// What stands there and cannot be taken; mostly nothing.
    pub found: String,
    /// What would fill it.
    pub remedy: String,
}

/// A column that follows from others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Derived {
    /// The column.
    pub column: String,
    /// Its value.
    pub value: String,
    /// From what.
    pub because: String,
}

/// A row of RUNS.csv.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CollectedRow {
    /// By column; empty ones left out.
    pub columns: BTreeMap<&'static str, String>,
    /// Columns that are needed and that nothing states.
    pub missing: Vec<Missing>,
    /// Columns that follow from others.
    pub derived: Vec<Derived>,
    /// The step.
    pub step: Option<MeasuredStep>,
}

impl CollectedRow {
    /// What stands in a column.
    #[must_use]
    pub fn text(&self, column: &str) -> &str {
        self.columns.get(column).map_or("", String::as_str)
    }
}

/// Makes rows of what runs logged.
#[derive(Debug, Clone, Default)]
pub struct Collector {
    map: ParameterMap,
    /// Columns of the model and the cluster that the user names, with where each is from.
    stated: Vec<(&'static str, String, String)>,
}

impl Collector {
    /// With a site's own names and values.
    #[must_use]
    pub fn new(map: ParameterMap) -> Self {
        Self { map, stated: Vec::new() }
    }

    /// All runs are of this model.
    ///
    /// # Errors
    /// [`NoColumns`] where columns cannot describe it.
    pub fn with_model(mut self, model: &Architecture) -> Result<Self, NoColumns> {
        let from = format!("model {}", model.name);
        let columns = architecture::columns(model)?;
        self.stated.extend(columns.into_iter().map(|(column, value)| (column, value, from.clone())));
        Ok(self)
    }

    /// All runs are on this cluster.
    #[must_use]
    pub fn with_cluster(mut self, name: &str) -> Self {
        self.stated.push(("cluster", name.to_owned(), "--cluster".to_owned()));
        self
    }

    /// Whether a metric may be the step time, so that its history is worth reading.
    #[must_use]
    pub fn wants(&self, metric: &str) -> bool {
        match &self.map.step_time {
            Some(step) => step.metric == metric,
            None => metric::meaning(metric).is_some(),
        }
    }

    /// The row of a run.
    ///
    /// # Errors
    /// [`Conflict`] where two parameters, or a parameter and the model, say different things.
    pub fn row(&self, log: &RunLog) -> Result<CollectedRow, Conflict> {
        let mut draft = Draft::new(Parameters::new(&log.params, &self.map));
        for column in COLUMNS.into_iter().filter(|column| self.is_of_parameters(column)) {
            match draft.parameters.column(column)? {
                Stated::Value(value) => draft.put(column, value, "parameters")?,
                Stated::Unknown { name, value } => {
                    draft.lacks(column, format!("{name}: {value}"), required::remedy(column));
                }
                Stated::Nothing | Stated::None(_) => {}
            }
        }
        for (column, value, from) in log.stated.iter().chain(&self.stated) {
            if *column == "vocab" && is_padding(&draft, value) {
                continue;
            }
            draft.put(column, value.clone(), from)?;
        }
        for column in COLUMNS {
            if let Some(value) = self.map.set.get(column) {
                draft.put(column, value.clone(), "`set` of the map")?;
            }
        }
        derive::derive(&mut draft)?;
        let step = self.step(log, &mut draft)?;
        for (column, value) in [("id", &log.id), ("source_key", &log.source_key), ("source", &log.source)] {
            draft.columns.entry(column).or_insert_with(|| value.clone());
        }
        required::check(&mut draft);
        let Draft { mut columns, mut missing, derived, refused, .. } = draft;
        missing.retain(|missing| columns.get(missing.column.as_str()).is_none_or(String::is_empty));
        let refused = refused.map(|(column, found, expected)| Missing {
            column,
            found,
            remedy: format!("expected {expected}"),
        });
        missing.extend(refused);
        let completeness = if missing.is_empty() { "complete" } else { "partial" };
        columns.insert("completeness", completeness.to_owned());
        let names: Vec<&str> = missing.iter().map(|missing| missing.column.as_str()).collect();
        columns.insert("missing", names.join(" "));
        columns.insert("notes", log.notes.join("; "));
        columns.retain(|_, value| !value.is_empty());
        Ok(CollectedRow { columns, missing, derived, step })
    }

    fn is_of_parameters(&self, column: &str) -> bool {
        Catalogue::built_in().columns.contains_key(column) || self.map.columns.contains_key(column)
    }

    /// The step time: measured already, or the median of the metric that says so.
    fn step(&self, log: &RunLog, draft: &mut Draft<'_>) -> Result<Option<MeasuredStep>, Conflict> {
        if draft.has("step_time_s") {
            return Ok(None);
        }
        let step = match &log.step {
            Some(step) => Some(step.clone()),
            None => self.logged_step(log, draft)?,
        };
        if let Some(step) = &step {
            draft.put(step.column, format!("{}", rounded(step.value)), &step.from)?;
            draft.put("step_time_stat", step.words(), &step.from)?;
            draft.put("steps_used", step.steps.to_string(), &step.from)?;
        }
        Ok(step)
    }

    fn logged_step(&self, log: &RunLog, draft: &mut Draft<'_>) -> Result<Option<MeasuredStep>, Conflict> {
        let mut times: Vec<MeasuredStep> = Vec::new();
        let mut rates: Vec<MeasuredStep> = Vec::new();
        let mut why = Vec::new();
        for (name, history) in &log.metrics {
            let unit = match self.unit(name) {
                Some(Meaning::Known(unit)) => unit,
                Some(Meaning::NoUnit) => {
                    why.push(format!("{name}: its unit is not stated"));
                    continue;
                }
                None => continue,
            };
            if log.latest_only.contains(name) {
                why.push(format!("{name}: only its latest value is known, export metrics/get-history"));
                continue;
            }
            let (scale, rate) = if let Unit::Seconds(scale) = unit { (scale, false) } else { (1.0, true) };
            let scaled: Vec<(i64, f64)> =
                history.iter().map(|(step, value)| (*step, value * scale)).collect();
            match steps::steady(&scaled, rate) {
                Ok(step) => {
                    let step = MeasuredStep { column: unit.column(), from: name.clone(), ..step };
                    if rate { rates.push(step) } else { times.push(step) }
                }
                Err(few) => why.push(format!("{name}: {few}")),
            }
        }
        let found = if times.is_empty() { rates } else { times };
        let Some(first) = found.first() else {
            let remedy = "a metric of step times in s or ms, or of tokens/s; `step_time: {metric: NAME, unit: s}` in --map names it";
            // A timeline or a trace has no metrics: why it gave no step stands in its notes.
            let why = if why.is_empty() { log.notes.join("; ") } else { why.join("; ") };
            draft.lacks("step_time_s", why, remedy);
            return Ok(None);
        };
        // Two metrics of one thing agree to the hundredth.
        let differs = |other: &&MeasuredStep| {
            other.column == first.column && (other.value / first.value - 1.0).abs() > 0.01
        };
        if let Some(other) = found.iter().find(differs) {
            let said = |step: &MeasuredStep| (step.from.clone(), rounded(step.value).to_string());
            let values = vec![said(first), said(other)];
            return Err(Conflict { column: first.column.to_owned(), values });
        }
        Ok(Some(first.clone()))
    }

    fn unit(&self, metric: &str) -> Option<Meaning> {
        match &self.map.step_time {
            Some(step) if step.metric == metric => Unit::named(&step.unit).map(Meaning::Known),
            Some(_) => None,
            None => metric::meaning(metric),
        }
    }
}

/// Megatron pads the vocabulary to a multiple of 128 x tp: what it logs may be more than the model's, by less than that.
fn is_padding(draft: &Draft<'_>, vocabulary: &str) -> bool {
    let (Some(logged), Ok(of_model)) = (draft.number("vocab"), vocabulary.parse::<u64>()) else {
        return false;
    };
    let block = 128 * draft.number("tp").unwrap_or(1);
    logged > of_model && logged - of_model < block && logged.is_multiple_of(block)
}

/// To the nanosecond of a step: more digits are noise of the median's arithmetic.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

/// Writes the rows as RUNS.csv.
///
/// # Errors
/// What the writer refuses.
pub fn write_runs<'a>(
    rows: impl IntoIterator<Item = &'a CollectedRow>,
    to: impl Write,
) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(COLUMNS)?;
    for row in rows {
        writer.write_record(COLUMNS.map(|column| row.text(column)))?;
    }
    writer.flush()?;
    Ok(())
}
