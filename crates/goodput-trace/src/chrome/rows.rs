//! Events become rows of a trace.

use std::hash::Hasher;

use goodput_core::records::Symbol;
use rustc_hash::{FxHashMap, FxHasher};

use super::args::Args;
use super::collective::collective_args;
use super::event::{Category, Event};
use super::foreign;
use super::names::{Kernel, Names, Seen};
use crate::class::Class;
use crate::json::{integer, micros_to_ns};
use crate::reading::{Cause, FileReading, shortened};
use crate::trace::{
    CollectiveKind, DeviceAnnotation, DeviceWork, HostKind, HostRange, Lanes, Launch, MemorySample, Operator,
    Stream, StreamWait, Thread, TraceBuilder, WorkKind, is_garbage_collection,
};

/// The rows of one rank while its file is read.
#[derive(Default)]
pub(super) struct Rows {
    pub builder: TraceBuilder,
    /// Earliest start that was kept, before the base time is added.
    pub earliest_ns: Option<i64>,
    names: Names,
    last_thread: Option<(Thread, u32)>,
    last_stream: Option<(Stream, u32)>,
    /// Lanes of engines that do several things at once.
    lanes: FxHashMap<i64, Lanes>,
}

/// When an event happened, and where its text begins.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub start_ns: i64,
    pub end_ns: i64,
    pub at: u64,
}

impl Rows {
    /// Adds an event that lasts.
    pub fn add(&mut self, event: &Event<'_>, span: Span, reading: &mut FileReading) {
        if let Some((key, figure)) = event.args.not_finite {
            reading.find(Cause::NotFinite, span.at, || {
                shortened(&format!("{}: {}", String::from_utf8_lossy(key), String::from_utf8_lossy(figure)))
            });
        }
        let is_kept = match event.category {
            Category::Kernel => {
                let kernel = self.names.kernel(event.name, seen(&mut self.builder, reading, span.at));
                self.work(event, span, WorkKind::Kernel, kernel, reading)
            }
            Category::Copy | Category::Fill => {
                let name = self.names.text(event.name, seen(&mut self.builder, reading, span.at));
                let kind = if event.category == Category::Copy { WorkKind::Copy } else { WorkKind::Fill };
                self.work(event, span, kind, Kernel { name, class: Class::Memory, collective: None }, reading)
            }
            Category::Call => self.call(event, span, reading),
            Category::Operator => self.operator(event, span, reading),
            Category::Annotation => {
                let (name, kind) =
                    self.names.annotation(event.name, seen(&mut self.builder, reading, span.at));
                self.range(event, span, name, kind)
            }
            Category::Overhead => {
                let name = self.names.text(event.name, seen(&mut self.builder, reading, span.at));
                self.range(event, span, name, HostKind::ProfilerOverhead)
            }
            Category::DeviceAnnotation => self.device_annotation(event, span, reading),
            Category::Sync => self.wait(event, span),
            Category::Absent => self.uncategorised(event, span, reading),
            Category::Python if is_collector(event.name) => {
                let name = self.names.text(event.name, seen(&mut self.builder, reading, span.at));
                self.range(event, span, name, HostKind::GarbageCollection)
            }
            Category::Python | Category::Other => false,
        };
        if is_kept {
            self.earliest_ns = Some(self.earliest_ns.map_or(span.start_ns, |ns| ns.min(span.start_ns)));
        } else {
            reading.ignored += 1;
        }
    }

    /// Adds a sample of the device's allocator; `false` when it is of the host's.
    pub fn memory(&mut self, args: &Args<'_>, at_ns: i64) -> bool {
        let (Some(change_bytes), true) = (args.bytes, args.device_type != Some(0)) else { return false };
        let size = |bytes: Option<i64>| bytes.and_then(|bytes| u64::try_from(bytes).ok());
        self.builder.memory.push(MemorySample {
            at_ns,
            change_bytes,
            allocated_bytes: size(args.allocated_bytes),
            reserved_bytes: size(args.reserved_bytes),
        });
        true
    }

