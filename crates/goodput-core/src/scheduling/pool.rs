//! The state of one pool during the sweep, and its integrals.

use std::collections::BTreeMap;

use crate::time::{Timestamp, Window};

use super::demand::{Demand, Shapes};
use super::fragmentation::whole_node_fragments;
use super::free_nodes::FreeNodes;
use super::layout::LayoutNode;
use super::series::{Level, Series};
use super::unheld::{CLASSES, Charge, Free, Known, charge};

/// What one node adds to its pool at this instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeState {
    pub node: LayoutNode,
    pub allocated: u32,
    /// How many intervals say that it is out of service.
    pub outages: u16,
    /// How many reservations granted to a team hold what jobs leave free on it.
    pub reservations: u16,
    /// The last snapshot says that it is out of service.
    pub sampled_out: bool,
    /// The last snapshot says that it is kept for a gang.
    pub planned: bool,
    pub present: bool,
}

impl NodeState {
    /// Not there yet, and nothing on it.
    pub fn absent(node: LayoutNode) -> Self {
        Self {
            node,
            allocated: 0,
            outages: 0,
            reservations: 0,
            sampled_out: false,
            planned: false,
            present: false,
        }
    }

    /// An attempt takes devices, or gives them back.
    pub fn occupy(&mut self, devices: u32, begins: bool) {
        self.allocated = if begins {
            self.allocated.saturating_add(devices)
        } else {
            self.allocated.saturating_sub(devices)
        };
    }

    pub fn is_oversubscribed(&self) -> bool {
        self.allocated > self.node.devices
    }

    fn free(&self) -> u32 {
        if self.present { self.node.devices.saturating_sub(self.allocated) } else { 0 }
    }

    fn out(&self) -> bool {
        self.outages > 0 || self.sampled_out
    }
}

/// Rates while nothing changes, in devices.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rates {
    pub installed: i64,
    /// Held beyond the installed capacity that records know.
    pub excess: i64,
    pub out_of_service: i64,
    pub offered: i64,
    pub held: i64,
    /// Of the held devices, those that a reservation holds and no job uses.
    idle_reserved: i64,
    /// Free in service, assigned to nobody.
    pub free: i64,
    pub charge: Charge,
    pub asked: i64,
    pub waiting_jobs: u64,
    planned_free: i64,
    partly_free: i64,
    whole_free: i64,
    fragmented: f64,
    pub largest_gang_nodes: Option<u32>,
    /// Devices of the largest gang that waits.
    largest_waiting: u64,
}

impl Rates {
    pub fn level(&self) -> Level {
        Level {
            offered: self.offered,
            held: self.held,
            waiting_jobs: self.waiting_jobs,
            waiting_devices: u64::try_from(self.asked).unwrap_or(0),
            largest_gang_nodes: self.largest_gang_nodes,
        }
    }

    /// Free devices while no job of the pool waits.
    pub fn free_empty(&self) -> i64 {
        if self.waiting_jobs == 0 && self.charge.unrecorded == 0 { self.free } else { 0 }
    }

    /// Free devices while a job of the pool waits.
    pub fn free_waiting(&self) -> i64 {
        if self.waiting_jobs > 0 { self.free } else { 0 }
    }

    /// Devices asked for beyond what is free.
    pub fn unmet(&self) -> i64 {
        (self.asked - self.free).max(0)
    }
}

/// Integrals over time, in device-nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    pub installed: i128,
    pub excess: i128,
    pub out_of_service: i128,
    pub offered: i128,
    pub held: i128,
    pub idle_reserved: i128,
    pub classes: [i128; CLASSES],
    pub free_waiting: i128,
    pub free_empty: i128,
    pub free_other_waiting: i128,
    pub quota_stranded: i128,
    pub planned_free: i128,
    pub partly_free: i128,
    pub whole_free: i128,
    pub asked: i128,
    pub waiting_ns: i64,
    pub fragmented: f64,
    pub most_devices: i64,
}

