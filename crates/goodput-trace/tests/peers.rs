//! Ranks together: the tables that are known of eight real ranks, and simulated jobs whose truth is known.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use goodput_simulate::step_trace::{self, Capture, Layout, Scenario, SendMode};
use goodput_trace::partition::{Charge, HostCause, Partition, partition};
use goodput_trace::peers::{
    ClockCorrection, GroupEvidence, Match, NotSplitReason, PeerAnalysis, PeerOptions, analyse, blame,
};
use goodput_trace::read::{ReadOptions, read_traces};
use goodput_trace::trace::{CollectiveKind, RankTrace};
use tempfile::TempDir;

const RAW: PeerOptions = PeerOptions { clock_correction: ClockCorrection::None };
const CORRECTED: PeerOptions = PeerOptions { clock_correction: ClockCorrection::EndOfCollectives };

fn read(paths: &[PathBuf]) -> Vec<RankTrace> {
    read_traces(paths, &ReadOptions::default()).unwrap().ranks
}

fn whole(trace: &RankTrace, analysis: &PeerAnalysis, index: usize) -> Partition {
    partition(trace, trace.device_window().unwrap(), &analysis.splits[index], |_, _| true)
}

/// Eight ranks of a recommendation model, absent outside the house.
fn dlrm8() -> Option<Vec<RankTrace>> {
    let folder =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces")).join("dlrm8_v100");
    folder.exists().then(|| read(&[folder]))
}

/// Per rank wait, transfer, exposed wait and exposed transfer in nanoseconds.
fn table(traces: &[RankTrace], analysis: &PeerAnalysis) -> Vec<[i64; 4]> {
    let row = |(index, trace): (usize, &RankTrace)| {
        let (totals, part) = (analysis.totals[index], whole(trace, analysis, index));
        let exposed_wait = part.amount_ns(Charge::PeerWait);
        let transfer = |(charge, ns): (&Charge, &i64)| matches!(charge, Charge::Transfer(_)).then_some(*ns);
        let exposed_transfer = part.amounts.iter().filter_map(transfer).sum::<i64>();
        assert_eq!(totals.all_ns(), part.comm_total_ns);
        assert_eq!(exposed_wait + exposed_transfer, part.exposed_comm_ns());
        [totals.wait_ns, totals.transfer_ns, exposed_wait, exposed_transfer]
    };
    traces.iter().enumerate().map(row).collect()
}

fn blame_ns(analysis: &PeerAnalysis) -> Vec<i64> {
    analysis.blame.iter().map(|blame| blame.skew_ns).collect()
}

#[test]
fn dlrm8_collective_by_collective() {
    use CollectiveKind::{AllReduce, SendReceive};
    let Some(traces) = dlrm8() else { return };
    let analysis = analyse(&traces, RAW);
    let row = |m: &Match| {
        let us = |ns: i64| ns / 1000;
        (m.kind, us(m.skew_ns()), m.last, us(m.end_spread_ns), us(m.shortest_ns), us(m.longest_ns))
    };
    let expected = [
        (SendReceive, 7624, 7, 2, 10, 7635),
        (SendReceive, 1101, 7, 2, 8, 1108),
        (SendReceive, 168, 7, 1, 7, 176),
        (SendReceive, 125, 7, 2, 7, 133),
        (AllReduce, 223, 7, 5, 86, 307),
        (SendReceive, 534, 5, 3, 10, 545),
        (AllReduce, 584, 5, 5, 20, 602),
        (AllReduce, 885, 4, 7, 69, 952),
    ];
    assert_eq!(analysis.matches.iter().map(row).collect::<Vec<_>>(), expected);
    assert!(analysis.not_split.is_empty());
    assert_eq!(analysis.groups.len(), 1);
    assert_eq!(analysis.groups[0].evidence, GroupEvidence::World);
    assert!(analysis.bandwidth.is_empty());
}

#[test]
fn dlrm8_on_raw_stamps() {
    let Some(traces) = dlrm8() else { return };
    let analysis = analyse(&traces, RAW);
    let expected = [
        [5580, 218, 5342, 195],
        [11125, 211, 10854, 202],
        [3280, 212, 3034, 183],
        [9571, 203, 9253, 197],
        [6370, 217, 6337, 213],
        [6041, 210, 6007, 204],
        [3342, 216, 3109, 180],
        [1534, 212, 1380, 200],
    ];
    let found = table(&traces, &analysis);
    assert_eq!(found, expected.map(|row| row.map(|us| us * 1000)));
    assert_eq!(found.iter().map(|row| row[0]).sum::<i64>(), 46_843_000);
    assert_eq!(found.iter().map(|row| row[1]).sum::<i64>(), 1_699_000);
    assert_eq!(blame_ns(&analysis), [0, 0, 0, 0, 885_000, 1_118_000, 0, 9_241_000]);
    assert_eq!(analysis.blame.iter().map(|b| b.times_last).collect::<Vec<_>>(), [0, 0, 0, 0, 1, 2, 0, 5]);
}

