//! Device planes: one trace each.
//!
//! A plane holds lines that the device wrote and lines that the profiler derived from them (`Steps`, `XLA Modules`,
//! `Framework Ops`, …). Only the first are device work: the `Stream #N` lines of a GPU; the `XLA Ops` and
//! `Async XLA Ops` lines of a TPU.

use goodput_core::records::Symbol;
use rustc_hash::{FxHashMap, FxHashSet};

use super::hlo;
use super::plane::{Event, EventMetadata, Line, Plane, Stat};
use crate::class::Class;
use crate::reading::{Cause, FileReading};
use crate::trace::{DeviceAnnotation, DeviceInfo, DeviceWork, Stream, TraceBuilder, WorkKind};

/// One device's trace while it is read.
pub(super) struct DeviceTrace {
    /// The plane's name, which names the device.
    pub name: String,
    pub builder: TraceBuilder,
    /// Correlation ids of its work.
    pub launched: FxHashSet<u64>,
    /// Start of its first work.
    pub first_ns: i64,
}

/// Kind and number of the device that a plane is of (`/device:GPU:0`). Planes of chips, sparse cores and custom tracers
/// are none.
pub(super) fn device_of(plane: &str) -> Option<(&str, i64)> {
    let (kind, number) = plane.strip_prefix("/device:")?.split_once(':')?;
    (kind != "CUSTOM").then_some((kind, number.parse().ok()?))
}

/// What a line holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    /// Kernels and copies of a stream.
    Stream,
    /// Operations of a core, which nest.
    Operations,
    /// Operations that run beside the core.
    Asynchronous,
    /// Steps as the device ran them.
    Steps,
    /// Derived from other lines.
    Derived,
}

impl Row {
    fn of(line: &Line<'_>, is_gpu: bool) -> Self {
        match &*line.name {
            name if is_gpu && name.starts_with("Stream #") => Self::Stream,
            "XLA Ops" if !is_gpu => Self::Operations,
            "Async XLA Ops" if !is_gpu => Self::Asynchronous,
            "Steps" => Self::Steps,
            _ => Self::Derived,
        }
    }
}

impl DeviceTrace {
    /// The trace of a plane at `at` of the file; `None` where the plane is of no device or has no work.
    pub fn of(plane: &Plane<'_>, at: u64, reading: &mut FileReading) -> Option<Self> {
        let (kind, number) = device_of(&plane.name)?;
        let trace = Self {
            name: plane.name.to_string(),
            builder: TraceBuilder::default(),
            launched: FxHashSet::default(),
            first_ns: i64::MAX,
        };
        let mut reader = PlaneReader { plane, at, kinds: FxHashMap::default(), trace, reading };
        for (index, line) in (0..).zip(plane.lines()) {
            let row = Row::of(&line, kind == "GPU");
            let id = if row == Row::Stream { line.id } else { index };
            reader.line(&line, row, Stream { device: number, id });
        }
        let mut trace = reader.trace;
        trace.builder.devices.extend(info(plane, kind, number));
        (trace.builder.work_count() > 0).then_some(trace)
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
        let Some((start_ns, end_ns)) =
            self.reading.interval(Some(span_ns.0), Some(span_ns.1), true, self.at, example)
        else {
            return;
        };
        if metadata.name.is_empty() {
            let example = || format!("plane {}, event kind {}", self.plane.name, event.metadata_id);
            self.reading.find(Cause::NoName, self.at, example);
        }
        let builder = &mut self.trace.builder;
        let (name, kind, class) = *self.kinds.entry(event.metadata_id).or_insert_with(|| {
            let (name, kind, class) = match row {
                Row::Stream => kernel(&metadata.name),
                _ => operation(metadata, self.plane.event_stat(event, "hlo_category")),
            };
            (builder.intern(name), kind, class)
        });
        let correlation = self
            .plane
            .event_stat(event, "correlation_id")
            .and_then(|stat| stat.unsigned())
            .filter(|&id| id != 0);
        let work = DeviceWork {
            start_ns,
            end_ns,
            name,
            stream: builder.stream(stream),
            correlation: correlation.unwrap_or(0),
            launch: None,
            operator: None,
            collective: None,
            bytes: None,
            kind,
            class,
        };
        builder.work(work, correlation, correlation);
        self.trace.launched.extend(correlation);
        self.trace.first_ns = self.trace.first_ns.min(start_ns);
        self.reading.device_events += 1;
    }

    /// Steps are named by their number alone. They are what Kineto calls `ProfilerStep#N` on the device's timeline.
    fn step(&mut self, (start, end): (i64, i64), metadata: &EventMetadata<'a>, stream: Stream) {
        let example = || format!("plane {}, step {}", self.plane.name, metadata.name);
        let Some((start_ns, end_ns)) = self.reading.interval(Some(start), Some(end), false, self.at, example)
        else {
            return;
        };
        let builder = &mut self.trace.builder;
        let name = builder.intern(&format!("ProfilerStep#{}", metadata.name));
        let stream = builder.stream(stream);
        builder.annotations.push(DeviceAnnotation { start_ns, end_ns, name, stream });
    }
}

/// A kernel of a GPU. ROCm marks kernel descriptors with `.kd`.
fn kernel(name: &str) -> (&str, WorkKind, Class) {
    let name = name.trim_end_matches(".kd");
    match WorkKind::of_name(name) {
        WorkKind::Kernel => (name, WorkKind::Kernel, Class::of_kernel(name)),
        kind => (name, kind, Class::Memory),
    }
}

/// An operation of a TPU, of which the full name may be the whole instruction.
fn operation<'m>(metadata: &'m EventMetadata<'_>, category: Option<Stat<'_>>) -> (&'m str, WorkKind, Class) {
    let name = if metadata.display_name.is_empty() { &metadata.name } else { &metadata.display_name };
    let category = match &category {
        Some(Stat::Text(category)) => Some(&**category),
        _ => None,
    };
    match hlo::class_of(name, category) {
        Class::Memory => (name, WorkKind::Copy, Class::Memory),
        class => (name, WorkKind::Kernel, class),
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
