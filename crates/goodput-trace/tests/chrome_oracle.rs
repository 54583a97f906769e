//! The Chrome reader against serde_json on real traces: every row has the name and the stamps of its event.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;

use goodput_trace::chrome;
use goodput_trace::trace::{Epoch, RankTrace};
use rstest::rstest;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, rename = "traceEvents")]
    events: Vec<Event<'a>>,
    #[serde(rename = "baseTimeNanoseconds")]
    base_ns: Option<i128>,
}

#[derive(Deserialize)]
struct Event<'a> {
    ph: Cow<'a, str>,
    #[serde(default)]
    cat: Cow<'a, str>,
    name: Cow<'a, str>,
    #[serde(borrow)]
    ts: Option<&'a RawValue>,
    #[serde(borrow)]
    dur: Option<&'a RawValue>,
}

/// Microseconds with at most three decimals, by cutting the text.
fn nanoseconds(micros: &RawValue) -> i128 {
    let (whole, fraction) = micros.get().split_once('.').unwrap_or((micros.get(), ""));
    assert!(fraction.len() <= 3);
    format!("{whole}{fraction:0<3}").parse().expect("digits")
}

type Row = (String, i128, i128);

fn expected(document: &Document<'_>, categories: &[&str], keeps: impl Fn(&str) -> bool) -> Vec<Row> {
    let base = document.base_ns.unwrap_or(0);
    let mut rows: Vec<Row> = document
        .events
        .iter()
        .filter(|event| event.ph == "X" && categories.contains(&&*event.cat) && keeps(&event.name))
        .map(|event| {
            let start = base + nanoseconds(event.ts.expect("a start"));
            (event.name.to_string(), start, start + nanoseconds(event.dur.expect("a duration")))
        })
        .collect();
    rows.sort();
    rows
}

fn rows(
    trace: &RankTrace,
    spans: impl Iterator<Item = (goodput_core::records::Symbol, i64, i64)>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = spans
        .map(|(name, start, end)| (trace.name(name).to_owned(), i128::from(start), i128::from(end)))
        .collect();
    rows.sort();
    rows
}

#[rstest]
#[case("dlrm8_v100/rank-0.json.gz")]
#[case("kineto/a100_ddp_resnet_nccl_meta_ns.json.gz")]
#[case("kineto/a100_event_sync_multi_stream.json.gz")]
#[case("kineto/a100_triton_cuda_driver_launch.json.gz")]
#[case("kineto/cpu_ops_only_rank0.json.gz")]
#[case("kineto/dlrm_ws128_rank1_sampled.json.gz")]
#[case("kineto/h100_qwen05b.json.gz")]
#[case("kineto/h100_vit_infer_pyfunc.json.gz")]
#[case("kineto/mi250_minitoy_stream0.json.gz")]
#[case("kineto/mi300_vllm_hipgraph_421kernels_per_launch.json.gz")]
#[case("kineto/old_cats_Kernel_Runtime_rank1.json.gz")]
#[case("kineto/v100_resnet_ns_5steps.json.gz")]
fn rows_are_the_events(#[case] file: &str) {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces")).join(file);
    let Ok(bytes) = std::fs::read(&path) else { return };
    let mut text = String::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("text");
    let document: Document<'_> = serde_json::from_str(&text).expect("JSON");
    let traces = chrome::read(&mut text.as_bytes(), &path).expect("a trace");
    let trace = &traces.ranks[0];
    assert_eq!(traces.reading.events, document.events.len() as u64);
    assert_eq!(trace.epoch, Epoch::Unix);

    let work = trace.work.iter().map(|row| (row.name, row.start_ns, row.end_ns));
    let categories = ["kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"];
    assert_eq!(rows(trace, work), expected(&document, &categories, |_| true));

    let operators = trace.operators.iter().map(|row| (row.name, row.start_ns, row.end_ns));
    assert_eq!(rows(trace, operators), expected(&document, &["cpu_op", "Operator"], |_| true));

    let launches = trace.launches.iter().filter(|row| trace.name(row.name).contains("Launch"));
    let launches = launches.map(|row| (row.name, row.start_ns, row.end_ns));
    let categories = ["cuda_runtime", "cuda_driver", "Runtime"];
    assert_eq!(rows(trace, launches), expected(&document, &categories, |name| name.contains("Launch")));
}
