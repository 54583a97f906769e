//! Simulated traces of several ranks: what the reader, the steps and the partition find must be what the simulation's
//! own books say, to the nanosecond.

use std::collections::BTreeMap;

use goodput_simulate::step_trace::{
    self, Capture, Charge as TrueCharge, HostCause as TrueCause, Layout, Network, RankTruth, Scenario,
    SendMode, Stall, Straggler, Truth, WindowTruth,
};
use goodput_trace::class::Class;
use goodput_trace::partition::{Charge, HostCause, Splits, partition};
use goodput_trace::peers::{self, PeerOptions};
use goodput_trace::read::{ReadOptions, TraceSet, read_traces};
use goodput_trace::steps::{Evidence, Steps};
use goodput_trace::trace::CollectiveKind;
use proptest::prelude::*;
use rstest::rstest;

/// The traces of a scenario as they are read, and their truth.
fn read(name: &str) -> (TraceSet, Truth) {
    simulated(&Scenario::named(name).expect("a scenario of this name"))
}

fn simulated(scenario: &Scenario) -> (TraceSet, Truth) {
    let simulated = step_trace::simulate(scenario);
    let dir = tempfile::tempdir().expect("a directory");
    let paths = simulated.write(dir.path()).expect("written");
    let set = read_traces(&paths, &ReadOptions::default()).expect("read");
    (set, simulated.truth)
}

/// Nanoseconds by charge. Communication of one rank alone cannot be split: it is taken together.
fn together(charges: impl Iterator<Item = (Charge, i64)>) -> BTreeMap<Charge, i64> {
    let mut amounts = BTreeMap::new();
    for (charge, ns) in charges {
        let communication = Charge::CommunicationNotSplit(CollectiveKind::Unknown);
        let charge = if charge.is_communication() { communication } else { charge };
        *amounts.entry(charge).or_insert(0) += ns;
    }
    amounts
}

fn truth_together(window: &WindowTruth) -> BTreeMap<Charge, i64> {
    together(window.charges.iter().map(|(&charge, &ns)| (expected(charge), ns)))
}

/// The books' charge in the words of the partition.
fn expected(charge: TrueCharge) -> Charge {
    let kind = |exchange: step_trace::Exchange| match exchange {
        step_trace::Exchange::AllReduce => CollectiveKind::AllReduce,
        step_trace::Exchange::AllToAll => CollectiveKind::AllToAll,
        step_trace::Exchange::Send => CollectiveKind::Send,
        step_trace::Exchange::Receive => CollectiveKind::Receive,
    };
    match charge {
        TrueCharge::Compute(operation) => {
            let class = Class::ALL.iter().find(|class| class.key() == operation.key());
            Charge::Compute(*class.expect("a class of this key"))
        }
        TrueCharge::Transfer(exchange) => Charge::Transfer(kind(exchange)),
        TrueCharge::PeerWait => Charge::PeerWait,
        TrueCharge::Bubble => Charge::Bubble,
        TrueCharge::NotSplit(exchange) => Charge::CommunicationNotSplit(kind(exchange)),
        TrueCharge::Copy => Charge::Copy,
        TrueCharge::Fill => Charge::Fill,
        TrueCharge::HostLate(cause) => Charge::HostLate(match cause {
            TrueCause::DataLoader => HostCause::DataLoader,
            TrueCause::HostSync => HostCause::HostSync,
            TrueCause::Optimizer => HostCause::Optimizer,
            TrueCause::Allocator => HostCause::Allocator,
            TrueCause::Dispatch => HostCause::Dispatch,
        }),
        TrueCharge::LaunchLatency => Charge::LaunchLatency,
        TrueCharge::StreamDependency => Charge::StreamDependency,
        TrueCharge::Unattributed => Charge::Unattributed,
    }
}

fn traced(truth: &Truth) -> Vec<&RankTruth> {
    truth.ranks.iter().filter(|rank| rank.is_traced).collect()
}

#[rstest]
fn one_rank_is_charged_as_the_books_say(
    #[values(
        "data_parallel",
        "straggler",
        "tensor_parallel",
        "pipeline_1f1b",
        "expert",
        "overlap_contention",
        "host_bound",
        "input_bound",
        "clock_skew",
        "cut_captures",
        "hybrid"
    )]
    name: &str,
) {
    let (set, truth) = read(name);
    assert_eq!(set.ranks.len(), traced(&truth).len());
    assert!(set.files.iter().all(|file| !file.is_degraded()), "{:?}", set.files);
    let mut compared = 0;
    for (trace, rank) in set.ranks.iter().zip(traced(&truth)) {
        assert_eq!(trace.identity.rank, Some(rank.rank));
        let steps = Steps::of(trace);
        assert!(matches!(steps.evidence, Evidence::ProfilerStep), "{:?}", steps.evidence);
        for books in rank.steps.iter().filter(|step| step.is_whole) {
            let context = format!("{name}, rank {}, step {}", rank.rank, books.number);
            let step = steps.steps.iter().find(|step| step.number == Some(books.number)).expect("the step");
            let charged = |window| {
                let found = partition(trace, window, &Splits::default(), |_, _| true);
                together(found.amounts.into_iter())
            };
            let host = (books.host.start_ns, books.host.end_ns);
            assert_eq!(step.host, Some(host), "{context}");
            assert_eq!(charged(host), truth_together(&books.host), "{context}, on the host");
            let device = (books.device.start_ns, books.device.end_ns);
            assert_eq!(step.device, Some(device), "{context}");
            assert_eq!(charged(device), truth_together(&books.device), "{context}, on the device");
            compared += 1;
        }
    }
    assert!(compared >= 9, "{compared} steps compared");
}

