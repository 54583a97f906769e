//! The arithmetic of one decode step of a replica whose devices share every layer: what bounds it, and what stands beside
//! the bound. Figures of a model, for where no sample or trace says.

use crate::range::{OutOfRange, positive};

/// Exchanges of a layer that is split over devices, forward pass: after attention and after the feed-forward block.
pub const EXCHANGES_PER_LAYER: u64 = 2;

/// Host time of eager submission of one layer's kernels, least and most, in nanoseconds: 12 to 24 ms of one forward pass
/// of 80 layers. An order of magnitude, not a measurement of anybody's host.
pub const EAGER_DISPATCH_PER_LAYER_NS: (f64, f64) = (150_000.0, 300_000.0);

/// Shortest decode step: the bytes that it must read over all devices' bandwidth, in nanoseconds.
///
/// ```
/// use goodput_core::serving::decode::floor_ns;
/// // 70e9 weights of two bytes on eight devices of 3.35 TB/s.
/// assert!((floor_ns(140e9, 8, 3.35e12)? / 1e6 - 5.2239).abs() < 1e-4);
/// # Ok::<(), goodput_core::OutOfRange>(())
/// ```
///
/// # Errors
/// [`OutOfRange`] when a quantity is not above zero.
pub fn floor_ns(required_bytes: f64, devices: u64, bytes_per_second: f64) -> Result<f64, OutOfRange> {
    let rate = positive("devices", devices as f64)? * positive("bytes_per_second", bytes_per_second)?;
    Ok(positive("required_bytes", required_bytes)? / rate * 1e9)
}

/// Message of one exchange in bytes: the residual stream of the batch's tokens.
pub const fn exchange_bytes(width: u64, batch: u64, bytes_a_value: u64) -> u64 {
    width.saturating_mul(batch).saturating_mul(bytes_a_value)
}

/// Time on the wire of all exchanges of a step in nanoseconds, as a ring all-reduce moves `2(n-1)/n` of each message.
/// At the few kilobytes of a small batch, launches and protocol take many times as long.
///
/// # Errors
/// [`OutOfRange`] when a quantity is not above zero.
pub fn exchange_wire_ns(
    layers: u64,
    message_bytes: u64,
    devices: u64,
    link_bytes_per_second: f64,
) -> Result<f64, OutOfRange> {
    let devices = positive("devices", devices as f64)?;
    let rate = positive("link_bytes_per_second", link_bytes_per_second)?;
    let exchanges = (layers * EXCHANGES_PER_LAYER) as f64;
    Ok(exchanges * message_bytes as f64 * 2.0 * (devices - 1.0) / devices / rate * 1e9)
}

/// Least and most host time of eager submission of a step of `layers` layers, in nanoseconds.
pub fn eager_dispatch_ns(layers: u64) -> (f64, f64) {
    let (least, most) = EAGER_DISPATCH_PER_LAYER_NS;
    (least * layers as f64, most * layers as f64)
}
