//! The host plane: launches, which name their device work by correlation, and ranges.

use std::borrow::Cow;

use goodput_core::records::{Symbol, Symbols};

use super::device::DeviceTrace;
use super::plane::{Event, Plane, Stat};
use super::vocabulary::host_kind;
use crate::reading::{Cause, FileReading};
use crate::trace::{HostKind, HostRange, Launch, Operator, Thread, TraceBuilder};

/// What the host did, for the traces of all its devices.
#[derive(Default)]
pub(crate) struct HostEvents {
    names: Symbols,
    launches: Vec<HostLaunch>,
    ranges: Vec<(Thread, Range)>,
}

/// An event of a host's thread.
pub(crate) struct HostEvent<'a> {
    pub span_ns: (i64, i64),
    pub thread: Thread,
    pub name: &'a str,
    /// What the partition asks for.
    pub kind: Option<HostKind>,
    /// The id of the device work that it launches.
    pub correlation: Option<u64>,
    /// The operation of the program that it runs.
    pub hlo_op: Option<Cow<'a, str>>,
}

/// A call that has device work.
struct HostLaunch {
    span_ns: (i64, i64),
    thread: Thread,
    name: Symbol,
    /// The operation of the program that it runs, and the id of the device work.
    hlo_op: Option<Symbol>,
    correlation: u64,
}

struct Range {
    span_ns: (i64, i64),
    kind: HostKind,
    name: Symbol,
}

impl HostEvents {
    /// Reads the plane of the host's threads.
    pub(super) fn read(&mut self, plane: &Plane<'_>, base_at: u64, reading: &mut FileReading) {
        for line in plane.lines() {
            let thread = Thread { process: 0, id: line.id };
            let (events, broken_at) = line.events();
            reading.events += events.len() as u64;
            if broken_at.is_some() {
                reading.find(Cause::BrokenEvent, base_at, || {
                    format!("plane {}, line {}", plane.name, line.name)
                });
            }
            for event in &events {
                self.event(plane, event, thread, base_at, reading);
            }
        }
    }

    fn event<'a>(
        &mut self,
        plane: &Plane<'a>,
        event: &Event<'a>,
        thread: Thread,
        base_at: u64,
        reading: &mut FileReading,
    ) {
        let Some(metadata) = plane.metadata(event) else {
            reading.ignored += 1;
            return;
        };
        let name = &*metadata.name;
        let correlation =
            plane.event_stat(event, "correlation_id").and_then(|stat| stat.unsigned()).filter(|&id| id != 0);
        let step = plane.event_stat(event, "step_num").and_then(|stat| stat.number());
        let kind = host_kind(name, step);
        if event.span_ns.is_none() || (correlation.is_none() && kind.is_none()) {
            reading.ignored += 1;
            return;
        }
        let span = event.span_ns;
        let Some(span_ns) =
            reading.interval(span.map(|s| s.0), span.map(|s| s.1), false, base_at, || name.to_owned())
        else {
            return;
        };
        let hlo_op = match plane.event_stat(event, "hlo_op") {
            Some(Stat::Text(op)) => Some(op),
            _ => None,
        };
        self.add(HostEvent { span_ns, thread, name, kind, correlation, hlo_op });
    }

    /// Adds an event; `false` when it is of no concern.
    pub fn add(&mut self, event: HostEvent<'_>) -> bool {
        let HostEvent { span_ns, thread, kind, correlation, .. } = event;
        if correlation.is_none() && kind.is_none() {
            return false;
        }
        let name = self.names.intern(event.name);
        if let Some(correlation) = correlation {
            let hlo_op = event.hlo_op.map(|op| self.names.intern(&op));
            self.launches.push(HostLaunch { span_ns, thread, name, hlo_op, correlation });
        }
        if let Some(kind) = kind {
            self.ranges.push((thread, Range { span_ns, kind, name }));
        }
        true
    }

    /// Adds to a device's trace what launched its work, and what its host did.
    pub fn add_to(&self, trace: &mut DeviceTrace) {
        for launch in &self.launches {
            if trace.launched.contains(&launch.correlation) {
                launch.add_to(&mut trace.builder, &self.names);
            }
        }
        self.add_ranges(&mut trace.builder);
    }

    /// Adds what the host did.
    pub fn add_ranges(&self, builder: &mut TraceBuilder) {
        for (thread, range) in &self.ranges {
            let (start_ns, end_ns) = range.span_ns;
            let thread = builder.thread(*thread);
            let name = builder.intern(self.names.get(range.name));
            builder.ranges.push(HostRange { start_ns, end_ns, kind: range.kind, name, thread });
        }
    }
}

impl HostLaunch {
    fn add_to(&self, builder: &mut TraceBuilder, names: &Symbols) {
        let (start_ns, end_ns) = self.span_ns;
        let thread = builder.thread(self.thread);
        let name = builder.intern(names.get(self.name));
        builder.launch(Launch { start_ns, end_ns, name, thread }, self.correlation);
        if let Some(op) = self.hlo_op {
            let name = builder.intern(names.get(op));
            builder.operator(Operator::named(name, thread, self.span_ns), Some(self.correlation));
        }
    }
}
