//! A Chrome trace of the analysis, for Perfetto or chrome://tracing: one process a rank, with a lane of what each
//! nanosecond is charged to above the steps and the streams. Clocks are corrected, and time starts at the first work.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::analysis::{Analysis, RankAnalysis};
use crate::partition::Charge;
use crate::trace::DeviceWork;

/// Lanes of each rank above its streams.
const CHARGED: u64 = 1;
const DEVICE_STEPS: u64 = 2;
const HOST_STEPS: u64 = 3;
const FIRST_STREAM: u64 = 10;

/// Writes the trace as JSON.
///
/// # Errors
/// That of the writer.
pub fn write(analysis: &Analysis, out: impl Write) -> io::Result<()> {
    let mut out = Events { out, is_first: true };
    out.out.write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n")?;
    let clock = Clock::of(analysis);
    for (index, rank) in analysis.ranks.iter().enumerate() {
        write_rank(&mut out, rank, index, &clock)?;
    }
    out.out.write_all(b"\n]}\n")?;
    out.out.flush()
}

/// Instants of all ranks on one clock.
struct Clock<'a> {
    analysis: &'a Analysis,
    from_ns: i64,
}

impl<'a> Clock<'a> {
    fn of(analysis: &'a Analysis) -> Self {
        let mut clock = Self { analysis, from_ns: 0 };
        let starts = analysis.ranks.iter().enumerate().flat_map(|(index, rank)| {
            let hosts = rank.windows.iter().filter_map(|windows| windows.host.as_ref());
            let first = rank.whole.iter().chain(hosts).map(|p| p.window.0).min();
            first.map(|ns| clock.corrected_ns(index, ns))
        });
        clock.from_ns = starts.min().unwrap_or(0);
        clock
    }

    fn corrected_ns(&self, rank: usize, ns: i64) -> i64 {
        self.analysis.peers.as_ref().map_or(ns, |peers| peers.clocks.corrected_ns(rank as u32, ns))
    }

    /// Microseconds since the start with all nanoseconds.
    fn microseconds(&self, rank: usize, ns: i64) -> Value {
        microseconds(self.corrected_ns(rank, ns) - self.from_ns)
    }
}

/// A double keeps whole nanoseconds up to 2^53 of them, a hundred days.
fn microseconds(ns: i64) -> Value {
    json!(ns as f64 / 1e3)
}

struct Events<W> {
    out: W,
    is_first: bool,
}

impl<W: Write> Events<W> {
    fn event(&mut self, event: &Value) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            self.out.write_all(b",\n")?;
        }
        serde_json::to_writer(&mut self.out, event).map_err(io::Error::from)
    }

    fn name(&mut self, what: &str, process: u64, lane: u64, name: &str) -> io::Result<()> {
        self.event(&json!({"ph": "M", "name": what, "pid": process, "tid": lane, "args": {"name": name}}))?;
        let sort = what.replace("name", "sort_index");
        let index = if what.starts_with("process") { process } else { lane };
        self.event(
            &json!({"ph": "M", "name": sort, "pid": process, "tid": lane, "args": {"sort_index": index}}),
        )
    }
}

