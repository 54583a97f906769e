//! Any bytes, read as a job table with and without the user's column names.

#![no_main]

use goodput_core::records::{FileId, FleetRecords};
use goodput_records::scheduler::slurm::{SlurmOptions, sacct::read_sacct};
use jiff::tz::TimeZone;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let names = ["JobID", "JobName", "State", "Submit", "Start", "End", "AllocTRES", "NodeList"];
    for columns in [None, Some(names.map(str::to_owned).to_vec())] {
        let options = SlurmOptions { time_zone: Some(TimeZone::UTC), columns, ..SlurmOptions::default() };
        let mut records = FleetRecords::new();
        if let Ok(report) = read_sacct("fuzz", FileId(0), bytes, &options, &mut records) {
            assert_eq!(report.rows, report.used + report.refused + report.skipped.values().sum::<u64>());
            assert_eq!(report.used, records.attempts.len() as u64);
        }
    }
});
