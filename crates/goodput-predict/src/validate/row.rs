//! One measured run: what was run, and how long its step took.

use goodput_model::device::Catalogue;

use super::fields::{Assumption, Fields, Refusal};
use super::rules::Rules;
use super::{layout, model, settings};
use crate::cluster::{Cluster, Clusters};
use crate::run::{Offload, Packing, Run, RunError};

/// A measured run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// Its `id`.
    pub id: String,
    /// Whose measurement: `source_key`.
    pub source: String,
    /// What the source calls the model.
    pub model: String,
    /// The device, as the device catalogue calls it.
    pub device: String,
    /// The software's version; the framework where none is stated.
    pub software: String,
    /// The run.
    pub run: Run,
    /// What was measured.
    pub measured: Measured,
    /// Values that no column states.
    pub assumed: Vec<Assumption>,
}

/// What was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Time of a step, in nanoseconds.
    pub step_ns: i64,
    /// Which column that is from.
    pub from: StepTimeSource,
    /// MFU as a fraction, in the source's own convention.
    pub mfu: Option<f64>,
    /// That convention, in the source's words.
    pub convention: String,
    /// Memory of a device, in bytes, as the source states it.
    pub memory_bytes: Option<f64>,
}

/// Where a measured step time is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepTimeSource {
    /// `step_time_s`.
    StepTime,
    /// `derived_step_time_s`: batch over throughput, as whoever made the table derived it.
    Derived,
    /// Batch over `samples_per_s`, `tokens_per_s` or `tokens_per_s_per_device`, derived here.
    Throughput,
}

/// The row as a run; a refusal names the first column that keeps it from being one.
pub(super) fn convert(mut row: Fields, rules: &Rules, clusters: &Clusters) -> Result<RunRow, Refusal> {
    rules.apply(&mut row);
    let task = row.text("task");
    if !task.is_empty() && !task.starts_with("pretrain") {
        return Err(row.refuse(
            "task",
            "pretrain: adapters leave out weight gradients, packed documents have shorter attention",
        ));
    }
    let devices = row.count("n_devices")?;
    let layout = layout::layout(&row, devices)?;
    let architecture = model::architecture(&row)?;
    let batch = layout::batch(&row, layout.data)?;
    let cluster = cluster(&row, clusters)?;
    let run = Run {
        architecture,
        devices,
        batch,
        recompute: settings::recompute(&row)?,
        precision: settings::precision(&row)?,
        optimizer: settings::optimizer(&row)?,
        framework: settings::framework(&row)?,
        layout,
        cluster,
        expert_imbalance: 1.0,
        packing: Packing::default(),
        offload: Offload::default(),
    };
    run.check("row").map_err(|error| match error {
        RunError::Field { field, message, .. } => {
            row.refuse_found("layout", format!("{field}: {message}"), "a run whose parts fit")
        }
        RunError::Yaml { message, .. } => row.refuse_found("layout", message, "a run"),
    })?;
    // A rule's kernel is that of the software's time, which a newer device passes over.
    if !row.is_empty("attention_kernel") && !row.assumed.iter().any(|of| of.column == "attention_kernel") {
        run.check_attention("row").map_err(|error| match error {
            RunError::Field { message, .. } | RunError::Yaml { message, .. } => {
                row.refuse_found("attention_kernel", message, "a kernel of the device")
            }
        })?;
    }
    let measured = measured(&row, &run)?;
    // Last, so that the refusal names the column where one is the reason.
    if matches!(row.text("completeness"), "partial" | "minimal") {
        let found = format!("{}: {}", row.text("completeness"), row.text("missing"));
        return Err(row.refuse_found("completeness", found, "complete: nothing that must be guessed"));
    }
    let software = if row.is_empty("software") { row.text("framework") } else { row.text("software") };
    Ok(RunRow {
        id: row.text("id").to_owned(),
        source: row.text("source_key").to_owned(),
        model: row.text("model").to_owned(),
        device: run.cluster.device.clone(),
        software: software.to_owned(),
        run,
        measured,
        assumed: row.assumed,
    })
}

fn cluster(row: &Fields, clusters: &Clusters) -> Result<Cluster, Refusal> {
    if row.is_empty("cluster") {
        return Err(row.refuse("cluster", "a known cluster, or a device_class whose common cluster is known"));
    }
    let cluster =
        clusters.find(row.text("cluster")).map_err(|error| row.refuse("cluster", error.to_string()))?.clone();
    // `device_class` is checked where the catalogue knows it.
    let stated = Catalogue::built_in().candidates(row.text("device_class")).unwrap_or_default();
    if !stated.is_empty() && !stated.iter().any(|device| device.name == cluster.device) {
        return Err(row.refuse("device_class", format!("the device of {}, {}", cluster.name, cluster.device)));
    }
    match row.optional_count::<u32>("devices_per_node")? {
        Some(stated) if stated != cluster.devices_per_node => {
            Err(row.refuse("devices_per_node", format!("{} of {}", cluster.devices_per_node, cluster.name)))
        }
        _ => Ok(cluster),
    }
}

/// What a step can take: beyond it errors are no numbers, and one row would rule every mean.
const STEP_SECONDS: std::ops::RangeInclusive<f64> = 1e-6..=1e7;

fn measured(row: &Fields, run: &Run) -> Result<Measured, Refusal> {
    let samples = run.batch.global as f64;
    let tokens = samples * run.batch.sequence as f64;
    let devices = f64::from(run.devices);
    let columns = [
        ("step_time_s", StepTimeSource::StepTime, None),
        ("derived_step_time_s", StepTimeSource::Derived, None),
        ("samples_per_s", StepTimeSource::Throughput, Some(samples)),
        ("tokens_per_s", StepTimeSource::Throughput, Some(tokens)),
        ("tokens_per_s_per_device", StepTimeSource::Throughput, Some(tokens / devices)),
    ];
    for (column, from, work) in columns {
        if let Some(figure) = row.positive(column)? {
            let seconds = work.map_or(figure, |work| work / figure);
            if !STEP_SECONDS.contains(&seconds) {
                return Err(row.refuse(column, "a step of 1 microsecond to 1e7 seconds"));
            }
            return Ok(Measured {
                step_ns: (seconds * 1e9).round() as i64,
                from,
                mfu: row.positive("mfu_pct")?.map(|percent| percent / 100.0),
                convention: row.text("convention").to_owned(),
                memory_bytes: row.positive("memory_gib")?.map(|gib| gib * 1_073_741_824.0),
            });
        }
    }
    Err(row.refuse("step_time_s", "seconds a step, or a throughput"))
}
