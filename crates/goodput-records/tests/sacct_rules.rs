//! What is used, repaired and refused, one rule at a time.

mod support;

use goodput_core::Timestamp;
use goodput_core::records::{FleetRecords, JobState, WaitReason};
use goodput_records::scheduler::slurm::SlurmOptions;
use goodput_records::{FileReport, Treatment};
use jiff::tz::TimeZone;
use rstest::rstest;
use support::*;

const HEADER: &str = "JobIDRaw|JobName|User|State|Submit|Start|End|AllocTRES|NodeList";

fn table(rows: &[&str]) -> (FleetRecords, FileReport) {
    read(format!("{HEADER}\n{}\n", rows.join("\n")).as_bytes())
}

fn refusal(report: &FileReport) -> (u32, &str, &str) {
    let finding = report.findings.iter().find(|f| f.treatment == Treatment::Refused).expect("a refusal");
    (finding.line, finding.code, finding.field.as_str())
}

const GOOD: &str = "1|a|bob|COMPLETED|1795973123|1795973124|1795973159|gres/gpu=8,node=1|gpu001";

#[test]
fn the_dump_in_the_repository_is_read() {
    let (records, report) = read(include_bytes!("data/sacct-22.05.8.txt"));
    assert_eq!((report.used, report.repaired, report.refused), (40, 2, 0));
    let window = window(1_795_973_123, 1_795_973_435);
    assert_eq!(device_seconds(&records.attempts, window), 14_239);
    assert_eq!(without_overlap(&records, window), 14_111);

    let (records, report) = read(include_bytes!("data/sacct-24.11.5.json"));
    assert_eq!(report.format, "sacct json data_parser/v0.0.42 (Slurm 24.11.5)");
    let states: Vec<JobState> = records
        .attempts
        .iter()
        .filter(|a| matches!(records.symbols.get(a.key.job), "34" | "35"))
        .map(|a| a.state)
        .collect();
    assert_eq!(states, [JobState::Requeued, JobState::Running, JobState::Resizing, JobState::Completed]);
}

#[rstest]
#[case(&["2|x|y|bob|COMPLETED|1795973123|1795973124|1795973159|gres/gpu=8|gpu002"], "stray_delimiter", "x|y")]
#[case(&["2|x|", "y|z|bob|COMPLETED|1795973123|1795973124|1795973159|gres/gpu=8|gpu002"], "split_record", "x|\ny|z")]
#[case(&["2|x", "", "y|bob|COMPLETED|1795973123|1795973124|1795973159|gres/gpu=8|gpu002"], "split_record", "x\n\ny")]
fn names_may_hold_delimiters_and_line_breaks(#[case] rows: &[&str], #[case] code: &str, #[case] name: &str) {
    let (records, report) = table(&[&[GOOD], rows, &[GOOD]].concat());
    assert_eq!((report.rows, report.used, report.repaired, report.counts[code]), (3, 3, 1, 1));
    assert_eq!(records.symbols.get(records.attempts[1].name), name);
    assert_eq!(records.attempts[1].source.line, 3);
}

#[test]
fn a_fragment_between_rows_is_refused_and_the_rows_are_used() {
    let (_, report) = table(&[GOOD, "1795973124|1795973159|gres/gpu=8|gpu002", GOOD]);
    assert_eq!((report.used, report.refused), (2, 1));
    assert_eq!(refusal(&report), (3, "wrong_field_count", ""));
}

#[rstest]
#[case("x|a|bob|COMPLETED|1795973123|1795973124|1795973159|gres/gpu=8|gpu001", "bad_id", "JobID")]
#[case("2|a|bob|done|1795973123|1795973124|1795973159|gres/gpu=8|gpu001", "bad_state", "State")]
#[case("2|a|bob|COMPLETED|Unknown|1795973124|1795973159|gres/gpu=8|gpu001", "no_submit", "Submit")]
#[case("2|a|bob|COMPLETED|1795973123|yesterday|1795973159|gres/gpu=8|gpu001", "bad_time", "Start")]
#[case("2|a|bob|COMPLETED|1795973123|1795973124|1795973100|gres/gpu=8|gpu001", "ends_before_start", "End")]
#[case("2|a|bob|COMPLETED|1795973123|1795973124|Unknown|gres/gpu=8|gpu001", "no_end", "End")]
#[case("2|a|bob|COMPLETED|1795973123|1795973124|1795973159|gres/gpu=many|gpu001", "bad_tres", "AllocTRES")]
#[case(
    "2|a|bob|COMPLETED|1795973123|1795973124|1795973159|gres/gpu=8|gpu[1-999999999]",
    "bad_node_list",
    "NodeList"
)]
fn a_row_that_cannot_be_used_is_refused_by_line_and_field(
    #[case] row: &str,
    #[case] code: &str,
    #[case] field: &str,
) {
    let (records, report) = table(&[GOOD, row]);
    assert_eq!((report.used, report.refused, records.attempts.len()), (1, 1, 1));
    assert_eq!(refusal(&report), (3, code, field));
}

