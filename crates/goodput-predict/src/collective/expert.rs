//! Tokens to their experts and back, as DeepEP's normal kernels do it: once over the network to each node that holds one of
//! a token's experts, from there over the links. Measured on H100 and H200 to 8 nodes, on Blackwell within a node:
//! `data/collective/expert_exchange.csv`. Elsewhere from the bytes that cross the adapters and links.

use std::sync::LazyLock;

use crate::cluster::Cluster;
use crate::{Basis, Estimate};

use super::{GroupShape, graph};

const FILE: &str = include_str!("../../data/collective/expert_exchange.csv");

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

#[derive(Debug, Clone, PartialEq)]
struct Curve {
    device: &'static str,
    phase: Phase,
    nodes: u32,
    devices: u32,
    hidden: u32,
    topk: u32,
    experts: u32,
    sms: u32,
    /// Nanoseconds at the table's numbers of tokens.
    ns: Vec<f64>,
}

struct Table {
    tokens: Vec<f64>,
    curves: Vec<Curve>,
}

fn read(text: &'static str) -> Option<Table> {
    let mut lines = text.lines();
    let tokens: Result<_, _> = lines.next()?.split(',').skip(9).map(str::parse).collect();
    let curves = lines.map(|line| {
        let mut fields = line.split(',');
        let device = fields.next()?;
        let _lib = fields.next()?;
        let phase = if fields.next()? == "dispatch" { Phase::Dispatch } else { Phase::Combine };
        let mut number = || fields.next()?.parse().ok();
        let (nodes, devices, hidden, topk, experts, sms) =
            (number()?, number()?, number()?, number()?, number()?, number()?);
        let times: Result<Vec<f64>, _> = fields.map(str::parse::<f64>).collect();
        let mut ns: Vec<f64> = times.ok()?.into_iter().map(|us| us * 1e3).collect();
        // Noise among small numbers of tokens must not make more of them faster.
        (1..ns.len()).for_each(|index| ns[index] = ns[index].max(ns[index - 1]));
        Some(Curve { device, phase, nodes, devices, hidden, topk, experts, sms, ns })
    });
    Some(Table { tokens: tokens.ok()?, curves: curves.collect::<Option<_>>()? })
}

fn table() -> Option<&'static Table> {
    static BUILT_IN: LazyLock<Option<Table>> = LazyLock::new(|| read(FILE));
    BUILT_IN.as_ref()
}

/// Times of an exchange, put together from the nearest measured ones.
#[derive(Debug, Clone, PartialEq)]
struct Measured {
    ns: Vec<f64>,
    /// Whether this very exchange was measured.
    exact: bool,
}

/// The shape that was measured with every number of multiprocessors and nodes, and the number that every shape has.
const FULL_SHAPE: (u32, u32, u32) = (7168, 8, 256);
const USUAL_SMS: u32 = 20;

impl Measured {
    fn find(cluster: &Cluster, shape: GroupShape, exchange: &ExpertExchange) -> Option<Self> {
        let whole_nodes = shape.size == shape.nodes * shape.per_node && shape.stride == 1;
        if !whole_nodes || (exchange.number_bytes - exchange.phase.usual_bytes()).abs() > 1e-9 {
            return None;
        }
        let of_group: Vec<&Curve> = table()?
            .curves
            .iter()
            .filter(|curve| curve.device == cluster.device && curve.phase == exchange.phase)
            .filter(|curve| curve.nodes == shape.nodes && curve.devices == shape.size)
            .collect();
        let wanted = (exchange.hidden, exchange.topk, exchange.experts);
        let is_full = |curve: &Curve| (curve.hidden, curve.topk, curve.experts) == FULL_SHAPE;
        let full: Vec<_> = of_group.iter().copied().filter(|curve| is_full(curve)).collect();
        let at_sms = |sms: u32| full.iter().copied().find(|curve| curve.sms == sms);
        // How the number of multiprocessors changes the full shape; a number between two takes the lower, which is slower.
        let sms = full.iter().map(|curve| curve.sms).filter(|sms| *sms <= exchange.sms).max()?;
        let (own, usual) = (at_sms(sms)?, at_sms(USUAL_SMS)?);
        if wanted == FULL_SHAPE {
            return Some(Self { ns: own.ns.clone(), exact: sms == exchange.sms });
        }
        let exact = of_group.iter().find(|curve| {
            (curve.hidden, curve.topk, curve.experts, curve.sms) == (wanted.0, wanted.1, wanted.2, USUAL_SMS)
        });
        let base = match exact {
            Some(curve) => curve.ns.clone(),
            None => by_payload(&of_group, exchange, shape)?,
        };
        let ns =
            base.iter().zip(&own.ns).zip(&usual.ns).map(|((time, own), usual)| time * own / usual).collect();
        Some(Self { ns, exact: exact.is_some() && exchange.sms == USUAL_SMS })
    }

