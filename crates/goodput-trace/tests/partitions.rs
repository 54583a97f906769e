//! Partitions and steps that are known of real traces, to the nanosecond.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};

use goodput_trace::class::Class;
use goodput_trace::partition::{Charge, HostCause, Partition, Partitioner, Splits, partition};
use goodput_trace::read::{ReadOptions, read_file};
use goodput_trace::steps::{Evidence, Member, Steps};
use goodput_trace::trace::{HostKind, RankTrace};
use serde_json::Value;

/// A real file, absent outside the house.
fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces")).join(name);
    path.exists().then_some(path)
}

/// The trace of a real file, read once for all tests.
fn trace(name: &str) -> Option<Arc<RankTrace>> {
    type Cell = Arc<LazyLock<Arc<RankTrace>, Box<dyn FnOnce() -> Arc<RankTrace> + Send>>>;
    static READ: LazyLock<Mutex<HashMap<PathBuf, Cell>>> = LazyLock::new(Mutex::default);
    let path = shared(name)?;
    let read = |path: PathBuf| -> Cell {
        Arc::new(LazyLock::new(Box::new(move || {
            let mut traces = read_file(&path, &ReadOptions::default()).unwrap();
            assert_eq!(traces.ranks.len(), 1);
            assert!(!traces.reading.is_degraded(), "{:?}", traces.reading.findings);
            Arc::new(traces.ranks.remove(0))
        })))
    };
    let cell = READ.lock().unwrap().entry(path.clone()).or_insert_with(|| read(path)).clone();
    Some(Arc::clone(&cell))
}

/// The trace of a file of the Kineto folder.
fn kineto(name: &str) -> Option<Arc<RankTrace>> {
    trace(&format!("kineto/{name}.json.gz"))
}

fn whole(trace: &RankTrace) -> Partition {
    partition(trace, trace.device_window().unwrap(), &Splits::default(), |_, _| true)
}

/// The keys of `partitions.jsonl`.
fn keys(found: &Partition) -> Value {
    serde_json::json!({
        "window": found.window_ns(),
        "compute": found.compute_ns(),
        "exposed_comm": found.exposed_comm_ns(),
        "exposed_mem": found.exposed_mem_ns(),
        "idle": found.idle_ns(),
        "comm_total": found.comm_total_ns,
        "overlap": found.hidden_comm_ns(),
        "idle_host_late": found.host_late_ns(),
        "idle_launch_lat": found.launch_latency_ns(),
        "idle_unattributed": found.unattributed_ns(),
    })
}

#[test]
fn every_known_partition_is_met_to_the_nanosecond() {
    let Some(rows) = shared("partitions.jsonl") else { return };
    let rows = std::fs::read_to_string(rows).unwrap();
    let mut windows = 0;
    for row in rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let file = row["file"].as_str().unwrap();
        let trace = trace(file).unwrap();
        assert_eq!(keys(&whole(&trace)), row["gpu_window_ns"], "{file}");
        windows += 1;

        let steps = Steps::of(&trace);
        let splits = Splits::default();
        let partitioner = Partitioner::new(&trace, &splits);
        for (name, known) in row["steps_ns"].as_object().unwrap() {
            let step = steps.steps.iter().find(|step| trace.name(step.name) == name).unwrap();
            let found = partitioner.partition(step.host.unwrap(), |_, _| true);
            assert_eq!(&keys(&found), known, "{file} {name}");
            windows += 1;
        }
    }
    assert_eq!(windows, 18 + 30);
}

#[test]
fn percentages_of_the_device_window() {
    let percent = |name: &str, decimals: usize| {
        let trace = trace(name)?;
        let found = whole(&trace);
        let share = |ns: i64| format!("{:.decimals$}", 100.0 * ns as f64 / found.window_ns() as f64);
        Some(
            [found.compute_ns(), found.exposed_comm_ns(), found.exposed_mem_ns(), found.idle_ns()].map(share),
        )
    };
    for (name, decimals, known) in [
        ("kineto/a100_ddp_resnet_nccl_meta_ns.json.gz", 3, ["17.509", "5.989", "0.346", "76.156"]),
        ("kineto/v100_resnet50_2021_tb_strtid_nw0.json.gz", 1, ["59.4", "0.0", "1.2", "39.4"]),
        ("kineto/mi300_vllm_hipgraph_421kernels_per_launch.json.gz", 1, ["99.4", "0.0", "0.4", "0.2"]),
        ("dlrm8_v100/rank-7.json.gz", 1, ["9.7", "14.4", "0.2", "75.8"]),
        ("dlrm8_v100/rank-1.json.gz", 1, ["6.6", "59.0", "0.1", "34.3"]),
    ] {
        let Some(found) = percent(name, decimals) else { return };
        assert_eq!(found, known, "{name}");
    }
}

