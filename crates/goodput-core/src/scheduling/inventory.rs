//! Which nodes have accelerators, from the best record that tells.

use rustc_hash::FxHashMap;

use crate::records::{Attempt, FleetRecords, NodeSet, Symbol};

use super::attempts::HeldIntervals;
use super::notes::Notes;

/// A node before it has a pool.
pub(super) struct Candidate {
    pub name: Symbol,
    pub devices: u32,
    pub device_type: Symbol,
    pub partitions: Vec<Symbol>,
    pub block: Symbol,
}

/// The nodes with accelerators: the inventory, else the snapshots, else an even split of the capacity records.
pub(super) fn candidates(records: &FleetRecords, held: &HeldIntervals, notes: &mut Notes) -> Vec<Candidate> {
    if records.nodes.iter().any(|node| node.devices > 0) {
        let listed = records.nodes.iter().filter(|node| node.devices > 0);
        let mut seen = vec![false; records.symbols.len()];
        return listed
            .filter(|node| !seen.get_mut(node.name.index()).is_some_and(|seen| std::mem::replace(seen, true)))
            .map(|node| {
                let mut partitions = node.partitions.clone();
                partitions.sort_unstable();
                partitions.dedup();
                Candidate {
                    name: node.name,
                    devices: node.devices,
                    device_type: node.device_type,
                    partitions,
                    block: node.block,
                }
            })
            .collect();
    }
    let sizes = inferred_sizes(records);
    if sizes.is_empty() {
        return Vec::new();
    }
    let partition_of = inferred_partitions(records, held);
    notes.warn(
        "inventory_inferred",
        "no inventory was given: nodes and their devices were inferred from snapshots or capacity records, and their partitions from where jobs ran (supply `scontrol show node`)".into(),
        None,
    );
    sizes
        .into_iter()
        .map(|(name, devices)| Candidate {
            name,
            devices,
            device_type: Symbol::EMPTY,
            partitions: partition_of.get(&name).copied().into_iter().collect(),
            block: Symbol::EMPTY,
        })
        .collect()
}

fn inferred_sizes(records: &FleetRecords) -> Vec<(Symbol, u32)> {
    let mut sizes: FxHashMap<Symbol, u32> = FxHashMap::default();
    for sample in records.node_samples.iter().filter(|sample| sample.devices > 0) {
        let size = sizes.entry(sample.node).or_default();
        *size = (*size).max(sample.devices);
    }
    if sizes.is_empty() {
        for step in &records.capacity {
            let nodes = records.node_set(step.nodes);
            let count = nodes.len() as u64;
            if count == 0 || !step.devices.is_multiple_of(count) {
                return Vec::new();
            }
            let per_node = u32::try_from(step.devices / count).unwrap_or(u32::MAX);
            for node in nodes {
                if *sizes.entry(*node).or_insert(per_node) != per_node {
                    return Vec::new();
                }
            }
        }
        // A job that holds more on a node than an even split gives shows that the nodes differ.
        let room =
            |nodes: &Vec<Symbol>| nodes.iter().filter_map(|n| sizes.get(n)).copied().map(u64::from).sum();
        let rooms: Vec<u64> = records.node_sets.iter().map(room).collect();
        let exceeds = |attempt: &Attempt| {
            attempt.nodes != NodeSet::NONE
                && rooms.get(attempt.nodes.0 as usize).is_some_and(|&room| room < attempt.devices)
        };
        if records.attempts.iter().any(exceeds) {
            return Vec::new();
        }
    }
    let mut sizes: Vec<_> = sizes.into_iter().filter(|&(_, devices)| devices > 0).collect();
    sizes.sort_unstable();
    sizes
}

/// The partition whose jobs held each node longest.
fn inferred_partitions(records: &FleetRecords, held: &HeldIntervals) -> FxHashMap<Symbol, Symbol> {
    // Many attempts share a set of nodes.
    let mut time_of_set: FxHashMap<(NodeSet, Symbol), i128> = FxHashMap::default();
    for (row, attempt) in records.attempts.iter().enumerate() {
        let ns = held.of(row, attempt).duration_ns();
        *time_of_set.entry((attempt.nodes, attempt.partition)).or_default() += i128::from(ns);
    }
    let mut time: FxHashMap<(Symbol, Symbol), i128> = FxHashMap::default();
    for ((nodes, partition), ns) in time_of_set {
        for node in records.node_set(nodes) {
            *time.entry((*node, partition)).or_default() += ns;
        }
    }
    let mut best: FxHashMap<Symbol, (i128, Symbol)> = FxHashMap::default();
    for ((node, partition), ns) in time.into_iter().filter(|&(_, ns)| ns > 0) {
        let slot = best.entry(node).or_insert((ns, partition));
        if (ns, partition) > *slot {
            *slot = (ns, partition);
        }
    }
    best.into_iter().map(|(node, (_, partition))| (node, partition)).collect()
}
