//! Logs of ml-goodput-measurement: what each kind of entry becomes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::PathBuf;

use goodput_core::Timestamp;
use goodput_core::records::{Commits, Event, EventKind, FileId, Phase, StopCause, Timeline};
use goodput_records::FileReport;
use goodput_records::timeline::{TimelineOptions, read_timeline};
use rstest::rstest;

const T0: i64 = 1_767_225_600;

fn read_with(log: &[u8], options: &TimelineOptions) -> (Timeline, FileReport) {
    let mut read = read_timeline("log", FileId(0), log, options).unwrap();
    assert_eq!(read.len(), 1);
    read.remove(0)
}

fn read(log: &str) -> (Timeline, FileReport) {
    read_with(log.as_bytes(), &TimelineOptions::default())
}

/// `timelines/cases` beside the checkout, `None` (and a word about it) when it is not there.
fn case(name: &str) -> Option<(Timeline, FileReport)> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../../../shared/data/timelines/cases/{name}.jsonl"));
    match std::fs::read(path) {
        Ok(bytes) => Some(read_with(&bytes, &TimelineOptions::default())),
        Err(_) => {
            println!("skipped: ../shared is not there");
            None
        }
    }
}

/// A log of job `j` from entries without their job name.
fn log(entries: &[String]) -> String {
    entries.iter().map(|entry| format!("{{\"job_name\": \"j\", {entry}}}\n")).collect()
}

fn step(number: u64, at: f64) -> String {
    format!("\"step_count\": {number}, \"step_start_time\": {}", seconds(at))
}

fn at(key: &str, at: f64) -> String {
    format!("\"{key}\": {}", seconds(at))
}

