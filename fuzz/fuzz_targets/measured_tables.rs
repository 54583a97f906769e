//! Calibration files, and rows of measured tables: whatever is read must be usable, and come back as it was written.
#![no_main]

use std::collections::BTreeMap;

use goodput_model::device::Catalogue;
use goodput_predict::measured::{Calibration, Collector, Columns, Measured};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(calibration) = Calibration::read("file", text) {
        let _ = calibration.summary();
        if let Ok(measured) = Measured::new(&calibration, "file") {
            assert_eq!(measured.device(), calibration.device);
        }
        let mut written = Vec::new();
        if calibration.write(&mut written).is_ok() {
            let written = String::from_utf8(written).expect("text");
            let again = Calibration::read("written", &written).expect("what was written is read");
            assert_eq!(again.rows.len(), calibration.rows.len());
        }
    }
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let Some(header) = lines.next() else { return };
    let header: Vec<String> = header.into_iter().map(str::to_owned).collect();
    let Ok(columns) = Columns::new(&header, &BTreeMap::new(), &BTreeMap::new()) else { return };
    let Ok(device) = Catalogue::built_in().find("H100 SXM5") else { return };
    let mut collector = Collector::new(device);
    for line in lines {
        if let Ok(read) = columns.row(|at| line.get(at).copied().unwrap_or("")).read() {
            let _ = collector.add(&read.timed);
        }
    }
    let _ = collector.finish().summary();
});
