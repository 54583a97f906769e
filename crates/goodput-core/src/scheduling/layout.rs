//! Where capacity lies: nodes, the disjoint pools they form, and how both change over time.

use rustc_hash::FxHashMap;

use crate::records::{Attempt, CapacityStep, FleetRecords, NodeSet, SourceRef, Symbol};
use crate::time::{Interval, Timestamp};

use super::attempts::HeldIntervals;
use super::inventory::{Candidate, candidates};
use super::notes::Notes;
use super::{PoolSpec, SchedulingError, SchedulingOptions};

const NONE: u32 = u32::MAX;

/// A node with accelerators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LayoutNode {
    pub devices: u32,
    pub pool: u32,
    /// Topology block, numbered from zero within the fleet.
    pub block: u32,
}

/// A pool before any account.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayoutPool {
    /// Empty for what no pool names: a fleet of one pool, or capacity that no node explains.
    pub name: Symbol,
    pub device_type: Symbol,
}

/// A change of installed capacity.
#[derive(Debug, Clone, Copy)]
pub(super) enum CapacityChange {
    /// A node comes (`true`) or goes.
    Node { node: u32, present: bool },
    /// Devices that no listed node explains.
    Devices { pool: u32, change: i64 },
}

/// What an attempt occupies in one pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub pool: u32,
    pub devices: u64,
    /// Nodes of the pool, zero when the record does not say.
    pub nodes: u32,
}

/// Nodes, pools, and capacity over time.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub nodes: Vec<LayoutNode>,
    pub pools: Vec<LayoutPool>,
    pub blocks: u32,
    pub changes: Vec<(Timestamp, CapacityChange)>,
    /// Whether the pools are those of a series, which brings its own capacity.
    pub of_series: bool,
    /// Devices of the usual node of each pool, zero without nodes.
    node_devices: Vec<u32>,
    node_of: Vec<u32>,
    /// By [`NodeSet`], since many attempts share one.
    places: Vec<Place>,
    /// Pools of a partition, the largest first.
    pools_of: FxHashMap<Symbol, Vec<u32>>,
    largest: u32,
}

impl Layout {
    /// Finds nodes, pools and capacity over `window`.
    pub fn new(
        records: &FleetRecords,
        options: &SchedulingOptions,
        held: &HeldIntervals,
        notes: &mut Notes,
    ) -> Result<Self, SchedulingError> {
        if records.attempts.is_empty() && !records.pool_samples.is_empty() {
            return Ok(Self::of_series(records));
        }
        let candidates = candidates(records, held, notes);
        let mut layout = Self { node_of: vec![NONE; records.symbols.len()], ..Self::default() };
        layout.form_pools(records, options, candidates)?;
        layout.capacity_over_time(records, options, notes)?;
        layout.rank_pools();
        layout.places = records.node_sets.iter().map(|names| layout.place(names)).collect();
        Ok(layout)
    }

    /// The pools of a series.
    fn of_series(records: &FleetRecords) -> Self {
        let mut layout = Self { of_series: true, ..Self::default() };
        for sample in &records.pool_samples {
            let next = u32::try_from(layout.pools.len()).unwrap_or(NONE);
            layout.pools_of.entry(sample.pool).or_insert_with(|| {
                layout.pools.push(LayoutPool { name: sample.pool, device_type: Symbol::EMPTY });
                vec![next]
            });
        }
        layout.node_devices = vec![0; layout.pools.len()];
        layout
    }

    /// The node of this name.
    pub fn node(&self, name: Symbol) -> Option<u32> {
        self.node_of.get(name.index()).copied().filter(|&n| n != NONE)
    }

    /// Devices of the node by which most nodes of the pool are built; zero without nodes.
    pub fn node_devices(&self, pool: u32) -> u32 {
        self.node_devices[pool as usize]
    }