fn write_rank(
    out: &mut Events<impl Write>,
    rank: &RankAnalysis,
    index: usize,
    clock: &Clock<'_>,
) -> io::Result<()> {
    let trace = &rank.trace;
    let process = trace.identity.rank.map_or(index as u64, u64::from);
    let at = |ns| clock.microseconds(index, ns);
    out.name("process_name", process, 0, &format!("rank {process}"))?;
    out.name("thread_name", process, CHARGED, "charged to")?;
    out.name("thread_name", process, DEVICE_STEPS, "steps on the device")?;
    out.name("thread_name", process, HOST_STEPS, "steps on the host")?;
    for (stream, of) in trace.streams.iter().enumerate() {
        let name = format!("device {}, stream {}", of.device, of.id);
        out.name("thread_name", process, FIRST_STREAM + stream as u64, &name)?;
    }
    for (step, windows) in rank.steps.steps.iter().zip(&rank.windows) {
        for (lane, window) in [(HOST_STEPS, &windows.host), (DEVICE_STEPS, &windows.device)] {
            let Some(window) = window else { continue };
            let mut args: serde_json::Map<String, Value> = window
                .amounts
                .iter()
                .map(|(charge, ns)| (format!("{}_ns", charge.key()), json!(ns)))
                .collect();
            args.insert("window_ns".to_owned(), json!(window.window_ns()));
            args.insert("judged".to_owned(), json!(windows.judged));
            out.event(&json!({
                "ph": "X", "pid": process, "tid": lane, "name": trace.name(step.name), "cat": "step",
                "ts": at(window.window.0), "dur": microseconds(window.window_ns()), "args": args,
            }))?;
        }
    }
    for slice in rank.whole.iter().flat_map(|whole| &whole.slices) {
        let work = slice.work.map(|work| trace.name(trace.work[work as usize].name));
        out.event(&json!({
            "ph": "X", "pid": process, "tid": CHARGED, "name": slice.charge.label(), "cat": "charge",
            "ts": at(slice.start_ns), "dur": microseconds(slice.end_ns - slice.start_ns), "cname": colour(slice.charge),
            "args": {"term": slice.charge.term().label(), "work": work},
        }))?;
    }
    for work in &trace.work {
        out.event(&work_event(rank, work, process, &at))?;
    }
    Ok(())
}

fn work_event(rank: &RankAnalysis, work: &DeviceWork, process: u64, at: &impl Fn(i64) -> Value) -> Value {
    let trace = &rank.trace;
    let launch_ns = trace.launch_of(work).map(|launch| (work.start_ns - launch.start_ns).max(0));
    json!({
        "ph": "X", "pid": process, "tid": FIRST_STREAM + u64::from(work.stream), "name": trace.name(work.name),
        "cat": work.class.key(), "ts": at(work.start_ns), "dur": microseconds(work.duration_ns()),
        "args": {
            "class": work.class.label(),
            "operator": trace.operator_of(work).map(|operator| trace.name(operator.name)),
            "launch_to_start_ns": launch_ns,
            "bytes": work.bytes,
        },
    })
}

/// A colour of the trace viewers' own palette.
fn colour(charge: Charge) -> &'static str {
    match charge {
        Charge::Compute(_) => "good",
        Charge::Transfer(_) | Charge::CommunicationNotSplit(_) => "thread_state_iowait",
        Charge::PeerWait | Charge::Bubble => "bad",
        Charge::Copy | Charge::Fill => "thread_state_runnable",
        Charge::HostLate(_) => "terrible",
        Charge::LaunchLatency | Charge::StreamDependency => "yellow",
        Charge::Unattributed => "grey",
    }
}

#[cfg(test)]
mod tests {
    use goodput_model::device::Catalogue;

    use super::*;
    use crate::analysis::{AnalysisOptions, analyse};
    use crate::class::Class;
    use crate::read::{ReadOptions, read_traces};
    use crate::trace::sketch::Sketch;

    #[test]
    fn what_is_written_is_read_again_with_the_same_device_time() {
        let mut sketch = Sketch::default();
        sketch.step(1, 1_000, 2_000).launched(1_001, 7, 1_100, 1_333, Class::Gemm);
        sketch.launched(1_002, 7, 1_500, 1_777, Class::Elementwise);
        let analysis = analyse(vec![sketch.trace()], AnalysisOptions::new(Catalogue::built_in()));
        let mut text = Vec::new();
        write(&analysis, &mut text).unwrap();
        let events: Value = serde_json::from_slice(&text).unwrap();
        let events = events["traceEvents"].as_array().unwrap();
        let charged: f64 =
            events.iter().filter(|e| e["cat"] == "charge").map(|e| e["dur"].as_f64().unwrap()).sum();
        assert_eq!(charged, 0.677);
        let gemm = events.iter().find(|e| e["cat"] == "gemm").unwrap();
        assert_eq!((gemm["ts"].as_f64(), gemm["dur"].as_f64()), (Some(0.1), Some(0.233)));

        let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
        std::fs::write(file.path(), &text).unwrap();
        assert!(read_traces(&[file.path().to_owned()], &ReadOptions::default()).is_ok());
    }
}
