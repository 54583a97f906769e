//! The partition against a slow and obvious one that paints every nanosecond.

use proptest::prelude::*;

use super::*;
use crate::class::{Class, Coarse};
use crate::trace::sketch::{MAIN, Sketch};
use crate::trace::{HostKind, Stream};

/// What the nanosecond `at` is charged to, and the work that it names, straight from the definitions.
fn paint(
    trace: &RankTrace,
    (from, to): (i64, i64),
    splits: &Splits,
    admitted: &dyn Fn(usize) -> bool,
    at: i64,
) -> (Charge, Option<u32>) {
    let runs = |i: usize, at: i64| trace.work[i].start_ns <= at && at < trace.work[i].end_ns;
    let all = || (0..trace.work.len()).filter(|&i| admitted(i));
    let mut best = None;
    for i in all().filter(|&i| runs(i, at)) {
        let work = &trace.work[i];
        let kind = trace.collective_kind(work);
        let (rank, since, charge) = match (work.coarse(), splits.get(&(i as u32))) {
            (Coarse::Compute, _) => (0, work.start_ns, Charge::Compute(work.class)),
            (Coarse::Communication, Some(split)) if at >= split.waits_until_ns => {
                (1, split.waits_until_ns.max(work.start_ns).max(from), Charge::Transfer(kind))
            }
            (Coarse::Communication, None) => (2, work.start_ns, Charge::CommunicationNotSplit(kind)),
            (Coarse::Communication, Some(split)) => match split.wait {
                WaitKind::Peers => (3, work.start_ns, Charge::PeerWait),
                WaitKind::Upstream => (3, work.start_ns, Charge::Bubble),
            },
            (Coarse::Memory, _) => (4, work.start_ns, Charge::Copy),
        };
        let candidate = (rank, since, i, charge);
        best = Some(best.map_or(candidate, |best| candidate.min(best)));
    }
    if let Some((_, _, i, charge)) = best {
        return (charge, Some(i as u32));
    }
    let busy = |at: i64| all().any(|i| runs(i, at));
    let a = (from..at).rev().find(|&t| busy(t)).map_or(from, |t| t + 1);
    let Some(b) = (at..to).find(|&t| busy(t)) else { return (Charge::Unattributed, None) };
    let starts = |i: &usize| trace.work[*i].start_ns == b && trace.work[*i].end_ns > b;
    let i = all().filter(starts).min_by_key(|&i| trace.work[i].correlation).unwrap();
    let work = &trace.work[i];
    let id = Some(i as u32);
    let Some(launch) = trace.launch_of(work) else { return (Charge::Unattributed, id) };
    if at < launch.start_ns {
        let during = |kind| {
            let covers = |r: &&crate::trace::HostRange| {
                r.thread == launch.thread && r.kind == kind && r.start_ns <= at && at < r.end_ns
            };
            trace.ranges.iter().find(covers).is_some()
        };
        let causes = [
            (HostKind::DataLoader, HostCause::DataLoader),
            (HostKind::HostSync, HostCause::HostSync),
            (HostKind::Optimizer, HostCause::Optimizer),
            (HostKind::Compile, HostCause::Compile),
            (HostKind::GarbageCollection, HostCause::GarbageCollection),
            (HostKind::Allocator, HostCause::Allocator),
            (HostKind::ProfilerOverhead, HostCause::ProfilerOverhead),
        ];
        let cause = causes.iter().find(|(kind, _)| during(*kind)).map_or(HostCause::Dispatch, |c| c.1);
        return (Charge::HostLate(cause), id);
    }
    let first_of_launch = trace.work[..i].iter().all(|other| other.launch != work.launch);
    let waited = trace.waits.iter().any(|wait| {
        wait.stream == Some(work.stream)
            && wait.start_ns <= launch.start_ns
            && !trace.work.iter().any(|other| {
                let at = trace.launch_of(other).map(|launch| launch.start_ns);
                other.stream == work.stream && at.is_some_and(|at| wait.start_ns < at && at < launch.start_ns)
            })
    });
    let ends = |other: &DeviceWork| {
        other.end_ns == work.start_ns && other.start_ns < other.end_ns && other.stream != work.stream
    };
    let depends = launch.start_ns <= a && first_of_launch && (waited || trace.work.iter().any(ends));
    (if depends { Charge::StreamDependency } else { Charge::LaunchLatency }, id)
}

