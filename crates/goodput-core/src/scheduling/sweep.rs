//! Walks through the events of the window once and keeps, for every pool, what is offered, held and unheld.

use std::collections::BTreeMap;

use crate::records::{FleetRecords, NodeStatus, PoolSample, Symbol, WaitReason};
use crate::time::Timestamp;

use super::SchedulingOptions;
use super::cohorts::PartlyHeld;
use super::demand::{Shape, Standing};
use super::events::{Events, Kind};
use super::fleet_scope::FleetScope;
use super::layout::{CapacityChange, Layout};
use super::notes::Notes;
use super::placement::{Partial, Placement};
use super::pool::{NodeState, PoolState};
use super::snapshots::{Snapshot, Ticks};
use super::unheld::Known;

/// An entry that a [`Kind::Change`] or [`Kind::Snapshot`] event names.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    /// Installed capacity.
    Capacity(CapacityChange),
    /// A node leaves service (`true`) or returns.
    Outage { node: u32, begins: bool },
    /// A reservation granted to a team begins or ends to hold a node.
    Reserved { node: u32, begins: bool },
    /// A snapshot of nodes or of the queue, or the end of its validity.
    Snapshot(Snapshot),
    /// A pool's totals from a series: position in `pool_samples`, and the pool.
    PoolSample { sample: usize, pool: u32 },
    /// The last sample of a pool is no longer valid.
    SeriesEnd { pool: u32 },
    /// The records end: what follows is not known.
    RecordsEnd,
}

/// The state of the fleet at one instant.
pub(super) struct Sweep<'a> {
    records: &'a FleetRecords,
    layout: &'a Layout,
    placement: &'a mut Placement,
    partials: &'a [Partial],
    ticks: &'a Ticks,
    pub pools: Vec<PoolState>,
    pub fleet: FleetScope,
    nodes: Vec<NodeState>,
    /// Standing of each attempt by the last queue snapshot; empty without snapshots.
    standing: Vec<Option<Standing>>,
    /// Attempts whose standing a snapshot set.
    standing_set: Vec<u32>,
    /// The attempt that waits under a raw id; empty without queue snapshots.
    waiting_of_job: Vec<u32>,
    /// Demand that only queue snapshots show, to be taken back at the next one.
    sampled_demand: Vec<(u32, Standing)>,
    known: Known,
    dirty: Vec<u32>,
    now: Timestamp,
    pub covered_ns: i64,
    notes: &'a mut Notes,
}

const NOBODY: u32 = u32::MAX;

impl<'a> Sweep<'a> {
    #[expect(clippy::too_many_arguments, reason = "one call, and each is a different piece of the fleet")]
    pub fn new(
        records: &'a FleetRecords,
        options: &SchedulingOptions,
        layout: &'a Layout,
        placement: &'a mut Placement,
        partials: &'a [Partial],
        ticks: &'a Ticks,
        demand_known: bool,
        notes: &'a mut Notes,
    ) -> Self {
        let pool = |pool: usize| {
            let pool = u32::try_from(pool).unwrap_or(u32::MAX);
            let largest =
                layout.nodes.iter().filter(|n| n.pool == pool).map(|n| n.devices).max().unwrap_or(0);
            let node_devices = layout.node_devices(pool);
            PoolState::new(options.window, options.series_points, largest, node_devices, layout.blocks)
        };
        let pools: Vec<_> = (0..layout.pools.len()).map(pool).collect();
        let has_queue = !records.queue_samples.is_empty() && !ticks.sole_source;
        let mut sweep = Self {
            records,
            layout,
            placement,
            partials,
            ticks,
            fleet: FleetScope::new(options.window, options.series_points, &layout.pools),
            nodes: layout.nodes.iter().copied().map(NodeState::absent).collect(),
            standing: if has_queue { vec![None; records.attempts.len()] } else { Vec::new() },
            standing_set: Vec::new(),
            waiting_of_job: if has_queue { vec![NOBODY; records.symbols.len()] } else { Vec::new() },
            sampled_demand: Vec::new(),
            known: Known { held: demand_known, demand: demand_known, ..Known::default() },
            dirty: Vec::new(),
            now: options.window.from(),
            covered_ns: 0,
            pools,
            notes,
        };
        sweep.touch_all();
        sweep.refresh();
        sweep
    }