#[test]
fn dlrm8_on_corrected_clocks() {
    let Some(traces) = dlrm8() else { return };
    let analysis = analyse(&traces, CORRECTED);
    assert_eq!(analysis.clocks.offsets_ns, [750, -125, 0, -1125, 625, -250, 500, 0]);
    assert_eq!(analysis.clocks.collectives, 8);
    // Eighths of a microsecond are whole nanoseconds.
    let expected = [
        [5_585_875, 212_125, 5_346_125, 190_875],
        [11_123_875, 212_125, 10_853_000, 203_000],
        [3_279_875, 212_125, 3_033_875, 183_125],
        [9_561_875, 212_125, 9_243_875, 206_125],
        [6_374_875, 212_125, 6_341_875, 208_125],
        [6_038_875, 212_125, 6_004_875, 206_125],
        [3_345_875, 212_125, 3_112_375, 176_625],
        [1_533_875, 212_125, 1_379_625, 200_375],
    ];
    assert_eq!(table(&traces, &analysis), expected);
    assert_eq!(blame_ns(&analysis), [0, 0, 0, 0, 885_125, 1_117_250, 0, 9_242_625]);
    assert!(analysis.not_split.is_empty());
}

#[test]
fn dlrm8_blame_ends_with_what_the_last_rank_did() {
    let Some(traces) = dlrm8() else { return };
    let analysis = analyse(&traces, RAW);
    let parts: Vec<Partition> =
        traces.iter().enumerate().map(|(index, trace)| whole(trace, &analysis, index)).collect();
    let slices: Vec<_> = parts.iter().map(|part| part.slices.as_slice()).collect();
    let causes = blame::causes(&analysis, &slices);
    assert_eq!(causes.iter().map(|c| c.skew_ns).sum::<i64>(), 9_241_000 + 1_118_000 + 885_000);
    for causes in &causes {
        assert_eq!(causes.doing.values().sum::<i64>() + causes.outside_ns, causes.skew_ns);
    }
    // Rank 7's device had nothing queued: its host was late.
    let host_late = |charge: &Charge| matches!(charge, Charge::HostLate(_));
    let late_ns: i64 = causes[7].doing.iter().filter(|(charge, _)| host_late(charge)).map(|(_, ns)| ns).sum();
    assert!(late_ns + causes[7].outside_ns > causes[7].skew_ns * 8 / 10, "{:?}", causes[7]);
}

#[test]
fn dlrm8_after_the_rename_of_nccl() {
    let Some(traces) = dlrm8() else { return };
    let folder = TempDir::new().unwrap();
    for trace in &traces {
        let mut text = String::new();
        let file = std::fs::File::open(&trace.path).unwrap();
        std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(file), &mut text).unwrap();
        let name = format!("rank-{}.json", trace.identity.rank.unwrap());
        std::fs::write(folder.path().join(name), text.replace("ncclKernel_", "ncclDevKernel_")).unwrap();
    }
    let renamed = read(&[folder.path().to_owned()]);
    for options in [RAW, CORRECTED] {
        let (before, after) = (analyse(&traces, options), analyse(&renamed, options));
        assert_eq!(after, before);
        assert_eq!(table(&renamed, &after), table(&traces, &before));
    }
}

#[test]
fn two_of_128_ranks_are_not_split() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces/kineto"));
    if !folder.exists() {
        return;
    }
    let paths = [0, 1].map(|rank| folder.join(format!("dlrm_ws128_rank{rank}_sampled.json.gz")));
    let analysis = analyse(&read(&paths), CORRECTED);
    let reasons: Vec<_> = analysis.not_split.iter().map(|row| (row.reason, row.kernels)).collect();
    assert_eq!(reasons, [(NotSplitReason::MissingTrace, 20)]);
}

