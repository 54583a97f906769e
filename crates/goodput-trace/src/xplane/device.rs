//! Device planes: one trace each.
//!
//! A plane holds lines that the device wrote and lines that the profiler derived from them (`Steps`, `XLA Modules`,
//! `Framework Ops`, …). Only the first are device work: the `Stream #N` lines of a GPU; the `XLA Ops` and
//! `Async XLA Ops` lines of a TPU.

use goodput_core::records::Symbol;
use rustc_hash::{FxHashMap, FxHashSet};

use super::plane::{Event, EventMetadata, Line, Plane, Stat};
use super::vocabulary::{Row, device_of, kernel, operation};
use crate::class::Class;
use crate::reading::{Cause, FileReading};
use crate::trace::{DeviceAnnotation, DeviceInfo, DeviceWork, Lanes, Stream, TraceBuilder, WorkKind};

/// One device's trace while it is read.
pub(crate) struct DeviceTrace {
    /// The plane's name, which names the device.
    pub name: String,
    pub builder: TraceBuilder,
    /// Correlation ids of its work.
    pub launched: FxHashSet<u64>,
    /// Start of its first work.
    pub first_ns: i64,
    lanes: Lanes,
}

impl DeviceTrace {
    /// Nothing read yet.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            builder: TraceBuilder::default(),
            launched: FxHashSet::default(),
            first_ns: i64::MAX,
            lanes: Lanes::default(),
        }
    }

    /// The trace of a plane at `at` of the file; `None` where the plane is of no device or has no work.
    pub(super) fn of(plane: &Plane<'_>, at: u64, reading: &mut FileReading) -> Option<Self> {
        let (kind, number) = device_of(&plane.name)?;
        let trace = Self::new(&plane.name);
        let mut reader = PlaneReader { plane, at, kinds: FxHashMap::default(), trace, reading };
        for (index, line) in (0..).zip(plane.lines()) {
            let row = Row::of(&line.name, kind == "GPU");
            let id = if row == Row::Stream { line.id } else { index };
            reader.line(&line, row, Stream { device: number, id });
        }
        let mut trace = reader.trace;
        trace.builder.devices.extend(info(plane, kind, number));
        (trace.builder.work_count() > 0).then_some(trace)
    }

    /// Adds work of a line with what it is, and with the id that ties it to its launch.
    pub fn add(
        &mut self,
        row: Row,
        stream: Stream,
        (start_ns, end_ns): (i64, i64),
        (name, kind, class): (Symbol, WorkKind, Class),
        correlation: Option<u64>,
    ) {
        // Operations under way at one time share a line.
        let id = if row == Row::Asynchronous { self.lanes.place(start_ns, end_ns) } else { stream.id };
        let work = DeviceWork {
            start_ns,
            end_ns,
            name,
            stream: self.builder.stream(Stream { id, ..stream }),
            correlation: correlation.unwrap_or(0),
            launch: None,
            operator: None,
            collective: None,
            bytes: None,
            kind,
            class,
        };
        self.launched.extend(correlation);
        self.first_ns = self.first_ns.min(start_ns);
        self.builder.work(work, correlation, correlation);
    }

    /// Adds a step, which is named by its number alone. It is what Kineto calls `ProfilerStep#N` on the device's timeline.
    pub fn step(&mut self, (start_ns, end_ns): (i64, i64), number: &str, stream: Stream) {
        let name = self.builder.intern(&format!("ProfilerStep#{number}"));
        let stream = self.builder.stream(stream);
        self.builder.annotations.push(DeviceAnnotation { start_ns, end_ns, name, stream });
    }
}

/// A plane while it is read.
struct PlaneReader<'p, 'a> {
    plane: &'p Plane<'a>,
    at: u64,
    /// What each kind of event is, by the id of its metadata.
    kinds: FxHashMap<i64, (Symbol, WorkKind, Class)>,
    trace: DeviceTrace,
    reading: &'p mut FileReading,
}

