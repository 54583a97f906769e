//! The view of a calibration: factors, the rows they are from, and the errors of rows that they never saw.

use goodput_predict::validate::{CalibrationFile, Dimension, Errors, Factor, Report, TestHalf};
use serde::Serialize;

/// Errors without and with the factors, of the same rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibrationView {
    /// The file.
    pub file: String,
    /// The runs that the factors were fitted on.
    pub runs: String,
    /// Whether they were fitted now, on half of the rows; else they were read.
    pub fitted: bool,
    /// Each factor with its rows.
    pub factors: Vec<Factor>,
    /// Rows that are left out of the test: the factors may have been fitted on them.
    pub left_out: usize,
    /// Rows of the test without factors, left out too.
    pub without_factor: usize,
    /// Errors as predicted.
    pub uncalibrated: Report,
    /// Errors with the factors.
    pub calibrated: Report,
}

/// The factors that a prediction is multiplied by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppliedFactorView {
    /// The file that they are from.
    pub file: String,
    /// The runs that they were fitted on.
    pub runs: String,
    /// The device.
    pub device: String,
    /// Software and version.
    pub software: String,
    /// On kernels, exchanges and the optimizer.
    pub device_time: f64,
    /// On the host's time.
    pub host_time: f64,
    /// Rows that they were fitted on.
    pub rows: usize,
}

impl AppliedFactorView {
    /// A factor of a file.
    #[must_use]
    pub fn new(file: &str, runs: &str, factor: &Factor) -> Self {
        Self {
            file: file.to_owned(),
            runs: runs.to_owned(),
            device: factor.device.clone(),
            software: factor.software.clone(),
            device_time: factor.times.device_time,
            host_time: factor.times.host_time,
            rows: factor.rows.len(),
        }
    }
}

impl CalibrationView {
    /// The test of a calibration; `None` where no row of the test has a factor.
    #[must_use]
    pub fn new(
        file: &str,
        of: &CalibrationFile,
        fitted: bool,
        left_out: usize,
        test: &TestHalf<'_>,
    ) -> Option<Self> {
        let calibration = of.calibration();
        let calibrated = test.calibrated(&calibration);
        // The same rows without factors: others would not be comparable.
        let mut uncalibrated = test.uncalibrated().clone();
        let rows = uncalibrated.outcomes.len();
        uncalibrated
            .outcomes
            .retain(|outcome| calibration.factors(&outcome.row.device, &outcome.row.software).is_some());
        Some(Self {
            file: file.to_owned(),
            runs: of.runs.clone(),
            fitted,
            factors: of.factors.clone(),
            left_out,
            without_factor: rows - calibrated.outcomes.len(),
            uncalibrated: uncalibrated.report()?,
            calibrated: calibrated.report()?,
        })
    }

    /// Errors without and with the factors, by source.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&str, &Errors, &Errors)> {
        let before = self.uncalibrated.by.get(&Dimension::Source).into_iter().flatten();
        before.filter_map(|(source, before)| {
            let after = self.calibrated.by.get(&Dimension::Source)?.get(source)?;
            Some((source.as_str(), before, after))
        })
    }
}
