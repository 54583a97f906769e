//! Sustained against burst: a step runs at the clock that the board's power allows, a benchmark of a few calls does not.

use std::sync::LazyLock;

use serde::Deserialize;

/// At what clock kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Power {
    /// As in a step, under the board's power limit (data/kernels/power.yaml).
    #[default]
    Sustained,
    /// As in a benchmark of a few calls.
    Burst,
}

/// How a device's sustained time compares to its burst time.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerCurve {
    #[serde(default)]
    devices: Vec<String>,
    /// TFLOP of one call, as bf16 would take for it, and the ratio; ascending in the work.
    pub time_over_burst: Vec<(f64, f64)>,
    /// Relative standard deviation of the ratio.
    pub deviation: f64,
    /// Whether the device itself was measured.
    pub kind: PowerEvidence,
    /// Where the ratios are from.
    pub source: String,
}

/// What a [`PowerCurve`] rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerEvidence {
    /// Sustained measurements of the device.
    Measured,
    /// Signs of it: slowing within bursts, searches over shapes, other boards.
    Expected,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct File {
    curves: Vec<PowerCurve>,
}

impl PowerCurve {
    /// The curve of a device of the catalogue. None: times are taken as sustained already.
    #[must_use]
    pub fn of(device: &str) -> Option<&'static Self> {
        static FILE: LazyLock<File> = LazyLock::new(|| {
            serde_saphyr::from_str(include_str!("../../data/kernels/power.yaml")).unwrap_or_default()
        });
        FILE.curves.iter().find(|curve| curve.devices.iter().any(|name| name == device))
    }

    /// A curve that the user measured on a device.
    #[must_use]
    pub const fn measured(time_over_burst: Vec<(f64, f64)>, deviation: f64, source: String) -> Self {
        Self { devices: Vec::new(), time_over_burst, deviation, kind: PowerEvidence::Measured, source }
    }

    /// Works are positive and ascend, and so are ratios positive.
    pub(super) fn is_sound(&self) -> bool {
        let points = &self.time_over_burst;
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        !points.is_empty()
            && points.iter().all(|(work, ratio)| is_positive(*work) && is_positive(*ratio))
            && points.is_sorted_by(|one, other| one.0 < other.0)
    }

    /// Sustained time over burst time of a call of so many TFLOP, as bf16 would take for it.
    #[must_use]
    pub fn ratio(&self, tflop: f64) -> f64 {
        let points = &self.time_over_burst;
        let above = points.partition_point(|(work, _)| *work <= tflop);
        match (above.checked_sub(1).map(|below| points[below]), points.get(above)) {
            (Some((low, one)), Some((high, other))) => {
                one + (other - one) * (tflop / low).ln() / (high / low).ln()
            }
            (Some((_, ratio)), None) => ratio,
            (None, Some((_, ratio))) => *ratio,
            (None, None) => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn is_linear_in_the_logarithm_of_the_work_and_level_beyond() {
        let b200 = PowerCurve::of("B200").unwrap();
        assert_eq!(b200.ratio(0.001), 1.03);
        assert_eq!(b200.ratio(0.15), 1.25);
        assert!((b200.ratio(5f64.sqrt()) - 1.355).abs() < 1e-12);
        assert_eq!(b200.ratio(100.0), 1.41);
        assert_eq!(b200.kind, PowerEvidence::Measured);
        assert_eq!(PowerCurve::of("A100 PCIe 80GB").unwrap().ratio(0.01), 1.06);
        assert!(PowerCurve::of("TPU v4").is_none());
    }

    #[test]
    fn every_curve_ascends_in_work_and_names_devices_of_the_catalogue() {
        let file: File = serde_saphyr::from_str(include_str!("../../data/kernels/power.yaml")).unwrap();
        for curve in &file.curves {
            assert!(curve.is_sound());
            for device in &curve.devices {
                let known = goodput_model::device::Catalogue::built_in().devices();
                assert!(known.iter().any(|known| known.name == *device), "{device}");
            }
        }
    }
}
