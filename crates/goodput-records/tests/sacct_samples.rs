//! Samples of real clusters with broken lines, bytes that are no UTF-8, and other delimiters.

mod support;

use goodput_core::records::JobState;
use support::*;

fn jobs(records: &goodput_core::records::FleetRecords) -> Vec<(&str, JobState, u64)> {
    records.attempts.iter().map(|a| (records.symbols.get(a.key.job), a.state, a.devices)).collect()
}

#[test]
fn a_file_of_steps_only_is_no_zero() {
    let Some(bytes) = shared("gcm-samples/sample-sacct-output.txt") else { return };
    let error = read_with(&bytes, &utc()).unwrap_err();
    assert!(error.to_string().contains("all 68 rows are job steps"), "{error}");
}

#[test]
fn a_row_whose_beginning_is_cut_off_is_refused_by_line() {
    let Some(bytes) = shared("gcm-samples/sample-sacct-output-with-invalid-lines.txt") else { return };
    let error = read_with(&bytes, &utc()).unwrap_err();
    assert!(error.to_string().contains("sacct.txt:2: 93 fields where the header has 109"), "{error}");
}

#[test]
fn bytes_that_are_no_utf8_do_not_cost_a_row() {
    let Some(bytes) = shared("gcm-samples/sample-sacct-output-invalid-utf8.txt") else { return };
    let (records, report) = read(&bytes);
    assert_eq!(jobs(&records), [("3557891", JobState::Failed, 8), ("3557892", JobState::Timeout, 1)]);
    assert_eq!((report.rows, report.skipped["step"], report.refused), (11, 9, 0));
    assert_eq!(report.counts["steps_without_job"], 1);
    assert!(report.findings.iter().any(|f| f.message.contains("3557893")));
}

#[test]
fn records_split_over_lines_are_joined() {
    let path = "gcm-samples/sample-sacct-fake-line-break";
    let Some(bytes) = shared(&format!("{path}.txt")) else { return };
    let (records, report) = read(&bytes);
    assert_eq!(jobs(&records), [("201729", JobState::Failed, 1024), ("201844", JobState::Requeued, 256)]);
    assert_eq!((report.rows, report.skipped["step"], report.repaired, report.refused), (4, 2, 1, 0));
    assert_eq!(report.counts["split_record"], 1);

    let (expected, _) = read(&shared(&format!("{path}-expected.txt")).unwrap());
    let strip = |records: &goodput_core::records::FleetRecords| {
        records.attempts.iter().map(|a| (a.key.submit, a.start, a.end, a.devices)).collect::<Vec<_>>()
    };
    assert_eq!(strip(&records), strip(&expected));
}

#[test]
fn split_records_in_a_row_are_joined_one_by_one() {
    let Some(bytes) = shared("gcm-samples/sample-sacct-multiple-multiline.txt") else { return };
    let (records, report) = read(&bytes);
    assert_eq!((report.rows, report.refused, report.repaired), (6, 0, 3));
    let (_, expected) = read(&shared("gcm-samples/sample-sacct-multiple-multiline-expected.txt").unwrap());
    assert_eq!((report.used, report.skipped), (expected.used, expected.skipped));
    assert_eq!(records.attempts.len() as u64, report.used);
}
