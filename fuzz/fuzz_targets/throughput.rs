//! Training logs that print their own speed.
#![no_main]

use goodput_records::throughput::read_throughput;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(log) = read_throughput("log", bytes) else { return };
    assert!(!log.steps.is_empty());
    for printed in log.steps.iter().flat_map(|step| step.printed.values()) {
        assert!(printed.value.is_finite() && printed.value >= 0.0);
    }
});