#[test]
fn a_local_time_that_occurs_twice_costs_its_row() {
    let options =
        SlurmOptions { time_zone: Some(TimeZone::get("America/New_York").unwrap()), ..Default::default() };
    let table = format!(
        "{HEADER}\n{GOOD}\n2|a|bob|COMPLETED|2026-11-01T00:30:00|2026-11-01T01:30:00|2026-11-01T03:00:00|gres/gpu=8|n1\n"
    );
    let (_, report) = read_with(table.as_bytes(), &options).unwrap();
    assert_eq!((report.used, refusal(&report)), (1, (3, "bad_time", "Start")));
    assert!(report.findings.iter().any(|f| f.message.contains("occurs twice")));
}

#[test]
fn local_times_are_read_in_their_zone() {
    let options =
        SlurmOptions { time_zone: Some(TimeZone::get("America/New_York").unwrap()), ..Default::default() };
    let local = GOOD
        .replace("1795973123", "2026-11-29T12:25:23")
        .replace("1795973124", "2026-11-29T12:25:24")
        .replace("1795973159", "2026-11-29T12:25:59");
    let (in_zone, _) = read_with(format!("{HEADER}\n{local}\n").as_bytes(), &options).unwrap();
    assert_eq!(in_zone.attempts, table(&[GOOD]).0.attempts);
}

#[test]
fn relative_times_are_refused_as_a_file() {
    let row = GOOD.replace("1795973123", "17:25:23");
    let error = read_with(format!("{HEADER}\n{row}\n").as_bytes(), &utc()).unwrap_err();
    assert!(error.to_string().contains("relative"), "{error}");
}

#[test]
fn an_end_or_a_suspension_follows_from_the_elapsed_time() {
    let text = "JobID|State|Submit|Start|End|ElapsedRaw|AllocTRES\n\
                1|TIMEOUT|1795973123|1795973124|Unknown|35|gres/gpu=8\n\
                2|COMPLETED|1795973123|1795973124|1795973145|6|gres/gpu=8\n\
                3|RUNNING|1795973123|1795973124|Unknown|60|gres/gpu=8\n\
                4|FAILED|1795973123|Unknown|1795973145|6|gres/gpu=8\n";
    let (records, report) = read(text.as_bytes());
    assert_eq!(records.attempts[0].end, Some(Timestamp::from_seconds(1_795_973_159)));
    assert_eq!(records.attempts[1].suspended_ns, 15_000_000_000);
    assert_eq!(records.written_at, Some(Timestamp::from_seconds(1_795_973_184)));
    assert_eq!((report.repaired, report.counts["end_from_elapsed"]), (1, 1));
    assert_eq!(refusal(&report), (5, "no_start", "Start"));
}

#[test]
fn old_sites_give_devices_for_each_node() {
    let text = "JobID|State|Submit|Start|End|NNodes|AllocGRES|ReqGRES\n\
                1|COMPLETED|1795973123|1795973124|1795973159|4|gpu:8|gpu:8\n\
                2|CANCELLED by 0|1795973123|None|1795973159|2||gpu:v100:4\n\
                3|COMPLETED|1795973123|1795973124|1795973159|1||\n";
    let (records, _) = read(text.as_bytes());
    assert_eq!(records.attempts.iter().map(|a| a.devices).collect::<Vec<_>>(), [32, 8, 0]);
}

#[test]
fn reasons_states_and_requests_of_waiting_jobs() {
    let text = "JobID|State|Submit|Start|End|AllocTRES|ReqTRES|Reason|Timelimit\n\
                1|PENDING|1795973123|Unknown|Unknown||gres/gpu=64,node=8|QOSMaxGRESPerUser|1-00:00:00\n\
                2|PENDING|1795973123|Unknown|Unknown||gres/gpu=8,node=1|Dependency|UNLIMITED\n\
                3|VANISHED|1795973123|1795973124|1795973159|gres/gpu=8||None|\n";
    let (records, report) = read(text.as_bytes());
    let waiting = &records.attempts[0];
    assert_eq!((waiting.devices, waiting.node_count, waiting.wait_reason), (64, 8, WaitReason::Limit));
    assert_eq!(waiting.time_limit_ns, Some(86_400_000_000_000));
    assert_eq!(records.attempts[1].wait_reason, WaitReason::NotEligible);
    assert_eq!(records.attempts[2].state, JobState::Other);
    assert_eq!((report.used, report.counts["unknown_state"]), (3, 1));
}