/// Decimal text of `T0 + after`.
fn seconds(after: f64) -> String {
    let ns = (after * 1e9).round() as i64;
    let ns = T0 * 1_000_000_000 + ns;
    format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

fn instant(after: f64) -> Timestamp {
    Timestamp::from_seconds(T0) + (after * 1e9).round() as i64
}

fn numbers(timeline: &Timeline) -> Vec<u64> {
    timeline.steps.iter().map(|step| step.index).collect()
}

/// Phases as (kind, name, seconds from T0, seconds long).
fn phases(timeline: &Timeline) -> Vec<(Phase, &str, f64, f64)> {
    let relative = |event: &Event| (event.interval.start - Timestamp::from_seconds(T0)) as f64 / 1e9;
    let mut found = Vec::new();
    for event in &timeline.events {
        if let EventKind::Phase { phase, name } = event.kind {
            let length_s = event.interval.duration_ns() as f64 / 1e9;
            found.push((phase, timeline.symbols.get(name), relative(event), length_s));
        }
    }
    found
}

fn kinds(timeline: &Timeline) -> Vec<EventKind> {
    let events = timeline.events.iter().map(|event| event.kind);
    events.filter(|kind| !matches!(kind, EventKind::Phase { .. })).collect()
}

#[rstest]
#[case::clock_steps_back("clock-steps-back", 100, &[("clock_steps_back", 1)])]
#[case::fault_mid_step("fault-mid-step", 230, &[])]
#[case::final_eval("final-eval", 500, &[])]
#[case::graceful_eviction_queue("graceful-eviction-queue", 200, &[])]
#[case::hang_to_window_end("hang-to-window-end", 1800, &[])]
#[case::input_bound("input-bound", 500, &[])]
#[case::job_end_then_restart("job-end-then-restart", 6000, &[])]
#[case::loss_spike_rollback("loss-spike-rollback", 1150, &[])]
#[case::persistent_straggler("persistent-straggler", 1000, &[])]
#[case::step_saved_twice("step-saved-twice", 250, &[])]
#[case::sub_second_steps("sub-second-steps", 1000, &[])]
#[case::two_loggers("two-loggers", 200, &[("duplicate_step_writer", 200)])]
fn every_line_of_the_cases_is_accounted_for(
    #[case] name: &str,
    #[case] steps: usize,
    #[case] findings: &[(&'static str, u64)],
) {
    let Some((timeline, report)) = case(name) else { return };
    assert_eq!(timeline.steps.len(), steps);
    assert_eq!(timeline.job.as_deref(), Some("j"));
    assert_eq!(timeline.commits, Commits::Unknown);
    assert!(timeline.steps.iter().all(|step| step.end.is_none()));
    assert_eq!(report.refused + report.repaired, 0);
    assert_eq!(report.used + report.skipped.values().sum::<u64>(), report.rows);
    assert_eq!(report.counts.iter().map(|(code, n)| (*code, *n)).collect::<Vec<_>>(), findings);
}

#[test]
fn the_clock_that_steps_back_is_named_by_its_line() {
    let Some((timeline, report)) = case("clock-steps-back") else { return };
    assert_eq!(report.findings[0].line, 58);
    assert_eq!(timeline.steps[50].start - timeline.steps[49].start, -3_000_000_000);
}

#[test]
fn a_wait_is_startup_before_the_first_step_and_input_wait_after_it() {
    let Some((timeline, _)) = case("input-bound") else { return };
    let waits: Vec<_> = phases(&timeline).into_iter().filter(|phase| phase.1 == "data_loading").collect();
    assert_eq!(waits[0], (Phase::Launch, "data_loading", 100.0, 10.0));
    assert_eq!(waits[1], (Phase::Launch, "data_loading", 110.0, 1.0));
    assert_eq!(waits[2], (Phase::InputWait, "data_loading", 113.0, 1.0));
    assert_eq!(waits.len(), 501);
    assert_eq!(waits[2..].iter().map(|wait| wait.3).sum::<f64>(), 499.0);
}

#[test]
fn a_pause_is_the_managers_blocking_time_and_not_its_parts_as_well() {
    let Some((timeline, _)) = case("step-saved-twice") else { return };
    let pauses: Vec<_> = phases(&timeline).into_iter().filter(|p| p.0 == Phase::CheckpointPause).collect();
    assert_eq!(
        pauses.iter().map(|pause| (pause.2, pause.3)).collect::<Vec<_>>(),
        [(310.0, 10.0), (420.0, 10.0), (940.0, 10.0)]
    );
    let saves: Vec<_> =
        kinds(&timeline).into_iter().filter(|k| matches!(k, EventKind::SaveStarted { .. })).collect();
    assert_eq!(saves, [99, 149, 149].map(|step| EventKind::SaveStarted { step }));
}

#[test]
fn the_evaluation_after_the_last_step_is_an_evaluation() {
    let Some((timeline, _)) = case("final-eval") else { return };
    assert_eq!(phases(&timeline).last(), Some(&(Phase::Evaluation, "eval", 1110.0, 1000.0)));
    assert_eq!(kinds(&timeline), [EventKind::Launch, EventKind::Stopped { cause: StopCause::Ended }]);
}

#[test]
fn stamps_keep_their_digits() {
    let (timeline, _) =
        read(&log(&["\"step_count\": 3, \"step_start_time\": 1767225710.0123456789".to_owned()]));
    assert_eq!(timeline.steps[0].start.as_nanos(), 1_767_225_710_012_345_679);
    assert_eq!(timeline.steps[0].line, 1);
}

#[rstest]
#[case::in_turn(&[(0, 0.0), (0, 0.01), (1, 2.0), (1, 2.01), (2, 4.0), (2, 4.01)], &[0, 1, 2])]
#[case::second_writer_late(&[(0, 0.0), (1, 2.0), (0, 0.01), (2, 4.0), (1, 2.01), (2, 4.01)], &[0, 1, 2])]
#[case::second_clock_ahead(&[(0, 0.2), (0, 0.0), (1, 2.2), (1, 2.0), (2, 4.2), (2, 4.0)], &[0, 1, 2])]
#[case::rollback_by_one(&[(0, 0.0), (1, 2.0), (1, 4.0), (2, 6.0)], &[0, 1, 1, 2])]
#[case::rollback(&[(5, 0.0), (6, 2.0), (7, 4.0), (5, 5.0), (6, 7.0), (7, 9.0)], &[5, 6, 7, 5, 6, 7])]
#[case::rollback_with_two_writers(
    &[(5, 0.0), (5, 0.1), (6, 2.0), (6, 2.1), (5, 3.0), (5, 3.1), (6, 5.0), (6, 5.1)], &[5, 6, 5, 6])]
