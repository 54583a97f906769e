//! Measured times of collectives inside one node: `data/collective/nccl.csv`.
//!
//! Between sizes the line in log-log, between numbers of devices the line in log n. Below the first size the first time
//! stands, which is latency; beyond the last one each further byte costs what the last ones did.

use std::sync::LazyLock;

use crate::cluster::{Cluster, Clusters};

use super::{GroupShape, Operation};

const FILE: &str = include_str!("../../data/collective/nccl.csv");

/// Times at powers of two of bytes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curve {
    device: &'static str,
    operation: Operation,
    /// Bytes of one number: 2 stands for every wider one too.
    width: u32,
    devices: u32,
    first_log2: f64,
    /// Natural logarithms of nanoseconds, never falling.
    ln_ns: Vec<f64>,
}

impl Curve {
    /// Nanoseconds, and whether the size lies beyond the measured ones.
    pub(super) fn ns(&self, bytes: f64) -> (f64, bool) {
        let position = bytes.max(1.0).log2() - self.first_log2;
        let last = self.ln_ns.len() - 1;
        if position <= 0.0 {
            return (self.ln_ns[0].exp(), false);
        }
        if position >= last as f64 {
            let (before, end) = (self.ln_ns[last - 1].exp(), self.ln_ns[last].exp());
            let measured = (self.first_log2 + last as f64).exp2();
            let per_byte = (end - before) / (measured / 2.0);
            return (end + (bytes - measured) * per_byte, bytes > measured);
        }
        let below = position as usize;
        let (low, high) = (self.ln_ns[below], self.ln_ns[below + 1]);
        ((low + (high - low) * (position - below as f64)).exp(), false)
    }
}

/// The least squares line that never falls: noise must not make a larger message faster.
fn never_falling(values: &mut [f64]) {
    let mut blocks: Vec<(f64, usize)> = Vec::with_capacity(values.len());
    for &value in values.iter() {
        blocks.push((value, 1));
        while let [.., (before, many), (after, few)] = blocks[..] {
            if before <= after {
                break;
            }
            blocks.truncate(blocks.len() - 2);
            let count = many + few;
            blocks.push(((before * many as f64 + after * few as f64) / count as f64, count));
        }
    }
    let levels = blocks.iter().flat_map(|(level, count)| std::iter::repeat_n(*level, *count));
    values.iter_mut().zip(levels).for_each(|(value, level)| *value = level);
}

fn read(text: &'static str) -> Option<Vec<Curve>> {
    let mut lines = text.lines();
    let first: f64 = lines.next()?.split(',').nth(5)?.parse().ok()?;
    lines
        .map(|line| {
            let mut fields = line.split(',');
            let device = fields.next()?;
            let _lib = fields.next()?;
            let operation = match fields.next()? {
                "all_reduce" => Operation::AllReduce,
                "all_gather" => Operation::AllGather,
                "reduce_scatter" => Operation::ReduceScatter,
                "alltoall" => Operation::AllToAll,
                _ => return None,
            };
            let width = if fields.next()? == "int8" { 1 } else { 2 };
            let devices = fields.next()?.parse().ok()?;
            let times: Result<Vec<f64>, _> = fields.map(str::parse::<f64>).collect();
            let mut ln_ns: Vec<f64> = times.ok()?.into_iter().map(|us| (us * 1e3).ln()).collect();
            never_falling(&mut ln_ns);
            Some(Curve { device, operation, width, devices, first_log2: first.log2(), ln_ns })
        })
        .collect()
}

pub(super) fn curves() -> &'static [Curve] {
    // A test reads the file, so that the empty table is never seen.
    static BUILT_IN: LazyLock<Vec<Curve>> = LazyLock::new(|| read(FILE).unwrap_or_default());
    &BUILT_IN
}

/// Times of a number of devices, between two measured ones where it is none of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    low: &'static Curve,
    high: &'static Curve,
    /// Share of `high`.
    weight: f64,
    /// Whether another device's times stand in.
    pub(super) stands_in: bool,
}

impl Measured {
    /// Nanoseconds, and whether the size lies beyond the measured ones.
    pub(super) fn ns(&self, bytes: f64) -> (f64, bool) {
        let (low, beyond) = self.low.ns(bytes);
        if self.weight == 0.0 {
            return (low, beyond);
        }
        let (high, _) = self.high.ns(bytes);
        (low * (high / low).powf(self.weight), beyond)
    }

    /// The largest number of devices that was measured with this device.
    pub(super) fn most(device: &str) -> Option<u32> {
        curves().iter().filter(|curve| curve.device == device).map(|curve| curve.devices).max()
    }

    /// `None` where nothing like it was measured: other links, several nodes, more devices.
    pub(super) fn find(
        cluster: &Cluster,
        shape: GroupShape,
        operation: Operation,
        dtype_bytes: u32,
    ) -> Option<Self> {
        if shape.nodes != 1 {
            return None;
        }
        let device = measured_device(&cluster.device);
        let own = Self::among(device, shape.size, operation, dtype_bytes);
        own.or_else(|| {
            let like = Self::among(stand_in(device)?, shape.size, operation, dtype_bytes)?;
            Some(Self { stands_in: true, ..like })
        })
    }

