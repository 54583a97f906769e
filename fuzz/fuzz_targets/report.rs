//! Reports that `compare`, `baseline` and `lint` read back, and contract files.
#![no_main]

use goodput_decide::baseline::{Labels, distil};
use goodput_decide::compare::{Options, compare};
use goodput_decide::contract::Contract;
use goodput_decide::lint::{Subject, lint};
use goodput_decide::report::{Report, ServingReport};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Contract::default().state("contract.yaml", text);
    }
    let _ = ServingReport::read("report", bytes);
    let Ok(report) = Report::read("report", bytes) else { return };
    let _ = distil("report", bytes, &report, &Labels::default());
    let _ = compare(&report, &report, &Options { resamples: 20, ..Options::default() });
    let _ = lint(&Subject::Report(report));
});
