//! Cases with a known answer, written down collective by collective.

use super::*;
use crate::class::Class;
use crate::partition::{Charge, Partition, WaitKind, partition};
use crate::trace::sketch::Sketch;
use crate::trace::{
    CollectiveArgs, CollectiveKind, Epoch, HostKind, Identity, ProcessGroup, RankEvidence, Stream,
};

const MS: i64 = 1_000_000;
const US: i64 = 1_000;
const ALL_REDUCE: &str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";

/// Traces of a job, one sketch a rank.
struct Job {
    sketches: Vec<Sketch>,
    epoch: Epoch,
    traced: Vec<bool>,
    groups: Vec<ProcessGroup>,
}

impl Job {
    fn of(ranks: usize) -> Self {
        Self {
            sketches: (0..ranks).map(|_| Sketch::default()).collect(),
            epoch: Epoch::Unix,
            traced: vec![true; ranks],
            groups: Vec::new(),
        }
    }

    /// An all-reduce without arguments: `(start, end)` of each rank.
    fn all_reduce(&mut self, at_ns: &[(i64, i64)]) -> &mut Self {
        for (sketch, &at_ns) in self.sketches.iter_mut().zip(at_ns) {
            sketch.add(Stream { device: 0, id: 20 }, at_ns, Class::Communication, ALL_REDUCE, None);
        }
        self
    }

    fn traces(&mut self) -> Vec<RankTrace> {
        let world_size = u32::try_from(self.sketches.len()).ok();
        let traces = self.sketches.iter_mut().zip(0..).map(|(sketch, rank)| {
            let mut trace = sketch.trace();
            trace.epoch = self.epoch;
            trace.identity = Identity {
                rank: Some(rank),
                evidence: RankEvidence::Metadata,
                world_size,
                groups: self.groups.clone(),
                ..Identity::UNKNOWN
            };
            trace
        });
        traces.zip(&self.traced).filter(|(_, traced)| **traced).map(|(trace, _)| trace).collect()
    }

    fn analysis(&mut self) -> PeerAnalysis {
        analyse(&self.traces(), PeerOptions::default())
    }
}

/// Shifts everything that a rank shows.
fn skewed(trace: &RankTrace, by_ns: i64) -> RankTrace {
    let mut trace = trace.clone();
    for work in &mut trace.work {
        work.start_ns += by_ns;
        work.end_ns += by_ns;
    }
    trace
}

fn args(kind: CollectiveKind) -> CollectiveArgs {
    CollectiveArgs {
        kind,
        group: None,
        description: None,
        ranks: None,
        group_size: None,
        sequence: None,
        in_elements: None,
        out_elements: None,
        dtype: None,
        source_rank: None,
        destination_rank: None,
    }
}

/// A kernel with arguments.
fn exchange(sketch: &mut Sketch, stream: i64, start_ns: i64, end_ns: i64, args: CollectiveArgs) {
    use crate::trace::{DeviceWork, WorkKind};
    let collective = sketch.builder.collective(args);
    let name = sketch.builder.intern("ncclDevKernel_SendRecv");
    let stream = sketch.builder.stream(Stream { device: 0, id: stream });
    let work = DeviceWork {
        start_ns,
        end_ns,
        name,
        stream,
        correlation: u64::from(collective),
        launch: None,
        operator: None,
        collective: Some(collective),
        bytes: None,
        kind: WorkKind::Kernel,
        class: Class::Communication,
    };
    sketch.builder.work(work, None, None);
}

fn reasons(analysis: &PeerAnalysis) -> Vec<(NotSplitReason, u64)> {
    analysis.not_split.iter().map(|row| (row.reason, row.kernels)).collect()
}

