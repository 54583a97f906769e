//! Three protocols with fitted start, hop and bandwidth: `data/collective/protocol_fits.yaml`. For groups of more devices in
//! one domain than were measured, up to twice as many.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{Operation, Protocol};

const FILE: &str = include_str!("../../data/collective/protocol_fits.yaml");

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    fits: Vec<Entry>,
}

/// Start us, hop us, GB/s of the bus, of each protocol.
type Lines = [[f64; 3]; 3];

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    device: String,
    #[allow(dead_code, reason = "says in the file what was measured")]
    lib: String,
    all_gather: Lines,
    reduce_scatter: Lines,
    all_reduce: Lines,
    all_to_all: Lines,
}

fn entries() -> &'static [Entry] {
    // A test reads the file, so that the empty one is never seen.
    static BUILT_IN: LazyLock<Vec<Entry>> =
        LazyLock::new(|| serde_saphyr::from_str::<File>(FILE).map(|file| file.fits).unwrap_or_default());
    &BUILT_IN
}

/// The fitted lines for a number of devices.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fit {
    /// Latency us and ns a byte of the tensor, by protocol.
    lines: [(f64, f64); 3],
}

impl Fit {
    pub(super) fn find(device: &str, operation: Operation, size: u32) -> Option<Self> {
        let device = match device {
            "GB200" => "B200",
            "A100 SXM4 40GB" => "A100 SXM4 80GB",
            other => other,
        };
        let entry = entries().iter().find(|entry| entry.device == device)?;
        let lines = match operation {
            Operation::AllReduce => entry.all_reduce,
            Operation::AllGather => entry.all_gather,
            Operation::ReduceScatter => entry.reduce_scatter,
            Operation::AllToAll => entry.all_to_all,
            Operation::Broadcast | Operation::Reduce | Operation::SendReceive => return None,
        };
        let (steps, factor) = (operation.ring_steps(size), operation.bus_factor(size));
        let line = |[start, hop, gb_per_s]: [f64; 3]| (start + hop * steps, factor / gb_per_s);
        Some(Self { lines: lines.map(line) })
    }

    /// The fastest protocol, its latency and transfer in ns.
    pub(super) fn choose(&self, bytes: f64) -> (Protocol, f64, f64) {
        let terms = |index: usize| (self.lines[index].0 * 1e3, bytes * self.lines[index].1);
        let mut best = (Protocol::Ll, f64::INFINITY, 0.0);
        for protocol in Protocol::ALL {
            let (latency, transfer) = terms(protocol.index());
            if latency + transfer < best.1 + best.2 {
                best = (protocol, latency, transfer);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::curves_of;
    use super::*;

    /// The reference's random fifth held out gives 4.1-8.9 % median; here on all rows of the pooled table.
    #[test]
    fn fitted_protocols_are_within_ten_percent_of_the_table() {
        assert_eq!(serde_saphyr::from_str::<File>(FILE).unwrap().fits.len(), 3);
        for device in ["H100 SXM5", "A100 SXM4 80GB", "B200"] {
            for operation in
                [Operation::AllReduce, Operation::AllGather, Operation::ReduceScatter, Operation::AllToAll]
            {
                let mut errors = Vec::new();
                for (devices, bytes, ns) in curves_of(device, operation) {
                    let (_, latency, transfer) = Fit::find(device, operation, devices).unwrap().choose(bytes);
                    errors.push(((latency + transfer) / ns - 1.0).abs() * 100.0);
                }
                errors.sort_by(f64::total_cmp);
                let median = errors[errors.len() / 2];
                println!("{device} {operation:?}: fitted protocols, median {median:.1} %");
                assert!(median <= 10.0, "{device} {operation:?}: {median}");
            }
        }
    }
}
