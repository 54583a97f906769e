//! What a recorder writes is what the reader takes: no line is refused, repaired or noted.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use goodput_core::records::{Commits, EventKind, FileId, Phase, StepWork, StopCause, Timeline};
use goodput_records::FileReport;
use goodput_records::timeline::{RecordError, TimelineOptions, TimelineRecorder, read_timeline};

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    (folder, path)
}

fn job() -> Timeline {
    Timeline {
        job: Some("4711".to_owned()),
        devices: Some(8),
        commits: Commits::Recorded,
        planned_steps: Some(100),
        ..Timeline::default()
    }
}

fn read(path: &Path) -> (Timeline, FileReport) {
    let log = File::open(path).unwrap();
    let mut read = read_timeline("run.jsonl", FileId(0), log, &TimelineOptions::default()).unwrap();
    assert_eq!(read.len(), 1);
    read.remove(0)
}

/// One attempt: a launch phase, steps, an input wait, a checkpoint inside a step, an evaluation.
fn attempt(path: &Path, first: u64, last: u64) -> TimelineRecorder {
    let recorder = TimelineRecorder::open(path, &job()).unwrap();
    let now = || recorder.now();
    recorder.begin_phase(Phase::Launch, "model_build", now()).unwrap();
    recorder.end_phase(Phase::Launch, "model_build", now()).unwrap();
    for step in first..=last {
        let start = now();
        let after_wait = now();
        if step % 3 == 2 {
            recorder.event(EventKind::SaveStarted { step: step - 1 }, now()).unwrap();
            recorder.begin_phase(Phase::CheckpointPause, "", now()).unwrap();
            recorder.end_phase(Phase::CheckpointPause, "", now()).unwrap();
            recorder.event(EventKind::Committed { step: step - 1 }, now()).unwrap();
        }
        let work = StepWork { tokens: 4096, model_flops: 1 << 70 };
        recorder.step(step, start, now(), after_wait - start, work).unwrap();
    }
    let began = now();
    recorder.phase(Phase::Evaluation, "validation", began, now()).unwrap();
    recorder.logging(began, now()).unwrap();
    recorder.rank(last, 3, "n1", Some(1), 1_000_000, 1_000).unwrap();
    recorder
}

#[test]
fn two_attempts_are_one_timeline_without_a_finding() {
    let (_folder, path) = folder();
    attempt(&path, 0, 6)
        .stop(StopCause::Fault, goodput_core::Timestamp::from_seconds(4_000_000_000))
        .unwrap();
    let (_, report) = read(&path);
    assert_eq!((report.refused, report.repaired, report.counts.len()), (0, 0, 0), "{report:?}");
    fs::remove_file(&path).unwrap();

    drop(attempt(&path, 0, 6));
    let second = attempt(&path, 5, 9);
    second.event(EventKind::Restored { step: Some(4) }, second.now()).unwrap();
    second.stop(StopCause::Finished, second.now()).unwrap();
    second.sync().unwrap();
    let (timeline, report) = read(&path);
    assert_eq!((report.refused, report.repaired, report.counts.len()), (0, 0, 0), "{report:?}");
    assert_eq!(report.rows, report.used);
    assert_eq!(
        (timeline.job.as_deref(), timeline.devices, timeline.planned_steps),
        (Some("4711"), Some(8), Some(100))
    );
    assert_eq!(
        timeline.steps.iter().map(|s| s.index).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5, 6, 5, 6, 7, 8, 9]
    );
    assert_eq!(timeline.work[0], StepWork { tokens: 4096, model_flops: 1 << 70 });
    assert_eq!(timeline.commits, Commits::Recorded);
    let launches = timeline.events.iter().filter(|e| e.kind == EventKind::Launch).count();
    assert_eq!((launches, timeline.ranks.len()), (2, 2));
}