/// Worked example E14: all enter at 8 ms and finish at 10 ms when healthy.
#[test]
fn a_straggler_and_exposed_communication_are_told_apart() {
    let late = (12 * MS, 14 * MS);
    let early = (8 * MS, 14 * MS);
    let straggler = Job::of(4).all_reduce(&[early, early, late, early]).analysis();
    for (rank, totals) in straggler.totals.iter().enumerate() {
        let waits_ns = if rank == 2 { 0 } else { 4 * MS };
        assert_eq!((totals.wait_ns, totals.transfer_ns), (waits_ns, 2 * MS));
    }
    assert_eq!(straggler.blame.iter().map(|b| b.skew_ns).collect::<Vec<_>>(), [0, 0, 4 * MS, 0]);
    assert_eq!(straggler.matches[0].transfer_ns(), 2 * MS);

    let exposed = Job::of(4).all_reduce(&[early; 4]).analysis();
    for totals in &exposed.totals {
        assert_eq!((totals.wait_ns, totals.transfer_ns), (0, 6 * MS));
    }
    assert!(exposed.blame.iter().all(|b| b.skew_ns == 0 && b.times_last == 0 && b.collectives == 1));
}

#[test]
fn a_constant_skew_is_removed_whatever_the_stamps_count_from() {
    for epoch in [Epoch::Unix, Epoch::Own] {
        let mut job = Job::of(3);
        job.epoch = epoch;
        for step in 0..20 {
            let at = step * 10 * MS;
            let late = step % 3;
            let start = |rank| if rank == late { at + 300 * US } else { at };
            job.all_reduce(&[0, 1, 2].map(|rank| (start(rank), at + 500 * US)));
        }
        let right = job.traces();
        let expected = analyse(&right, PeerOptions::default());
        assert_eq!(expected.clocks.offsets_ns, [0, 0, 0]);
        assert_eq!(expected.totals.iter().map(|t| t.wait_ns).sum::<i64>(), 20 * 2 * 300 * US);

        let far = if epoch == Epoch::Own { 7_889_238_000_000_000 } else { 3 * MS };
        let wrong = [skewed(&right[0], 0), skewed(&right[1], far), skewed(&right[2], -2 * MS)];
        let found = analyse(&wrong, PeerOptions::default());
        assert_eq!(found.totals, expected.totals);
        assert_eq!(found.blame, expected.blame);
        assert_eq!(found.clocks.spread_max_ns, Some(0));
        let offsets = &found.clocks.offsets_ns;
        assert_eq!((offsets[1] - offsets[0], offsets[2] - offsets[0]), (far, -2 * MS));

        let raw = analyse(&wrong, PeerOptions { clock_correction: ClockCorrection::None });
        assert_eq!(reasons(&raw), [(NotSplitReason::LooseClocks, 60)]);
    }
}

#[test]
fn a_step_that_jitters_is_waiting_and_no_clock() {
    let mut job = Job::of(2);
    for step in 0..10 {
        let at = step * MS;
        let late = if step % 2 == 0 { 40 * US } else { 90 * US };
        job.all_reduce(&[(at, at + 200 * US), (at + late, at + 200 * US)]);
    }
    let found = job.analysis();
    assert_eq!(found.clocks.offsets_ns, [0, 0]);
    assert_eq!(found.totals[0].wait_ns, 5 * 130 * US);
    assert_eq!(found.blame[1].skew_ns, 5 * 130 * US);
}

#[test]
fn one_missing_rank_leaves_nothing_split_and_clocks_compared() {
    let mut job = Job::of(3);
    job.traced[1] = false;
    job.all_reduce(&[(0, 900), (100, 900), (200, 900)]);
    let found = job.analysis();
    assert_eq!(reasons(&found), [(NotSplitReason::MissingTrace, 2)]);
    assert_eq!(found.not_split[0].duration_ns, 1600);
    assert!(found.splits.iter().all(Splits::is_empty));
    assert_eq!(found.totals[0].not_split_ns, 900);
    assert_eq!(found.clocks.collectives, 1);
}

#[test]
fn a_single_trace_is_never_split() {
    let mut job = Job::of(1);
    job.all_reduce(&[(0, 900)]);
    let mut traces = job.traces();
    traces[0].identity.world_size = None;
    let found = analyse(&traces, PeerOptions::default());
    assert_eq!(reasons(&found), [(NotSplitReason::MissingTrace, 1)]);
}

