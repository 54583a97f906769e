//! Megatron-LM's stdout and progress.txt.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::PathBuf;

use goodput_core::records::{Commits, EventKind, FileId, Phase, StopCause, Timeline};
use goodput_core::{Interval, Timestamp};
use goodput_records::timeline::{TimelineOptions, merge, read_timeline};
use goodput_records::{FileReport, ReadError};
use jiff::tz::TimeZone;
use proptest::prelude::*;
use rstest::rstest;

/// 2026-05-01T10:00:00Z.
const T0: i64 = 1_777_629_600;
const MS: i64 = 1_000_000;

fn try_read(log: &str) -> Result<Vec<(Timeline, FileReport)>, ReadError> {
    let options = TimelineOptions { time_zone: Some(TimeZone::UTC), ..TimelineOptions::default() };
    read_timeline("log", FileId(0), log.as_bytes(), &options)
}

fn read(log: &str) -> (Timeline, FileReport) {
    try_read(log).unwrap().remove(0)
}

/// `T0` and so many seconds, as Megatron prints it.
fn stamp(after_s: i64) -> String {
    let at = jiff::Timestamp::from_second(T0 + after_s).unwrap();
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

fn interval(after_s: i64, number: u64, ms: f64, samples: u64) -> String {
    format!(
        " [{}] iteration {number:8}/     100 | consumed samples: {samples:12} | elapsed time per iteration (ms): {ms} | \
         throughput per GPU (TFLOP/s/GPU): 400.0 | learning rate: 1.0E-04 | global batch size:    16 | lm loss: 1.0E+00 | \
         number of skipped iterations:   0 | number of nan iterations:   0 |\n",
        stamp(after_s)
    )
}

fn milestone(name: &str, after_s: i64) -> String {
    format!("[{name}] datetime: {} \n", stamp(after_s))
}

/// Start-up lines: 20 s to initialise, 10 s to load from `loaded`, 5 s to build the data.
fn launch(after_s: i64, world_size: u64, loaded: Option<u64>) -> String {
    let load = loaded.map_or("    will not load any checkpoints and will start from random\n".to_owned(), |iteration| {
        format!(" loading checkpoint from /c at iteration {iteration}\n  successfully loaded checkpoint from /c [ t 1/1, p 1/1 ] at iteration {iteration}\n")
    });
    format!(
        "using world size: {world_size}, data-parallel size: {world_size}\n  seq_length ...................................... 4096\n\
         \u{20} log_interval .................................... 10\n  lr .............................................. 0.0001\n\
         time to initialize megatron (seconds): 20.000\n{}{load}(min, max) time across ranks (ms):\n    load-checkpoint ................................: (9000.0, 10000.0)\n{}{}{}",
        milestone("after megatron is initialized", after_s + 20),
        milestone("after model, optimizer, and learning rate scheduler are built", after_s + 40),
        milestone("after dataloaders are built", after_s + 45),
        milestone("before the start of training step", after_s + 45),
    )
}

fn save(iteration: u64, ms: f64) -> String {
    format!(
        "saving checkpoint at iteration {iteration:7} to /c in torch_dist format\n  successfully saved checkpoint from iteration {iteration:7} to /c [ t 1/1, p 1/1 ]\n\
         (min, max) time across ranks (ms):\n    save-checkpoint ................................: ({ms}, {ms})\n"
    )
}

fn at(after_ms: i64) -> Timestamp {
    Timestamp::from_seconds(T0) + after_ms * MS
}

fn span(start_ms: i64, end_ms: i64) -> Interval {
    Interval::new(at(start_ms), at(end_ms))
}

fn steps(timeline: &Timeline) -> Vec<(u64, u32, Interval)> {
    timeline.steps.iter().map(|s| (s.index, s.count, Interval::new(s.start, s.end.unwrap()))).collect()
}

fn phases(timeline: &Timeline, wanted: Phase) -> Vec<Interval> {
    let of = |kind| matches!(kind, EventKind::Phase { phase, .. } if phase == wanted);
    timeline.events.iter().filter(|event| of(event.kind)).map(|event| event.interval).collect()
}

fn instants(timeline: &Timeline) -> Vec<(EventKind, Timestamp)> {
    let events = timeline.events.iter().filter(|event| !matches!(event.kind, EventKind::Phase { .. }));
    events.map(|event| (event.kind, event.interval.start)).collect()
}

#[test]
fn the_real_log_adds_up_to_its_stamps() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/timelines/megatron/megatron_core_r0.11_gpt2_1gpu.log");
    let Ok(log) = std::fs::read_to_string(path) else {
        println!("skipped: ../shared is not there");
        return;
    };
    let (timeline, report) = read(&log);
    assert_eq!(report.refused + report.repaired, 0);
    assert_eq!(timeline.steps.iter().map(|step| (step.index, step.count)).collect::<Vec<_>>(), {
        (0..15).map(|n| (n * 10 + 1, 10)).collect::<Vec<_>>()
    });
    assert_eq!(timeline.planned_steps, Some(1000));
    assert_eq!(timeline.stamp_resolution_ns, 1_000_000_000);
    // Iterations 11-150: 133.0 s of wall, of which 124.19 s in steps and 8.74 s in evaluation and one save.
    let later = &timeline.steps[1..];
    let wall_ns = timeline.steps[14].end.unwrap() - timeline.steps[0].end.unwrap();
    let training_ns: i64 = later.iter().map(|step| step.end.unwrap() - step.start).sum();
    let evaluation = phases(&timeline, Phase::Evaluation);
    let pauses = phases(&timeline, Phase::CheckpointPause);
    let length = |intervals: &[Interval]| intervals.iter().map(|i| i.duration_ns()).sum::<i64>();
    assert_eq!(length(&evaluation), 3_274_730_000 + 2_052_520_000);
    assert_eq!(length(&pauses), 3_413_140_000);
    assert!((wall_ns - 133 * 1_000_000_000).abs() < 1_000_000_000);
    assert!((training_ns - 124_190 * MS).abs() < 10 * MS, "{training_ns}");
    assert!((wall_ns - training_ns - length(&evaluation) - length(&pauses)).abs() < 1_000_000_000);
    assert_eq!(report.counts.get("time_outside_timers"), None);
    assert_eq!(report.counts.get("printed_time_disagrees"), None);
    // Nothing overlaps, and every end lies within its stamp.
    for pair in timeline.steps.windows(2) {
        assert!(pair[0].end.unwrap() <= pair[1].start);
    }
    let stamps: Vec<_> =
        log.lines().filter(|l| l.contains("elapsed time")).map(|l| l[2..21].to_owned()).collect();
    for (step, stamp) in timeline.steps.iter().zip(stamps) {
        let end = jiff::Timestamp::from_nanosecond(i128::from(step.end.unwrap().as_nanos())).unwrap();
        assert_eq!(end.strftime("%Y-%m-%d %H:%M:%S").to_string(), stamp);
    }
    assert_eq!(timeline.commits, Commits::Recorded);
    let commits = instants(&timeline).into_iter().filter(|(kind, _)| {
        matches!(kind, EventKind::SaveStarted { step: 100 } | EventKind::Committed { step: 100 })
    });
    let commits: Vec<_> = commits.collect();
    assert_eq!(commits.iter().map(|(_, at)| *at).collect::<Vec<_>>(), [pauses[0].start, pauses[0].end]);
    assert_eq!(report.counts["skipped_updates"], 3);
}

