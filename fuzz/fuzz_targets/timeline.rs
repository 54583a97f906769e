//! Job logs in every format, found from the content and named.
#![no_main]

use goodput_core::records::FileId;
use goodput_records::timeline::{FORMATS, TimelineOptions, TimelineWriter, merge, read_timeline};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let utc = TimelineOptions { time_zone: Some(jiff::tz::TimeZone::UTC), ..TimelineOptions::default() };
    let _ = read_timeline("log", FileId(0), bytes, &utc);
    for &format in FORMATS {
        let options = TimelineOptions { format: Some(format), ..utc.clone() };
        for (timeline, report) in read_timeline("log", FileId(0), bytes, &options).into_iter().flatten() {
            let skipped: u64 = report.skipped.values().sum();
            assert_eq!(report.used + report.refused + skipped, report.rows);
            TimelineWriter::new(std::io::sink()).timeline(&timeline).expect("a sink takes everything");
            let _ = merge(timeline.clone(), &timeline);
        }
    }
});
