#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use goodput_model::device::Catalogue;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::Basis;
use crate::kernel::{ExpertGemm, Gemm, Pass, Power};
use crate::layer::Term;
use crate::run::Run;
use crate::step::Predictor;

const HEADER: &str = "kind,device,dtype,pass,m,n,k,experts,accumulate,cast,kernel,batch,heads,kv_heads,queries,keys,head_dim,value_dim,\
mask,values,ranks,nodes,bytes,state,time_us,spread,repeats";

/// A row from the cells that are not empty.
fn row(cells: &[(&str, &str)]) -> Result<ReadRow, BadCell> {
    let header: Vec<String> = HEADER.split(',').map(str::to_owned).collect();
    let columns = Columns::new(&header, &BTreeMap::new(), &BTreeMap::new()).unwrap();
    let cell = |at: usize| cells.iter().find(|(name, _)| *name == header[at]).map_or("", |(_, cell)| *cell);
    let cells = columns.row(cell);
    cells.read()
}

const GEMM: [(&str, &str); 8] = [
    ("kind", "gemm"),
    ("dtype", "bf16"),
    ("pass", "forward"),
    ("m", "4096"),
    ("n", "4096"),
    ("k", "4096"),
    ("state", "burst"),
    ("time_us", "230.5"),
];

fn gemm_with<'a>(changed: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut cells = changed.to_vec();
    cells.extend(GEMM.iter().filter(|(name, _)| !changed.iter().any(|(other, _)| other == name)));
    cells
}

#[rstest]
#[case(&[("time_us", "-3")], "time_us")]
#[case(&[("time_us", "0")], "time_us")]
#[case(&[("time_us", "NaN")], "time_us")]
#[case(&[("time_us", "inf")], "time_us")]
#[case(&[("time_us", "1,5")], "time_us")]
#[case(&[("time_us", "4e9")], "time_us")]
#[case(&[("dtype", "int4")], "dtype")]
#[case(&[("dtype", "")], "dtype")]
#[case(&[("pass", "backward")], "pass")]
#[case(&[("m", "0")], "m")]
#[case(&[("m", "4096.5")], "m")]
#[case(&[("n", "99999999999999999999")], "n")]
#[case(&[("kind", "convolution")], "kind")]
#[case(&[("state", "boost")], "state")]
#[case(&[("experts", "8")], "experts")]
#[case(&[("accumulate", "fp32")], "accumulate")]
#[case(&[("dtype", "fp8")], "cast")]
#[case(&[("kind", "grouped_gemm")], "experts")]
#[case(&[("kind", "attention")], "mask")]
#[case(&[("kind", "rope")], "kernel")]
#[case(&[("kind", "adam"), ("pass", "backward"), ("kernel", "fused"), ("values", "9")], "pass")]
#[case(&[("kind", "all_reduce"), ("ranks", "1"), ("nodes", "1"), ("bytes", "9")], "ranks")]
#[case(&[("kind", "all_reduce"), ("ranks", "8"), ("nodes", "3"), ("bytes", "9")], "nodes")]
#[case(&[("kind", "host"), ("kernel", "fast")], "kernel")]
fn a_cell_that_cannot_be_is_refused_by_its_column(#[case] changed: &[(&str, &str)], #[case] field: &str) {
    let bad = row(&gemm_with(changed)).unwrap_err();
    assert_eq!(bad.field, field, "{}", bad.message);
    assert!(bad.message.contains("expected"), "{}", bad.message);
}

#[test]
fn a_whole_number_that_went_through_floats_is_mended_and_said() {
    let read = row(&gemm_with(&[("m", "4096.0")])).unwrap();
    assert_eq!(read.repaired.unwrap().field, "m");
    assert_eq!(read.timed, row(&GEMM).unwrap().timed);
}