    /// Nanoseconds, and whether the tokens lie beyond the measured ones.
    fn ns(&self, tokens: f64) -> (f64, bool) {
        let Some(table) = table() else { return (0.0, true) };
        let sizes = &table.tokens;
        let last = sizes.len() - 1;
        if tokens <= sizes[0] {
            return (self.ns[0], false);
        }
        if tokens >= sizes[last] {
            let a_token = (self.ns[last] - self.ns[last - 1]) / (sizes[last] - sizes[last - 1]);
            return (self.ns[last] + (tokens - sizes[last]) * a_token, tokens > sizes[last]);
        }
        let above = sizes.partition_point(|size| *size <= tokens);
        let (low, high) = (above - 1, above);
        let weight = (tokens / sizes[low]).ln() / (sizes[high] / sizes[low]).ln();
        (self.ns[low] * (self.ns[high] / self.ns[low]).powf(weight), false)
    }
}

/// Times of a shape that was not measured: between the two whose tokens weigh next less and next more, else in proportion
/// to the bytes beyond what a single token costs.
fn by_payload(curves: &[&Curve], exchange: &ExpertExchange, shape: GroupShape) -> Option<Vec<f64>> {
    let payload = |hidden: u32, topk: u32| f64::from(hidden) * places_of_a_token(topk, shape.size);
    let wanted = payload(exchange.hidden, exchange.topk);
    let usual = || curves.iter().copied().filter(|curve| curve.sms == USUAL_SMS);
    let of = |curve: &&Curve| payload(curve.hidden, curve.topk);
    let low = usual().filter(|curve| of(curve) <= wanted).max_by(|a, b| of(a).total_cmp(&of(b)));
    let high = usual().filter(|curve| of(curve) >= wanted).min_by(|a, b| of(a).total_cmp(&of(b)));
    match (low, high) {
        (Some(low), Some(high)) => {
            let span = (of(&high) / of(&low)).ln();
            let weight = if span > 0.0 { (wanted / of(&low)).ln() / span } else { 0.0 };
            Some(low.ns.iter().zip(&high.ns).map(|(low, high)| low * (high / low).powf(weight)).collect())
        }
        (Some(near), None) | (None, Some(near)) => {
            let ratio = wanted / of(&near);
            Some(near.ns.iter().map(|time| near.ns[0] + (time - near.ns[0]) * ratio).collect())
        }
        (None, None) => None,
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
    fn the_file_holds_every_curve() {
        let table = read(FILE).unwrap();
        assert_eq!((table.curves.len(), table.tokens.len()), (352, 23));
    }

    /// Each measured shape of one node left out in turn and put back from those of next weight.
    #[test]
    fn a_shape_left_out_comes_back_from_its_neighbours() {
        let table = table().unwrap();
        let mut errors = Vec::new();
        for left_out in table.curves.iter().filter(|curve| curve.nodes == 1 && curve.sms == USUAL_SMS) {
            let others: Vec<&Curve> = table
                .curves
                .iter()
                .filter(|curve| {
                    (curve.device, curve.phase, curve.devices)
                        == (left_out.device, left_out.phase, left_out.devices)
                        && curve.nodes == 1
                        && (curve.hidden, curve.topk) != (left_out.hidden, left_out.topk)
                })
                .collect();
            let exchange = ExpertExchange {
                phase: left_out.phase,
                hidden: left_out.hidden,
                topk: left_out.topk,
                experts: left_out.experts,
                sms: USUAL_SMS,
                number_bytes: left_out.phase.usual_bytes(),
            };
            let shape = GroupShape {
                size: left_out.devices,
                nodes: 1,
                per_node: left_out.devices,
                stride: 1,
                concurrent: 1,
            };
            let back = by_payload(&others, &exchange, shape).unwrap();
            errors.extend(
                back.iter().zip(&left_out.ns).map(|(back, truth)| (back / truth - 1.0).abs() * 100.0),
            );
        }
        errors.sort_by(f64::total_cmp);
        let (median, p90) = (errors[errors.len() / 2], errors[errors.len() * 9 / 10]);
        println!("exchange of a shape left out: median {median:.1} %, p90 {p90:.1} %");
        assert!(median <= 10.0, "{median}");
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
