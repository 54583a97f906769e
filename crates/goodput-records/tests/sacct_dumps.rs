//! The dumps of three virtual clusters, text and JSON, against the figures of their scenario.

mod support;

use std::collections::BTreeMap;

use goodput_core::records::{FleetRecords, JobState};
use goodput_core::{Interval, Timestamp};
use goodput_records::FileReport;
use rstest::rstest;
use support::*;

fn scenario_22_05() -> Interval {
    window(1_795_973_123, 1_795_973_435)
}

fn scenario_24_11() -> Interval {
    window(1_795_973_617, 1_795_974_015)
}

fn load() -> Interval {
    window(1_795_973_123, 1_795_974_748)
}

fn dump(path: &str) -> Option<(FleetRecords, FileReport)> {
    let (records, report) = read(&shared(&format!("slurm/{path}"))?);
    assert_eq!(report.rows, report.used + report.refused + report.skipped.values().sum::<u64>());
    assert_eq!(report.refused, 0, "{:?}", report.findings);
    Some((records, report))
}

#[rstest]
#[case("22.05.8/sacct-delim.txt", 41, scenario_22_05(), 14_239, 14_111)]
#[case("22.05.8/sacct-alloc-dup.txt", 40, scenario_22_05(), 14_239, 14_111)]
#[case("22.05.8/sacct-alloc.txt", 37, scenario_22_05(), 13_143, 13_015)]
#[case("22.05.8/sacct-parsable2-dup.txt", 40, scenario_22_05(), 14_239, 14_111)]
#[case("22.05.8/sacct-json.json", 41, scenario_22_05(), 14_239, 14_111)]
#[case("22.05.8/sacct-json-dup.json", 41, scenario_22_05(), 14_239, 14_111)]
#[case("24.11.5/sacct-delim.txt", 47, scenario_24_11(), 15_567, 15_567)]
#[case("24.11.5/sacct-alloc-dup.txt", 47, scenario_24_11(), 15_567, 15_567)]
#[case("24.11.5/sacct-alloc.txt", 43, scenario_24_11(), 14_487, 14_487)]
#[case("24.11.5/sacct-parsable2-dup.txt", 47, scenario_24_11(), 15_567, 15_567)]
#[case("24.11.5/sacct-json-dup.json", 47, scenario_24_11(), 15_567, 15_567)]
#[case("24.11.5/sacct-json.json", 43, scenario_24_11(), 14_487, 14_487)]
#[case("22.05.8-load/sacct-delim.txt", 262, load(), 73_075, 72_947)]
#[case("22.05.8-load/sacct-alloc-dup.txt", 262, load(), 73_075, 72_947)]
#[case("22.05.8-load/sacct-json-dup.json.gz", 262, load(), 73_075, 72_947)]
fn rows_and_allocated_device_seconds(
    #[case] path: &str,
    #[case] rows: u64,
    #[case] window: Interval,
    #[case] plain: i64,
    #[case] without_overlapping: i64,
) {
    let Some((records, report)) = dump(path) else { return };
    assert_eq!(report.used, rows);
    assert_eq!(device_seconds(&records.attempts, window), plain);
    assert_eq!(without_overlap(&records, window), without_overlapping);
}

/// Sums by state where no rows overlap, or as far as the figures do not depend on the cut.
#[rstest]
#[case("22.05.8/sacct-delim.txt", scenario_22_05(), &[("COMPLETED", 8_759 + 128), ("NODE_FAIL", 1_680), ("TIMEOUT", 1_312), ("RUNNING", 1_024), ("PREEMPTED", 768), ("RESIZING", 256), ("REQUEUED", 152), ("CANCELLED", 90), ("FAILED", 70)])]
#[case("22.05.8/sacct-json.json", scenario_22_05(), &[("COMPLETED", 8_759 + 128), ("NODE_FAIL", 1_680), ("TIMEOUT", 1_312), ("RUNNING", 1_024), ("PREEMPTED", 768), ("RESIZING", 256), ("REQUEUED", 152), ("CANCELLED", 90), ("FAILED", 70)])]
#[case("24.11.5/sacct-delim.txt", scenario_24_11(), &[("COMPLETED", 10_091), ("RUNNING", 1_452), ("NODE_FAIL", 1_400), ("TIMEOUT", 1_216), ("PREEMPTED", 704), ("RESIZING", 256), ("CANCELLED", 210), ("REQUEUED", 168), ("FAILED", 70)])]
#[case("24.11.5/sacct-json-dup.json", scenario_24_11(), &[("COMPLETED", 10_091), ("RUNNING", 1_452), ("NODE_FAIL", 1_400), ("TIMEOUT", 1_216), ("PREEMPTED", 704), ("RESIZING", 256), ("CANCELLED", 210), ("REQUEUED", 168), ("FAILED", 70)])]
#[case("24.11.5/sacct-json.json", scenario_24_11(), &[("COMPLETED", 10_091), ("RUNNING", 1_452), ("NODE_FAIL", 840), ("TIMEOUT", 1_216), ("PREEMPTED", 352), ("RESIZING", 256), ("CANCELLED", 210), ("FAILED", 70)])]
#[case("22.05.8-load/sacct-delim.txt", load(), &[("COMPLETED", 49_559 + 128), ("TIMEOUT", 10_928), ("FAILED", 7_551), ("NODE_FAIL", 2_256), ("PREEMPTED", 1_672), ("RUNNING", 480), ("RESIZING", 256), ("REQUEUED", 152), ("CANCELLED", 93)])]
#[case("22.05.8-load/sacct-json-dup.json.gz", load(), &[("COMPLETED", 49_719 + 128), ("TIMEOUT", 10_928), ("FAILED", 7_551), ("NODE_FAIL", 2_256), ("PREEMPTED", 1_672), ("RUNNING", 320), ("RESIZING", 256), ("REQUEUED", 152), ("CANCELLED", 93)])]
fn device_seconds_by_state(
    #[case] path: &str,
    #[case] window: Interval,
    #[case] expected: &[(&'static str, i64)],
) {
    let Some((records, _)) = dump(path) else { return };
    // On 22.05 the row after a resize overlaps the one before it by 128 device-seconds.
    assert_eq!(by_state(&records, window), BTreeMap::from_iter(expected.iter().copied()));
}

