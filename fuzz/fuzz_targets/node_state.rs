//! `scontrol show node`, with and without the time of the file.
#![no_main]

use goodput_core::Timestamp;
use goodput_core::records::{FileId, FleetRecords};
use goodput_records::scheduler::slurm::SlurmOptions;
use goodput_records::scheduler::slurm::nodes::read_nodes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let options = SlurmOptions::default();
    let mut records = FleetRecords::new();
    for at in [None, Some(Timestamp::from_seconds(1_795_974_000))] {
        let _ = read_nodes("nodes", FileId(0), bytes, at, &options, &mut records);
    }
});
