//! Chrome traces as they break in the field: what is there is used, what was lost is counted with its place.

use std::io::Write;
use std::path::{Path, PathBuf};

use goodput_trace::chrome;
use goodput_trace::read::{ReadOptions, read_file, read_traces};
use goodput_trace::reading::{Cause, FileTraces, ReadError};
use goodput_trace::trace::{Epoch, RankTrace};
use proptest::prelude::*;
use rstest::rstest;

fn read(text: impl AsRef<[u8]>) -> FileTraces {
    chrome::read(&mut text.as_ref(), Path::new("trace.json")).expect("a trace")
}

fn only(traces: &FileTraces) -> &RankTrace {
    assert_eq!(traces.ranks.len(), 1);
    &traces.ranks[0]
}

/// Starts and ends of the device work.
fn spans(traces: &FileTraces) -> Vec<(i64, i64)> {
    only(traces).work.iter().map(|work| (work.start_ns, work.end_ns)).collect()
}

fn found(traces: &FileTraces) -> Vec<(Cause, u64, u64)> {
    traces.reading.findings.iter().map(|finding| (finding.cause, finding.count, finding.first_at)).collect()
}

fn kernel(name: &str, ts: &str, dur: &str, correlation: u32) -> String {
    format!(
        r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {ts}, "dur": {dur}, "args": {{"device": 0, "stream": 7, "correlation": {correlation}}}}}"#
    )
}

fn document(events: &[String]) -> String {
    format!("{{\"schemaVersion\": 1, \"traceEvents\": [\n{}\n]}}", events.join(",\n"))
}

/// A file of real traces, inflated; `None` where the traces are not at hand.
fn real(file: &str) -> Option<Vec<u8>> {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces")).join(file);
    let bytes = std::fs::read(path).ok()?;
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(&bytes[..]), &mut text).ok()?;
    Some(text)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory takes everything");
    encoder.finish().expect("memory takes everything")
}

#[rstest]
#[case("inf")]
#[case("Infinity")]
#[case("NaN")]
#[case("-nan")]
fn figures_that_are_no_numbers_are_missing(#[case] figure: &str) {
    let copy = format!(
        r#"{{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 30, "dur": 0, "args": {{"device": 0, "stream": 7, "correlation": 3, "bytes": 4, "memory bandwidth (GB/s)": {figure}}}}}"#
    );
    let traces = read(document(&[kernel("k", "10", "5", 2), copy]));
    assert_eq!(spans(&traces), [(10_000, 15_000), (30_000, 30_000)]);
    assert_eq!(only(&traces).work[1].bytes, Some(4));
    assert_eq!(
        found(&traces).iter().map(|&(cause, count, _)| (cause, count)).collect::<Vec<_>>(),
        [(Cause::NotFinite, 1)]
    );
    assert!(!traces.reading.is_degraded());
}

#[test]
fn lost_kernels_do_not_move_the_window() {
    let events: Vec<_> = (0..10)
        .map(|i| {
            if i % 4 == 1 {
                kernel("k", "0", "0", i)
            } else {
                kernel("k", &format!("{}.250", 1000 + i), "0.5", i)
            }
        })
        .collect();
    let traces = read(document(&events));
    assert_eq!(only(&traces).device_window(), Some((1_000_250, 1_008_750)));
    assert_eq!((traces.reading.lost_device_events, traces.reading.device_events), (3, 7));
    assert_eq!(traces.reading.kernel_coverage(), Some(0.7));
    assert!(traces.reading.is_degraded());
}

#[test]
fn lost_kernels_of_a_real_trace() {
    let Some(text) = real("kineto/v100_resnet50_2021_tb_strtid_nw0.json.gz") else { return };
    let whole = read(&text);
    // The events from the 1 001st kernel to the 2 000th have their stamps set to zero.
    let mut parts = text.split(|&byte| byte == b'\n');
    let (mut damaged, mut kernels) = (Vec::new(), 0);
    let mut is_kernel = false;
    for line in &mut parts {
        if memchr::memmem::find(line, b"\"ph\":").is_some() {
            is_kernel = memchr::memmem::find(line, b"\"cat\": \"Kernel\"").is_some();
            kernels += u32::from(is_kernel);
        }
        if is_kernel && (1001..=2000).contains(&kernels) && line.trim_ascii_start().starts_with(b"\"ts\":") {
            damaged.extend_from_slice(b"\"ts\": 0, \"dur\": 0,");
        } else {
            damaged.extend_from_slice(line);
        }
        damaged.push(b'\n');
    }
    let traces = read(&damaged);
    assert_eq!(traces.reading.lost_device_events, 1000);
    assert_eq!(traces.reading.lost_kernels, 1000);
    assert!((traces.reading.kernel_coverage().expect("kernels") - 0.886).abs() < 5e-4);
    assert_eq!(only(&traces).device_window(), only(&whole).device_window());
    assert!(traces.reading.is_degraded() && !whole.reading.is_degraded());
}

