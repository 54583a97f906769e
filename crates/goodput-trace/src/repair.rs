//! Durations that cannot be: device work that runs into the next on its stream, or far beyond the capture.
//!
//! A profiler that loses the end of a kernel writes a wrong one (TraceLens issue 669). Left alone, a single such kernel
//! is most of the device time of a trace.

use crate::class::Coarse;
use crate::reading::{Cause, FileReading};
use crate::trace::{DeviceWork, RankTrace, WorkKind};

/// Work of one stream may overlap by this much: programmatic dependent launch, the queues of ROCm, stamps in whole
/// microseconds.
pub const OVERLAP_NS: i64 = 1_000;

/// A capture shorter than this says nothing about how long a kernel may be.
const SHORTEST_CAPTURE_NS: i64 = 1_000_000;

/// With fewer rows besides it, work must be [`FEW_ROWS_MULTIPLE`] times as long as all else to be called corrupt.
const FEW_ROWS: usize = 100;

/// See [`FEW_ROWS`].
const FEW_ROWS_MULTIPLE: i64 = 10;

/// Clips the durations that cannot be, and counts them with what was taken away.
///
/// - Work that overlaps the next start on its stream by more than [`OVERLAP_NS`] ends at that start. A graph replay
///   neither is clipped nor clips: it is no single piece of work of its stream.
/// - The last work of a stream, which no start follows, is corrupt when it lasts longer than the span of everything else
///   in the trace, host and device, and ends after it. It is cut to the end of everything else: nothing shows that it ran
///   on. Communication is left alone, since it may wait for a peer for as long as it takes. The span must be a
///   millisecond at least, and in a trace of few rows the work must be ten times as long.
pub fn repair(trace: &mut RankTrace, reading: &mut FileReading) {
    clip_to_next_start(trace, reading);
    cut_to_capture(trace, reading);
}

fn clip_to_next_start(trace: &mut RankTrace, reading: &mut FileReading) {
    // Per stream, the work that starts last so far.
    let mut latest: Vec<Vec<usize>> = vec![Vec::new(); trace.streams.len()];
    for index in 0..trace.work.len() {
        let next = trace.work[index];
        let latest = &mut latest[next.stream as usize];
        if latest.first().is_some_and(|&earlier| trace.work[earlier].start_ns < next.start_ns) {
            for earlier in latest.drain(..) {
                let work = &trace.work[earlier];
                let is_graph = [work.kind, next.kind].contains(&WorkKind::Graph);
                if !is_graph && work.end_ns - next.start_ns > OVERLAP_NS {
                    set_end(trace, earlier, next.start_ns, reading);
                }
            }
        }
        latest.push(index);
    }
}

fn cut_to_capture(trace: &mut RankTrace, reading: &mut FileReading) {
    let mut last_on_stream = vec![None; trace.streams.len()];
    for (index, work) in trace.work.iter().enumerate() {
        last_on_stream[work.stream as usize] = Some(index);
    }
    let is_last = |index: usize, work: &DeviceWork| last_on_stream[work.stream as usize] == Some(index);
    let device = trace.work.iter().enumerate().filter(|&(index, work)| !is_last(index, work));
    let rows = trace
        .launches
        .iter()
        .map(|launch| (launch.start_ns, launch.end_ns))
        .chain(trace.operators.iter().map(|operator| (operator.start_ns, operator.end_ns)))
        .chain(trace.ranges.iter().map(|range| (range.start_ns, range.end_ns)))
        .chain(device.map(|(_, work)| (work.start_ns, work.end_ns)));
    let mut count = 0;
    let span = rows.inspect(|_| count += 1).reduce(|span, row| (span.0.min(row.0), span.1.max(row.1)));
    let Some((start_ns, mut end_ns)) = span else { return };
    let capture_ns = end_ns - start_ns;
    if capture_ns < SHORTEST_CAPTURE_NS {
        return;
    }
    let multiple = if count < FEW_ROWS { FEW_ROWS_MULTIPLE } else { 1 };
    let (corrupt, sound): (Vec<usize>, Vec<usize>) =
        last_on_stream.into_iter().flatten().partition(|&index| {
            let work = &trace.work[index];
            work.coarse() != Coarse::Communication && work.duration_ns() / multiple > capture_ns
        });
    for index in sound {
        end_ns = end_ns.max(trace.work[index].end_ns);
    }
    for index in corrupt {
        let work = &trace.work[index];
        if work.end_ns > end_ns {
            set_end(trace, index, end_ns.max(work.start_ns), reading);
        }
    }
}

