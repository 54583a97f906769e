//! Tables of any source through a column map: CSV with its faults, and Parquet.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use goodput_core::Timestamp;
use goodput_core::records::{DeviceUnit, FileId, FleetRecords, JobState};
use goodput_records::scheduler::import::{ImportMap, read_import};
use goodput_records::scheduler::slurm::{SlurmOptions, events::read_events};
use goodput_records::{FileReport, ReadError};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

const JOBS: &str = "
cluster: c
time: epoch_milliseconds
time_zone: UTC
jobs:
  job: id
  submit: submitted
  start: began
  end: ended
  devices: gpus
  state: word
  states: {ok: COMPLETED, lost: NODE_FAIL}
  nodes: hosts
";

fn read(map: &str, label: &str, bytes: &[u8]) -> Result<(FleetRecords, FileReport), ReadError> {
    let mut records = FleetRecords::new();
    let map = ImportMap::from_yaml("map.yaml", map).unwrap();
    let report = read_import(label, FileId(0), bytes, &map, &mut records)?;
    Ok((records, report))
}

fn ms(ms: i64) -> Timestamp {
    Timestamp::from_nanos(ms * 1_000_000)
}

#[test]
fn rows_with_faults_are_refused_by_line() {
    let table = "\u{feff}id,submitted,began,ended,gpus,word,hosts\n\
        1,1000,2000,3000,8,ok,\"n[1-2]\"\n\
        2,1000,2000,3000\n\
        3,yesterday,2000,3000,8,ok,\n\
        4,1000,3000,2000,8,ok,\n\
        5,1000,,,2.5,ok,\n\
        6,1000,None,,4.0,odd,n[\n";
    let (records, report) = read(JOBS, "jobs.csv", table.as_bytes()).unwrap();
    assert_eq!((report.rows, report.used, report.refused, report.repaired), (6, 2, 4, 1));
    let lines: Vec<_> = report.findings.iter().map(|f| (f.code, f.line, f.field.as_str())).collect();
    let expected = [
        ("column_count", 3, ""),
        ("bad_value", 4, "submitted"),
        ("bad_value", 5, "ended"),
        ("bad_value", 6, "gpus"),
        ("bad_node_list", 7, "nodes"),
        ("unknown_state", 7, "state"),
    ];
    assert_eq!(lines, expected);
    let [first, last] = records.attempts.as_slice() else { panic!("two jobs") };
    assert_eq!((first.key.submit, first.start, first.end), (ms(1000), Some(ms(2000)), Some(ms(3000))));
    assert_eq!((first.state, first.devices, first.node_count), (JobState::Completed, 8, 2));
    assert_eq!((last.start, last.state, last.devices), (None, JobState::Other, 4));
}

#[test]
fn a_first_assignment_before_the_start_is_a_partial_gang() {
    let map = "
time: epoch_seconds
jobs: {job: id, submit: submitted, assigned: bound, start: began, end: ended, devices: gpus}
";
    let table = "id,submitted,bound,began,ended,gpus\n1,0,20,50,100,8\n2,0,,50,100,8\n3,0,60,50,100,8\n";
    let (records, report) = read(map, "jobs.csv", table.as_bytes()).unwrap();
    let assigned: Vec<_> = records.attempts.iter().map(|a| a.assigned).collect();
    assert_eq!(assigned, [Some(Timestamp::from_seconds(20)), None]);
    assert_eq!(
        (report.used, report.refused),
        (2, 1),
        "a gang is not complete before its first device is bound"
    );
}

#[test]
fn a_table_without_the_columns_of_the_map_is_refused() {
    let error = read(JOBS, "jobs.csv", b"id,submit\n1,2\n").unwrap_err();
    assert!(error.to_string().contains("submitted"), "{error}");
    assert!(error.to_string().contains("the table has id, submit"), "{error}");
    assert!(read(JOBS, "jobs.csv", b"").is_err());
}

