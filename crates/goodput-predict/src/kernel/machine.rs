//! What a device can do at most, as the kernels need it.

use goodput_model::device::{Device, Figure};

use super::Format;
use super::settings::Roofline;

/// Rates of one device as torch or JAX counts them.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub name: String,
    /// Dense peaks in FLOPs per microsecond, by format.
    peak: [Option<f64>; Format::ALL.len()],
    /// Of the peak, what products reach at best; from the roofline's settings.
    arithmetic: f64,
    /// Memory bandwidth in bytes per microsecond.
    pub bandwidth: Option<f64>,
    /// SMs, CUs or cores.
    pub engines: Option<u32>,
}

impl Machine {
    pub fn new(device: &Device, roofline: &Roofline) -> Self {
        let share = 1.0 / f64::from(device.devices_per_unit.max(1));
        let peak = Format::ALL.map(|format| device.peak(format.dtype()).ok().map(|flops| flops / 1e6));
        let bf16 = device.peak(Format::Bf16.dtype()).ok();
        let measured = device.measured_bf16_flops_per_second.map(|flops| flops * share);
        Self {
            name: device.name.clone(),
            peak,
            arithmetic: bf16.zip(measured).map_or(roofline.arithmetic, |(peak, measured)| {
                measured / peak * roofline.share_of_largest_measured
            }),
            bandwidth: device.memory_bytes_per_second.map(|figure| share / 1e6 * middle(figure)),
            engines: device.engines.as_ref().map(|engines| engines.count / device.devices_per_unit.max(1)),
        }
    }

    /// Dense peak in FLOPs per microsecond.
    pub fn peak(&self, format: Format) -> Option<f64> {
        self.peak[format as usize]
    }

    /// Microseconds of FLOPs and bytes, whichever take longer.
    pub fn roofline_us(&self, roofline: &Roofline, format: Format, flops: f64, bytes: f64) -> Option<f64> {
        let arithmetic = flops / (self.peak(format)? * self.arithmetic);
        let memory = bytes / (self.bandwidth? * roofline.memory);
        Some(roofline.launch_us + arithmetic.max(memory))
    }

    /// The same with the arithmetic efficiency of another device: what changes if only peak and bandwidth do.
    pub fn with_efficiency_of(&self, other: &Self) -> Self {
        Self { arithmetic: other.arithmetic, ..self.clone() }
    }

    /// The same rates, so that a grid of the one serves the other as it is.
    pub fn equals(&self, other: &Self) -> bool {
        self.peak == other.peak && self.bandwidth == other.bandwidth
    }
}

fn middle(figure: Figure) -> f64 {
    match figure {
        Figure::Exact(value) => value,
        Figure::Range(least, most) => f64::midpoint(least, most),
    }
}