    /// The pool in which jobs of a partition wait: its largest.
    pub fn pool_of_partition(&self, partition: Symbol) -> u32 {
        self.pools_of.get(&partition).and_then(|pools| pools.first()).copied().unwrap_or(self.largest)
    }

    /// Which pools an attempt occupies, and how much of each.
    pub fn shares(&self, records: &FleetRecords, attempt: &Attempt, notes: &mut Notes) -> Shares {
        let whole = |pool, nodes| Shares::One(Share { pool, devices: attempt.devices, nodes });
        match self.places.get(attempt.nodes.0 as usize).map(|place| place.pools) {
            Some(Pools::One(pool)) => return whole(pool, attempt.node_count),
            Some(Pools::Several) => return self.split(attempt, records.node_set(attempt.nodes), notes),
            Some(Pools::None) | None => {}
        }
        if self.pools.len() == 1 {
            return whole(0, attempt.node_count);
        }
        match self.pools_of.get(&attempt.partition).map(Vec::as_slice) {
            Some([only]) => whole(*only, attempt.node_count),
            Some([largest, ..]) => {
                notes.note("pool_guessed", attempt.source);
                whole(*largest, attempt.node_count)
            }
            _ => {
                notes.note("pool_unknown", attempt.source);
                whole(self.largest, attempt.node_count)
            }
        }
    }

    /// Whether every node of the set is known.
    pub fn knows_all(&self, nodes: NodeSet) -> bool {
        self.places.get(nodes.0 as usize).is_some_and(|place| place.is_known)
    }

    fn place(&self, names: &[Symbol]) -> Place {
        let mut place = Place { pools: Pools::None, is_known: true };
        for name in names {
            let Some(node) = self.node(*name) else {
                place.is_known = false;
                continue;
            };
            let pool = self.nodes[node as usize].pool;
            place.pools = match place.pools {
                Pools::None => Pools::One(pool),
                Pools::One(first) if first == pool => Pools::One(pool),
                Pools::One(_) | Pools::Several => Pools::Several,
            };
        }
        place
    }

    fn split(&self, attempt: &Attempt, names: &[Symbol], notes: &mut Notes) -> Shares {
        let mut nodes_of_pool: Vec<(u32, u32)> = Vec::new();
        for pool in
            names.iter().filter_map(|name| self.node(*name)).map(|node| self.nodes[node as usize].pool)
        {
            match nodes_of_pool.iter_mut().find(|(p, _)| *p == pool) {
                Some((_, count)) => *count += 1,
                None => nodes_of_pool.push((pool, 1)),
            }
        }
        let known: u64 = nodes_of_pool.iter().map(|&(_, count)| u64::from(count)).sum();
        if known == names.len() as u64 && attempt.devices.is_multiple_of(known) {
            let per_node = attempt.devices / known;
            let share =
                |&(pool, nodes): &(u32, u32)| Share { pool, devices: per_node * u64::from(nodes), nodes };
            return Shares::Several(nodes_of_pool.iter().map(share).collect());
        }
        notes.note("pool_split", attempt.source);
        let pool =
            nodes_of_pool.iter().max_by_key(|&&(_, count)| count).map_or(self.largest, |&(pool, _)| pool);
        Shares::One(Share { pool, devices: attempt.devices, nodes: attempt.node_count })
    }

