//! Listings of events and of reservations, and the database's tables.
#![no_main]

use goodput_core::records::{FileId, FleetRecords};
use goodput_records::scheduler::slurm::SlurmOptions;
use goodput_records::scheduler::slurm::events::read_events;
use goodput_records::scheduler::slurm::reservations::read_reservations;
use goodput_records::scheduler::slurm::slurmdbd::read_tables;
use libfuzzer_sys::fuzz_target;

const RESOURCES: &[u8] = b"id\ttype\tname\n1001\tgres\tgpu\n1002\tgres\tgpu:h100\n4\tnode\t\n";

fuzz_target!(|bytes: &[u8]| {
    let options = SlurmOptions::default();
    let mut records = FleetRecords::new();
    let _ = read_events("events", FileId(0), bytes, &options, &mut records);
    let _ = read_reservations("reservations", FileId(0), bytes, &options, &mut records);
    let files = [("c_table", FileId(0), bytes), ("tres_table", FileId(1), RESOURCES)];
    let _ = read_tables(files, &options, &mut records);
});
