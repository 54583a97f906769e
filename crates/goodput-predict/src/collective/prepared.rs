//! One exchange of one group, prepared once and evaluated by size.

use std::sync::Arc;

use crate::cluster::Cluster;
use crate::measured::SizeCurve;
use crate::{Basis, Estimate};

use super::contention::Demand;
use super::exchange::Pairwise;
use super::fit::Fit;
use super::release::Release;
use super::table::{Measured, has_measured_links};
use super::torus::Torus;
use super::tuner::Tuner;
use super::{Algorithm, CollectiveTime, GroupShape, Operation, Protocol, graph};

/// Exchanges on one cluster, with one release of NCCL.
#[derive(Debug, Clone, Copy)]
pub struct Collectives<'a> {
    cluster: &'a Cluster,
    release: Option<&'static Release>,
    measured: bool,
}

impl<'a> Collectives<'a> {
    /// With measured tables where they exist and the newest known release elsewhere.
    #[must_use]
    pub fn new(cluster: &'a Cluster) -> Self {
        Self { cluster, release: Release::newest(), measured: true }
    }

    /// With the constants of another release.
    #[must_use]
    pub const fn with_release(self, release: &'static Release) -> Self {
        Self { release: Some(release), ..self }
    }

    /// From constants alone: no table, no fit.
    #[must_use]
    pub const fn without_tables(self) -> Self {
        Self { measured: false, ..self }
    }

    /// An exchange of a group of numbers of `dtype_bytes`.
    #[must_use]
    pub fn prepare(&self, operation: Operation, shape: GroupShape, dtype_bytes: u32) -> Prepared {
        let tuner = self.tuner(operation, shape, dtype_bytes);
        let model = self.model(operation, shape, dtype_bytes, tuner.as_ref());
        let deviation = match (shape.nodes, self.cluster.intra.domain_nodes) {
            (1, 1) => deviation::TUNER_ONE_NODE,
            (_, 1) => deviation::TUNER,
            _ => deviation::TUNER_LARGE_DOMAIN,
        };
        let (reached, _) = graph::adapters(self.cluster, shape);
        let all = f64::from(self.cluster.domain_nics());
        let own = self.cluster.measured.as_ref().filter(|_| self.measured).and_then(|measured| {
            let curve = measured.exchange(operation, shape.size, shape.nodes, dtype_bytes)?;
            // A group was measured alone. Where others like it share its adapters, the model says by how much they slow it.
            let shares = shape.nodes > 1 && shape.concurrent > 1;
            let alone = shares.then(|| {
                Box::new(self.without_tables().prepare(operation, shape.with_concurrent(1), dtype_bytes))
            });
            Some(Own { curve: Arc::clone(curve), alone })
        });
        let adapters =
            if shape.nodes > 1 { f64::from(reached) * f64::from(shape.concurrent) / all } else { 0.0 };
        Prepared {
            model,
            tuner,
            bus_factor: operation.bus_factor(shape.size),
            tuner_deviation: deviation,
            links_gb_per_s: self.cluster.ring_gb_per_s(shape.per_node, shape.stride),
            adapters: adapters.min(1.0),
            own,
        }
    }

    fn model(
        &self,
        operation: Operation,
        shape: GroupShape,
        dtype_bytes: u32,
        tuner: Option<&Tuner>,
    ) -> Model {
        if shape.size <= 1 {
            return Model::Free;
        }
        if let Some(torus) = Torus::new(self.cluster, operation, shape) {
            return Model::Torus(torus);
        }
        if self.measured && has_measured_links(self.cluster) {
            if let Some(measured) = Measured::find(self.cluster, shape, operation, dtype_bytes) {
                return Model::Measured(measured);
            }
            let most = Measured::most(&self.cluster.device).unwrap_or(0).max(8);
            let fit = || Fit::find(&self.cluster.device, operation, shape.size);
            if let Some(fit) = (shape.nodes == 1 && shape.size <= 2 * most).then(fit).flatten() {
                return Model::Fit(fit);
            }
        }
        if tuner.is_some() {
            return Model::Tuner;
        }
        let generation = self.cluster.generation;
        let pairs = generation.zip(self.release).and_then(|(generation, release)| {
            Pairwise::new(release, self.cluster, generation, operation, shape)
        });
        pairs.map_or_else(|| self.network_only(operation, shape), Model::Pairwise)
    }

