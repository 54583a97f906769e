//! `sacctmgr show event -P`: the cluster's capacity, and nodes out of service.

use std::io::Write;

use super::names::{elapsed, gres_type, instant, node_list, tres};
use crate::scenario::OutageKind;
use crate::world::World;

pub(super) fn write(world: &World) -> Vec<u8> {
    let mut text = b"Cluster|Cluster Nodes|CPU Cnt|Duration|TimeEnd|Event|EventRaw|NodeName|Reason|TimeStart|State|StateRaw|TRES|User\n".to_vec();
    let cluster = &world.scenario.cluster;
    let all: Vec<usize> = (0..world.nodes.len()).collect();
    let devices: u64 = world.nodes.iter().map(|n| u64::from(n.devices)).sum();
    let cpus = devices * super::names::CPUS_PER_DEVICE;
    let mut by_type: Vec<(String, u64)> = Vec::new();
    for node in &world.nodes {
        let gres = gres_type(world, node.pool);
        match by_type.iter_mut().find(|(name, _)| *name == gres) {
            Some((_, count)) => *count += u64::from(node.devices),
            None => by_type.push((gres, u64::from(node.devices))),
        }
    }
    let typed: String = by_type.iter().map(|(name, count)| format!("gres/gpu:{name}={count},")).collect();
    let lasts = elapsed(world.end());
    let start = instant(world, 0);
    // Writing to memory cannot fail.
    let _ = writeln!(
        text,
        "{cluster}|{}|{cpus}|{lasts}|Unknown|Cluster|1||Cluster Registered TRES|{start}||0|billing={cpus},cpu={cpus},{typed}gres/gpu={devices},node={}|",
        node_list(world, &all),
        world.nodes.len(),
    );
    let mut rows: Vec<_> =
        world.nodes.iter().flat_map(|node| node.events.iter().map(move |event| (node, event))).collect();
    rows.sort_by_key(|(node, event)| (event.from, &node.name));
    for (node, event) in rows.into_iter().filter(|(_, e)| e.to != Some(e.from)) {
        let (state, raw) = match event.kind {
            OutageKind::Down => ("DOWN*", 2049),
            OutageKind::Drain | OutageKind::Maintenance => ("DRAIN", 514),
        };
        let to = event.to.map_or("Unknown".to_owned(), |to| instant(world, to));
        let lasts = elapsed(event.to.unwrap_or(world.end()) - event.from);
        let tres = tres(world, node.pool, node.devices.into(), 1);
        let cpus = u64::from(node.devices) * super::names::CPUS_PER_DEVICE;
        let reason = &event.reason;
        let from = instant(world, event.from);
        let name = &node.name;
        let _ = writeln!(
            text,
            "{cluster}||{cpus}|{lasts}|{to}|Node|2|{name}|{reason}|{from}|{state}|{raw}|{tres}|root(0)"
        );
    }
    text
}