#[rstest]
#[case("22.05.8/sacct-delim.txt", 1_795_973_435)]
#[case("22.05.8/sacct-json.json", 1_795_973_436)]
#[case("24.11.5/sacct-delim.txt", 1_795_974_015)]
#[case("24.11.5/sacct-json-dup.json", 1_795_974_015)]
#[case("22.05.8-load/sacct-delim.txt", 1_795_974_748)]
#[case("22.05.8-load/sacct-json-dup.json.gz", 1_795_974_749)]
fn a_dump_tells_when_it_was_written(#[case] path: &str, #[case] seconds: i64) {
    let Some((records, _)) = dump(path) else { return };
    assert_eq!(records.written_at, Some(Timestamp::from_seconds(seconds)));
}

#[test]
fn jobs_that_never_started_keep_what_they_asked_for() {
    let Some((records, _)) = dump("22.05.8/sacct-delim.txt") else { return };
    let expected = [
        ("19", JobState::Cancelled),
        ("30", JobState::Pending),
        ("33", JobState::Deadline),
        ("37", JobState::Pending),
    ];
    assert_eq!(never_started(&records), expected.map(|(job, state)| (job.to_owned(), state)));
    let waiting = records.attempts.iter().find(|a| records.symbols.get(a.name) == "stillpending").unwrap();
    assert_eq!((waiting.devices, waiting.node_count), (96, 12));
    assert!(records.node_set(waiting.nodes).is_empty());

    let Some((json, _)) = dump("22.05.8/sacct-json.json") else { return };
    assert_eq!(never_started(&json), never_started(&records));
}

/// Text and JSON of one cluster agree row by row in everything but what changed between the two.
#[rstest]
#[case("22.05.8/sacct-delim.txt", "22.05.8/sacct-json.json")]
#[case("24.11.5/sacct-delim.txt", "24.11.5/sacct-json-dup.json")]
#[case("22.05.8-load/sacct-delim.txt", "22.05.8-load/sacct-json-dup.json.gz")]
fn text_and_json_say_the_same(#[case] text: &str, #[case] json: &str) {
    let (Some((text, _)), Some((json, _))) = (dump(text), dump(json)) else { return };
    let rows = |records: &FleetRecords| {
        let name = |symbol| records.symbols.get(symbol).to_owned();
        let mut rows: Vec<_> = records
            .attempts
            .iter()
            .filter(|a| !matches!(a.state, JobState::Running | JobState::Pending))
            .map(|a| {
                // Not the reservation: data parser v0.0.38 writes a number where its name belongs.
                let names = [a.display_id, a.user, a.account, a.partition, a.qos].map(name);
                let mut nodes: Vec<String> =
                    records.node_set(a.nodes).iter().map(|&node| name(node)).collect();
                nodes.sort();
                let times = (a.key.submit, a.eligible, a.start, a.end, a.suspended_ns, a.time_limit_ns);
                (name(a.key.job), times, names, a.state.word(), a.devices, nodes)
            })
            .collect();
        rows.sort();
        rows
    };
    let (text, json) = (rows(&text), rows(&json));
    let ended_between = json.len() - text.len();
    assert!(ended_between <= 1, "{ended_between}");
    for row in &text {
        assert!(json.contains(row), "{row:?} {:?}", json.iter().filter(|r| r.0 == row.0).collect::<Vec<_>>());
    }
}

