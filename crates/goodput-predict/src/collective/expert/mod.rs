//! Tokens to their experts and back, as DeepEP's normal kernels do it: once over the network to each node that holds one of
//! a token's experts, from there over the links. Measured on H100 and H200 to 8 nodes, on Blackwell within a node:
//! `data/collective/expert_exchange.csv`. Elsewhere from the bytes that cross the adapters and links.

mod table;

use crate::cluster::Cluster;
use crate::{Basis, Estimate};

use super::{GroupShape, graph};
use table::Measured;

/// Which way the tokens go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// To the experts, in 8-bit numbers with a scale for 128 of them in the measured kernels.
    Dispatch,
    /// Back, in 16-bit numbers.
    Combine,
}

impl Phase {
    /// Bytes of one number on the way in the measured kernels.
    #[must_use]
    pub const fn usual_bytes(self) -> f64 {
        match self {
            Self::Dispatch => 1.0 + 4.0 / 128.0,
            Self::Combine => 2.0,
        }
    }
}

/// A layer's exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpertExchange {
    /// Which way.
    pub phase: Phase,
    /// Width of a token.
    pub hidden: u32,
    /// Experts of a token.
    pub topk: u32,
    /// Experts in all.
    pub experts: u32,
    /// Multiprocessors that the kernel gets: 20 is usual.
    pub sms: u32,
    /// Bytes of one number on the way; [`Phase::usual_bytes`] for the measured kernels.
    pub number_bytes: f64,
}

/// Numbers of different places that a token's `topk` experts lie in, of `places` with equally many experts each.
#[must_use]
pub fn places_of_a_token(topk: u32, places: u32) -> f64 {
    let places = f64::from(places.max(1));
    places * (1.0 - (1.0 - 1.0 / places).powf(f64::from(topk)))
}

impl ExpertExchange {
    /// Bytes of one token over the sender's adapter and over its links.
    #[must_use]
    pub fn token_bytes(&self, shape: GroupShape) -> (f64, f64) {
        let token = f64::from(self.hidden) * self.number_bytes;
        let nodes = f64::from(shape.nodes);
        let reached = places_of_a_token(self.topk, shape.nodes);
        let network = token * reached * (nodes - 1.0) / nodes;
        // Within each node that it reaches, one copy a device; the receiver's own needs no link.
        let devices = places_of_a_token(self.topk, shape.size);
        let links = token * devices * (f64::from(shape.per_node) - 1.0) / f64::from(shape.per_node);
        (network, links)
    }

    /// Prepared for a group on a cluster.
    #[must_use]
    pub fn prepare(self, cluster: &Cluster, shape: GroupShape) -> PreparedExchange {
        let measured = Measured::find(cluster, shape, &self);
        let (network, links) = self.token_bytes(shape);
        let adapter = cluster.network.as_ref().map_or(0.0, |config| {
            let (reached, share) = graph::adapters(cluster, shape);
            let one = cluster.generation.map_or(config.nic_gb_per_s, |generation| {
                graph::adapter_gb_per_s(config.nic_gb_per_s, generation)
            });
            f64::from(reached) * one * share / f64::from(shape.per_node)
        });
        let over = |bytes: f64, gb_per_s: f64| if bytes > 0.0 { bytes / gb_per_s } else { 0.0 };
        let ns_a_token =
            over(network, adapter).max(over(links, cluster.ring_gb_per_s(shape.per_node, shape.stride)));
        let own = cluster.network.as_ref().map_or(0.0, |network| network.latency_us);
        let far = if shape.nodes > 1 { LATENCY_BETWEEN_NODES_US + 2.0 * own } else { 0.0 };
        PreparedExchange {
            measured,
            latency_ns: (LATENCY_US + far) * 1e3,
            ns_a_token,
            alone: shape.size <= 1,
            sms: self.sms,
        }
    }
}

/// A token alone, H100 within one node and what two nodes add (expert_exchange.csv, 20 multiprocessors): 26 us and 33 us.
const LATENCY_US: f64 = 26.0;
const LATENCY_BETWEEN_NODES_US: f64 = 33.0;

/// One layer's exchange, prepared once and evaluated by tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedExchange {
    measured: Option<Measured>,
    latency_ns: f64,
    ns_a_token: f64,
    alone: bool,
    sms: u32,
}

