//! The guide's closed formulas, for comparison with what NCCL does. Nothing else here uses them.
//!
//! The guide multiplies size / bandwidth by the protocol's efficiency, which makes a less efficient protocol faster; its own
//! program divides. Both are given. It also picks the protocol by size alone, and charges 2 us for each further 512 KB.

use super::{Operation, Protocol};

/// The guide's link: what it carries and what each hop costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuideLink {
    /// GB/s of one direction.
    pub gb_per_s: f64,
    /// Latency of a hop, us: 3 for NVLink, 30 for EFA.
    pub hop_us: f64,
}

/// The guide's time, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuideTime {
    /// The protocol that it picks by size.
    pub protocol: Protocol,
    /// With the bandwidth term divided by the efficiency.
    pub ns: f64,
    /// As the guide prints it: multiplied.
    pub as_printed_ns: f64,
}

/// The ring's transfer alone: bytes over the wire of each device at full bandwidth, ns.
///
/// Worked example E12: 36.3 MB over 8 devices at 450 GB/s each way, 320 times, are 45.2 ms.
///
/// ```
/// use goodput_predict::collective::{Operation, guide::ring_transfer_ns};
/// let one = ring_transfer_ns(Operation::AllReduce, 8, 2217.0 * 8192.0 * 2.0, 450.0);
/// assert_eq!((one * 320.0 / 1e5).round() / 10.0, 45.2);
/// ```
#[must_use]
pub fn ring_transfer_ns(operation: Operation, devices: u32, bytes: f64, gb_per_s: f64) -> f64 {
    bytes * operation.bus_factor(devices.max(1)) / gb_per_s
}

/// The guide's ring with its protocol table: LL below 32 KB, LL128 to 1 MB, Simple above.
#[must_use]
pub fn ring(operation: Operation, devices: u32, bytes: f64, link: GuideLink) -> GuideTime {
    let (protocol, efficiency, latency_factor) = if bytes < 32.0 * 1024.0 {
        (Protocol::Ll, 0.5, 2.0)
    } else if bytes <= 1024.0 * 1024.0 {
        (Protocol::Ll128, 0.7, 1.5)
    } else {
        (Protocol::Simple, 0.9, 1.0)
    };
    let devices = devices.max(1);
    let latency = operation.ring_steps(devices) * link.hop_us * 1e3 * latency_factor;
    let chunks = ((bytes / (512.0 * 1024.0)).floor() - 1.0).max(0.0) * 2e3;
    let transfer = ring_transfer_ns(operation, devices, bytes, link.gb_per_s);
    GuideTime {
        protocol,
        ns: latency + chunks + transfer / efficiency,
        as_printed_ns: latency + chunks + transfer * efficiency,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NVLINK: GuideLink = GuideLink { gb_per_s: 450.0, hop_us: 3.0 };

    #[test]
    fn the_printed_form_is_faster_where_the_protocol_is_worse() {
        for bytes in [1e3, 1e5, 1e8] {
            let time = ring(Operation::AllReduce, 8, bytes, NVLINK);
            assert!(time.as_printed_ns < time.ns);
        }
        let gigabyte = ring(Operation::AllGather, 8, 1024f64.powi(3), NVLINK);
        // 2047 further chunks of 2 us: four milliseconds on a transfer of two.
        let chunks = gigabyte.ns - 7.0 * 3e3 - 1024f64.powi(3) * 7.0 / 8.0 / 450.0 / 0.9;
        assert!((chunks - 4.094e6).abs() < 1.0, "{chunks}");
    }
}