    /// Walks through `events` and settles everything up to `to`.
    pub fn run(&mut self, events: &Events, changes: &[Change], to: Timestamp) {
        for (at, kind, position) in events.iter() {
            if at > self.now {
                self.refresh();
                self.advance(at);
            }
            match kind {
                Kind::Change | Kind::Snapshot => self.change(changes[position]),
                Kind::Hold => self.hold(position, true),
                Kind::Start => {
                    self.wait(position, false);
                    self.hold(position, true);
                }
                Kind::Release => self.hold(position, false),
                Kind::WaitStart => self.wait(position, true),
                Kind::WaitEnd => self.wait(position, false),
                Kind::PartialStart => self.partial(position, true),
                Kind::PartialEnd => self.partial(position, false),
            }
        }
        self.refresh();
        self.advance(to);
        for pool in &mut self.pools {
            pool.settle(to);
        }
    }

    /// What was kept free, by the size of the largest gang that waited.
    pub fn partly_held(&self) -> PartlyHeld {
        let mut kept_for: BTreeMap<u64, i128> = BTreeMap::new();
        for (devices, unit_ns) in self.pools.iter().flat_map(|pool| &pool.kept_for) {
            *kept_for.entry(*devices).or_default() += unit_ns;
        }
        PartlyHeld { snapshots: self.covered_ns > 0, kept_for }
    }

    /// Lets time pass with nothing changing.
    fn advance(&mut self, to: Timestamp) {
        self.fleet.advance(&mut self.pools, self.now, to);
        if self.known.planned {
            self.covered_ns += to - self.now;
        }
        self.now = to;
    }

    fn touch(&mut self, pool: u32) {
        let state = &mut self.pools[pool as usize];
        if !state.dirty {
            state.dirty = true;
            state.settle(self.now);
            self.dirty.push(pool);
        }
    }

    fn touch_all(&mut self) {
        for pool in 0..u32::try_from(self.pools.len()).unwrap_or(u32::MAX) {
            self.touch(pool);
        }
    }

    fn refresh(&mut self) {
        for pool in self.dirty.drain(..) {
            let state = &mut self.pools[pool as usize];
            self.fleet.remove(pool, &state.rates);
            state.recompute(&mut self.placement.shapes, self.known);
            state.dirty = false;
            self.fleet.add(pool, &state.rates);
        }
    }

    /// Changes a node and what it contributes to its pool.
    fn change_node(&mut self, node: u32, change: impl FnOnce(&mut NodeState)) {
        let state = &mut self.nodes[node as usize];
        let before = *state;
        change(state);
        let after = *state;
        self.recount(&before, &after, 1);
    }

