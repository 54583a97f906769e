//! Utilisation of a named ideal, and the products and averages that the types refuse.

use std::fmt;

use crate::capacity::CapacityTime;
use crate::range::{OutOfRange, factor, positive};

/// The resource whose peak makes the ideal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ideal {
    /// Required model FLOPs at dense peak: training and prefill.
    Compute,
    /// Required bytes at peak memory bandwidth: bandwidth-bound decode.
    Bandwidth,
    /// A declared byte or network ideal, for workloads that are neither.
    Declared,
}

impl Ideal {
    /// The word used in JSON and metrics.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Bandwidth => "bandwidth",
            Self::Declared => "declared",
        }
    }
}

impl fmt::Display for Ideal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

/// Work faster than its hardware: an input is wrong.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("{ideal} utilisation is {value:.3}, above 1, so an input is wrong: {}", self.causes())]
pub struct AboveOne {
    /// The ideal.
    pub ideal: Ideal,
    /// What the inputs give.
    pub value: f64,
}

impl AboveOne {
    /// The likely causes, the most frequent first. A peak with sparsity is not among them: it makes
    /// the figure too low.
    pub const fn causes(&self) -> &'static str {
        match self.ideal {
            Ideal::Compute => {
                "the FLOPs of the whole job over one device or over too few devices; FLOPs or tokens of several \
                 steps over the time of one; the peak of another device or of a slower dtype than the \
                 arithmetic's; FLOPs that count recompute, padding, square instead of causal attention, or all \
                 experts; a timer that does not wait for the device"
            }
            Ideal::Bandwidth => {
                "bytes of the whole replica over one device; weights counted that are not read in every step; \
                 the bandwidth of another device; a timer that does not wait for the device"
            }
            Ideal::Declared => "the declared work or its peak rate",
        }
    }
}

fn utilization(ideal: Ideal, ideal_s: f64, actual_s: f64) -> Result<f64, AboveOne> {
    let value = ideal_s / actual_s;
    if value > 1.0 { Err(AboveOne { ideal, value }) } else { Ok(value) }
}