#[rstest]
fn the_ranks_together_are_split_as_the_books_say(
    #[values(
        "data_parallel",
        "straggler",
        "tensor_parallel",
        "pipeline_1f1b",
        "expert",
        "overlap_contention",
        "host_bound",
        "input_bound",
        "clock_skew",
        "cut_captures",
        "hybrid"
    )]
    name: &str,
) {
    split_as_the_books_say(&Scenario::named(name).expect("a scenario of this name"));
}

#[test]
fn sends_into_a_buffer_wait_for_nobody() {
    let scenario = Scenario::named("pipeline_1f1b").expect("a scenario");
    let network = Network { send: SendMode::Buffered, ..scenario.network };
    split_as_the_books_say(&Scenario { network, ..scenario });
}

fn split_as_the_books_say(scenario: &Scenario) {
    let (set, truth) = simulated(scenario);
    let analysis = peers::analyse(&set.ranks, PeerOptions::default());
    for (index, rank) in traced(&truth).into_iter().enumerate() {
        let context = format!("{}, rank {}", scenario.name, rank.rank);
        // Offsets are known up to one that all ranks share.
        let apart = analysis.clocks.offsets_ns[index] - analysis.clocks.offsets_ns[0];
        assert_eq!(apart, rank.clock_offset_ns - truth.ranks[0].clock_offset_ns, "{context}: clock");
        assert_eq!(analysis.blame[index].skew_ns, rank.blame_ns, "{context}: blame");
        for books in rank.steps.iter().filter(|step| step.is_whole) {
            for window in [&books.host, &books.device] {
                let (from_to, splits) = ((window.start_ns, window.end_ns), &analysis.splits[index]);
                let found = partition(&set.ranks[index], from_to, splits, |_, _| true);
                let truth = window.charges.iter().map(|(&charge, &ns)| (expected(charge), ns));
                assert_eq!(found.amounts, truth.collect(), "{context}, step {}", books.number);
            }
        }
    }
}

/// Jobs of up to 24 ranks, of any shape and with any trouble.
fn any_job() -> impl Strategy<Value = Scenario> {
    let shape = (1..=2_u32, 1..=2_u32, 1..=2_u32, 1..=3_u32, 1..=3_u32, 1..=2_u32);
    let pace = (1..=50_000_i64, 0..=20_000_i64, 0..=400_u32, any::<bool>(), any::<bool>());
    let trouble = (0..4_u32, 0..=600_u32, 0..=5_000_000_i64, 0..=3_u32, any::<[i32; 4]>());
    (any::<u64>(), shape, pace, trouble).prop_map(|(seed, shape, pace, trouble)| {
        let (tensor, expert, data, pipeline, micro_batches, layers_per_stage) = shape;
        let (dispatch_ns, launch_latency_ns, contention_permille, reads_loss, is_buffered) = pace;
        let (rank, slower_permille, longer_ns, cut, offsets) = trouble;
        let mut scenario = Scenario::named("data_parallel").expect("a scenario");
        scenario.seed = seed;
        scenario.layout = Layout { tensor, expert, data, pipeline, devices_per_node: 4 };
        (scenario.micro_batches, scenario.layers_per_stage) = (micro_batches, layers_per_stage);
        scenario.contention_permille = contention_permille;
        (scenario.host.dispatch_ns, scenario.host.launch_latency_ns) = (dispatch_ns, launch_latency_ns);
        scenario.host.reads_loss = reads_loss;
        scenario.host.allocations = cut;
        if is_buffered {
            scenario.network.send = SendMode::Buffered;
        }
        scenario.stragglers = vec![Straggler { rank, from_step: 0, to_step: 2, slower_permille }];
        scenario.stalls = vec![Stall { rank: rank / 2, step: 1, longer_ns }];
        // Sends alone only bound the clocks of stages.
        if pipeline == 1 {
            scenario.clock_offsets_ns = offsets.map(i64::from).to_vec();
        }
        if cut > 1 {
            let from_ns = i64::from(cut) * 1_700_000;
            scenario.captures = vec![Capture { rank: 0, from_ns, to_ns: from_ns + 60_000_000 }];
        }
        scenario
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_job_is_split_as_the_books_say(scenario in any_job()) {
        split_as_the_books_say(&scenario);
    }
}
