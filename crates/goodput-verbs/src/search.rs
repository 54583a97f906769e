//! Every feasible layout of a run, ranked.

use std::path::PathBuf;

use goodput_predict::search::{Goal, Predicted, Progress, Rank, Space, search as find};
use goodput_predict::step::Predictor;
use goodput_report::{SearchView, ViewSettings};

use crate::error::VerbError;
use crate::run_file::{read_run, refused};
use crate::validate::factors_of;

/// `goodput search`: a run whose layout is to be found.
#[derive(Debug, Clone, Default)]
pub struct SearchRequest {
    /// The run (`examples/run.yaml`); its own layout gives the switches.
    pub run: PathBuf,
    /// Devices to try, over the run's own.
    pub devices: Vec<u32>,
    /// How many of the best to show.
    pub top: usize,
    /// Narrows degrees: `tp<=8`, `pp=4`, `micro>=2`.
    pub constraints: Vec<String>,
    /// Rank by device-time, the cheapest result, instead of step time.
    pub by_device_time: bool,
    /// Also find all that no other beats in time, memory and devices at once.
    pub pareto: bool,
    /// Factors on the times, as `goodput validate --calibrate` found them. None unless asked for.
    pub calibration: Option<PathBuf>,
    /// The software whose factors count, where the calibration has several of the device.
    pub software: Option<String>,
}

/// Searches the layouts of a run. `progress` is called as it goes, from any thread.
///
/// # Errors
/// [`VerbError`] names the field of the run or the constraint, and what to write.
pub fn search(
    request: &SearchRequest,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<SearchView, VerbError> {
    let run = read_run(&request.run)?;
    let refused = |why| refused(&request.run, why);
    let mut space = Space::of(&run);
    if request.devices.contains(&0) {
        return Err(VerbError::new("--devices: expected a number above 0"));
    }
    if !request.devices.is_empty() {
        space.devices.clone_from(&request.devices);
    }
    for constraint in &request.constraints {
        space.constrain(constraint).map_err(|e| VerbError::new(format!("--{e}")))?;
    }
    let mut evaluate = Predicted::new(&run).map_err(refused)?;
    let mut predictor = Predictor::new(&run.cluster).map_err(refused)?;
    let mut applied = None;
    if let Some(path) = &request.calibration {
        let (factors, view) = factors_of(path, request.software.as_deref(), &run)?;
        evaluate = evaluate.with_factors(factors);
        predictor = predictor.with_factors(factors);
        applied = Some(view);
    }
    let rank = if request.by_device_time { Rank::DeviceTime } else { Rank::Time };
    let goal = Goal { top: request.top.max(1), rank, pareto: request.pareto };
    let answer = find(&space, &run, &evaluate, goal, progress);
    if answer.best.is_empty() {
        return Err(VerbError::new(format!(
            "{}: none of {} layouts can run: degrees do not divide, or nothing fits in memory",
            request.run.display(),
            answer.progress.candidates
        ))
        .help("try more devices, fewer constraints, or a smaller micro-batch"));
    }
    // MFU of the few that are shown.
    let mut mfu = |candidate: &goodput_predict::search::Candidate| {
        let mut run = run.clone();
        candidate.apply(&mut run);
        predictor.predict(&run).ok().map(|prediction| prediction.mfu)
    };
    let view = SearchView::new(&run, &answer, &mut mfu, &ViewSettings::default());
    Ok(SearchView { calibration: applied, ..view })
}