#[test]
fn captures_one_collective_apart() {
    let mut job = Job::of(2);
    for step in 0_i64..30 {
        let at = step * MS + step * step * 977;
        let whole = (at, at + 300 * US);
        let late = (at + 100 * US, at + 300 * US);
        if step == 0 {
            job.all_reduce(&[whole]);
        } else {
            job.all_reduce(&[whole, late]);
        }
    }
    job.epoch = Epoch::Own;
    let found = job.analysis();
    assert_eq!(reasons(&found), [(NotSplitReason::NotRecorded, 1)]);
    assert_eq!(found.totals[0].wait_ns, 29 * 100 * US);
    assert_eq!(found.clocks.offsets_ns, [0, 0]);
}

#[test]
fn clocks_too_loose_are_said_and_not_guessed() {
    let mut job = Job::of(2);
    // Ends that no constant offset explains.
    for (step, wobble) in (0..).zip([0, 200, -200, 400, -400]) {
        let at = step * MS;
        job.all_reduce(&[(at, at + 100 * US), (at + wobble * US, at + (100 + wobble) * US)]);
    }
    let found = job.analysis();
    assert_eq!(reasons(&found), [(NotSplitReason::LooseClocks, 8)]);
    assert_eq!(found.clocks.spread_max_ns, Some(400 * US));
}

#[test]
fn groups_that_share_ranks_share_a_clock() {
    // Tensor groups {0, 1} and {2, 3}, data group {1, 3}; clocks off by 0, 10, 500 and 700 us.
    let offsets = [0, 10 * US, 500 * US, 700 * US];
    let mut job = Job::of(4);
    let mut all_reduce = |ranks: &[u32], sequence: u64, late: usize, at: i64| {
        for (place, &rank) in ranks.iter().enumerate() {
            let start = if place == late { at + 30 * US } else { at };
            let offset = offsets[rank as usize];
            let sketch = &mut job.sketches[rank as usize];
            let mut args = args(CollectiveKind::AllReduce);
            // PyTorch gives the parts of one split the same name on all ranks.
            let name = if ranks == [1, 3] { "data" } else { "tensor" };
            args.group = Some(sketch.builder.intern(name));
            args.ranks = Some(ranks.to_vec());
            args.sequence = Some(sequence);
            exchange(sketch, 20, start + offset, at + 80 * US + offset, args);
        }
    };
    for (sequence, step) in (0..6).zip(0..) {
        let at = step * MS;
        all_reduce(&[0, 1], sequence, 0, at);
        all_reduce(&[2, 3], sequence, 1, at + 100 * US);
    }
    all_reduce(&[1, 3], 0, 0, 8 * MS);
    let found = job.analysis();
    let [a, b, c, d] = found.clocks.offsets_ns[..] else { panic!() };
    assert_eq!([b - a, c - a, d - a], [10 * US, 500 * US, 700 * US]);
    assert_eq!(found.clocks.components, [0; 4]);
    assert_eq!(found.groups.len(), 3);
    assert!(found.not_split.is_empty());
    let skews: Vec<i64> = found.blame.iter().map(|b| b.skew_ns).collect();
    assert_eq!(skews, [180 * US, 30 * US, 0, 180 * US]);
}

#[test]
fn differing_sizes_and_kinds_that_do_not_synchronise_are_counted() {
    let mut job = Job::of(2);
    for (rank, sketch) in job.sketches.iter_mut().enumerate() {
        for (sequence, kind, elements) in [
            (0_u32, CollectiveKind::AllReduce, 100 + rank as u64),
            (1, CollectiveKind::Broadcast, 100),
            (2, CollectiveKind::AllToAll, 100 + rank as u64),
        ] {
            let mut args = args(kind);
            args.group = Some(sketch.builder.intern("0"));
            args.ranks = Some(vec![0, 1]);
            args.sequence = Some(u64::from(sequence));
            args.in_elements = Some(elements);
            let at = i64::from(sequence) * 1000;
            exchange(sketch, 20, at, at + 500, args);
        }
    }
    let found = job.analysis();
    assert_eq!(reasons(&found), [(NotSplitReason::Differing, 2), (NotSplitReason::NotSynchronising, 2)]);
    assert_eq!(found.matches.iter().filter(|m| m.outcome.is_ok()).count(), 1);
}

#[test]
fn a_divided_job_without_group_names_is_not_guessed() {
    let mut job = Job::of(4);
    job.groups = vec![ProcessGroup {
        name: "1".to_owned(),
        description: String::new(),
        ranks: vec![0, 1],
        size: Some(2),
    }];
    job.all_reduce(&[(0, 100); 4]);
    assert_eq!(reasons(&job.analysis()), [(NotSplitReason::UnknownGroup, 4)]);
}