#[test]
fn an_attempt_from_launch_to_its_end() {
    let log = launch(0, 8, None)
        + &interval(65, 10, 2000.0, 160)
        + &interval(85, 20, 2000.0, 320)
        + "    evaluate .......................................: (2900.0, 3000.0)\n"
        + &save(20, 4000.0)
        + &interval(112, 30, 2000.0, 480)
        + &save(30, 4000.0)
        + &milestone("after training is done", 117);
    let (timeline, report) = read(&log);
    assert_eq!(
        steps(&timeline),
        [(1, 10, span(45_000, 65_000)), (11, 10, span(65_000, 85_000)), (21, 10, span(92_000, 112_000))]
    );
    assert_eq!(timeline.devices, Some(8));
    assert_eq!(timeline.work[1].tokens, 160 * 4096);
    assert_eq!(timeline.work[1].model_flops, 400_000_000_000_000 * 8 * 20);
    assert_eq!(
        phases(&timeline, Phase::Launch),
        [span(0, 20_000), span(20_000, 40_000), span(40_000, 45_000)]
    );
    assert_eq!(phases(&timeline, Phase::CheckpointLoad), []);
    assert_eq!(phases(&timeline, Phase::Evaluation), [span(85_000, 88_000)]);
    assert_eq!(phases(&timeline, Phase::CheckpointPause), [span(88_000, 92_000), span(112_000, 116_000)]);
    assert_eq!(
        instants(&timeline),
        [
            (EventKind::Launch, at(0)),
            (EventKind::SaveStarted { step: 20 }, at(88_000)),
            (EventKind::Committed { step: 20 }, at(92_000)),
            (EventKind::SaveStarted { step: 30 }, at(112_000)),
            (EventKind::Committed { step: 30 }, at(116_000)),
            (EventKind::Stopped { cause: StopCause::Finished }, at(117_000)),
        ]
    );
    assert_eq!(report.counts["stampless_commit"], 2);
    assert_eq!((report.refused, report.used + report.skipped.values().sum::<u64>()), (0, report.rows));
}

