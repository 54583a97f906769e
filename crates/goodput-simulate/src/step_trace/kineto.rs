//! One rank's trace as PyTorch's Kineto writes it (pytorch/kineto, `libkineto/src/output_json.cpp`).

use std::fmt::{Display, Write};

use serde_json::json;

use super::books::group_name;
use super::kernel::Exchange;
use super::machine::History;
use super::program::{Message, Stream, Work};
use super::record::{Record, Task};
use super::truth::EPOCH_NS;
use super::{Capture, HostCause, Scenario};

/// Stamps count from a multiple of a quarter of a year, so that ranks agree.
const BASE_STEP_NS: i64 = 7_889_238_000_000_000;

/// The text of a rank's trace.
pub(super) fn trace(scenario: &Scenario, history: &History, rank: u32) -> String {
    let record = &history.records[rank as usize];
    let device = rank % scenario.layout.devices_per_node.max(1);
    let base_ns = EPOCH_NS / BASE_STEP_NS * BASE_STEP_NS;
    let mut writer = Writer {
        text: String::new(),
        zero_ns: EPOCH_NS - base_ns + scenario.clock_offset_ns(rank),
        capture: scenario.capture(rank),
        rank,
        host: 4_000 + u64::from(rank),
        device,
        history,
    };
    let properties = json!([{
        "id": device, "name": "Simulated accelerator", "totalGlobalMem": 85_899_345_920_u64,
        "computeMajor": 9, "computeMinor": 0, "numSms": 132,
    }]);
    let groups = history.groups.iter().enumerate().filter(|(_, group)| group.ranks.contains(&rank));
    let groups: Vec<_> = groups
        .map(|(index, group)| {
            json!({
                "pg_name": group_name(index), "pg_desc": group.axis.description(),
                "backend_config": "cuda:nccl", "pg_size": group.ranks.len(), "ranks": group.ranks,
            })
        })
        .collect();
    let distributed = json!({
        "backend": "nccl", "rank": rank, "world_size": scenario.layout.ranks(),
        "pg_count": groups.len(), "pg_config": groups, "nccl_version": "2.27.5",
    });
    writer.add(format_args!(
        "{{\n\"schemaVersion\": 1,\n\"deviceProperties\": {properties},\n\"distributedInfo\": {distributed},\n\
         \"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": {base_ns},\n\"traceEvents\": [\n"
    ));
    writer.host_events(scenario, record);
    for task in &record.tasks {
        writer.operator(task);
    }
    for task in &record.tasks {
        writer.device_work(task);
    }
    writer.device_steps(scenario, record);
    let host = writer.host;
    writer.add(format_args!(
        "{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": {host}, \"tid\": 0, \"args\": {{\"name\": \"python\"}}}}\n\
         ],\n\"traceName\": \"rank{rank}.json\"\n}}\n"
    ));
    writer.text
}

struct Writer<'a> {
    text: String,
    /// What the rank's clock shows at the start of the job, after the base.
    zero_ns: i64,
    capture: Capture,
    rank: u32,
    /// Process and thread of the host.
    host: u64,
    device: u32,
    history: &'a History,
}