#[test]
fn idle_time_of_a_graph_is_launch_latency_before_and_between_its_kernels() {
    let Some(trace) = kineto("mi300_vllm_hipgraph_421kernels_per_launch") else { return };
    let found = whole(&trace);
    let mut kernels_of = vec![0; trace.launches.len()];
    let (mut single_ns, mut first_ns, mut between_ns) = (0, 0, 0);
    for launch in trace.work.iter().filter_map(|work| work.launch) {
        kernels_of[launch as usize] += 1;
    }
    let mut begun = vec![false; trace.launches.len()];
    let mut before = found.slices.iter().filter(|slice| slice.charge.is_idle()).peekable();
    for (index, work) in trace.work.iter().enumerate() {
        let launch = work.launch.unwrap() as usize;
        while let Some(slice) = before.next_if(|slice| slice.work == Some(index as u32)) {
            assert_eq!(slice.charge, Charge::LaunchLatency);
            let sum = match (kernels_of[launch] > 1, begun[launch]) {
                (false, _) => &mut single_ns,
                (true, false) => &mut first_ns,
                (true, true) => &mut between_ns,
            };
            *sum += slice.end_ns - slice.start_ns;
        }
        begun[launch] = true;
    }
    assert_eq!((found.window_ns(), found.idle_ns()), (10_743_181, 25_473));
    assert_eq!((single_ns, first_ns, between_ns), (14_972, 10_081, 420));
    let steps = Steps::of(&trace);
    assert_eq!((steps.evidence, steps.steps.len()), (Evidence::ServingIterations, 1));
}

#[test]
fn late_hosts_waited_for_the_data_loader() {
    for (name, loader_ns, late_ns) in [
        ("v100_resnet50_2021_tb_strtid_nw0", 283_707_000, 369_968_000),
        ("rtx2080ti_resnet_dataloader_no_profilerstep", 6_659_997_000, 8_934_052_000),
    ] {
        let Some(trace) = kineto(name) else { return };
        let found = whole(&trace);
        assert_eq!(found.amount_ns(Charge::HostLate(HostCause::DataLoader)), loader_ns, "{name}");
        assert_eq!(found.host_late_ns(), late_ns, "{name}");
    }
}

#[test]
fn kernels_below_a_microsecond_are_not_lost() {
    let Some(trace) = kineto("h100_vit_infer_pyfunc") else { return };
    let found = whole(&trace);
    assert_eq!(trace.work.len(), 156);
    assert_eq!(trace.work.iter().map(|work| work.duration_ns()).sum::<i64>(), 1_225_310);
    assert_eq!((found.compute_ns(), found.amount_ns(Charge::Fill)), (1_220_926, 4_384));
    assert_eq!((found.window_ns(), found.idle_ns()), (7_559_844, 6_334_534));
    assert_eq!((found.host_late_ns(), found.launch_latency_ns()), (5_354_786, 979_748));
}

/// Windows of the steps, and of what is around them, cover the device's time once; so do their partitions.
fn assert_covered(trace: &RankTrace, steps: &Steps) {
    let splits = Splits::default();
    let partitioner = Partitioner::new(trace, &splits);
    let windows =
        steps.before.into_iter().chain(steps.steps.iter().filter_map(|s| s.device)).chain(steps.after);
    let (from, to) = trace.device_window().unwrap();
    let mut at = from;
    let mut sums = BTreeMap::new();
    for window in windows {
        assert_eq!(window.0, at);
        at = window.1;
        for (charge, ns) in partitioner.partition(window, |_, _| true).amounts {
            *sums.entry(charge).or_insert(0) += ns;
        }
    }
    assert_eq!(at, to);
    assert_eq!(sums, partitioner.partition((from, to), |_, _| true).amounts);
}

#[test]
fn device_windows_of_steps_cover_the_device_once() {
    for (name, evidence, count) in [
        ("a100_ddp_resnet_nccl_meta_ns", Evidence::ProfilerStep, 3),
        ("v100_resnet_ns_5steps", Evidence::ProfilerStep, 5),
        ("v100_resnet50_2021_tb_strtid_nw0", Evidence::ProfilerStep, 6),
        ("rtx2080ti_resnet_dataloader_no_profilerstep", Evidence::OptimizerEnds, 30),
        ("dlrm_ws128_rank0_sampled", Evidence::ProfilerStep, 2),
        ("h100_qwen05b", Evidence::ProfilerStep, 1),
        ("mi300_qwen05b", Evidence::ProfilerStep, 1),
        ("mi250_minitoy_stream0", Evidence::ProfilerStep, 2),
    ] {
        let Some(trace) = kineto(name) else { return };
        let steps = Steps::of(&trace);
        assert_eq!((steps.evidence, steps.steps.len()), (evidence, count), "{name}");
        assert_covered(&trace, &steps);
    }
}

