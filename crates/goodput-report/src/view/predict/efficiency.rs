//! MFU and HFU of a prediction in this project's convention and in the published ones.

use goodput_model::Convention;
use goodput_predict::run::Run;
use goodput_predict::step::Prediction;
use serde::Serialize;

use crate::number::counted;

/// What MFU and HFU are of. Convention: exact model FLOPs of real tokens; HFU counts what is computed again too.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EfficiencyView {
    /// `exact`.
    pub convention: &'static str,
    /// Dense peak of one device, FLOP/s.
    pub peak_flops_per_second: f64,
    /// The format that the peak is for: the products'.
    pub dtype: String,
    /// Device-time that they are over.
    pub scope: String,
    /// Model TFLOP/s of one device.
    pub tflops_per_second_per_device: f64,
    /// The same with what is computed again.
    pub executed_tflops_per_second_per_device: f64,
    /// The same step in every published convention, this project's own first.
    pub conventions: Vec<PredictedConventionView>,
}

/// The step in one published convention.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictedConventionView {
    /// Its name, as `goodput mfu convert` knows it.
    pub name: &'static str,
    /// The function or formula.
    pub title: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// What it counts a second time: `no`, `scores`, `blocks`; such a figure is an HFU.
    pub recompute: &'static str,
    /// Training FLOPs a token; `None` where the convention does not know the model.
    pub flops_per_token: Option<f64>,
    /// TFLOP/s of one device.
    pub tflops_per_second_per_device: Option<f64>,
    /// Over the same peak.
    pub mfu: Option<f64>,
}

impl EfficiencyView {
    pub(super) fn new(run: &Run, prediction: &Prediction) -> Option<Self> {
        let device = run.cluster.find_device().ok()?;
        let dtype = run.precision.products.dtype();
        let peak = device.peak(dtype).ok()?;
        let tokens = prediction.tokens_per_second_per_device;
        let view = |convention: &Convention| {
            let counted = convention.flops_per_token(&run.architecture, run.batch.sequence).ok();
            let flops_per_token = counted.map(|flops| flops.value());
            let rate = flops_per_token.map(|flops| flops * tokens);
            PredictedConventionView {
                name: convention.name,
                title: convention.title,
                source: convention.source,
                recompute: convention.recompute.word(),
                flops_per_token,
                tflops_per_second_per_device: rate.map(|rate| rate / 1e12),
                mfu: rate.map(|rate| rate / peak),
            }
        };
        Some(Self {
            convention: Convention::EXACT.name,
            peak_flops_per_second: peak,
            dtype: dtype.name().to_owned(),
            scope: format!(
                "one step of {}; input, checkpoints and restarts are not in it",
                counted(run.devices.into(), "device")
            ),
            tflops_per_second_per_device: prediction.mfu * peak / 1e12,
            executed_tflops_per_second_per_device: prediction.hfu * peak / 1e12,
            conventions: Convention::ALL.iter().map(view).collect(),
        })
    }
}
