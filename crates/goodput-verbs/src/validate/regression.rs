//! Errors that may not grow, as a file.

use std::path::PathBuf;

use goodput_predict::validate::{Regression, Report};
use goodput_report::RegressionView;
use serde::Deserialize;

use crate::error::{Place, VerbError};

/// A file of errors that may not grow.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RegressionRequest {
    /// The file.
    pub file: PathBuf,
    /// Write it instead of comparing with it.
    pub record: bool,
    /// How much larger an error may be, as a fraction; in a file that is written. That of the file before, else half a
    /// percentage point.
    pub margin: Option<f64>,
}

const MARGIN: f64 = 0.005;

impl RegressionRequest {
    /// Compares the errors with the file, or writes them into it.
    pub(super) fn answer(&self, report: &Report) -> Result<RegressionView, VerbError> {
        let label = self.file.display().to_string();
        if !self.record {
            let regression = self.read(&label)?;
            let worse = regression.check(report);
            return Ok(RegressionView::new(&label, &regression, false, worse));
        }
        let margin = match self.margin {
            Some(margin) if (0.0..1.0).contains(&margin) => margin,
            Some(margin) => {
                return Err(VerbError::new(format!("--margin {margin}: expected a share from 0 to 1")));
            }
            None if self.file.exists() => self.read(&label)?.margin,
            None => MARGIN,
        };
        let regression = Regression::record(report, margin);
        let text = regression.to_json().map_err(|e| VerbError::new(e.to_string()))?;
        std::fs::write(&self.file, text).map_err(|e| VerbError::io(&self.file, &e))?;
        Ok(RegressionView::new(&label, &regression, true, Vec::new()))
    }

    fn read(&self, label: &str) -> Result<Regression, VerbError> {
        let text = std::fs::read_to_string(&self.file).map_err(|e| {
            VerbError::io(&self.file, &e).help("--record writes the file from the errors as they are")
        })?;
        Regression::from_json(label, &text).map_err(|e| {
            VerbError::new(e.to_string())
                .help("it holds what --record writes: margin, and rows, mape, median_ape, p90_ape and bias by source")
                .at(Place { path: Some(label.to_owned()), ..Place::default() })
        })
    }
}