    fn form_pools(
        &mut self,
        records: &FleetRecords,
        options: &SchedulingOptions,
        candidates: Vec<Candidate>,
    ) -> Result<(), SchedulingError> {
        let chosen = if options.pools.is_empty() {
            derive(records, &candidates)
        } else {
            choose(records, &options.pools, &candidates)?
        };
        let mut blocks: FxHashMap<Symbol, u32> = FxHashMap::default();
        self.pools = chosen.pools;
        for (candidate, pool) in candidates.into_iter().zip(chosen.pool_of) {
            let next = u32::try_from(blocks.len()).unwrap_or(NONE);
            let block = *blocks.entry(candidate.block).or_insert(next);
            if let Some(slot) = self.node_of.get_mut(candidate.name.index()) {
                *slot = u32::try_from(self.nodes.len()).unwrap_or(NONE);
            }
            for partition in &candidate.partitions {
                let pools = self.pools_of.entry(*partition).or_default();
                if !pools.contains(&pool) {
                    pools.push(pool);
                }
            }
            self.nodes.push(LayoutNode { devices: candidate.devices, pool, block });
        }
        for (index, pool) in self.pools.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(NONE);
            let named = self.pools_of.entry(pool.name).or_default();
            if named.is_empty() {
                named.push(index);
            }
        }
        self.blocks = u32::try_from(blocks.len()).unwrap_or(NONE);
        Ok(())
    }

    fn rank_pools(&mut self) {
        let mut devices = vec![0u64; self.pools.len()];
        for node in &self.nodes {
            devices[node.pool as usize] += u64::from(node.devices);
        }
        for pools in self.pools_of.values_mut() {
            pools.sort_by_key(|&pool| std::cmp::Reverse(devices[pool as usize]));
        }
        self.node_devices = (0..self.pools.len()).map(|pool| self.usual_node(pool)).collect();
        let largest =
            (0..devices.len()).max_by_key(|&pool| (devices[pool], std::cmp::Reverse(pool))).unwrap_or(0);
        self.largest = u32::try_from(largest).unwrap_or(0);
    }

    fn usual_node(&self, pool: usize) -> u32 {
        let mut sizes: Vec<(u32, usize)> = Vec::new();
        for node in self.nodes.iter().filter(|node| node.pool as usize == pool) {
            match sizes.iter_mut().find(|(size, _)| *size == node.devices) {
                Some((_, count)) => *count += 1,
                None => sizes.push((node.devices, 1)),
            }
        }
        sizes.iter().max_by_key(|&&(size, count)| (count, size)).map_or(0, |&(size, _)| size)
    }

    fn capacity_over_time(
        &mut self,
        records: &FleetRecords,
        options: &SchedulingOptions,
        notes: &mut Notes,
    ) -> Result<(), SchedulingError> {
        let window = options.window;
        let mut steps: Vec<_> = records
            .capacity
            .iter()
            .map(|step| (window.clip(Interval::new(step.start, step.end.unwrap_or(window.to()))), step))
            .filter(|(interval, _)| !interval.is_empty())
            .collect();
        if steps.is_empty() {
            if self.nodes.is_empty() {
                return Err(SchedulingError::NoCapacity);
            }
            if let Some(step) = records.capacity.first() {
                notes.warn(
                    "capacity_not_covered",
                    "no capacity record reaches into the window; the inventory is taken for all of it".into(),
                    Some(step.source),
                );
            }
            self.changes = (0..self.nodes.len()).map(|node| (window.from(), present(node, true))).collect();
            return Ok(());
        }
        steps.sort_by_key(|(interval, step)| (step.cluster, interval.start));
        self.note_uncovered(&steps, options, notes);
        let inventory: u64 = self.nodes.iter().map(|node| u64::from(node.devices)).sum();
        let unlisted = |step: &CapacityStep| step.nodes == NodeSet::NONE;
        if self.pools.len() > 1 && steps.iter().any(|(_, step)| unlisted(step) && step.devices != inventory) {
            self.merge_pools(steps[0].1.source, notes);
        }
        let mut residual_pool = None;
        for (interval, step) in steps {
            let listed: Vec<usize> = if unlisted(step) {
                if step.devices == inventory { (0..self.nodes.len()).collect() } else { Vec::new() }
            } else {
                records
                    .node_set(step.nodes)
                    .iter()
                    .filter_map(|n| self.node(*n))
                    .map(|n| n as usize)
                    .collect()
            };
            let explained: u64 = listed.iter().map(|&node| u64::from(self.nodes[node].devices)).sum();
            for node in listed {
                self.changes.push((interval.start, present(node, true)));
                self.changes.push((interval.end, present(node, false)));
            }
            if explained > step.devices {
                notes.warn(
                    "capacity_disagrees",
                    format!(
                        "the capacity record counts {} devices and its nodes have {explained} by the inventory; the nodes are taken",
                        step.devices
                    ),
                    Some(step.source),
                );
            } else if explained < step.devices {
                let pool = *residual_pool.get_or_insert_with(|| self.residual_pool(step.source, notes));
                let change = i64::try_from(step.devices - explained).unwrap_or(i64::MAX);
                self.changes.push((interval.start, CapacityChange::Devices { pool, change }));
                self.changes.push((interval.end, CapacityChange::Devices { pool, change: -change }));
            }
        }
        Ok(())
    }

    fn note_uncovered(
        &self,
        steps: &[(Interval, &CapacityStep)],
        options: &SchedulingOptions,
        notes: &mut Notes,
    ) {
        let window = options.window;
        let first = steps.iter().map(|(interval, _)| interval.start).min().unwrap_or(window.from());
        let last = steps.iter().map(|(interval, _)| interval.end).max().unwrap_or(window.to());
        let missing = (first - window.from()) + (window.to() - last);
        if missing > 0 {
            notes.warn(
                "capacity_not_covered",
                format!(
                    "no capacity record covers {:.3} s of the window; nothing is offered there except what attempts hold (begin the window at the first capacity record, or export events with All_Time)",
                    missing as f64 / 1e9
                ),
                steps.first().map(|(_, step)| step.source),
            );
        }
    }

    /// One pool without nodes: the totals are right, and pools and shapes cannot be told.
    fn merge_pools(&mut self, source: SourceRef, notes: &mut Notes) {
        notes.warn(
            "pools_unknown",
            "capacity changes and its records list no nodes, so pools cannot be told apart; the fleet is one pool (export ClusterNodes with the events)".into(),
            Some(source),
        );
        self.nodes.clear();
        self.node_of.fill(NONE);
        self.pools_of.clear();
        self.pools = vec![LayoutPool { name: Symbol::EMPTY, device_type: Symbol::EMPTY }];
    }

    /// Where devices go that no listed node explains.
    fn residual_pool(&mut self, source: SourceRef, notes: &mut Notes) -> u32 {
        if self.pools.len() == 1 {
            return 0;
        }
        if !self.pools.is_empty() {
            notes.warn(
                "capacity_unlisted",
                "the capacity record counts more devices than its listed nodes have; the rest stands in a pool of its own (supply the inventory of every node)".into(),
                Some(source),
            );
        }
        self.pools.push(LayoutPool { name: Symbol::EMPTY, device_type: Symbol::EMPTY });
        u32::try_from(self.pools.len() - 1).unwrap_or(0)
    }
}