impl Writer<'_> {
    fn add(&mut self, text: impl Display) {
        // Writing to a string does not fail.
        let _ = write!(self.text, "{text}");
    }

    /// A complete event; `pid` and `tid` are those of `track`.
    fn complete(
        &mut self,
        category: &str,
        name: &str,
        track: Track,
        interval: (i64, i64),
        args: impl Display,
    ) {
        let (pid, tid) = self.track(track);
        let (start, duration) = (Micros(interval.0 + self.zero_ns), Micros(interval.1 - interval.0));
        self.add(format_args!(
            "{{\"ph\": \"X\", \"cat\": \"{category}\", \"name\": \"{name}\", \"pid\": {pid}, \"tid\": {tid}, \
             \"ts\": {start}, \"dur\": {duration}, \"args\": {{{args}}}}},\n"
        ));
    }

    fn host_event(&mut self, category: &str, name: &str, start_ns: i64, end_ns: i64, args: impl Display) {
        if self.capture.covers(start_ns, end_ns) {
            self.complete(category, name, Track::Host, (start_ns, end_ns), args);
        }
    }

    fn flow(&mut self, phase: &str, track: Track, at_ns: i64, id: u64) {
        let (pid, tid) = self.track(track);
        let at = Micros(at_ns + self.zero_ns);
        let end = if phase == "f" { ", \"bp\": \"e\"" } else { "" };
        self.add(format_args!(
            "{{\"ph\": \"{phase}\", \"id\": {id}, \"pid\": {pid}, \"tid\": {tid}, \"ts\": {at}, \
             \"cat\": \"ac2g\", \"name\": \"ac2g\"{end}}},\n"
        ));
    }

    fn track(&self, track: Track) -> (u64, u64) {
        match track {
            Track::Host => (self.host, self.host),
            Track::Stream(stream) => (u64::from(self.device), u64::from(stream.id())),
        }
    }

    fn host_events(&mut self, scenario: &Scenario, record: &Record) {
        for (number, window) in (scenario.first_step..).zip(record.step_starts_ns.windows(2)) {
            self.host_event("user_annotation", &format!("ProfilerStep#{number}"), window[0], window[1], "");
        }
        for activity in &record.activities {
            let (category, name) = match activity.cause {
                HostCause::DataLoader => {
                    ("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__")
                }
                HostCause::Optimizer => ("user_annotation", "Optimizer.step#AdamW.step"),
                HostCause::HostSync => ("cuda_runtime", "cudaStreamSynchronize"),
                HostCause::Allocator => ("cuda_runtime", "cudaMalloc"),
                HostCause::Dispatch => continue,
            };
            self.host_event(category, name, activity.start_ns, activity.end_ns, "");
        }
        for wait in &record.waits {
            if !self.capture.covers(wait.start_ns, wait.end_ns) {
                continue;
            }
            let correlation = wait.correlation;
            let call = format!("\"cbid\": 147, \"correlation\": {correlation}");
            self.host_event("cuda_runtime", "cudaStreamWaitEvent", wait.start_ns, wait.end_ns, call);
            let args = format!(
                "\"cuda_sync_kind\": \"Stream Wait Event\", \"wait_on_stream\": {}, \
                 \"wait_on_cuda_event_record_corr_id\": -1, \"wait_on_cuda_event_id\": {correlation}, \
                 \"stream\": {}, \"correlation\": {correlation}, \"device\": {}, \"context\": 1",
                wait.on.id(),
                wait.stream.id(),
                self.device
            );
            let interval = (wait.start_ns, wait.end_ns);
            self.complete("cuda_sync", "Stream Wait Event", Track::Stream(wait.stream), interval, args);
        }
    }

    /// The operator and its runtime call.
    fn operator(&mut self, task: &Task) {
        let external = external_id(task);
        let (name, args) = match task.launch.work {
            Work::Exchange(message) => ("record_param_comms", self.message(task, &message)),
            _ => (task.launch.kernel.operator, String::new()),
        };
        let args = format!("\"External id\": {external}{args}");
        self.host_event("cpu_op", name, task.operator_ns, task.returned_ns, args);
        if !self.capture.covers(task.call_ns, task.returned_ns) {
            return;
        }
        let (call, cbid) = match task.launch.work {
            Work::Compute { .. } => ("cudaLaunchKernel", 211),
            Work::Exchange(_) => ("cudaLaunchKernelExC", 430),
            Work::Copy { .. } => ("cudaMemcpyAsync", 41),
            Work::Fill { .. } => ("cudaMemsetAsync", 51),
        };
        let correlation = task.correlation;
        let args = format!("\"External id\": {external}, \"cbid\": {cbid}, \"correlation\": {correlation}");
        self.host_event("cuda_runtime", call, task.call_ns, task.returned_ns, args);
        self.flow("s", Track::Host, task.call_ns, correlation);
    }

    fn device_work(&mut self, task: &Task) {
        let Some(end_ns) = task.end_ns.filter(|_| self.capture.shows(task)) else { return };
        let stream = task.launch.stream;
        let track = Track::Stream(stream);
        let (category, rest) = match task.launch.work {
            Work::Compute { .. } => ("kernel", kernel_args(132 * 4)),
            Work::Copy { bytes, .. } => ("gpu_memcpy", format!(", \"bytes\": {bytes}")),
            Work::Fill { bytes, .. } => ("gpu_memset", format!(", \"bytes\": {bytes}")),
            Work::Exchange(message) => {
                let name = task.launch.kernel.operator;
                // Annotations on the device begin 1 ns before what they cover, and end 1 ns after it.
                let interval = (task.start_ns - 1, end_ns + 1);
                self.complete("gpu_user_annotation", name, track, interval, "");
                ("kernel", kernel_args(24) + &self.message(task, &message))
            }
        };
        let args = format!(
            "\"External id\": {}, \"device\": {}, \"context\": 1, \"stream\": {}, \"correlation\": {}{rest}",
            external_id(task),
            self.device,
            stream.id(),
            task.correlation
        );
        self.complete(category, task.launch.kernel.name, track, (task.start_ns, end_ns), args);
        self.flow("f", track, task.start_ns, task.correlation);
    }

    /// What NCCL's recorder says of an exchange, in elements of two bytes.
    fn message(&self, task: &Task, message: &Message) -> String {
        let group = &self.history.groups[message.group];
        let elements = message.bytes / 2;
        let direction = match (message.exchange, message.peer) {
            (Exchange::Receive, Some(peer)) => {
                format!(", \"Src Rank\": {peer}, \"Dst Rank\": {}", self.rank)
            }
            (_, Some(peer)) => format!(", \"Src Rank\": {}, \"Dst Rank\": {peer}", self.rank),
            (_, None) => String::new(),
        };
        format!(
            ", \"Collective name\": \"{}\", \"In msg nelems\": {elements}, \"Out msg nelems\": {elements}, \
             \"Group size\": {}, \"dtype\": \"BFloat16\", \"In split size\": \"[]\", \"Out split size\": \"[]\", \
             \"Process Group Name\": \"{}\", \"Process Group Description\": \"{}\", \
             \"Process Group Ranks\": \"{:?}\"{direction}, \"Seq\": {}",
            message.exchange.recorded_name(),
            group.ranks.len(),
            group_name(message.group),
            group.axis.description(),
            group.ranks,
            task.sequence
        )
    }

    /// The steps as the device's own timeline shows them.
    fn device_steps(&mut self, scenario: &Scenario, record: &Record) {
        for (number, step) in (scenario.first_step..).zip(0..scenario.steps) {
            let shown = || record.tasks_of(step).iter().filter(|task| self.capture.shows(task));
            let start_ns = shown().map(|task| task.start_ns).min();
            let end_ns = shown().filter_map(|task| task.end_ns).max();
            let (Some(start_ns), Some(end_ns)) = (start_ns, end_ns) else { continue };
            let name = format!("ProfilerStep#{number}");
            let interval = (start_ns - 1, end_ns + 1);
            self.complete("gpu_user_annotation", &name, Track::Stream(Stream::Compute), interval, "");
        }
    }
}

#[derive(Clone, Copy)]
enum Track {
    Host,
    Stream(Stream),
}

/// Ids of operators and correlations are of different ranges, so that none is taken for the other.
fn external_id(task: &Task) -> u64 {
    1_000_000 + task.correlation
}

fn kernel_args(blocks: u32) -> String {
    format!(", \"queued\": 0, \"grid\": [{blocks}, 1, 1], \"block\": [256, 1, 1]")
}

/// Microseconds with three decimals.
struct Micros(i64);

impl Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}