#[test]
fn stamps_in_quotes_are_stamps() {
    let Some(text) = real("kineto/mi300_vllm_hipgraph_421kernels_per_launch.json.gz") else { return };
    let text = String::from_utf8(text).expect("text");
    let quoted: String = text
        .split("\"ts\": ")
        .enumerate()
        .map(|(index, piece)| {
            let end = piece.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(0);
            if index == 0 {
                piece.to_owned()
            } else {
                format!("\"ts\": \"{}\"{}", &piece[..end], &piece[end..])
            }
        })
        .collect();
    assert_ne!(text, quoted);
    assert_eq!(only(&read(&quoted)).work, only(&read(&text)).work);

    let traces = read(document(&[kernel("k", "\"1778650000000000.123\"", "\"0.600\"", 1)]));
    assert_eq!(spans(&traces), [(1_778_650_000_000_000_123, 1_778_650_000_000_000_723)]);
    assert_eq!(only(&traces).epoch, Epoch::Unix);
}

#[test]
fn control_bytes_and_bad_utf8_are_accepted() {
    let mut text = document(&[kernel("a\u{1}b", "1", "1", 1), kernel("c??d", "3", "1", 2)]).into_bytes();
    let bad = text.windows(2).position(|pair| pair == b"??").expect("placed");
    text[bad..bad + 2].copy_from_slice(b"\xff\xfe");
    let traces = read(&text);
    let names: Vec<_> = only(&traces).work.iter().map(|work| only(&traces).name(work.name)).collect();
    assert_eq!(names, ["a\u{1}b", "c\u{fffd}\u{fffd}d"]);
    let causes: Vec<_> = found(&traces).iter().map(|finding| finding.0).collect();
    assert_eq!(causes, [Cause::ControlByte, Cause::InvalidUtf8]);
    assert!(!traces.reading.is_degraded());
}

#[rstest]
#[case::in_a_name(
    r#"{"ph": "X", "cat": "cpu_op", "name": "f {"device": "cpu"} g", "pid": 1, "tid": 1, "ts": 1, "dur": 1}"#
)]
#[case::in_arguments(
    r#"{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, "args": {"x": "a"b", "stream": 7}}"#
)]
#[case::in_arguments_of_no_concern(
    r#"{"ph": "X", "cat": "python_function", "name": "p", "ts": 1, "args": {"x": "a "q" b"}}"#
)]
#[case::a_lost_brace(r#"{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, "args": {"stream": 7}"#)]
#[case::a_lost_value(r#"{"ph": "X", "cat": "kernel", "name": , "ts": 1, "dur": 1}"#)]
#[case::no_event("garbage")]
#[case::brackets_crossed(r#"{"ph": "X", "args": {"grid": [1, 2}, "ts": 1}"#)]
fn what_is_no_json_is_skipped_and_the_rest_is_kept(#[case] broken: &str, #[values(0, 1, 2)] place: usize) {
    let mut events = vec![kernel("a", "1", "1", 1), kernel("b", "3", "1", 2)];
    events.insert(place, broken.to_owned());
    for text in [document(&events), format!("[{}]", events.join(","))] {
        let traces = read(&text);
        let at = text.find(broken).expect("placed") as u64;
        assert_eq!(spans(&traces), [(1_000, 2_000), (3_000, 4_000)]);
        assert_eq!(found(&traces), [(Cause::BrokenEvent, 1, at)]);
        assert_eq!(traces.reading.events, 3);
        assert!(!traces.reading.truncated);
    }
}