#[test]
fn attempts_of_one_file_are_told_apart() {
    let log = launch(0, 8, None)
        + &interval(65, 10, 2000.0, 160)
        + &save(10, 4000.0)
        + &interval(89, 20, 2000.0, 320)
        + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-05-01T10:01:40 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"
        + "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-05-01T10:01:40 DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"
        + "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
        + &launch(200, 4, Some(10))
        + &interval(265, 20, 2000.0, 320)
        + &milestone("exiting program after receiving SIGTERM.", 270)
        + "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-05-01T10:04:31 DUE TO PREEMPTION ***\n";
    let (timeline, _) = read(&log);
    assert_eq!(
        timeline.steps.iter().map(|s| (s.index, s.count)).collect::<Vec<_>>(),
        [(1, 10), (11, 10), (11, 10)]
    );
    assert_eq!(
        instants(&timeline),
        [
            (EventKind::Launch, at(0)),
            (EventKind::SaveStarted { step: 10 }, at(65_000)),
            (EventKind::Committed { step: 10 }, at(69_000)),
            (EventKind::Stopped { cause: StopCause::Fault }, at(100_000)),
            (EventKind::Launch, at(200_000)),
            (EventKind::Resized { devices: 4 }, at(200_000)),
            (EventKind::Restored { step: Some(10) }, at(240_000)),
            (EventKind::Stopped { cause: StopCause::Preempted }, at(270_000)),
        ]
    );
    assert_eq!(phases(&timeline, Phase::CheckpointLoad), [span(230_000, 240_000)]);
    assert_eq!(timeline.devices, Some(8));
    // After a resume, tokens come from the batch: what the first attempt consumed is not known to this one.
    assert_eq!(timeline.work[2].tokens, 160 * 4096);
    assert_eq!(timeline.work[2].model_flops, 400_000_000_000_000 * 4 * 20);
}

#[rstest]
#[case("PREEMPTION", StopCause::Preempted)]
#[case("NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS", StopCause::Fault)]
#[case("TIME LIMIT", StopCause::Ended)]
fn slurm_says_why(#[case] reason: &str, #[case] cause: StopCause) {
    let log = interval(20, 10, 2000.0, 160)
        + &format!(
            "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-05-01T10:01:40 DUE TO {reason} ***\n"
        );
    assert_eq!(instants(&read(&log).0), [(EventKind::Stopped { cause }, at(100_000))]);
}

#[test]
fn the_first_iteration_folded_into_the_second_is_found_by_the_stamps() {
    // Megatron-LM issue 6237: 21,648.3 ms and 3,156.5 ms printed as 21,648.3 and their mean.
    let fine =
        |after: &str, number: u64, ms: f64| interval(0, number, ms, number * 16).replace("10:00:00", after);
    let log = fine("10:00:00.000000", 1, 21_648.3) + &fine("10:00:03.156500", 2, 12_402.4);
    let (timeline, report) = read(&log);
    assert_eq!(timeline.steps[1].end.unwrap() - timeline.steps[1].start, 3_156_500_000);
    assert_eq!(report.counts["printed_time_disagrees"], 1);
    assert_eq!(timeline.stamp_resolution_ns, 1_000);
}

