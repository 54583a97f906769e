//! `sacctmgr show reservation -P format=Cluster,Name,TRES,Start,End,NodeNames,Flags,UnusedWall`.
//!
//! The default columns name no node; these do, so that maintenance is known.

use std::io::Write;

use super::names::{instant, node_list, tres};
use crate::scenario::{OutageKind, Span};
use crate::world::World;

pub(super) fn write(world: &World) -> Vec<u8> {
    let mut text = b"Cluster|Name|TRES|TimeStart|TimeEnd|NodeNames|Flags|UnusedWall\n".to_vec();
    let scenario = &world.scenario;
    let mut row = |name: &str, pool: &str, numbers: &[u32], at: Span, lasts: Span, flags: &str| {
        let Some(pool) = scenario.pools.iter().position(|p| p.name == pool) else { return };
        let first: usize = scenario.pools.iter().take(pool).map(|p| p.nodes as usize).sum();
        let mut nodes: Vec<usize> = numbers.iter().map(|&n| first + n as usize - 1).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let devices = nodes.len() as u64 * u64::from(scenario.pools[pool].devices_per_node);
        let from = at.as_seconds();
        // Writing to memory cannot fail.
        let _ = writeln!(
            text,
            "{}|{name}|{}|{}|{}|{}|{flags}|0.000000",
            scenario.cluster,
            tres(world, pool, devices, nodes.len() as u64),
            instant(world, from),
            instant(world, from + lasts.as_seconds()),
            node_list(world, &nodes),
        );
    };
    let maintenance = scenario.outages.iter().filter(|o| o.kind == OutageKind::Maintenance);
    for (number, outage) in maintenance.enumerate() {
        let name = format!("maintenance_{}", number + 1);
        row(&name, &outage.pool, &outage.nodes, outage.at, outage.lasts, "MAINT,IGNORE_JOBS,SPEC_NODES");
    }
    for grant in &scenario.reservations {
        row(&grant.name, &grant.pool, &grant.nodes, grant.at, grant.lasts, "SPEC_NODES");
    }
    text
}