    /// `nodes` nodes that were in the same state have changed alike.
    fn recount(&mut self, before: &NodeState, after: &NodeState, nodes: i32) {
        self.touch(before.node.pool);
        let pool = &mut self.pools[before.node.pool as usize];
        pool.count_nodes(before, -nodes);
        pool.count_nodes(after, nodes);
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Capacity(CapacityChange::Node { node, present }) => {
                self.change_node(node, |n| n.present = present)
            }
            Change::Capacity(CapacityChange::Devices { pool, change }) => {
                self.touch(pool);
                self.pools[pool as usize].installed += change;
            }
            Change::Outage { node, begins } => self.change_node(node, |n| {
                if begins {
                    n.outages = n.outages.saturating_add(1);
                } else {
                    n.outages = n.outages.saturating_sub(1);
                    // The record of the return is exact; the last snapshot is older.
                    n.sampled_out = false;
                }
            }),
            Change::Reserved { node, begins } => self.change_node(node, |n| {
                n.reservations =
                    if begins { n.reservations.saturating_add(1) } else { n.reservations.saturating_sub(1) };
            }),
            Change::Snapshot(snapshot) => self.snapshot(snapshot),
            Change::PoolSample { sample, pool } => self.pool_sample(self.records.pool_samples[sample], pool),
            Change::SeriesEnd { pool } => {
                let state = self.records.pool_samples[0];
                self.pool_sample(PoolSample { offered: 0, held: 0, demand: 0, ..state }, pool);
            }
            Change::RecordsEnd => {
                self.known = Known::default();
                self.touch_all();
            }
        }
    }

    fn hold(&mut self, row: usize, begins: bool) {
        let sign = if begins { 1 } else { -1 };
        let mut devices = 0;
        for part in 0..self.placement.parts(row) {
            let shape = self.placement.shape(row, part);
            devices += shape.devices;
            self.touch(shape.pool);
            let change = sign * i64::try_from(shape.devices).unwrap_or(i64::MAX);
            let pool = &mut self.pools[shape.pool as usize];
            pool.held += change;
            if !self.placement.is_placed(row) {
                pool.unplaced += change;
            }
        }
        if !self.placement.is_placed(row) {
            return;
        }
        let names = self.records.node_set(self.placement.nodes(row));
        let per_node = u32::try_from(devices / names.len().max(1) as u64).unwrap_or(u32::MAX);
        self.occupy(row, names, per_node, begins);
    }

    /// The attempt in `row` takes `devices` devices of each node, or gives them back. Most nodes of a gang were in
    /// the same state before, and those are counted together.
    fn occupy(&mut self, row: usize, names: &[Symbol], devices: u32, begins: bool) {
        let after = |mut state: NodeState| {
            state.occupy(devices, begins);
            state
        };
        let layout = self.layout;
        let mut alike: Option<(NodeState, i32)> = None;
        for node in names.iter().filter_map(|&name| layout.node(name)) {
            let state = &mut self.nodes[node as usize];
            let before = std::mem::replace(state, after(*state));
            if begins && state.is_oversubscribed() {
                self.notes.note("devices_oversubscribed", self.records.attempts[row].source);
            }
            match &mut alike {
                Some((first, nodes)) if *first == before => *nodes += 1,
                _ => {
                    if let Some((before, nodes)) = alike.replace((before, 1)) {
                        self.recount(&before, &after(before), nodes);
                    }
                }
            }
        }
        if let Some((before, nodes)) = alike {
            self.recount(&before, &after(before), nodes);
        }
    }

    fn wait(&mut self, row: usize, begins: bool) {
        if !self.waiting_of_job.is_empty() {
            let slot = &mut self.waiting_of_job[self.records.attempts[row].key.job.index()];
            if begins {
                *slot = u32::try_from(row).unwrap_or(NOBODY);
            } else if *slot as usize == row {
                *slot = NOBODY;
            }
        }
        let standing = self.standing_of(row);
        self.change_demand(row, standing, begins);
        self.placement.set_waiting(row, begins);
    }

    fn standing_of(&self, row: usize) -> Standing {
        self.standing.get(row).copied().flatten().unwrap_or_else(|| self.placement.standing(row))
    }

    fn change_demand(&mut self, row: usize, standing: Standing, begins: bool) {
        let minutes = self.placement.minutes(row);
        for part in 0..self.placement.parts(row) {
            if let Some(number) = self.placement.asked(row, part) {
                self.ask(number, standing, minutes, begins);
            }
        }
    }

    fn ask(&mut self, number: u32, standing: Standing, minutes: i64, begins: bool) {
        let pool = self.placement.shapes.waiting[number as usize].shape.pool;
        self.touch(pool);
        let demand = &mut self.pools[pool as usize].demand;
        demand.change(&mut self.placement.shapes, number, standing, minutes, begins);
    }

    /// A member of an incomplete gang takes devices: they are no longer free, and the gang asks for fewer.
    fn partial(&mut self, position: usize, begins: bool) {
        let partial = self.partials[position];
        let waits = self.placement.is_waiting(partial.row);
        let standing = self.standing_of(partial.row);
        if waits {
            self.change_demand(partial.row, standing, false);
        }
        self.placement.assign(&partial, begins);
        if waits {
            self.change_demand(partial.row, standing, true);
        }
        self.touch(partial.pool);
        let pool = &mut self.pools[partial.pool as usize];
        let devices = i64::try_from(partial.devices).unwrap_or(i64::MAX);
        let devices = if begins { devices } else { -devices };
        match (partial.exact, partial.node) {
            (false, _) => pool.claimed += devices,
            (true, None) => {
                pool.partial += devices;
                pool.unplaced += devices;
            }
            (true, Some(node)) => {
                pool.partial += devices;
                let devices = u32::try_from(partial.devices).unwrap_or(u32::MAX);
                self.change_node(node, |n| n.occupy(devices, begins));
            }
        }
    }

    fn snapshot(&mut self, snapshot: Snapshot) {
        match snapshot {
            Snapshot::Nodes { first, end } => {
                self.cover(true, self.known.reasons);
                for place in first..end {
                    let sample = self.records.node_samples[self.ticks.node_order(place)];
                    let Some(node) = self.layout.node(sample.node) else { continue };
                    let out = sample.status != NodeStatus::Up;
                    let before = self.nodes[node as usize];
                    let allocated = if self.ticks.sole_source { sample.allocated } else { before.allocated };
                    if (before.sampled_out, before.planned, before.allocated)
                        == (out, sample.planned, allocated)
                    {
                        continue;
                    }
                    self.change_node(node, |n| {
                        n.sampled_out = out;
                        n.planned = sample.planned;
                        n.allocated = allocated;
                    });
                    let pool = self.layout.nodes[node as usize].pool as usize;
                    if self.ticks.sole_source {
                        self.pools[pool].held += i64::from(allocated) - i64::from(before.allocated);
                    }
                }
            }
            Snapshot::NodesExpire => {
                self.cover(false, self.known.reasons);
                for node in 0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX) {
                    let before = self.nodes[node as usize];
                    if before.sampled_out || before.planned {
                        self.change_node(node, |n| (n.sampled_out, n.planned) = (false, false));
                    }
                }
            }
            Snapshot::Queue { first, end } => {
                self.cover(self.known.planned, true);
                if self.ticks.sole_source {
                    self.replace_sampled_demand(first, end);
                } else {
                    self.take_reasons(first, end);
                }
            }
            Snapshot::QueueExpire => {
                self.cover(self.known.planned, false);
                if self.ticks.sole_source {
                    self.replace_sampled_demand(0, 0);
                } else {
                    for row in std::mem::take(&mut self.standing_set) {
                        self.set_standing(row as usize, None);
                    }
                }
            }
        }
    }

    /// Whether snapshots of nodes and of the queue cover the time from now on.
    fn cover(&mut self, planned: bool, reasons: bool) {
        if (self.known.planned, self.known.reasons) != (planned, reasons) {
            self.known.planned = planned;
            self.known.reasons = reasons;
            if self.ticks.sole_source {
                self.known.held = planned;
                self.known.demand = reasons;
            }
            self.touch_all();
        }
    }

    fn take_reasons(&mut self, first: usize, end: usize) {
        for place in first..end {
            let sample = self.records.queue_samples[self.ticks.queue_order(place)];
            let row = self.waiting_of_job.get(sample.job.index()).copied().unwrap_or(NOBODY);
            if sample.pending && row != NOBODY {
                if self.standing[row as usize].is_none() {
                    self.standing_set.push(row);
                }
                self.set_standing(row as usize, Some(standing(sample.reason)));
            }
        }
    }

    fn set_standing(&mut self, row: usize, sampled: Option<Standing>) {
        if self.standing[row] == sampled {
            return;
        }
        let before = self.standing_of(row);
        self.standing[row] = sampled;
        let after = self.standing_of(row);
        if before != after && self.placement.is_waiting(row) {
            self.change_demand(row, before, false);
            self.change_demand(row, after, true);
        }
    }

    /// Without job records the queue is what the last snapshot shows.
    fn replace_sampled_demand(&mut self, first: usize, end: usize) {
        for (number, standing) in std::mem::take(&mut self.sampled_demand) {
            self.ask(number, standing, 0, false);
        }
        for place in first..end {
            let sample = self.records.queue_samples[self.ticks.queue_order(place)];
            if !sample.pending || sample.devices == 0 {
                continue;
            }
            let pool = self.layout.pool_of_partition(sample.partition);
            let shape = Shape { pool, devices: sample.devices, nodes: sample.node_count };
            let number = self.placement.shapes.number(shape);
            let standing = standing(sample.reason);
            self.ask(number, standing, 0, true);
            self.sampled_demand.push((number, standing));
        }
    }

    fn pool_sample(&mut self, sample: PoolSample, pool: u32) {
        self.touch(pool);
        let devices = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let state = &mut self.pools[pool as usize];
        state.installed = devices(sample.offered);
        state.held = devices(sample.held);
        state.demand.devices = devices(sample.demand);
        state.demand.shapeless = devices(sample.demand);
        state.demand.jobs = u64::from(sample.demand > 0);
    }
}

fn standing(reason: WaitReason) -> Standing {
    match reason {
        WaitReason::Eligible => Standing::Eligible,
        WaitReason::Limit => Standing::Limited,
        WaitReason::NotEligible => Standing::NotEligible,
    }
}
