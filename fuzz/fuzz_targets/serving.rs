//! Logs of a serving fleet, read and accounted: every line is accounted for, and held time is used once.
#![no_main]

use goodput_core::records::FileId;
use goodput_core::serving::{RowIdeal, ServingRecords, account};
use goodput_records::serving::read_serving;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut records = ServingRecords::default();
    let Ok(report) = read_serving("log", FileId(0), bytes, &mut records) else { return };
    let skipped: u64 = report.skipped.values().sum();
    assert_eq!(report.used + report.refused + skipped, report.rows);
    let ideal = RowIdeal {
        bytes_per_second: Some(3_350_000_000_000),
        weight_bytes: Some(140_000_000_000),
        ..RowIdeal::default()
    };
    let _ = account(&mut records, (None, None), |_, _| ideal);
});