impl PreparedExchange {
    /// The time for `tokens` of each device, and the multiprocessors that it occupies.
    #[must_use]
    pub fn time(&self, tokens: f64) -> (Estimate, u32) {
        if self.alone {
            return (Estimate { ns: 0.0, deviation: 0.0, basis: Basis::Analytic }, 0);
        }
        let estimate = match &self.measured {
            Some(measured) => {
                let (ns, beyond) = measured.ns(tokens);
                let exact = measured.exact && !beyond;
                let (deviation, basis) = if exact { (0.1, Basis::Table) } else { (0.2, Basis::Extrapolated) };
                Estimate { ns, deviation, basis }
            }
            None => {
                let ns = self.latency_ns + tokens.max(0.0) * self.ns_a_token;
                Estimate { ns, deviation: 0.35, basis: Basis::Analytic }
            }
        };
        (estimate, self.sms)
    }
}

#[cfg(test)]
mod tests {
    use crate::cluster::Clusters;

    use super::*;

    fn exchange(phase: Phase, sms: u32) -> ExpertExchange {
        ExpertExchange { phase, hidden: 7168, topk: 8, experts: 256, sms, number_bytes: phase.usual_bytes() }
    }

    fn us(cluster: &str, size: u32, exchange: ExpertExchange, tokens: f64) -> (f64, Basis) {
        let cluster = Clusters::built_in().find(cluster).unwrap();
        let (time, _) = exchange.prepare(cluster, GroupShape::strided(cluster, size, 1)).time(tokens);
        (time.ns / 1e3, time.basis)
    }

    /// The reference quotes these of the table: H100, 4,096 tokens, 20 multiprocessors, 1 to 8 nodes.
    #[rstest::rstest]
    #[case(8, 492.0, 982.7)]
    #[case(16, 893.0, 2150.0)]
    #[case(32, 1860.0, 3634.0)]
    #[case(64, 6510.0, 12510.0)]
    fn measured_nodes_are_the_tables(#[case] devices: u32, #[case] dispatch: f64, #[case] combine: f64) {
        for (phase, expected) in [(Phase::Dispatch, dispatch), (Phase::Combine, combine)] {
            let (us, basis) = us("DGX H100", devices, exchange(phase, 20), 4096.0);
            assert!((us / expected - 1.0).abs() < 0.002, "{devices} {phase:?}: {us}");
            assert_eq!(basis, Basis::Table);
        }
    }

    #[test]
    fn more_multiprocessors_and_fewer_tokens_are_faster() {
        let at = |sms, tokens| us("DGX H100", 8, exchange(Phase::Dispatch, sms), tokens).0;
        assert!(at(4, 4096.0) > 2.0 * at(12, 4096.0) && at(12, 4096.0) > at(20, 4096.0));
        assert!(at(20, 100.0) < at(20, 200.0));
        assert_eq!(us("DGX H100", 1, exchange(Phase::Dispatch, 20), 4096.0).0, 0.0);
    }

    /// DeepEP's README, H800, 4,096 tokens: GB/s over the bottleneck. What it calls RDMA bandwidth counts every node that a
    /// token goes to, its own too. Nothing is fitted to it.
    #[rstest::rstest]
    #[case(8, Phase::Dispatch, 153.0)]
    #[case(8, Phase::Combine, 158.0)]
    #[case(32, Phase::Dispatch, 59.0)]
    #[case(32, Phase::Combine, 60.0)]
    #[case(64, Phase::Dispatch, 49.0)]
    #[case(64, Phase::Combine, 51.0)]
    fn bytes_over_adapters_and_links_come_near_deepep_on_h800(
        #[case] devices: u32,
        #[case] phase: Phase,
        #[case] gb_per_s: f64,
    ) {
        let h800 = Clusters::built_in().find("HGX H800").unwrap();
        let shape = GroupShape::strided(h800, devices, 1);
        let exchange = exchange(phase, 20);
        let (network, links) = exchange.token_bytes(shape);
        let counted = if shape.nodes == 1 {
            links * f64::from(devices) / f64::from(devices - 1)
        } else {
            network * f64::from(shape.nodes) / f64::from(shape.nodes - 1)
        };
        let (us, basis) = us("HGX H800", devices, exchange, 4096.0);
        assert_eq!(basis, Basis::Analytic);
        let ours = counted * 4096.0 / (us * 1e3);
        println!("H800, {devices} devices, {phase:?}: {ours:.0} GB/s, measured {gb_per_s}");
        assert!((ours / gb_per_s - 1.0).abs() < 0.2, "{ours} {gb_per_s}");
    }
}