#[test]
fn time_that_no_timer_has_is_left_between_the_steps_and_reported() {
    let log = interval(0, 1, 5000.0, 16) + &interval(8, 2, 5000.0, 32) + &interval(16, 3, 5000.0, 48);
    let (timeline, report) = read(&log);
    assert_eq!(
        steps(&timeline),
        [(1, 1, span(-5_000, 0)), (2, 1, span(3_000, 8_000)), (3, 1, span(11_000, 16_000))]
    );
    assert_eq!(report.counts["time_outside_timers"], 2);
}

#[test]
fn the_interval_of_a_log_that_begins_in_the_middle_is_seen_from_its_second_line() {
    let (timeline, _) = read(&(interval(0, 300, 2000.0, 4800) + &interval(20, 310, 2000.0, 4960)));
    assert_eq!(steps(&timeline), [(291, 10, span(-20_000, 0)), (301, 10, span(0, 20_000))]);
    let (alone, _) = read(&interval(0, 300, 2000.0, 4800));
    assert_eq!(steps(&alone), [(300, 1, span(-2_000, 0))]);
}

#[test]
fn a_rollback_without_start_up_lines_is_one() {
    let log = interval(0, 10, 2000.0, 160)
        + &interval(20, 20, 2000.0, 320)
        + &interval(60, 20, 2000.0, 320)
        + &interval(80, 30, 2000.0, 480);
    let (timeline, _) = read(&log);
    assert_eq!(
        steps(&timeline),
        [
            (1, 10, span(-20_000, 0)),
            (11, 10, span(0, 20_000)),
            (11, 10, span(40_000, 60_000)),
            (21, 10, span(60_000, 80_000))
        ]
    );
}

#[test]
fn training_that_ends_uncommitted_has_not_finished() {
    let done = milestone("after training is done", 90);
    let finished = |log: &str| {
        matches!(instants(&read(log).0).last(), Some((EventKind::Stopped { cause: StopCause::Finished }, _)))
    };
    let attempt =
        |loaded: Option<u64>, last: u64| launch(0, 8, loaded) + &interval(65, last, 2000.0, last * 16);
    assert!(!finished(&(attempt(None, 10) + &done)));
    assert!(finished(&(attempt(None, 10) + &save(10, 4000.0) + &done)));
    // An earlier attempt's later commit says nothing about this one, which resumed before it.
    let rolled_back = attempt(None, 40) + &save(40, 4000.0) + &attempt(Some(10), 20).replace("10:0", "11:0");
    assert!(!finished(&(rolled_back + &done.replace("10:0", "11:0"))));
}

#[test]
fn tflops_of_unknown_convention_are_not_used() {
    let log =
        interval(20, 10, 2000.0, 160).replace("throughput per GPU (TFLOP/s/GPU): 400.0", "TFLOPs: 97.26");
    let (timeline, report) = read(&(launch(-60, 8, None) + &log));
    assert_eq!(timeline.work[0].model_flops, 0);
    assert_eq!(report.counts["unknown_flops_convention"], 1);
}

#[test]
fn a_line_from_two_outputs_is_one() {
    let line = interval(20, 10, 2000.0, 160);
    let (timeline, report) = read(&(line.clone() + &format!("[default7]:{line}")));
    assert_eq!((timeline.steps.len(), report.skipped["line printed twice"]), (1, 1));
}

#[test]
fn a_save_printed_before_the_interval_that_it_follows() {
    let log = interval(20, 10, 2000.0, 160)
        + &save(20, 4000.0)
        + &interval(40, 20, 2000.0, 320)
        + &interval(64, 30, 2000.0, 480);
    let (timeline, report) = read(&log);
    assert_eq!(phases(&timeline, Phase::CheckpointPause), [span(40_000, 44_000)]);
    assert_eq!(steps(&timeline)[1..], [(11, 10, span(20_000, 40_000)), (21, 10, span(44_000, 64_000))]);
    assert_eq!(report.counts.get("printed_time_disagrees"), None);
}

#[test]
fn an_asynchronous_commit_comes_later_than_its_pause() {
    let log = interval(20, 10, 2000.0, 160)
        + "saving checkpoint at iteration      10 to /c in torch_dist format\n    save-checkpoint ....: (500.0, 500.0)\n"
        + &interval(40, 20, 1950.0, 320)
        + "  successfully saved checkpoint from iteration      10 to /c [ t 1/1, p 1/1 ]\n"
        + &interval(60, 30, 2000.0, 480);
    let (timeline, _) = read(&log);
    assert_eq!(
        instants(&timeline),
        [(EventKind::SaveStarted { step: 10 }, at(20_000)), (EventKind::Committed { step: 10 }, at(40_000))]
    );
    assert_eq!(phases(&timeline, Phase::CheckpointPause), [span(20_000, 20_500)]);
}

