//! Sustained over burst time by the work of a call, from calls that were measured in both states of the clock.

use super::call::Timed;
use super::collect::median;
use crate::kernel::{KernelTables, Power};

/// How a device's sustained times compare to its burst times.
#[derive(Debug, Clone, PartialEq)]
pub struct Sustained {
    /// TFLOP of one call, as bf16 would take for it, and the ratio; ascending in the work, as in data/kernels/power.yaml.
    pub time_over_burst: Vec<(f64, f64)>,
    /// Relative standard deviation of the ratio.
    pub deviation: f64,
    /// Calls that were measured in both states.
    pub pairs: usize,
}

/// Points of a curve for each factor of ten of work.
const PER_DECADE: f64 = 3.0;
/// What a ratio is worth at best: a clock and a thermal state are never quite the same again.
const LEAST_DEVIATION: f64 = 0.02;

/// The curve of arithmetic calls; none where no call was measured in both states. `rows` are sorted by call.
pub(super) fn curve(rows: &[Timed], tables: &KernelTables) -> Option<Sustained> {
    let mut pairs: Vec<(f64, f64)> = rows
        .windows(2)
        .filter(|pair| pair[0].call == pair[1].call && pair[0].power != pair[1].power)
        .filter_map(|pair| {
            let kernel = pair[0].call.kernel()?;
            let bf16 = tables.peak_flops(crate::kernel::Format::Bf16)?;
            let faster = tables.peak_flops(kernel.format())? / bf16;
            let tflop = kernel.flops() / faster / 1e12;
            let (burst, sustained) =
                if pair[0].power == Power::Burst { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
            (tflop > 0.0).then(|| (tflop, sustained.ns / burst.ns))
        })
        .collect();
    if pairs.is_empty() {
        return None;
    }
    pairs.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let bin = |tflop: f64| (tflop.log10() * PER_DECADE).round();
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut apart = Vec::with_capacity(pairs.len());
    for calls in pairs.chunk_by(|one, other| bin(one.0) == bin(other.0)) {
        let middle = |of: fn(&(f64, f64)) -> f64| median(&mut calls.iter().map(of).collect::<Vec<_>>());
        let (work, ratio) = (middle(|call| call.0), middle(|call| call.1));
        apart.extend(calls.iter().map(|call| (call.1 / ratio - 1.0).abs()));
        points.push((work, ratio));
    }
    let deviation = (1.4826 * median(&mut apart)).max(LEAST_DEVIATION);
    Some(Sustained { time_over_burst: points, deviation, pairs: pairs.len() })
}
