//! Where the device-time of the steps went, over all ranks of a set of traces.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use goodput_model::device::Catalogue;
use goodput_report::{TraceBeside, TraceView};
use goodput_trace::analysis::{Analysis, AnalysisOptions, analyse};
use goodput_trace::peers::{ClockCorrection, PeerOptions};
use goodput_trace::read::{ReadOptions, TraceSet, read_traces};
use goodput_trace::reading::{FileReading, ReadError};
use goodput_trace::untraced;
use goodput_trace::write::{write_annotated, write_intervals, write_kernels};
use serde::Deserialize;

use crate::error::{Place, VerbError};
use crate::inputs::Inputs;
use crate::request::{ReportRequest, TimelineRequest};
use crate::trace_model::{self, TraceModelRequest};
use crate::trace_plan::{self, Known, SamplingRequest};
use crate::{Answer, contract, device, timeline};

/// `goodput trace`: traces, and how to analyse them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceRequest {
    /// Files, and directories to walk.
    pub paths: Vec<PathBuf>,
    /// Ranks that the user states, as `FILE=RANK`.
    pub ranks: Vec<String>,
    /// Compare the stamps of ranks as they are.
    pub raw_clocks: bool,
    /// The device of all ranks, over what the traces say.
    pub device: Option<String>,
    /// More devices than the catalogue's own.
    pub device_file: Option<PathBuf>,
    /// The model, for the work that a step requires.
    pub model: Option<TraceModelRequest>,
    /// Mesh and sharding, for the collective audit.
    pub mesh: Option<PathBuf>,
    /// What to trace next.
    pub sampling: Option<SamplingRequest>,
    /// The job's own timeline, for the length of untraced steps.
    pub timeline: Vec<PathBuf>,
    /// What is known of the measurement beside the traces (`examples/contract.yaml`).
    pub contract: Option<PathBuf>,
    /// Rows of kernels and operators.
    pub top: usize,
    /// Write an annotated trace for Perfetto to this file; gzipped when its name ends so.
    pub annotate: Option<PathBuf>,
    /// Write `kernels.parquet` and `intervals.parquet` into this folder.
    pub parquet: Option<PathBuf>,
    /// Where the caller writes the report: refused where it is one of the inputs.
    pub output: Option<PathBuf>,
    /// Title and price.
    pub report: ReportRequest,
}

impl Default for TraceRequest {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            ranks: Vec::new(),
            raw_clocks: false,
            device: None,
            device_file: None,
            model: None,
            mesh: None,
            sampling: None,
            timeline: Vec::new(),
            contract: None,
            top: 50,
            annotate: None,
            parquet: None,
            output: None,
            report: ReportRequest::default(),
        }
    }
}

/// Told the bytes of the traces as they are read, from several threads.
pub type Progress<'a> = Option<&'a (dyn Fn(u64) + Sync)>;

/// Reads the traces and says where the device-time of their steps went.
///
/// # Errors
/// [`VerbError`] when a trace cannot be read, ranks cannot be told apart, or the request contradicts itself.
pub fn trace(
    request: &TraceRequest,
    inputs: &mut Inputs,
    progress: Progress<'_>,
) -> Result<Answer<TraceView>, VerbError> {
    let mesh = request.mesh.as_deref().map(trace_plan::mesh).transpose()?;
    let catalogue = device::catalogue(request.device_file.as_deref())?;
    let (analysis, set) = analysed(request, &catalogue, progress)?;
    refuse_overwriting(request, &set)?;
    let job = if request.timeline.is_empty() {
        None
    } else {
        let job = TimelineRequest { files: request.timeline.clone(), ..TimelineRequest::default() };
        Some(timeline::runtime_account(&job, inputs)?)
    };
    let known = Known {
        mesh: mesh.as_ref().map(|plan| &plan.mesh),
        analysis: Some((&analysis, &set.files)),
        timeline: job.as_ref().map(|(timeline, account)| (timeline, account)),
    };
    let model = request
        .model
        .as_ref()
        .map(|model| trace_model::measure(model, request.device.as_deref(), &catalogue, &analysis));
    let mut beside = TraceBeside {
        device: request.device.clone(),
        untraced: job.as_ref().and_then(|(_, account)| untraced::compare(&analysis, account)),
        model: model.transpose()?,
        audit: mesh.as_ref().map(|plan| trace_plan::audit(plan, &analysis)).transpose()?,
        sampling: request.sampling.as_ref().map(|ask| trace_plan::sampling(ask, &known)).transpose()?,
        warnings: warnings(&analysis, &set),
    };
    let falls_short = set.files.iter().any(FileReading::is_degraded) || !beside.warnings.is_empty();
    beside.warnings.extend(passed_over(&set.passed_over));
    let mut view = TraceView::new(&analysis, &set.files, beside, request.top, &request.report.settings()?);
    contract::state(request.contract.as_deref(), |label, yaml| view.contract.known.state(label, yaml))?;
    write_beside(request, &analysis)?;
    Ok(Answer { view, falls_short })
}

/// Traces are measured once: no output may take the place of an input.
pub(crate) fn refuse_overwriting(request: &TraceRequest, set: &ReadFiles) -> Result<(), VerbError> {
    let named = [&request.mesh, &request.device_file, &request.contract];
    let inputs = set.files.iter().map(|file| &file.path).chain(&request.timeline);
    let inputs: Vec<_> =
        inputs.chain(named.into_iter().flatten()).filter_map(|p| p.canonicalize().ok()).collect();
    let mut outputs: Vec<PathBuf> = request.annotate.iter().chain(&request.output).cloned().collect();
    outputs.extend(request.parquet.iter().flat_map(|folder| PARQUET.map(|name| folder.join(name))));
    match outputs.iter().find(|path| path.canonicalize().is_ok_and(|path| inputs.contains(&path))) {
        Some(path) => Err(VerbError::new(format!("{}: it is one of the inputs", path.display()))
            .help("write to another file: the input would be lost")),
        None => Ok(()),
    }
}