#[test]
fn details_of_the_scenario() {
    let Some((records, report)) = dump("24.11.5/sacct-delim.txt") else { return };
    let named = |name: &str| {
        let attempts = records.attempts.iter().filter(|a| records.symbols.get(a.name) == name);
        attempts.collect::<Vec<_>>()
    };
    let suspended = records.attempts.iter().find(|a| a.suspended_ns > 0).unwrap();
    assert_eq!(suspended.suspended_ns, 15_000_000_000);
    assert_eq!(suspended.held(Timestamp::default()).unwrap().duration_ns(), 21_000_000_000);
    // Allocated whole, although it asked for no GPU.
    assert_eq!(named("cpuonly")[0].devices, 8);
    // GPUs asked for by --gpus and --gpus-per-node.
    assert_eq!((named("gpus4")[0].devices, named("evalfail")[0].devices), (4, 8));
    assert_eq!(named("a|b `q` é,x").len(), 1);
    assert_eq!(records.symbols.get(named("inresv")[0].reservation), "maint1");
    let sweep: Vec<&str> = named("sweep").iter().map(|a| records.symbols.get(a.display_id)).collect();
    assert_eq!(sweep, ["9_0", "9_1", "9_2", "9_3", "9_4", "9_5"]);
    assert_eq!(report.format, "sacct text, 44 columns, delimiter \"\\u{1f}\"");
}

#[test]
fn names_with_the_delimiter_are_put_right() {
    let Some((records, report)) = dump("22.05.8/sacct-alloc-dup.txt") else { return };
    let job = records.attempts.iter().find(|a| records.symbols.get(a.key.job) == "11").unwrap();
    assert_eq!(records.symbols.get(job.name), "a|b `q` é,x");
    assert_eq!((records.symbols.get(job.user), job.devices), ("bob", 1));
    assert_eq!(report.repaired, report.counts["stray_delimiter"]);
    assert_eq!(report.repaired, 2);
}

#[rstest]
#[case("22.05.8/sacct-parsable2-full.txt", 37)]
#[case("24.11.5/sacct-parsable2-full.txt", 43)]
fn steps_are_counted_and_left_out(#[case] path: &str, #[case] jobs: u64) {
    let Some((_, report)) = dump(path) else { return };
    assert_eq!(report.used, jobs);
    assert!(report.skipped["step"] > 30);
    assert!(!report.counts.contains_key("steps_without_job"));
}

/// A delimiter at the end of each row, a table without header, and every column there is.
#[rstest]
#[case("22.05.8/sacct-parsable-trailing.txt", None, 37)]
#[case("22.05.8/sacct-noheader.txt", Some("JobID,State,Submit,Start,End,AllocTRES,NodeList"), 40)]
#[case("24.11.5/sacct-noheader.txt", Some("JobID,State,Submit,Start,End,AllocTRES,NodeList"), 47)]
#[case("22.05.8/sacct-ALL.txt", None, 40)]
#[case("24.11.5/sacct-ALL.txt", None, 47)]
fn other_layouts(#[case] path: &str, #[case] columns: Option<&str>, #[case] rows: u64) {
    let Some(bytes) = shared(&format!("slurm/{path}")) else { return };
    let columns = columns.map(|names| names.split(',').map(str::to_owned).collect());
    let (records, report) = read_with(&bytes, &support_options(columns)).unwrap();
    assert_eq!((report.used, report.refused), (rows, 0), "{:?}", report.findings);
    let window = if path.starts_with("22") { scenario_22_05() } else { scenario_24_11() };
    let plain = if rows == 37 {
        13_143
    } else if rows == 47 {
        15_567
    } else {
        14_239
    };
    assert_eq!(device_seconds(&records.attempts, window), plain);
}

fn support_options(columns: Option<Vec<String>>) -> goodput_records::scheduler::slurm::SlurmOptions {
    goodput_records::scheduler::slurm::SlurmOptions { columns, ..utc() }
}

#[rstest]
#[case("22.05.8/sacct-default.txt", "for the eye")]
#[case("22.05.8/sacct-noheader.txt", "no header")]
#[case("22.05.8/sacct-epoch.txt", "AllocTRES")]
#[case("22.05.8/sacct-noconvert.txt", "Submit, Start, End")]
#[case("22.05.8/sacct-relative.txt", "AllocTRES")]
#[case("22.05.8/sacct-completion.txt", "Submit, Start")]
#[case("22.05.8/sacct-yaml.yaml", "YAML")]
#[case("22.05.8/sacct-array-expanded.txt", "empty")]
#[case("22.05.8/sacct-fields.txt", "")]
#[case("22.05.8/jobcomp-filetxt.txt", "scontrol")]
#[case("22.05.8/squeue.json", "sacct does not")]
#[case("24.11.5/squeue.json", "sacct does not")]
#[case("24.11.5/scontrol-node.json", "\"jobs\"")]
#[case("24.11.5/event-json.json", "no header")]
fn what_is_no_job_table_is_refused_with_a_remedy(#[case] path: &str, #[case] message: &str) {
    let Some(bytes) = shared(&format!("slurm/{path}")) else { return };
    let error = read_with(&bytes, &utc()).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
    assert!(error.remedy().unwrap().contains("sacct -a"), "{error}");
}

#[test]
fn a_table_in_local_time_needs_its_zone() {
    let Some(bytes) = shared("slurm/22.05.8/sacct-delim.txt") else { return };
    let error = read_with(&bytes, &Default::default()).unwrap_err();
    assert!(error.to_string().contains("--time-zone"), "{error}");
}