#[test]
fn a_state_that_no_scheduler_knows_is_refused_in_the_map() {
    let map = JOBS.replace("COMPLETED", "DONE");
    let error = read(&map, "jobs.csv", b"id,submitted,began,ended,gpus,word,hosts\n").unwrap_err();
    assert!(error.remedy().unwrap().contains("COMPLETED"), "{error}");
}

#[test]
fn gaps_of_a_series_are_noted_for_each_pool() {
    let map = "
time: iso
time_zone: Asia/Shanghai
series: {time: t, pool: {column: vc}, offered: total, held: used, demand: queued, step_seconds: 60}
";
    let table = "t,vc,total,used,queued\n2020-05-01 00:00:00,a,8,4,0\n2020-05-01 00:00:00,b,8,9,2\n\
                 2020-05-01 00:01:00,a,8,4,0\n2020-05-01 00:03:00,b,8,8,0\n";
    let (records, report) = read(map, "series.csv", table.as_bytes()).unwrap();
    assert_eq!((report.counts["series_gap"], report.counts["held_beyond_offered"]), (1, 1));
    let first = records.pool_samples[0];
    assert_eq!(first.at, Timestamp::from_seconds(1_588_262_400), "16:00 UTC of the day before");
    assert_eq!(records.pool_samples.len(), 4);
}

#[test]
fn shared_devices_do_not_mix_with_slurm_records() {
    let map = "time: epoch_seconds\njobs: {job: id, submit: s, start: b, end: e, milli_per_device: share}\n";
    let (mut records, _) = read(map, "pods.csv", b"id,s,b,e,share\n1,1,2,3,250\n").unwrap();
    assert_eq!((records.device_unit, records.attempts[0].devices), (DeviceUnit::MilliDevice, 250));
    let events = "NodeName|TimeStart|TimeEnd|State\nn1|1795973020|Unknown|DOWN\n";
    let options = SlurmOptions::default();
    assert!(read_events("e", FileId(1), events.as_bytes(), &options, &mut records).is_err());
}

/// Two jobs, with instants as Parquet's own timestamps.
fn parquet_jobs() -> Vec<u8> {
    let schema = "message jobs {
        required int64 id; required int64 submitted (TIMESTAMP(MILLIS, true)); optional int64 began (TIMESTAMP(MICROS, true));
        optional int64 ended; required int64 gpus; required binary word (UTF8); optional binary hosts (UTF8);
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let integers: [(&[i64], Option<&[i16]>); 5] = [
        (&[7, 8], None),
        (&[1_588_291_200_000, 1_588_291_201_000], None),
        (&[1_588_291_202_500_000], Some(&[1, 0])),
        (&[1_588_291_203_000], Some(&[1, 0])),
        (&[16, 32], None),
    ];
    for (values, levels) in integers {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int64Type>().write_batch(values, levels, None).unwrap();
        column.close().unwrap();
    }
    let words = [ByteArray::from("ok"), ByteArray::from("lost")];
    let hosts = [ByteArray::from("n[1-2]")];
    let texts: [(&[ByteArray], Option<&[i16]>); 2] = [(&words, None), (&hosts, Some(&[1, 0]))];
    for (values, levels) in texts {
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<ByteArrayType>().write_batch(values, levels, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn parquet_reads_as_csv_does() {
    let (records, report) = read(JOBS, "jobs.parquet", &parquet_jobs()).unwrap();
    assert_eq!((report.format.as_str(), report.used, report.refused), ("parquet", 2, 0), "{report:?}");
    let [first, last] = records.attempts.as_slice() else { panic!("two jobs") };
    assert_eq!((first.key.submit, first.start), (ms(1_588_291_200_000), Some(ms(1_588_291_202_500))));
    assert_eq!((first.end, first.devices, first.node_count), (Some(ms(1_588_291_203_000)), 16, 2));
    assert_eq!((last.start, last.end, last.state), (None, None, JobState::NodeFail));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn damaged_parquet_is_read_or_refused(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        length in any::<prop::sample::Index>(),
    ) {
        let mut bytes = parquet_jobs();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if length.index(4) == 0 {
            bytes.truncate(length.index(bytes.len()));
        }
        let _ = read(JOBS, "jobs.parquet", &bytes);
    }
}