/// Tables of `--parquet`: of device work, and of what each interval is charged to.
const PARQUET: [&str; 2] = ["kernels.parquet", "intervals.parquet"];

/// Writes the files that the request asks for beside the report.
fn write_beside(request: &TraceRequest, analysis: &Analysis) -> Result<(), VerbError> {
    let create = |path: &Path| File::create(path).map(BufWriter::new).map_err(|e| VerbError::io(path, &e));
    if let Some(path) = &request.annotate {
        let file = create(path)?;
        let written = if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz")) {
            write_annotated(analysis, GzEncoder::new(file, Compression::default()))
        } else {
            write_annotated(analysis, file)
        };
        written.map_err(|e| VerbError::io(path, &e))?;
    }
    if let Some(folder) = &request.parquet {
        std::fs::create_dir_all(folder).map_err(|e| VerbError::io(folder, &e))?;
        let [kernels, intervals] = PARQUET.map(|name| folder.join(name));
        write_kernels(analysis, create(&kernels)?).map_err(|e| VerbError::io(&kernels, &e))?;
        write_intervals(analysis, create(&intervals)?).map_err(|e| VerbError::io(&intervals, &e))?;
    }
    Ok(())
}

/// The files of the traces that were read.
pub(crate) struct ReadFiles {
    pub files: Vec<FileReading>,
    pub passed_over: Vec<PathBuf>,
}

pub(crate) fn analysed(
    request: &TraceRequest,
    catalogue: &Catalogue,
    progress: Progress<'_>,
) -> Result<(Analysis, ReadFiles), VerbError> {
    let stated_ranks = request.ranks.iter().map(|text| stated_rank(text)).collect::<Result<Vec<_>, _>>()?;
    let options = ReadOptions { stated_ranks: &stated_ranks, progress };
    let TraceSet { ranks, files, passed_over } = read_traces(&request.paths, &options)?;
    let clock_correction =
        if request.raw_clocks { ClockCorrection::None } else { ClockCorrection::default() };
    if let Some(name) = &request.device {
        catalogue.find(name).map_err(|e| VerbError::new(format!("--device: {e}")))?;
    }
    let options = AnalysisOptions {
        peers: PeerOptions { clock_correction },
        catalogue,
        device: request.device.as_deref(),
    };
    Ok((analyse(ranks, options), ReadFiles { files, passed_over }))
}

/// `FILE=RANK`.
fn stated_rank(text: &str) -> Result<(PathBuf, u32), VerbError> {
    text.rsplit_once('=').and_then(|(file, rank)| Some((PathBuf::from(file), rank.parse().ok()?))).ok_or_else(
        || {
            VerbError::new(format!("--rank {text}: expected FILE=RANK, the rank a whole number"))
                .help("for example --rank trace-a.json=3")
        },
    )
}

/// A trace that spans more holds a wrong stamp, as far as anybody has recorded one.
const LONGEST_TRACE_NS: i64 = 86_400_000_000_000;

/// What a person should know before trusting a figure.
pub(crate) fn warnings(analysis: &Analysis, set: &ReadFiles) -> Vec<String> {
    let mut warnings = Vec::new();
    for rank in &analysis.ranks {
        let name = rank.trace.path.display();
        if rank.trace.work.is_empty() {
            warnings.push(format!(
                "{name}: no device work: the trace was taken without the device's activities, or nothing ran on it"
            ));
        } else if rank.steps.evidence.is_fallback() {
            warnings.push(format!("{name}: no profiler steps; boundaries: {}", rank.steps.evidence.label()));
        }
        if rank.whole.as_ref().is_some_and(|whole| whole.window_ns() > LONGEST_TRACE_NS) {
            warnings.push(format!(
                "{name}: device work spans more than a day: a stamp is wrong, or this is no trace of a few steps"
            ));
        }
        let devices = rank.devices();
        if devices > 1 {
            warnings.push(format!(
                "{name}: work of {devices} devices in one trace is charged as that of one: what one computes hides the \
                 idle time of the others. Trace one process a device"
            ));
        }
        if rank.steps.launched_before_capture > 0 {
            warnings.push(format!(
                "{name}: {} pieces of device work were launched before the capture: they belong to an earlier step",
                rank.steps.launched_before_capture
            ));
        }
    }
    warnings.dedup();
    for file in set.files.iter().filter(|file| file.truncated) {
        warnings.push(format!(
            "{}: cut short: figures are over the events before the cut. They need not be in order, so that any step may \
             lack work and look idle",
            file.path.display()
        ));
    }
    warnings
}

/// Files of a folder that are no traces: other things lie beside traces, so that they are named and fall short of nothing.
pub(crate) fn passed_over(files: &[PathBuf]) -> Option<String> {
    let first = files.first()?;
    let (count, are) = if files.len() == 1 {
        ("1 file".to_owned(), "is")
    } else {
        (format!("{} files", files.len()), "are")
    };
    Some(format!("{count} of a folder {are} no trace, {} first", first.display()))
}

impl From<ReadError> for VerbError {
    fn from(error: ReadError) -> Self {
        let (ReadError::Io { path, .. }
        | ReadError::Format { path, .. }
        | ReadError::SameRank { second: path, .. }
        | ReadError::NoRank { path, .. }) = &error;
        let place = Place { path: Some(path.display().to_string()), ..Place::default() };
        Self::new(error.to_string()).at(place)
    }
}
