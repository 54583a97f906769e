//! Reads a serving fleet's logs, accounts them, and says how long each took:
//! `cargo run --release -p goodput-records --example read_serving -- FILE…`.

use std::fs::File;
use std::time::Instant;

use goodput_core::records::FileId;
use goodput_core::serving::{RowIdeal, ServingRecords, account};
use goodput_records::serving::read_serving;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut records = ServingRecords::default();
    let begun = Instant::now();
    for argument in std::env::args().skip(1) {
        let report = read_serving(&argument, FileId(0), File::open(&argument)?, &mut records)?;
        println!("{argument}: {} lines, {} used, {} refused", report.rows, report.used, report.refused);
    }
    let read = begun.elapsed();
    let (events, samples) = (records.events.len(), records.samples.len());
    let ideal = RowIdeal {
        bytes_per_second: Some(3_350_000_000_000),
        weight_bytes: Some(140_000_000_000),
        ..RowIdeal::default()
    };
    let account = account(&mut records, (None, None), |_, _| ideal)?;
    let whole = begun.elapsed();
    println!(
        "{events} events, {samples} samples, {} lives: read in {read:.2?}, accounted in {:.2?}",
        account.lives.len(),
        whole - read
    );
    Ok(())
}
