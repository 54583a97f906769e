//! Chrome traces: any bytes are read or refused, and what is read adds up.
#![no_main]

use std::path::Path;

use goodput_trace::chrome;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(traces) = chrome::read(&mut &bytes[..], Path::new("trace.json")) else { return };
    let reading = &traces.reading;
    assert!(reading.bytes <= bytes.len() as u64);
    assert!(reading.findings.iter().all(|finding| finding.first_at <= bytes.len() as u64));
    let kept: usize = traces.ranks.iter().map(|trace| trace.work.len()).sum();
    assert_eq!(reading.device_events, kept as u64);
    assert!(reading.device_events + reading.lost_device_events + reading.ignored <= reading.events);
    for trace in &traces.ranks {
        assert!(trace.work.is_sorted_by_key(|work| (work.start_ns, work.correlation)));
        assert!(trace.work.iter().all(|work| work.start_ns <= work.end_ns));
        assert!(trace.operators.iter().all(|operator| operator.start_ns <= operator.end_ns));
        assert!(trace.ranges.iter().all(|range| range.start_ns <= range.end_ns));
        assert!(trace.work.iter().all(|work| trace.streams.len() > work.stream as usize));
        if let Some((start_ns, end_ns)) = trace.device_window() {
            assert!(end_ns - start_ns >= 0);
        }
    }
});