    fn tuner(&self, operation: Operation, shape: GroupShape, dtype_bytes: u32) -> Option<Tuner> {
        let paired = matches!(operation, Operation::AllToAll | Operation::SendReceive);
        if paired || shape.size <= 1 {
            return None;
        }
        Tuner::new(self.release?, self.cluster, self.cluster.generation?, operation, shape, dtype_bytes)
    }

    /// Between slices of a torus: each host's adapter, a ring over slices. Nothing connects devices without a network.
    fn network_only(&self, operation: Operation, shape: GroupShape) -> Model {
        let Some(network) = &self.cluster.network else { return Model::Unconnected };
        let nodes = f64::from(shape.nodes);
        let all = f64::from(network.nics_per_node) * network.nic_gb_per_s / network.oversubscription;
        let one = all * f64::from(shape.per_node) / f64::from(self.cluster.devices_per_node);
        let factor = match operation {
            Operation::AllReduce => 2.0 * (nodes - 1.0) / nodes,
            Operation::AllToAll => f64::from(shape.per_node) * (nodes - 1.0) / nodes,
            Operation::SendReceive | Operation::Broadcast | Operation::Reduce => 1.0,
            _ => (nodes - 1.0) / nodes,
        };
        let hops = operation.ring_steps(shape.nodes);
        // About 10 us for a message between hosts, the round trip of a data centre's network.
        Model::Line { latency_us: hops * (10.0 + network.latency_us), ns_a_byte: factor / one }
    }
}

/// What an exchange's time rests on.
#[derive(Debug, Clone, PartialEq)]
enum Model {
    Free,
    Unconnected,
    Measured(Measured),
    Fit(Fit),
    Tuner,
    Pairwise(Pairwise),
    Torus(Torus),
    Line { latency_us: f64, ns_a_byte: f64 },
}

/// One exchange of one group. Finding the time of a size takes well under a microsecond.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    model: Model,
    tuner: Option<Tuner>,
    bus_factor: f64,
    tuner_deviation: f64,
    links_gb_per_s: f64,
    /// Part of the node's adapters that this group and those like it use.
    adapters: f64,
    /// What the user measured.
    own: Option<Own>,
}

#[derive(Debug, Clone, PartialEq)]
struct Own {
    curve: Arc<SizeCurve>,
    /// The group without others like it beside it, where they would slow it.
    alone: Option<Box<Prepared>>,
}

/// Relative standard deviations, from the medians of absolute errors that `docs/collectives.md` lists (divided by 0.67).
mod deviation {
    pub(super) const MEASURED: f64 = 0.06;
    pub(super) const BEYOND_MEASURED: f64 = 0.12;
    pub(super) const FIT: f64 = 0.15;
    pub(super) const TUNER_ONE_NODE: f64 = 0.27;
    pub(super) const TUNER: f64 = 0.15;
    /// NVL72: the published rows beyond 8 devices are 17 to 55 % off.
    pub(super) const TUNER_LARGE_DOMAIN: f64 = 0.45;
    pub(super) const ANALYTIC: f64 = 0.3;
}

impl Prepared {
    /// The time of `bytes`, counted as [`Operation`] says. Infinite for devices that nothing connects.
    #[must_use]
    pub fn time(&self, bytes: f64) -> CollectiveTime {
        let modelled = self.modelled(bytes.max(0.0));
        match &self.own {
            Some(own) if bytes > 0.0 => self.measured(own, bytes, modelled),
            _ => modelled,
        }
    }

