//! The place of work on a device's roofline (Williams et al. 2009, doi:10.1145/1498765.1498785).

use std::fmt;

use goodput_model::device::{Catalogue, Dtype};

/// The share of a ceiling from which a kernel counts as near it. The best measured bandwidths and matrix products
/// reach 80 to 95 % of the published peaks.
pub const NEAR: f64 = 0.6;

/// The two ceilings of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceilings {
    /// Dense peak in FLOP/s.
    pub flops_per_second: f64,
    /// Memory bandwidth in bytes/s.
    pub bytes_per_second: f64,
}

impl Ceilings {
    /// The intensity in FLOPs a byte at which the bandwidth's slope meets the peak.
    pub fn ridge(&self) -> f64 {
        self.flops_per_second / self.bytes_per_second
    }

    /// The ceilings of a device by name, as a trace or a person writes it.
    ///
    /// # Errors
    /// [`NoRoofline`] when the device, its peak for the type or its bandwidth is not known.
    pub fn of(device: &str, dtype: Dtype, catalogue: &Catalogue) -> Result<Self, NoRoofline> {
        let found = catalogue.find(device).map_err(|unknown| NoRoofline(unknown.to_string()))?;
        let flops_per_second = found.peak(dtype).map_err(|none| NoRoofline(none.to_string()))?;
        let bandwidth = found.memory_bytes_per_second.and_then(|figure| figure.exact());
        match bandwidth {
            Some(unit) => {
                Ok(Self { flops_per_second, bytes_per_second: unit / f64::from(found.devices_per_unit) })
            }
            None => Err(NoRoofline(format!("the memory bandwidth of {} is not known", found.name))),
        }
    }
}

/// Why something has no place on a roofline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoRoofline(pub String);

/// What holds a kernel back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Regime {
    /// Under [`NEAR`] of both ceilings: launch, occupancy, dependencies or imbalance, neither arithmetic nor memory.
    FarBelowBoth,
    /// At [`NEAR`] of the bandwidth or more: only less traffic helps (fusion, a narrower format).
    NearBandwidth,
    /// At [`NEAR`] of the peak or more: only less arithmetic or a faster format helps.
    NearCompute,
}

impl Regime {
    /// The word used in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::FarBelowBoth => "far_below_both",
            Self::NearBandwidth => "near_bandwidth",
            Self::NearCompute => "near_compute",
        }
    }
}

impl fmt::Display for Regime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FarBelowBoth => "far below both ceilings",
            Self::NearBandwidth => "near the bandwidth ceiling",
            Self::NearCompute => "near the compute ceiling",
        })
    }
}

/// A place on a roofline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placement {
    /// Achieved FLOP/s.
    pub flops_per_second: f64,
    /// Achieved bytes/s.
    pub bytes_per_second: f64,
    /// FLOPs a byte; infinite without traffic.
    pub intensity: f64,
    /// The device's ceilings.
    pub ceilings: Ceilings,
}

impl Placement {
    /// Of work that took `time_ns`; `None` when it took none.
    pub fn of(flops: u128, bytes: u128, time_ns: i64, ceilings: Ceilings) -> Option<Self> {
        let rate = |amount: u128| amount as f64 * 1e9 / time_ns as f64;
        (time_ns > 0).then(|| Self {
            flops_per_second: rate(flops),
            bytes_per_second: rate(bytes),
            intensity: flops as f64 / bytes as f64,
            ceilings,
        })
    }

    /// Achieved FLOP/s over the peak.
    pub fn compute_share(&self) -> f64 {
        self.flops_per_second / self.ceilings.flops_per_second
    }

    /// Achieved bytes/s over the bandwidth.
    pub fn bandwidth_share(&self) -> f64 {
        self.bytes_per_second / self.ceilings.bytes_per_second
    }

    /// Whether the bandwidth bounds it, not the peak.
    pub fn is_on_bandwidth_slope(&self) -> bool {
        self.intensity < self.ceilings.ridge()
    }

    /// Which ceiling it is near.
    pub fn regime(&self) -> Regime {
        let (compute, bandwidth) = (self.compute_share(), self.bandwidth_share());
        if compute.max(bandwidth) < NEAR {
            Regime::FarBelowBoth
        } else if bandwidth >= compute {
            Regime::NearBandwidth
        } else {
            Regime::NearCompute
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 5 TFLOP/s at 2.8 TB/s of an H100 with 989 TFLOP/s and 3.35 TB/s: the chapter's LayerNorm.
    #[test]
    fn a_layer_norm_stands_near_the_bandwidth_ceiling() {
        let ceilings = Ceilings { flops_per_second: 989e12, bytes_per_second: 3.35e12 };
        assert!((ceilings.ridge() - 295.2).abs() < 0.05);
        let placement = Placement::of(5_000_000_000, 2_800_000_000, 1_000_000, ceilings).unwrap();
        assert_eq!((placement.flops_per_second, placement.bytes_per_second), (5e12, 2.8e12));
        assert!((placement.intensity - 1.786).abs() < 0.0005);
        assert!((placement.bandwidth_share() - 0.836).abs() < 0.0005);
        assert!(placement.is_on_bandwidth_slope());
        assert_eq!(placement.regime(), Regime::NearBandwidth);
    }

    #[test]
    fn the_three_regimes() {
        let ceilings = Ceilings { flops_per_second: 1e15, bytes_per_second: 1e12 };
        let regime = |flops, bytes| Placement::of(flops, bytes, 1_000_000_000, ceilings).unwrap().regime();
        assert_eq!(regime(700_000_000_000_000, 100_000_000_000), Regime::NearCompute);
        assert_eq!(regime(1_000_000_000, 600_000_000_000), Regime::NearBandwidth);
        assert_eq!(regime(590_000_000_000_000, 590_000_000_000), Regime::FarBelowBoth);
        assert_eq!(Placement::of(1, 1, 0, ceilings), None);
    }
}