/// One step of a real trace on two ranks whose clocks differ.
#[test]
fn a_pure_clock_offset_leaves_no_waiting() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces/kineto"))
        .join("a100_ddp_resnet_nccl_meta_ns.json.gz");
    if !path.exists() {
        return;
    }
    let rank0 = read(&[path]).remove(0);
    let mut rank1 = rank0.clone();
    rank1.identity.rank = Some(1);
    for work in &mut rank1.work {
        work.start_ns += 2_500_000_123;
        work.end_ns += 2_500_000_123;
    }
    let traces = [rank0, rank1];
    let analysis = analyse(&traces, CORRECTED);
    let [left, right] = analysis.clocks.offsets_ns[..] else { panic!() };
    assert!((right - left - 2_500_000_123).abs() <= 1);
    assert!(analysis.totals.iter().all(|totals| totals.wait_ns <= 21), "{:?}", analysis.totals);
    assert!(blame_ns(&analysis).iter().sum::<i64>() <= 21);
    let reasons: Vec<_> = analysis.not_split.iter().map(|row| row.reason).collect();
    assert_eq!(reasons, [NotSplitReason::NotSynchronising]);
    // Gradients of ResNet-50 over two ranks.
    assert!(analysis.bandwidth.iter().all(|row| row.kind == CollectiveKind::AllReduce && row.ranks == 2));
    assert!(analysis.bandwidth.iter().any(|row| row.bytes == 4 * 7_875_584));
}

struct Simulated {
    traces: Vec<RankTrace>,
    truth: step_trace::Truth,
}

fn simulated(scenario: &Scenario) -> Simulated {
    let folder = TempDir::new().unwrap();
    let simulated = step_trace::simulate(scenario);
    let paths = simulated.write(folder.path()).unwrap();
    Simulated { traces: read(&paths), truth: simulated.truth }
}

impl Simulated {
    fn truth_of(&self, trace: &RankTrace) -> &step_trace::RankTruth {
        self.truth.ranks.iter().find(|rank| Some(rank.rank) == trace.identity.rank).unwrap()
    }
}

/// The communication of each whole step of each rank: found against true.
fn compare(simulated: &Simulated, analysis: &PeerAnalysis, tolerance_ns: i64) {
    use step_trace::Charge as True;
    let close = |found: i64, right: i64, of: &str| {
        assert!((found - right).abs() <= tolerance_ns, "{of}: found {found}, right {right}");
    };
    for (index, trace) in simulated.traces.iter().enumerate() {
        let truth = simulated.truth_of(trace);
        for step in truth.steps.iter().filter(|step| step.is_whole) {
            let of = format!("{}, rank {}, step {}", simulated.truth.scenario, truth.rank, step.number);
            let window = (step.device.start_ns, step.device.end_ns);
            let part = partition(trace, window, &analysis.splits[index], |_, _| true);
            let right = |of: fn(&True) -> bool| step.device.sum_ns(|charge| of(&charge));
            close(part.amount_ns(Charge::PeerWait), right(|c| *c == True::PeerWait), &format!("{of}, wait"));
            close(part.amount_ns(Charge::Bubble), right(|c| *c == True::Bubble), &format!("{of}, bubble"));
            let not_split = |(charge, ns): (&Charge, &i64)| {
                matches!(charge, Charge::CommunicationNotSplit(_)).then_some(*ns)
            };
            let not_split: i64 = part.amounts.iter().filter_map(not_split).sum();
            close(not_split, right(|c| matches!(c, True::NotSplit(_))), &format!("{of}, not split"));
            let communication =
                |c: &True| matches!(c, True::PeerWait | True::Bubble | True::NotSplit(_) | True::Transfer(_));
            close(part.exposed_comm_ns(), right(communication), &format!("{of}, exposed"));
        }
    }
}

/// Blame and skew of every collective.
fn compare_blame(simulated: &Simulated, analysis: &PeerAnalysis, tolerance_ns: i64) {
    let divided = analysis.matches.iter().filter(|m| m.outcome.is_ok() && m.kind != CollectiveKind::Send);
    assert_eq!(divided.count(), simulated.truth.collectives.len(), "{}", simulated.truth.scenario);
    for (index, trace) in simulated.traces.iter().enumerate() {
        let right = simulated.truth_of(trace).blame_ns;
        let found = analysis.blame[index].skew_ns;
        assert!((found - right).abs() <= tolerance_ns, "rank {index}: found {found}, right {right}");
    }
}

#[test]
fn simulated_jobs_on_true_clocks() {
    for name in Scenario::NAMES {
        let scenario = Scenario { clock_offsets_ns: Vec::new(), ..Scenario::named(name).unwrap() };
        let simulated = simulated(&scenario);
        let analysis = analyse(&simulated.traces, RAW);
        compare(&simulated, &analysis, 0);
        compare_blame(&simulated, &analysis, 0);
    }
}

