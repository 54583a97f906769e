//! The host plane: launches, which name their device work by correlation, and ranges.

use goodput_core::records::{Symbol, Symbols};

use super::device::DeviceTrace;
use super::plane::{Event, Plane, Stat};
use crate::reading::{Cause, FileReading};
use crate::trace::{HostKind, HostRange, Launch, Operator, Thread, TraceBuilder};

/// What the host did, for the traces of all its devices.
#[derive(Default)]
pub(super) struct HostEvents {
    names: Symbols,
    launches: Vec<HostLaunch>,
    ranges: Vec<(Thread, Range)>,
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
    pub fn read(&mut self, plane: &Plane<'_>, base_at: u64, reading: &mut FileReading) {
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
        let kind = kind_of(name, || plane.event_stat(event, "step_num"));
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
        let symbol = self.names.intern(name);
        if let Some(correlation) = correlation {
            let hlo_op = match plane.event_stat(event, "hlo_op") {
                Some(Stat::Text(op)) => Some(self.names.intern(&op)),
                _ => None,
            };
            self.launches.push(HostLaunch { span_ns, thread, name: symbol, hlo_op, correlation });
        }
        if let Some(kind) = kind {
            self.ranges.push((thread, Range { span_ns, kind, name: symbol }));
        }
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

/// The kind of a host event that the partition asks for. Frames of Python (`$file.py:3 name`) and the runtime's own events
/// are none.
fn kind_of<'a>(name: &str, step_number: impl Fn() -> Option<Stat<'a>>) -> Option<HostKind> {
    if name.starts_with('$') {
        return None;
    }
    // jax.profiler.StepTraceAnnotation.
    if let Some(Stat::Number(number)) = step_number() {
        return Some(HostKind::Step(Some(number)));
    }
    if let Some(kind) = HostKind::of_call(name) {
        return Some(kind);
    }
    if name.ends_with("::CollectGarbage") {
        return Some(HostKind::GarbageCollection);
    }
    if name.contains("BlockHostUntilDone")
        || name.contains("BlockUntilReady")
        || name.contains("SynchronizeAllActivity")
    {
        return Some(HostKind::HostSync);
    }
    if name.starts_with("backend_compile")
        || name.starts_with("PJRT_Client_Compile")
        || name.contains("XlaCompile")
    {
        return Some(HostKind::Compile);
    }
    match HostKind::of_range(name) {
        HostKind::Annotation => None,
        kind => Some(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("train", Some(4), Some(HostKind::Step(Some(4))))]
    #[case("hipStreamSynchronize", None, Some(HostKind::HostSync))]
    #[case("PythonRefManager::CollectGarbage", None, Some(HostKind::GarbageCollection))]
    #[case("PJRT_Client_Compile", None, Some(HostKind::Compile))]
    #[case("step 3", None, Some(HostKind::Iteration(Some(3))))]
    #[case("$train.py:7 step", None, None)]
    #[case("Thunks::Prepare", None, None)]
    fn host_events_that_the_partition_asks_for(
        #[case] name: &str,
        #[case] step: Option<i64>,
        #[case] expected: Option<HostKind>,
    ) {
        assert_eq!(kind_of(name, || step.map(Stat::Number)), expected);
    }
}