/// A send and a receive between two stages. Times are true; a rank's stamps are off by its offset.
fn passes(offset: i64, epoch: Epoch, both_ways: bool) -> PeerAnalysis {
    let mut job = Job::of(2);
    job.epoch = epoch;
    let mut pass = |from: u32, to: u32, send: (i64, i64), receive: (i64, i64)| {
        for (rank, kind, at) in [(from, CollectiveKind::Send, send), (to, CollectiveKind::Receive, receive)] {
            let off = if rank == 1 { offset } else { 0 };
            let sketch = &mut job.sketches[rank as usize];
            let mut args = args(kind);
            args.group = Some(sketch.builder.intern("pp"));
            args.ranks = Some(vec![0, 1]);
            (args.source_rank, args.destination_rank) = (Some(from), Some(to));
            exchange(sketch, i64::from(from), at.0 + off, at.1 + off, args);
        }
    };
    for step in 0..4 {
        let at = step * 10 * MS;
        pass(0, 1, (at + 2 * MS, at + 3 * MS), (at, at + 3 * MS));
        if both_ways {
            pass(1, 0, (at + 7 * MS, at + 8 * MS), (at + 4 * MS, at + 8 * MS));
        }
    }
    job.analysis()
}

#[test]
fn a_receive_waits_for_its_sender() {
    let found = passes(0, Epoch::Unix, true);
    assert_eq!(found.totals[1].bubble_ns, 4 * 2 * MS);
    assert_eq!(found.totals[0].bubble_ns, 4 * 3 * MS);
    // Each sends 1 ms and receives 1 ms.
    assert!(found.totals.iter().all(|totals| totals.transfer_ns == 4 * 2 * MS && totals.wait_ns == 0));
    assert_eq!((found.blame[0].bubble_ns, found.blame[1].bubble_ns), (4 * 2 * MS, 4 * 3 * MS));
}

#[test]
fn round_trips_bound_the_clocks_of_stages() {
    let right = passes(0, Epoch::Unix, true);
    for (offset, epoch) in [(40 * MS, Epoch::Own), (-3 * MS, Epoch::Unix), (5 * MS, Epoch::Unix)] {
        let found = passes(offset, epoch, true);
        assert_eq!(found.clocks.offsets_ns, [0, offset]);
        assert_eq!(found.totals, right.totals);
    }
    let one_way = passes(40 * MS, Epoch::Own, false);
    assert_eq!(reasons(&one_way), [(NotSplitReason::NoCommonClock, 8)]);
}

#[test]
fn a_send_waits_for_its_receiver_unless_a_buffer_took_its_data() {
    for (send_end, waits) in [(900, 600), (250, 0)] {
        let mut job = Job::of(2);
        for (rank, kind, at) in
            [(0, CollectiveKind::Send, (0, send_end)), (1, CollectiveKind::Receive, (600, 1000))]
        {
            let mut args = args(kind);
            args.ranks = Some(vec![0, 1]);
            exchange(&mut job.sketches[rank], 7, at.0, at.1, args);
        }
        let found = analyse(&job.traces(), PeerOptions { clock_correction: ClockCorrection::None });
        assert_eq!(found.totals[0].wait_ns, waits);
        assert_eq!((found.totals[1].bubble_ns, found.totals[1].transfer_ns), (0, 400));
    }
}

#[test]
fn a_batched_exchange_of_many_stages_has_no_known_peer() {
    let mut job = Job::of(4);
    for sketch in &mut job.sketches {
        let mut args = args(CollectiveKind::SendReceive);
        args.group = Some(sketch.builder.intern("3"));
        args.description = Some(sketch.builder.intern("PIPELINE_MODEL_PARALLEL_GROUP"));
        args.ranks = Some(vec![0, 1, 2, 3]);
        exchange(sketch, 7, 0, 100, args);
    }
    assert_eq!(reasons(&job.analysis()), [(NotSplitReason::UnknownPeer, 4)]);
}

fn whole(trace: &RankTrace, splits: &Splits) -> Partition {
    partition(trace, trace.device_window().unwrap(), splits, |_, _| true)
}