#[case::sub_second_rollback(&[(0, 0.0), (1, 0.4), (2, 0.8), (1, 1.2), (2, 1.6)], &[0, 1, 2, 1, 2])]
fn a_second_writers_step_is_no_rollback(#[case] entries: &[(u64, f64)], #[case] expected: &[u64]) {
    let entries: Vec<_> = entries.iter().map(|(number, at)| step(*number, *at)).collect();
    let (timeline, report) = read(&log(&entries));
    assert_eq!(numbers(&timeline), expected);
    let copies = report.counts.get("duplicate_step_writer").copied().unwrap_or(0);
    assert_eq!(copies, (entries.len() - expected.len()) as u64);
}

#[test]
fn a_step_again_after_a_start_is_executed_again() {
    let entries = [at("job_start_time", 0.0), step(0, 1.0), at("job_start_time", 5.0), step(0, 6.0)];
    let (timeline, _) = read(&log(&entries));
    assert_eq!(numbers(&timeline), [0, 0]);
    assert_eq!(kinds(&timeline), [EventKind::Launch, EventKind::Launch]);
}

#[test]
fn events_of_two_writers_are_counted_once() {
    let entries = [
        at("job_start_time", 0.0),
        at("job_start_time", 0.01),
        at("tpu_init_start_time", 0.0),
        at("tpu_init_start_time", 0.01),
        at("tpu_init_end_time", 60.0),
        at("tpu_init_end_time", 60.01),
        step(0, 61.0),
        step(0, 61.01),
        at("job_end_time", 63.0),
        at("job_end_time", 63.01),
    ];
    let (timeline, report) = read(&log(&entries));
    assert_eq!(phases(&timeline), [(Phase::Launch, "tpu_init", 0.0, 60.0)]);
    assert_eq!(kinds(&timeline), [EventKind::Launch, EventKind::Stopped { cause: StopCause::Ended }]);
    assert_eq!(report.counts["duplicate_event_writer"], 4);
    assert_eq!((report.used, report.refused), (5, 0));
}

#[test]
fn a_phase_without_an_end_stays_open_and_an_end_without_a_start_is_refused() {
    let entries = [
        at("job_start_time", 0.0),
        at("tpu_init_start_time", 0.0),
        at("job_start_time", 100.0),
        at("tpu_init_end_time", 160.0),
    ];
    let (timeline, report) = read(&log(&entries));
    let init = timeline.events.iter().find(|event| matches!(event.kind, EventKind::Phase { .. })).unwrap();
    assert!(init.open && init.interval.start == init.interval.end);
    assert_eq!(report.counts["end_without_start"], 1);
    assert_eq!((report.rows, report.used, report.refused), (4, 3, 1));
}

#[test]
fn custom_events_keep_their_names() {
    let custom = |kind: &str, end: &str, after: f64| {
        format!(
            "\"custom_badput_event_type\": \"{kind}\", {}",
            at(&format!("custom_badput_event_{end}_time"), after)
        )
    };
    let entries = [
        custom("eval_step", "start", 1.0),
        custom("eval_step", "end", 3.0),
        custom("profiling", "start", 4.0),
        custom("Validation", "start", 5.0),
        custom("profiling", "end", 8.0),
        custom("Validation", "end", 9.0),
    ];
    let (timeline, _) = read(&log(&entries));
    assert_eq!(
        phases(&timeline),
        [
            (Phase::Evaluation, "eval_step", 1.0, 2.0),
            (Phase::Declared, "profiling", 4.0, 4.0),
            (Phase::Evaluation, "Validation", 5.0, 4.0),
        ]
    );
}

