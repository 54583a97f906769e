//! Times of one device's kernels: matrix products from measured grids, attention from published rates, the rest from
//! the bytes that it moves, at the clock that a step runs at.
//!
//! ```
//! use goodput_model::device::Catalogue;
//! use goodput_predict::Basis;
//! use goodput_predict::kernel::{Gemm, KernelTables, Pass};
//! let h100 = KernelTables::new(Catalogue::built_in().find("H100 SXM5")?);
//! let up_projection = Gemm::new(8192, 28672, 8192);
//! let forward = h100.gemm(&up_projection)?;
//! assert_eq!(forward.basis, Basis::Table);
//! assert!((5.0e6..6.0e6).contains(&forward.ns));
//! let weight_gradient = h100.gemm(&up_projection.pass(Pass::WeightGradient))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attention;
mod contention;
mod format;
mod gemm;
mod grid;
mod host;
mod host_work;
mod machine;
mod memory_bound;
mod memory_kind;
mod moe;
mod muon;
mod operation;
mod packed;
mod power;
mod settings;
mod shipped;
mod surface;
mod user;

use std::borrow::Cow;
use std::sync::Arc;

use goodput_model::device::{Catalogue, Device};

pub use attention::{Attention, AttentionKernel, Direction, Mask};
pub use format::Format;
pub use gemm::{Accumulator, Gemm, Pass};
pub use host::{Dispatch, HostCost};
pub use host_work::HostWork;
pub use memory_bound::{Access, Traffic};
pub use memory_kind::MemoryKind;
pub use moe::ExpertGemm;
pub use operation::{Fusion, NormKind, Operation};
pub use power::{Power, PowerCurve, PowerEvidence};
pub use user::{Kernel, KernelRow, UserRow};

pub(crate) use user::UserRows;

use machine::Machine;
use settings::Settings;
use shipped::{ProductGrid, Shipped};

/// Everything that says how long a kernel takes on one device.
#[derive(Debug, Clone)]
pub struct KernelTables {
    machine: Machine,
    shipped: Option<Borrowed>,
    sustained: Option<Cow<'static, PowerCurve>>,
    attention_rates: Option<&'static attention::Rates>,
    memory: memory_bound::Efficiencies,
    user: Option<Arc<UserRows>>,
    /// Whether blocks of a product that find no multiprocessor run in a second wave.
    second_wave: bool,
    /// Over the burst at the rated power, kept for [`KernelTables::at`].
    own_curve: Option<Cow<'static, PowerCurve>>,
}

/// Grids, and how the device that reads them differs from the one that they were measured on.
#[derive(Debug, Clone)]
struct Borrowed {
    grids: &'static Shipped,
    of: Machine,
    /// The device, with the arithmetic efficiency of the other: none if the two have the same rates.
    scaled_to: Option<Machine>,
}

/// Why there is no time for a kernel.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum KernelError {
    /// The device does not compute in the format, or its peak or bandwidth is not known.
    #[error(
        "{device}: no time for {} kernels, since its peak in it or its memory bandwidth is not known; choose another \
         precision, or state `dense_peaks` and `memory_tb_per_s` in a device file (docs/devices.md)",
        format.name()
    )]
    NoRate {
        /// The device.
        device: String,
        /// The arithmetic.
        format: Format,
    },
    /// The device has no such attention kernel.
    #[error("{device} does not run {kernel:?} attention; choose the kernel of its generation, or `unfused`")]
    NoAttention {
        /// The device.
        device: String,
        /// The kernel.
        kernel: AttentionKernel,
    },
    /// A power curve that cannot be.
    #[error(
        "power curve: needs points of work (TFLOP, ascending) and ratio (sustained over burst time), all above 0"
    )]
    BadPowerCurve,
    /// A measured row that cannot be.
    #[error("row {index} of the measured products: {ns} ns cannot be the time of its shape")]
    BadRow {
        /// Its place, from 0.
        index: usize,
        /// Its time.
        ns: f64,
    },
}

impl KernelTables {
    /// The kernels of a device, sustained. A device of the user's own is one without grids.
    #[must_use]
    pub fn new(device: &Device) -> Self {
        let settings = Settings::built_in();
        let machine = |device| Machine::new(device, &settings.roofline);
        let shipped = settings.source(&device.name).and_then(|source| {
            let of = Catalogue::built_in().devices().iter().find(|known| known.name == source.measured_on)?;
            let (of, ours) = (machine(of), machine(device));
            let scaled_to = (!of.equals(&ours)).then(|| ours.with_efficiency_of(&of));
            Some(Borrowed { grids: Shipped::named(&source.grid)?, of, scaled_to })
        });
        Self {
            machine: machine(device),
            shipped,
            sustained: PowerCurve::on(device),
            attention_rates: attention::Rates::of(&device.name, |_| true),
            memory: memory_bound::Efficiencies::of(&device.name),
            user: None,
            second_wave: settings.hands_out_tiles_at_launch(&device.name),
            own_curve: PowerCurve::on(device),
        }
    }