impl Totals {
    fn add(&mut self, rates: &Rates, ns: i64) {
        // Most rates are zero at most times.
        let add = |total: &mut i128, devices: i64| {
            if devices != 0 {
                *total += i128::from(devices) * i128::from(ns);
            }
        };
        add(&mut self.installed, rates.installed);
        add(&mut self.excess, rates.excess);
        add(&mut self.out_of_service, rates.out_of_service);
        add(&mut self.offered, rates.offered);
        add(&mut self.held, rates.held);
        add(&mut self.idle_reserved, rates.idle_reserved);
        for (total, devices) in self.classes.iter_mut().zip(rates.charge.classes()) {
            add(total, devices);
        }
        add(&mut self.planned_free, rates.planned_free);
        add(&mut self.asked, rates.asked);
        if rates.waiting_jobs > 0 {
            add(&mut self.free_waiting, rates.free);
            add(&mut self.partly_free, rates.partly_free);
            add(&mut self.whole_free, rates.whole_free);
            self.waiting_ns += ns;
        }
        add(&mut self.free_empty, rates.free_empty());
        self.fragmented += rates.fragmented * ns as f64;
        self.most_devices = self.most_devices.max(rates.installed);
    }

    /// Adds the integrals of a pool to those of the fleet.
    pub fn include(&mut self, pool: &Self) {
        self.installed += pool.installed;
        self.out_of_service += pool.out_of_service;
        self.offered += pool.offered;
        self.held += pool.held;
        self.idle_reserved += pool.idle_reserved;
        for (total, of_pool) in self.classes.iter_mut().zip(pool.classes) {
            *total += of_pool;
        }
        self.planned_free += pool.planned_free;
        self.partly_free += pool.partly_free;
        self.whole_free += pool.whole_free;
        self.asked += pool.asked;
        self.fragmented += pool.fragmented;
    }
}

/// One pool during the sweep.
#[derive(Debug, Default)]
pub(super) struct PoolState {
    since: Timestamp,
    pub dirty: bool,
    /// Devices of present nodes, and devices that no node explains.
    pub installed: i64,
    pub held: i64,
    /// Assigned to gangs that are not complete.
    pub partial: i64,
    /// Asked for by incomplete gangs of which some unknown part is assigned.
    pub claimed: i64,
    /// Held or assigned devices whose nodes are unknown.
    pub unplaced: i64,
    pub demand: Demand,
    out_free: i64,
    /// Held by reservations and used by no job.
    reserved_free: i64,
    planned_free: i64,
    partly_free: i64,
    whole_free: i64,
    free_nodes: FreeNodes,
    whole_by_block: Vec<u32>,
    /// Devices of a node, by which most nodes of the pool are built; zero without nodes.
    node_devices: u32,
    /// Whole-node gangs submitted in the window: nodes and weight, for times without a queue.
    pub usual_gangs: Vec<(u32, i64)>,
    /// Kept free, by the size of the largest gang that waited: for it nodes are kept.
    pub kept_for: BTreeMap<u64, i128>,
    /// Whether where devices were free was known throughout.
    pub shape_known: bool,
    pub rates: Rates,
    pub totals: Totals,
    series: Series,
}

impl PoolState {
    /// A pool of nodes of at most `largest` devices, most of them of `node_devices`.
    pub fn new(window: Window, points: usize, largest: u32, node_devices: u32, blocks: u32) -> Self {
        Self {
            since: window.from(),
            free_nodes: FreeNodes::new(largest),
            whole_by_block: vec![0; blocks as usize],
            node_devices,
            shape_known: node_devices > 0,
            series: Series::new(window, points),
            ..Self::default()
        }
    }