    /// The measured time, with the algorithm, the multiprocessors and the share of latency that the model has.
    fn measured(&self, own: &Own, bytes: f64, modelled: CollectiveTime) -> CollectiveTime {
        let (measured_ns, inside) = own.curve.ns(bytes);
        let slower = own.alone.as_ref().map_or(1.0, |alone| {
            let alone = alone.modelled(bytes).estimate.ns;
            if alone > 0.0 { (modelled.estimate.ns / alone).max(1.0) } else { 1.0 }
        });
        let ns = measured_ns * slower;
        let latency_ns = own.curve.ns(1.0).0.min(ns);
        let is_measured = inside && slower == 1.0;
        CollectiveTime {
            estimate: Estimate {
                ns,
                deviation: if is_measured { deviation::MEASURED } else { deviation::BEYOND_MEASURED },
                basis: if is_measured { Basis::UserTable } else { Basis::Extrapolated },
            },
            bus_gb_per_s: bytes * self.bus_factor / ns,
            latency_ns,
            bandwidth_ns: ns - latency_ns,
            ..modelled
        }
    }

    fn modelled(&self, bytes: f64) -> CollectiveTime {
        let chosen = self.tuner.as_ref().map(|tuner| tuner.choose(bytes));
        let (algorithm, protocol, sm_count) = match (&self.model, &chosen) {
            (Model::Pairwise(pairs), _) => (Algorithm::Pairwise, pairs.choose(bytes).0, pairs.sm_count),
            (Model::Fit(fit), None) => (Algorithm::Pairwise, fit.choose(bytes).0, 32),
            (Model::Torus(_) | Model::Line { .. } | Model::Free | Model::Unconnected, _) => {
                (Algorithm::Torus, Protocol::Simple, 0)
            }
            (_, Some((candidate, _, _))) => (candidate.algorithm, candidate.protocol, candidate.sm_count),
            (_, None) => (Algorithm::Pairwise, Protocol::Simple, 32),
        };
        let (latency_ns, bandwidth_ns, basis, deviation) = match &self.model {
            Model::Free => (0.0, 0.0, Basis::Analytic, 0.0),
            Model::Unconnected => (f64::INFINITY, 0.0, Basis::Analytic, deviation::ANALYTIC),
            Model::Measured(measured) => {
                let (ns, beyond) = measured.ns(bytes);
                let latency = measured.ns(0.0).0.min(ns);
                if beyond || measured.stands_in {
                    (latency, ns - latency, Basis::Extrapolated, deviation::BEYOND_MEASURED)
                } else {
                    (latency, ns - latency, Basis::Table, deviation::MEASURED)
                }
            }
            Model::Fit(fit) => {
                let (_, latency, transfer) = fit.choose(bytes);
                (latency, transfer, Basis::Extrapolated, deviation::FIT)
            }
            Model::Tuner => {
                let (_, latency, transfer) = chosen
                    .map_or((None, 0.0, 0.0), |(candidate, latency, transfer)| {
                        (Some(candidate), latency, transfer)
                    });
                (latency, transfer, Basis::Analytic, self.tuner_deviation)
            }
            Model::Pairwise(pairs) => {
                let (_, latency, transfer) = pairs.choose(bytes);
                (latency, transfer, Basis::Analytic, deviation::ANALYTIC)
            }
            Model::Torus(torus) => {
                let (latency, transfer) = torus.terms(bytes);
                (latency, transfer, Basis::Analytic, deviation::ANALYTIC)
            }
            Model::Line { latency_us, ns_a_byte } => {
                (latency_us * 1e3, bytes * ns_a_byte, Basis::Analytic, deviation::ANALYTIC)
            }
        };
        let ns = latency_ns + bandwidth_ns;
        CollectiveTime {
            estimate: Estimate { ns, deviation, basis },
            algorithm,
            protocol,
            bus_gb_per_s: if ns > 0.0 { bytes * self.bus_factor / ns } else { 0.0 },
            sm_count,
            latency_ns,
            bandwidth_ns,
        }
    }

    /// What it uses of links and adapters while it runs, on average: latency leaves them idle.
    #[must_use]
    pub fn demand(&self, bytes: f64) -> Demand {
        let time = self.time(bytes);
        let moving = if time.estimate.ns > 0.0 { time.bandwidth_ns / time.estimate.ns } else { 0.0 };
        let links = (time.bus_gb_per_s / self.links_gb_per_s).clamp(0.0, 1.0);
        Demand { links, adapters: self.adapters * moving }
    }
}