    fn among(device: &str, size: u32, operation: Operation, dtype_bytes: u32) -> Option<Self> {
        let fits = |curve: &&Curve| {
            curve.device == device && curve.operation == operation && (curve.width == 1) == (dtype_bytes == 1)
        };
        let low = curves()
            .iter()
            .filter(fits)
            .filter(|curve| curve.devices <= size)
            .max_by_key(|curve| curve.devices)?;
        let high = curves()
            .iter()
            .filter(fits)
            .filter(|curve| curve.devices >= size)
            .min_by_key(|curve| curve.devices)?;
        let ln = |devices: u32| f64::from(devices).ln();
        let span = ln(high.devices) - ln(low.devices);
        let weight = if span > 0.0 { (ln(size) - ln(low.devices)) / span } else { 0.0 };
        Some(Self { low, high, weight, stands_in: false })
    }
}

/// The device with the same links whose times were measured.
fn measured_device(device: &str) -> &str {
    match device {
        "A100 SXM4 40GB" => "A100 SXM4 80GB",
        other => other,
    }
}

/// GB200 and GB300 were measured with up to 4 devices: the same chip in a node of 8 stands in beyond.
fn stand_in(device: &str) -> Option<&'static str> {
    match device {
        "GB200" => Some("B200"),
        "GB300" => Some("B300"),
        _ => None,
    }
}

/// Whether the cluster's devices are linked like those of a known cluster with the same device.
pub(super) fn has_measured_links(cluster: &Cluster) -> bool {
    let ours = &cluster.intra;
    Clusters::built_in().iter().any(|known| {
        let links = &known.intra;
        known.device == cluster.device
            && links.link == ours.link
            && (links.gb_per_s - ours.gb_per_s).abs() < 1.0
    })
}

/// Devices, bytes and nanoseconds of a device's 16-bit rows.
#[cfg(test)]
pub(super) fn curves_of(device: &str, operation: Operation) -> Vec<(u32, f64, f64)> {
    let of = curves()
        .iter()
        .filter(|curve| (curve.device, curve.operation, curve.width) == (device, operation, 2));
    of.flat_map(|curve| {
        let size = |index: usize| (curve.first_log2 + index as f64).exp2();
        curve.ln_ns.iter().enumerate().map(move |(index, ns)| (curve.devices, size(index), ns.exp()))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_holds_every_curve() {
        assert_eq!(read(FILE).unwrap().len(), 176);
    }

    #[test]
    fn noise_is_levelled_and_nothing_else_changes() {
        let mut values = [1.0, 3.0, 2.0, 4.0, 4.5];
        never_falling(&mut values);
        assert_eq!(values, [1.0, 2.5, 2.5, 4.0, 4.5]);
    }

    /// Each size left out in turn and put back from its neighbours, ends kept: the reference's test of interpolation, on the
    /// times as they were measured.
    #[test]
    fn a_size_left_out_comes_back_within_five_percent() {
        for device in ["H100 SXM5", "A100 SXM4 80GB", "B200"] {
            for operation in ["all_reduce", "all_gather", "reduce_scatter", "alltoall"] {
                let mut errors = Vec::new();
                for line in FILE.lines().filter(|line| line.starts_with(&format!("{device},"))) {
                    let fields: Vec<&str> = line.split(',').collect();
                    if (fields[2], fields[3]) != (operation, "half") {
                        continue;
                    }
                    let times: Vec<f64> = fields[5..].iter().map(|time| time.parse().unwrap()).collect();
                    errors.extend(
                        times.windows(3).map(|us| ((us[0] * us[2]).sqrt() / us[1] - 1.0).abs() * 100.0),
                    );
                }
                errors.sort_by(f64::total_cmp);
                let (median, p90) = (errors[errors.len() / 2], errors[errors.len() * 9 / 10]);
                println!("{device} {operation}: left-out sizes, median {median:.1} %, p90 {p90:.1} %");
                assert!(errors.len() == 57 && median <= 5.0, "{device} {operation}: {median}");
            }
        }
    }

    #[test]
    fn four_devices_left_out_come_back_from_two_and_eight() {
        for device in ["H100 SXM5", "A100 SXM4 80GB", "B200"] {
            let mut errors = Vec::new();
            for curve in curves().iter().filter(|curve| curve.device == device && curve.devices == 4) {
                let of = |devices| {
                    let like = |other: &&Curve| {
                        (other.device, other.operation, other.width) == (device, curve.operation, curve.width)
                            && other.devices == devices
                    };
                    curves().iter().find(like).unwrap()
                };
                for ((low, high), four) in of(2).ln_ns.iter().zip(&of(8).ln_ns).zip(&curve.ln_ns) {
                    errors.push(((f64::midpoint(*low, *high) - four).exp() - 1.0).abs() * 100.0);
                }
            }
            errors.sort_by(f64::total_cmp);
            let median = errors[errors.len() / 2];
            println!("{device}: four devices from two and eight, median {median:.1} %");
            assert!(median <= 9.0, "{device}: {median}");
        }
    }
}