    fn work(
        &mut self,
        event: &Event<'_>,
        span: Span,
        kind: WorkKind,
        kernel: Kernel,
        reading: &mut FileReading,
    ) -> bool {
        let args = &event.args;
        let collective = match args.collective {
            Some(raw) => {
                let by_kernel = kernel.collective.unwrap_or(CollectiveKind::Unknown);
                let symbols = &mut self.builder.names;
                // The scanner has been over these bytes: they cannot stop it now.
                collective_args(raw, by_kernel, &mut self.names, symbols, reading, span.at).ok()
            }
            None => kernel.collective.map(super::collective::bare),
        };
        let collective = collective.map(|collective| self.builder.collective(collective));
        let stream = self.stream(event);
        let work = DeviceWork {
            start_ns: span.start_ns,
            end_ns: span.end_ns,
            name: kernel.name,
            stream,
            correlation: args.correlation.unwrap_or(0),
            launch: None,
            operator: None,
            collective,
            bytes: args.bytes.and_then(|bytes| u64::try_from(bytes).ok()),
            kind,
            class: kernel.class,
        };
        // Where no operator was linked, some versions write the correlation as the external id (kineto #782).
        let operator = args.external.filter(|_| args.external != args.correlation);
        self.builder.work(work, args.correlation, operator);
        reading.device_events += 1;
        reading.kernels += u64::from(kind == WorkKind::Kernel);
        true
    }

    fn call(&mut self, event: &Event<'_>, span: Span, reading: &mut FileReading) -> bool {
        let call = self.names.call(event.name, seen(&mut self.builder, reading, span.at));
        if !call.enqueues && call.kind.is_none() {
            return false;
        }
        if let Some(kind) = call.kind {
            self.range(event, span, call.name, kind);
        }
        if let (true, Some(correlation)) = (call.enqueues, event.args.correlation) {
            let thread = self.thread(event);
            let launch = Launch { start_ns: span.start_ns, end_ns: span.end_ns, name: call.name, thread };
            self.builder.launch(launch, correlation);
        }
        true
    }

    fn operator(&mut self, event: &Event<'_>, span: Span, reading: &mut FileReading) -> bool {
        let operator = self.names.operator(event.name, seen(&mut self.builder, reading, span.at));
        if let Some(kind) = operator.kind {
            self.range(event, span, operator.name, kind);
        }
        let symbols = &mut self.builder.names;
        let input_shapes = self.names.list(event.args.input_shapes, symbols);
        let input_types = self.names.list(event.args.input_types, symbols);
        let values = if operator.keeps_values { event.args.input_values } else { b"" };
        let input_values = self.names.list(values, symbols);
        let thread = self.thread(event);
        self.builder.operator(
            Operator {
                start_ns: span.start_ns,
                end_ns: span.end_ns,
                name: operator.name,
                thread,
                input_shapes,
                input_types,
                input_values,
            },
            event.args.external,
        );
        true
    }

    /// An event without a category: of another writer than Kineto.
    fn uncategorised(&mut self, event: &Event<'_>, span: Span, reading: &mut FileReading) -> bool {
        match foreign::device_work(event.name) {
            Some((kind, class, collective)) => {
                let name = self.names.text(event.name, seen(&mut self.builder, reading, span.at));
                let mut event = event.clone();
                event.args.stream = Some(self.lane(number_of(event.thread), span));
                self.work(&event, span, kind, Kernel { name, class, collective }, reading)
            }
            None => {
                let (name, kind) =
                    self.names.annotation(event.name, seen(&mut self.builder, reading, span.at));
                self.range(event, span, name, kind)
            }
        }
    }

    fn device_annotation(&mut self, event: &Event<'_>, span: Span, reading: &mut FileReading) -> bool {
        let name = self.names.text(event.name, seen(&mut self.builder, reading, span.at));
        let stream = self.stream(event);
        // Kineto writes them a nanosecond early and two longer, so that viewers nest them. Whole microseconds show none of it.
        let widened = i64::from(memchr::memchr(b'.', event.start).is_some());
        let start_ns = span.start_ns + widened;
        let end_ns = (span.end_ns - widened).max(start_ns);
        self.builder.annotations.push(DeviceAnnotation { start_ns, end_ns, name, stream });
        true
    }

    fn wait(&mut self, event: &Event<'_>, span: Span) -> bool {
        let args = &event.args;
        let device = args.device.unwrap_or_else(|| number_of(event.process));
        let stream_of = |rows: &mut Self, id: Option<i64>| {
            id.filter(|&id| id >= 0).map(|id| rows.builder.stream(Stream { device, id }))
        };
        let (stream, waits_for) = if args.sync_kind == b"Stream Wait Event" {
            (stream_of(self, args.stream), stream_of(self, args.wait_on_stream))
        } else {
            // The host waits for an event, a stream or the whole context.
            (None, stream_of(self, args.wait_on_stream).or_else(|| stream_of(self, args.stream)))
        };
        self.builder.waits.push(StreamWait {
            start_ns: span.start_ns,
            end_ns: span.end_ns,
            stream,
            waits_for,
        });
        true
    }

