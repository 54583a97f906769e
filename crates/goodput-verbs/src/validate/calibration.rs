//! Factors by device and software: fitted on one half of the rows, or from a file, and tested on rows that they never saw.

use std::path::{Path, PathBuf};

use goodput_predict::run::Run;
use goodput_predict::step::TimeFactors;
use goodput_predict::validate::{Calibration, CalibrationFile, Evaluation, TestHalf};
use goodput_report::{AppliedFactorView, CalibrationView, ViewSettings};
use serde::Deserialize;

use crate::error::{Place, VerbError};

/// Where the factors are from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationRequest {
    /// Fit them on the stated half of the rows and write them to this file.
    Fit(PathBuf),
    /// Take them from this file.
    Use(PathBuf),
}

impl CalibrationRequest {
    /// The file that is written.
    pub(super) fn output(&self) -> Option<&Path> {
        if let Self::Fit(path) = self { Some(path) } else { None }
    }

    /// The file that is read.
    pub(super) fn input(&self) -> Option<&Path> {
        if let Self::Use(path) = self { Some(path) } else { None }
    }

    /// Errors of rows that the factors never saw, without and with them.
    pub(super) fn answer(
        &self,
        runs: &str,
        evaluation: &Evaluation<'_>,
    ) -> Result<CalibrationView, VerbError> {
        match self {
            Self::Fit(path) => {
                let (half, test) = evaluation.clone().halves();
                let calibration = Calibration::fit(&half);
                if calibration.factors.is_empty() {
                    return Err(VerbError::new(format!(
                        "{runs}: no device with its software has 3 rows in the calibration half"
                    ))
                    .help("a calibration needs at least 3 rows of one device and software version"));
                }
                let seen = evaluation.outcomes.len() - test.uncalibrated().outcomes.len();
                let generated_by = ViewSettings::default().generated_by;
                let file = CalibrationFile::new(calibration, runs, &generated_by);
                let text = file.to_yaml().map_err(|e| VerbError::new(e.to_string()))?;
                std::fs::write(path, text).map_err(|e| VerbError::io(path, &e))?;
                view(path, &file, true, seen, &test)
            }
            Self::Use(path) => {
                let file = read(path)?;
                let (test, seen) = evaluation.clone().unseen_by(&file.calibration());
                view(path, &file, false, seen, &test)
            }
        }
    }
}

fn view(
    path: &Path,
    file: &CalibrationFile,
    fitted: bool,
    seen: usize,
    test: &TestHalf<'_>,
) -> Result<CalibrationView, VerbError> {
    let label = path.display().to_string();
    CalibrationView::new(&label, file, fitted, seen, test).ok_or_else(|| {
        VerbError::new(format!("{label}: no row is left to test on: the factors saw all that they fit"))
            .help("add rows of the same device and software")
    })
}

fn read(path: &Path) -> Result<CalibrationFile, VerbError> {
    let text = std::fs::read_to_string(path).map_err(|e| VerbError::io(path, &e))?;
    let label = path.display().to_string();
    CalibrationFile::from_yaml(&label, &text).map_err(|e| {
        VerbError::new(e.to_string())
            .help("a calibration is what `goodput validate RUNS.csv --calibrate FILE.yaml` writes")
            .at(Place { path: Some(label), ..Place::default() })
    })
}

/// The factors of a run's device: those of the software that is named, or the only ones.
///
/// # Errors
/// [`VerbError`] names the software that has factors where none is chosen.
pub(crate) fn factors_of(
    path: &Path,
    software: Option<&str>,
    run: &Run,
) -> Result<(TimeFactors, AppliedFactorView), VerbError> {
    let file = read(path)?;
    let device = &run.cluster.device;
    let of_device: Vec<_> = file.factors.iter().filter(|factor| factor.device == *device).collect();
    let chosen: Vec<_> =
        of_device.iter().filter(|factor| software.is_none_or(|name| factor.software == name)).collect();
    let [factor] = chosen.as_slice() else {
        let names: Vec<_> = of_device.iter().map(|factor| format!("{:?}", factor.software)).collect();
        let label = path.display();
        return Err(if names.is_empty() {
            VerbError::new(format!("{label}: there are no factors of {device}"))
                .help("a calibration holds for the devices whose runs it was fitted on")
        } else {
            VerbError::new(format!("{label}: factors of {device} are of {}", names.join(", ")))
                .help("name the software: --software NAME")
        });
    };
    let view = AppliedFactorView::new(&path.display().to_string(), &file.runs, factor);
    Ok((factor.times, view))
}
