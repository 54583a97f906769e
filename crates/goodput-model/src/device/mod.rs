//! Accelerators: dense peaks per dtype, memory, links, power, each with its source.
//!
//! There is no default device and no guess: an unknown name, a name that may be several devices of different
//! peaks, and a dtype that the device does not compute are errors that say what is known.
//!
//! ```
//! use goodput_model::device::{Catalogue, Dtype};
//! let catalogue = Catalogue::built_in();
//! let h100 = catalogue.find("NVIDIA H100 80GB HBM3")?;
//! assert_eq!(h100.name, "H100 SXM5");
//! assert_eq!(h100.peak(Dtype::Bf16)?, 989.4e12);
//! // SXM, PCIe and NVL differ, so a Slurm gres type is not enough.
//! assert!(catalogue.find("gpu:h100").is_err());
//! // The A100s differ in memory only: their peak is known.
//! assert_eq!(catalogue.peak("gpu:a100", Dtype::Bf16)?.flops_per_second, 312e12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalogue;
mod dtype;
mod name;
mod yaml;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use catalogue::{Catalogue, Peak, PeakError, UnknownDevice};
pub use dtype::{Dtype, UnknownDtype};
pub use yaml::CatalogueError;

use name::Words;

/// One product variant. Every figure is of one [`Device::unit`]; [`Device::peak`] is of one device as torch or
/// JAX counts them.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Its name in the catalogue.
    pub name: String,
    /// Who makes it.
    pub vendor: String,
    /// What the figures are of: a GPU, an OAM, a chip.
    pub unit: String,
    /// Devices that frameworks show for one unit: 2 for MI250X and TPU v3.
    pub devices_per_unit: u32,
    /// What several units are sold as: a superchip of two GPUs.
    pub package: Option<Package>,
    /// Largest matrix-multiplication rate that a search over shapes measured in bf16, in FLOP/s of one unit.
    pub measured_bf16_flops_per_second: Option<f64>,
    /// Memory in GB, as the product's name counts it.
    pub memory_gb: Option<Figure>,
    /// Memory bandwidth in bytes/s.
    pub memory_bytes_per_second: Option<Figure>,
    /// The link to its neighbours.
    pub scaleup: Option<Link>,
    /// The engines behind the 16-bit peak.
    pub engines: Option<Engines>,
    /// Board power in watts.
    pub power_w: Option<Figure>,
    /// Where the figures are from.
    pub source: String,
    /// Figures that no named source confirms.
    pub unverified: Vec<String>,
    /// What goes wrong with it.
    pub notes: Vec<String>,
    dense_peaks: BTreeMap<Dtype, Figure>,
    unsupported: BTreeMap<Dtype, String>,
    names: Names,
}

/// A figure, or the least and the most that sources or versions of a part differ by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Figure {
    /// One value.
    Exact(f64),
    /// Least and most.
    Range(f64, f64),
}

impl Figure {
    /// The value, if sources agree on one.
    #[must_use]
    pub const fn exact(self) -> Option<f64> {
        match self {
            Self::Exact(value) => Some(value),
            Self::Range(..) => None,
        }
    }

    const fn bounds(self) -> (f64, f64) {
        match self {
            Self::Exact(value) => (value, value),
            Self::Range(least, most) => (least, most),
        }
    }

    /// In units `factor` times smaller, to the nearest whole one: 989.4 TFLOP/s are exactly 989400000000000 FLOP/s.
    fn times(self, factor: f64) -> Self {
        match self {
            Self::Exact(value) => Self::Exact((value * factor).round()),
            Self::Range(least, most) => Self::Range((least * factor).round(), (most * factor).round()),
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(value) => write!(f, "{value}"),
            Self::Range(least, most) => write!(f, "{least} to {most}"),
        }
    }
}

/// Several units sold as one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// What it is called.
    pub name: String,
    /// Units in it.
    pub units: u32,
}

/// The link of one unit to its neighbours.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// What it is called.
    pub name: String,
    /// Both directions together, in bytes/s.
    pub bidirectional_bytes_per_second: Option<f64>,
}