/// Lists hold commas too: only shapes and quotes tell where they end.
#[rstest]
#[case("1,COMPLETED,1795973123,1795973124,1795973159,cpu=4,gres/gpu=8,node=2,gpu[001,003],bob")]
#[case("1,COMPLETED,1795973123,1795973124,1795973159,\"cpu=4,gres/gpu=8,node=2\",\"gpu[001,003]\",bob")]
fn comma_separated_tables(#[case] row: &str) {
    let text = format!("JobID,State,Submit,Start,End,AllocTRES,NodeList,User\n{row}\n");
    let (records, report) = read(text.as_bytes());
    assert_eq!((report.used, report.repaired), (1, 0));
    assert_eq!((records.attempts[0].devices, records.node_set(records.attempts[0].nodes).len()), (8, 2));
    assert_eq!(records.symbols.get(records.attempts[0].user), "bob");
}

#[test]
fn what_a_file_as_a_whole_does_not_say_is_noted() {
    let (_, report) = table(&[GOOD]);
    assert_eq!(report.counts["one_row_a_job"], 1);
    let (_, report) = table(&[&GOOD.replace("gres/gpu=8,", "cpu=4,")]);
    assert_eq!(report.counts["no_devices"], 1);
    let (_, report) = table(&[]);
    assert_eq!((report.rows, report.counts["no_rows"]), (0, 1));
}

#[test]
fn continuation_lines_of_a_last_column_are_no_rows() {
    let text = "JobID|State|Submit|Start|End|AllocTRES|JobName\n\
                1|COMPLETED|1795973123|1795973124|1795973159|gres/gpu=8|first\n\
                second | third\n\
                2|COMPLETED|1795973123|1795973124|1795973159|gres/gpu=8|b|c\n";
    let (records, report) = read(text.as_bytes());
    assert_eq!((report.rows, report.used, report.refused), (2, 2, 0));
    assert_eq!(report.counts["continuation_line"], 1);
    assert_eq!(records.symbols.get(records.attempts[1].name), "b|c");
}

#[test]
fn headers_of_files_run_together_are_skipped() {
    let text = format!("noise of a shell\n{HEADER}\n{GOOD}\n{HEADER}\r\n{GOOD}\r\n");
    let (_, report) = read(text.as_bytes());
    assert_eq!((report.used, report.skipped["header"]), (2, 1));
}

#[rstest]
#[case(b"{\"jobs\": [{\"job_id\": 1}".as_slice(), "cut off")]
#[case(b"{\"nodes\": []}", "no array")]
#[case(b"{\"jobs\" [", "no JSON at byte 8")]
#[case(b"{\"jobs\": [{\"job_id\": 1}]}", "\"time\"")]
#[case(b"{\"jobs\": [{\"job_id\": 1 \"x\"}]}", "cannot be read")]
#[case(b"\xff\xfeJ\0o\0b\0", "UTF-16")]
#[case(b"", "empty")]
fn broken_files_are_refused(#[case] bytes: &[u8], #[case] message: &str) {
    let error = read_with(bytes, &utc()).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
}

#[test]
fn numbers_of_json_come_in_every_form() {
    let text = r#"{"jobs": [{"job_id": "7", "state": {"current": "RUNNING", "reason": null},
        "time": {"submission": {"set": true, "infinite": false, "number": 1795973123}, "start": 1795973124.0,
                 "end": {"set": false, "infinite": false, "number": 5}, "elapsed": 10, "eligible": 4294967294,
                 "limit": {"set": false, "infinite": true, "number": 0}},
        "tres": {"allocated": [{"type": "gres", "name": "gpu:h100", "count": 2}, {"type": "energy", "count": -2}]}}],
        "meta": null}"#;
    let (records, report) = read(text.as_bytes());
    assert_eq!(report.used, 1, "{report:?}");
    let attempt = &records.attempts[0];
    assert_eq!(
        (attempt.devices, attempt.end, attempt.eligible, attempt.time_limit_ns),
        (2, None, None, None)
    );
    assert_eq!(records.written_at, Some(Timestamp::from_seconds(1_795_973_134)));
}
