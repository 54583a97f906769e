//! NCCL's choice: the least of latency + bytes / bandwidth over algorithms and protocols (src/graph/tuning.cc).

use crate::cluster::{Cluster, Cpu, Generation};

use super::release::{NvlsRule, Release, Rules, node_index, tree_correction};
use super::{Algorithm, GroupShape, Operation, Protocol, graph};

/// One way to move the bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) algorithm: Algorithm,
    pub(super) protocol: Protocol,
    latency_us: f64,
    /// Of the tensor, not of the bus, GB/s.
    gb_per_s: f64,
    pub(super) sm_count: u32,
    plateau: Option<Plateau>,
}

/// A long ring's latency is felt more once each step moves a full slice.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Plateau {
    from_bytes: f64,
    factor: f64,
}

impl Candidate {
    /// Latency and transfer, ns.
    pub(super) fn terms(&self, bytes: f64) -> (f64, f64) {
        let plateau =
            self.plateau.filter(|plateau| bytes >= plateau.from_bytes).map_or(1.0, |plateau| plateau.factor);
        let correction = match self.algorithm {
            Algorithm::Tree => tree_correction(self.protocol, bytes),
            _ => 1.0,
        };
        (self.latency_us * 1e3 * plateau, bytes / (self.gb_per_s * correction))
    }
}

/// What the tuner chooses from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tuner {
    candidates: Vec<Candidate>,
}

impl Tuner {
    /// `None` for a group that nothing connects.
    pub(super) fn new(
        release: &Release,
        cluster: &Cluster,
        generation: Generation,
        operation: Operation,
        shape: GroupShape,
        dtype_bytes: u32,
    ) -> Option<Self> {
        let model = Model { release, cluster, generation, operation, shape };
        let mut candidates = Vec::with_capacity(8);
        for protocol in Protocol::ALL {
            if protocol == Protocol::Ll128 && !model.has_ll128() {
                continue;
            }
            candidates.extend(model.ring(protocol));
            if operation == Operation::AllReduce {
                candidates.extend(model.tree(protocol));
            }
        }
        // The switches add 16-bit and wider numbers only.
        if dtype_bytes >= 2 || operation != Operation::AllReduce {
            candidates.extend(model.nvls());
        }
        candidates.retain(|candidate: &Candidate| candidate.gb_per_s > 0.0);
        (!candidates.is_empty()).then_some(Self { candidates })
    }

    /// The fastest for a size, with its latency and transfer in ns.
    pub(super) fn choose(&self, bytes: f64) -> (Candidate, f64, f64) {
        let mut best = (self.candidates[0], f64::INFINITY, 0.0);
        for candidate in &self.candidates {
            let (latency, transfer) = candidate.terms(bytes);
            if latency + transfer < best.1 + best.2 {
                best = (*candidate, latency, transfer);
            }
        }
        best
    }
}

struct Model<'a> {
    release: &'a Release,
    cluster: &'a Cluster,
    generation: Generation,
    operation: Operation,
    shape: GroupShape,
}

