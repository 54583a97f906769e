//! Rows of RUNS.csv from what teams have: MLflow stores, job timelines, step traces.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use goodput_model::device::Catalogue;
use goodput_predict::cluster::Clusters;
use goodput_predict::validate::{
    CollectedRow, Collector, LEAST_STEPS, MeasuredStep, ParameterMap, RunLog, write_runs,
};
use goodput_records::experiment::{ExperimentRun, RunStatus, is_mlflow, megatron_arguments, read_mlflow};
use goodput_report::{CollectedRunView, CollectionView, RefusedRunView, RefusedSourceView, ViewSettings};
use serde::Deserialize;

use super::same_file;
use crate::error::{Place, VerbError};
use crate::inputs::Inputs;
use crate::request::{TimelineRequest, WindowRequest};
use crate::trace::{self, TraceRequest};
use crate::{Answer, model, timeline};

/// What to name.
const SOURCES: &str = "name MLflow stores or exports, job logs or step traces (docs/validation.md)";

/// `goodput validate collect`: where measured runs are, and what they leave unsaid.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CollectRequest {
    /// MLflow stores and exports, job logs, step traces: files and folders.
    pub sources: Vec<PathBuf>,
    /// RUNS.csv.
    pub output: PathBuf,
    /// A site's own names and values (docs/validation.md).
    pub map: Option<PathBuf>,
    /// The model of all runs: a known name, `config.json` or our YAML.
    pub model: Option<String>,
    /// The cluster of all runs.
    pub cluster: Option<String>,
}

/// Collects the runs of every source and writes RUNS.csv. What falls short: a source, run or line that is refused, and rows
/// that lack a column.
///
/// # Errors
/// [`VerbError`] when no run is found, or the map, the model or the output cannot be used.
pub fn collect(request: &CollectRequest, inputs: &mut Inputs) -> Result<Answer<CollectionView>, VerbError> {
    if request.sources.is_empty() {
        return Err(VerbError::new("no source is named, so no row can be written").help(SOURCES));
    }
    let collector = collector(request)?;
    let taken = request.sources.iter().chain(&request.map).any(|source| {
        same_file(source, &request.output) || (source.is_dir() && is_inside(source, &request.output))
    });
    if taken {
        return Err(VerbError::new(format!("{} is among the sources", request.output.display()))
            .help("write RUNS.csv outside of them: -o FILE"));
    }
    let mut found = Found::default();
    for source in &request.sources {
        found.source(source, &collector, inputs);
    }
    let (rows, refused) = found.rows(&collector);
    if rows.is_empty() {
        let why = found
            .refused_sources
            .first()
            .map(|source| format!("{}: {}", source.source, source.reason))
            .or_else(|| refused.first().map(|run| format!("{}: {}", run.id, run.message())))
            .unwrap_or_else(|| {
                let names: Vec<_> =
                    request.sources.iter().map(|source| source.display().to_string()).collect();
                format!("{}: no run in it", names.join(", "))
            });
        return Err(VerbError::new(format!("no row can be written: {why}")).help(SOURCES));
    }
    let file = File::create(&request.output).map_err(|e| VerbError::io(&request.output, &e))?;
    write_runs(rows.iter().map(|(_, row)| row), std::io::BufWriter::new(file))
        .map_err(|e| VerbError::new(format!("{}: {e}", request.output.display())))?;
    let output = request.output.display().to_string();
    let runs = rows.iter().map(|(log, row)| CollectedRunView::new(log, row)).collect();
    let view = CollectionView::new(
        &output,
        runs,
        refused,
        found.refused_sources,
        &inputs.report,
        &ViewSettings::default(),
    );
    let falls_short = !view.refused.is_empty()
        || !view.refused_sources.is_empty()
        || view.partial > 0
        || inputs.report.is_degraded();
    Ok(Answer { view, falls_short })
}

fn is_inside(folder: &Path, file: &Path) -> bool {
    let parent =
        file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    // A folder that holds logs is where people write RUNS.csv too; a store is not.
    is_mlflow(folder)
        && folder
            .canonicalize()
            .is_ok_and(|folder| parent.canonicalize().is_ok_and(|parent| parent.starts_with(folder)))
}

