//! What the hosts did: runtime and driver calls, waits, the profiler's own work, and NVTX ranges.

use std::borrow::Cow;

use rusqlite::Result;

use super::Export;
use super::process::thread_of;
use crate::trace::{HostKind, HostRange, Launch, Operator, StreamWait, operator_of_range, unversioned};

/// `CUPTI_ACTIVITY_KIND_RUNTIME`, which holds calls of the driver too.
pub(super) fn calls(export: &mut Export<'_>) -> Result<()> {
    const TABLE: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
    let tables = export.tables;
    tables.rows(TABLE, &["start", "end", "globalTid", "correlationId", "nameId"], |number, row| {
        export.reading.events += 1;
        let Some((start_ns, end_ns)) =
            export.interval((row.integer(0), row.integer(1)), false, TABLE, number)
        else {
            return;
        };
        let Export { processes, strings, reading, .. } = &mut *export;
        let global_tid = row.integer(2);
        let process = processes.of_host_row(global_tid);
        let name = row.integer(4).and_then(|id| strings.get(&id)).map_or("", |text| unversioned(text));
        let launches = row.unsigned(3).filter(|id| process.launched.contains(id));
        let kind = HostKind::of_call(name);
        if launches.is_none() && kind.is_none() {
            reading.ignored += 1;
            return;
        }
        let thread = process.builder.thread(thread_of(global_tid.unwrap_or(0)));
        let name = process.builder.intern(name);
        if let Some(key) = launches {
            process.builder.launch(Launch { start_ns, end_ns, name, thread }, key);
        }
        if let Some(kind) = kind {
            process.builder.ranges.push(HostRange { start_ns, end_ns, kind, name, thread });
        }
    })
}

/// `CUPTI_ACTIVITY_KIND_SYNCHRONIZATION`.
pub(super) fn waits(export: &mut Export<'_>) -> Result<()> {
    const TABLE: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    /// `streamId` of a wait for an event or for the whole context.
    const NO_STREAM: i64 = 0xffff_ffff;
    let recorded_on = recorded_events(export)?;
    let columns = ["start", "end", "deviceId", "streamId", "globalPid", "syncType", "eventSyncId"];
    let tables = export.tables;
    tables.rows(TABLE, &columns, |number, row| {
        export.reading.events += 1;
        let Some((start_ns, end_ns)) =
            export.interval((row.integer(0), row.integer(1)), false, TABLE, number)
        else {
            return;
        };
        let global_pid = row.integer(4);
        let process = export.processes.of_host_row(global_pid);
        let mut stream_of =
            |device: i64, id: i64| process.builder.stream(crate::trace::Stream { device, id });
        let named =
            row.integer(3).filter(|&id| id != NO_STREAM).map(|id| stream_of(row.integer(2).unwrap_or(0), id));
        let recorded = row
            .integer(6)
            .and_then(|sync| recorded_on.get(&(global_pid, sync)))
            .map(|&(device, id)| stream_of(device, id));
        // ENUM_CUPTI_SYNC_TYPE: 2 is a stream's wait for an event, the others (event, stream, context) are the host's.
        let (stream, waits_for) = match row.integer(5) {
            Some(2) => (named, recorded),
            _ => (None, named.or(recorded)),
        };
        process.builder.waits.push(StreamWait { start_ns, end_ns, stream, waits_for });
    })
}

/// The stream on which each event was recorded, by process and `eventSyncId`.
type RecordedEvents = rustc_hash::FxHashMap<(Option<i64>, i64), (i64, i64)>;

fn recorded_events(export: &mut Export<'_>) -> Result<RecordedEvents> {
    let mut recorded = RecordedEvents::default();
    let columns = ["globalPid", "eventSyncId", "deviceId", "streamId"];
    export.tables.rows("CUPTI_ACTIVITY_KIND_CUDA_EVENT", &columns, |_, row| {
        if let (Some(sync @ 1..), Some(device), Some(stream)) =
            (row.integer(1), row.integer(2), row.integer(3))
        {
            recorded.insert((row.integer(0), sync), (device, stream));
        }
    })?;
    Ok(recorded)
}

