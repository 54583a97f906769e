//! The partition of one window, in one pass over its device work.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::causes::Causes;
use super::layers::{Span, first_wins, over};
use super::links::Links;
use super::{Charge, Partition, Slice, Splits, WaitKind};
use crate::class::Coarse;
use crate::trace::{CollectiveKind, DeviceWork, RankTrace, WorkKind};

/// What partitions of any window of one trace share.
///
/// Building it and partitioning a window are linear in the device work, but for the sorting of collectives that are
/// split and of host ranges.
#[derive(Debug)]
pub struct Partitioner<'a> {
    trace: &'a RankTrace,
    splits: &'a Splits,
    /// The latest end among the work up to each index: what runs into a window is found without looking at all.
    reach_ns: Vec<i64>,
    /// What each piece of work is charged to unless it is split.
    charges: Vec<Charge>,
    causes: Causes,
    links: Links,
}

/// Layers of device work, the upper first. Of communication what moves data goes before what waits, since then the
/// rank makes progress; what is not split may move data.
#[derive(Debug, Default)]
struct Layers {
    compute: Vec<Span<(Charge, u32)>>,
    /// With the instant from which each moves data, which may lie before the window.
    transfer: Vec<(i64, Span<(Charge, u32)>)>,
    not_split: Vec<Span<(Charge, u32)>>,
    wait: Vec<Span<(Charge, u32)>>,
    memory: Vec<Span<(Charge, u32)>>,
}

impl<'a> Partitioner<'a> {
    /// Prepares the partitions of a trace.
    pub fn new(trace: &'a RankTrace, splits: &'a Splits) -> Self {
        let mut latest_ns = i64::MIN;
        let reach_ns = trace
            .work
            .iter()
            .map(|work| {
                latest_ns = latest_ns.max(work.end_ns);
                latest_ns
            })
            .collect();
        Self {
            trace,
            splits,
            reach_ns,
            charges: charges(trace),
            causes: Causes::of(trace),
            links: Links::of(trace),
        }
    }

    /// Charges every nanosecond of `window` (half-open) once, over the work that `filter` admits, by index.
    ///
    /// Work counts for the part of it inside the window; work without a duration fills no time and ends no gap.
    pub fn partition(&self, window: (i64, i64), filter: impl Fn(usize, &DeviceWork) -> bool) -> Partition {
        let (from_ns, to_ns) = (window.0, window.1.max(window.0));
        let work = &self.trace.work;
        let first = self.reach_ns.partition_point(|&reach_ns| reach_ns <= from_ns);
        let last = work.partition_point(|work| work.start_ns < to_ns).max(first);
        let counts = |index: usize| work[index].duration_ns() > 0 && filter(index, &work[index]);

        let mut layers = Layers::default();
        let mut comm_total_ns = 0;
        let mut comm_reach_ns = from_ns;
        let mut left_out = false;
        for (index, work) in work.iter().enumerate().take(last).skip(first) {
            let (start_ns, end_ns) = (work.start_ns.max(from_ns), work.end_ns.min(to_ns));
            if start_ns >= end_ns {
                continue;
            }
            if !filter(index, work) {
                left_out = true;
                continue;
            }
            if work.coarse() == Coarse::Communication {
                comm_total_ns += (end_ns - start_ns.max(comm_reach_ns)).max(0);
                comm_reach_ns = comm_reach_ns.max(end_ns);
            }
            self.layer(&mut layers, index, start_ns, end_ns);
        }

        let busy = layers.flatten();
        let mut slices = Vec::with_capacity(busy.len() * 2 + 1);
        let mut at_ns = from_ns;
        let mut next = first;
        for Span { start_ns, end_ns, of: (charge, index) } in busy {
            if at_ns < start_ns {
                // The gap ends with the first work, by start and then by correlation, that starts there.
                while next < last && (work[next].start_ns < start_ns || !counts(next)) {
                    next += 1;
                }
                self.idle(at_ns, start_ns, next, left_out, &mut slices);
            }
            slices.push(Slice { start_ns, end_ns, charge, work: Some(index) });
            at_ns = end_ns;
        }
        if at_ns < to_ns {
            slices.push(Slice { start_ns: at_ns, end_ns: to_ns, charge: Charge::Unattributed, work: None });
        }
        let partition =
            Partition { window: (from_ns, to_ns), amounts: amounts(&slices), slices, comm_total_ns };
        debug_assert_eq!(partition.amounts.values().sum::<i64>(), partition.window_ns());
        partition
    }

