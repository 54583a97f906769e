//! `scontrol -o show node -d`, at the end of the simulation.

use std::io::Write;

use super::names::{CPUS_PER_DEVICE, gres_type};
use super::snapshots::node_state;
use crate::world::World;

pub(super) fn write(world: &World) -> Vec<u8> {
    let mut text = Vec::new();
    let Some(last) = world.snapshots.last() else { return text };
    for (node, now) in world.nodes.iter().zip(&last.nodes) {
        let pool = &world.scenario.pools[node.pool];
        let gres = gres_type(world, node.pool);
        let (devices, used) = (u64::from(node.devices), u64::from(now.allocated));
        let cpus = devices * CPUS_PER_DEVICE;
        let allocated = match used {
            0 => String::new(),
            _ => format!("cpu={},gres/gpu={used},gres/gpu:{gres}={used}", used * CPUS_PER_DEVICE),
        };
        let index = if used == 0 { "N/A".to_owned() } else { format!("0-{}", used - 1) };
        // Writing to memory cannot fail.
        let _ = writeln!(
            text,
            "NodeName={name} Arch=x86_64 CPUAlloc={} CPUEfctv={cpus} CPUTot={cpus} Gres=gpu:{gres}:{devices} GresDrain=N/A GresUsed=gpu:{gres}:{used}(IDX:{index}) NodeAddr={name} NodeHostName={name} State={} Partitions={} CfgTRES=cpu={cpus},billing={cpus},gres/gpu={devices},gres/gpu:{gres}={devices} AllocTRES={allocated}",
            used * CPUS_PER_DEVICE,
            node_state(node, now),
            pool.name,
            name = node.name,
        );
    }
    text
}
