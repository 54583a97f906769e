//! The step time, MFU and memory of a layout.

use std::path::PathBuf;

use goodput_predict::step::Predictor;
use goodput_report::PredictionView;
use serde::Deserialize;

use crate::error::VerbError;
use crate::request::ReportRequest;
use crate::run_file::{read_run, refused};

/// `goodput predict`: a run, and how to report it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PredictRequest {
    /// The run (`examples/run.yaml`).
    pub run: PathBuf,
    /// Relative standard deviation of the devices' speeds: the step waits for the slowest. None unless stated.
    pub straggler_deviation: Option<f64>,
    /// Title.
    pub report: ReportRequest,
}

/// Predicts one step of a run.
///
/// # Errors
/// [`VerbError`] names the field of the run, what was found and what to write.
pub fn predict(request: &PredictRequest) -> Result<PredictionView, VerbError> {
    let run = read_run(&request.run)?;
    let refused = |why| refused(&request.run, why);
    let mut predictor = Predictor::new(&run.cluster).map_err(refused)?;
    if let Some(deviation) = request.straggler_deviation {
        if !(0.0..1.0).contains(&deviation) {
            return Err(VerbError::new(format!("--stragglers {deviation}: expected a share from 0 to 1")));
        }
        predictor = predictor.with_stragglers(deviation);
    }
    let prediction = predictor.predict(&run).map_err(refused)?;
    Ok(PredictionView::new(&run, &prediction, &request.report.settings()?))
}