fn save(step: u64, spans: &[(&str, f64, Option<f64>)], more: &str) -> String {
    let mut entry = format!("\"event_type\": \"save\", \"step\": {step}, \"directory\": \"gs://b\"{more}");
    for (name, start, duration) in spans {
        let duration = duration.map_or("null".to_owned(), |d| d.to_string());
        let start = at(&format!("{name}_start_time"), *start);
        entry.push_str(&format!(", {start}, \"{name}_duration_secs\": {duration}"));
    }
    entry
}

#[rstest]
#[case::manager(&[("wait_for_prev", 1.0, Some(2.0)), ("checkpointer_blocking", 3.0, Some(4.0)), ("checkpoint_manager_blocking", 1.0, Some(7.0))], &[(1.0, 7.0)])]
#[case::parts_that_touch(&[("wait_for_prev", 1.0, Some(2.0)), ("checkpointer_blocking", 3.0, Some(4.0)), ("checkpoint_manager_blocking", 1.0, None)], &[(1.0, 6.0)])]
#[case::parts_apart(&[("wait_for_prev", 1.0, Some(1.0)), ("checkpointer_blocking", 3.0, Some(4.0))], &[(1.0, 1.0), (3.0, 4.0)])]
#[case::nothing_known(&[("checkpoint_manager_blocking", 1.0, None)], &[])]
#[case::no_time(&[("checkpoint_manager_blocking", 1.0, Some(0.0))], &[])]
fn what_a_save_halts(#[case] spans: &[(&str, f64, Option<f64>)], #[case] expected: &[(f64, f64)]) {
    let (timeline, _) = read(&log(&[save(7, spans, "")]));
    assert_eq!(kinds(&timeline), [EventKind::SaveStarted { step: 7 }]);
    assert_eq!(timeline.events[0].interval.start, instant(1.0));
    assert_eq!(phases(&timeline).iter().map(|p| (p.2, p.3)).collect::<Vec<_>>(), expected);
}

#[test]
fn a_save_of_several_hosts_is_one_and_lasts_as_long_as_the_slowest() {
    let manager = |start, duration| [("checkpoint_manager_blocking", start, Some(duration))];
    let entries = [
        step(7, 0.0),
        save(7, &manager(2.0, 3.0), ""),
        save(7, &manager(2.1, 4.0), ""),
        save(7, &manager(1.9, 2.0), ""),
        step(8, 6.5),
        save(8, &manager(8.5, 3.0), ""),
    ];
    let (timeline, report) = read(&log(&entries));
    assert_eq!(kinds(&timeline), [7, 8].map(|step| EventKind::SaveStarted { step }));
    let pauses: Vec<_> = phases(&timeline).iter().map(|p| (p.2, p.3)).collect();
    assert_eq!(pauses, [(2.0, 4.1), (8.5, 3.0)]);
    assert_eq!(report.counts["duplicate_event_writer"], 2);
}

#[test]
fn a_save_on_an_eviction_notice_says_why_the_attempt_ended() {
    let manager = [("checkpoint_manager_blocking", 2.0, Some(3.0))];
    let notice = save(7, &manager, ", \"reached_preemption\": true");
    let preempted = EventKind::Stopped { cause: StopCause::Preempted };
    let saved = EventKind::SaveStarted { step: 7 };
    let (ended, _) = read(&log(&[step(7, 0.0), notice.clone(), at("job_end_time", 6.0)]));
    assert_eq!(kinds(&ended), [saved, preempted]);
    assert_eq!(ended.events.last().unwrap().interval.start, instant(6.0));
    let (killed, _) = read(&log(&[step(7, 0.0), notice.clone(), at("job_start_time", 60.0)]));
    assert_eq!(kinds(&killed), [saved, preempted, EventKind::Launch]);
    let (went_on, _) = read(&log(&[step(7, 0.0), notice, step(8, 5.0), at("job_end_time", 7.0)]));
    assert_eq!(kinds(&went_on), [saved, EventKind::Stopped { cause: StopCause::Ended }]);
}