#[test]
fn metadata_after_a_broken_last_event_are_still_read() {
    let mut text = document(&[kernel("a", "5000000", "1", 1), r#"{"ph": "X", "name": "x"y"}"#.to_owned()]);
    text.truncate(text.len() - 1);
    text += ",\n\"traceName\": \"t\", \"baseTimeNanoseconds\": 1700000000000000000, \"distributedInfo\": {\"rank\": 2}}";
    let traces = read(&text);
    assert_eq!(spans(&traces), [(1_700_000_005_000_000_000, 1_700_000_005_000_001_000)]);
    assert_eq!(only(&traces).identity.rank, Some(2));
}

#[test]
fn broken_metadata_do_not_hide_the_events() {
    let text = format!(
        r#"{{"distributedInfo": {{"rank": 1, "x": "a"b"}}, "traceEvents": [{}], "baseTimeNanoseconds": 7}}"#,
        kernel("a", "1", "1", 1)
    );
    let traces = read(&text);
    assert_eq!(spans(&traces), [(1_007, 2_007)]);
    assert_eq!(found(&traces)[0].0, Cause::BrokenMetadata);
    assert_eq!(only(&traces).identity.rank, None);
}

#[test]
fn a_cut_file_is_used_up_to_the_cut() {
    let Some(text) = real("kineto/a100_ddp_resnet_nccl_meta_ns.json.gz") else { return };
    let whole = read(&text);
    let directory = tempfile::tempdir().expect("a directory");
    let plain = read(&text[..text.len() * 6 / 10]);
    let compressed = gzip(&text);
    let path = directory.path().join("cut.json.gz");
    std::fs::write(&path, &compressed[..compressed.len() * 6 / 10]).expect("written");
    let cut = read_file(&path, &ReadOptions::default()).expect("what there is");
    for traces in [plain, cut] {
        assert!(traces.reading.truncated && traces.reading.is_degraded());
        let [(Cause::Truncated, 1, at)] = found(&traces)[..] else { panic!("{:?}", found(&traces)) };
        assert!(text[at as usize..].trim_ascii_start().starts_with(b"{"));
        // Every complete event before the cut, as it is in the whole file but for the base time, which comes last.
        let expected = memchr::memmem::find_iter(&text[..at as usize], b"\"ph\":").count();
        assert_eq!(traces.reading.events, expected as u64);
        assert!(traces.reading.device_events > 0);
        assert!(traces.reading.device_events < whole.reading.device_events);
    }
}

#[test]
fn a_file_may_be_cut_anywhere() {
    let text = document(&[kernel("a", "1", "1", 1), kernel("b", "3", "1", 2)]);
    for cut in 1..text.len() {
        let traces = read(&text[..cut]);
        assert!(traces.reading.truncated, "cut at {cut}");
        assert!(traces.reading.findings.iter().all(|finding| finding.cause == Cause::Truncated));
    }
}

#[test]
fn no_rank_is_guessed_or_overwritten() {
    let traces = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces"));
    let directory = tempfile::tempdir().expect("a directory");
    let copy = |from: &str, to: &str| -> Option<PathBuf> {
        let path = directory.path().join(to);
        std::fs::copy(traces.join(from), &path).ok().map(|_| path)
    };
    let (Some(a), Some(b), Some(c), Some(d)) = (
        copy("kineto/no_distributedInfo.json.gz", "a.json.gz"),
        copy("kineto/no_distributedInfo.json.gz", "b.json.gz"),
        copy("dlrm8_v100/rank-3.json.gz", "c.json.gz"),
        copy("dlrm8_v100/rank-3.json.gz", "d.json.gz"),
    ) else {
        return;
    };
    let none = ReadOptions::default();
    let Err(ReadError::NoRank { path, other }) = read_traces(&[a.clone(), b.clone()], &none) else {
        panic!()
    };
    assert_eq!((path, other), (a.clone(), b.clone()));
    let Err(ReadError::SameRank { rank: 3, first, second }) = read_traces(&[c.clone(), d.clone()], &none)
    else {
        panic!()
    };
    assert_eq!((first, second), (c, d.clone()));
    let stated = [(a.clone(), 0), (d.clone(), 1)];
    let set = read_traces(&[d, a], &ReadOptions { stated_ranks: &stated, ..none }).expect("stated");
    assert_eq!(set.ranks.iter().map(|trace| trace.identity.rank).collect::<Vec<_>>(), [Some(0), Some(1)]);
}

#[test]
fn kernels_of_less_than_a_microsecond() {
    let events: Vec<_> = (0..10).map(|i| kernel("k", &format!("{i}.300"), "0.600", i)).collect();
    let traces = read(document(&events));
    assert_eq!(only(&traces).work.iter().map(|work| work.duration_ns()).sum::<i64>(), 6_000);
}

#[test]
fn stream_zero_and_two_calls_of_one_launch() {
    let call = |name: &str, ts: u32| {
        format!(
            r#"{{"ph": "X", "cat": "cuda_runtime", "name": "{name}", "pid": 9, "tid": 9, "ts": {ts}, "dur": 2, "args": {{"correlation": 5}}}}"#
        )
    };
    let work = r#"{"ph": "X", "cat": "kernel", "name": "k", "pid": 2, "tid": 0, "ts": 11, "dur": 10, "args": {"device": 2, "stream": 0, "correlation": 5}}"#;
    let traces =
        read(document(&[call("cuLaunchKernelEx", 12), work.to_owned(), call("cudaLaunchKernelExC", 10)]));
    let trace = only(&traces);
    assert_eq!(trace.streams, [goodput_trace::trace::Stream { device: 2, id: 0 }]);
    assert_eq!(trace.work.len(), 1);
    assert_eq!(trace.launch_of(&trace.work[0]).map(|launch| launch.start_ns), Some(10_000));
}

#[test]
fn bases_that_differ_give_equal_instants() {
    let rank = |base: i64, ts: &str, last: bool| {
        let base = format!("\"baseTimeNanoseconds\": {base}");
        let events = format!("\"traceEvents\": [{}]", kernel("k", ts, "1", 1));
        if last { format!("{{{events}, {base}}}") } else { format!("{{{base}, {events}}}") }
    };
    let first = read(rank(1_700_000_000_000_000_000, "5000000.000", false));
    let second = read(rank(1_700_000_004_000_000_000, "1000000.000", true));
    assert_eq!(spans(&first), spans(&second));
    assert_eq!((only(&first).epoch, only(&second).epoch), (Epoch::Unix, Epoch::Unix));
    assert_eq!(only(&read(document(&[kernel("k", "5000000.000", "1", 1)]))).epoch, Epoch::Own);
}

#[test]
fn a_list_of_events_is_a_trace() {
    let Some(text) = real("dlrm8_v100/rank-0.json.gz") else { return };
    let start = memchr::memmem::find(&text, b"\"traceEvents\": [").expect("events") + 15;
    let end = memchr::memmem::rfind(&text, b"],").expect("the end of the events") + 1;
    let list = read(&text[start..end]);
    let whole = read(&text);
    assert_eq!(list.reading.events, whole.reading.events);
    assert_eq!(list.reading.findings, []);
    assert_eq!(only(&list).work, only(&whole).work);
}

#[test]
fn order_of_keys_commas_marks_and_doubled_keys() {
    let text = "\u{feff} {\"traceEvents\": [{\"args\": {\"stream\": 3, \"device\": 1,}, \"dur\": 9, \"dur\": 2, \"ts\": 1, \
                \"tid\": 0, \"pid\": 0, \"name\": \"k\", \"cat\": \"kernel\", \"ph\": \"X\",},], \"traceName\": \"t\",}";
    let traces = read(text);
    assert_eq!(spans(&traces), [(1_000, 3_000)]);
    assert_eq!(only(&traces).streams, [goodput_trace::trace::Stream { device: 1, id: 3 }]);
    assert_eq!(traces.reading.findings, []);
}

#[test]
fn what_never_ended_is_counted() {
    let begin = r#"{"ph": "B", "cat": "user_annotation", "name": "a", "pid": 1, "tid": 1, "ts": 1}"#;
    let end = r#"{"ph": "E", "pid": 1, "tid": 1, "ts": 4}"#;
    let open = r#"{"ph": "X", "cat": "cpu_op", "name": "o", "pid": 1, "tid": 1, "ts": 1, "dur": -1}"#;
    let none = r#"{"ph": "X", "cat": "cpu_op", "name": "o", "pid": 1, "tid": 1, "ts": 1}"#;
    let traces = read(document(&[begin, begin, end, open, none].map(str::to_owned)));
    assert_eq!(only(&traces).ranges.len(), 1);
    assert_eq!((only(&traces).ranges[0].start_ns, only(&traces).ranges[0].end_ns), (1_000, 4_000));
    assert_eq!(traces.reading.findings[0].cause, Cause::Unfinished);
    assert_eq!(traces.reading.findings[0].count, 3);
    let traces = read(document(&[end.to_owned(), kernel("k", "1", "-3", 1), kernel("k", "soon", "3", 1)]));
    let causes: Vec<_> = found(&traces).iter().map(|finding| finding.0).collect();
    assert!(causes.contains(&Cause::Unfinished) && causes.contains(&Cause::NegativeDuration));
    assert_eq!(traces.reading.device_events, 0);
}

#[test]
fn depth_needs_no_stack() {
    let deep = ",{\"a\":[".repeat(20_000);
    for text in
        [deep.clone(), format!("[{deep}"), format!("{{\"traceEvents\": [{{\"ph\": \"X\", \"args\": {deep}")]
    {
        let _ = chrome::read(&mut text.as_bytes(), Path::new("deep.json"));
    }
}

#[test]
fn json_that_is_no_trace_is_an_error() {
    for text in ["{}", "{\"model_type\": \"llama\", \"layers\": [1, 2]}"] {
        let error = chrome::read(&mut text.as_bytes(), Path::new("config.json")).expect_err("no trace");
        assert!(error.to_string().contains("config.json"), "{error}");
    }
    assert_eq!(read("{\"traceEvents\": []}").reading.events, 0);
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        let _ = chrome::read(&mut &bytes[..], Path::new("any"));
    }

    #[test]
    fn damage_loses_only_what_it_hits(
        hits in prop::collection::vec((0.0..1.0, any::<u8>()), 1..4),
        pieces in prop::sample::select(vec!["\"", "}", "{", "]", ",", "\\", "\u{0}", "-1", "NaN"]),
    ) {
        let events: Vec<_> = (0..40).map(|i| kernel(&format!("k{i}"), &format!("{}.5", i * 10), "3.25", i + 1)).collect();
        let mut text = document(&events).into_bytes();
        for &(place, byte) in &hits {
            let at = (place * text.len() as f64) as usize;
            if byte % 2 == 0 {
                text[at] = byte;
            } else {
                text.splice(at..at, pieces.bytes());
            }
        }
        if let Ok(traces) = chrome::read(&mut &text[..], Path::new("damaged.json")) {
            let kept = traces.ranks.iter().map(|trace| trace.work.len()).sum::<usize>();
            prop_assert_eq!(traces.reading.device_events, kept as u64);
            for trace in &traces.ranks {
                prop_assert!(trace.work.iter().all(|work| work.start_ns <= work.end_ns));
                prop_assert!(trace.work.is_sorted_by_key(|work| work.start_ns));
            }
            // A hit loses its event, and another where it takes the border between them.
            let ends_early = traces.reading.truncated || traces.reading.events < 40;
            prop_assert!(ends_early || kept + 2 * hits.len() >= 40, "{} of 40", kept);
        }
    }
}

#[test]
fn a_compressed_file_is_checked_to_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rank0.json.gz");
    // One that fits into a block, and one of many.
    for events in [2, 20_000_u32] {
        let events: Vec<_> = (0..events).map(|i| kernel("k", &(20 * i + 20).to_string(), "5", i)).collect();
        let whole = gzip(document(&events).as_bytes());
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("written");
            let traces = read_file(&path, &ReadOptions::default()).expect("a trace");
            assert_eq!(spans(&traces).len(), events.len());
            found(&traces).iter().map(|found| found.0).collect::<Vec<_>>()
        };
        assert_eq!(read(&whole), []);
        let mut flipped = whole.clone();
        let checksum = flipped.len() - 6;
        flipped[checksum] ^= 1;
        assert_eq!(read(&flipped), [Cause::Damaged]);
        assert_eq!(read(&whole[..checksum]), [Cause::Damaged]);
        assert_eq!(read(&[&whole[..], b"not compressed"].concat()), [Cause::Damaged]);
        // Members one after the other are one text: the second document is not read, and said so.
        assert_eq!(read(&[&whole[..], &whole].concat()), [Cause::TextAfterEnd]);
    }
}

#[rstest]
#[case("", None)]
#[case("\n \t\0\0", None)]
#[case("\n{\"traceEvents\": []}", Some(1))]
#[case("garbage", Some(0))]
fn text_after_the_document_is_counted(#[case] after: &str, #[case] at: Option<u64>) {
    let document = document(&[kernel("k", "10", "5", 1)]);
    for document in [format!("[{}]", kernel("k", "10", "5", 1)), document] {
        let traces = read(format!("{document}{after}"));
        let expected: Vec<_> =
            at.map(|at| (Cause::TextAfterEnd, 1, document.len() as u64 + at)).into_iter().collect();
        assert_eq!((spans(&traces).len(), found(&traces)), (1, expected));
        assert_eq!(traces.reading.is_degraded(), at.is_some());
    }
}