#[test]
fn blame_goes_back_to_whom_the_last_one_waited_for() {
    // Rank 2 computes until 5 ms; rank 1 waits for it in their own group and so comes last to that of 0 and 1.
    let mut job = Job::of(3);
    let mut all_reduce = |rank: usize, ranks: &[u32], start: i64, end: i64| {
        let mut args = args(CollectiveKind::AllReduce);
        args.ranks = Some(ranks.to_vec());
        args.sequence = Some(0);
        exchange(&mut job.sketches[rank], 20, start, end, args);
    };
    all_reduce(0, &[0, 1], MS, 8 * MS);
    all_reduce(1, &[1, 2], 2 * MS, 6 * MS);
    all_reduce(2, &[1, 2], 5 * MS, 6 * MS);
    all_reduce(1, &[0, 1], 7 * MS, 8 * MS);
    job.sketches[1].work(7, MS, 2 * MS, Class::Gemm);
    job.sketches[2].work(7, 0, 5 * MS, Class::Attention);
    let traces = job.traces();
    let found = analyse(&traces, PeerOptions::default());
    assert_eq!(found.blame.iter().map(|b| b.skew_ns).collect::<Vec<_>>(), [0, 6 * MS, 3 * MS]);

    let parts: Vec<Partition> = traces.iter().zip(&found.splits).map(|(t, s)| whole(t, s)).collect();
    let slices: Vec<_> = parts.iter().map(|part| part.slices.as_slice()).collect();
    let causes = blame::causes(&found, &slices);
    // Of rank 1's 6 ms it computed one, waited three for rank 2, sent for one and was idle for one.
    assert_eq!(causes[1].skew_ns, 3 * MS);
    assert_eq!(causes[1].doing[&Charge::Compute(Class::Gemm)], MS);
    assert_eq!(causes[1].doing[&Charge::Transfer(CollectiveKind::AllReduce)], MS);
    assert_eq!(causes[1].doing[&Charge::Unattributed], MS);
    assert_eq!(causes[2].skew_ns, 6 * MS);
    assert_eq!(causes[2].chiefly(), Some((Charge::Compute(Class::Attention), 6 * MS)));
    assert_eq!(causes.iter().map(|c| c.skew_ns).sum::<i64>(), 9 * MS);
}

#[test]
fn bandwidth_is_that_of_the_transfer_alone() {
    let mut job = Job::of(4);
    for (rank, sketch) in job.sketches.iter_mut().enumerate() {
        for (sequence, end) in [(0_u32, 2 * MS), (1, 3 * MS), (2, 5 * MS)] {
            let mut args = args(CollectiveKind::AllReduce);
            args.ranks = Some(vec![0, 1, 2, 3]);
            args.sequence = Some(u64::from(sequence));
            args.in_elements = Some(50_000_000);
            args.dtype = Some(sketch.builder.intern("BFloat16"));
            let at = i64::from(sequence) * 10 * MS;
            let start = if rank == 3 { MS } else { 0 };
            exchange(sketch, 20, at + start, at + end, args);
        }
    }
    let found = job.analysis();
    let [row] = &found.bandwidth[..] else { panic!() };
    assert_eq!((row.bytes, row.count, row.median_ns, row.best_ns), (100_000_000, 3, 2 * MS, MS));
    assert!((row.algorithm_bytes_per_second() - 50e9).abs() < 1.0);
    assert!((row.bus_bytes_per_second() - 75e9).abs() < 1.0);
    assert!((row.best_bus_bytes_per_second() - 150e9).abs() < 1.0);
}

#[test]
fn steps_tell_captures_apart_that_repeat_exactly() {
    let mut job = Job::of(2);
    job.epoch = Epoch::Own;
    for (rank, steps) in [(0, 0..8), (1, 2..10)] {
        let sketch: &mut Sketch = &mut job.sketches[rank];
        for step in steps {
            let at = step * MS;
            sketch.range(HostKind::Step(Some(step)), "ProfilerStep", at, at + MS);
            let key = sketch.call(1, at + 10);
            let late = if rank == 1 { 100 } else { 0 };
            let stream = Stream { device: 0, id: 20 };
            sketch.add(stream, (at + 500 + late, at + 900), Class::Communication, ALL_REDUCE, Some(key));
        }
    }
    let found = job.analysis();
    assert_eq!(reasons(&found), [(NotSplitReason::NotRecorded, 4)]);
    assert_eq!(found.clocks.offsets_ns, [0, 0]);
    assert_eq!(found.totals[0].wait_ns, 6 * 100);
    assert!(found.matches.iter().all(|m| m.outcome.is_err() || m.outcome == Ok(WaitKind::Peers)));
}