fn collector(request: &CollectRequest) -> Result<Collector, VerbError> {
    let mut map = ParameterMap::default();
    if let Some(path) = &request.map {
        let text = std::fs::read_to_string(path).map_err(|e| VerbError::io(path, &e))?;
        let label = path.display().to_string();
        map = ParameterMap::from_yaml(&label, &text).map_err(|e| {
            VerbError::new(e.to_string())
                .help("a map has `set`, `columns`, `values` and `step_time` (docs/validation.md)")
                .at(Place { path: Some(label), ..Place::default() })
        })?;
    }
    let mut collector = Collector::new(map);
    if let Some(name) = &request.model {
        let architecture = model::architecture(name)?;
        collector = collector.with_model(&architecture).map_err(|e| {
            VerbError::new(format!("--{e}")).help("state what columns can say under `set` in --map")
        })?;
    }
    if let Some(name) = &request.cluster {
        let cluster =
            Clusters::built_in().find(name).map_err(|e| VerbError::new(format!("--cluster: {e}")))?;
        collector = collector.with_cluster(&cluster.name);
    }
    Ok(collector)
}

/// Runs as they are found.
#[derive(Default)]
struct Found {
    logs: Vec<RunLog>,
    refused_sources: Vec<RefusedSourceView>,
}

impl Found {
    fn source(&mut self, source: &Path, collector: &Collector, inputs: &mut Inputs) {
        let read = if !source.exists() {
            Err("there is no such file or folder".to_owned())
        } else if is_mlflow(source) {
            self.mlflow(source, collector, inputs)
        } else if source.is_dir() {
            self.trace(source, inputs)
        } else {
            self.timeline(source, inputs).or_else(|of_timeline| {
                self.trace(source, inputs)
                    .map_err(|of_trace| format!("no job log: {of_timeline}; no step trace: {of_trace}"))
            })
        };
        if let Err(reason) = read {
            self.refused_sources.push(RefusedSourceView { source: source.display().to_string(), reason });
        }
    }

    fn mlflow(&mut self, source: &Path, collector: &Collector, inputs: &mut Inputs) -> Result<(), String> {
        let found = read_mlflow(source, &|metric| collector.wants(metric)).map_err(|e| e.to_string())?;
        inputs.read(found.report);
        self.logs.extend(found.runs.into_iter().map(of_experiment));
        Ok(())
    }

    /// The step is f, the accounting's median of the steady fault-free steps.
    fn timeline(&mut self, source: &Path, inputs: &mut Inputs) -> Result<(), String> {
        let request = TimelineRequest {
            files: vec![source.to_owned()],
            // Lengths of steps are asked for, no instants: the zone of stamps without one does not matter.
            window: WindowRequest { time_zone: Some("UTC".to_owned()), ..WindowRequest::default() },
            ..TimelineRequest::default()
        };
        let (timeline, account) = timeline::runtime_account(&request, inputs).map_err(|e| e.to_string())?;
        let label = source.display().to_string();
        let file = File::open(source).map_err(|e| e.to_string())?;
        let params = megatron_arguments(&label, file).map_err(|e| e.to_string())?;
        let mut log = RunLog {
            id: timeline.job.clone().unwrap_or_else(|| stem(source)),
            source_key: "timelines".to_owned(),
            source: label.clone(),
            params,
            ..RunLog::default()
        };
        let times = account.step_times;
        match account.fault_free_step_ns {
            Some(f) if times.count >= LEAST_STEPS => {
                log.step = Some(MeasuredStep {
                    value: f as f64 / 1e9,
                    column: "step_time_s",
                    from: "timeline: f, fault-free step".to_owned(),
                    steps: times.count,
                    of: account.steps.executed,
                    numbers: None,
                    spread: vec![("p50", times.p50_ns as f64 / 1e9), ("p90", times.p90_ns as f64 / 1e9)],
                });
            }
            _ => log.notes.push(format!(
                "{} steady steps in the timeline, at least {LEAST_STEPS} are needed",
                times.count
            )),
        }
        let devices = timeline.devices.or(account.devices_known.then_some(account.devices));
        if let Some(devices) = devices {
            log.stated.push(("n_devices", devices.to_string(), label.clone()));
        }
        if let Some((name, version)) = timeline.software.first() {
            log.stated.push(("software", format!("{name} {version}").trim().to_owned(), label));
        }
        self.logs.push(log);
        Ok(())
    }