    /// Adds what `nodes` nodes in the same state contribute; takes it away when negative.
    pub fn count_nodes(&mut self, state: &NodeState, nodes: i32) {
        if !state.present {
            return;
        }
        self.installed += i64::from(nodes) * i64::from(state.node.devices);
        let free = i64::from(nodes) * i64::from(state.free());
        if state.out() {
            self.out_free += free;
            return;
        }
        if state.reservations > 0 {
            self.reserved_free += free;
            return;
        }
        if state.planned {
            self.planned_free += free;
        }
        self.free_nodes.add(state.free(), nodes);
        if state.allocated > 0 {
            self.partly_free += free;
            return;
        }
        self.whole_free += free;
        if state.node.devices == self.node_devices {
            let whole = &mut self.whole_by_block[state.node.block as usize];
            *whole = whole.saturating_add_signed(nodes);
        }
    }

    /// Brings the integrals up to `now`.
    pub fn settle(&mut self, now: Timestamp) {
        let ns = now - self.since;
        if ns > 0 {
            self.totals.add(&self.rates, ns);
            if self.rates.charge.reservation > 0 {
                let kept = i128::from(self.rates.charge.reservation) * i128::from(ns);
                *self.kept_for.entry(self.rates.largest_waiting).or_default() += kept;
            }
            self.series.add(self.since, now, &self.rates.level());
            self.since = now;
        }
    }

    /// The rates from now on.
    pub fn recompute(&mut self, shapes: &mut Shapes, known: Known) {
        let taken = self.held + self.partial;
        let excess = (taken - self.installed).max(0);
        let installed = self.installed + excess;
        let partial = self.partial + self.claimed.min(installed - taken);
        // Held devices of unknown place may lie on a node that is out of service: they stay in service.
        let out_of_service = self.out_free.min(installed - self.held - partial).max(0);
        let offered = installed - out_of_service;
        // Jobs of unknown place may run inside a reservation.
        let idle_reserved = self.reserved_free.min(offered - self.held - partial).max(0);
        let held = self.held + idle_reserved;
        let free = offered - held - partial;
        let placed = self.unplaced == 0 && self.claimed == 0 && self.node_devices > 0 && excess == 0;
        self.shape_known &= placed;
        let charge = charge(
            &Free {
                devices: free,
                partial,
                planned: self.planned_free,
                nodes: placed.then_some(&self.free_nodes),
            },
            &self.demand,
            shapes,
            known,
        );
        self.rates = Rates {
            installed,
            excess,
            out_of_service,
            offered,
            held,
            idle_reserved,
            free,
            charge,
            asked: self.demand.devices,
            waiting_jobs: self.demand.jobs,
            planned_free: if known.planned { self.planned_free } else { 0 },
            partly_free: self.partly_free,
            whole_free: self.whole_free,
            fragmented: if placed { self.fragmented(free, shapes) } else { 0.0 },
            largest_waiting: if charge.reservation > 0 { self.demand.largest(shapes) } else { 0 },
            largest_gang_nodes: placed.then(|| self.whole_by_block.iter().copied().max().unwrap_or(0)),
        };
    }

    fn fragmented(&self, free: i64, shapes: &Shapes) -> f64 {
        if free <= 0 {
            return 0.0;
        }
        let whole = |&number: &u32| {
            let waiting = &shapes.waiting[number as usize];
            let of_whole_nodes = waiting.shape.nodes > 0
                && waiting.shape.devices == u64::from(waiting.shape.nodes) * u64::from(self.node_devices);
            of_whole_nodes.then_some((waiting.shape.nodes, waiting.requested))
        };
        let free = u64::try_from(free).unwrap_or(0);
        let pending = self.demand.active.iter().filter_map(whole);
        whole_node_fragments(free, self.node_devices, &self.whole_by_block, pending).unwrap_or_else(|| {
            let usual = self.usual_gangs.iter().copied();
            whole_node_fragments(free, self.node_devices, &self.whole_by_block, usual).unwrap_or(0.0)
        })
    }

    pub fn take_series(&mut self) -> Series {
        std::mem::take(&mut self.series)
    }
}