#[test]
fn columns_are_found_renamed_or_stated_and_times_have_a_unit() {
    let header = ["op", "device", "dtype", "latency_ms", "m"].map(str::to_owned);
    let of = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(ours, theirs)| ((*ours).to_owned(), (*theirs).to_owned())).collect()
    };
    let renamed: BTreeMap<_, _> = of(&[("kind", "op"), ("time_ms", "latency_ms")]);
    let stated = of(&[("state", "burst"), ("pass", "forward"), ("n", "64"), ("k", "64")]);
    let columns = Columns::new(&header, &renamed, &stated).unwrap();
    let cells = columns.row(|at| ["gemm", "H100 SXM5", "half", "0.5", "16"][at]);
    assert_eq!(cells.get("device"), "H100 SXM5");
    assert_eq!(cells.read().unwrap().timed.ns, 0.5e6);
    let error = |renamed: &[(&str, &str)], stated: &[(&str, &str)]| {
        Columns::new(&header, &of(renamed), &of(stated)).unwrap_err()
    };
    assert_eq!(error(&[], &[]), ColumnError::Missing("kind", header.join(", ")));
    assert_eq!(error(&[("width", "m")], &[]), ColumnError::Unknown("width".to_owned()));
    assert!(matches!(error(&[("kind", "operation")], &[]), ColumnError::NotThere(..)));
}

fn a100() -> &'static goodput_model::device::Device {
    Catalogue::built_in().find("A100 SXM4 80GB").unwrap()
}

#[test]
fn a_rate_above_the_peak_or_the_bandwidth_is_refused_with_the_reason() {
    let mut collector = Collector::new(a100());
    // 2 x 4096^3 in 100 us are 1374 TFLOP/s.
    let fast = row(&gemm_with(&[("time_us", "100")])).unwrap().timed;
    let why = collector.add(&fast).unwrap_err();
    assert!(why.contains("312") && why.contains("unit"), "{why}");
    assert!(collector.add(&row(&gemm_with(&[("time_us", "600")])).unwrap().timed).is_ok());
    let copy = |bytes, us| {
        row(&[("kind", "copy"), ("bytes", bytes), ("state", "burst"), ("time_us", us)]).unwrap().timed
    };
    assert!(collector.add(&copy("1000000000", "400")).unwrap_err().contains("memory bandwidth"));
    assert!(collector.add(&copy("1000000000", "600")).is_ok());
    // What fits in a cache may be faster than the memory.
    assert!(collector.add(&copy("1000000", "0.4")).is_ok());
    let fp8 = row(&gemm_with(&[("dtype", "fp8"), ("cast", "no"), ("time_us", "900")])).unwrap().timed;
    assert!(collector.add(&fp8).unwrap_err().contains("fp8"));
}

#[test]
fn a_time_far_above_the_model_is_refused_with_the_reason() {
    let mut collector = Collector::new(a100());
    let one = [("m", "1"), ("n", "1"), ("k", "1")];
    let timed = |us| row(&gemm_with(&[&one[..], &[("time_us", us)]].concat())).unwrap().timed;
    let why = collector.add(&timed("1e9")).unwrap_err();
    assert!(why.contains("10000 times") && why.contains("unit"), "{why}");
    assert!(collector.add(&timed("500")).is_ok());
    let copy =
        |us| row(&[("kind", "copy"), ("bytes", "4096"), ("state", "burst"), ("time_us", us)]).unwrap().timed;
    assert!(collector.add(&copy("1e7")).is_err() && collector.add(&copy("50")).is_ok());
    assert_eq!(collector.len(), 2);
}

#[test]
fn measurements_of_one_call_become_their_median_with_their_spread() {
    let mut collector = Collector::new(a100());
    for us in ["600", "610", "900"] {
        collector.add(&row(&gemm_with(&[("time_us", us)])).unwrap().timed).unwrap();
    }
    let calibration = collector.finish();
    assert_eq!((calibration.rows.len(), calibration.rows[0].repeats), (1, 3));
    assert_eq!(calibration.rows[0].ns, 610e3);
    assert!((calibration.rows[0].spread.unwrap() - 1.4826 * 10.0 / 610.0).abs() < 1e-12);
}

/// Every product of powers of two, `times` as long as the shipped tables say.
fn all_gemms(times: f64) -> Calibration {
    let tables = KernelTables::new(a100());
    let mut rows = Vec::new();
    let lengths: Vec<u64> = (8..=17).map(|log2| 1 << log2).collect();
    for &m in &lengths {
        for &n in &lengths {
            for &k in &lengths {
                for pass in Pass::ALL {
                    let each = Gemm::new(m, n, k).pass(pass);
                    let ns = times * tables.gemm(&each).unwrap().ns;
                    let call = Call::Gemm(ExpertGemm { experts: 1, each });
                    rows.push(Timed { call, power: Power::Sustained, ns, spread: None, repeats: 1 });
                }
            }
        }
    }
    Calibration {
        device: a100().name.clone(),
        software: vec!["torch: \"2.9\" #1".to_owned()],
        conditions: Vec::new(),
        sustained: None,
        rows,
    }
}