impl Model<'_> {
    fn nodes(&self) -> f64 {
        f64::from(self.shape.nodes)
    }

    fn single_node(&self) -> bool {
        self.shape.nodes == 1
    }

    fn per_node(&self) -> f64 {
        f64::from(self.shape.size) / self.nodes()
    }

    fn is_direct(&self) -> bool {
        self.cluster.is_direct(self.shape.per_node, self.shape.stride)
    }

    fn has_ll128(&self) -> bool {
        self.is_direct() && self.generation <= self.release.ll128_to && self.generation != Generation::Cdna
    }

    /// Latency of a step between nodes, us. Simple also waits for the adapter's flush.
    fn between_nodes(&self, algorithm: Algorithm, protocol: Protocol) -> f64 {
        let own = self.cluster.network.as_ref().map_or(0.0, |network| network.latency_us);
        let alone = self.release.rules == Rules::Third && self.per_node() <= 1.0;
        let hop = self.release.net(if alone { Algorithm::Tree } else { algorithm }, protocol);
        hop + own * if protocol == Protocol::Simple { 2.0 } else { 1.0 }
    }

    fn ring(&self, protocol: Protocol) -> Option<Candidate> {
        let (release, shape) = (self.release, self.shape);
        let graph = graph::ring(self.cluster, shape, self.generation)?;
        let channels = f64::from(graph.channels);
        // A ring crosses each adapter at its own speed, with two nodes too.
        let mut bus = channels * graph.inter;
        if release.rules == Rules::First && self.generation == Generation::Ampere {
            bus = bus.min(235.0);
        }
        let reduces = matches!(self.operation, Operation::AllReduce | Operation::Reduce);
        match protocol {
            Protocol::Ll => {
                let share = match release.rules {
                    Rules::Third => 0.5,
                    _ if !self.single_node() || reduces => 0.25,
                    _ => 1.0 / 3.0,
                };
                bus = (bus * share).min(release.ll_max(self.generation, self.cluster.cpu, shape.nodes));
            }
            Protocol::Ll128 => {
                let alone = release.rules < Rules::Third && self.per_node() < 2.0;
                let most = channels * release.channel_ring_ll128(self.generation, shape.nodes);
                bus = (bus * if alone { 0.7 } else { 0.92 }).min(most);
            }
            Protocol::Simple => {}
        }
        let steps = self.operation.ring_steps(shape.size);
        let base = release.base(Algorithm::Ring, protocol);
        let hop = release.hop(self.is_direct(), Algorithm::Ring, protocol);
        let latency_us = match self.operation {
            // Chunks follow each other through the ring: one hop is exposed.
            Operation::Broadcast | Operation::Reduce => {
                base + if self.single_node() { hop } else { release.net(Algorithm::Ring, protocol) }
            }
            _ => base + self.ring_latency(steps, hop, protocol),
        };
        let grows =
            !self.single_node() && self.operation == Operation::AllReduce && protocol == Protocol::Simple;
        let plateau = grows.then(|| Plateau {
            from_bytes: match release.rules {
                Rules::First => f64::from(shape.size) / 16.0 * 65536.0,
                _ => 64.0 * f64::from(graph::multiprocessors(&graph)) * f64::from(shape.size),
            },
            factor: match (release.rules, self.generation) {
                (Rules::First, _) | (_, Generation::Volta) => 1.9,
                _ => 1.4,
            },
        });
        Some(Candidate {
            algorithm: Algorithm::Ring,
            protocol,
            latency_us,
            gb_per_s: bus * f64::from(shape.size) / steps,
            sm_count: graph::multiprocessors(&graph),
            plateau,
        })
    }

    /// The network's latency falls on the steps between nodes alone.
    fn ring_latency(&self, steps: f64, hop: f64, protocol: Protocol) -> f64 {
        if self.single_node() {
            return steps * hop;
        }
        let all_reduce = self.operation == Operation::AllReduce;
        let crossings = match self.release.rules {
            Rules::Second if all_reduce => 2.0 * self.nodes(),
            _ if all_reduce => 2.0 * (self.nodes() - 1.0),
            _ => self.nodes() - 1.0,
        }
        .min(steps);
        let hop = match self.release.rules {
            Rules::First if protocol == Protocol::Ll => hop * 1.8,
            Rules::First => hop,
            _ => hop.max(self.post() * if protocol == Protocol::Simple { 3.0 } else { 1.0 }),
        };
        (steps - crossings) * hop + crossings * self.between_nodes(Algorithm::Ring, protocol)
    }

    /// Time to post one message to an adapter, us.
    fn post(&self) -> f64 {
        if self.cluster.cpu == Cpu::Amd { 2.0 } else { 1.0 }
    }

    fn tree(&self, protocol: Protocol) -> Option<Candidate> {
        let (release, shape) = (self.release, self.shape);
        let graph = graph::ring(self.cluster, shape, self.generation)?;
        let channels = f64::from(graph.channels);
        let links = self.cluster.ring_gb_per_s(shape.per_node, shape.stride) / channels;
        // Two nodes are two halves of a tree: each byte crosses once, so that the adapters carry twice a ring's.
        let channel = match shape.nodes {
            1 => graph.intra,
            2 if self.per_node() > 1.0 => links.min(2.0 * graph.inter),
            _ => graph.inter,
        };
        let mut bus = channels * channel;
        match &release.tree_most {
            Some(most) => {
                let most = if protocol == Protocol::Ll128 { most.ll128 } else { most.other };
                bus = (bus * 0.9).min(most[node_index(shape.nodes)]);
            }
            None => bus = (bus * 0.92).min(channels * release.channel_tree(self.generation, shape.nodes)),
        }
        match protocol {
            Protocol::Ll => {
                bus = (bus / 3.8).min(release.ll_max(self.generation, self.cluster.cpu, shape.nodes))
            }
            Protocol::Ll128 => {
                let share = if self.single_node() { 7.0 / 9.0 } else { 120.0 / 128.0 };
                bus = (bus * share).min(channels * release.channel_tree_ll128(self.generation, shape.nodes));
            }
            Protocol::Simple => {}
        }
        // Without other devices in the node the tree is a plain one.
        if self.per_node() <= 1.0 && !self.single_node() {
            bus *= 0.85;
        }
        let hops = f64::from(shape.size / shape.nodes) - 1.0;
        let hop = release.hop(self.is_direct(), Algorithm::Tree, protocol);
        let crossing = self.nodes().log2().floor() * self.between_nodes(Algorithm::Tree, protocol);
        Some(Candidate {
            algorithm: Algorithm::Tree,
            protocol,
            latency_us: release.base(Algorithm::Tree, protocol) + 2.0 * (hops * hop + crossing),
            gb_per_s: bus * 0.5,
            sm_count: graph::multiprocessors(&graph),
            plateau: None,
        })
    }

    /// Reduced in the switches; between nodes by a tree, for all-reduce only.
    fn nvls(&self) -> Option<Candidate> {
        let (release, shape) = (self.release, self.shape);
        let all_reduce = self.operation == Operation::AllReduce;
        let scatters = matches!(self.operation, Operation::AllGather | Operation::ReduceScatter);
        let possible = all_reduce || (scatters && self.single_node());
        let spans = self.cluster.intra.domain_nodes > 1 && !release.multicast_domain_nvls;
        if !possible || spans || release.nvls == NvlsRule::None {
            return None;
        }
        let graph = graph::nvls(self.cluster, shape, self.generation)?;
        let (channels, size) = (f64::from(graph.channels), f64::from(shape.size));
        let algorithm = if self.single_node() { Algorithm::Nvls } else { Algorithm::NvlsTree };
        let ring_factor = size / self.operation.ring_steps(shape.size);
        let gb_per_s = match release.nvls {
            NvlsRule::Efficiency => {
                let own =
                    graph.intra * release.nvls_efficiency(self.generation) * (channels - 1.0) / channels;
                // All-reduce reads and writes at once.
                let intra =
                    if all_reduce { 2.0 * own } else { own * (self.per_node() - 1.0) / self.per_node() };
                let inter = graph.inter * if shape.nodes == 2 { 2.0 } else { 1.0 };
                let most = match algorithm {
                    Algorithm::NvlsTree => release.channel_nvls_tree(self.generation, shape.nodes),
                    _ => f64::INFINITY,
                };
                channels * intra.min(inter).min(most) * if all_reduce { ring_factor } else { 1.0 }
            }
            _ => {
                let inter = graph.inter * if shape.nodes > 2 { 0.5 } else { 1.0 };
                channels * graph.intra.min(inter) * 5.0 / 6.0
            }
        };
        let hop = release.hop(true, algorithm, Protocol::Simple);
        let crossing = 2.0 * self.nodes().log2().floor() * self.between_nodes(algorithm, Protocol::Simple);
        Some(Candidate {
            algorithm,
            protocol: Protocol::Simple,
            latency_us: hop + if self.single_node() { 0.0 } else { crossing },
            gb_per_s,
            sm_count: if self.generation == Generation::Hopper { 16 } else { 24 },
            plateau: None,
        })
    }
}
