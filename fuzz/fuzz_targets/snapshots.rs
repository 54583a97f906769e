//! Series of snapshots.
#![no_main]

use goodput_core::records::{FileId, FleetRecords};
use goodput_records::scheduler::slurm::SlurmOptions;
use goodput_records::scheduler::slurm::snapshots::read_snapshots;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut records = FleetRecords::new();
    let _ = read_snapshots("snapshots", FileId(0), bytes, &SlurmOptions::default(), &mut records);
});
