//! Traces of Nsight Systems, rocprofv3 and XLA: the counts and partitions that are known of real files, and small
//! files with one defect each.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::{Path, PathBuf};

use goodput_trace::class::{Class, Coarse};
use goodput_trace::partition::Splits;
use goodput_trace::reading::{Cause, FileTraces, ReadError};
use goodput_trace::trace::{CollectiveKind, Epoch, HostKind, RankTrace, WorkKind};
use goodput_trace::{chrome, nsight, rocprof, xplane};
use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;

/// A real file, absent outside the house.
fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces")).join(name);
    path.exists().then_some(path)
}

fn work_count(trace: &RankTrace, coarse: Coarse) -> usize {
    trace.work.iter().filter(|work| work.coarse() == coarse).count()
}

fn kind_count(trace: &RankTrace, kind: WorkKind) -> usize {
    trace.work.iter().filter(|work| work.kind == kind).count()
}

fn findings(traces: &FileTraces) -> Vec<(Cause, u64)> {
    traces.reading.findings.iter().map(|finding| (finding.cause, finding.count)).collect()
}

/// The charge-once partition of a whole device window: a second opinion, by marking the borders of all work.
#[derive(Debug, PartialEq, Eq)]
struct Partition {
    window: i64,
    compute: i64,
    communication: i64,
    memory: i64,
    idle: i64,
    host_late: i64,
    launch: i64,
    unattributed: i64,
}

fn partition(trace: &RankTrace) -> Partition {
    let (from, to) = trace.device_window().unwrap();
    let mut borders: Vec<i64> = trace.work.iter().flat_map(|work| [work.start_ns, work.end_ns]).collect();
    borders.sort_unstable();
    borders.dedup();
    let mut changes: Vec<(i64, usize, i64)> = Vec::new();
    for work in &trace.work {
        let kind = match work.coarse() {
            Coarse::Compute => 0,
            Coarse::Communication => 1,
            Coarse::Memory => 2,
        };
        changes.extend([(work.start_ns, kind, 1), (work.end_ns, kind, -1)]);
    }
    changes.sort_unstable();
    let mut open = [0; 3];
    let mut change = changes.into_iter().peekable();
    let mut parts = [0; 7];
    let mut gap_start = None;
    for pair in borders.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        while let Some((_, kind, by)) = change.next_if(|&(at, ..)| at <= start) {
            open[kind] += by;
        }
        if let Some(kind) = open.iter().position(|&count| count > 0) {
            parts[kind] += end - start;
            gap_start = None;
        } else {
            // Work that starts at one instant is in the order of its correlation.
            let begin = *gap_start.get_or_insert(start);
            let next = &trace.work[trace.work.partition_point(|work| work.start_ns < end)];
            parts[3] += end - start;
            if next.start_ns != end {
                continue;
            }
            match trace.launch_of(next) {
                Some(launch) => {
                    let queued = launch.start_ns.clamp(begin, end);
                    parts[4] += queued - begin;
                    parts[5] += end - queued;
                }
                None => parts[6] += end - begin,
            }
        }
    }
    let ours = goodput_trace::partition::partition(trace, (from, to), &Splits::default(), |_, _| true);
    let ours = [
        ours.compute_ns(),
        ours.exposed_comm_ns(),
        ours.exposed_mem_ns(),
        ours.idle_ns(),
        ours.host_late_ns(),
        ours.launch_latency_ns(),
        ours.unattributed_ns(),
    ];
    assert_eq!(ours, parts, "the partition and the second opinion differ");
    let [compute, communication, memory, idle, host_late, launch, unattributed] = parts;
    Partition { window: to - from, compute, communication, memory, idle, host_late, launch, unattributed }
}

mod nsight_exports {
    use super::*;

    #[test]
    fn two_processes_are_two_traces() {
        let Some(path) = shared("nsys/mfu_2gpu_before.sqlite") else { return };
        let file = nsight::read(&path).unwrap();
        assert_eq!(file.reading.device_events, 4_010 + 1_020 + 269);
        assert_eq!(findings(&file), []);
        let [first, second] = file.ranks.as_slice() else { panic!("{} traces", file.ranks.len()) };
        assert_eq!(first.identity.part.as_deref(), Some("python3 144, device 0"));
        assert_eq!(second.identity.part.as_deref(), Some("python3 145, device 1"));
        assert_eq!((first.identity.rank, second.identity.rank), (None, None));
        assert_eq!(first.identity.host.as_deref(), Some("modal"));
        assert_eq!(first.epoch, Epoch::Unix);
        assert_eq!(first.work[0].start_ns, 1_779_782_330_176_752_435 + 60_111_541_307);

        let counts = |coarse| [work_count(first, coarse), work_count(second, coarse)];
        assert_eq!(counts(Coarse::Compute), [1_960, 1_984]);
        assert_eq!(counts(Coarse::Memory), [643, 646]);
        assert_eq!(counts(Coarse::Communication), [33, 33]);
        let unlaunched = |trace: &RankTrace| trace.work.iter().filter(|work| work.launch.is_none()).count();
        assert_eq!([unlaunched(first), unlaunched(second)], [16, 15]);
        let kernels = |trace| kind_count(trace, WorkKind::Kernel);
        assert_eq!(kernels(first) + kernels(second), 4_010);
        let mut ids: Vec<u64> = Vec::new();
        for trace in &file.ranks {
            ids.extend(trace.work.iter().filter(|w| w.kind == WorkKind::Kernel).map(|w| w.correlation));
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 3_932);
        let copied: u64 = file
            .ranks
            .iter()
            .flat_map(|t| &t.work)
            .filter(|w| w.kind == WorkKind::Copy)
            .filter_map(|w| w.bytes)
            .sum();
        assert_eq!(copied, 272 + 8_046_134_272);

        // Operators come from NVTX and tie to kernels by time; the other 462 ranges are NCCL's own.
        let operators = |trace: &RankTrace| trace.operators.len();
        assert_eq!(operators(first) + operators(second), 18_656);
        assert!(first.launches.iter().all(|launch| !first.name(launch.name).contains("_v")));
        let sends =
            |trace: &RankTrace| trace.ranges.iter().filter(|r| trace.name(r.name) == "ncclSend").count();
        assert_eq!([sends(first), sends(second)], [64, 68]);
        let syncs: usize =
            file.ranks.iter().flat_map(|t| &t.ranges).filter(|r| r.kind == HostKind::HostSync).count();
        assert_eq!(syncs, 33);
        assert!(first.work.iter().all(|work| work.launch.is_none() || work.operator.is_some()));
        let launched_by = |name| {
            let kernels = first.work.iter().filter(|work| work.kind == WorkKind::Kernel);
            let operators = kernels.filter_map(|work| first.operator_of(work));
            operators.filter(|operator| first.name(operator.name) == name).count()
        };
        assert_eq!([launched_by("aten::addmm"), launched_by("flash_attn::_flash_attn_forward")], [166, 33]);
        let stream_waits =
            file.ranks.iter().flat_map(|trace| &trace.waits).filter(|wait| wait.stream.is_some());
        assert_eq!(stream_waits.count(), 200);
    }

