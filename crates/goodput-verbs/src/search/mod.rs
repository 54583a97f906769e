//! Every feasible layout of a run, ranked.

mod outlook;
mod write;

use std::path::PathBuf;

use goodput_predict::search::{
    Answer, Candidate, Goal, Predicted, Progress, Rank, Refused, Space, search as find,
};
use goodput_predict::step::Predictor;
use goodput_report::{SearchInput, SearchView};
use serde::Deserialize;

use crate::error::VerbError;
use crate::measured_tables::MeasuredTables;
use crate::request::ReportRequest;
use crate::run_file::{read_run_for_search, refused};
use crate::validate::factors_of;

/// `goodput search`: a run whose layout is to be found.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchRequest {
    /// The run (`examples/run.yaml`); its own layout gives the switches.
    pub run: PathBuf,
    /// Files of measured tables, one a device, in front of the shipped ones.
    pub tables: Vec<PathBuf>,
    /// Devices to try, over the run's own: `64`, `8..512` (doubled from the first to the last), `8..64:8` (in steps of 8).
    pub devices: Vec<String>,
    /// How many of the best to show.
    pub top: usize,
    /// Narrows the space: `tp<=8`, `memory<=70`, `recompute=none,full` ([`Space::constrain`]).
    pub constraints: Vec<String>,
    /// Rank by device-time, the cheapest result, instead of step time.
    pub by_device_time: bool,
    /// Also find all that no other beats in time, memory and devices at once.
    pub pareto: bool,
    /// Factors on the times, as `goodput validate --calibrate` found them. None unless asked for.
    pub calibration: Option<PathBuf>,
    /// The software whose factors count, where the calibration has several of the device.
    pub software: Option<String>,
    /// Tokens of the whole job: ranks by the time to the result.
    pub tokens: Option<f64>,
    /// Wait in the queue: `24h`, or `512=24h` for so many devices.
    pub queue_wait: Vec<String>,
    /// Share of the held time in retained steps: `0.9`, or `512=0.85`.
    pub runtime_goodput: Vec<String>,
    /// Write the run with the best layout to this file.
    pub write: Option<PathBuf>,
    /// Title and price.
    pub report: ReportRequest,
}

impl Default for SearchRequest {
    fn default() -> Self {
        Self {
            run: PathBuf::new(),
            tables: Vec::new(),
            devices: Vec::new(),
            top: 10,
            constraints: Vec::new(),
            by_device_time: false,
            pareto: false,
            calibration: None,
            software: None,
            tokens: None,
            queue_wait: Vec::new(),
            runtime_goodput: Vec::new(),
            write: None,
            report: ReportRequest::default(),
        }
    }
}

/// Searches the layouts of a run. `progress` is called as it goes, from any thread.
///
/// # Errors
/// [`VerbError`] names the field of the run or the constraint, and what to write.
pub fn search(
    request: &SearchRequest,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<SearchView, VerbError> {
    let mut run = read_run_for_search(&request.run)?;
    MeasuredTables::read(&request.tables)?.require_on(&mut run.cluster)?;
    let refuse = |why| refused(&request.run, why);
    let mut space = Space::of(&run);
    if !request.devices.is_empty() {
        space.devices = outlook::devices(&request.devices)?;
    }
    for constraint in &request.constraints {
        space.constrain(constraint).map_err(|e| VerbError::new(format!("--{e}")))?;
    }
    let mut evaluate = Predicted::new(&run).map_err(refuse)?.with_memory_limit(space.memory_bytes);
    let mut predictor = Predictor::new(&run.cluster).map_err(refuse)?;
    let mut applied = None;
    if let Some(path) = &request.calibration {
        let (factors, view) = factors_of(path, request.software.as_deref(), &run)?;
        evaluate = evaluate.with_factors(factors);
        predictor = predictor.with_factors(factors);
        applied = Some(view);
    }
    let outlook = outlook::outlook(request, &run)?;
    let rank = match &outlook {
        _ if request.by_device_time => Rank::DeviceTime,
        Some(outlook) => Rank::TimeToResult(outlook.clone()),
        None => Rank::Time,
    };
    let goal = Goal { top: request.top.max(1), rank: rank.clone(), pareto: request.pareto };
    let (_, left_out) = space.families_and_refused(&run);
    let answer = find(&space, &run, &evaluate, goal, progress);
    let Some(best) = answer.best.first() else { return Err(nothing(request, &answer, &left_out)) };
    if let Some(path) = &request.write {
        write::best(&request.run, &best.candidate, path)?;
    }
    // The few that are shown, once more and term by term.
    let mut predicted = |candidate: &Candidate| {
        let mut run = run.clone();
        candidate.apply(&mut run);
        predictor.predict(&run).ok()
    };
    let input = SearchInput {
        run: &run,
        answer: &answer,
        rank: &rank,
        outlook: outlook.as_ref(),
        refused: &left_out,
    };
    let view = SearchView::new(&input, &mut predicted, &request.report.settings()?);
    Ok(SearchView { calibration: applied, ..view })
}

/// Why no layout can run.
fn nothing(request: &SearchRequest, answer: &Answer, left_out: &Refused) -> VerbError {
    let progress = &answer.progress;
    let mut why: Vec<String> =
        left_out.iter().map(|(rule, count)| format!("{}: {count}", rule.label())).collect();
    if progress.too_large > 0 {
        why.push(format!("does not fit in memory: {} layouts", progress.too_large));
    }
    if progress.no_time > 0 {
        why.push(format!("no kernel or no schedule: {} layouts", progress.no_time));
    }
    VerbError::new(format!(
        "{}: none of {} layouts can run ({})",
        request.run.display(),
        progress.candidates,
        if why.is_empty() { "the constraints leave none".to_owned() } else { why.join("; ") }
    ))
    .help("try more devices, fewer constraints, or a smaller micro-batch")
}