    /// Puts the part of a piece of work that is inside the window into its layer.
    fn layer(&self, layers: &mut Layers, index: usize, start_ns: i64, end_ns: i64) {
        let id = index as u32;
        let charge = self.charges[index];
        let span = |start_ns, end_ns, charge| Span { start_ns, end_ns, of: (charge, id) };
        match (charge, self.splits.get(&id)) {
            (Charge::CommunicationNotSplit(kind), Some(split)) => {
                let until_ns = split.waits_until_ns.clamp(start_ns, end_ns);
                let wait = match split.wait {
                    WaitKind::Peers => Charge::PeerWait,
                    WaitKind::Upstream => Charge::Bubble,
                };
                layers.wait.push(span(start_ns, until_ns, wait));
                let moves_ns = split.waits_until_ns.max(self.trace.work[index].start_ns);
                layers.transfer.push((moves_ns, span(until_ns, end_ns, Charge::Transfer(kind))));
            }
            (Charge::CommunicationNotSplit(_), None) => layers.not_split.push(span(start_ns, end_ns, charge)),
            (Charge::Compute(_), _) => layers.compute.push(span(start_ns, end_ns, charge)),
            _ => layers.memory.push(span(start_ns, end_ns, charge)),
        }
    }

    /// Charges the gap `[from_ns, to_ns)` before the work at `index`, which starts at its end.
    fn idle(&self, from_ns: i64, to_ns: i64, index: usize, left_out: bool, slices: &mut Vec<Slice>) {
        let work = Some(index as u32);
        let mut push = |start_ns: i64, end_ns: i64, charge| match slices.last_mut() {
            _ if start_ns == end_ns => {}
            Some(last) if (last.charge, last.work) == (charge, work) => last.end_ns = end_ns,
            _ => slices.push(Slice { start_ns, end_ns, charge, work }),
        };
        let Some(launch) = self.trace.launch_of(&self.trace.work[index]) else {
            return push(from_ns, to_ns, Charge::Unattributed);
        };
        // Work may start before its launch call does (kineto issue 1380): then the host was late all along and
        // there is no latency.
        let queued_ns = launch.start_ns.clamp(from_ns, to_ns);
        self.causes.divide(launch.thread, from_ns, queued_ns, |part| {
            push(part.start_ns, part.end_ns, Charge::HostLate(part.of));
        });
        let depends = launch.start_ns <= from_ns
            && !self.links.follows_in_graph(index)
            && (self.links.waits_for_event(self.trace, index)
                // No work of the window ends inside its gap: only work left out of it can.
                || left_out && self.links.another_ends_at_start(self.trace, index));
        push(queued_ns, to_ns, if depends { Charge::StreamDependency } else { Charge::LaunchLatency });
    }
}

impl Layers {
    fn flatten(mut self) -> Vec<Span<(Charge, u32)>> {
        // Transfers begin where waits end: the kernels' order is not theirs. Two that both run into the window keep the order in which they
        // began before it, so that a nanosecond is charged alike in every window.
        self.transfer.sort_by_key(|(moves_ns, _)| *moves_ns);
        let transfer = self.transfer.into_iter().map(|(_, span)| span).collect();
        [self.compute, transfer, self.not_split, self.wait, self.memory].into_iter().fold(
            Vec::new(),
            |upper, mut lower| {
                first_wins(&mut lower);
                over(upper, lower)
            },
        )
    }
}