    #[test]
    fn partitions_are_known() {
        let Some(path) = shared("nsys/mfu_2gpu_before.sqlite") else { return };
        let file = nsight::read(&path).unwrap();
        let expected = [
            [299848812, 253690832, 17172652, 2954303, 26031025, 16878392, 9124377, 28256],
            [298661551, 256095624, 8229100, 2951192, 31385635, 24304272, 7054323, 27040],
        ];
        assert_eq!(file.ranks.iter().map(partition).collect::<Vec<_>>(), expected.map(from_row));
    }

    #[test]
    fn a_minimal_export_is_one_trace() {
        let Some(path) = shared("nsys/healthy_1pct.sqlite") else { return };
        let file = nsight::read(&path).unwrap();
        let [trace] = file.ranks.as_slice() else { panic!("{} traces", file.ranks.len()) };
        assert_eq!(kind_count(trace, WorkKind::Kernel), 400);
        assert_eq!(trace.epoch, Epoch::Own);
        assert_eq!(trace.devices[0].name, "NVIDIA H100 80GB HBM3");
        let expected = [403990000, 400000000, 0, 0, 3990000, 2793000, 1197000, 0];
        assert_eq!(partition(trace), from_row(expected));
    }

    fn from_row(
        [window, compute, communication, memory, idle, host_late, launch, unattributed]: [i64; 8],
    ) -> Partition {
        Partition { window, compute, communication, memory, idle, host_late, launch, unattributed }
    }

    /// An export of these tables.
    fn export(sql: &str) -> (TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.sqlite");
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        (folder, path)
    }

    fn read(sql: &str) -> FileTraces {
        let (_folder, path) = export(sql);
        nsight::read(&path).unwrap()
    }

    const STRINGS: &str = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000'), (3, 'cudaGraphLaunch_v10000'),
            (4, 'ncclDevKernel_AllReduce'), (5, 'iteration 7'), (6, 'cudaMemcpy_v3020');";

    #[test]
    fn an_export_without_cupti_tables_is_an_empty_trace() {
        let file = read(STRINGS);
        assert_eq!(findings(&file), [(Cause::NoDeviceWork, 1)]);
        assert_eq!(
            file.reading.findings[0].example,
            "the export has no table of device work (CUPTI_ACTIVITY_KIND_KERNEL and others)"
        );
        assert!(!file.reading.is_degraded());
        assert!(file.ranks[0].work.is_empty());

        let file =
            read("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId)");
        assert_eq!(
            file.reading.findings[0].example,
            "the tables of device work have no row that can be used"
        );
    }

    #[test]
    fn a_database_of_something_else_is_refused() {
        for sql in ["CREATE TABLE moz_places (id, url)", "VACUUM"] {
            let (_folder, path) = export(sql);
            let error = nsight::read(&path).unwrap_err().to_string();
            assert!(error.contains("no export of Nsight Systems"), "{error}");
        }
    }

    #[test]
    fn ranges_alone_are_kept() {
        let file = read(&format!(
            "{STRINGS} CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER, textId INTEGER);
             INSERT INTO NVTX_EVENTS VALUES (10, 20, 59, 5), (15, NULL, 59, 5), (12, 12, 34, 5), (30, 29, 60, 5);"
        ));
        let trace = &file.ranks[0];
        assert_eq!(trace.ranges.len(), 1);
        assert_eq!(trace.ranges[0].kind, HostKind::Iteration(Some(7)));
        assert_eq!((file.reading.events, file.reading.ignored), (4, 2));
        assert_eq!(findings(&file), [(Cause::NegativeDuration, 1), (Cause::NoDeviceWork, 1)]);
    }

