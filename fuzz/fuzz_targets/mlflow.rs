//! What MLflow wrote: lines of a metric, answers of the REST interface.
#![no_main]

use goodput_records::FileReport;
use goodput_records::experiment::{mlflow_metric_lines, mlflow_rest};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut report = FileReport::default();
    if let Ok(series) = mlflow_metric_lines("metric", &mut &*bytes, &mut report) {
        let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
        assert!(series.points.len() as u64 + report.refused <= lines);
    }
    if let Ok(found) = mlflow_rest("export.json", bytes, &|_| true) {
        assert!(found.report.rows > 0);
    }
});