/// Where the nodes of a set lie.
#[derive(Debug, Clone, Copy)]
struct Place {
    pools: Pools,
    is_known: bool,
}

/// The pools of the nodes that are known.
#[derive(Debug, Clone, Copy)]
enum Pools {
    None,
    One(u32),
    Several,
}

/// The pools that an attempt occupies.
#[derive(Debug, Clone)]
pub(super) enum Shares {
    /// One pool.
    One(Share),
    /// Several, split by the nodes it holds.
    Several(Vec<Share>),
}

impl Shares {
    pub fn as_slice(&self) -> &[Share] {
        match self {
            Self::One(share) => std::slice::from_ref(share),
            Self::Several(shares) => shares,
        }
    }
}

fn present(node: usize, present: bool) -> CapacityChange {
    CapacityChange::Node { node: u32::try_from(node).unwrap_or(NONE), present }
}

struct Chosen {
    pools: Vec<LayoutPool>,
    /// Pool of each candidate.
    pool_of: Vec<u32>,
}

/// Disjoint groups of nodes by device type and set of partitions, named by their smallest partition.
fn derive(records: &FleetRecords, candidates: &[Candidate]) -> Chosen {
    let mut size: FxHashMap<Symbol, u64> = FxHashMap::default();
    for node in candidates {
        for partition in &node.partitions {
            *size.entry(*partition).or_default() += u64::from(node.devices);
        }
    }
    let mut index: FxHashMap<(Symbol, &[Symbol]), u32> = FxHashMap::default();
    let mut pools = Vec::new();
    let mut pool_of = Vec::with_capacity(candidates.len());
    for node in candidates {
        let pool = *index.entry((node.device_type, node.partitions.as_slice())).or_insert_with(|| {
            let mut names = node.partitions.clone();
            names.sort_by_key(|p| (size.get(p).copied().unwrap_or(0), records.symbols.get(*p)));
            names.push(node.device_type);
            let taken = |name: &&Symbol| pools.iter().any(|pool: &LayoutPool| pool.name == **name);
            let name = names.iter().find(|name| !taken(name)).copied().unwrap_or(names[0]);
            pools.push(LayoutPool { name, device_type: node.device_type });
            u32::try_from(pools.len() - 1).unwrap_or(NONE)
        });
        pool_of.push(pool);
    }
    if pools.is_empty() && !records.capacity.is_empty() {
        pools.push(LayoutPool { name: Symbol::EMPTY, device_type: Symbol::EMPTY });
    }
    Chosen { pools, pool_of }
}

