//! Goodput's own timeline format: page, schema, reader and writer agree.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::PathBuf;

use goodput_core::records::{Commits, EventKind, FileId, Phase, StopCause, Timeline};
use goodput_core::{Interval, Timestamp};
use goodput_records::FileReport;
use goodput_records::timeline::{TimelineOptions, TimelineWriter, read_timeline};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::Value;

const ALL: &str = r#"{"goodput_timeline":1,"job":"4711","devices":512,"device":"H100-SXM5","peak_tflops":989.4,"dtype":"bf16","model_flops_per_token":4.2e10,"convention":"6ND","planned_steps":5000,"commits":true,"software":{"torch":"2.9.0"}}
{"event":"launch","at":1767225600.0}
{"event":"phase","phase":"launch","name":"model_build","start":1767225600.0,"end":1767225640.5}
{"event":"phase","phase":"checkpoint_load","start":1767225640.5}
{"event":"phase_end","phase":"checkpoint_load","at":1767225649.5}
{"event":"restore","step":99,"at":1767225649.5}
{"step":100,"start":1767225650.0,"end":"2026-01-01T00:01:32Z","input_wait_s":0.25,"tokens":4194304,"model_flops":"340282366920938463463374607431768211455"}
{"step":101,"count":3,"start":1767225692.000000001,"end":1767225698.0}
{"rank":3,"host":"n1","device":3,"step":101,"duration_s":2.01,"input_wait_s":0.02}
{"event":"save","step":103,"at":1767225698.0}
{"event":"phase","phase":"checkpoint_pause","start":1767225698.0,"end":1767225699.5}
{"event":"commit","step":103,"at":1767225701.25}
{"event":"standby","devices":8,"at":1767225702.0}
{"event":"resize","devices":256,"at":1767225702.0}
{"event":"phase","phase":"suspension","start":1767225702.0,"end":1767225802.0}
{"event":"logging","start":1767225802.0,"end":1767225802.125}
{"step":104,"start":1767225803.0}
{"event":"phase","phase":"evaluation","name":"val \"1\"","start":1767225805.0}
{"event":"stop","cause":"preempted","at":1767225806.0}
{"event":"launch","at":1767225900.0,"devices":512}
{"event":"stop","cause":"finished","at":1767225901.0}
"#;

fn read(text: &str) -> (Timeline, FileReport) {
    read_timeline("log", FileId(0), text.as_bytes(), &TimelineOptions::default()).unwrap().remove(0)
}

fn root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

#[test]
fn everything_that_can_be_said() {
    let (timeline, report) = read(ALL);
    assert_eq!(report.findings, []);
    assert_eq!((report.rows, report.used), (21, 21));
    assert_eq!((timeline.job.as_deref(), timeline.devices), (Some("4711"), Some(512)));
    assert_eq!((timeline.commits, timeline.planned_steps), (Commits::Recorded, Some(5000)));
    assert_eq!(timeline.ideal.peak_flops_per_second, Some(989.4e12));
    assert_eq!(timeline.software, [("torch".to_owned(), "2.9.0".to_owned())]);
    let first = timeline.steps[0];
    assert_eq!((first.index, first.count, first.line, first.input_wait_ns), (100, 1, 7, 250_000_000));
    assert_eq!(first.end, Some(Timestamp::from_seconds(1_767_225_692)));
    assert_eq!(timeline.work[0].model_flops, u128::MAX);
    assert_eq!(timeline.work.len(), timeline.steps.len());
    assert_eq!((timeline.steps[1].count, timeline.steps[1].start.as_nanos()), (3, 1_767_225_692_000_000_001));
    assert_eq!(timeline.steps[2].end, None);
    assert_eq!(timeline.symbols.get(timeline.ranks[0].host), "n1");
    let instants: Vec<_> = timeline.events.iter().map(|event| event.kind).collect();
    for kind in [
        EventKind::Restored { step: Some(99) },
        EventKind::SaveStarted { step: 103 },
        EventKind::Committed { step: 103 },
        EventKind::Standby { devices: 8 },
        EventKind::Resized { devices: 256 },
        EventKind::Resized { devices: 512 },
        EventKind::Stopped { cause: StopCause::Preempted },
        EventKind::Stopped { cause: StopCause::Finished },
        EventKind::LoggingCost,
    ] {
        assert!(instants.contains(&kind), "{kind:?}");
    }
    let load = timeline
        .events
        .iter()
        .find(|e| matches!(e.kind, EventKind::Phase { phase: Phase::CheckpointLoad, .. }));
    let seconds = |s: f64| Timestamp::from_nanos((s * 2.0) as i64 * 500_000_000);
    assert_eq!(load.unwrap().interval, Interval::new(seconds(1_767_225_640.5), seconds(1_767_225_649.5)));
    let open: Vec<_> = timeline.events.iter().filter(|e| e.open).map(|e| e.line).collect();
    assert_eq!(open, [18]);
}