    /// The step is the median of the judged steps of all ranks.
    fn trace(&mut self, source: &Path, inputs: &mut Inputs) -> Result<(), String> {
        let request = TraceRequest { paths: vec![source.to_owned()], ..TraceRequest::default() };
        let (analysis, set) =
            trace::analysed(&request, Catalogue::built_in(), None).map_err(|e| e.to_string())?;
        inputs.traces(&set.files);
        let label = source.display().to_string();
        let mut log = RunLog {
            id: stem(source),
            source_key: "traces".to_owned(),
            source: label.clone(),
            ..RunLog::default()
        };
        let windows = analysis.ranks.iter().flat_map(|rank| rank.judged());
        let mut times: Vec<f64> =
            windows.map(|partition| (partition.window.1 - partition.window.0) as f64 / 1e9).collect();
        times.sort_by(f64::total_cmp);
        if let Some(value) = median(&times) {
            log.step = Some(MeasuredStep {
                value,
                column: "step_time_s",
                from: format!("trace: judged steps of {} ranks", analysis.ranks.len()),
                steps: times.len() as u64,
                of: analysis.ranks.iter().map(|rank| rank.steps.steps.len() as u64).sum(),
                numbers: None,
                spread: vec![("shortest", times[0]), ("longest", times[times.len() - 1])],
            });
        }
        let identities = analysis.ranks.iter().map(|rank| &rank.trace.identity);
        if let Some(world) = identities.filter_map(|identity| identity.world_size).max() {
            log.stated.push(("n_devices", world.to_string(), label));
        }
        self.logs.push(log);
        Ok(())
    }

    /// Every run with its row, and those that contradict themselves.
    fn rows(&mut self, collector: &Collector) -> (Vec<(RunLog, CollectedRow)>, Vec<RefusedRunView>) {
        one_id_each(&mut self.logs);
        let (mut rows, mut refused) = (Vec::new(), Vec::new());
        for log in std::mem::take(&mut self.logs) {
            match collector.row(&log) {
                Ok(row) => rows.push((log, row)),
                Err(conflict) => refused.push(RefusedRunView::new(&log, conflict)),
            }
        }
        (rows, refused)
    }
}

fn of_experiment(run: ExperimentRun) -> RunLog {
    let mut notes = Vec::new();
    if matches!(run.status, RunStatus::Failed | RunStatus::Killed | RunStatus::Running) {
        notes.push(format!("the run is {}; its steady steps count", run.status.word()));
    }
    let latest_only = run
        .metrics
        .iter()
        .filter(|(_, series)| series.is_latest_only)
        .map(|(name, _)| name.clone())
        .collect();
    let histories = run
        .metrics
        .into_iter()
        .map(|(name, series)| (name, series.points.iter().map(|point| (point.step, point.value)).collect()));
    RunLog {
        id: if run.name.is_empty() { run.id.clone() } else { run.name },
        source_key: run.experiment,
        source: format!("{} run {}", run.place.display(), run.id),
        params: run.params,
        metrics: histories.collect(),
        latest_only,
        notes,
        ..RunLog::default()
    }
}

/// Names that several runs share become `NAME-1`, `NAME-2`, … in the order of the sources.
fn one_id_each(logs: &mut [RunLog]) {
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for log in logs.iter() {
        *uses.entry(log.id.clone()).or_default() += 1;
    }
    let mut given: BTreeMap<String, usize> = BTreeMap::new();
    for log in logs.iter_mut().filter(|log| uses[&log.id] > 1) {
        let number = given.entry(log.id.clone()).or_default();
        *number += 1;
        log.id = format!("{}-{number}", log.id);
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn median(ascending: &[f64]) -> Option<f64> {
    let middle = ascending.len() / 2;
    match ascending {
        [] => None,
        values if values.len() % 2 == 1 => Some(values[middle]),
        values => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_source_is_told_what_to_name() {
        let error = collect(&CollectRequest::default(), &mut Inputs::default()).err();
        let text = error.map(|e| format!("{e} {:?}", e.remedy())).unwrap_or_default();
        assert!(text.contains("no source is named") && text.contains("MLflow"), "{text}");
    }
}