/// `CUPTI_ACTIVITY_KIND_OVERHEAD`.
pub(super) fn cupti_overhead(export: &mut Export<'_>) -> Result<()> {
    overhead(export, "CUPTI_ACTIVITY_KIND_OVERHEAD")
}

/// `PROFILER_OVERHEAD`.
pub(super) fn profiler_overhead(export: &mut Export<'_>) -> Result<()> {
    overhead(export, "PROFILER_OVERHEAD")
}

fn overhead(export: &mut Export<'_>, table: &str) -> Result<()> {
    let tables = export.tables;
    tables.rows(table, &["start", "end", "globalTid", "nameId", "overheadType"], |number, row| {
        export.reading.events += 1;
        // ENUM_CUPTI_OVERHEAD_TYPE: the driver compiling is no work of the profiler.
        let (kind, label) = match row.integer(4) {
            Some(2) => (HostKind::Compile, "Driver JIT compiler"),
            Some(3) => (HostKind::ProfilerOverhead, "Buffer flush"),
            Some(4) => (HostKind::ProfilerOverhead, "Instrumentation"),
            Some(5) => (HostKind::ProfilerOverhead, "Resource creation"),
            // Loading of modules and functions, a full command buffer: the runtime's own.
            _ => {
                export.reading.ignored += 1;
                return;
            }
        };
        let Some((start_ns, end_ns)) =
            export.interval((row.integer(0), row.integer(1)), false, table, number)
        else {
            return;
        };
        let global_tid = row.integer(2);
        let name = row.integer(3).and_then(|id| export.strings.get(&id)).map_or(label, |text| text);
        let process = export.processes.of_host_row(global_tid);
        let thread = process.builder.thread(thread_of(global_tid.unwrap_or(0)));
        let name = process.builder.intern(name);
        process.builder.ranges.push(HostRange { start_ns, end_ns, kind, name, thread });
    })
}

/// `NVTX_EVENTS`: push/pop and start/end ranges. PyTorch's `emit_nvtx` writes operators as `aten::mm, seq = 3, op_id = 7`.
pub(super) fn nvtx(export: &mut Export<'_>) -> Result<()> {
    const TABLE: &str = "NVTX_EVENTS";
    /// `ENUM_NSYS_EVENT_TYPE`; the others are marks, names and domains.
    const PUSH_POP: i64 = 59;
    const START_END: i64 = 60;
    let tables = export.tables;
    let columns = ["start", "end", "eventType", "globalTid", "text", "textId"];
    tables.rows(TABLE, &columns, |number, row| {
        export.reading.events += 1;
        // A range that the capture's end left open has no end.
        if !matches!(row.integer(2), Some(PUSH_POP | START_END)) || row.integer(1).is_none() {
            export.reading.ignored += 1;
            return;
        }
        let Some((start_ns, end_ns)) =
            export.interval((row.integer(0), row.integer(1)), false, TABLE, number)
        else {
            return;
        };
        let Export { processes, strings, .. } = &mut *export;
        let text = row
            .text(4)
            .or_else(|| row.integer(5).and_then(|id| strings.get(&id)).map(|text| Cow::Borrowed(&**text)))
            .unwrap_or_default();
        let global_tid = row.integer(3);
        let builder = &mut processes.of_host_row(global_tid).builder;
        let thread = builder.thread(thread_of(global_tid.unwrap_or(0)));
        match operator_of_range(&text) {
            Some(operator) => {
                let name = builder.intern(operator);
                if let Some(kind) = HostKind::of_operator(operator) {
                    builder.ranges.push(HostRange { start_ns, end_ns, kind, name, thread });
                }
                builder.operator(Operator::named(name, thread, (start_ns, end_ns)), None);
            }
            None => {
                let name = builder.intern(&text);
                builder.ranges.push(HostRange {
                    start_ns,
                    end_ns,
                    kind: HostKind::of_range(&text),
                    name,
                    thread,
                });
            }
        }
    })
}
