//! Factors on the times of the devices and of the host.

use serde::{Deserialize, Serialize};

use super::Prediction;
use crate::layer::Terms;

/// How many times as long as predicted the devices and their host take. A step is the later of their two clocks, so that one factor
/// for both serves no software that is sometimes bound by the one and sometimes by the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeFactors {
    /// On kernels, exchanges and the optimizer.
    pub device_time: f64,
    /// On what the host takes to dispatch them, and on its own work once a step.
    pub host_time: f64,
}

impl TimeFactors {
    /// As predicted.
    pub const NONE: Self = Self { device_time: 1.0, host_time: 1.0 };

    /// The host's factor, counted in the devices' time.
    pub(super) fn host_of_device(self) -> f64 {
        self.host_time / self.device_time
    }
}

impl Default for TimeFactors {
    fn default() -> Self {
        Self::NONE
    }
}

/// A schedule is made of sums and maxima of times: with the host's time over the devices' already in it, all of it grows with the
/// devices' factor. The guide's closed forms, which are there for comparison, stay as they are.
pub(super) fn apply(prediction: &mut Prediction, factors: TimeFactors) {
    let factor = factors.device_time;
    prediction.step_ns *= factor;
    prediction.recompute_ns *= factor;
    let scaled = |terms: &Terms| {
        let mut scaled = Terms::default();
        scaled.add_times(terms, factor);
        scaled
    };
    prediction.terms = scaled(&prediction.terms);
    for stage in &mut prediction.stages {
        stage.terms = scaled(&stage.terms);
    }
}
