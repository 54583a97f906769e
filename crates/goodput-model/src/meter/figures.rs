//! Intensive figures, each derived from sums over the whole job.

use std::fmt;

use goodput_core::program::{AboveOne, Ideal};

use super::layout::CountScope;
use super::reduction::ReducedSteps;

/// The dense peak of one device for the arithmetic of one dtype.
///
/// There is no default: a device that nobody knows has no peak, and steps on it no MFU.
#[derive(Debug, Clone, PartialEq)]
pub struct DtypePeak {
    /// The dtype (`bf16`, `fp8`, …).
    pub dtype: String,
    /// FLOP/s of one device, without sparsity; `None` when unknown.
    pub flops_per_second: Option<f64>,
}

/// A rate that is exact until it is printed: a count over device-nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactRate {
    /// What was counted.
    pub count: u128,
    /// Devices times nanoseconds.
    pub device_ns: u128,
}

impl ExactRate {
    /// The rate a device and second.
    pub fn per_device_second(self) -> f64 {
        self.count as f64 / (self.device_ns as f64 / 1e9)
    }
}

/// Why steps have no utilisation.
#[derive(Debug, Clone, PartialEq)]
pub enum NoUtilization {
    /// No FLOPs were counted.
    NoFlops,
    /// No time passed.
    NoTime,
    /// The peak for a dtype is not known.
    NoPeak {
        /// The dtype.
        dtype: String,
    },
    /// Faster than the hardware.
    AboveOne {
        /// What the counts give.
        value: f64,
    },
}

impl fmt::Display for NoUtilization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFlops => f.write_str("no FLOPs were counted"),
            Self::NoTime => f.write_str("the steps took no time"),
            Self::NoPeak { dtype } => write!(
                f,
                "the {dtype} peak of the device is not known: state the device, or its dense peak for {dtype}"
            ),
            Self::AboveOne { value } => write!(
                f,
                "{}; or the wrong form of rank counts, which puts a parallel factor back that was never divided out",
                AboveOne { ideal: Ideal::Compute, value: *value }
            ),
        }
    }
}

/// Figures of one or more steps of the whole job. Rates per device divide by every device of the world.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Number of the step, or of the first one.
    pub step: u64,
    /// Optimizer steps.
    pub optimizer_steps: u64,
    /// Real tokens of the job.
    pub tokens: u64,
    /// Tokens computed, padding included.
    pub executed_tokens: u64,
    /// Samples of the job.
    pub samples: u64,
    /// Useful FLOPs of the job, all dtypes.
    pub useful_flops: u128,
    /// Executed FLOPs of the job, all dtypes.
    pub executed_flops: u128,
    /// Wall time.
    pub elapsed_s: f64,
    /// Seconds a micro-batch: not a step where gradients accumulate.
    pub step_time_per_micro_batch_s: f64,
    /// Seconds an optimizer step.
    pub step_time_per_optimizer_step_s: f64,
    /// Real tokens a second of the whole job.
    pub tokens_per_second: f64,
    /// Real tokens a second and device.
    pub tokens_per_second_per_device: f64,
    /// Samples a second of the whole job.
    pub samples_per_second: f64,
    /// Useful FLOPs over the device-time, exact.
    pub useful_rate: ExactRate,
    /// Useful TFLOP/s of one device.
    pub useful_tflops_per_device: f64,
    /// Executed TFLOP/s of one device.
    pub executed_tflops_per_device: f64,
    /// Useful FLOPs, each at the peak of its own dtype, over the device-time.
    pub mfu: Result<f64, NoUtilization>,
    /// Executed FLOPs, each at the peak of its own dtype, over the device-time.
    pub hfu: Result<f64, NoUtilization>,
    /// Real over executed tokens; `None` without tokens.
    pub batch_efficiency: Option<f64>,
    /// Loss a real token; `None` without tokens.
    pub loss: Option<f64>,
    /// The most memory that any device held.
    pub peak_memory_bytes: u64,
}

impl Figures {
    pub(super) fn new(steps: &ReducedSteps, scope: CountScope, peaks: &[DtypePeak]) -> Self {
        let counts = &steps.counts;
        let world = scope.layout().world();
        let factor = u128::from(scope.flops_factor());
        let total = |flops: &[u128]| flops.iter().sum::<u128>() * factor;
        let elapsed_s = steps.elapsed_ns as f64 / 1e9;
        let rate = |flops: &[u128]| ExactRate {
            count: total(flops),
            device_ns: u128::from(world) * u128::from(steps.elapsed_ns),
        };
        let device_s = world as f64 * elapsed_s;
        let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let (useful_rate, executed_rate) = (rate(&counts.useful_flops), rate(&counts.executed_flops));
        Self {
            step: steps.step,
            optimizer_steps: steps.optimizer_steps,
            tokens: counts.tokens,
            executed_tokens: counts.executed_tokens,
            samples: counts.samples,
            useful_flops: useful_rate.count,
            executed_flops: executed_rate.count,
            elapsed_s,
            step_time_per_micro_batch_s: elapsed_s / steps.micro_batches as f64,
            step_time_per_optimizer_step_s: elapsed_s / steps.optimizer_steps as f64,
            tokens_per_second: counts.tokens as f64 / elapsed_s,
            tokens_per_second_per_device: counts.tokens as f64 / device_s,
            samples_per_second: counts.samples as f64 / elapsed_s,
            useful_rate,
            useful_tflops_per_device: useful_rate.per_device_second() / 1e12,
            executed_tflops_per_device: executed_rate.per_device_second() / 1e12,
            mfu: utilization(&counts.useful_flops, factor, peaks, device_s),
            hfu: utilization(&counts.executed_flops, factor, peaks, device_s),
            batch_efficiency: share(counts.tokens, counts.executed_tokens),
            loss: (counts.tokens > 0).then(|| counts.loss_sum / counts.tokens as f64),
            peak_memory_bytes: steps.peak_memory_bytes,
        }
    }
}

/// Time that the FLOPs take at their peaks, over the time that the devices had.
fn utilization(
    flops: &[u128],
    factor: u128,
    peaks: &[DtypePeak],
    device_s: f64,
) -> Result<f64, NoUtilization> {
    let mut ideal_s = 0.0;
    for (&flops, peak) in flops.iter().zip(peaks).filter(|(flops, _)| **flops > 0) {
        let known = peak.flops_per_second;
        ideal_s += (flops * factor) as f64
            / known.ok_or_else(|| NoUtilization::NoPeak { dtype: peak.dtype.clone() })?;
    }
    match ideal_s / device_s {
        _ if ideal_s == 0.0 => Err(NoUtilization::NoFlops),
        _ if device_s == 0.0 => Err(NoUtilization::NoTime),
        value if value > 1.0 => Err(NoUtilization::AboveOne { value }),
        value => Ok(value),
    }
}
