//! The state of the nodes at one instant.

use super::{Node, NodeEvent, NodeSnapshot};
use crate::scenario::OutageKind;

/// A node's state now.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeState {
    pub pool: usize,
    pub devices: u32,
    pub free: u32,
    /// How many outages of each kind it is in.
    down: u32,
    drain: u32,
    maintenance: u32,
    /// The operator's words for the last outage.
    pub reason: String,
    /// Position of the standing reservation that it belongs to now.
    pub reserved: Option<usize>,
    /// The gang that it is kept free for, as decided in the last cycle.
    pub planned: Option<usize>,
}

impl NodeState {
    pub(crate) fn new(node: &Node) -> Self {
        Self { pool: node.pool, devices: node.devices, free: node.devices, ..Self::default() }
    }

    /// Why it takes no new jobs.
    pub(crate) fn out(&self) -> Option<OutageKind> {
        if self.down > 0 {
            Some(OutageKind::Down)
        } else if self.maintenance > 0 {
            Some(OutageKind::Maintenance)
        } else {
            (self.drain > 0).then_some(OutageKind::Drain)
        }
    }

    /// Whether no job is on it.
    pub(crate) fn is_idle(&self) -> bool {
        self.free == self.devices
    }

    /// Whether it is kept free for a gang.
    pub(crate) fn is_kept(&self) -> bool {
        self.planned.is_some() && self.is_idle()
    }

    /// An outage begins (`true`) or ends.
    pub(crate) fn outage(&mut self, kind: OutageKind, begins: bool) {
        let count = match kind {
            OutageKind::Down => &mut self.down,
            OutageKind::Drain => &mut self.drain,
            OutageKind::Maintenance => &mut self.maintenance,
        };
        *count = if begins { *count + 1 } else { count.saturating_sub(1) };
    }

    fn in_outage(&self, kind: OutageKind) -> bool {
        match kind {
            OutageKind::Down => self.down > 0,
            OutageKind::Drain => self.drain > 0,
            OutageKind::Maintenance => false,
        }
    }

    pub(crate) fn snapshot(&self) -> NodeSnapshot {
        NodeSnapshot {
            out: self.out(),
            planned: self.is_kept(),
            reserved: self.reserved.is_some(),
            allocated: self.devices - self.free,
        }
    }

    /// Brings the event log of the node up to date. The log has a drain only once the node is idle.
    pub(crate) fn log(&self, node: &mut Node, now: i64) {
        for kind in [OutageKind::Down, OutageKind::Drain] {
            let open = node.events.iter_mut().rev().find(|e| e.kind == kind && e.to.is_none());
            match (self.in_outage(kind), open) {
                (false, Some(event)) => event.to = Some(now),
                (true, None) if kind == OutageKind::Down || self.is_idle() => {
                    node.events.push(NodeEvent { kind, from: now, to: None, reason: self.reason.clone() });
                }
                _ => {}
            }
        }
    }
}

/// What a job asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub pool: usize,
    pub nodes: u32,
    pub devices_per_node: u32,
}

/// Nodes for `shape` among those that `usable` lets through, `None` when it does not fit. A gang
/// takes the nodes kept for it first; part of a node goes where least is left over.
pub(crate) fn place(
    state: &[NodeState],
    shape: Shape,
    usable: impl Fn(usize, &NodeState) -> bool,
) -> Option<Vec<usize>> {
    let mut fitting: Vec<usize> = (0..state.len())
        .filter(|&i| {
            let node = &state[i];
            node.pool == shape.pool
                && node.out().is_none()
                && node.free >= shape.devices_per_node
                && usable(i, node)
        })
        .collect();
    fitting.sort_by_key(|&i| (state[i].planned.is_none(), state[i].free, i));
    let wanted = shape.nodes as usize;
    (fitting.len() >= wanted).then(|| {
        fitting.truncate(wanted);
        fitting.sort_unstable();
        fitting
    })
}
