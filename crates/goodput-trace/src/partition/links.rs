//! What queued work waits for besides its launch: another stream, or the rest of its graph.

use std::sync::OnceLock;

use crate::trace::RankTrace;

/// Dependencies between streams, and the order of the work of one launch.
#[derive(Debug)]
pub(super) struct Links {
    /// Whether an earlier piece of work has the same launch: all but the first node of a graph.
    follows: Vec<bool>,
    /// Per stream, when work was launched on it and when the host made it wait for another stream; both by time.
    /// Empty when the trace has no such waits.
    streams: Vec<StreamOrder>,
    /// Ends of all work with their streams, by end.
    ends: OnceLock<Vec<(i64, u32)>>,
}

#[derive(Debug, Clone, Default)]
struct StreamOrder {
    launches_ns: Vec<i64>,
    waits_ns: Vec<i64>,
}

/// Nanoseconds from the start of the launch call to the start of each piece of device work, never negative; `None` where
/// no launch is recorded, and for all but the first node of a graph, which one call launched together.
pub fn launch_latencies(trace: &RankTrace) -> impl Iterator<Item = Option<i64>> + '_ {
    trace.work.iter().zip(follows_in_graph(trace)).map(|(work, follows)| {
        let launch = trace.launch_of(work).filter(|_| !follows)?;
        Some((work.start_ns - launch.start_ns).max(0))
    })
}

/// Whether an earlier piece of work has the same launch.
fn follows_in_graph(trace: &RankTrace) -> impl Iterator<Item = bool> + '_ {
    let mut seen = vec![false; trace.launches.len()];
    trace.work.iter().map(move |work| match work.launch {
        Some(launch) => std::mem::replace(&mut seen[launch as usize], true),
        None => false,
    })
}

impl Links {
    pub fn of(trace: &RankTrace) -> Self {
        let follows = follows_in_graph(trace).collect();
        Self { follows, streams: stream_orders(trace), ends: OnceLock::new() }
    }

    /// Whether the work is a node of a graph behind the first.
    pub fn follows_in_graph(&self, index: usize) -> bool {
        self.follows[index]
    }

    /// Whether the host made the stream wait for another one between the launch of the work before and the launch of
    /// this work (`cudaStreamWaitEvent`).
    pub fn waits_for_event(&self, trace: &RankTrace, index: usize) -> bool {
        let work = &trace.work[index];
        let Some(order) = self.streams.get(work.stream as usize) else { return false };
        let Some(launch) = trace.launch_of(work) else { return false };
        let until = order.waits_ns.partition_point(|&wait| wait <= launch.start_ns);
        let Some(&wait) = until.checked_sub(1).and_then(|last| order.waits_ns.get(last)) else {
            return false;
        };
        let behind = order.launches_ns.partition_point(|&at| at <= wait);
        order.launches_ns.get(behind).is_none_or(|&next| next >= launch.start_ns)
    }

    /// Whether work of another stream ends at the very start of this work.
    pub fn another_ends_at_start(&self, trace: &RankTrace, index: usize) -> bool {
        let work = &trace.work[index];
        let ends = self.ends.get_or_init(|| {
            let running = trace.work.iter().filter(|work| work.duration_ns() > 0);
            let mut ends: Vec<_> = running.map(|work| (work.end_ns, work.stream)).collect();
            ends.sort_unstable();
            ends
        });
        let first = ends.partition_point(|&(end_ns, _)| end_ns < work.start_ns);
        let there = ends[first..].iter().take_while(|&&(end_ns, _)| end_ns == work.start_ns);
        there.into_iter().any(|&(_, stream)| stream != work.stream)
    }
}

fn stream_orders(trace: &RankTrace) -> Vec<StreamOrder> {
    let waits = || trace.waits.iter().filter_map(|wait| Some((wait.stream?, wait)));
    if waits().next().is_none() {
        return Vec::new();
    }
    let mut orders = vec![StreamOrder::default(); trace.streams.len()];
    for (stream, wait) in waits() {
        if let Some(order) = orders.get_mut(stream as usize) {
            order.waits_ns.push(wait.start_ns);
        }
    }
    for work in &trace.work {
        if let (Some(launch), Some(order)) = (trace.launch_of(work), orders.get_mut(work.stream as usize)) {
            order.launches_ns.push(launch.start_ns);
        }
    }
    for order in &mut orders {
        order.launches_ns.sort_unstable();
    }
    orders
}