/// Kernels of one rank: stream, kind, sequence number, start, duration, peer.
type Kernel = (i64, u8, Option<u64>, i64, i64, u32);

fn kernels() -> impl proptest::strategy::Strategy<Value = Vec<Vec<Kernel>>> {
    use proptest::prelude::*;
    let kernel = (7..9_i64, 0..6_u8, proptest::option::of(0..5_u64), 0..2_000_i64, 0..400_i64, 0..4_u32);
    prop::collection::vec(prop::collection::vec(kernel, 0..12), 1..4)
}

fn any_job(ranks: &[Vec<Kernel>], epoch: Epoch) -> Vec<RankTrace> {
    let mut job = Job::of(ranks.len());
    job.epoch = epoch;
    for (sketch, kernels) in job.sketches.iter_mut().zip(ranks) {
        for &(stream, kind, sequence, start, duration, peer) in kernels {
            let kind = match kind {
                0 | 1 => CollectiveKind::AllReduce,
                2 => CollectiveKind::SendReceive,
                3 => CollectiveKind::Send,
                4 => CollectiveKind::Receive,
                _ => CollectiveKind::Broadcast,
            };
            let mut args = args(kind);
            args.sequence = sequence;
            args.ranks = sequence.and(u32::try_from(ranks.len()).ok()).map(|count| (0..count).collect());
            (args.source_rank, args.destination_rank) = (Some(peer), Some(peer));
            exchange(sketch, stream, start, start + duration, args);
        }
        sketch.work(1, 100, 300, Class::Gemm);
    }
    job.traces()
}

proptest::proptest! {
    #[test]
    fn every_kernel_is_in_one_exchange_and_every_nanosecond_in_one_part(ranks in kernels(), own in proptest::bool::ANY) {
        let traces = any_job(&ranks, if own { Epoch::Own } else { Epoch::Unix });
        for clock_correction in [ClockCorrection::None, ClockCorrection::EndOfCollectives] {
            let found = analyse(&traces, PeerOptions { clock_correction });
            let mut members: Vec<Member> = found.matches.iter().flat_map(|m| m.members.clone()).collect();
            let count = members.len();
            members.sort_unstable();
            members.dedup();
            proptest::prop_assert_eq!(members.len(), count);
            proptest::prop_assert_eq!(count, ranks.iter().map(Vec::len).sum::<usize>());
            let split: usize = found.splits.iter().map(|splits| splits.len()).sum();
            let not_split: u64 = found.not_split.iter().map(|row| row.kernels).sum();
            proptest::prop_assert_eq!(split as u64 + not_split, count as u64);

            let parts: Vec<Partition> = traces.iter().zip(&found.splits).map(|(t, s)| whole(t, s)).collect();
            for ((trace, splits), (totals, part)) in
                traces.iter().zip(&found.splits).zip(found.totals.iter().zip(&parts))
            {
                for (&work, split) in splits {
                    let work = &trace.work[work as usize];
                    proptest::prop_assert!((work.start_ns..=work.end_ns).contains(&split.waits_until_ns));
                }
                proptest::prop_assert_eq!(totals.all_ns(), part.comm_total_ns);
            }
            let slices: Vec<_> = parts.iter().map(|part| part.slices.as_slice()).collect();
            let causes = blame::causes(&found, &slices);
            let charged: i64 = found.blame.iter().map(|blame| blame.skew_ns).sum();
            proptest::prop_assert_eq!(causes.iter().map(|causes| causes.skew_ns).sum::<i64>(), charged);
            for causes in causes {
                proptest::prop_assert_eq!(causes.doing.values().sum::<i64>() + causes.outside_ns, causes.skew_ns);
            }
        }
    }
}