    /// The same at another state of the clock.
    #[must_use]
    pub fn at(self, power: Power) -> Self {
        let sustained = match power {
            Power::Sustained => self.own_curve.clone(),
            Power::Burst => None,
        };
        Self { sustained, ..self }
    }

    /// The same with a sustained clock that the user measured.
    ///
    /// # Errors
    /// [`KernelError::BadPowerCurve`] unless works and ratios are positive and works ascend.
    pub fn with_power_curve(self, curve: PowerCurve) -> Result<Self, KernelError> {
        if !curve.is_sound() {
            return Err(KernelError::BadPowerCurve);
        }
        Ok(Self { sustained: Some(Cow::Owned(curve)), ..self })
    }

    /// How sustained times compare to burst times, and on what evidence. None: no difference is known.
    #[must_use]
    pub fn power_curve(&self) -> Option<&PowerCurve> {
        self.sustained.as_deref()
    }

    /// Dense peak of one device, in FLOP/s.
    #[must_use]
    pub fn peak_flops(&self, format: Format) -> Option<f64> {
        self.machine.peak(format).map(|per_us| per_us * 1e6)
    }

    /// Memory bandwidth of one device, in bytes/s.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        self.machine.bandwidth.map(|per_us| per_us * 1e6)
    }

    /// The same with the share of the memory bandwidth that the user measured a large copy to reach.
    #[must_use]
    pub fn with_stream(self, share: f64) -> Self {
        Self { memory: self.memory.with_stream(share), ..self }
    }

    fn grid(&self, format: Format) -> Option<(&'static ProductGrid, &Borrowed)> {
        let borrowed = self.shipped.as_ref()?;
        Some((borrowed.grids.product(format)?, borrowed))
    }

    /// Sustained over burst time of arithmetic.
    fn sustained_ratio(&self, format: Format, flops: f64) -> f64 {
        let Some(curve) = &self.sustained else { return 1.0 };
        let faster = self
            .machine
            .peak(format)
            .zip(self.machine.peak(Format::Bf16))
            .map_or(1.0, |(it, bf16)| it / bf16);
        curve.ratio(flops / faster / 1e12)
    }

    fn sustained_deviation(&self) -> f64 {
        self.sustained.as_ref().map_or(0.0, |curve| curve.deviation)
    }

    fn no_rate(&self, format: Format) -> KernelError {
        KernelError::NoRate { device: self.machine.name.clone(), format }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::Basis;

    #[test]
    fn every_device_of_the_catalogue_has_times_or_says_what_is_missing() {
        for device in Catalogue::built_in().devices() {
            let tables = KernelTables::new(device);
            for format in [Format::Bf16, Format::Fp16] {
                match tables.gemm(&Gemm::new(4096, 4096, 4096).format(format)) {
                    Ok(estimate) => assert!(estimate.ns > 0.0 && estimate.ns.is_finite(), "{}", device.name),
                    Err(error) => assert!(error.to_string().contains("dense_peaks"), "{error}"),
                }
            }
            assert!(
                tables.gemm(&Gemm::new(4096, 4096, 4096).format(Format::Fp16)).is_ok()
                    || device.vendor != "NVIDIA"
            );
        }
    }

    #[test]
    fn a_device_scaled_from_another_says_so() {
        let time = |name: &str| {
            let device = Catalogue::built_in().find(name).unwrap();
            KernelTables::new(device).at(Power::Burst).gemm(&Gemm::new(8192, 8192, 8192)).unwrap()
        };
        let (h100, h800, nvl) = (time("H100 SXM5"), time("H800 SXM5"), time("H100 NVL"));
        assert_eq!((h100.basis, h800.basis, nvl.basis), (Basis::Table, Basis::Table, Basis::Extrapolated));
        assert_eq!(h800.ns, h100.ns);
        assert!((nvl.ns / h100.ns - 989.4 / 835.5).abs() < 0.01);
    }

    #[test]
    fn a_power_curve_of_the_users_own_replaces_ours() {
        let b200 = || KernelTables::new(Catalogue::built_in().find("B200").unwrap());
        let gemm = Gemm::new(16_384, 16_384, 16_384);
        let curve = |points| PowerCurve::measured(points, 0.02, "here".to_owned());
        let ours = b200().with_power_curve(curve(vec![(0.05, 1.2)])).unwrap();
        let ratio = ours.gemm(&gemm).unwrap().ns / b200().at(Power::Burst).gemm(&gemm).unwrap().ns;
        assert!((ratio - 1.2).abs() < 1e-9);
        let falling = b200().with_power_curve(curve(vec![(1.0, 1.2), (0.5, 1.1)]));
        assert_eq!(falling.unwrap_err(), KernelError::BadPowerCurve);
    }
}