#[test]
fn one_recorder_a_job() {
    let (_folder, path) = folder();
    let first = TimelineRecorder::open(&path, &job()).unwrap();
    let second = TimelineRecorder::open(&path, &job());
    assert!(matches!(&second, Err(RecordError::Locked { .. })), "{second:?}");
    drop(first);
    TimelineRecorder::open(&path, &job()).unwrap();
}

/// Not a test of its own: the process that holds the timeline of the test below.
#[test]
fn holder_process() {
    if let Some(path) = std::env::var_os("HOLD_TIMELINE") {
        let _recorder = TimelineRecorder::open(PathBuf::from(path), &job()).unwrap();
        std::thread::sleep(Duration::from_secs(60));
    }
}

#[test]
fn another_process_is_refused_until_the_first_is_gone_however_it_went() {
    let (_folder, path) = folder();
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["holder_process", "--exact"])
        .env("HOLD_TIMELINE", &path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let launched = || fs::read_to_string(&path).is_ok_and(|text| text.contains("launch"));
    for _ in 0..500 {
        if launched() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let refused = TimelineRecorder::open(&path, &job()).unwrap_err().to_string();
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(refused.contains(&format!("process {}", holder.id())), "{refused}");
    TimelineRecorder::open(&path, &job()).unwrap();
    assert_eq!(read(&path).1.refused, 0);
}

#[test]
fn a_file_of_something_else_is_left_alone() {
    let (_folder, path) = folder();
    drop(TimelineRecorder::open(&path, &job()).unwrap());
    let before = fs::read(&path).unwrap();
    let other = Timeline { job: Some("4712".to_owned()), ..Timeline::default() };
    let error = TimelineRecorder::open(&path, &other).unwrap_err().to_string();
    assert!(error.contains("run.jsonl:1") && error.contains("\"4711\""), "{error}");
    assert!(TimelineRecorder::open(&path, &Timeline::default()).is_err());
    assert_eq!(fs::read(&path).unwrap(), before);

    fs::write(&path, "step 1 loss 2.0\n").unwrap();
    assert!(matches!(TimelineRecorder::open(&path, &job()), Err(RecordError::NotATimeline { .. })));
    assert!(TimelineRecorder::open(path.join("below"), &job()).is_err());
}

#[test]
fn a_torn_line_stays_and_costs_no_other() {
    let (_folder, path) = folder();
    drop(attempt(&path, 0, 2));
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"step\":3,\"sta").unwrap();
    drop(attempt(&path, 3, 5));
    let (timeline, report) = read(&path);
    assert_eq!((report.refused, timeline.steps.len()), (1, 6), "{report:?}");
}

#[test]
fn steps_that_cannot_be_are_refused() {
    let (_folder, path) = folder();
    let recorder = TimelineRecorder::open(&path, &job()).unwrap();
    let (early, late) = (recorder.now(), recorder.now() + 1_000);
    for (start, end, wait) in [(late, early, 0), (early, late, -1), (early, late, late - early + 1)] {
        let error = recorder.step(0, start, end, wait, StepWork::default());
        assert!(matches!(error, Err(RecordError::Value { .. })), "{error:?}");
    }
    assert!(recorder.phase(Phase::Evaluation, "", late, early).is_err());
    assert!(recorder.logging(late, early).is_err());
    assert!(recorder.rank(0, 0, "", None, -1, 0).is_err());
    assert_eq!(read(&path).1.rows, 2);
}

#[test]
fn lines_of_many_threads_stay_whole() {
    let (_folder, path) = folder();
    let recorder = TimelineRecorder::open(&path, &job()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let recorder = &recorder;
            scope.spawn(move || {
                for step in 0..200 {
                    recorder
                        .event(EventKind::Committed { step: thread * 1000 + step }, recorder.now())
                        .unwrap();
                }
            });
        }
    });
    let (timeline, report) = read(&path);
    assert_eq!((report.refused, timeline.events.len()), (0, 1 + 8 * 200));
}
