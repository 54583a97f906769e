//! A predicted step against the traced one: which term holds the gap.

use std::path::PathBuf;

use goodput_explain::Explanation;
use goodput_explain::predicted::{Predicted, predict};
use goodput_model::device::Catalogue;
use goodput_report::ExplainView;
use goodput_trace::reading::FileReading;
use serde::Deserialize;

use crate::Answer;
use crate::error::VerbError;
use crate::measured_tables::MeasuredTables;
use crate::request::ReportRequest;
use crate::run_file::{read_run, refused};
use crate::trace::{self, Progress, TraceRequest};

/// `goodput explain`: a run, traces of it, and how to report them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExplainRequest {
    /// The run (`examples/run.yaml`).
    pub run: PathBuf,
    /// Files of measured tables, one a device, in front of the shipped ones.
    pub tables: Vec<PathBuf>,
    /// Traces, and directories to walk.
    pub traces: Vec<PathBuf>,
    /// Ranks that the user states, as `FILE=RANK`.
    pub ranks: Vec<String>,
    /// Compare the stamps of ranks as they are.
    pub raw_clocks: bool,
    /// Relative standard deviation of the devices' speeds: the step waits for the slowest. None unless stated.
    pub straggler_deviation: Option<f64>,
    /// Where the caller writes the report: refused where it is one of the inputs.
    pub output: Option<PathBuf>,
    /// Title.
    pub report: ReportRequest,
}

/// Predicts the run, reads the traces and lines the two up. The answer falls short where the step is not as predicted, the
/// traces are of another job, or their reading is questioned.
///
/// # Errors
/// [`VerbError`] names the field of the run, the trace that cannot be read, or that no trace holds a step.
pub fn explain(request: &ExplainRequest, progress: Progress<'_>) -> Result<Answer<ExplainView>, VerbError> {
    let mut run = read_run(&request.run)?;
    MeasuredTables::read(&request.tables)?.require_on(&mut run.cluster)?;
    let deviation = request.straggler_deviation.unwrap_or(0.0);
    if !(0.0..1.0).contains(&deviation) {
        return Err(VerbError::new(format!("--stragglers {deviation}: expected a share from 0 to 1")));
    }
    let (prediction, evidence) = predict(&run, deviation).map_err(|why| refused(&request.run, why))?;
    let traces = TraceRequest {
        paths: request.traces.clone(),
        ranks: request.ranks.clone(),
        raw_clocks: request.raw_clocks,
        output: request.output.clone(),
        ..TraceRequest::default()
    };
    let (analysis, set) = trace::analysed(&traces, Catalogue::built_in(), progress)?;
    trace::refuse_overwriting(&traces, &set)?;
    if analysis.judged_steps() == 0 {
        return Err(VerbError::new(
            "--trace: no trace holds a step with device work: there is nothing to compare",
        )
        .help("trace a few steady steps with the device's activities (docs/trace.md)"));
    }
    let of_stages = |stages: &[usize]| Predicted::new(&prediction, &evidence, stages);
    let explanation = Explanation::new(&run, of_stages, &analysis);
    let mut warnings = trace::warnings(&analysis, &set);
    let questioned = set.files.iter().any(FileReading::is_degraded) || !warnings.is_empty();
    warnings.extend(trace::passed_over(&set.passed_over));
    let view = ExplainView::new(&run, &prediction, &explanation, warnings, &request.report.settings()?);
    let falls_short = questioned || !view.is_as_predicted();
    Ok(Answer { view, falls_short })
}