/// Why a step has no utilisation.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoUtilization {
    /// Faster than the hardware.
    #[error(transparent)]
    AboveOne(#[from] AboveOne),
    /// A quantity that is none.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

/// Model FLOPs utilisation of retained steps, over all devices of the job: its program goodput under
/// the arithmetic ideal.
///
/// A fleet figure already contains the cost of scale, so it cannot be multiplied by a scaling
/// efficiency, and it is never averaged with an [`Mbu`]; neither compiles:
///
/// ```compile_fail,E0599
/// # use goodput_core::program::{Mfu, ScalingEfficiency};
/// fn cost_of_scale_twice(fleet: Mfu, efficiency: ScalingEfficiency) -> Mfu {
///     fleet.scaled(efficiency)
/// }
/// ```
///
/// ```compile_fail,E0369
/// # use goodput_core::program::{Mbu, Mfu};
/// fn average(mfu: Mfu, mbu: Mbu) -> f64 {
///     (mfu + mbu) / 2.0
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Mfu(f64);

impl Mfu {
    /// The MFU of one step: `FLOPs / (devices x peak x time)`.
    ///
    /// # Errors
    /// [`NoUtilization`] when a quantity is not positive or the result is above one.
    pub fn of_step(
        model_flops: f64,
        devices: u64,
        peak_flops_per_second: f64,
        step_s: f64,
    ) -> Result<Self, NoUtilization> {
        let ideal_s = positive("model_flops", model_flops)?
            / (positive("devices", devices as f64)?
                * positive("peak_flops_per_second", peak_flops_per_second)?);
        Ok(Self(utilization(Ideal::Compute, ideal_s, positive("step_s", step_s)?)?))
    }

    /// Ideal over actual capacity-time of retained steps.
    ///
    /// # Errors
    /// [`AboveOne`] when the ideal is longer than the actual time.
    pub fn of_times(ideal: CapacityTime, actual: CapacityTime) -> Result<Self, AboveOne> {
        if ideal > actual {
            let value = ideal.share_of(actual).unwrap_or(f64::INFINITY);
            return Err(AboveOne { ideal: Ideal::Compute, value });
        }
        Ok(Self(ideal.share_of(actual).unwrap_or(0.0)))
    }

    /// The retained-step MFU behind an MFU that was averaged over held time. Such an average already
    /// contains the runtime losses: it is the job product, and times R it would pay for them twice.
    ///
    /// # Errors
    /// [`NoUtilization`] when either is no factor, or the result is above one.
    pub fn from_run_average(run_mfu: f64, runtime_goodput: f64) -> Result<Self, NoUtilization> {
        let run_mfu = factor("run-averaged MFU", run_mfu)?;
        Ok(Self(utilization(Ideal::Compute, run_mfu, factor("runtime goodput", runtime_goodput)?)?))
    }

    /// The figure, between 0 and 1.
    pub const fn value(self) -> f64 {
        self.0
    }

    /// The same job with one node that runs at `relative_rate` of its peers': a synchronous step ends
    /// when its slowest member does, so the whole job falls to that rate.
    ///
    /// # Errors
    /// [`OutOfRange`] when the rate is not in `(0, 1]`.
    pub fn with_straggler(self, relative_rate: f64) -> Result<Self, OutOfRange> {
        Ok(Self(self.0 * factor("relative_rate", relative_rate)?))
    }
}

/// The MFU of the same work a device on one node: what a fleet figure is compared with.
///
/// ```
/// use goodput_core::program::{NodeBaseline, ScalingEfficiency};
/// let node = NodeBaseline::of_step(14.9e15 / 16.0, 8, 989e12, 0.180)?;
/// let fleet = node.scaled(ScalingEfficiency::between(0.180, 0.245)?);
/// assert!((fleet.value() - 0.4804).abs() < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct NodeBaseline(Mfu);

impl NodeBaseline {
    /// The node's MFU from one of its steps.
    ///
    /// # Errors
    /// As [`Mfu::of_step`].
    pub fn of_step(
        model_flops: f64,
        devices: u64,
        peak_flops_per_second: f64,
        step_s: f64,
    ) -> Result<Self, NoUtilization> {
        Mfu::of_step(model_flops, devices, peak_flops_per_second, step_s).map(Self)
    }

    /// A stated baseline.
    ///
    /// # Errors
    /// [`OutOfRange`] when it is not in `(0, 1]`.
    pub fn stated(value: f64) -> Result<Self, OutOfRange> {
        Ok(Self(Mfu(factor("node MFU", value)?)))
    }

    /// The node's MFU: the ceiling of every lever against the cost of scale.
    pub const fn mfu(self) -> Mfu {
        self.0
    }

    /// The fleet's MFU: node MFU x scaling efficiency, once.
    pub fn scaled(self, efficiency: ScalingEfficiency) -> Mfu {
        Mfu(self.0.0 * efficiency.0)
    }
}

/// Node step time over fleet step time, for the same work a device.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct ScalingEfficiency(f64);

impl ScalingEfficiency {
    /// From the two step times.
    ///
    /// # Errors
    /// [`OutOfRange`] when a time is not positive, or the fleet step is the shorter one: then the
    /// work a device differs, or the node was slowed by something that the fleet does not have.
    pub fn between(node_step_s: f64, fleet_step_s: f64) -> Result<Self, OutOfRange> {
        let efficiency = positive("node_step_s", node_step_s)? / positive("fleet_step_s", fleet_step_s)?;
        Ok(Self(factor("scaling efficiency", efficiency)?))
    }

    /// From the two MFUs.
    ///
    /// # Errors
    /// As [`Self::between`].
    pub fn of(fleet: Mfu, node: NodeBaseline) -> Result<Self, OutOfRange> {
        Ok(Self(factor("scaling efficiency", fleet.0 / node.0.0)?))
    }

    /// The figure.
    pub const fn value(self) -> f64 {
        self.0
    }

    /// The share of the fleet step that the node step does not have. It bounds exposed communication
    /// and synchronisation; only a trace attributes it.
    pub fn beyond_node(self) -> f64 {
        1.0 - self.0
    }
}

/// Memory bandwidth utilisation: required bytes at peak bandwidth over actual time. Program goodput
/// of bandwidth-bound decode, beside MFU and never averaged with it.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Mbu(f64);

impl Mbu {
    /// The MBU of one step: `bytes / (devices x bandwidth x time)`.
    ///
    /// # Errors
    /// [`NoUtilization`] when a quantity is not positive or the result is above one.
    pub fn of_step(
        required_bytes: f64,
        devices: u64,
        peak_bytes_per_second: f64,
        step_s: f64,
    ) -> Result<Self, NoUtilization> {
        let floor_s = positive("required_bytes", required_bytes)?
            / (positive("devices", devices as f64)?
                * positive("peak_bytes_per_second", peak_bytes_per_second)?);
        Ok(Self(utilization(Ideal::Bandwidth, floor_s, positive("step_s", step_s)?)?))
    }

    /// The figure, between 0 and 1.
    pub const fn value(self) -> f64 {
        self.0
    }
}

/// Retained (or ready) time of one workload class against its own ideal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramTime {
    /// The ideal.
    pub kind: Ideal,
    /// Time at the ideal rate.
    pub ideal: CapacityTime,
    /// Time that it took.
    pub actual: CapacityTime,
}