#[test]
fn work_launched_before_the_capture_belongs_to_an_earlier_step() {
    for (name, count) in [("h100_qwen05b", 509), ("mi300_qwen05b", 463)] {
        let Some(trace) = kineto(name) else { return };
        let steps = Steps::of(&trace);
        assert_eq!(trace.work.iter().filter(|work| work.launch.is_none()).count(), count, "{name}");
        assert_eq!(steps.launched_before_capture, count, "{name}");
        assert_eq!(steps.members.iter().filter(|&&member| member == Member::Before).count(), count, "{name}");
    }
}

/// Without its marks a trace's steps are found by the next evidence, down to the period of its kernels.
#[test]
fn fall_backs_find_the_steps_that_the_profiler_marked() {
    for (name, known) in [
        ("a100_ddp_resnet_nccl_meta_ns", 3),
        ("v100_resnet_ns_5steps", 5),
        ("v100_resnet50_2021_tb_strtid_nw0", 6),
        ("rtx2080ti_resnet_dataloader_no_profilerstep", 30),
    ] {
        let Some(trace) = kineto(name) else { return };
        let mut trace = RankTrace::clone(&trace);
        trace.annotations.clear();
        let mut without = |is_mark: fn(HostKind) -> bool| {
            trace.ranges.retain(|range| !is_mark(range.kind));
            let steps = Steps::of(&trace);
            assert_eq!(steps.steps.len(), known, "{name} {:?}", steps.evidence);
            assert_covered(&trace, &steps);
            steps.evidence
        };
        let by_optimizer = without(|kind| matches!(kind, HostKind::Step(_) | HostKind::Iteration(_)));
        assert_eq!(by_optimizer, Evidence::OptimizerEnds, "{name}");
        let by_loader = without(|kind| kind == HostKind::Optimizer);
        let by_kernels = without(|_| true);
        assert_eq!(by_kernels, Evidence::KernelPeriod, "{name}");
        assert!([Evidence::DataLoaderStarts, Evidence::KernelPeriod].contains(&by_loader), "{name}");
    }
}

#[test]
fn a_step_without_its_first_kernels_is_incomplete() {
    let Some(trace) = kineto("a100_ddp_resnet_nccl_meta_ns") else { return };
    let whole = Steps::of(&trace);
    assert!(whole.steps.iter().all(|step| !step.incomplete && step.kernels == 900));
    for step in 0..3 {
        let lost: Vec<usize> = whole.work_of(step).take(20).collect();
        let mut trace = RankTrace::clone(&trace);
        let mut index = 0..;
        trace.work.retain(|_| !lost.contains(&index.next().unwrap()));
        let incomplete: Vec<bool> = Steps::of(&trace).steps.iter().map(|step| step.incomplete).collect();
        assert_eq!(incomplete, [step == 0, step == 1, step == 2]);
    }
}

/// The first step of this file has fewer kernels than the others, since its optimizer sets up, and yet more work.
#[test]
fn a_step_that_does_other_work_is_not_incomplete() {
    let Some(trace) = kineto("rtx2080ti_resnet_dataloader_no_profilerstep") else { return };
    let steps = Steps::of(&trace);
    assert_eq!((steps.steps[0].kernels, steps.steps[1].kernels), (318, 321));
    assert!(steps.steps.iter().all(|step| !step.incomplete));
    assert!(steps.evidence.is_fallback());
    let warm: Vec<_> = steps.steps.iter().filter(|step| step.warm_up).map(|step| step.length_ns()).collect();
    assert_eq!(warm, [4_848_634_000]);
}

/// Nothing marks the steps of this training run, whose kernels yet repeat: 49 whole steps and one that is cut. Set-up
/// goes before the first, which warms up.
#[test]
fn steps_of_a_trace_of_dispatches_alone() {
    let Some(trace) = trace("other/rocprofv3_908_results.json.gz") else { return };
    let steps = Steps::of(&trace);
    assert_eq!((steps.evidence, steps.steps.len()), (Evidence::KernelPeriod, 50));
    let optimizers = |step| {
        let is_update = |&index: &usize| trace.work[index].class == Class::Optimizer;
        steps.work_of(step).filter(is_update).count()
    };
    for (index, step) in steps.steps.iter().enumerate() {
        assert_eq!(optimizers(index), 11, "step {index}");
        assert_eq!((step.warm_up, step.incomplete), (index == 0, index == 49), "step {index}");
    }
    assert!(steps.steps[1..49].iter().all(|step| step.kernels == 750));
    assert_covered(&trace, &steps);
}
