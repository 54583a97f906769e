//! Small traces of public bug reports, from their text to the partition.

#![allow(clippy::unwrap_used)]

use std::io::Write;

use goodput_trace::partition::{Partition, Splits, partition};
use goodput_trace::read::{ReadOptions, read_file};
use goodput_trace::reading::{Cause, FileTraces};
use goodput_trace::steps::{Member, Steps};
use goodput_trace::trace::RankTrace;
use serde_json::{Value, json};

/// Reads events as a Chrome trace. Times are in microseconds.
fn read(events: &[Value]) -> FileTraces {
    let mut file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    write!(file, "{}", json!({ "schemaVersion": 1, "traceEvents": events })).unwrap();
    read_file(file.path(), &ReadOptions::default()).unwrap()
}

fn event(cat: &str, name: &str, ts: f64, dur: f64, args: Value) -> Value {
    json!({ "ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args })
}

fn step(number: u32, ts: f64, dur: f64) -> Value {
    event("user_annotation", &format!("ProfilerStep#{number}"), ts, dur, json!({}))
}

fn launch(call: &str, correlation: u32, ts: f64) -> Value {
    event("cuda_runtime", call, ts, 1.0, json!({ "correlation": correlation }))
}

fn kernel(name: &str, stream: u32, correlation: u32, ts: f64, dur: f64) -> Value {
    event("kernel", name, ts, dur, json!({ "device": 0, "stream": stream, "correlation": correlation }))
}

fn over(trace: &RankTrace, window: (i64, i64)) -> Partition {
    partition(trace, window, &Splits::default(), |_, _| true)
}

fn whole(trace: &RankTrace) -> Partition {
    over(trace, trace.device_window().unwrap())
}

/// TraceLens issue 669: a duration of half a second in a step of a millisecond.
#[test]
fn a_duration_that_runs_into_the_next_event_is_clipped_and_reported() {
    let read = read(&[
        step(1, 0.0, 1_000.0),
        launch("cudaLaunchKernel", 1, 10.0),
        launch("cudaLaunchKernel", 2, 12.0),
        kernel("a", 7, 1, 20.0, 500_000.0),
        kernel("b", 7, 2, 60.0, 40.0),
    ]);
    let found = over(&read.ranks[0], (0, 1_000_000));
    assert_eq!(found.compute_ns(), 80_000);
    let finding = &read.reading.findings[0];
    assert_eq!((finding.cause, finding.count, finding.removed_ns), (Cause::OverlongDuration, 1, 499_960_000));
    assert!(read.reading.is_degraded());
}

/// The same where no later event of the stream tells the end.
#[test]
fn a_kernel_longer_than_its_trace_is_cut_to_it() {
    let mut events = vec![step(1, 0.0, 100_000.0)];
    for index in 0..100 {
        let at = f64::from(index) * 1_000.0;
        events.push(launch("cudaLaunchKernel", index, at));
        events.push(kernel("gemm", 7, index, at + 10.0, 500.0));
    }
    events.push(launch("cudaLaunchKernel", 100, 60_000.0));
    events.push(kernel("elementwise", 8, 100, 60_010.0, 3_400_000.0));
    let read = read(&events);
    assert_eq!(whole(&read.ranks[0]).window, (10_000, 100_000_000));
    let finding = &read.reading.findings[0];
    assert_eq!((finding.cause, finding.count), (Cause::OverlongDuration, 1));
    assert_eq!(finding.removed_ns, 3_400_000_000 - (100_000_000 - 60_010_000));
}

/// Kineto issue 1380.
#[test]
fn a_kernel_before_its_launch_has_no_latency() {
    let read = read(&[
        launch("cudaLaunchKernel", 1, 0.0),
        launch("cudaLaunchKernel", 2, 105.0),
        kernel("a", 7, 1, 10.0, 10.0),
        kernel("b", 7, 2, 100.0, 10.0),
    ]);
    let found = whole(&read.ranks[0]);
    assert_eq!((found.host_late_ns(), found.launch_latency_ns()), (80_000, 0));
}

/// HolisticTraceAnalysis issue 76: the last step was left out.
#[test]
fn the_last_step_counts() {
    let read = read(&[
        step(1, 0.0, 200.0),
        step(2, 200.0, 200.0),
        launch("cudaLaunchKernel", 1, 10.0),
        launch("cudaLaunchKernel", 2, 210.0),
        kernel("a", 7, 1, 20.0, 100.0),
        kernel("a", 7, 2, 220.0, 100.0),
    ]);
    let trace = &read.ranks[0];
    let steps = Steps::of(trace);
    let compute = |window: Option<(i64, i64)>| over(trace, window.unwrap()).compute_ns();
    let by_step: Vec<_> = steps.steps.iter().map(|step| (compute(step.host), compute(step.device))).collect();
    assert_eq!(by_step, [(100_000, 100_000); 2]);
    assert!(steps.steps[1].may_lack_end);
}

#[test]
fn kernels_below_a_microsecond_sum() {
    let kernels = (0..10).map(|index| kernel("a", 7, index, f64::from(index) * 2.0 + 0.3, 0.6));
    let read = read(&kernels.collect::<Vec<_>>());
    assert_eq!(whole(&read.ranks[0]).compute_ns(), 6_000);
}

/// HolisticTraceAnalysis issue 219: work on stream 0 had no step.
#[test]
fn work_of_stream_zero_has_a_step() {
    let read = read(&[
        step(1, 0.0, 100.0),
        step(2, 100.0, 100.0),
        launch("hipLaunchKernel", 1, 50.0),
        kernel("a", 0, 1, 150.0, 10.0),
    ]);
    assert_eq!(Steps::of(&read.ranks[0]).members, [Member::Step(0)]);
}

/// A runtime call and the driver call inside it carry one correlation.
#[test]
fn one_kernel_of_two_calls_counts_once() {
    let read = read(&[
        launch("cudaLaunchKernelExC", 1, 0.0),
        event("cuda_driver", "cuLaunchKernelEx", 0.2, 0.5, json!({ "correlation": 1 })),
        kernel("a", 7, 1, 5.0, 10.0),
    ]);
    let trace = &read.ranks[0];
    assert_eq!((trace.work.len(), whole(trace).compute_ns()), (1, 10_000));
    assert_eq!(over(trace, (0, 15_000)).launch_latency_ns(), 5_000);
}

/// PyTorch issue 174555: neighbours that overlap share no instant.
#[test]
fn steps_that_overlap_are_half_open() {
    let read = read(&[
        step(1, 0.0, 110.0),
        step(2, 100.0, 100.0),
        launch("cudaLaunchKernel", 1, 105.0),
        kernel("a", 7, 1, 120.0, 10.0),
    ]);
    let steps = Steps::of(&read.ranks[0]);
    assert_eq!(
        steps.steps.iter().map(|step| step.host.unwrap()).collect::<Vec<_>>(),
        [(0, 100_000), (100_000, 200_000)]
    );
    assert_eq!(steps.members, [Member::Step(1)]);
}