#[test]
fn stamped_checkpoint_lines_are_taken_by_their_stamps() {
    let log = interval(20, 10, 2000.0, 160)
        + " [2026-05-01 10:00:20.500000] saving checkpoint at iteration      10 to /c in torch_dist format\n"
        + "  [2026-05-01 10:00:24.250000] successfully saved checkpoint from iteration      10 to /c [ t 1/1, p 1/1 ]\n"
        + "    save-checkpoint ................................: (4000.0, 4000.0)\n";
    let (timeline, report) = read(&log);
    assert_eq!(
        instants(&timeline),
        [(EventKind::SaveStarted { step: 10 }, at(20_500)), (EventKind::Committed { step: 10 }, at(24_250))]
    );
    assert_eq!(phases(&timeline, Phase::CheckpointPause), [span(20_500, 24_500)]);
    assert_eq!(report.counts.get("stampless_commit"), None);
}

#[test]
fn waiting_for_a_batch_is_inside_the_steps() {
    let waited = "    batch-generator ................................: (50.0, 120.0)\n";
    let log = interval(20, 10, 2000.0, 160) + waited + &interval(40, 20, 2000.0, 320) + waited;
    assert_eq!(read(&log).0.steps.iter().map(|s| s.input_wait_ns).collect::<Vec<_>>(), [1_200 * MS; 2]);
}

#[test]
fn without_stamps_or_without_a_zone_there_is_a_clear_error() {
    let unstamped = interval(0, 10, 2000.0, 160).replace(" [2026-05-01 10:00:00]", "");
    let error = try_read(&unstamped).unwrap_err();
    assert_eq!(error.to_string(), "log: none of the 1 iterations carries a stamp");
    assert!(error.remedy().unwrap().contains("--log-progress"));
    let line = interval(0, 10, 2000.0, 160);
    let error = read_timeline("log", FileId(0), line.as_bytes(), &TimelineOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "log: the log's stamps carry no time zone");
}

#[test]
fn a_cut_or_damaged_line_is_refused_and_located() {
    let whole = interval(20, 10, 2000.0, 160);
    let next = interval(40, 20, 2000.0, 320);
    let (timeline, report) = read(&(whole.clone() + &next[..60]));
    assert_eq!(timeline.steps.len(), 1);
    assert_eq!((report.findings[0].code, report.findings[0].line), ("truncated_line", 2));
    let (_, report) = read(&(whole + &next.replace("2000", "nan")));
    assert_eq!((report.findings[0].code, report.findings[0].line), ("bad_value", 2));
}

const PROGRESS: &str = "2026-05-01 10:00:00\tJob ID: 41\t# GPUs: 8\tStarting job
2026-05-01 10:10:00\tJob ID: 41\t# GPUs: 8\tSaved checkpoint\tIteration: 100\tJob throughput: 400.0 TFLOP/s/GPU\tCumulative throughput: 400.0 TFLOP/s/GPU\tFloating-point operations: 1.92e+18\tTokens (in billions): 3.14
2026-05-01 10:20:00\tJob ID: 41\t# GPUs: 8\tSaving async checkpoint\tIteration: 200\tJob throughput: 400.0 TFLOP/s/GPU\tCumulative throughput: 400.0 TFLOP/s/GPU\tFloating-point operations: 3.84e+18\tTokens (in billions): 6.28
2026-05-01 10:21:00\tJob ID: 41\t# GPUs: 8\tSaved async checkpoint\tIteration: 200
2026-05-01 11:00:00\tJob ID: 41\t# GPUs: 4\tStarting job
2026-05-01 11:10:00\tJob ID: 41\t# GPUs: 4\tSaved checkpoint\tIteration: 250\tJob throughput: 400.0 TFLOP/s/GPU\tCumulative throughput: 400.0 TFLOP/s/GPU\tFloating-point operations: 4.80e+18\tTokens (in billions): 7.85
";

