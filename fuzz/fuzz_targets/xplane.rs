//! XSpace protobuf.
#![no_main]

use std::path::Path;

use goodput_trace::xplane;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = xplane::read(&mut &bytes[..], Path::new("host.xplane.pb")) else { return };
    let work: usize = file.ranks.iter().map(|trace| trace.work.len()).sum();
    assert_eq!(file.reading.device_events, work as u64);
    for trace in &file.ranks {
        assert!(trace.work.iter().all(|work| work.start_ns <= work.end_ns));
        assert!(trace.launches.iter().all(|launch| launch.start_ns <= launch.end_ns));
    }
});