    #[test]
    fn versioned_tables_and_few_columns_are_read() {
        let file = read(&format!(
            "{STRINGS} CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V3 (start, end, correlationId, shortName);
             INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL_V3 VALUES (10, 20, 1, 1);
             CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME_V2 (start, end, correlationId, nameId);
             INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME_V2 VALUES (3, 5, 1, 2);"
        ));
        let trace = &file.ranks[0];
        let launch = trace.launch_of(&trace.work[0]).unwrap();
        assert_eq!((trace.name(trace.work[0].name), trace.name(launch.name)), ("gemm", "cudaLaunchKernel"));
    }

    #[test]
    fn rows_that_cannot_be_are_counted_and_the_rest_is_used() {
        let file = read(&format!(
            "{STRINGS} CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
                (start, end, deviceId, streamId, correlationId, globalPid, demangledName);
             INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
                (10, 20, 0, 7, 1, 16777216, 1), (40, 30, 0, 7, 2, 16777216, 1), (NULL, 30, 0, 7, 3, 16777216, 1),
                (x'00', 'soon', 0, 7, 4, 16777216, 1), (0, 0, 0, 7, 5, 16777216, 1), ('50', '60', '0', NULL, 'x', 16777216, 99),
                (9223372036854775807, 9223372036854775807, 0, 7, 7, 16777216, 1), (1.5, 2.5, 0, 7, 8, 16777216, 1),
                (70, 80, NULL, 7, NULL, NULL, 'name');"
        ));
        let counts = [
            (Cause::NegativeDuration, 1),
            (Cause::NoStamp, 4),
            (Cause::LostDeviceEvent, 1),
            (Cause::NoName, 2),
        ];
        assert_eq!(findings(&file), counts);
        assert_eq!((file.reading.device_events, file.reading.lost_device_events), (3, 6));
        assert!(file.reading.is_degraded());
        assert_eq!(file.reading.findings[0].example, "CUPTI_ACTIVITY_KIND_KERNEL row 2: start 40, end 30");
        assert_eq!(file.ranks.iter().map(|trace| trace.work.len()).sum::<usize>(), 3);
    }

    #[test]
    fn a_graph_counts_once() {
        let file = read(&format!(
            "{STRINGS} CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL
                (start, end, deviceId, streamId, correlationId, globalPid, demangledName, graphNodeId);
             INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
                (10, 20, 0, 7, 1, 16777216, 1, 5), (20, 30, 0, 7, 1, 16777216, 4, 6);
             CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, streamId, correlationId, globalPid, graphId);
             INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES
                (10, 30, 0, 7, 1, 16777216, 3), (50, 90, 0, 7, 2, 16777216, 3), (100, 95, 0, 7, 3, 16777216, 3);
             CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
             INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 8, 16777217, 1, 3), (40, 45, 16777217, 2, 3);"
        ));
        let trace = &file.ranks[0];
        let expected = Partition {
            window: 80,
            compute: 50,
            communication: 10,
            memory: 0,
            idle: 20,
            host_late: 10,
            launch: 10,
            unattributed: 0,
        };
        assert_eq!(partition(trace), expected);
        assert_eq!((kind_count(trace, WorkKind::Kernel), kind_count(trace, WorkKind::Graph)), (2, 1));
        assert_eq!(trace.name(trace.work[2].name), "CUDA graph 3");
        assert_eq!(findings(&file), [(Cause::NegativeDuration, 1)]);
        // Both kernels have the one launch.
        assert_eq!(trace.work[0].launch, trace.work[1].launch);
    }

    #[test]
    fn correlations_of_two_processes_do_not_mix() {
        let pids = [1_i64 << 24, 2 << 24];
        let file = read(&format!(
            "{STRINGS} CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid);
             INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 7, 1, {0}), (11, 20, 1, 7, 1, {1});
             CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
             INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (5, 8, {1} + 9, 1, 6), (6, 7, {0} + 4, 1, 2);
             CREATE TABLE PROCESSES (globalPid, name); INSERT INTO PROCESSES VALUES ({0}, 'train');
             CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId, streamId, globalPid, eventSyncId);
             INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 9, {0}, 77);
             CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
                (start, end, deviceId, streamId, globalPid, syncType, eventSyncId);
             INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES
                (6, 6, 0, 7, {0}, 2, 77), (7, 9, 0, 4294967295, {0}, 1, 78);",
            pids[0], pids[1],
        ));
        let starts = |trace: &RankTrace| trace.launch_of(&trace.work[0]).unwrap().start_ns;
        assert_eq!([starts(&file.ranks[0]), starts(&file.ranks[1])], [6, 5]);
        assert_eq!(file.ranks[0].identity.part.as_deref(), Some("train 1, device 0"));
        assert_eq!(file.ranks[1].identity.part.as_deref(), Some("process 2, device 1"));
        // A synchronous copy launches, and the host waits in it.
        assert_eq!(file.ranks[1].ranges[0].kind, HostKind::HostSync);
        let waits = &file.ranks[0].waits;
        let ids = |stream: Option<u32>| stream.map(|index| file.ranks[0].streams[index as usize].id);
        assert_eq!((ids(waits[0].stream), ids(waits[0].waits_for)), (Some(7), Some(9)));
        assert_eq!((ids(waits[1].stream), ids(waits[1].waits_for)), (None, None));
    }

    #[test]
    fn a_damaged_database_gives_what_is_before_the_damage() {
        let rows: String = (0..20_000).map(|i| format!("({0}, {0} + 5, 0, 7, {i}),", i * 10 + 1)).collect();
        let (_folder, path) = export(&format!(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId);
             INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES {};",
            rows.trim_end_matches(',')
        ));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() * 6 / 10]).unwrap();
        let file = nsight::read(&path).unwrap();
        assert!(file.reading.truncated && file.reading.is_degraded());
        assert!(file.reading.device_events > 0 && file.reading.device_events < 20_000);

        std::fs::write(&path, b"SQLite format 3\0 and no more").unwrap();
        let error = nsight::read(&path).unwrap_err();
        assert!(
            matches!(&error, ReadError::Format { problem, .. } if problem.contains("nsys export")),
            "{error}"
        );
    }
}

