//! One process: its rows, named and linked once all lists are read.

use std::path::Path;

use goodput_core::records::Symbol;
use rustc_hash::{FxHashMap, FxHashSet};

use super::row::{Agent, KernelSymbol, KindNames, Marker, Metadata, Row};
use crate::class::Class;
use crate::reading::{Cause, FileReading, Format};
use crate::trace::{
    DeviceInfo, DeviceWork, Epoch, HostKind, HostRange, Identity, Lanes, Launch, Operator, RankTrace, Stream,
    Thread, TraceBuilder, WorkKind, operator_of_range,
};

/// The lists of records that matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Buffer {
    /// Kernels.
    Dispatch,
    /// Copies by the copy engines.
    Copy,
    /// Calls of HIP and HSA.
    Call,
    /// Calls of RCCL.
    Collective,
    /// Ranges of roctx.
    Marker,
}

impl Buffer {
    /// The list of this name.
    pub fn of(key: &[u8]) -> Option<Self> {
        match key {
            b"kernel_dispatch" => Some(Self::Dispatch),
            b"memory_copy" => Some(Self::Copy),
            b"hip_api" | b"hsa_api" => Some(Self::Call),
            b"rccl_api" => Some(Self::Collective),
            b"marker_api" => Some(Self::Marker),
            _ => None,
        }
    }
}

/// What a process recorded, while it is read.
#[derive(Default)]
pub(super) struct Process {
    pub metadata: Metadata,
    pub agents: Vec<Agent>,
    pub kinds: Vec<KindNames>,
    kernels: FxHashMap<i64, String>,
    markers: FxHashMap<u64, String>,
    work: Vec<WorkRow>,
    calls: Vec<CallRow>,
}

/// A kernel or a copy.
struct WorkRow {
    span_ns: (i64, i64),
    correlation: Option<u64>,
    agent: i64,
    what: What,
}

enum What {
    Kernel { id: i64, queue: i64 },
    Copy { kind: i64, operation: i64, bytes: Option<u64> },
}

/// A call or a range of the host.
struct CallRow {
    span_ns: (i64, i64),
    correlation: Option<u64>,
    thread: i64,
    buffer: Buffer,
    kind: i64,
    operation: i64,
}

impl Process {
    /// Keeps the name of a kernel.
    pub fn add_symbol(&mut self, symbol: KernelSymbol) {
        if let Some(id) = symbol.id {
            self.kernels.insert(id, symbol.name);
        }
    }

    /// Keeps the text of a marker.
    pub fn add_marker(&mut self, marker: Marker) {
        if let Some(key) = marker.key {
            self.markers.insert(key, marker.text);
        }
    }

    /// Keeps a row that begins at offset `at`, or counts why not.
    pub fn add_row(&mut self, buffer: Buffer, row: &Row, at: u64, reading: &mut FileReading) {
        reading.events += 1;
        let is_device = matches!(buffer, Buffer::Dispatch | Buffer::Copy);
        let example = || format!("{buffer:?}: start {:?}, end {:?}", row.start_ns, row.end_ns);
        let Some(span_ns) = reading.interval(row.start_ns, row.end_ns, is_device, at, example) else {
            return;
        };
        let or_0 = |figure: Option<i64>| figure.unwrap_or(0);
        if is_device {
            reading.device_events += 1;
            let what = match buffer {
                Buffer::Dispatch => What::Kernel { id: or_0(row.kernel), queue: or_0(row.queue) },
                _ => What::Copy { kind: or_0(row.kind), operation: or_0(row.operation), bytes: row.bytes },
            };
            // A copy belongs to the device that it ends on, or comes from.
            let agent =
                or_0(row.agent.or_else(|| self.gpu(row.destination)).or_else(|| self.gpu(row.source)));
            self.work.push(WorkRow { span_ns, correlation: row.correlation, agent, what });
        } else {
            self.calls.push(CallRow {
                span_ns,
                correlation: row.correlation,
                thread: or_0(row.thread),
                buffer,
                kind: or_0(row.kind),
                operation: or_0(row.operation),
            });
        }
    }

    /// `handle` if it is a GPU's, or if nothing says that it is not.
    fn gpu(&self, handle: Option<i64>) -> Option<i64> {
        let agent = self.agents.iter().find(|agent| agent.handle == handle);
        handle.filter(|_| agent.is_none_or(|agent| agent.is_gpu))
    }

    /// The name of an operation: `hipLaunchKernel`, `MEMORY_COPY_HOST_TO_DEVICE`.
    fn operation(&self, kind: i64, operation: i64) -> &str {
        let index = |number: i64| usize::try_from(number).ok();
        index(kind)
            .and_then(|kind| self.kinds.get(kind)?.operations.get(index(operation)?))
            .map_or("", String::as_str)
    }

    fn finish(mut self, path: &Path, reading: &mut FileReading) -> RankTrace {
        let mut builder = TraceBuilder::default();
        builder.operators_by_nesting = true;
        // Without calls there is nothing to link.
        let launched: FxHashSet<u64> = match self.calls.is_empty() {
            true => FxHashSet::default(),
            false => self.work.iter().filter_map(|row| row.correlation).collect(),
        };
        self.add_work(&mut builder, &launched, reading);
        self.add_calls(&mut builder, &launched, reading);
        let pid = self.metadata.pid;
        builder.identity = Some(Identity {
            host: self.metadata.hostname,
            part: pid.map(|pid| format!("process {pid}")),
            ..Identity::UNKNOWN
        });
        // The machine's clock counts from its boot.
        builder.finish(path, Format::Rocprof, Epoch::Own)
    }