impl<'a> PlaneReader<'_, 'a> {
    fn line(&mut self, line: &Line<'a>, row: Row, stream: Stream) {
        let (events, broken_at) = line.events();
        self.reading.events += events.len() as u64;
        if broken_at.is_some() {
            self.reading.find(Cause::BrokenEvent, self.at, || {
                format!("plane {}, line {}", self.plane.name, line.name)
            });
        }
        let containers = match row {
            Row::Derived => {
                self.reading.ignored += events.len() as u64;
                return;
            }
            Row::Operations => containers(&events),
            _ => FxHashSet::default(),
        };
        for (position, event) in events.iter().enumerate() {
            let Some(span_ns) = event.span_ns.filter(|_| !containers.contains(&position)) else {
                self.reading.ignored += 1;
                continue;
            };
            match self.plane.metadata(event) {
                Some(metadata) if row == Row::Steps => self.step(span_ns, metadata, stream),
                Some(metadata) => self.work(event, span_ns, metadata, stream, row),
                None if row == Row::Steps => self.reading.ignored += 1,
                None => self.work(event, span_ns, &EventMetadata::default(), stream, row),
            }
        }
    }

    fn work(
        &mut self,
        event: &Event<'a>,
        span_ns: (i64, i64),
        metadata: &EventMetadata<'a>,
        stream: Stream,
        row: Row,
    ) {
        let example = || format!("plane {}, {}", self.plane.name, metadata.name);
        let Some(span_ns) = self.reading.interval(Some(span_ns.0), Some(span_ns.1), true, self.at, example)
        else {
            return;
        };
        if metadata.name.is_empty() {
            let example = || format!("plane {}, event kind {}", self.plane.name, event.metadata_id);
            self.reading.find(Cause::NoName, self.at, example);
        }
        let builder = &mut self.trace.builder;
        let kind = *self.kinds.entry(event.metadata_id).or_insert_with(|| {
            let (name, kind, class) = match row {
                Row::Stream => kernel(&metadata.name),
                _ => {
                    // The full name may be the whole instruction.
                    let display_name = Some(&metadata.display_name).filter(|name| !name.is_empty());
                    let category = self.plane.event_stat(event, "hlo_category");
                    operation(display_name.unwrap_or(&metadata.name), category.as_ref().and_then(Stat::text))
                }
            };
            (builder.intern(name), kind, class)
        });
        let correlation = self
            .plane
            .event_stat(event, "correlation_id")
            .and_then(|stat| stat.unsigned())
            .filter(|&id| id != 0);
        self.trace.add(row, stream, span_ns, kind, correlation);
        self.reading.device_events += 1;
    }

    fn step(&mut self, (start, end): (i64, i64), metadata: &EventMetadata<'a>, stream: Stream) {
        let example = || format!("plane {}, step {}", self.plane.name, metadata.name);
        if let Some(span_ns) = self.reading.interval(Some(start), Some(end), false, self.at, example) {
            self.trace.step(span_ns, &metadata.name, stream);
        }
    }
}

/// Positions of the operations that hold others (`while`, `conditional`, `call`): what is inside is the work.
fn containers(events: &[Event<'_>]) -> FxHashSet<usize> {
    let mut order: Vec<(i64, i64, usize)> = events
        .iter()
        .enumerate()
        .filter_map(|(position, event)| {
            event.span_ns.map(|(start, end)| (start, end.saturating_neg(), position))
        })
        .collect();
    order.sort_unstable();
    let holds = |outer: &(i64, i64, usize), inner: &(i64, i64, usize)| {
        let (outer_end, inner_end) = (-outer.1, -inner.1);
        inner.0 < outer_end && inner_end <= outer_end && inner_end > inner.0
    };
    order.windows(2).filter(|pair| holds(&pair[0], &pair[1])).map(|pair| pair[0].2).collect()
}

fn info(plane: &Plane<'_>, kind: &str, number: i64) -> Option<DeviceInfo> {
    let text = |name| match plane.stat(name) {
        Some(Stat::Text(text)) if !text.is_empty() => Some(text.into_owned()),
        _ => None,
    };
    let name =
        text("device_type_string").or_else(|| text("device_vendor").map(|vendor| format!("{vendor} {kind}")));
    Some(DeviceInfo {
        id: number,
        name: name?,
        memory_bytes: plane.stat("memory_size").and_then(|stat| stat.unsigned()),
        processors: plane.stat("core_count").and_then(|stat| stat.unsigned()?.try_into().ok()),
    })
}
