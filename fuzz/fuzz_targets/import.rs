//! Tables through a column map: the map is the part before the first NUL.
#![no_main]

use goodput_core::records::{FileId, FleetRecords};
use goodput_records::scheduler::completeness;
use goodput_records::scheduler::import::{ImportMap, read_import};
use libfuzzer_sys::fuzz_target;

const MAP: &str = "
time: epoch_seconds
jobs: {job: a, submit: b, start: c, end: d, devices: e, milli_per_device: f, state: g, nodes: h}
series: {time: a, pool: {column: b}, offered: c, held: d, step_seconds: 60}
nodes: {node: a, devices: b}
";

fuzz_target!(|bytes: &[u8]| {
    let (map, table) = match bytes.iter().position(|&b| b == 0) {
        Some(end) => (std::str::from_utf8(&bytes[..end]).unwrap_or(MAP), &bytes[end + 1..]),
        None => (MAP, bytes),
    };
    // Panics of the Parquet library are contained by the reader; the fuzzer would count them all the same.
    if table.starts_with(b"PAR1") || table.starts_with(&[0x1f, 0x8b]) {
        return;
    }
    let mut records = FleetRecords::new();
    if let Ok(map) = ImportMap::from_yaml("map", map) {
        let _ = read_import("table", FileId(0), table, &map, &mut records);
        let _ = completeness(&records);
    }
});
