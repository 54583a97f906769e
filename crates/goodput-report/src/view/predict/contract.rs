//! The contract of a prediction: what a measurement must share with it for the two to be held against each other.

use goodput_predict::run::Run;
use serde::Serialize;

use super::EfficiencyView;
use crate::view::TimingBoundaryView;
use crate::view::conditions::{FactorStatisticsView, KnownConditions};
use crate::view::contract::ideal_condition;

/// What the predicted step is of. Nothing in it is measured: what the run states is stated, and there are no trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictionContractView {
    /// `prediction`.
    pub scope: &'static str,
    /// What the shares and MFU divide by: `step`.
    pub denominator: &'static str,
    /// Devices of the run.
    pub devices: u32,
    /// The device.
    pub device_types: Vec<String>,
    /// Where the predicted time begins and ends.
    pub timing_boundary: TimingBoundaryView,
    /// The conditions that the run states.
    #[serde(flatten)]
    pub known: KnownConditions,
    /// None: a prediction has no trials. Its uncertainty is the step's `deviation`.
    pub statistics: Vec<FactorStatisticsView>,
}

impl PredictionContractView {
    pub(super) fn new(run: &Run, efficiency: Option<&EfficiencyView>) -> Self {
        let device = &run.cluster.device;
        let timing_boundary = TimingBoundaryView {
            held: "one step, predicted: from its first pass to the end of the optimizer's update".into(),
            productive: "the whole step: no input wait, pause or restart is predicted",
            stamp_resolution_ns: None,
        };
        let denominator = "step";
        let ideal =
            |of: &EfficiencyView| ideal_condition("compute", device, &of.dtype, of.peak_flops_per_second);
        let known = KnownConditions::stated(
            [
                ("workload.model", run.architecture.name.clone()),
                ("workload.sequence_tokens", run.batch.sequence.to_string()),
                ("workload.global_batch", run.batch.global.to_string()),
                ("system.devices", run.devices.to_string()),
                ("system.device_types", device.clone()),
                ("system.ideal", efficiency.map(ideal).unwrap_or_default()),
                ("system.topology", run.cluster.name.clone()),
                ("system.software", run.framework.name.clone()),
                ("system.precision", run.precision.recipe.to_owned()),
                ("statistics.denominator", denominator.to_owned()),
            ]
            .into_iter()
            .chain(timing_boundary.conditions()),
        );
        Self {
            scope: "prediction",
            denominator,
            devices: run.devices,
            device_types: vec![device.clone()],
            timing_boundary,
            known,
            statistics: Vec::new(),
        }
    }
}
