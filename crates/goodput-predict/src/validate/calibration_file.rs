//! A calibration as a file, with where it is from.

use serde::{Deserialize, Serialize};

use super::calibrate::{Calibration, Factor};
use super::rules::RuleError;

/// What `goodput validate --calibrate` writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationFile {
    /// `goodput.calibration/1`.
    pub schema: String,
    /// Program and version.
    pub generated_by: String,
    /// The runs that it was fitted on, as the user named the file.
    pub runs: String,
    /// The factors, each with the rows that it was fitted on.
    pub factors: Vec<Factor>,
}

impl CalibrationFile {
    /// The word under `schema`.
    pub const SCHEMA: &'static str = "goodput.calibration/1";

    /// A calibration that was fitted on half of `runs`.
    #[must_use]
    pub fn new(calibration: Calibration, runs: &str, generated_by: &str) -> Self {
        Self {
            schema: Self::SCHEMA.to_owned(),
            generated_by: generated_by.to_owned(),
            runs: runs.to_owned(),
            factors: calibration.factors,
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`RuleError`] with the line of what is no calibration, or the factor that is no number above 0.
    pub fn from_yaml(label: &str, text: &str) -> Result<Self, RuleError> {
        let error = |message: String| RuleError { label: label.to_owned(), message };
        let file: Self = serde_saphyr::from_str(text).map_err(|e| error(e.to_string()))?;
        if file.schema != Self::SCHEMA {
            return Err(error(format!("schema: found {:?}, expected {:?}", file.schema, Self::SCHEMA)));
        }
        for factor in &file.factors {
            let times = [("device_time", factor.times.device_time), ("host_time", factor.times.host_time)];
            if let Some((field, found)) =
                times.into_iter().find(|(_, time)| !(time.is_finite() && *time > 0.0))
            {
                let of = format!("{} with {}", factor.device, factor.software);
                return Err(error(format!(
                    "factors, {of}: {field}: found {found}, expected a number above 0"
                )));
            }
        }
        Ok(file)
    }

    /// The file's text.
    ///
    /// # Errors
    /// [`RuleError`] where a figure is no number.
    pub fn to_yaml(&self) -> Result<String, RuleError> {
        serde_saphyr::to_string(self)
            .map_err(|e| RuleError { label: "calibration".to_owned(), message: e.to_string() })
    }

    /// Its factors.
    #[must_use]
    pub fn calibration(&self) -> Calibration {
        Calibration { factors: self.factors.clone() }
    }
}