fn example() -> Run {
    Run::from_yaml("run.yaml", include_str!("../../../../examples/run.yaml"), Path::new(".")).unwrap()
}

fn gemm_ns(run: &Run) -> (f64, f64) {
    let prediction = Predictor::new(&run.cluster).unwrap().predict(run).unwrap();
    (prediction.terms.of(Term::Gemm), prediction.step_ns)
}

#[test]
fn a_table_of_products_twice_as_slow_doubles_the_products_of_a_step() {
    let mut run = example();
    let (shipped, step) = gemm_ns(&run);
    let measured = Measured::new(&all_gemms(2.0), "ours").unwrap();
    run.cluster.measured = Some(Arc::new(measured));
    let (ours, slower) = gemm_ns(&run);
    assert!((ours / shipped - 2.0).abs() < 1e-6, "{}", ours / shipped);
    assert!(slower > step);
    let coverage = Coverage::of(&run, &run.cluster.kernels(a100())).unwrap();
    for term in &coverage.terms {
        let all = term.term == Term::Gemm;
        assert_eq!(term.measured_ns, if all { term.ns } else { 0.0 }, "{term:?}");
        assert_eq!(term.not_measured.is_empty(), all, "{term:?}");
    }
}

#[test]
fn a_table_of_one_shape_changes_that_shape_alone_and_says_so() {
    let mut run = example();
    let shipped = run.cluster.kernels(a100());
    // The product behind the attention of a tensor rank of 8.
    let each = Gemm::new(2048, 12_288, 1536);
    let ns = 3.0 * shipped.gemm(&each).unwrap().ns;
    let call = Call::Gemm(ExpertGemm { experts: 1, each });
    let row = Timed { call, power: Power::Sustained, ns, spread: None, repeats: 1 };
    let calibration = Calibration { rows: vec![row], ..all_gemms(1.0) };
    run.cluster.measured = Some(Arc::new(Measured::new(&calibration, "one").unwrap()));
    let ours = run.cluster.kernels(a100());
    let ratio = |gemm: &Gemm| ours.gemm(gemm).unwrap().ns / shipped.gemm(gemm).unwrap().ns;
    assert!((ratio(&each) - 3.0).abs() < 1e-9);
    assert_eq!(ratio(&Gemm::new(2048, 12_288, 6144)), 1.0);
    let coverage = Coverage::of(&run, &ours).unwrap();
    let gemm = coverage.terms.iter().find(|term| term.term == Term::Gemm).unwrap();
    assert!(gemm.measured_ns > 0.0 && gemm.measured_ns < 0.2 * gemm.ns, "{gemm:?}");
    assert!(gemm.not_measured.contains(&"mlp up"), "{gemm:?}");
}

#[test]
fn the_sustained_factor_comes_from_calls_in_both_states_and_reaches_others() {
    let mut collector = Collector::new(a100());
    let burst = KernelTables::new(a100()).at(Power::Burst);
    for (log2, ratio) in [(10, 1.0), (11, 1.1), (12, 1.2), (13, 1.3)] {
        let each = Gemm::new(1 << log2, 1 << log2, 1 << log2);
        let ns = burst.gemm(&each).unwrap().ns;
        let call = Call::Gemm(ExpertGemm { experts: 1, each });
        for (power, ns) in [(Power::Burst, ns), (Power::Sustained, ns * ratio)] {
            collector.add(&Timed { call, power, ns, spread: None, repeats: 1 }).unwrap();
        }
    }
    let calibration = collector.finish();
    let sustained = calibration.sustained.clone().unwrap();
    assert_eq!(sustained.pairs, 4);
    let ratios: Vec<f64> = sustained.time_over_burst.iter().map(|(_, ratio)| *ratio).collect();
    assert_eq!(ratios.len(), 4);
    assert!(ratios.iter().zip([1.0, 1.1, 1.2, 1.3]).all(|(found, right)| (found - right).abs() < 1e-9));
    // Another product of the same work takes the factor, although it was measured in no state.
    let measured = Measured::new(&calibration, "ours").unwrap();
    let tables = measured.on(KernelTables::new(a100()));
    let other = Gemm::new(1 << 13, 1 << 11, 1 << 15);
    let ratio = tables.gemm(&other).unwrap().ns / burst.gemm(&other).unwrap().ns;
    assert!((ratio - 1.3).abs() < 0.01, "{ratio}");
}

