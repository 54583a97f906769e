//! Canaries: the newest run on each number of devices against the earlier ones, as a scaling-efficiency curve.

use std::collections::BTreeMap;

use serde::Serialize;

use super::prepare::median;
use super::row::{Kind, Row};
use super::student::{FEWEST, newest_p_value};

/// Earlier runs that make the baseline: older ones ran on other software.
const EARLIER: usize = 30;
/// Least scale of a logarithm: noise of 0.1 %.
const FLOOR: f64 = 0.001;

/// One canary over its numbers of devices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// The canary.
    pub job: String,
    /// What its speed is: `mfu`, or `step_time` where no MFU is known (the work of a device is then taken to be the same).
    pub speed: &'static str,
    /// By devices, the fewest first.
    pub points: Vec<CurvePoint>,
}

/// The newest run on one number of devices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Devices.
    pub devices: u64,
    /// UTC day.
    pub day: String,
    /// Speed of a device: MFU, or steps per second.
    pub speed: f64,
    /// Median of the earlier runs.
    pub baseline_speed: Option<f64>,
    /// Speed of a device over that on the fewest devices, whose own efficiency is one.
    pub efficiency: f64,
    /// Median of the earlier runs.
    pub baseline_efficiency: Option<f64>,
    /// Earlier runs.
    pub earlier: usize,
    /// Probability of a value as far off without a change: of the speed on the fewest devices, else of the efficiency.
    pub p_value: Option<f64>,
    /// Newest over baseline less one, of the same.
    pub change: Option<f64>,
    /// Days since 1970.
    #[serde(skip)]
    pub epoch_day: i64,
}

/// The curves of all canaries. Runs of different ideals never stand in one curve.
#[must_use]
pub fn curves(rows: &[Row]) -> Vec<Curve> {
    let mut canaries: BTreeMap<(&str, String), BTreeMap<u64, Vec<&Row>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.kind == Kind::Canary) {
        let name = row.job.as_deref().unwrap_or_default();
        let ideal = row
            .program
            .as_ref()
            .map(|p| format!("{} {} {} {}", p.device, p.dtype, p.peak_flops_per_second, p.convention));
        canaries
            .entry((name, ideal.unwrap_or_default()))
            .or_default()
            .entry(row.devices)
            .or_default()
            .push(row);
    }
    canaries.into_iter().filter_map(|((job, _), by_devices)| curve(job, by_devices)).collect()
}

fn curve(job: &str, mut by_devices: BTreeMap<u64, Vec<&Row>>) -> Option<Curve> {
    let by_mfu = by_devices.values().flatten().all(|row| row.program.is_some());
    let speed = |row: &Row| {
        if by_mfu { row.program.as_ref().map(|p| p.mfu) } else { row.steps.as_ref().map(|s| 1.0 / s.p50_s) }
    };
    by_devices.retain(|_, rows| {
        rows.retain(|row| speed(row).is_some_and(|speed| speed > 0.0));
        rows.sort_by_key(|row| row.from_ns);
        !rows.is_empty()
    });
    let smallest = by_devices.values().next()?.clone();
    let points = by_devices
        .iter()
        .enumerate()
        .filter_map(|(i, (&devices, rows))| {
            // The run on the fewest devices that goes with each: the last that began no later.
            let beside = |row: &Row| {
                let at = smallest.partition_point(|one| one.from_ns <= row.from_ns);
                smallest[at.max(1) - 1]
            };
            let efficiencies: Vec<f64> =
                rows.iter().filter_map(|row| Some(speed(row)? / speed(beside(row))?)).collect();
            let speeds: Vec<f64> = rows.iter().filter_map(|row| speed(row)).collect();
            let judged = if i == 0 { &speeds } else { &efficiencies };
            let (newest, earlier) = judged.split_last()?;
            let earlier = &earlier[earlier.len().saturating_sub(EARLIER)..];
            let logs: Vec<f64> = earlier.iter().map(|value| value.ln()).collect();
            let baseline = |of: &[f64]| {
                let before = &of[..of.len() - 1];
                let mut before = before[before.len().saturating_sub(EARLIER)..].to_vec();
                (before.len() >= FEWEST).then(|| median(&mut before))
            };
            let last = rows.last()?;
            Some(CurvePoint {
                devices,
                day: last.day.to_string(),
                speed: *speeds.last()?,
                baseline_speed: baseline(&speeds),
                efficiency: *efficiencies.last()?,
                baseline_efficiency: baseline(&efficiencies),
                earlier: earlier.len(),
                p_value: newest_p_value(&logs, newest.ln(), FLOOR),
                change: baseline(judged).map(|baseline| newest / baseline - 1.0),
                epoch_day: last.epoch_day(),
            })
        })
        .collect();
    Some(Curve { job: job.to_owned(), speed: if by_mfu { "mfu" } else { "step_time" }, points })
}
