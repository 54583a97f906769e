//! What is predicted: plain data.

use super::guide::GuideStep;
use crate::Basis;
use crate::layer::Terms;
use crate::memory::Memory;

/// The prediction of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Time of the step, ns.
    pub step_ns: f64,
    /// Its relative standard deviation, from the tables' noise and what is beyond them.
    pub deviation: f64,
    /// The weakest thing it rests on.
    pub basis: Basis,
    /// Where the time goes, the mean over all devices; sums to the step.
    pub terms: Terms,
    /// The same for the devices of each stage.
    pub stages: Vec<StagePrediction>,
    /// Of the terms, what is computed again, ns.
    pub recompute_ns: f64,
    /// Real tokens a second of one device; padding does not count.
    pub tokens_per_second_per_device: f64,
    /// Exact model FLOPs over the dense peak in the products' format.
    pub mfu: f64,
    /// The same with what is computed again, and padding.
    pub hfu: f64,
    /// Memory of the rank that needs most.
    pub memory: Memory,
    /// The guide's closed forms, for comparison.
    pub guide: GuideStep,
}

/// One stage.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StagePrediction {
    /// Where its devices' time goes; sums to the step.
    pub terms: Terms,
    /// Bytes of activations that it holds at most.
    pub activation_bytes: f64,
}
