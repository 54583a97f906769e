//! What goes from pair to pair: all-to-all as NCCL does it, a message a peer, and point-to-point.

use crate::cluster::{Cluster, Cpu, Generation};

use super::release::Release;
use super::{Algorithm, GroupShape, Operation, Protocol, graph};

/// Messages to every peer at once: those inside the node on its links, the others on the adapters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pairwise {
    /// Latency us, and ns a byte of the buffer, by protocol.
    lines: [Option<(f64, f64)>; 3],
    pub(super) sm_count: u32,
}

/// Multiprocessors of point-to-point calls: NCCL splits a message over two to eight channels for each peer.
const CHANNELS_OF_A_PAIR: u32 = 8;

impl Pairwise {
    /// `None` for a group that nothing connects.
    pub(super) fn new(
        release: &Release,
        cluster: &Cluster,
        generation: Generation,
        operation: Operation,
        shape: GroupShape,
    ) -> Option<Self> {
        let size = f64::from(shape.size);
        let pair = operation == Operation::SendReceive;
        // Of all bytes of a buffer: what stays on the device, what stays in the node, what leaves.
        let (near, far) = match (pair, shape.nodes) {
            (true, 1) => (1.0, 0.0),
            (true, _) => (0.0, 1.0),
            (false, _) => {
                let near = (f64::from(shape.per_node) - 1.0) / size;
                (near, (size - f64::from(shape.per_node)).max(0.0) / size)
            }
        };
        let links = cluster.ring_gb_per_s(shape.per_node.max(if pair { 2 } else { 1 }), shape.stride);
        let adapter = match (&cluster.network, far > 0.0) {
            (_, false) => f64::INFINITY,
            (None, true) => return None,
            (Some(network), true) => {
                let (reached, share) = graph::adapters(cluster, shape);
                let one = graph::adapter_gb_per_s(network.nic_gb_per_s, generation);
                f64::from(reached) * one * share / f64::from(shape.per_node)
            }
        };
        let direct = cluster.is_direct(shape.per_node, shape.stride);
        let far_peers = if pair { f64::from(u8::from(far > 0.0)) } else { size - f64::from(shape.per_node) };
        let near_peers = if pair { f64::from(u8::from(near > 0.0)) } else { f64::from(shape.per_node) - 1.0 };
        let post = if cluster.cpu == Cpu::Amd { 2.0 } else { 1.0 };
        let own = cluster.network.as_ref().map_or(0.0, |network| network.latency_us);
        let line = |protocol: Protocol| {
            // LL moves as much flag as data; LL128 is not used between pairs.
            let share = match protocol {
                Protocol::Ll => 0.5,
                Protocol::Ll128 => return None,
                Protocol::Simple => 1.0,
            };
            let mut latency = release.base(Algorithm::Ring, protocol);
            latency += release.hop(direct, Algorithm::Ring, protocol) * near_peers;
            if far > 0.0 {
                let flush = if protocol == Protocol::Simple { 2.0 } else { 1.0 };
                latency += release.net(Algorithm::Ring, protocol) + own * flush + far_peers * post;
            }
            let cap = release.ll_max(generation, cluster.cpu, shape.nodes);
            let limit = if protocol == Protocol::Ll { cap } else { f64::INFINITY };
            let near_ns = near / (links * share).min(limit);
            let far_ns = far / (adapter * share).min(limit);
            Some((latency, near_ns.max(far_ns)))
        };
        let sm_count =
            if pair { CHANNELS_OF_A_PAIR } else { (CHANNELS_OF_A_PAIR * (shape.size - 1)).min(32) };
        Some(Self { lines: Protocol::ALL.map(line), sm_count })
    }

    /// The fastest protocol, its latency and transfer in ns.
    pub(super) fn choose(&self, bytes: f64) -> (Protocol, f64, f64) {
        let mut best = (Protocol::Simple, f64::INFINITY, 0.0);
        for (protocol, line) in Protocol::ALL.into_iter().zip(self.lines) {
            let Some((latency_us, ns_a_byte)) = line else { continue };
            let (latency, transfer) = (latency_us * 1e3, bytes * ns_a_byte);
            if latency + transfer < best.1 + best.2 {
                best = (protocol, latency, transfer);
            }
        }
        best
    }
}
