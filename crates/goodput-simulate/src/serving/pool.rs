//! The pool: whole nodes for replicas, and nodes that small jobs share. A sample at every change.

use super::lives::Fleet;
use super::{DEVICES, S, Scenario, stamp};
use crate::random::{Purpose, Stream};

/// Free devices of a node that small jobs share until a burst needs it.
const LENT_FREE: u64 = 4;

/// What changes at an instant.
enum Change {
    /// A replica begins or ends to hold a node.
    Holds(i64),
    /// A replica begins or ends to wait.
    Waits(i64),
    /// Small jobs begin or end to share a node that a burst will need.
    Lends(i64),
    /// Small jobs take this many devices of a mixed node.
    Small { node: usize, devices: u64 },
    /// The log ends.
    End,
}

pub(super) fn add(scenario: &Scenario, fleet: &mut Fleet) {
    let end = scenario.end_ns();
    let mut changes: Vec<(i64, Change)> = vec![(end, Change::End)];
    for placement in &fleet.placements {
        if let Some(from) = placement.lent_from {
            changes.push((from, Change::Lends(1)));
            changes.push((placement.placed, Change::Lends(-1)));
        }
        changes.push((placement.requested, Change::Waits(1)));
        changes.push((placement.placed, Change::Waits(-1)));
        changes.push((placement.placed, Change::Holds(1)));
        changes.push((placement.released, Change::Holds(-1)));
    }
    for node in 0..scenario.mixed_nodes as usize {
        let mut draws = Stream::new(scenario.seed, Purpose::SmallJobs, node as u64, 0);
        let mut at = 0;
        while at < end {
            let devices = if draws.happens(0.2) { 0 } else { draws.between(1.0, DEVICES as f64) as u64 };
            changes.push((at, Change::Small { node, devices }));
            at += (draws.between(600.0, 20_000.0) * S as f64) as i64;
        }
    }
    changes.retain(|(at, _)| *at <= end);
    changes.sort_by_key(|(at, _)| *at);
    let nodes = scenario.replicas + scenario.warm_pool + scenario.burst_replicas;
    let small = vec![0; scenario.mixed_nodes as usize];
    let mut state = State { nodes: nodes.into(), held: 0, lent: 0, waiting: 0, small };
    let mut since = 0;
    let mut rest = changes.iter().peekable();
    while let Some((at, change)) = rest.next() {
        state.charge(fleet, at - since);
        since = *at;
        state.apply(change);
        if rest.peek().is_none_or(|(next, _)| next > at) {
            let line = state.line(*at);
            fleet.lines.push((*at, line));
        }
    }
}

struct State {
    nodes: i64,
    held: i64,
    lent: i64,
    waiting: i64,
    small: Vec<u64>,
}

impl State {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Holds(by) => self.held += by,
            Change::Lends(by) => self.lent += by,
            Change::Waits(by) => self.waiting += by,
            Change::Small { node, devices } => self.small[*node] = *devices,
            Change::End => {}
        }
    }

    fn whole(&self) -> u64 {
        (self.nodes - self.held - self.lent).unsigned_abs()
            + self.small.iter().filter(|taken| **taken == 0).count() as u64
    }

    fn free(&self) -> u64 {
        let mixed: u64 = self.small.iter().map(|taken| DEVICES - taken).sum();
        let empty = (self.nodes - self.held - self.lent).unsigned_abs();
        empty * DEVICES + self.lent.unsigned_abs() * LENT_FREE + mixed
    }

    fn charge(&self, fleet: &mut Fleet, length: i64) {
        let amount = |devices: u64| i128::from(devices) * i128::from(length);
        let (free, whole) = (self.free(), self.whole());
        let waiting = self.waiting.unsigned_abs();
        let scattered = free - whole * DEVICES;
        let fits = whole.min(waiting) * DEVICES;
        let short = (waiting * DEVICES - fits).min(scattered);
        let pool = &mut fleet.truth.pool;
        pool.placement_wait += amount(fits);
        pool.incomplete += amount(short);
        pool.no_demand += amount(free - fits - short);
        pool.scattered += amount(scattered);
        pool.waiting += amount(waiting);
    }

    fn line(&self, at: i64) -> String {
        format!(
            "{{\"pool\":\"serving\",\"at\":{},\"free_devices\":{},\"whole_free_nodes\":{},\"devices_per_node\":{DEVICES},\"waiting_replicas\":{}}}",
            stamp(at),
            self.free(),
            self.whole(),
            self.waiting
        )
    }
}
