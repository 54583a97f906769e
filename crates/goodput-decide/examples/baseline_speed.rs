//! Times reading and checking a history, without the command around it:
//!
//! `cargo run --release -p goodput-decide --example baseline_speed HISTORY.jsonl`

use std::fs::File;
use std::time::Instant;

use goodput_decide::baseline::{Check, History, Settings};

fn main() -> std::io::Result<()> {
    for path in std::env::args().skip(1) {
        for _ in 0..5 {
            let start = Instant::now();
            let history = History::read(File::open(&path)?)?;
            let read = start.elapsed();
            let settings = Settings::default();
            let check = Check::new(&history.rows, &settings);
            println!(
                "{} rows, {} tests, {} regressions: read in {:.3} s, checked in {:.3} s, all {:.3} s",
                history.rows.len(),
                check.tested(),
                check.regressions(&settings),
                read.as_secs_f64(),
                (start.elapsed() - read).as_secs_f64(),
                start.elapsed().as_secs_f64()
            );
        }
    }
    Ok(())
}