    fn add_work(&mut self, builder: &mut TraceBuilder, launched: &FxHashSet<u64>, reading: &mut FileReading) {
        let mut devices: FxHashMap<i64, i64> = FxHashMap::default();
        let mut engines: FxHashMap<i64, Lanes> = FxHashMap::default();
        let mut kernels: FxHashMap<i64, (Symbol, WorkKind, Class)> = FxHashMap::default();
        for row in std::mem::take(&mut self.work) {
            let device = *devices.entry(row.agent).or_insert_with(|| self.add_device(row.agent, builder));
            let (queue, (name, kind, class), bytes) = match row.what {
                What::Kernel { id, queue } => {
                    let kernel = kernels.entry(id).or_insert_with(|| {
                        let name = self.kernels.get(&id).map_or("", String::as_str);
                        match WorkKind::of_name(name) {
                            WorkKind::Kernel => {
                                (builder.intern(name), WorkKind::Kernel, Class::of_kernel(name))
                            }
                            kind => (builder.intern(name), kind, Class::Memory),
                        }
                    });
                    if kernel.0 == Symbol::EMPTY {
                        reading.find(Cause::NoName, 0, || {
                            format!("kernel {id} is not among the kernel_symbols")
                        });
                    }
                    (queue, *kernel, None)
                }
                What::Copy { kind, operation, bytes } => {
                    let name = builder.intern(self.operation(kind, operation));
                    // The copy engines, of which the trace does not tell which one it was.
                    let engine = engines.entry(device).or_default().place(row.span_ns.0, row.span_ns.1);
                    (engine, (name, WorkKind::Copy, Class::Memory), bytes)
                }
            };
            let work = DeviceWork {
                start_ns: row.span_ns.0,
                end_ns: row.span_ns.1,
                name,
                stream: builder.stream(Stream { device, id: queue }),
                correlation: row.correlation.unwrap_or(0),
                launch: None,
                operator: None,
                collective: None,
                bytes,
                kind,
                class,
            };
            let launch = row.correlation.filter(|id| launched.contains(id));
            builder.work(work, launch, None);
        }
    }

    /// The index of a device; an agent that the file does not describe goes by its handle.
    fn add_device(&self, handle: i64, builder: &mut TraceBuilder) -> i64 {
        let Some(agent) = self.agents.iter().find(|agent| agent.handle == Some(handle)) else {
            return handle;
        };
        let id = agent.gpu_index.unwrap_or(handle);
        builder.devices.push(DeviceInfo {
            id,
            name: agent.product_name.clone(),
            memory_bytes: agent.memory_bytes,
            processors: agent.compute_units,
        });
        id
    }

    fn add_calls(
        &mut self,
        builder: &mut TraceBuilder,
        launched: &FxHashSet<u64>,
        reading: &mut FileReading,
    ) {
        for row in std::mem::take(&mut self.calls) {
            let (start_ns, end_ns) = row.span_ns;
            let thread = builder.thread(Thread { process: self.metadata.pid.unwrap_or(0), id: row.thread });
            let mut name = self.operation(row.kind, row.operation);
            let mut kind = None;
            let mut operator = None;
            let launches = row.correlation.filter(|id| row.buffer == Buffer::Call && launched.contains(id));
            match row.buffer {
                Buffer::Marker => {
                    name = row.correlation.and_then(|id| self.markers.get(&id)).map_or("", String::as_str);
                    operator = operator_of_range(name);
                    kind = match operator {
                        Some(operator) => HostKind::of_operator(operator),
                        // A mark has no duration, and a call that only ends a range has no text.
                        None => (end_ns > start_ns && !name.is_empty()).then(|| HostKind::of_range(name)),
                    };
                }
                Buffer::Collective => operator = Some(name),
                _ => kind = HostKind::of_call(name),
            }
            if launches.is_none() && kind.is_none() && operator.is_none() {
                reading.ignored += 1;
                continue;
            }
            if let Some(operator) = operator {
                let name = builder.intern(operator);
                builder.operator(Operator::named(name, thread, row.span_ns), None);
            }
            let name = builder.intern(operator.unwrap_or(name));
            if let Some(key) = launches {
                builder.launch(Launch { start_ns, end_ns, name, thread }, key);
            }
            if let Some(kind) = kind {
                builder.ranges.push(HostRange { start_ns, end_ns, kind, name, thread });
            }
        }
    }
}

/// The traces of a file's processes; those without device work are left out where others have some.
pub(super) fn finish(mut processes: Vec<Process>, path: &Path, reading: &mut FileReading) -> Vec<RankTrace> {
    if reading.device_events == 0 {
        reading.find(Cause::NoDeviceWork, 0, || "no kernel_dispatch and no memory_copy".into());
        processes.truncate(1);
        processes.resize_with(1, Process::default);
    } else {
        processes.retain(|process| !process.work.is_empty());
    }
    processes.into_iter().map(|process| process.finish(path, reading)).collect()
}
