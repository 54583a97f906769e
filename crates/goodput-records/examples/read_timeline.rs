//! Reads job logs and says what is in them: `cargo run --release -p goodput-records --example read_timeline -- FILE…`
//! (`--zone UTC` for logs whose stamps carry no zone).

use std::fs::File;

use goodput_core::records::FileId;
use goodput_records::timeline::{TimelineOptions, read_timeline};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = TimelineOptions::default();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--zone" {
            options.time_zone = Some(jiff::tz::TimeZone::get(&arguments.next().unwrap_or_default())?);
            continue;
        }
        for (timeline, report) in read_timeline(&argument, FileId(0), File::open(&argument)?, &options)? {
            println!(
                "{argument}: {}, job {}: {} steps, {} events; {} lines, {} used, {} refused",
                report.format,
                timeline.job.as_deref().unwrap_or("unnamed"),
                timeline.steps.len(),
                timeline.events.len(),
                report.rows,
                report.used,
                report.refused
            );
            for finding in &report.findings {
                println!("  line {}: {} {}: {}", finding.line, finding.code, finding.field, finding.message);
            }
        }
    }
    Ok(())
}
