//! Sustained against burst: a step runs at the clock that the board's power allows, a benchmark of a few calls does not.

use std::borrow::Cow;
use std::sync::LazyLock;

use goodput_model::device::{Catalogue, Device, Figure};
use serde::Deserialize;

/// At what clock kernels run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
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
    below_rating: BelowRating,
}

/// How the rate of arithmetic goes with a board's power limit.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct BelowRating {
    exponent: f64,
    deviation: f64,
    source: String,
}

fn file() -> &'static File {
    static FILE: LazyLock<File> = LazyLock::new(|| {
        serde_saphyr::from_str(include_str!("../../data/kernels/power.yaml")).unwrap_or_default()
    });
    &FILE
}

impl PowerCurve {
    /// The curve of a device of the catalogue. None: times are taken as sustained already.
    #[must_use]
    pub fn of(device: &str) -> Option<&'static Self> {
        file().curves.iter().find(|curve| curve.devices.iter().any(|name| name == device))
    }

    /// The curve of a device whose power may be limited below the catalogue's rating: the rate falls with a power of the limit.
    #[must_use]
    pub fn on(device: &Device) -> Option<Cow<'static, Self>> {
        let rated = Self::of(&device.name);
        let figure = |known: &Device| match known.power_w? {
            Figure::Exact(watts) => Some(watts),
            Figure::Range(_, most) => Some(most),
        };
        let catalogue = Catalogue::built_in().devices().iter().find(|known| known.name == device.name);
        let Some(share) = figure(device)
            .zip(catalogue.and_then(figure))
            .map(|(limit, rating)| limit / rating)
            .filter(|share| *share < 1.0)
        else {
            return rated.map(Cow::Borrowed);
        };
        let BelowRating { exponent, deviation, source } = &file().below_rating;
        let slower = share.powf(-exponent);
        let points = rated.map_or_else(|| vec![(1.0, 1.0)], |curve| curve.time_over_burst.clone());
        let time_over_burst = points.into_iter().map(|(work, ratio)| (work, ratio * slower)).collect();
        let deviation = deviation.hypot(rated.map_or(0.0, |curve| curve.deviation));
        let source = format!("at {share:.2} of the rated power: {source}");
        let kind = PowerEvidence::Expected;
        Some(Cow::Owned(Self { devices: Vec::new(), time_over_burst, deviation, kind, source }))
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
    fn a_limit_below_the_rating_slows_and_one_at_it_does_not() {
        let mut h100 = Catalogue::built_in().find("H100 SXM5").unwrap().clone();
        let rated = PowerCurve::on(&h100).unwrap().ratio(1.0);
        assert_eq!(rated, PowerCurve::of("H100 SXM5").unwrap().ratio(1.0));
        h100.power_w = Some(Figure::Exact(500.0));
        let limited = PowerCurve::on(&h100).unwrap();
        assert!((limited.ratio(1.0) / rated - (700.0f64 / 500.0).powf(0.9)).abs() < 1e-9);
        assert_eq!(limited.kind, PowerEvidence::Expected);
    }

    #[test]
    fn every_curve_ascends_in_work_and_names_devices_of_the_catalogue() {
        let file: File = serde_saphyr::from_str(include_str!("../../data/kernels/power.yaml")).unwrap();
        for curve in &file.curves {
            assert!(curve.is_sound());
            for device in &curve.devices {
                let known = Catalogue::built_in().devices();
                assert!(known.iter().any(|known| known.name == *device), "{device}");
            }
        }
    }
}