#[test]
fn a_burst_row_is_taken_at_the_sustained_clock() {
    let b200 = Catalogue::built_in().find("B200").unwrap();
    let each = Gemm::new(8192, 8192, 8192);
    let burst = KernelTables::new(b200).at(Power::Burst).gemm(&each).unwrap().ns;
    let call = Call::Gemm(ExpertGemm { experts: 1, each });
    let row = Timed { call, power: Power::Burst, ns: 1.1 * burst, spread: None, repeats: 1 };
    let calibration = Calibration { device: "B200".to_owned(), rows: vec![row], ..all_gemms(1.0) };
    let tables = Measured::new(&calibration, "ours").unwrap().on(KernelTables::new(b200));
    let sustained = KernelTables::new(b200).gemm(&each).unwrap().ns;
    assert!((tables.gemm(&each).unwrap().ns / sustained - 1.1).abs() < 1e-9);
}

#[test]
fn measured_exchanges_rule_their_group_and_leave_others() {
    let mut run = example();
    let exchange = |ranks: &str, bytes: &str, us: &str| {
        row(&[
            ("kind", "all_reduce"),
            ("dtype", "bf16"),
            ("ranks", ranks),
            ("nodes", "1"),
            ("bytes", bytes),
            ("state", "burst"),
            ("time_us", us),
        ])
        .unwrap()
        .timed
    };
    let rows = vec![exchange("8", "16777216", "300"), exchange("8", "67108864", "900")];
    let calibration = Calibration { rows, ..all_gemms(1.0) };
    run.cluster.measured = Some(Arc::new(Measured::new(&calibration, "ours").unwrap()));
    let time = |operation, size, bytes| {
        let shape = crate::collective::GroupShape::strided(&run.cluster, size, 1);
        let all = crate::collective::Collectives::new(&run.cluster);
        all.prepare(operation, shape, 2).time(bytes).estimate
    };
    let between = time(Operation::AllReduce, 8, 33_554_432.0);
    assert!((between.ns - (300e3f64 * 900e3).sqrt()).abs() < 1.0);
    assert_eq!(between.basis, Basis::UserTable);
    assert_eq!(time(Operation::AllReduce, 8, 1e9).basis, Basis::Extrapolated);
    assert_eq!(time(Operation::AllReduce, 4, 33_554_432.0).basis, Basis::Table);
    assert_eq!(time(Operation::AllGather, 8, 33_554_432.0).basis, Basis::Table);
}

#[test]
fn a_measured_host_replaces_its_direction() {
    let host = row(&[
        ("kind", "host"),
        ("kernel", "eager"),
        ("pass", "backward"),
        ("state", "burst"),
        ("time_us", "5.5"),
    ]);
    let calibration = Calibration { rows: vec![host.unwrap().timed], ..all_gemms(1.0) };
    let measured = Measured::new(&calibration, "ours").unwrap();
    let shipped = HostCost::of(Dispatch::Eager);
    let ours = measured.host(Dispatch::Eager, shipped);
    assert_eq!((ours.launch_us, ours.backward_launch_us), (shipped.launch_us, 5.5));
    assert_eq!(measured.host(Dispatch::Graph, shipped), shipped);
}

fn written(calibration: &Calibration) -> String {
    let mut file = Vec::new();
    calibration.write(&mut file).unwrap();
    String::from_utf8(file).unwrap()
}

#[test]
fn a_file_comes_back_as_it_was_written() {
    let mut calibration = all_gemms(1.25);
    calibration.rows.truncate(50);
    calibration.rows.sort_by_key(|row| row.call);
    calibration.sustained =
        Some(Sustained { time_over_burst: vec![(0.1, 1.0), (1.0, 1.2)], deviation: 0.03, pairs: 9 });
    let text = written(&calibration);
    let read = Calibration::read("ours", &text).unwrap();
    assert_eq!(read.software, calibration.software);
    assert_eq!(read.sustained, calibration.sustained);
    assert_eq!(read.rows.len(), 50);
    for (one, other) in read.rows.iter().zip(&calibration.rows) {
        assert_eq!(one.call, other.call);
        assert!((one.ns / other.ns - 1.0).abs() < 1e-6);
    }
    // Once written, every byte stays.
    assert_eq!(written(&read), text);
}