/// The engines whose number, width and clock make the 16-bit peak.
#[derive(Debug, Clone, PartialEq)]
pub struct Engines {
    /// How many one unit has.
    pub count: u32,
    /// What they are: SM, CU, core, matrix engine.
    pub kind: String,
    /// Dense 16-bit FLOPs that one of them completes per clock.
    pub dense_16bit_flop_per_clock: Option<f64>,
    /// The clock behind the peak, in MHz.
    pub clock_mhz: Option<f64>,
    /// Where the clock is from.
    pub clock_basis: Option<ClockBasis>,
}

/// Where a clock is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockBasis {
    /// A source names it, so that it checks the peak.
    Published,
    /// Solved from the peak, which it therefore does not check.
    DerivedFromPeak,
}

/// How a device is called.
#[derive(Debug, Clone, PartialEq, Default)]
struct Names {
    /// Whole names: they mean this device and no other.
    full: Vec<Words>,
    /// Phrases, one of which a name must hold with all its words.
    phrases: Vec<Words>,
    /// Words that a name may add to it.
    qualifiers: Words,
}

/// Why a device has no peak for a dtype.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoPeak {
    /// The hardware lacks it.
    #[error("{device} does not compute in {dtype}: {reason}")]
    Unsupported {
        /// The device.
        device: String,
        /// The dtype.
        dtype: Dtype,
        /// What the hardware has instead.
        reason: String,
    },
    /// No source gives one.
    #[error("the dense {dtype} peak of {device} is not known (known: {known}): state the peak")]
    NotKnown {
        /// The device.
        device: String,
        /// The dtype.
        dtype: Dtype,
        /// dtypes whose peak is known.
        known: String,
    },
    /// Sources give different ones.
    #[error(
        "sources disagree on the dense {dtype} peak of {device}, {tflops} TFLOP/s: state the one to divide by"
    )]
    Disputed {
        /// The device.
        device: String,
        /// The dtype.
        dtype: Dtype,
        /// The range, in TFLOP/s of one unit.
        tflops: Figure,
    },
}

impl Device {
    /// The dense peak of one device as torch or JAX counts them, in FLOP/s: half a module for MI250X.
    ///
    /// # Errors
    /// [`NoPeak`] when the hardware lacks the dtype, or its peak is not known or disputed.
    pub fn peak(&self, dtype: Dtype) -> Result<f64, NoPeak> {
        Ok(self.unit_peak(dtype)? / f64::from(self.devices_per_unit))
    }

    /// The dense peak of one [`Device::unit`], in FLOP/s.
    ///
    /// # Errors
    /// As [`Device::peak`].
    pub fn unit_peak(&self, dtype: Dtype) -> Result<f64, NoPeak> {
        let device = || self.name.clone();
        if let Some(reason) = self.unsupported.get(&dtype) {
            return Err(NoPeak::Unsupported { device: device(), dtype, reason: reason.clone() });
        }
        match self.dense_peaks.get(&dtype) {
            Some(Figure::Exact(peak)) => Ok(*peak),
            Some(Figure::Range(least, most)) => {
                let tflops = Figure::Range(least / 1e12, most / 1e12);
                Err(NoPeak::Disputed { device: device(), dtype, tflops })
            }
            None => {
                let known: Vec<_> = self.dense_peaks.keys().map(|dtype| dtype.name()).collect();
                Err(NoPeak::NotKnown { device: device(), dtype, known: known.join(", ") })
            }
        }
    }

    /// Every dense peak of one unit, in FLOP/s.
    pub fn unit_peaks(&self) -> impl Iterator<Item = (Dtype, Figure)> + '_ {
        self.dense_peaks.iter().map(|(dtype, figure)| (*dtype, *figure))
    }

    /// Engines x FLOPs per clock x clock: the dense 16-bit peak of one unit in FLOP/s, where all three are known.
    #[must_use]
    pub fn peak_of_clock(&self) -> Option<f64> {
        let engines = self.engines.as_ref()?;
        Some(f64::from(engines.count) * engines.dense_16bit_flop_per_clock? * engines.clock_mhz? * 1e6)
    }
}
