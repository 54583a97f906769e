//! The step time, MFU and memory of a layout.

use std::path::{Path, PathBuf};

use goodput_predict::run::Run;
use goodput_predict::step::Predictor;
use goodput_report::PredictionView;
use serde::Deserialize;

use crate::error::{Place, VerbError};
use crate::request::ReportRequest;

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
    let path = &request.run;
    let text = std::fs::read_to_string(path).map_err(|e| VerbError::io(path, &e))?;
    let label = path.display().to_string();
    let refused = |message: String| {
        VerbError::new(message)
            .help("examples/run.yaml has every field")
            .at(Place { path: Some(label.clone()), ..Place::default() })
    };
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let run = Run::from_yaml(&label, &text, folder).map_err(|e| refused(e.to_string()))?;
    let mut predictor = Predictor::new(&run.cluster).map_err(|e| refused(format!("{label}: {e}")))?;
    if let Some(deviation) = request.straggler_deviation {
        if !(0.0..1.0).contains(&deviation) {
            return Err(VerbError::new(format!("--stragglers {deviation}: expected a share from 0 to 1")));
        }
        predictor = predictor.with_stragglers(deviation);
    }
    let prediction = predictor.predict(&run).map_err(|e| refused(format!("{label}: {e}")))?;
    Ok(PredictionView::new(&run, &prediction, &request.report.settings()?))
}