#[test]
fn simulated_jobs_on_clocks_that_are_off() {
    for name in Scenario::NAMES {
        for send in [SendMode::Buffered, SendMode::Rendezvous] {
            let mut scenario = Scenario::named(name).unwrap();
            scenario.network.send = send;
            scenario.clock_offsets_ns = vec![0, 1_234_567, -350_001, 42];
            let simulated = simulated(&scenario);
            let analysis = analyse(&simulated.traces, CORRECTED);
            // Every wait may be a nanosecond off.
            let rounding = i64::try_from(analysis.matches.len()).unwrap();
            compare(&simulated, &analysis, rounding);
            compare_blame(&simulated, &analysis, rounding);
        }
    }
}

/// Tensor, pipeline and data groups at once: clocks go over groups that share ranks.
#[test]
fn a_simulated_job_of_three_axes() {
    for send in [SendMode::Buffered, SendMode::Rendezvous] {
        let mut scenario = Scenario::named("pipeline_1f1b").unwrap();
        scenario.layout = Layout { tensor: 2, pipeline: 2, data: 2, ..scenario.layout };
        scenario.network.send = send;
        scenario.clock_offsets_ns = vec![0, 70_000, -30_000, 4_000_000, 11, 900_000, -5_000_000, 1];
        let simulated = simulated(&scenario);
        let analysis = analyse(&simulated.traces, CORRECTED);
        assert_eq!(analysis.clocks.components, [analysis.clocks.components[0]; 8]);
        let rounding = i64::try_from(analysis.matches.len()).unwrap();
        compare(&simulated, &analysis, rounding);
        compare_blame(&simulated, &analysis, rounding);
    }
}

/// Old traces tell neither groups nor numbers: the order of collectives must do.
#[test]
fn simulated_captures_without_arguments_are_aligned() {
    let mut scenario = Scenario::named("data_parallel").unwrap();
    scenario.steps = 6;
    scenario.clock_offsets_ns = vec![0, 1_234_567, -350_001, 42];
    let end_ns = 1_000_000_000_000;
    scenario.captures = vec![
        Capture { rank: 1, from_ns: 5_000_000, to_ns: end_ns },
        Capture { rank: 2, from_ns: 0, to_ns: 40_000_000 },
    ];
    let mut simulated = simulated(&scenario);
    let numbered = analyse(&simulated.traces, CORRECTED);
    let unmatched = numbered.not_split.iter().map(|row| row.kernels).sum::<u64>();
    assert!(unmatched > 0);
    for (unlinked, trace) in simulated.traces.iter_mut().enumerate() {
        trace.identity.groups.clear();
        for work in &mut trace.work {
            work.collective = None;
            // Half of the ranks do not tell the step either.
            work.launch = work.launch.filter(|_| unlinked % 2 == 0);
        }
    }
    let aligned = analyse(&simulated.traces, CORRECTED);
    assert_eq!(aligned.splits, numbered.splits);
    assert_eq!(aligned.not_split, numbered.not_split);
    assert_eq!(aligned.clocks, numbered.clocks);
    compare(&simulated, &aligned, i64::try_from(aligned.matches.len()).unwrap());
}

#[test]
fn the_blame_of_a_straggler_is_its_computation() {
    let simulated = simulated(&Scenario::named("straggler").unwrap());
    let analysis = analyse(&simulated.traces, CORRECTED);
    let parts: Vec<Partition> =
        simulated.traces.iter().enumerate().map(|(index, trace)| whole(trace, &analysis, index)).collect();
    let slices: Vec<_> = parts.iter().map(|part| part.slices.as_slice()).collect();
    let causes = blame::causes(&analysis, &slices);
    let most = (0..4).max_by_key(|&rank| causes[rank].skew_ns).unwrap();
    assert_eq!(most, 2);
    assert!(matches!(causes[2].chiefly(), Some((Charge::Compute(_), _))), "{:?}", causes[2]);

    let mut stalled = Scenario::named("input_bound").unwrap();
    stalled.clock_offsets_ns = vec![0, 900_000];
    let stalled = self::simulated(&stalled);
    let analysis = analyse(&stalled.traces, CORRECTED);
    let parts: Vec<Partition> =
        stalled.traces.iter().enumerate().map(|(index, trace)| whole(trace, &analysis, index)).collect();
    let slices: Vec<_> = parts.iter().map(|part| part.slices.as_slice()).collect();
    let causes = blame::causes(&analysis, &slices);
    assert_eq!(causes[1].chiefly().unwrap().0, Charge::HostLate(HostCause::DataLoader));
}