/// Classes with different ideals have no common program factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a {first} ideal and a {second} ideal measure different resources: keep a row per workload class")]
pub struct MixedIdeals {
    /// The first class's ideal.
    pub first: Ideal,
    /// The one that differs.
    pub second: Ideal,
}

impl ProgramTime {
    /// The sum of classes with one ideal; `None` for no class.
    ///
    /// # Errors
    /// [`MixedIdeals`] when their ideals differ.
    pub fn sum(classes: &[Self]) -> Result<Option<Self>, MixedIdeals> {
        let mut classes = classes.iter();
        let Some(&first) = classes.next() else { return Ok(None) };
        classes
            .try_fold(first, |sum, class| {
                if class.kind != sum.kind {
                    return Err(MixedIdeals { first: sum.kind, second: class.kind });
                }
                Ok(Self { kind: sum.kind, ideal: sum.ideal + class.ideal, actual: sum.actual + class.actual })
            })
            .map(Some)
    }

    /// Ideal over actual.
    pub fn factor(&self) -> Option<f64> {
        self.ideal.share_of(self.actual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn training_and_decode_have_no_common_factor() {
        let ns = CapacityTime::from_device_ns;
        let training = ProgramTime { kind: Ideal::Compute, ideal: ns(48), actual: ns(100) };
        let decode = ProgramTime { kind: Ideal::Bandwidth, ideal: ns(86), actual: ns(100) };
        assert_eq!(
            ProgramTime::sum(&[training, decode]),
            Err(MixedIdeals { first: Ideal::Compute, second: Ideal::Bandwidth })
        );
        let both = ProgramTime::sum(&[training, training]).unwrap().unwrap();
        assert_eq!(both.factor(), Some(0.48));
        assert_eq!(ProgramTime::sum(&[]), Ok(None));
    }

    #[test]
    fn decode_can_be_near_its_floor_with_little_arithmetic() {
        // 70e9 weights of 2 bytes on 8 devices of 3.35 TB/s: 5.22 ms a token.
        let mbu = Mbu::of_step(140e9, 8, 3.35e12, 0.006).unwrap();
        let mfu = Mfu::of_step(140e9, 8, 989e12, 0.006).unwrap();
        assert!(mbu.value() > 0.87 && mfu.value() < 0.003);
        assert!(Mbu::of_step(140e9, 8, 3.35e12, 0.005).is_err());
    }

    #[test]
    fn a_run_average_already_contains_the_runtime_losses() {
        let retained = Mfu::from_run_average(0.369, 0.90).unwrap();
        assert!((retained.value() - 0.41).abs() < 1e-12);
        assert!(Mfu::from_run_average(0.95, 0.90).is_err());
    }

    #[test]
    fn a_fleet_step_faster_than_the_node_is_refused() {
        assert!(ScalingEfficiency::between(0.245, 0.180).is_err());
    }
}