#[test]
fn progress_is_a_timeline_by_itself() {
    let (timeline, report) = read(PROGRESS);
    assert_eq!(report.format, "megatron-progress");
    assert_eq!((timeline.job.as_deref(), timeline.devices), (Some("41"), Some(8)));
    assert_eq!(
        steps(&timeline),
        [
            (1, 100, span(0, 600_000)),
            (101, 100, span(600_000, 1_200_000)),
            (201, 50, span(3_600_000, 4_200_000))
        ]
    );
    assert_eq!(
        timeline.work.iter().map(|w| w.tokens).collect::<Vec<_>>(),
        [3_140_000_000, 3_140_000_000, 1_570_000_000]
    );
    assert_eq!(timeline.work[2].model_flops, 960_000_000_000_000_000);
    assert_eq!(
        instants(&timeline),
        [
            (EventKind::Launch, at(0)),
            (EventKind::Committed { step: 100 }, at(600_000)),
            (EventKind::SaveStarted { step: 200 }, at(1_200_000)),
            (EventKind::Committed { step: 200 }, at(1_260_000)),
            (EventKind::Launch, at(3_600_000)),
            (EventKind::Resized { devices: 4 }, at(3_600_000)),
            (EventKind::Committed { step: 250 }, at(4_200_000)),
        ]
    );
    assert_eq!(report.counts["resume_point_supposed"], 1);
    let (_, cut) = read(&PROGRESS[..PROGRESS.len() - 150]);
    assert_eq!((cut.findings.last().unwrap().code, cut.refused), ("truncated_line", 1));
}

#[test]
fn totals_with_too_few_digits_give_no_work() {
    let late =
        PROGRESS.replace("1.92e+18", "9.98e+22").replace("3.84e+18", "9.99e+22").replace("6.28", "3.15");
    let (timeline, _) = read(&late);
    assert_eq!((timeline.work[1].tokens, timeline.work[1].model_flops), (0, 0));
}

#[test]
fn stdout_and_progress_of_one_run() {
    let log = launch(-15, 8, None)
        + &interval(600, 100, 5_700.0, 1600)
        + "saving checkpoint at iteration     200 to /c\n"
        + &interval(1200, 200, 6_000.0, 3200)
        + "  successfully saved checkpoint from iteration     200 to /c [ t 1/1, p 1/1 ]\n";
    let merged = merge(read(&log).0, &read(PROGRESS).0);
    assert_eq!(merged.job.as_deref(), Some("41"));
    assert_eq!(merged.steps.len(), 2);
    let found = instants(&merged);
    assert_eq!(
        found,
        [
            (EventKind::Launch, at(-15_000)),
            (EventKind::Committed { step: 100 }, at(600_000)),
            (EventKind::SaveStarted { step: 200 }, found[2].1),
            (EventKind::Committed { step: 200 }, at(1_260_000)),
            (EventKind::Launch, at(3_600_000)),
            (EventKind::Committed { step: 250 }, at(4_200_000)),
        ]
    );
}

proptest! {
    #[test]
    fn damaged_logs_never_panic(cut in 0usize..4000, insert in prop::collection::vec(any::<u8>(), 0..8), stdout in any::<bool>()) {
        let text = if stdout {
            launch(0, 8, None) + &interval(65, 10, 2000.0, 160) + &save(10, 4000.0) + &interval(89, 20, 2000.0, 320)
        } else {
            PROGRESS.to_owned()
        };
        let mut bytes = text.into_bytes();
        let cut = cut % bytes.len();
        bytes.splice(cut..cut, insert);
        let options = TimelineOptions { time_zone: Some(TimeZone::UTC), ..TimelineOptions::default() };
        if let Ok(read) = read_timeline("log", FileId(0), bytes.as_slice(), &options) {
            for (_, report) in read {
                prop_assert_eq!(report.used + report.refused + report.skipped.values().sum::<u64>(), report.rows);
            }
        }
    }

    #[test]
    fn lines_in_any_order_never_panic(order in Just((0..12).collect::<Vec<usize>>()).prop_shuffle()) {
        let log = launch(0, 8, None) + &interval(65, 10, 2000.0, 160) + &save(10, 4000.0);
        let lines: Vec<_> = log.lines().collect();
        let shuffled: String = order.iter().filter_map(|n| lines.get(*n)).flat_map(|line| [*line, "\n"]).collect();
        let _ = try_read(&shuffled);
    }
}