/// The user's pools; nodes that none names form a last one.
fn choose(
    records: &FleetRecords,
    specs: &[PoolSpec],
    candidates: &[Candidate],
) -> Result<Chosen, SchedulingError> {
    let name = |symbol: Symbol| records.symbols.get(symbol).to_owned();
    let by_name: FxHashMap<Symbol, usize> = candidates.iter().enumerate().map(|(i, n)| (n.name, i)).collect();
    let mut pool_of = vec![NONE; candidates.len()];
    for (index, spec) in specs.iter().enumerate() {
        let members: Vec<usize> = if spec.nodes.is_empty() {
            let member = |(_, node): &(usize, &Candidate)| node.partitions.contains(&spec.name);
            candidates.iter().enumerate().filter(member).map(|(i, _)| i).collect()
        } else {
            let find = |node: &Symbol| {
                let missing = || SchedulingError::UnknownNode { pool: name(spec.name), node: name(*node) };
                by_name.get(node).copied().ok_or_else(missing)
            };
            spec.nodes.iter().map(find).collect::<Result<_, _>>()?
        };
        if members.is_empty() {
            return Err(SchedulingError::EmptyPool { pool: name(spec.name) });
        }
        for member in members {
            let taken = pool_of[member];
            if taken != NONE && taken as usize != index {
                return Err(SchedulingError::PoolsOverlap {
                    node: name(candidates[member].name),
                    first: name(specs[taken as usize].name),
                    second: name(spec.name),
                });
            }
            pool_of[member] = u32::try_from(index).unwrap_or(NONE);
        }
    }
    let device_type = |index: usize| {
        let mut types = (0..candidates.len())
            .filter(|&c| pool_of[c] as usize == index)
            .map(|c| candidates[c].device_type);
        let first = types.next().unwrap_or_default();
        if types.all(|t| t == first) { first } else { Symbol::EMPTY }
    };
    let mut pools: Vec<_> = specs
        .iter()
        .enumerate()
        .map(|(index, spec)| LayoutPool { name: spec.name, device_type: device_type(index) })
        .collect();
    if pool_of.contains(&NONE) {
        pools.push(LayoutPool { name: Symbol::EMPTY, device_type: Symbol::EMPTY });
        let rest = u32::try_from(specs.len()).unwrap_or(NONE);
        for pool in pool_of.iter_mut().filter(|pool| **pool == NONE) {
            *pool = rest;
        }
    }
    Ok(Chosen { pools, pool_of })
}