fn check(trace: &RankTrace, window: (i64, i64), splits: &Splits, admitted: &dyn Fn(usize) -> bool) {
    let found = partition(trace, window, splits, |i, _| admitted(i));
    let mut at = window.0;
    for slice in &found.slices {
        assert_eq!(slice.start_ns, at, "slices have no hole");
        assert!(slice.start_ns < slice.end_ns);
        for t in slice.start_ns..slice.end_ns {
            let painted = paint(trace, window, splits, admitted, t);
            assert_eq!((slice.charge, slice.work), painted, "at {t} of {window:?} in {trace:#?}");
        }
        at = slice.end_ns;
    }
    assert_eq!(at, window.1, "slices cover the window");
    for pair in found.slices.windows(2) {
        assert!((pair[0].charge, pair[0].work) != (pair[1].charge, pair[1].work), "slices are maximal");
    }
    let classes = found.compute_ns() + found.exposed_comm_ns() + found.exposed_mem_ns() + found.idle_ns();
    assert_eq!(classes, found.window_ns());
    let idle = found.host_late_ns() + found.launch_latency_ns() + found.unattributed_ns();
    assert_eq!(idle, found.idle_ns());
    let communicates = |t: &i64| {
        let runs = |(i, w): (usize, &DeviceWork)| {
            admitted(i) && w.coarse() == Coarse::Communication && w.start_ns <= *t && *t < w.end_ns
        };
        trace.work.iter().enumerate().any(runs)
    };
    assert_eq!(found.comm_total_ns, (window.0..window.1).filter(communicates).map(|_| 1).sum::<i64>());
}

const END: i64 = 60;

#[derive(Debug, Clone)]
struct Piece {
    device: i64,
    stream: i64,
    at: (i64, i64),
    class: Class,
    launch: Option<(i64, i64)>,
    same_launch: bool,
    split: Option<(i64, WaitKind)>,
    admitted: bool,
}

fn piece() -> impl Strategy<Value = Piece> {
    let classes =
        vec![Class::Gemm, Class::Elementwise, Class::Communication, Class::Communication, Class::Memory];
    let split = (0..END, prop_oneof![Just(WaitKind::Peers), Just(WaitKind::Upstream)]);
    (
        (0..2i64, 0..3i64),
        (0..END, 0..12i64).prop_map(|(start, length)| (start, start + length)),
        prop::sample::select(classes),
        prop::option::weighted(0.8, (MAIN..MAIN + 2, -5..END)),
        prop::bool::weighted(0.2),
        prop::option::of(split),
        prop::bool::weighted(0.8),
    )
        .prop_map(|((device, stream), at, class, launch, same_launch, split, admitted)| Piece {
            device,
            stream,
            at,
            class,
            launch,
            same_launch,
            split,
            admitted,
        })
}

fn range() -> impl Strategy<Value = (i64, HostKind, i64, i64)> {
    let kinds = vec![
        HostKind::DataLoader,
        HostKind::HostSync,
        HostKind::Optimizer,
        HostKind::Compile,
        HostKind::GarbageCollection,
        HostKind::Allocator,
        HostKind::ProfilerOverhead,
        HostKind::Annotation,
    ];
    (MAIN..MAIN + 2, prop::sample::select(kinds), -5..END, 0..25i64)
        .prop_map(|(thread, kind, start, length)| (thread, kind, start, start + length))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn every_nanosecond_is_charged_as_painted(
        pieces in prop::collection::vec(piece(), 0..14),
        ranges in prop::collection::vec(range(), 0..8),
        waits in prop::collection::vec((0..3i64, -5..END), 0..3),
        window in (-5..END, 0..80i64),
        everything in any::<bool>(),
    ) {
        let mut sketch = Sketch::default();
        let mut key = 0;
        for (thread, kind, start, end) in ranges {
            sketch.range_of(thread, kind, "range", start, end);
        }
        for (stream, at) in waits {
            sketch.wait(stream, at);
        }
        for piece in &pieces {
            if let Some((thread, at)) = piece.launch && !(piece.same_launch && key > 0) {
                key = sketch.call(thread, at);
            }
            let stream = Stream { device: piece.device, id: piece.stream };
            sketch.add(stream, piece.at, piece.class, "work", piece.launch.map(|_| key));
        }
        let trace = sketch.trace();
        // Work is sorted: a piece is found again by what makes it up.
        let origin = |w: &DeviceWork| {
            let stream = trace.streams[w.stream as usize];
            pieces.iter().find(|p| {
                p.at == (w.start_ns, w.end_ns) && (p.device, p.stream) == (stream.device, stream.id)
            })
        };
        let mut splits = Splits::default();
        for (i, work) in trace.work.iter().enumerate() {
            if let Some((until, wait)) = origin(work).and_then(|p| p.split)
                && work.coarse() == Coarse::Communication
            {
                let waits_until_ns = until.clamp(work.start_ns, work.end_ns);
                splits.insert(i as u32, Split { waits_until_ns, wait });
            }
        }
        let admitted = |i: usize| everything || origin(&trace.work[i]).is_some_and(|p| p.admitted);
        check(&trace, (window.0, window.0 + window.1), &splits, &admitted);
    }
}