/// What work is charged to by its class, and by its name where that tells more; each name is looked at once.
fn charges(trace: &RankTrace) -> Vec<Charge> {
    let mut by_name = FxHashMap::default();
    let charge = |work: &DeviceWork| match work.coarse() {
        Coarse::Compute => Charge::Compute(work.class),
        Coarse::Communication => match trace.collective_of(work) {
            Some(args) if args.kind != CollectiveKind::Unknown => Charge::CommunicationNotSplit(args.kind),
            _ => *by_name
                .entry(work.name)
                .or_insert_with(|| Charge::CommunicationNotSplit(trace.collective_kind(work))),
        },
        Coarse::Memory => match work.kind {
            WorkKind::Copy => Charge::Copy,
            WorkKind::Fill => Charge::Fill,
            // ROCm copies and fills by kernels: `__amd_rocclr_fillBufferAligned`.
            WorkKind::Kernel | WorkKind::Graph => *by_name.entry(work.name).or_insert_with(|| {
                let name = trace.name(work.name);
                let fills = name.contains("fill") || name.starts_with("Memset");
                if fills { Charge::Fill } else { Charge::Copy }
            }),
        },
    };
    trace.work.iter().map(charge).collect()
}

fn amounts(slices: &[Slice]) -> BTreeMap<Charge, i64> {
    let mut amounts = FxHashMap::default();
    for slice in slices {
        *amounts.entry(slice.charge).or_insert(0) += slice.end_ns - slice.start_ns;
    }
    amounts.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Class;
    use crate::partition::{HostCause, Split, launch_latencies, partition};
    use crate::trace::sketch::Sketch;
    use crate::trace::{HostKind, Stream};

    fn whole(trace: &RankTrace) -> Partition {
        partition(trace, trace.device_window().unwrap(), &Splits::default(), |_, _| true)
    }

    #[test]
    fn a_kernel_that_starts_before_its_launch_call_has_no_latency() {
        let mut sketch = Sketch::default();
        let trace = sketch.launched(0, 7, 10, 20, Class::Gemm).launched(55, 7, 50, 60, Class::Gemm).trace();
        let found = whole(&trace);
        assert_eq!((found.host_late_ns(), found.launch_latency_ns()), (30, 0));
    }

    #[test]
    fn kernels_below_a_microsecond_keep_their_nanoseconds() {
        let mut sketch = Sketch::default();
        for kernel in 0..10 {
            sketch.launched(kernel * 1_000, 7, kernel * 1_000 + 300, kernel * 1_000 + 900, Class::Gemm);
        }
        assert_eq!(whole(&sketch.trace()).compute_ns(), 6_000);
    }

    #[test]
    fn two_calls_of_one_correlation_launch_one_kernel() {
        let mut sketch = Sketch::default();
        let key = sketch.call(1, 0);
        sketch.call_of(key, 1, 2);
        sketch.add(Stream { device: 0, id: 7 }, (5_000, 15_000), Class::Gemm, "kernel", Some(key));
        let trace = sketch.trace();
        let found = partition(&trace, (0, 15_000), &Splits::default(), |_, _| true);
        assert_eq!((found.compute_ns(), found.launch_latency_ns()), (10_000, 5_000));
    }

    #[test]
    fn gaps_between_the_nodes_of_a_graph_are_queue_time() {
        let mut sketch = Sketch::default();
        sketch.wait(7, 0).graph(10, 7, &[(40, 50), (53, 60), (64, 70)], Class::Attention);
        sketch.launched(65, 7, 60, 62, Class::Gemm).work(8, 80, 90, Class::Gemm);
        let trace = sketch.trace();
        let found = partition(&trace, (0, 70), &Splits::default(), |_, _| true);
        assert_eq!((found.host_late_ns(), found.amount_ns(Charge::LaunchLatency)), (10, 30 + 3 + 2));
        let latencies: Vec<_> = launch_latencies(&trace).collect();
        assert_eq!(latencies, [Some(30), None, Some(0), None, None]);
    }

    #[test]
    fn late_hosts_are_charged_by_what_the_launching_thread_did() {
        let mut sketch = Sketch::default();
        sketch
            .range(HostKind::DataLoader, "enumerate(DataLoader)#x.__next__", 10, 30)
            .range(HostKind::HostSync, "cudaMemcpy", 15, 20)
            .range(HostKind::HostSync, "cudaStreamSynchronize", 35, 40)
            .range_of(2, HostKind::Optimizer, "Optimizer.step#SGD.step", 0, 100)
            .launched(60, 7, 70, 80, Class::Gemm);
        let found = partition(&sketch.trace(), (0, 90), &Splits::default(), |_, _| true);
        let late = |cause| found.amount_ns(Charge::HostLate(cause));
        assert_eq!(late(HostCause::DataLoader), 20);
        assert_eq!(late(HostCause::HostSync), 5);
        assert_eq!(late(HostCause::Optimizer), 0);
        assert_eq!(late(HostCause::Dispatch), 60 - 25);
        assert_eq!((found.amount_ns(Charge::LaunchLatency), found.unattributed_ns()), (10, 10));
    }

    #[test]
    fn what_waits_for_another_stream_depends_on_it() {
        let mut sketch = Sketch::default();
        sketch.launched(0, 7, 0, 10, Class::Gemm).wait(8, 3).launched(4, 8, 15, 20, Class::Gemm).launched(
            5,
            8,
            22,
            30,
            Class::Gemm,
        );
        let found = whole(&sketch.trace());
        assert_eq!(found.amount_ns(Charge::StreamDependency), 5);
        assert_eq!(found.amount_ns(Charge::LaunchLatency), 2);
        assert_eq!(found.launch_latency_ns(), 7);
    }

    #[test]
    fn one_device_of_two_waits_for_the_other() {
        let mut sketch = Sketch::default();
        let keys = [sketch.call(1, 0), sketch.call(1, 1), sketch.call(1, 2)];
        let on = |device| Stream { device, id: 7 };
        sketch.add(on(0), (10, 20), Class::Gemm, "kernel", Some(keys[0]));
        sketch.add(on(1), (10, 40), Class::Gemm, "kernel", Some(keys[1]));
        sketch.add(on(0), (40, 50), Class::Gemm, "kernel", Some(keys[2]));
        let trace = sketch.trace();
        let device = |w: &DeviceWork| trace.streams[w.stream as usize].device;
        let found = partition(&trace, (10, 50), &Splits::default(), |_, w| device(w) == 0);
        assert_eq!((found.compute_ns(), found.amount_ns(Charge::StreamDependency)), (20, 20));
        assert_eq!(partition(&trace, (10, 50), &Splits::default(), |_, _| true).compute_ns(), 40);
    }

    #[test]
    fn exposed_communication_divides_where_its_wait_ends() {
        let mut sketch = Sketch::default();
        sketch.work(9, 0, 100, Class::Communication).work(7, 20, 50, Class::Gemm);
        let splits = Splits::from_iter([(0, Split { waits_until_ns: 60, wait: WaitKind::Peers })]);
        let found = partition(&sketch.trace(), (0, 100), &splits, |_, _| true);
        assert_eq!(found.amount_ns(Charge::PeerWait), 20 + 10);
        assert_eq!(found.exposed_comm_ns(), 70);
        assert_eq!((found.comm_total_ns, found.hidden_comm_ns()), (100, 30));
    }

    /// Of transfers that run at once the one that moved data first is charged, also where both did before the window.
    #[test]
    fn a_nanosecond_is_charged_alike_in_every_window() {
        let mut sketch = Sketch::default();
        sketch.work(8, 0, 100, Class::Communication).work(9, 10, 90, Class::Communication);
        let splits = Splits::from_iter(
            [(0, 40), (1, 20)]
                .map(|(work, waits_until_ns)| (work, Split { waits_until_ns, wait: WaitKind::Peers })),
        );
        let trace = sketch.trace();
        for from_ns in [0, 15, 30, 60, 95] {
            let found = partition(&trace, (from_ns, 100), &splits, |_, _| true);
            let of = |work| {
                found
                    .slices
                    .iter()
                    .filter(move |s| s.work == Some(work))
                    .map(|s| s.end_ns - s.start_ns)
                    .sum::<i64>()
            };
            assert_eq!(of(1), 90 - from_ns.clamp(20, 90), "from {from_ns}");
        }
    }
}
