//! Any bytes, read as the elements of a JSON job table.

#![no_main]

use goodput_core::records::{FileId, FleetRecords};
use goodput_records::scheduler::slurm::{SlurmOptions, sacct::read_sacct};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let document = [b"{\"jobs\": [", bytes, b"]}"].concat();
    for document in [bytes, &document] {
        let mut records = FleetRecords::new();
        if let Ok(report) = read_sacct("fuzz", FileId(0), document, &SlurmOptions::default(), &mut records) {
            assert_eq!(report.rows, report.used + report.refused);
            assert_eq!(report.used, records.attempts.len() as u64);
        }
    }
});
