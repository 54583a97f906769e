//! Node and queue state over time, one JSON object a snapshot: what a cron job would keep of
//! `scontrol -o show node` and `squeue -h -a -o '%i|%T|%r|%D|%b|%P|%N|%q'`.

use std::io::Write;

use serde_json::{Value, json};

use super::names::node_list;
use crate::scenario::OutageKind;
use crate::world::{Node, NodeSnapshot, QueueSnapshot, Snapshot, WaitsFor, World};

pub(super) fn write(world: &World) -> Vec<u8> {
    let mut text = Vec::new();
    for snapshot in &world.snapshots {
        let queue: Vec<Value> = snapshot.queue.iter().map(|entry| row(world, snapshot, entry)).collect();
        let at = world.epoch(snapshot.at);
        // Writing to memory cannot fail.
        let _ = write!(text, "{{\"t0\":{at},\"t1\":{at},\"nodes\":{{");
        for (i, (node, now)) in world.nodes.iter().zip(&snapshot.nodes).enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let state = node_state(node, now);
            let _ = write!(text, "{comma}\"{}\":[\"{state}\",{},{}]", node.name, node.devices, now.allocated);
        }
        let _ = writeln!(text, "}},\"q\":{}}}", Value::Array(queue));
    }
    text
}

fn row(world: &World, snapshot: &Snapshot, entry: &QueueSnapshot) -> Value {
    let job = &world.jobs[entry.job];
    let class = &world.scenario.jobs[job.class];
    let (state, reason) = match entry.waits_for {
        None => ("RUNNING", "None"),
        Some(WaitsFor::Resources) => ("PENDING", "Resources"),
        Some(WaitsFor::Priority) => ("PENDING", "Priority"),
        Some(WaitsFor::Quota) => ("PENDING", "AssocGrpGRES"),
        Some(WaitsFor::BeginTime) => ("PENDING", "BeginTime"),
    };
    let running = job.attempts.iter().find(|a| {
        a.start.is_some_and(|start| start <= snapshot.at) && a.end.is_none_or(|end| end > snapshot.at)
    });
    let nodes = running
        .filter(|_| entry.waits_for.is_none())
        .map_or_else(String::new, |a| node_list(world, &a.nodes));
    json!([
        job.id.to_string(),
        state,
        reason,
        class.nodes.to_string(),
        format!("gres:gpu:{}", job.devices_per_node),
        world.scenario.pools[job.pool].name,
        nodes,
        class.qos,
    ])
}

/// Slurm's word for a node's state.
pub(super) fn node_state(node: &Node, now: &NodeSnapshot) -> String {
    let base = match now.allocated {
        _ if now.out == Some(OutageKind::Down) => "DOWN",
        0 => "IDLE",
        used if used == node.devices => "ALLOCATED",
        _ => "MIXED",
    };
    let mut state = base.to_owned();
    match now.out {
        Some(OutageKind::Drain) => state += "+DRAIN",
        Some(OutageKind::Maintenance) => state += "+MAINTENANCE",
        Some(OutageKind::Down) | None => {}
    }
    if now.planned {
        state += "+PLANNED";
    }
    if now.reserved {
        state += "+RESERVED";
    }
    state
}