    fn range(&mut self, event: &Event<'_>, span: Span, name: Symbol, kind: HostKind) -> bool {
        let thread = self.thread(event);
        self.builder.ranges.push(HostRange {
            start_ns: span.start_ns,
            end_ns: span.end_ns,
            kind,
            name,
            thread,
        });
        true
    }

    /// A stream of its own for what runs beside other work of its engine, which is no error there: transfers overlap.
    fn lane(&mut self, engine: i64, span: Span) -> i64 {
        engine.wrapping_add(self.lanes.entry(engine).or_default().place(span.start_ns, span.end_ns))
    }

    /// Neighbouring events are mostly of one thread.
    fn thread(&mut self, event: &Event<'_>) -> u32 {
        let thread = Thread { process: number_of(event.process), id: number_of(event.thread) };
        match self.last_thread {
            Some((last, index)) if last == thread => index,
            _ => {
                let index = self.builder.thread(thread);
                self.last_thread = Some((thread, index));
                index
            }
        }
    }

    /// Device and stream are arguments; where they lack they are the process and the thread.
    fn stream(&mut self, event: &Event<'_>) -> u32 {
        let stream = Stream {
            device: event.args.device.unwrap_or_else(|| number_of(event.process)),
            id: event.args.stream.unwrap_or_else(|| number_of(event.thread)),
        };
        match self.last_stream {
            Some((last, index)) if last == stream => index,
            _ => {
                let index = self.builder.stream(stream);
                self.last_stream = Some((stream, index));
                index
            }
        }
    }
}

/// Whether a Python frame is the garbage collector.
pub(super) fn is_collector(name: &[u8]) -> bool {
    name.len() < 32 && std::str::from_utf8(name).is_ok_and(is_garbage_collection)
}

/// Microseconds as nanoseconds, when they can be an instant: within 146 years after and 36 before what they count from.
#[inline]
pub(super) fn stamp(text: &[u8]) -> Option<i64> {
    micros_to_ns(text).filter(|ns| (-(1 << 60)..1 << 62).contains(ns))
}

/// The stamps of a complete event; `None` is counted as what it is.
pub(super) fn span_of(event: &Event<'_>, at: u64, reading: &mut FileReading) -> Option<Span> {
    let refuse = |cause, reading: &mut FileReading| {
        refuse(cause, event, at, reading);
        None
    };
    let Some(start_ns) = stamp(event.start) else { return refuse(Cause::NoStamp, reading) };
    let duration_ns = match micros_to_ns(event.duration) {
        // Kineto writes -1 for what never ended.
        None | Some(-1000) => return refuse(Cause::Unfinished, reading),
        Some(duration_ns) if duration_ns < 0 => return refuse(Cause::NegativeDuration, reading),
        Some(duration_ns) => duration_ns,
    };
    if start_ns == 0 && duration_ns == 0 && event.category.is_device_work() {
        return refuse(Cause::LostDeviceEvent, reading);
    }
    match start_ns.checked_add(duration_ns).filter(|&end_ns| end_ns < 1 << 62) {
        Some(end_ns) => Some(Span { start_ns, end_ns, at }),
        None => refuse(Cause::NoStamp, reading),
    }
}

/// Counts an event that is not used.
pub(super) fn refuse(cause: Cause, event: &Event<'_>, at: u64, reading: &mut FileReading) {
    reading.lost_device_events += u64::from(event.category.is_device_work());
    reading.lost_kernels += u64::from(event.category == Category::Kernel);
    reading.find(cause, at, || shortened(&String::from_utf8_lossy(event.name)));
}

fn seen<'a>(builder: &'a mut TraceBuilder, reading: &'a mut FileReading, at: u64) -> Seen<'a> {
    Seen { symbols: &mut builder.names, reading, at }
}

/// The number of a process, thread or stream: written as a number, as a string, or as `stream 7`. A word stands for
/// its hash.
pub(super) fn number_of(id: &[u8]) -> i64 {
    let digits = id.strip_prefix(b"stream ").unwrap_or(id);
    integer(digits).unwrap_or_else(|| {
        let mut hasher = FxHasher::default();
        hasher.write(id);
        hasher.finish().cast_signed()
    })
}
