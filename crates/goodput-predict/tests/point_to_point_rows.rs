//! Measured sends between two devices of one node (microsoft/vidur, MIT, for comparison only). Nothing is fitted to them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at what must not be")]

use std::fs::File;

use goodput_predict::cluster::Clusters;
use goodput_predict::collective::{Collectives, GroupShape, Operation};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;

const ROWS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/kernels/collective/collectives.parquet");

#[test]
fn sends_inside_a_node_come_near_what_was_measured() {
    let Ok(file) = File::open(ROWS) else { return };
    let reader = SerializedFileReader::new(file).unwrap();
    for (device, name) in [("h100_dgx", "DGX H100"), ("a100_dgx", "DGX A100")] {
        let cluster = Clusters::built_in().find(name).unwrap();
        let shape = GroupShape::strided(cluster, 2, 1);
        let send = Collectives::new(cluster).prepare(Operation::SendReceive, shape, 2);
        let (mut small, mut large) = (Vec::new(), Vec::new());
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let is_send = row.get_string(0).unwrap() == device && row.get_string(2).unwrap() == "send_recv";
            if !is_send || row.get_int(5).unwrap() != 1 {
                continue;
            }
            let (bytes, us) = (f64::from(row.get_int(6).unwrap()), f64::from(row.get_float(7).unwrap()));
            let error = (send.time(bytes).estimate.ns / 1e3 / us - 1.0).abs() * 100.0;
            if bytes < 4e6 { small.push(error) } else { large.push(error) }
        }
        let median = |mut errors: Vec<f64>| {
            errors.sort_by(f64::total_cmp);
            errors[errors.len() / 2]
        };
        let (small, large) = (median(small), median(large));
        println!("{name}: send, median {small:.1} % below 4 MB, {large:.1} % from there");
        assert!(small <= 35.0 && large <= 20.0, "{name}: {small} {large}");
    }
}
