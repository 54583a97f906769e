//! The reader of serving logs: whatever stands in a line, it is used or refused, and the account does not panic on it.
#![allow(clippy::unwrap_used)]

use std::io::Write;

use goodput_core::records::FileId;
use goodput_core::serving::{RowIdeal, ServingRecords, account};
use goodput_records::serving::read_serving;
use goodput_records::{FileReport, Treatment};
use proptest::prelude::*;

const EXAMPLE: &str = include_str!("../../../examples/serving.jsonl");

fn read(text: &[u8]) -> (FileReport, ServingRecords) {
    let mut records = ServingRecords::default();
    let report = read_serving("serving.jsonl", FileId(0), text, &mut records).unwrap();
    (report, records)
}

#[test]
fn every_line_of_the_example_is_used() {
    let (report, records) = read(EXAMPLE.as_bytes());
    assert_eq!((report.rows, report.used, report.refused), (EXAMPLE.lines().count() as u64, report.rows, 0));
    assert_eq!(records.replicas.len(), 3);
}

#[test]
fn gzip_is_read_and_events_out_of_order_are_repaired() {
    let log = "{\"goodput_serving\":1}\n\
        {\"replica\":\"r\",\"at\":1767225700,\"event\":\"ready\"}\n\
        {\"replica\":\"r\",\"at\":1767225600,\"event\":\"placed\",\"devices\":8}\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(log.as_bytes()).unwrap();
    let (report, mut records) = read(&gzip.finish().unwrap());
    assert_eq!((report.used, report.repaired), (3, 1));
    assert_eq!((report.findings[0].treatment, report.findings[0].line), (Treatment::Repaired, 3));
    let account = account(&mut records, (None, None), |_, _| RowIdeal::default()).unwrap();
    assert_eq!(account.rows[0].held().device_seconds(), 800.0);
}

#[test]
fn a_replica_of_two_files_is_one() {
    let mut records = ServingRecords::default();
    for (file, text) in [
        "{\"goodput_serving\":1}\n{\"replica\":\"r\",\"at\":1767225600,\"event\":\"placed\",\"devices\":8}\n",
        "{\"goodput_serving\":1}\n{\"replica\":\"r\",\"at\":1767225700,\"event\":\"ready\"}\n",
    ]
    .iter()
    .enumerate()
    {
        read_serving("part", FileId(u16::try_from(file).unwrap()), text.as_bytes(), &mut records).unwrap();
    }
    assert_eq!((records.deployments.len(), records.replicas.len(), records.events.len()), (1, 1, 2));
}

/// Values that a field may hold by mistake.
fn odd_value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        Just("-1".to_owned()),
        Just("0".to_owned()),
        Just("18446744073709551615".to_owned()),
        Just("9223372036854775807".to_owned()),
        Just("1e300".to_owned()),
        Just("\"\"".to_owned()),
        Just("\"decode\"".to_owned()),
        Just("[]".to_owned()),
        Just("{\"a\":1}".to_owned()),
        Just("\"2026-11-30T00:00:00Z\"".to_owned()),
        any::<u64>().prop_map(|n| n.to_string()),
    ]
}

proptest! {
    #[test]
    fn changed_logs_are_read_or_refused(changes in proptest::collection::vec((1usize..50, 0usize..10, odd_value()), 1..12)) {
        let mut lines: Vec<String> = EXAMPLE.lines().map(str::to_owned).collect();
        for (line, field, value) in changes {
            let mut fields: serde_json::Map<String, serde_json::Value> = match serde_json::from_str(&lines[line]) {
                Ok(fields) => fields,
                Err(_) => continue,
            };
            let Some(name) = fields.keys().nth(field).cloned() else { continue };
            fields.insert(name, serde_json::from_str(&value).unwrap_or_default());
            lines[line] = serde_json::to_string(&fields).unwrap();
        }
        let (report, mut records) = read(lines.join("\n").as_bytes());
        prop_assert_eq!(report.rows, report.used + report.refused);
        let ideal = RowIdeal {
            bytes_per_second: Some(3_350_000_000_000),
            flops_per_second: Some(989_400_000_000_000),
            weight_bytes: Some(140_000_000_000),
            kv_bytes_per_token: Some(327_680),
        };
        if let Ok(account) = account(&mut records, (None, None), |_, _| ideal) {
            for row in &account.rows {
                let (decode, prefill) = (&row.decode, &row.prefill);
                let work = decode.busy + prefill.busy + row.headroom() + row.work_unknown();
                prop_assert_eq!(work, row.ready());
            }
        }
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let mut text = b"{\"goodput_serving\":1}\n".to_vec();
        text.extend_from_slice(&bytes);
        let (report, _) = read(&text);
        prop_assert_eq!(report.rows, report.used + report.refused);
    }
}
