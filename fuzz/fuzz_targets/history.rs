//! A history of reports and its check: every line that is not blank is a row or refused.
#![no_main]

use goodput_decide::baseline::{Check, History, Settings};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let history = History::read(bytes).expect("bytes are always there");
    assert_eq!(history.rows.len() + history.refused.len(), history.lines as usize);
    let settings = Settings::default();
    let _ = Check::new(&history.rows, &settings).regressions(&settings);
});