mod xspaces {
    use super::*;

    /// A message of these fields.
    fn message(fields: &[Vec<u8>]) -> Vec<u8> {
        fields.concat()
    }

    fn varint(mut value: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(0x80 | u8::try_from(value & 0x7f).unwrap());
            value >>= 7;
        }
        bytes.push(u8::try_from(value).unwrap());
        bytes
    }

    fn number(field: u64, value: i64) -> Vec<u8> {
        [varint(field << 3), varint(value.cast_unsigned())].concat()
    }

    fn bytes(field: u64, value: impl AsRef<[u8]>) -> Vec<u8> {
        let value = value.as_ref();
        [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
    }

    /// Names of events, from 1.
    fn names(names: &[&str]) -> Vec<u8> {
        let entries = (1..).zip(names).map(|(id, name)| {
            bytes(4, message(&[number(1, id), bytes(2, message(&[number(1, id), bytes(2, name)]))]))
        });
        entries.collect::<Vec<_>>().concat()
    }

    /// Names of statistics, from 1.
    fn stat_names(names: &[&str]) -> Vec<u8> {
        let entries = (1..).zip(names).map(|(id, name)| {
            bytes(5, message(&[number(1, id), bytes(2, message(&[number(1, id), bytes(2, name)]))]))
        });
        entries.collect::<Vec<_>>().concat()
    }

    fn stat(id: i64, value: i64) -> Vec<u8> {
        bytes(4, message(&[number(1, id), number(4, value)]))
    }

    fn event(name: i64, offset_ps: i64, duration_ps: i64, stats: &[Vec<u8>]) -> Vec<u8> {
        bytes(4, message(&[number(1, name), number(2, offset_ps), number(3, duration_ps), stats.concat()]))
    }

    fn line(id: i64, name: &str, timestamp_ns: i64, events: &[Vec<u8>]) -> Vec<u8> {
        bytes(3, message(&[number(1, id), bytes(2, name), number(3, timestamp_ns), events.concat()]))
    }

    fn plane(name: &str, parts: &[Vec<u8>]) -> Vec<u8> {
        bytes(1, message(&[bytes(2, name), parts.concat()]))
    }

    fn read(space: &[u8]) -> Result<FileTraces, ReadError> {
        xplane::read(&mut &space[..], Path::new("host.xplane.pb"))
    }

    #[test]
    fn one_device_of_eight_has_work() {
        let Some(path) = shared("other/934987a2fc2f.xplane.pb") else { return };
        let space = std::fs::read(path).unwrap();
        let file = read(&space).unwrap();
        assert_eq!(findings(&file), []);
        assert_eq!(file.reading.bytes, space.len() as u64);
        let [trace] = file.ranks.as_slice() else { panic!("{} traces", file.ranks.len()) };
        assert_eq!(trace.identity.part.as_deref(), Some("/device:GPU:0"));
        assert_eq!(trace.identity.host.as_deref(), Some("934987a2fc2f"));
        assert_eq!((trace.work.len(), trace.launches.len()), (150, 150));
        assert!(
            trace.work.iter().all(|work| trace.launch_of(work).is_some_and(|l| l.start_ns < work.end_ns))
        );
        // 12 133 585 000 ps before both ends are floored; all of them are whole nanoseconds.
        assert_eq!(trace.work.iter().map(|work| work.duration_ns()).sum::<i64>(), 12_133_585);
        let start = 1_779_266_702_889_805_563 + 9_715_872_534;
        let (first, last) = trace.device_window().unwrap();
        assert_eq!((first - start, last - start), (660_484, 13_582_554 + 34_681));
        assert_eq!(trace.epoch, Epoch::Unix);

        let fills =
            trace.work.iter().filter(|work| work.kind == WorkKind::Fill && work.class == Class::Memory);
        assert_eq!(fills.count(), 20);
        let operator = trace.operator_of(&trace.work[0]).unwrap();
        assert_eq!(
            (trace.name(trace.work[0].name), trace.name(operator.name)),
            ("wrapped_convert", "wrapped_convert")
        );
        let collections =
            trace.ranges.iter().filter(|range| range.kind == HostKind::GarbageCollection).count();
        assert_eq!(collections, 1_351);
        assert_eq!(trace.devices[0].processors, Some(256));
    }

    #[test]
    fn both_ends_are_floored_and_each_device_is_a_trace() {
        let device = |number: i64, offset_ps| {
            let events = [event(1, offset_ps, 1_999, &[stat(1, number + 1)]), event(2, -1, 2, &[])];
            plane(
                &format!("/device:GPU:{number}"),
                &[
                    line(13, "Stream #13(Compute)", 10, &events),
                    names(&["gemm.kd", "MemcpyD2D"]),
                    stat_names(&["correlation_id"]),
                ],
            )
        };
        let host = plane(
            "/host:CPU",
            &[
                line(
                    7,
                    "Host Threads/7",
                    5,
                    &[event(1, 0, 2_000, &[stat(1, 2)]), event(2, 0, 9_000, &[stat(2, 41)])],
                ),
                names(&["cuLaunchKernel", "train"]),
                stat_names(&["correlation_id", "step_num"]),
            ],
        );
        let file = read(&[device(0, 1), device(1, 999), host].concat()).unwrap();
        let spans: Vec<Vec<_>> =
            file.ranks.iter().map(|t| t.work.iter().map(|w| (w.start_ns, w.end_ns)).collect()).collect();
        assert_eq!(spans, [[(9, 10), (10, 12)], [(9, 10), (10, 12)]]);
        let launches: Vec<_> = file.ranks.iter().map(|trace| trace.launches.len()).collect();
        assert_eq!(launches, [0, 1]);
        // The host drives both devices.
        for trace in &file.ranks {
            assert_eq!(trace.ranges[0].kind, HostKind::Step(Some(41)));
            assert_eq!(trace.work[0].kind, WorkKind::Copy);
            assert_eq!(trace.epoch, Epoch::Own);
        }
    }

    #[test]
    fn operations_of_a_tpu_count_once() {
        let operations = [
            event(1, 0, 10_000_000, &[]),
            event(2, 1_000_000, 2_000_000, &[]),
            event(3, 4_000_000, 5_000_000, &[]),
        ];
        let tpu = plane(
            "/device:TPU:0",
            &[
                line(1, "Steps", 0, &[event(5, 0, 10_000_000, &[])]),
                line(2, "XLA Modules", 0, &[event(6, 0, 10_000_000, &[])]),
                line(3, "XLA Ops", 0, &operations),
                line(
                    4,
                    "Async XLA Ops",
                    0,
                    &[event(4, 500_000, 8_000_000, &[]), event(7, 600_000, 1_000_000, &[])],
                ),
                names(&[
                    "while.1",
                    "dot.2",
                    "all-reduce.3",
                    "copy-start.4",
                    "12",
                    "jit_step",
                    "all-gather-start.5",
                ]),
            ],
        );
        let file = read(&tpu).unwrap();
        let trace = &file.ranks[0];
        let found: Vec<_> = trace.work.iter().map(|w| (trace.name(w.name), w.class)).collect();
        let expected = [
            ("copy-start.4", Class::Memory),
            ("all-gather-start.5", Class::Communication),
            ("dot.2", Class::Gemm),
            ("all-reduce.3", Class::Communication),
        ];
        assert_eq!(found, expected);
        assert_eq!(trace.name(trace.annotations[0].name), "ProfilerStep#12");
        assert_eq!((file.reading.events, file.reading.ignored), (7, 2));
        // What is under way at one time is on lanes of its own.
        assert_eq!(
            trace.work.iter().map(|w| trace.streams[w.stream as usize].id).collect::<Vec<_>>(),
            [-1, -2, 2, 2]
        );
    }

    #[test]
    fn defects_are_counted_and_the_rest_is_used() {
        let events = [
            event(1, 0, 1_000, &[]),
            event(9, 0, 1_000, &[]),
            event(1, 5_000, -1_000, &[]),
            event(1, i64::MAX, i64::MAX, &[]),
            bytes(4, message(&[number(1, 1), number(5, 3)])),
        ];
        let good = plane("/device:GPU:0", &[line(1, "Stream #1", 0, &events), names(&["gemm"])]);
        let file = read(&good).unwrap();
        assert_eq!(file.ranks[0].work.len(), 3);
        assert_eq!(findings(&file), [(Cause::NoName, 1), (Cause::NegativeDuration, 1)]);
        assert_eq!((file.reading.lost_device_events, file.reading.ignored), (1, 1));

        let far = plane("/device:GPU:0", &[line(1, "Stream #1", i64::MAX, &events[..1]), names(&["gemm"])]);
        assert_eq!(findings(&read(&far).unwrap()), [(Cause::NoStamp, 1), (Cause::NoDeviceWork, 1)]);

        // A plane that is cut has lost the names at its end.
        let cut = [&good[..], &good[..good.len() - 5]].concat();
        let file = read(&cut).unwrap();
        assert!(file.reading.truncated);
        assert_eq!(file.ranks.len(), 2);
        assert!(findings(&file).contains(&(Cause::NoName, 4)), "{:?}", findings(&file));

        // Random access is not needed, so that compressed files are read too.
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&good).unwrap();
        let gzip = gzip.finish().unwrap();
        let mut input = flate2::read::GzDecoder::new(&gzip[..gzip.len() - 12]);
        assert!(xplane::read(&mut input, Path::new("cut.pb.gz")).unwrap().reading.truncated);
    }

    #[test]
    fn a_file_without_device_work_is_an_empty_trace_and_other_bytes_are_none() {
        let file =
            read(&plane("/host:CPU", &[line(1, "python3", 0, &[event(1, 0, 1, &[])]), names(&["step 1"])]))
                .unwrap();
        assert_eq!(findings(&file), [(Cause::NoDeviceWork, 1)]);
        assert_eq!(file.ranks[0].ranges.len(), 1);
        for other in
            [&b""[..], b"\n[1, 2]", b"\nhello world", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"]
        {
            assert!(matches!(read(other), Err(ReadError::Format { .. })), "{other:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(space: Vec<u8>) {
            let _ = read(&[b"\x0a", &space[..]].concat());
        }

        #[test]
        fn no_damage_makes_it_panic(at in 0usize..4_000, byte: u8, cut in 0usize..4_000) {
            let events: Vec<_> = (0..20).map(|i| event(1 + i % 3, i * 7_000, 5_000, &[stat(1, i)])).collect();
            let parts = [line(1, "Stream #1", 3, &events), names(&["a", "b", "c"]), stat_names(&["correlation_id"])];
            let mut space = plane("/device:GPU:0", &parts);
            let length = space.len();
            space[at % length] = byte;
            if let Ok(file) = read(&space[..length - cut % length]) {
                for work in file.ranks.iter().flat_map(|trace| &trace.work) {
                    prop_assert!(work.duration_ns() >= 0);
                }
            }
        }
    }
}

mod rocprofv3 {
    use super::*;

    fn read(text: &str) -> Result<FileTraces, ReadError> {
        rocprof::read(&mut text.as_bytes(), Path::new("908_results.json"))
    }

    #[test]
    fn dispatches_of_a_training_run() {
        let Some(path) = shared("other/rocprofv3_908_results.json.gz") else { return };
        let file = goodput_trace::read::read_file(&path, &Default::default()).unwrap();
        assert_eq!(findings(&file), []);
        assert_eq!((file.reading.bytes, file.reading.device_events), (37_455_763, 43_915));
        let [trace] = file.ranks.as_slice() else { panic!("{} traces", file.ranks.len()) };
        let counts =
            [Coarse::Compute, Coarse::Memory, Coarse::Communication].map(|coarse| work_count(trace, coarse));
        assert_eq!(counts, [36_239, 6_366, 1_310]);
        assert_eq!([kind_count(trace, WorkKind::Copy), kind_count(trace, WorkKind::Fill)], [3_153, 3_213]);
        // Queues, of which stream_id says nothing.
        let mut queues: Vec<i64> = trace.streams.iter().map(|stream| stream.id).collect();
        queues.sort_unstable();
        assert_eq!(queues, [16, 17, 18, 19, 20]);
        assert!(trace.streams.iter().all(|stream| stream.device == 0));
        assert_eq!(trace.devices[0].name, "AMD Instinct MI350X");
        assert_eq!(trace.identity.part.as_deref(), Some("process 908"));
        assert_eq!((trace.identity.rank, trace.epoch), (None, Epoch::Own));
        let expected = Partition {
            window: 15_122_023_494,
            compute: 258_663_816,
            communication: 3_962_709_684,
            memory: 11_738_834,
            idle: 10_888_911_160,
            host_late: 0,
            launch: 0,
            unattributed: 10_888_911_160,
        };
        assert_eq!(partition(trace), expected);
        let window = trace.device_window().unwrap();
        let ours = goodput_trace::partition::partition(trace, window, &Splits::default(), |_, _| true);
        assert_eq!(ours.comm_total_ns, 4_158_756_678);
    }

    /// A document of these lists, with names for two kernels and some calls.
    fn document(buffers: &str) -> String {
        format!(
            r#"{{"rocprofiler-sdk-tool": [{{"buffer_records": {{{buffers}}}, "metadata": {{"pid": 9, "node": {{"hostname": "h"}}}},
            "agents": [{{"id": {{"handle": 50}}, "type": 1, "gpu_index": -1}},
                {{"id": {{"handle": 60}}, "type": 2, "gpu_index": 3, "product_name": "MI300X", "cu_count": 304}}],
            "strings": {{"callback_records": [], "buffer_records": [{{"kind": "NONE", "operations": []}},
                {{"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipStreamSynchronize", "hipGetDevice"]}},
                {{"kind": "RCCL_API", "operations": ["ncclAllReduce"]}},
                {{"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]}}],
                "marker_api": [{{"key": 90, "value": "step 4"}}, {{"key": 91, "value": "aten::mm, seq = 1, op_id = 2"}}]}},
            "kernel_symbols": [{{"kernel_id": 1, "formatted_kernel_name": "Cijk_gemm"}},
                {{"kernel_id": 2, "kernel_name": "ncclDevKernel_Generic_1.kd", "formatted_kernel_name": "0"}}]}}]}}"#
        )
    }

    fn dispatch(id: u32, start: i64, end: i64, kernel: u32) -> String {
        format!(
            r#"{{"start_timestamp": {start}, "end_timestamp": {end}, "thread_id": 9, "correlation_id": {{"internal": {id}}},
            "dispatch_info": {{"agent_id": {{"handle": 60}}, "queue_id": {{"handle": 7}}, "kernel_id": {kernel}}}}}"#
        )
    }

    fn call(id: u32, start: i64, end: i64, kind: u32, operation: u32) -> String {
        format!(
            r#"{{"kind": {kind}, "operation": {operation}, "thread_id": 9, "correlation_id": {{"internal": {id}}},
            "start_timestamp": {start}, "end_timestamp": {end}}}"#
        )
    }

    #[test]
    fn calls_markers_and_copies_are_linked_whatever_the_order() {
        let copy = r#"{"kind": 3, "operation": 1, "correlation_id": {"internal": 13}, "start_timestamp": 70, "end_timestamp": 90,
            "src_agent_id": {"handle": 50}, "dst_agent_id": {"handle": 60}, "bytes": 4096}"#;
        let calls = [
            call(11, 10, 12, 1, 0),
            call(12, 22, 24, 1, 0),
            call(13, 60, 61, 1, 2),
            call(14, 62, 95, 1, 1),
            call(15, 96, 97, 1, 2),
        ];
        let text = document(&format!(
            r#""hip_api": [{}], "kernel_dispatch": [{}, {}], "memory_copy": [{copy}], "rccl_api": [{}], "marker_api": [{}, {}, {}],
            "pc_sample_host_trap": [1, [2]]"#,
            calls.join(","),
            dispatch(12, 40, 50, 2),
            dispatch(11, 20, 30, 1),
            call(20, 21, 25, 2, 0),
            call(90, 0, 100, 0, 0),
            call(91, 9, 13, 0, 0),
            call(92, 9, 9, 0, 0),
        ));
        let file = read(&text).unwrap();
        assert_eq!(findings(&file), []);
        let trace = &file.ranks[0];
        let text = |symbol| trace.name(symbol);
        let work: Vec<_> = trace
            .work
            .iter()
            .map(|work| {
                let launch = trace.launch_of(work).map(|launch| text(launch.name));
                (text(work.name), launch, trace.operator_of(work).map(|operator| text(operator.name)))
            })
            .collect();
        let launch = Some("hipLaunchKernel");
        let expected = [
            ("Cijk_gemm", launch, Some("aten::mm")),
            ("ncclDevKernel_Generic_1", launch, Some("ncclAllReduce")),
            ("MEMORY_COPY_HOST_TO_DEVICE", Some("hipGetDevice"), None),
        ];
        assert_eq!(work, expected);
        assert_eq!((trace.work[2].bytes, trace.work[2].class), (Some(4096), Class::Memory));
        // RCCL hides the exchange in its kernel; the call tells.
        assert_eq!(trace.collective_kind(&trace.work[1]), CollectiveKind::AllReduce);
        assert!(trace.streams.iter().all(|stream| stream.device == 3));
        let kinds: Vec<_> = trace.ranges.iter().map(|range| range.kind).collect();
        assert_eq!(kinds, [HostKind::Iteration(Some(4)), HostKind::HostSync]);
        // The call without work and the mark without a text.
        assert_eq!((file.reading.events, file.reading.ignored), (12, 2));
        assert_eq!(trace.identity.host.as_deref(), Some("h"));
    }

    #[test]
    fn defects_are_counted_with_their_place() {
        let text = document(&format!(
            r#""kernel_dispatch": [{}, {}, {{"start_timestamp": null}}, 7, {{"start_timestamp": "x" "y"}}, {}]"#,
            dispatch(1, 10, 20, 1),
            dispatch(2, 40, 30, 1),
            dispatch(3, 50, 60, 99),
        ));
        let file = read(&text).unwrap();
        let counts =
            [(Cause::NegativeDuration, 1), (Cause::NoStamp, 2), (Cause::BrokenEvent, 1), (Cause::NoName, 1)];
        assert_eq!(findings(&file), counts);
        assert_eq!((file.reading.device_events, file.reading.lost_device_events), (2, 3));
        let at =
            |cause| file.reading.findings.iter().find(|finding| finding.cause == cause).unwrap().first_at;
        let place = |needle: &str| text.find(needle).unwrap() as u64;
        assert_eq!(at(Cause::NoStamp), place(r#"{"start_timestamp": null}"#));
        assert_eq!(at(Cause::NegativeDuration), place(r#"{"start_timestamp": 40"#));
        assert!(at(Cause::BrokenEvent).abs_diff(place(r#"{"start_timestamp": "x""#)) < 3);
    }

    #[test]
    fn what_is_before_a_cut_is_used() {
        let rows: Vec<_> =
            (1..2_000).map(|i| dispatch(i, i64::from(i) * 10, i64::from(i) * 10 + 5, 1)).collect();
        let text = document(&format!(r#""kernel_dispatch": [{}]"#, rows.join(",")));
        let file = read(&text[..text.len() * 6 / 10]).unwrap();
        assert!(file.reading.truncated);
        let used = file.ranks[0].work.len();
        assert!((1_150..1_250).contains(&used), "{used}");
        // The names come after the cut.
        assert_eq!(findings(&file), [(Cause::Truncated, 1), (Cause::NoName, used as u64)]);
    }

    #[test]
    fn a_file_without_dispatches_is_an_empty_trace_and_other_json_is_none() {
        for text in [
            document(""),
            r#"{"rocprofiler-sdk-tool": []}"#.into(),
            r#"{"rocprofiler-sdk-tool": {"agents": 3}}"#.into(),
        ] {
            let file = read(&text).unwrap();
            assert_eq!(findings(&file), [(Cause::NoDeviceWork, 1)], "{text}");
            assert_eq!(file.ranks.len(), 1);
        }
        for text in ["", "[]", "{}", r#"{"traceEvents": []}"#, "no JSON"] {
            assert!(matches!(read(text), Err(ReadError::Format { .. })), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_damage_makes_it_panic(at in 0usize..4_000, byte: u8, cut in 0usize..4_000) {
            let rows: Vec<_> = (1..4).map(|i| dispatch(i, i64::from(i), i64::from(i) + 5, i)).collect();
            let calls: Vec<_> = (1..4).map(|i| call(i, i64::from(i), i64::from(i) + 1, 1, 0)).collect();
            let text = document(&format!(r#""kernel_dispatch": [{}], "hip_api": [{}]"#, rows.join(","), calls.join(",")));
            let mut bytes = text.into_bytes();
            let length = bytes.len();
            bytes[at % length] = byte;
            let mut input = &bytes[..length - cut % length];
            if let Ok(file) = rocprof::read(&mut input, Path::new("x.json")) {
                for work in file.ranks.iter().flat_map(|trace| &trace.work) {
                    prop_assert!(work.duration_ns() >= 0);
                }
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let bytes = [br#"{"rocprofiler-sdk-tool": [{"buffer_records": {"kernel_dispatch": ["#, &bytes[..]].concat();
            let _ = rocprof::read(&mut &bytes[..], Path::new("x.json"));
        }
    }
}

mod jax_traces {
    use super::*;

    fn read(text: &str) -> FileTraces {
        chrome::read(&mut text.as_bytes(), Path::new("perfetto_trace.json.gz")).unwrap()
    }

    /// A profile of two GPUs and their host, as XLA's profiler writes it.
    const GPUS: &str = r#"{"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[
        {"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},
        {"ph":"M","pid":1,"tid":13,"name":"thread_name","args":{"name":"Stream #13(Compute)"}},
        {"ph":"M","pid":1,"tid":90,"name":"thread_name","args":{"name":"XLA Ops"}},
        {"ph":"M","pid":1,"tid":91,"name":"thread_name","args":{"name":"Steps"}},
        {"ph":"M","pid":2,"name":"process_name","args":{"name":"/device:GPU:1"}},
        {"ph":"M","pid":2,"tid":14,"name":"thread_name","args":{"name":"Stream #14(Compute)"}},
        {"ph":"M","pid":701,"name":"process_name","args":{"name":"/host:CPU"}},
        {"ph":"M","pid":701,"tid":5,"name":"thread_name","args":{"name":"python3"}},
        {"ph":"X","pid":1,"tid":13,"ts":10.5,"dur":2.25,"name":"gemm_fusion_dot","args":{"hlo_op":"dot.1","correlation_id":"7"}},
        {"ph":"X","pid":1,"tid":90,"ts":10.5,"dur":2.25,"name":"dot.1"},
        {"ph":"X","pid":1,"tid":91,"ts":10,"dur":90,"name":"3"},
        {"ph":"X","pid":2,"tid":14,"ts":20,"dur":1,"name":"MemcpyD2D","args":{"correlation_id":8}},
        {"ph":"X","pid":2,"tid":14,"ts":22,"dur":1,"name":"ncclDevKernel_AllReduce","args":{}},
        {"ph":"X","pid":701,"tid":5,"ts":9,"dur":1,"name":"cuLaunchKernel","args":{"hlo_op":"dot.1","correlation_id":"7"}},
        {"ph":"X","pid":701,"tid":5,"ts":5,"dur":95,"name":"train","args":{"step_num":"3"}},
        {"ph":"X","pid":701,"tid":5,"ts":6,"dur":1,"name":"$train.py:3 f"},
        {}]}"#;

    #[test]
    fn each_device_is_a_trace_with_its_launches() {
        let file = read(GPUS);
        assert_eq!(file.reading.device_events, 3);
        let [first, second] = file.ranks.as_slice() else { panic!("{} traces", file.ranks.len()) };
        assert_eq!(first.identity.part.as_deref(), Some("/device:GPU:0"));
        let work = &first.work[0];
        assert_eq!((first.work.len(), work.start_ns, work.end_ns), (1, 10_500, 12_750));
        assert_eq!(first.launch_of(work).map(|launch| launch.start_ns), Some(9_000));
        assert_eq!(first.operator_of(work).map(|operator| first.name(operator.name)), Some("dot.1"));
        assert_eq!(first.name(first.annotations[0].name), "ProfilerStep#3");
        assert_eq!(
            second.work.iter().map(|work| work.coarse()).collect::<Vec<_>>(),
            [Coarse::Memory, Coarse::Communication]
        );
        assert_eq!((second.launches.len(), second.streams[0].device, second.streams[0].id), (0, 1, 14));
        for trace in &file.ranks {
            assert_eq!(
                trace.ranges.iter().map(|range| range.kind).collect::<Vec<_>>(),
                [HostKind::Step(Some(3))]
            );
            assert_eq!(trace.epoch, Epoch::Own);
        }
    }

    #[test]
    fn operations_of_a_tpu_count_once() {
        let file = read(
            r#"{"traceEvents":[{"ph":"M","pid":3,"name":"process_name","args":{"name":"/device:TPU:0"}},
            {"ph":"M","pid":3,"tid":1,"name":"thread_name","args":{"name":"XLA Modules"}},
            {"ph":"M","pid":3,"tid":2,"name":"thread_name","args":{"name":"XLA Ops"}},
            {"ph":"X","pid":3,"tid":1,"ts":0,"dur":9,"name":"jit_step(1)"},
            {"ph":"X","pid":3,"tid":2,"ts":0,"dur":9,"name":"while.2"},
            {"ph":"X","pid":3,"tid":2,"ts":0,"dur":4,"name":"fusion.1","args":{"hlo_category":"convolution fusion"}},
            {"ph":"X","pid":3,"tid":2,"ts":5,"dur":4,"name":"all-gather.9"}]}"#,
        );
        let trace = &file.ranks[0];
        let classes: Vec<_> = trace.work.iter().map(|work| work.class).collect();
        assert_eq!(classes, [Class::Convolution, Class::Communication]);
        assert_eq!(trace.collective_kind(&trace.work[1]), CollectiveKind::AllGather);
    }

    #[test]
    fn a_host_alone_is_an_empty_trace() {
        let file = read(
            r#"{"traceEvents":[{"ph":"M","pid":7,"name":"process_name","args":{"name":"/host:CPU"}},
            {"ph":"X","pid":7,"tid":2,"ts":0,"dur":9,"name":"step 4"}]}"#,
        );
        assert_eq!(file.ranks.len(), 1);
        assert_eq!((file.ranks[0].work.len(), file.ranks[0].ranges.len()), (0, 1));
    }
}
