//! The orchestrator's allocated, active and productive tiers, and when their ratio is a factor.

use crate::range::{OutOfRange, non_negative, positive};

/// The rate to which an orchestrator normalises its productive tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProductiveReference {
    /// Each job's own fault-free step rate.
    OwnFaultFreeRate,
    /// The hardware's peak: runtime and program losses are then in one number.
    HardwarePeak,
    /// Nobody says.
    NotStated,
}

/// Devices (or device-hours) by tier.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UtilizationTiers {
    /// Held by complete allocations.
    pub allocated: f64,
    /// With execution engines busy: evidence, never a factor.
    pub active: f64,
    /// Retained work at the reference rate.
    pub productive: f64,
    /// That rate.
    pub reference: ProductiveReference,
}

/// Why tiers give no runtime goodput.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoRuntimeGoodput {
    /// The productive tier is not normalised to the job's own rate.
    #[error(
        "productive over allocated is {ratio:.3}, but its reference is {}: only a productive tier normalised to each \
         job's own fault-free step rate makes it runtime goodput",
        match reference { ProductiveReference::HardwarePeak => "the hardware's peak, so it is runtime x program goodput", _ => "not stated" }
    )]
    OtherReference {
        /// Productive over allocated.
        ratio: f64,
        /// Its reference.
        reference: ProductiveReference,
    },
    /// Tiers that are none.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

impl UtilizationTiers {
    /// Productive over allocated, when that is runtime goodput.
    ///
    /// # Errors
    /// [`NoRuntimeGoodput`] when the productive tier has another reference, or more is productive
    /// than allocated.
    pub fn runtime_goodput(&self) -> Result<f64, NoRuntimeGoodput> {
        let allocated = positive("allocated", self.allocated)?;
        let productive = non_negative("productive", self.productive)?;
        if productive > allocated {
            return Err(NoRuntimeGoodput::OutOfRange(OutOfRange {
                name: "productive",
                value: productive,
                expected: "no more than allocated",
            }));
        }
        let ratio = productive / allocated;
        match self.reference {
            ProductiveReference::OwnFaultFreeRate => Ok(ratio),
            reference => Err(NoRuntimeGoodput::OtherReference { ratio, reference }),
        }
    }
}