#[test]
fn the_writer_writes_what_the_reader_reads() {
    let (timeline, _) = read(ALL);
    let mut writer = TimelineWriter::new(Vec::new());
    writer.timeline(&timeline).unwrap();
    let text = String::from_utf8(writer.into_inner()).unwrap();
    let (again, report) = read(&text);
    assert_eq!(report.findings, []);
    let sameness = |t: &Timeline| {
        let steps: Vec<_> =
            t.steps.iter().map(|s| (s.index, s.count, s.start, s.end, s.input_wait_ns)).collect();
        let name = |kind| match kind {
            EventKind::Phase { name, .. } => t.symbols.get(name).to_owned(),
            _ => String::new(),
        };
        let kind = |kind| match kind {
            EventKind::Phase { phase, .. } => format!("{phase:?}"),
            other => format!("{other:?}"),
        };
        let events: Vec<_> =
            t.events.iter().map(|e| (kind(e.kind), name(e.kind), e.interval, e.open)).collect();
        let ranks: Vec<_> =
            t.ranks.iter().map(|r| (r.rank, r.device, r.step, r.duration_ns, r.input_wait_ns)).collect();
        let header =
            (t.job.clone(), t.devices, t.commits, t.planned_steps, t.ideal.clone(), t.software.clone());
        (steps, events, ranks, t.work.clone(), header)
    };
    assert_eq!(sameness(&again), sameness(&timeline));
    // Steps and events stay in the order of the log.
    let order = |text: &str| -> Vec<bool> { text.lines().map(|line| line.contains("\"event\"")).collect() };
    let without_ends =
        ALL.lines().filter(|l| !l.contains("phase_end") && !l.contains("rank")).collect::<Vec<_>>();
    assert_eq!(order(&text)[..18], order(&without_ends.join("\n"))[..18]);
}