#[rstest]
#[case("kind,dtype\n", "first line")]
#[case("---\nschema: goodput.measured-tables/1\n", "no end")]
#[case("---\nschema: goodput.measured-tables/9\ndevice: B200\n---\n", "schema")]
#[case("---\nschema: goodput.measured-tables/1\ndevice: Falcon\n---\nkind,state,time_us\n", "Falcon")]
#[case("---\nschema: goodput.measured-tables/1\ndevice: B200\nowner: me\n---\nkind,state,time_us\n", "owner")]
#[case("---\nschema: goodput.measured-tables/1\ndevice: B200\n---\nkind,state\n", "time_us")]
#[case("---\nschema: goodput.measured-tables/1\ndevice: B200\n---\nkind,state,time_us\ncopy,burst\n", ":6")]
#[case(
    "---\nschema: goodput.measured-tables/1\ndevice: B200\n---\nkind,state,time_us\ncopy,burst,1\n",
    ":6, field bytes"
)]
#[case(
    "---\nschema: goodput.measured-tables/1\ndevice: B200\nsustained: {time_over_burst: [[1, 0]], deviation: 0.1, pairs: 1}\n---\n\
     kind,state,time_us\n",
    "sustained"
)]
fn a_damaged_file_is_refused_with_its_place(#[case] text: &str, #[case] says: &str) {
    let message = Calibration::read("ours", text).unwrap_err().to_string();
    assert!(message.contains(says), "{message}");
}

proptest! {
    /// What is written of any call is read as that call.
    #[test]
    fn every_call_is_its_cells(
        kind in 0usize..6,
        lengths in prop::array::uniform3(1u64..1 << 20),
        few in prop::array::uniform3(1u64..64),
        us in 0.001f64..1e8,
        sustained in any::<bool>(),
    ) {
        let [a, b, c] = lengths;
        let mut cells = vec![("state", if sustained { "sustained" } else { "burst" }.to_owned()), ("time_us", us.to_string())];
        let mut set = |pairs: &[(&'static str, String)]| cells.extend_from_slice(pairs);
        let text = |value: u64| value.to_string();
        match kind {
            0 => set(&[("kind", "gemm".into()), ("dtype", "fp8_block".into()), ("cast", "no".into()), ("pass", "wgrad".into()),
                ("accumulate", "fp32".into()), ("m", text(a)), ("n", text(b)), ("k", text(c))]),
            1 => set(&[("kind", "grouped_gemm".into()), ("dtype", "bf16".into()), ("pass", "dgrad".into()), ("m", text(a)),
                ("n", text(b)), ("k", text(c)), ("experts", text(few[0]))]),
            2 => set(&[("kind", "attention".into()), ("dtype", "bf16".into()), ("pass", "backward".into()), ("mask", "window:128".into()),
                ("kernel", "flash3".into()), ("batch", text(few[0])), ("heads", text(few[1] * few[2])), ("kv_heads", text(few[1])),
                ("queries", text(a)), ("keys", text(a)), ("head_dim", text(c))]),
            3 => set(&[("kind", "cross_entropy".into()), ("dtype", "bf16".into()), ("pass", "forward".into()), ("kernel", "joined".into()),
                ("values", text(a))]),
            4 => set(&[("kind", "all_to_all".into()), ("dtype", "fp8".into()), ("ranks", text(few[0] * 2)), ("nodes", text(few[0])),
                ("bytes", text(a))]),
            _ => set(&[("kind", "host".into()), ("kernel", "graph".into()), ("pass", "forward".into())]),
        }
        let cells: Vec<(&str, &str)> = cells.iter().map(|(name, cell)| (*name, cell.as_str())).collect();
        let timed = row(&cells).unwrap().timed;
        let again = write::cells(&timed);
        let again: Vec<(&str, &str)> = COLUMNS.into_iter().zip(again.iter().map(String::as_str)).collect();
        let back = row(&again).unwrap().timed;
        prop_assert_eq!(back.call, timed.call);
        prop_assert_eq!(back.power, timed.power);
        prop_assert!((back.ns / timed.ns - 1.0).abs() < 1e-4, "{} {}", back.ns, timed.ns);
    }
}