#[test]
fn a_restore_is_a_load_and_says_what_it_restored() {
    let restore = |name: &str, start: f64| {
        format!(
            "\"event_type\": \"{name}\", \"step\": 99, {}, \"checkpointer_duration_secs\": 5.5, {}, \
             \"checkpoint_manager_duration_secs\": 6.0",
            at("checkpointer_start_time", start + 0.25),
            at("checkpoint_manager_start_time", start)
        )
    };
    let entries = [at("job_start_time", 0.0), restore("restore", 10.0), restore("restore", 10.2)];
    let (timeline, _) = read(&log(&entries));
    let loads = phases(&timeline);
    assert_eq!(loads.len(), 1);
    assert_eq!((loads[0].0, loads[0].1, loads[0].2), (Phase::CheckpointLoad, "restore", 10.0));
    assert_eq!(kinds(&timeline), [EventKind::Launch, EventKind::Restored { step: Some(99) }]);
    let (emergency, _) = read(&log(&[restore("emergency_restore", 10.0)]));
    assert_eq!(phases(&emergency)[0].1, "emergency_restore");
}

#[test]
fn slices_are_devices_only_when_someone_says_how_many() {
    let slices = |active: u64, after: f64| {
        let stamp = at("elastic_slice_counts_timestamp", after);
        format!("\"active_slices\": {active}, \"total_slices\": 4, \"available_slices\": 4, {stamp}")
    };
    let wait = |end: &str, after: f64| {
        format!(
            "\"elastic_wait_event_type\": \"slice_down\", {}",
            at(&format!("elastic_wait_{end}_time"), after)
        )
    };
    let entries = [
        slices(4, 0.0),
        wait("start", 10.0),
        wait("end", 20.0),
        at("elastic_reinit_start_time", 20.0),
        at("elastic_reinit_end_time", 50.0),
        slices(3, 50.0),
        slices(3, 60.0),
    ];
    let (timeline, report) = read(&log(&entries));
    assert_eq!(timeline.devices, Some(4));
    assert_eq!(kinds(&timeline), [EventKind::Resized { devices: 3 }]);
    assert_eq!(
        phases(&timeline),
        [
            (Phase::Reconfiguration, "slice_down", 10.0, 10.0),
            (Phase::Reconfiguration, "elastic_reinit", 20.0, 30.0),
        ]
    );
    assert_eq!(report.counts["slices_not_devices"], 3);
    let options = TimelineOptions { devices_per_slice: Some(256), ..TimelineOptions::default() };
    let (timeline, report) = read_with(log(&entries).as_bytes(), &options);
    assert_eq!(timeline.devices, Some(1024));
    assert_eq!(kinds(&timeline), [EventKind::Resized { devices: 768 }]);
    assert!(report.counts.is_empty());
}

#[test]
fn jobs_of_one_file_are_apart_and_can_be_selected() {
    let entries = [step(0, 0.0), step(1, 2.0), step(2, 4.0)];
    let text = log(&entries) + &log(&entries[..2]).replace("\"j\"", "\"k\"") + "not json\n";
    let read = read_timeline("log", FileId(0), text.as_bytes(), &TimelineOptions::default()).unwrap();
    let sizes: Vec<_> =
        read.iter().map(|(t, r)| (t.job.clone().unwrap(), t.steps.len(), r.rows, r.refused)).collect();
    assert_eq!(sizes, [("j".to_owned(), 3, 4, 1), ("k".to_owned(), 2, 2, 0)]);
    let select = |job: &str| TimelineOptions { job: Some(job.to_owned()), ..TimelineOptions::default() };
    let only = read_timeline("log", FileId(0), text.as_bytes(), &select("k")).unwrap();
    assert_eq!(only[0].0.steps.len(), 2);
    let error = read_timeline("log", FileId(0), text.as_bytes(), &select("x")).unwrap_err();
    assert_eq!(error.remedy(), Some("name one of: j, k"));
}

