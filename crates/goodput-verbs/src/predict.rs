//! The step time, MFU and memory of a layout.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use goodput_predict::measured::Coverage;
use goodput_predict::schedule::{Picture, Pipeline, chrome_trace};
use goodput_predict::step::Predictor;
use goodput_report::{MeasuredHereView, PredictionView};
use serde::Deserialize;

use crate::error::VerbError;
use crate::measured_tables::MeasuredTables;
use crate::request::ReportRequest;
use crate::run_file::{read_run, refused};
use crate::validate::factors_of;

/// `goodput predict`: a run, and how to report it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PredictRequest {
    /// The run (`examples/run.yaml`).
    pub run: PathBuf,
    /// Files of measured tables, one a device, in front of the shipped ones.
    pub tables: Vec<PathBuf>,
    /// Relative standard deviation of the devices' speeds: the step waits for the slowest. None unless stated.
    pub straggler_deviation: Option<f64>,
    /// Also make the picture that a page draws. JSON and tables have none.
    pub picture: bool,
    /// Write the simulated step as a trace for Perfetto to this file; gzipped when its name ends so.
    pub trace: Option<PathBuf>,
    /// Factors on the times, as `goodput validate --calibrate` found them. None unless asked for.
    pub calibration: Option<PathBuf>,
    /// The software whose factors count, where the calibration has several of the device.
    pub software: Option<String>,
    /// Title.
    pub report: ReportRequest,
}

/// Predicts one step of a run.
///
/// # Errors
/// [`VerbError`] names the field of the run, what was found and what to write.
pub fn predict(request: &PredictRequest) -> Result<PredictionView, VerbError> {
    let mut run = read_run(&request.run)?;
    MeasuredTables::read(&request.tables)?.require_on(&mut run.cluster)?;
    let refused = |why| refused(&request.run, why);
    let mut predictor = Predictor::new(&run.cluster).map_err(refused)?;
    if let Some(deviation) = request.straggler_deviation {
        if !(0.0..1.0).contains(&deviation) {
            return Err(VerbError::new(format!("--stragglers {deviation}: expected a share from 0 to 1")));
        }
        predictor = predictor.with_stragglers(deviation);
    }
    let mut applied = None;
    if let Some(path) = &request.calibration {
        let (factors, view) = factors_of(path, request.software.as_deref(), &run)?;
        predictor = predictor.with_factors(factors);
        applied = Some(view);
    }
    let prediction = predictor.predict(&run).map_err(refused)?;
    let evidence = predictor.evidence(&run, &prediction).map_err(refused)?;
    let view = PredictionView::new(&run, &prediction, &evidence, &request.report.settings()?);
    let mut view = PredictionView { calibration: applied, ..view };
    if let Some(measured) = &run.cluster.measured {
        let coverage = Coverage::of(&run, predictor.tables()).map_err(refused)?;
        view.measured_here = Some(MeasuredHereView::new(measured.label(), &coverage));
    }
    if !request.picture && request.trace.is_none() {
        return Ok(view);
    }
    let (pipeline, picture) = predictor.picture(&run).map_err(refused)?;
    if let Some(path) = &request.trace {
        write_trace(path, &pipeline, &picture).map_err(|e| VerbError::io(path, &e))?;
    }
    Ok(if request.picture { view.with_picture(&picture) } else { view })
}

fn write_trace(path: &Path, pipeline: &Pipeline, picture: &Picture) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    if path.extension().is_some_and(|ending| ending == "gz") {
        let mut packed = BufWriter::new(GzEncoder::new(file, Compression::default()));
        chrome_trace(pipeline, picture, &mut packed)?;
        let packed = packed.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        return packed.finish()?.flush();
    }
    chrome_trace(pipeline, picture, &mut file)?;
    file.flush()
}
