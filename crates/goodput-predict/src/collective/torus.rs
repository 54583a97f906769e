//! Exchanges along the axes of a torus, as XLA does them on TPUs: a ring in both directions along each axis that the group
//! fills (jax-ml.github.io/scaling-book, "Sharded matrices").

use crate::cluster::{Cluster, Link};

use super::{GroupShape, Operation};

/// A group's part of the torus.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Torus {
    latency_us: f64,
    /// ns a byte of the tensor.
    ns_a_byte: f64,
}

impl Torus {
    /// `None` for a cluster that is no torus, and for a group beyond the slice.
    pub(super) fn new(cluster: &Cluster, operation: Operation, shape: GroupShape) -> Option<Self> {
        let intra = &cluster.intra;
        if intra.link != Link::Torus || shape.nodes != 1 || shape.size < 2 {
            return None;
        }
        let axes = axes(&intra.axes, shape);
        let all_links = 2.0 * intra.axes.len() as f64;
        let link = intra.usable_gb_per_s.unwrap_or(intra.gb_per_s) / all_links;
        let (size, hop) = (f64::from(shape.size), intra.hop_us.unwrap_or(1.0));
        // Both directions of an axis that wraps; one that is a part of a longer axis has only the way through.
        let links = |axis: &Axis| if axis.wraps && axis.length > 2 { 2.0 } else { 1.0 };
        let open: f64 = axes.iter().map(links).sum::<f64>() * link;
        let hops: f64 = axes.iter().map(|axis| f64::from(axis.length) / links(axis)).map(f64::floor).sum();
        let around = (size - 1.0) / size;
        let (rounds, ns_a_byte) = match operation {
            Operation::AllReduce => (2.0, 2.0 * around / open),
            Operation::AllGather | Operation::ReduceScatter => (1.0, around / open),
            Operation::Broadcast | Operation::Reduce => (1.0, 1.0 / open),
            Operation::SendReceive => (1.0, 1.0 / link),
            Operation::AllToAll => {
                // Each byte of a device travels a quarter of an axis that wraps, a third of one that does not.
                let busy = |axis: &Axis| {
                    let part = if axis.wraps { 4.0 } else { 3.0 };
                    (f64::from(axis.length) / part).max(0.5) / (links(axis) * link)
                };
                (1.0, axes.iter().map(busy).fold(0.0, f64::max))
            }
        };
        let hops = if operation == Operation::SendReceive { 1.0 } else { hops.max(1.0) };
        Some(Self { latency_us: rounds * hops * hop, ns_a_byte })
    }

    /// Latency and transfer, ns.
    pub(super) fn terms(&self, bytes: f64) -> (f64, f64) {
        (self.latency_us * 1e3, bytes * self.ns_a_byte)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Axis {
    length: u32,
    wraps: bool,
}

/// Axes that the group spans: the first ones are inside those before it in the order of ranks.
fn axes(lengths: &[u32], shape: GroupShape) -> Vec<Axis> {
    let (mut inside, mut left, mut spanned) = (shape.stride, shape.size, Vec::new());
    for &length in lengths {
        let taken = inside.min(length);
        inside = inside.div_ceil(length).max(1);
        let own = (length / taken).min(left);
        if own > 1 {
            spanned.push(Axis { length: own, wraps: own == length });
            left = left.div_ceil(own);
        }
    }
    if spanned.is_empty() {
        spanned.push(Axis { length: shape.size, wraps: false });
    }
    spanned
}

#[cfg(test)]
mod tests {
    use crate::cluster::Clusters;

    use super::*;

    fn ns(cluster: &str, operation: Operation, size: u32, stride: u32, bytes: f64) -> f64 {
        let cluster = Clusters::built_in().find(cluster).unwrap();
        let shape = GroupShape::strided(cluster, size, stride);
        Torus::new(cluster, operation, shape).unwrap().terms(bytes).1
    }

    /// The scaling book: an all-gather over one axis takes V / (two-way bandwidth), 90 GB/s on v5e; an all-to-all a quarter of it.
    #[test]
    fn one_axis_is_a_ring_in_both_directions() {
        let gather = ns("TPU v5e 16x16", Operation::AllGather, 16, 1, 1e9);
        assert!((gather - 1e9 / 90.0 * 15.0 / 16.0).abs() < 1.0, "{gather}");
        // Per device a sixteenth of the array goes out: `bytes` of nccl-tests are one device's buffer.
        let exchange = ns("TPU v5e 16x16", Operation::AllToAll, 16, 16, 1e9 / 16.0);
        assert!((exchange - 1e9 / 90.0 / 4.0).abs() < 1.0, "{exchange}");
    }

    #[test]
    fn more_axes_carry_more_and_half_an_axis_does_not_wrap() {
        let one = ns("TPU v5p 4x4x4", Operation::AllReduce, 4, 1, 1e9);
        let three = ns("TPU v5p 4x4x4", Operation::AllReduce, 64, 1, 1e9);
        let whole = |size: f64| 2.0 * (size - 1.0) / size;
        assert!((one / three - 3.0 * whole(4.0) / whole(64.0)).abs() < 1e-9);
        let half = ns("TPU v5e 16x16", Operation::AllGather, 8, 1, 1e9);
        assert!((half - 1e9 * 7.0 / 8.0 / 45.0).abs() < 1.0, "{half}");
    }
}