/// The same log as a Cloud Logging export: wrapped, as lines and as an array, in either order.
#[rstest]
#[case::lines(false, false)]
#[case::array(true, false)]
#[case::lines_newest_first(false, true)]
#[case::array_newest_first(true, true)]
fn cloud_logging_exports(#[case] array: bool, #[case] newest_first: bool) {
    let entries =
        [at("job_start_time", 0.0), step(0, 1.0), step(1, 3.0), step(0, 9.0), at("job_end_time", 11.0)];
    let plain = log(&entries);
    let mut wrapped: Vec<String> = plain
        .lines()
        .enumerate()
        .map(|(n, payload)| {
            let stamp = format!("2026-01-01T00:00:{:02}.5Z", n.min(3));
            format!("{{\"insertId\": \"x\", \"jsonPayload\": {payload}, \"timestamp\": \"{stamp}\"}}")
        })
        .collect();
    if newest_first {
        wrapped.reverse();
    }
    let text = if array { format!("[{}]", wrapped.join(",\n  ")) } else { wrapped.join("\n") + "\n" };
    let (timeline, report) = read(&text);
    let (expected, _) = read(&plain);
    assert_eq!(numbers(&timeline), numbers(&expected));
    assert_eq!(kinds(&timeline), kinds(&expected));
    assert_eq!((report.used, report.refused), (5, 0));
}

#[test]
fn a_plain_array_is_read_too_and_a_cut_one_up_to_the_cut() {
    let text = log(&[step(0, 0.0), step(1, 2.0)]).trim_end().replace('\n', ",");
    assert_eq!(read(&format!("[{text}]")).0.steps.len(), 2);
    let (timeline, report) = read(&format!("[{text},{{\"job_na"));
    assert_eq!(timeline.steps.len(), 2);
    assert_eq!(report.findings[0].code, "truncated_array");
}

#[rstest]
#[case::cut_off("{\"job_name\": \"j\", \"step_cou", "truncated_line", "")]
#[case::not_json("nonsense\n", "bad_json", "")]
#[case::nan("{\"job_name\": \"j\", \"step_count\": 1, \"step_start_time\": NaN}\n", "bad_json", "")]
#[case::no_stamp(
    "{\"job_name\": \"j\", \"step_count\": 1, \"step_start_time\": null}\n",
    "bad_value",
    "step_start_time"
)]
#[case::text_stamp("{\"job_name\": \"j\", \"job_start_time\": \"now\"}\n", "bad_value", "job_start_time")]
#[case::half_a_step(
    "{\"job_name\": \"j\", \"step_count\": 1.5, \"step_start_time\": 1}\n",
    "bad_value",
    "step_count"
)]
#[case::out_of_range(
    "{\"job_name\": \"j\", \"step_count\": 1, \"step_start_time\": 1e30}\n",
    "bad_value",
    "step_start_time"
)]
#[case::no_job("{\"step_count\": 1, \"step_start_time\": 1}\n", "no_job_name", "")]
fn bad_lines_are_refused_and_located(#[case] bad: &str, #[case] code: &str, #[case] field: &str) {
    let (timeline, report) = read(&(log(&[step(0, 0.0), step(1, 2.0)]) + bad));
    assert_eq!(timeline.steps.len(), 2);
    assert_eq!((report.rows, report.used, report.refused), (3, 2, 1));
    let finding = &report.findings[0];
    assert_eq!((finding.code, finding.line, finding.field.as_str()), (code, 3, field));
}

#[test]
fn gzip_is_found_by_its_first_bytes() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(log(&[step(0, 0.0), step(1, 2.0)]).as_bytes()).unwrap();
    let bytes = encoder.finish().unwrap();
    assert_eq!(read_with(&bytes, &TimelineOptions::default()).0.steps.len(), 2);
    let cut = read_timeline("log", FileId(0), &bytes[..bytes.len() - 12], &TimelineOptions::default());
    assert!(cut.is_err(), "a gzip file that was cut off is an error, not a shorter log");
}