#[test]
fn every_line_is_valid_by_the_schema_and_so_is_the_page() {
    let schema: Value =
        serde_json::from_str(&std::fs::read_to_string(root("schemas/timeline.schema.json")).unwrap())
            .unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let page = std::fs::read_to_string(root("docs/timeline-format.md")).unwrap();
    let example: Vec<_> =
        page.lines().filter_map(|line| line.strip_prefix("    ")).filter(|l| l.starts_with('{')).collect();
    assert!(example.len() > 5);
    let (_, report) = read(&(example.join("\n") + "\n"));
    assert_eq!((report.findings.len(), report.used), (0, example.len() as u64));
    let mut writer = TimelineWriter::new(Vec::new());
    writer.timeline(&read(ALL).0).unwrap();
    let written = String::from_utf8(writer.into_inner()).unwrap();
    for line in ALL.lines().chain(example).chain(written.lines()) {
        let value: Value = serde_json::from_str(line).unwrap();
        assert!(validator.is_valid(&value), "{line}: {:?}", validator.iter_errors(&value).next());
    }
    for line in
        ["{}", r#"{"step":1}"#, r#"{"event":"stop","cause":"tired","at":1}"#, r#"{"step":-1,"start":1}"#]
    {
        assert!(!validator.is_valid(&serde_json::from_str::<Value>(line).unwrap()), "{line}");
    }
}

#[rstest]
#[case::cut_off(r#"{"step":1,"sta"#, "truncated_line", "")]
#[case::not_json("{\"step\":1,}\n", "bad_json", "")]
#[case::array("[1]\n", "bad_json", "")]
#[case::twice("{\"step\":1,\"step\":2,\"start\":1}\n", "bad_json", "")]
#[case::no_start("{\"step\":1}\n", "missing_field", "start")]
#[case::nothing("{}\n", "missing_field", "step")]
#[case::text_for_a_number("{\"step\":\"1\",\"start\":1}\n", "bad_value", "step")]
#[case::negative("{\"step\":-1,\"start\":1}\n", "bad_value", "step")]
#[case::no_steps("{\"step\":1,\"count\":0,\"start\":1}\n", "bad_value", "count")]
#[case::backwards("{\"step\":1,\"start\":2,\"end\":1}\n", "bad_value", "end")]
#[case::long_wait("{\"step\":1,\"start\":2,\"end\":3,\"input_wait_s\":1.5}\n", "bad_value", "input_wait_s")]
#[case::no_offset("{\"step\":1,\"start\":\"2026-01-01T00:00:00\"}\n", "bad_value", "start")]
#[case::unknown_event("{\"event\":\"party\",\"at\":1}\n", "bad_value", "event")]
#[case::unknown_phase("{\"event\":\"phase\",\"phase\":\"nap\",\"start\":1}\n", "bad_value", "phase")]
#[case::unknown_cause("{\"event\":\"stop\",\"cause\":\"tired\",\"at\":1}\n", "bad_value", "cause")]
#[case::never_open("{\"event\":\"phase_end\",\"phase\":\"launch\",\"at\":1}\n", "bad_value", "phase")]
#[case::save_of_what("{\"event\":\"save\",\"at\":1}\n", "missing_field", "step")]
fn bad_lines_are_refused_and_located(#[case] bad: &str, #[case] code: &str, #[case] field: &str) {
    let (timeline, report) = read(&format!("{{\"goodput_timeline\":1}}\n{{\"step\":0,\"start\":0}}\n{bad}"));
    assert_eq!(timeline.steps.len(), 1);
    assert_eq!((report.rows, report.used, report.refused), (3, 2, 1));
    let finding = &report.findings[0];
    assert_eq!((finding.code, finding.line, finding.field.as_str()), (code, 3, field));
}

/// A word that the format does not have is answered with those that it has.
#[rstest]
#[case("{\"event\":\"party\",\"at\":1}", "party", &["launch", "phase", "phase_end", "save", "commit", "restore", "resize", "standby", "stop", "logging"])]
#[case("{\"event\":\"phase\",\"phase\":\"nap\",\"start\":1}", "nap", &["launch", "checkpoint_load", "input_wait", "declared"])]
#[case("{\"event\":\"stop\",\"cause\":\"tired\",\"at\":1}", "tired", &["finished", "ended", "fault", "preempted", "reconfiguration"])]
fn an_unknown_word_is_answered_with_the_known_ones(
    #[case] bad: &str,
    #[case] found: &str,
    #[case] known: &[&str],
) {
    let (_, report) = read(&format!("{{\"goodput_timeline\":1}}\n{{\"step\":0,\"start\":0}}\n{bad}\n"));
    let message = &report.findings[0].message;
    assert!(message.starts_with(&format!("found \"{found}\", expected one of ")), "{message}");
    for word in known {
        assert!(message.contains(word), "{word}: {message}");
        // Each of them is a word of its field.
        let other = bad.replace(found, word);
        let (_, report) = read(&format!("{{\"goodput_timeline\":1}}\n{{\"step\":0,\"start\":0}}\n{other}\n"));
        assert!(
            report.findings.iter().all(|finding| !finding.message.contains("expected one of")),
            "{other}"
        );
    }
}

#[test]
fn another_version_is_refused_as_a_whole() {
    let text = b"{\"goodput_timeline\":2}\n";
    let error = read_timeline("log", FileId(0), &text[..], &TimelineOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "log:1: version 2 of the format; version 1 can be read");
}

#[test]
fn attempts_of_one_job_are_one_timeline_and_jobs_are_apart() {
    let text = "{\"goodput_timeline\":1,\"job\":\"a\",\"devices\":8}\n{\"step\":0,\"start\":0}\n\
                {\"goodput_timeline\":1,\"job\":\"b\"}\n{\"step\":0,\"start\":0}\n\
                {\"goodput_timeline\":1,\"job\":\"a\",\"devices\":4}\n{\"step\":1,\"start\":9}\n";
    let read = read_timeline("log", FileId(0), text.as_bytes(), &TimelineOptions::default()).unwrap();
    let sizes: Vec<_> = read.iter().map(|(t, _)| (t.job.as_deref(), t.steps.len(), t.devices)).collect();
    assert_eq!(sizes, [(Some("a"), 2, Some(8)), (Some("b"), 1, None)]);
    assert_eq!(read[0].1.counts["header_ignored"], 1);
}

#[test]
fn a_clock_that_steps_back_is_noted() {
    let (timeline, report) =
        read("{\"goodput_timeline\":1}\n{\"step\":0,\"start\":9}\n{\"step\":1,\"start\":5}\n");
    assert_eq!(timeline.steps.len(), 2);
    assert_eq!((report.counts["clock_steps_back"], report.findings[0].line), (1, 3));
}

proptest! {
    #[test]
    fn damaged_logs_never_panic(cut in 0usize..ALL.len(), insert in prop::collection::vec(any::<u8>(), 0..8)) {
        let mut bytes = ALL.as_bytes().to_vec();
        bytes.splice(cut..cut, insert);
        if let Ok(read) = read_timeline("log", FileId(0), bytes.as_slice(), &TimelineOptions::default()) {
            for (_, report) in read {
                prop_assert_eq!(report.used + report.refused, report.rows);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_timeline("log", FileId(0), bytes.as_slice(), &TimelineOptions::default());
        for format in goodput_records::timeline::FORMATS {
            let options = TimelineOptions { format: Some(format), ..TimelineOptions::default() };
            let _ = read_timeline("log", FileId(0), bytes.as_slice(), &options);
        }
    }
}
