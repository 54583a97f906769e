//! The view of `goodput calibrate`: what measured tables hold, and how far they are from the shipped ones.

use goodput_predict::Basis;
use goodput_predict::measured::{Calibration, KindSummary, MeasuredError};
use goodput_records::ReadReport;
use serde::Serialize;

use super::read::ReadReportView;
use super::settings::ViewSettings;

/// Measured tables, ready to be printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredTablesView {
    /// `goodput.calibrate/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// What became of every row.
    pub read: ReadReportView,
    /// One entry a device.
    pub devices: Vec<CalibratedDeviceView>,
}

/// What was measured on one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibratedDeviceView {
    /// As the catalogue calls it.
    pub device: String,
    /// The file that was written; none where the tables were only checked.
    pub file: Option<String>,
    /// Calls in it: those measured several times count once in each state of the clock.
    pub rows: usize,
    /// Software that it was measured with.
    pub software: Vec<String>,
    /// Clocks, power limits, drivers.
    pub conditions: Vec<String>,
    /// Sustained over burst time; none where no call was measured in both states.
    pub sustained: Option<SustainedView>,
    /// Kind by kind.
    pub kinds: Vec<CalibratedKindView>,
}

/// Sustained over burst time of arithmetic.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SustainedView {
    /// TFLOP of one call, as bf16 would take for it, and the ratio.
    pub time_over_burst: Vec<(f64, f64)>,
    /// Relative standard deviation of the ratio.
    pub deviation: f64,
    /// Calls measured in both states.
    pub pairs: usize,
}

/// One kind of call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CalibratedKindView {
    /// `gemm`, `attention`, `all_reduce`, …
    pub kind: &'static str,
    /// Calls.
    pub rows: usize,
    /// Of them sustained.
    pub sustained_rows: usize,
    /// Measurements behind them.
    pub repeats: u64,
    /// The smallest call, in `unit`.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// `FLOP`, `values`, `B` or `kernel`.
    pub unit: &'static str,
    /// Median relative spread of the measurements of one call.
    pub noise: Option<f64>,
    /// Measured over shipped time: median.
    pub ratio: Option<f64>,
    /// Its 10th percentile.
    pub ratio_p10: Option<f64>,
    /// Its 90th percentile.
    pub ratio_p90: Option<f64>,
    /// What the shipped time rests on where it is weakest: `table`, `extrapolated` or `analytic`.
    pub compared_with: Option<&'static str>,
}

/// A calibration and the file it was written to.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibratedFile<'a> {
    /// The calibration.
    pub calibration: &'a Calibration,
    /// The file.
    pub file: Option<String>,
}

impl MeasuredTablesView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.calibrate/1";

    /// The view of calibrations and of how they were read.
    ///
    /// # Errors
    /// [`MeasuredError`] where a device is not known.
    pub fn new(
        read: &ReadReport,
        files: &[CalibratedFile<'_>],
        settings: &ViewSettings,
    ) -> Result<Self, MeasuredError> {
        let devices: Result<Vec<_>, _> = files.iter().map(device).collect();
        Ok(Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            read: ReadReportView::new(read),
            devices: devices?,
        })
    }
}

fn device(of: &CalibratedFile<'_>) -> Result<CalibratedDeviceView, MeasuredError> {
    let calibration = of.calibration;
    Ok(CalibratedDeviceView {
        device: calibration.device.clone(),
        file: of.file.clone(),
        rows: calibration.rows.len(),
        software: calibration.software.clone(),
        conditions: calibration.conditions.clone(),
        sustained: calibration.sustained.as_ref().map(|sustained| SustainedView {
            time_over_burst: sustained.time_over_burst.clone(),
            deviation: sustained.deviation,
            pairs: sustained.pairs,
        }),
        kinds: calibration.summary()?.iter().map(kind).collect(),
    })
}

fn kind(of: &KindSummary) -> CalibratedKindView {
    CalibratedKindView {
        kind: of.kind,
        rows: of.rows,
        sustained_rows: of.sustained,
        repeats: of.repeats,
        least: of.sizes.0,
        most: of.sizes.1,
        unit: of.unit,
        noise: of.noise,
        ratio: of.ratio,
        ratio_p10: of.ratio_range.map(|range| range.0),
        ratio_p90: of.ratio_range.map(|range| range.1),
        compared_with: of.compared_with.map(|basis| match basis {
            Basis::UserTable => "user_table",
            Basis::Table => "table",
            Basis::Extrapolated => "extrapolated",
            Basis::Analytic => "analytic",
        }),
    }
}