fn set_end(trace: &mut RankTrace, index: usize, end_ns: i64, reading: &mut FileReading) {
    let work = trace.work[index];
    // Where it stood in the file is no longer known.
    reading.find_removed(Cause::OverlongDuration, 0, work.end_ns - end_ns, || {
        let name: String = trace.name(work.name).chars().take(60).collect();
        let (start_ns, was_ns, is_ns) = (work.start_ns, work.duration_ns(), end_ns - work.start_ns);
        format!("{name} at {start_ns} ns: {was_ns} ns clipped to {is_ns} ns")
    });
    trace.work[index].end_ns = end_ns;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Class;
    use crate::partition::{Splits, partition};
    use crate::reading::Format;
    use crate::trace::HostKind;
    use crate::trace::sketch::Sketch;

    const US: i64 = 1_000;

    /// Repairs, and gives what was found: how often, and the nanoseconds taken.
    fn repaired(sketch: &mut Sketch) -> (RankTrace, u64, i64) {
        let mut trace = sketch.trace();
        let mut reading = FileReading::new("sketch.json", Format::Chrome);
        repair(&mut trace, &mut reading);
        let found = reading.findings.first().map_or((0, 0), |finding| (finding.count, finding.removed_ns));
        (trace, found.0, found.1)
    }

    #[test]
    fn a_duration_that_runs_into_the_next_start_is_clipped() {
        let mut sketch = Sketch::default();
        sketch.step(1, 0, 1_000 * US).work(7, 20 * US, 500_020 * US, Class::Elementwise).work(
            7,
            60 * US,
            100 * US,
            Class::Gemm,
        );
        let (trace, count, removed_ns) = repaired(&mut sketch);
        assert_eq!(trace.work[0].duration_ns(), 40 * US);
        assert_eq!((count, removed_ns), (1, 499_960 * US));
        let found = partition(&trace, (0, 1_000 * US), &Splits::default(), |_, _| true);
        assert_eq!(found.compute_ns(), 80 * US);
    }

    #[test]
    fn small_overlaps_other_streams_and_graphs_are_kept() {
        let mut sketch = Sketch::default();
        sketch
            .work(7, 0, 11_000, Class::Gemm)
            .work(7, 10_000, 20_000, Class::Gemm)
            .work(8, 5_000, 90_000, Class::Gemm)
            .work(7, 20_000, 30_000, Class::Gemm)
            .work(7, 20_000, 30_000, Class::Gemm);
        assert_eq!(repaired(&mut sketch).1, 0);

        let mut trace = sketch.work(7, 0, 50_000, Class::Other).work(7, 10_000, 20_000, Class::Gemm).trace();
        trace.work[0].kind = WorkKind::Graph;
        let mut reading = FileReading::new("sketch.json", Format::Chrome);
        repair(&mut trace, &mut reading);
        assert!(reading.findings.is_empty());
    }

    /// 100 ms of kernels and host rows, then one piece of work that begins at 50 ms on its own stream.
    fn capture(class: Class, length_ns: i64) -> Sketch {
        let mut sketch = Sketch::default();
        for at in 0..100 {
            let at_ns = at * 1_000 * US;
            sketch.launched(at_ns, 7, at_ns + 10 * US, at_ns + 1_000 * US, Class::Gemm);
        }
        sketch.work(9, 50_000 * US, 50_000 * US + length_ns, class);
        sketch
    }

    #[test]
    fn work_longer_than_all_else_is_cut_to_it() {
        let (trace, count, removed_ns) = repaired(&mut capture(Class::Elementwise, 3_400_000 * US));
        assert_eq!(trace.device_window(), Some((10 * US, 100_000 * US)));
        assert_eq!((count, removed_ns), (1, 3_350_000 * US));
        // Its own stream's last start does not save it.
        let (trace, count, _) =
            repaired(capture(Class::Elementwise, US).work(7, 99_500 * US, 3_500_000 * US, Class::Gemm));
        assert_eq!((trace.device_window(), count), (Some((10 * US, 99_500 * US)), 2));
    }

    #[test]
    fn long_work_that_may_be_real_is_kept() {
        assert_eq!(repaired(&mut capture(Class::Elementwise, 90_000 * US)).1, 0);
        assert_eq!(repaired(&mut capture(Class::Communication, 3_400_000 * US)).1, 0);
        // A small trace: one launch and one kernel, a step shorter than its kernel.
        let mut sketch = Sketch::default();
        assert_eq!(repaired(sketch.launched(0, 7, 10 * US, 20_000 * US, Class::Gemm)).1, 0);
        assert_eq!(
            repaired(sketch.step(1, 0, 2_000 * US).launched(1, 7, 10 * US, 5_000 * US, Class::Gemm)).1,
            0
        );
        let long = sketch.range(HostKind::Step(None), "step", 0, 100_000 * US).launched(
            1,
            7,
            US,
            3_400_000 * US,
            Class::Elementwise,
        );
        let (trace, count, _) = repaired(long);
        assert_eq!((count, trace.work[0].end_ns), (1, 100_000 * US));
    }
}
