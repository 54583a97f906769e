//! The Chrome reader on real traces: what the step-traces reference counts in them.

use std::path::PathBuf;

use goodput_trace::read::{ReadOptions, read_file};
use goodput_trace::reading::FileTraces;
use goodput_trace::trace::{Epoch, HostKind, RankEvidence};
use rstest::rstest;

fn traces() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces"))
}

/// `None` where the traces are not at hand.
fn read(file: &str) -> Option<FileTraces> {
    let path = traces().join(file);
    path.exists().then(|| read_file(&path, &ReadOptions::default()).expect("a trace"))
}

#[rstest]
#[case("dlrm8_v100/rank-7.json.gz", 3_250, 262, 262, Some(7), 10_967_000)]
#[case("kineto/a100_ddp_resnet_nccl_meta_ns.json.gz", 40_573, 3_774, 3_774, Some(0), 660_551_005)]
#[case("kineto/v100_resnet_ns_5steps.json.gz", 68_692, 6_095, 6_095, Some(0), 480_029_179)]
#[case("kineto/v100_resnet50_2021_tb_strtid_nw0.json.gz", 75_718, 9_096, 9_096, None, 996_477_000)]
#[case(
    "kineto/rtx2080ti_resnet_dataloader_no_profilerstep.json.gz",
    111_631,
    10_113,
    10_113,
    None,
    14_522_911_000
)]
#[case("kineto/dlrm_ws128_rank0_sampled.json.gz", 4_855, 1_204, 1_204, Some(0), 1_222_847_000)]
#[case("kineto/dlrm_ws128_rank1_sampled.json.gz", 4_720, 1_154, 1_154, Some(1), 1_231_186_000)]
#[case("kineto/h100_qwen05b.json.gz", 18_221, 1_707, 1_198, None, 49_652_832)]
#[case("kineto/h100_vit_infer_pyfunc.json.gz", 5_138, 156, 156, None, 7_559_844)]
#[case("kineto/mi300_qwen05b.json.gz", 18_090, 1_517, 1_054, None, 47_085_800)]
#[case("kineto/mi300_vllm_hipgraph_421kernels_per_launch.json.gz", 1_993, 434, 434, Some(0), 10_743_181)]
#[case("kineto/mi250_minitoy_stream0.json.gz", 220, 16, 16, None, 8_911_887)]
#[case("kineto/a100_triton_cuda_driver_launch.json.gz", 71, 1, 1, None, 1_760)]
#[case("kineto/a100_event_sync_multi_stream.json.gz", 149, 6, 6, Some(0), 19_506_000)]
#[case("kineto/cpu_ops_only_rank0.json.gz", 2_467, 0, 0, Some(0), 0)]
#[case("kineto/no_distributedInfo.json.gz", 2_467, 0, 0, None, 0)]
#[case("kineto/old_cats_Kernel_Runtime_rank1.json.gz", 54, 4, 4, Some(1), 1_629_000)]
fn every_event_is_counted(
    #[case] file: &str,
    #[case] events: u64,
    #[case] device_events: usize,
    #[case] launched: usize,
    #[case] rank: Option<u32>,
    #[case] window_ns: i64,
) {
    let Some(FileTraces { ranks, reading }) = read(file) else { return };
    assert_eq!(reading.events, events);
    assert_eq!(reading.findings, []);
    assert!(!reading.is_degraded());
    let [trace] = &ranks[..] else { panic!("one rank, not {}", ranks.len()) };
    assert_eq!(reading.device_events, device_events as u64);
    assert_eq!(trace.work.len(), device_events);
    assert_eq!(trace.work.iter().filter(|work| work.launch.is_some()).count(), launched);
    assert_eq!(trace.identity.rank, rank);
    assert_eq!(trace.identity.evidence == RankEvidence::Metadata, rank.is_some());
    assert_eq!(trace.device_window().map_or(0, |(start, end)| end - start), window_ns);
    assert_eq!(trace.epoch, Epoch::Unix);
}

#[rstest]
#[case("kineto/a100_ddp_resnet_nccl_meta_ns.json.gz", &[4, 5, 6])]
#[case("kineto/v100_resnet_ns_5steps.json.gz", &[101, 102, 103, 104, 105])]
#[case("kineto/v100_resnet50_2021_tb_strtid_nw0.json.gz", &[5, 6, 7, 8, 9, 10])]
#[case("kineto/rtx2080ti_resnet_dataloader_no_profilerstep.json.gz", &[])]
#[case("kineto/mi250_minitoy_stream0.json.gz", &[1, 2])]
fn steps_are_numbered(#[case] file: &str, #[case] expected: &[i64]) {
    let Some(traces) = read(file) else { return };
    let steps: Vec<_> = traces.ranks[0]
        .ranges
        .iter()
        .filter_map(|range| if let HostKind::Step(number) = range.kind { number } else { None })
        .collect();
    assert_eq!(steps, expected);
}

#[test]
fn data_loader_and_optimizer_take_turns() {
    let Some(traces) = read("kineto/rtx2080ti_resnet_dataloader_no_profilerstep.json.gz") else { return };
    let count = |kind| traces.ranks[0].ranges.iter().filter(|range| range.kind == kind).count();
    assert_eq!((count(HostKind::DataLoader), count(HostKind::Optimizer)), (30, 30));
}

#[test]
fn a_file_may_hold_several_ranks() {
    let Some(traces) = read("other/aiu_allreduce_tp4.json") else { return };
    let ranks: Vec<_> = traces.ranks.iter().map(|trace| trace.identity.rank).collect();
    assert_eq!(ranks, [Some(0), Some(1), Some(2), Some(3)]);
    // 28 events begin and end: 21 compute or move data, 7 prepare computation.
    assert_eq!(traces.reading.events, 56);
    assert_eq!(traces.ranks.iter().map(|trace| trace.work.len() + trace.ranges.len()).sum::<usize>(), 28);
    assert!(!traces.reading.is_degraded());
}
