//! A planning sheet and what is found in it.
#![no_main]

use goodput_decide::lint::sheet::Sheet;
use goodput_decide::lint::{Subject, lint};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|yaml: &str| {
    let Ok(sheet) = Sheet::from_yaml("sheet.yaml", yaml) else { return };
    let _ = lint(&Subject::Sheet(sheet));
});
