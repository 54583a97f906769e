//! Chrome traces that XLA's profiler writes beside an XSpace (`trace.json.gz` of JAX): events have no category; the
//! names of their process and thread, which come first, say what they are.

use std::path::Path;

use goodput_core::records::Symbol;
use rustc_hash::FxHashMap;

use super::event::Event;
use super::rows::{Span, number_of};
use crate::class::Class;
use crate::json::{Scan, Scanner, Value, decode, integer};
use crate::reading::{FileReading, Format};
use crate::trace::{Epoch, Identity, RankTrace, Stream, Thread, TraceBuilder, WorkKind};
use crate::xplane::vocabulary::{Row, device_of, holds_operations, host_kind, kernel, operation};
use crate::xplane::{DeviceTrace, HostEvent, HostEvents};

/// A profile while its events are read.
#[derive(Default)]
pub(super) struct Profile {
    processes: FxHashMap<i64, Process>,
    /// Names of threads by process and thread.
    threads: FxHashMap<(i64, i64), String>,
    devices: Vec<Device>,
    host: HostEvents,
}

/// A device and the process that stands for it.
struct Device {
    process: i64,
    trace: DeviceTrace,
    /// What each name is.
    kinds: FxHashMap<Box<[u8]>, (Symbol, WorkKind, Class)>,
}

/// What a process of the trace stands for.
enum Process {
    Device { name: String, number: i64, is_gpu: bool },
    Host,
}

impl Profile {
    /// Whether events of this process are of such a profile.
    pub fn knows(&self, process: &[u8]) -> bool {
        !self.processes.is_empty() && self.processes.contains_key(&number_of(process))
    }

    /// Takes an event that names a process or a thread.
    pub fn name(&mut self, event: &Event<'_>, raw: &[u8]) {
        let Ok(Details { name: Some(name), .. }) = Details::scan(&mut Scanner::new(raw)) else { return };
        let name = decode(name).text.into_owned();
        let process = number_of(event.process);
        match event.name {
            b"process_name" if name.starts_with("/host:") => {
                self.processes.insert(process, Process::Host);
            }
            b"process_name" => {
                if let Some((kind, number)) = device_of(&name) {
                    let is_gpu = kind == "GPU";
                    self.processes.insert(process, Process::Device { name, number, is_gpu });
                }
            }
            b"thread_name" => {
                self.threads.insert((process, number_of(event.thread)), name);
            }
            _ => {}
        }
    }

    /// Takes an event, whose text is `raw`, of a process that is known.
    pub fn event(&mut self, event: &Event<'_>, raw: &[u8], span: Span, reading: &mut FileReading) {
        let details = Details::scan(&mut Scanner::new(raw)).unwrap_or_default();
        let process = number_of(event.process);
        let is_kept = match self.processes.get(&process) {
            Some(Process::Device { .. }) => self.device_event(event, &details, process, span, reading),
            Some(Process::Host) => self.host_event(event, &details, span),
            None => false,
        };
        reading.ignored += u64::from(!is_kept);
    }

    fn host_event(&mut self, event: &Event<'_>, details: &Details<'_>, span: Span) -> bool {
        let name = decode(event.name).text;
        let kind = host_kind(&name, details.step);
        self.host.add(HostEvent {
            span_ns: (span.start_ns, span.end_ns),
            thread: Thread { process: 0, id: number_of(event.thread) },
            name: &name,
            kind,
            correlation: details.correlation,
            hlo_op: details.hlo_op.map(|op| decode(op).text),
        })
    }

    fn device_event(
        &mut self,
        event: &Event<'_>,
        details: &Details<'_>,
        process: i64,
        span: Span,
        reading: &mut FileReading,
    ) -> bool {
        let Some(Process::Device { name, number, is_gpu }) = self.processes.get(&process) else {
            return false;
        };
        let thread = number_of(event.thread);
        let line = self.threads.get(&(process, thread)).map_or("", String::as_str);
        let row = Row::of(line, *is_gpu);
        let place = self.devices.iter().position(|known| known.process == process).unwrap_or_else(|| {
            self.devices.push(Device { process, trace: DeviceTrace::new(name), kinds: FxHashMap::default() });
            self.devices.len() - 1
        });
        let device = &mut self.devices[place];
        let stream = Stream { device: *number, id: thread };
        let span_ns = (span.start_ns, span.end_ns);
        match row {
            Row::Derived => return false,
            Row::Steps => device.trace.step(span_ns, &decode(event.name).text, stream),
            Row::Operations if holds_operations(&decode(event.name).text) => return false,
            Row::Stream | Row::Operations | Row::Asynchronous => {
                device.add(event, details, row, span_ns, stream);
                reading.device_events += 1;
            }
        }
        true
    }

    /// One trace a device with work, else one of what the host did, else none.
    pub fn finish(self, identity: &Identity, path: &Path) -> Vec<RankTrace> {
        let Self { processes, devices, host, .. } = self;
        let mut traces = Vec::new();
        for Device { mut trace, .. } in devices {
            if trace.builder.work_count() > 0 {
                host.add_to(&mut trace);
                trace.builder.identity = Some(Identity { part: Some(trace.name), ..identity.clone() });
                traces.push(trace.builder);
            }
        }
        if traces.is_empty() && !processes.is_empty() {
            let mut builder = TraceBuilder::default();
            builder.identity = Some(identity.clone());
            host.add_ranges(&mut builder);
            traces.push(builder);
        }
        // Stamps count from the start of the profile, which is not in the file.
        traces.into_iter().map(|builder| builder.finish(path, Format::Chrome, Epoch::Own)).collect()
    }
}

impl Device {
    fn add(
        &mut self,
        event: &Event<'_>,
        details: &Details<'_>,
        row: Row,
        span_ns: (i64, i64),
        stream: Stream,
    ) {
        let builder = &mut self.trace.builder;
        let kind = match self.kinds.get(event.name) {
            Some(&known) => known,
            None => {
                let name = decode(event.name).text;
                let category = details.category.map(|category| decode(category).text);
                let (name, kind, class) = match row {
                    Row::Stream => kernel(&name),
                    _ => operation(&name, category.as_deref()),
                };
                let decided = (builder.intern(name), kind, class);
                self.kinds.insert(event.name.into(), decided);
                decided
            }
        };
        self.trace.add(row, stream, span_ns, kind, details.correlation);
    }
}

/// What the arguments of an event say.
#[derive(Debug, Default)]
struct Details<'a> {
    /// Of a process or thread.
    name: Option<&'a [u8]>,
    correlation: Option<u64>,
    hlo_op: Option<&'a [u8]>,
    category: Option<&'a [u8]>,
    step: Option<i64>,
}

impl<'a> Details<'a> {
    fn scan(scanner: &mut Scanner<'a>) -> Scan<Self> {
        let mut details = Self::default();
        scanner.expect(b'{', "no event")?;
        while let Some(key) = scanner.key()? {
            if key == b"args" && scanner.accept(b'{')? {
                while let Some(key) = scanner.key()? {
                    details.set(key, scanner.value()?);
                }
            } else {
                scanner.value()?;
            }
        }
        Ok(details)
    }

    fn set(&mut self, key: &[u8], value: Value<'a>) {
        let number = || integer(value.scalar());
        match key {
            b"name" => self.name = Some(value.scalar()),
            b"correlation_id" => {
                self.correlation = number().and_then(|id| id.try_into().ok()).filter(|&id| id != 0);
            }
            b"hlo_op" => self.hlo_op = Some(value.scalar()),
            b"hlo_category" => self.category = Some(value.scalar()),
            b"step_num" => self.step = number(),
            _ => {}
        }
    }
}
