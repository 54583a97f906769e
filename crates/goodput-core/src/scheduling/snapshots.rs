//! Snapshots of nodes and of the queue: each holds until the next, and for no longer than a limit.

use crate::records::FleetRecords;
use crate::time::{Timestamp, Window};

/// A snapshot is not trusted for longer than this many times the median spacing.
const LONGEST_IN_SPACINGS: i64 = 10;

/// One snapshot (a range of samples), or the end of what the last one says.
#[derive(Debug, Clone, Copy)]
pub(super) enum Snapshot {
    Nodes { first: usize, end: usize },
    NodesExpire,
    Queue { first: usize, end: usize },
    QueueExpire,
}

/// The snapshots of a fleet.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    /// Whether snapshots are the only evidence: no job records were given.
    pub sole_source: bool,
    /// Orders that sort the samples by time; `None` where they are sorted already.
    nodes: Option<Vec<u32>>,
    queue: Option<Vec<u32>>,
}

impl Ticks {
    /// Finds the snapshots that say something about `window`.
    pub fn new(records: &FleetRecords, window: Window) -> (Self, Vec<(Timestamp, Snapshot)>) {
        let mut found = Vec::new();
        let node_times = |i: usize| records.node_samples[i].at;
        let nodes = order(records.node_samples.len(), node_times);
        let node_at = |place| node_times(position(&nodes, place));
        let make = |first, end| Snapshot::Nodes { first, end };
        ticks(records.node_samples.len(), node_at, window, make, Snapshot::NodesExpire, &mut found);

        let queue_times = |i: usize| records.queue_samples[i].at;
        let queue = order(records.queue_samples.len(), queue_times);
        let queue_at = |place| queue_times(position(&queue, place));
        let make = |first, end| Snapshot::Queue { first, end };
        ticks(records.queue_samples.len(), queue_at, window, make, Snapshot::QueueExpire, &mut found);

        let sole_source = records.attempts.is_empty() && !records.node_samples.is_empty();
        (Self { sole_source, nodes, queue }, found)
    }

    /// The position of the `place`-th node sample by time.
    pub fn node_order(&self, place: usize) -> usize {
        position(&self.nodes, place)
    }

    /// The position of the `place`-th queue sample by time.
    pub fn queue_order(&self, place: usize) -> usize {
        position(&self.queue, place)
    }
}

fn position(order: &Option<Vec<u32>>, place: usize) -> usize {
    order.as_ref().map_or(place, |order| order[place] as usize)
}

fn order(count: usize, at: impl Fn(usize) -> Timestamp) -> Option<Vec<u32>> {
    if (1..count).all(|i| at(i - 1) <= at(i)) {
        return None;
    }
    let mut order: Vec<u32> = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
    order.sort_by_key(|&i| at(i as usize));
    Some(order)
}

fn ticks(
    count: usize,
    at: impl Fn(usize) -> Timestamp,
    window: Window,
    make: impl Fn(usize, usize) -> Snapshot,
    expire: Snapshot,
    found: &mut Vec<(Timestamp, Snapshot)>,
) {
    let mut starts: Vec<usize> = (0..count).filter(|&i| i == 0 || at(i - 1) != at(i)).collect();
    let mut spacings: Vec<i64> = starts.windows(2).map(|pair| at(pair[1]) - at(pair[0])).collect();
    spacings.sort_unstable();
    // A single snapshot tells one instant.
    let median = spacings.get(spacings.len() / 2).copied().unwrap_or(0);
    let longest = median.saturating_mul(LONGEST_IN_SPACINGS);
    starts.push(count);
    for pair in starts.windows(2) {
        let begins = at(pair[0]);
        let next = if pair[1] < count { at(pair[1]) } else { begins + median };
        let ends = next.min(begins + longest);
        if ends <= window.from() || begins >= window.to() || ends <= begins {
            continue;
        }
        found.push((begins, make(pair[0], pair[1])));
        if pair[1] == count || next > ends {
            found.push((ends, expire));
        }
    }
}
