//! Published rates of fused attention.

use std::sync::LazyLock;

use serde::Deserialize;

use super::AttentionKernel;

/// An entry of `data/kernels/attention.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rates {
    pub kernel: AttentionKernel,
    devices: Vec<String>,
    pub measured_on: Vec<String>,
    pub deviation: f64,
    pub forward: Vec<OfHeadDim>,
    pub backward: Vec<OfHeadDim>,
    #[serde(default)]
    pub pads_values: bool,
    #[serde(default)]
    pub fp8_speedup: Vec<(f64, f64)>,
    #[serde(rename = "source")]
    _source: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfHeadDim {
    pub head_dim: f64,
    pub causal: (f64, f64),
    pub full: (f64, f64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Other {
    pub deviation: f64,
    pub forward: (f64, f64),
    pub backward: (f64, f64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    kernels: Vec<Rates>,
    other: Other,
}

fn file() -> Option<&'static File> {
    // A test reads the file, so that its absence is never seen.
    static FILE: LazyLock<Option<File>> =
        LazyLock::new(|| serde_saphyr::from_str(include_str!("../../../data/kernels/attention.yaml")).ok());
    FILE.as_ref()
}

/// What devices that no entry lists are assumed to reach.
pub(super) fn other() -> Option<&'static Other> {
    file().map(|file| &file.other)
}

/// Lengths between which the sources measured.
pub(super) const MEASURED_LENGTHS: std::ops::RangeInclusive<f64> = 512.0..=16_384.0;

/// Share of the peak at a sequence length.
pub(super) fn curve((most, half): (f64, f64), length: f64) -> f64 {
    let length = length.min(*MEASURED_LENGTHS.end());
    most * length / (length + half)
}

/// A value at a place between ascending points, linear in the logarithm of the place and level beyond the ends.
pub(super) fn between(points: impl Iterator<Item = (f64, f64)>, place: f64) -> Option<f64> {
    let mut below: Option<(f64, f64)> = None;
    for (at, value) in points {
        match below {
            _ if at < place => below = Some((at, value)),
            None => return Some(value),
            Some((low, start)) => {
                return Some(start + (value - start) * (place / low).ln() / (at / low).ln());
            }
        }
    }
    below.map(|(_, value)| value)
}

impl Rates {
    /// The first entry of a device that is accepted.
    pub fn of(device: &str, accepts: impl Fn(&Self) -> bool) -> Option<&'static Self> {
        let mut entries = file()?.kernels.iter();
        entries.find(|rates| accepts(rates) && rates.devices.iter().any(|name| name == device))
    }
}
