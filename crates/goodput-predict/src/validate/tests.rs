//! Small files with answers worked out by hand.

#![allow(clippy::unwrap_used, reason = "a test stops at what must not be")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::cluster::Clusters;
use crate::kernel::{Dispatch, Format};
use crate::run::{ContextMethod, Recompute, Schedule, Sharding};

const PLAIN: [(&str, &str); 25] = [
    ("id", "ours-1"),
    ("source_key", "ours"),
    ("software", "v1"),
    ("model", "8B"),
    ("n_layers", "32"),
    ("hidden", "4096"),
    ("n_heads", "32"),
    ("n_kv_heads", "8"),
    ("head_dim", "128"),
    ("ffn_hidden", "14336"),
    ("ffn_type", "swiglu"),
    ("vocab", "128256"),
    ("tied_embeddings", "no"),
    ("seq_len", "8192"),
    ("device_class", "h100"),
    ("n_devices", "8"),
    ("tp", "1"),
    ("pp", "1"),
    ("dp", "8"),
    ("zero_or_sharding", "ZeRO-1"),
    ("mbs", "1"),
    ("gbs", "64"),
    ("precision_class", "bf16"),
    ("recompute", "none"),
    ("step_time_s", "2.0"),
];

fn csv(rows: &[&[(&str, &str)]]) -> String {
    let mut columns: Vec<&str> = PLAIN.iter().map(|(column, _)| *column).collect();
    for (column, _) in rows.iter().flat_map(|changes| changes.iter()) {
        if !columns.contains(column) {
            columns.push(column);
        }
    }
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(&columns).unwrap();
    for (index, changes) in rows.iter().enumerate() {
        let mut row: BTreeMap<&str, &str> = PLAIN.into();
        let id = format!("{}-{index}", row["id"]);
        if index > 0 {
            row.insert("id", &id);
        }
        row.extend(changes.iter().copied());
        writer.write_record(columns.iter().map(|column| row.get(column).copied().unwrap_or(""))).unwrap();
    }
    String::from_utf8(writer.into_inner().unwrap()).unwrap()
}

fn try_rows(rows: &[&[(&str, &str)]]) -> Vec<Result<RunRow, Refusal>> {
    read("test.csv", csv(rows).as_bytes(), Rules::built_in(), Clusters::built_in()).unwrap()
}

fn rows(rows: &[&[(&str, &str)]]) -> Vec<RunRow> {
    try_rows(rows).into_iter().map(Result::unwrap).collect()
}

#[test]
fn a_plain_row_is_a_run_and_says_what_it_assumed() {
    let row = rows(&[&[]]).remove(0);
    let layout = &row.run.layout;
    assert_eq!((layout.tensor, layout.context, layout.pipeline, layout.data), (1, 1, 1, 8));
    assert_eq!((layout.sharding, row.run.recompute), (Sharding::Optimizer, Recompute::None));
    assert_eq!(row.run.architecture.parameters().unwrap().total, 8_030_261_248);
    assert_eq!((row.run.cluster.name.as_str(), row.device.as_str()), ("DGX H100", "H100 SXM5"));
    assert_eq!((row.measured.step_ns, row.measured.from), (2_000_000_000, StepTimeSource::StepTime));
    let assumed: Vec<&str> = row.assumed.iter().map(|known| known.column.as_str()).collect();
    assert!(
        assumed.contains(&"cluster") && assumed.contains(&"profile") && !assumed.contains(&"tp"),
        "{assumed:?}"
    );
}

#[test]
fn words_of_a_row_become_the_run() {
    let found = rows(&[
        &[("tp", "2"), ("sp", "yes"), ("pp", "4"), ("dp", "1"), ("vpp", "4"), ("zero_or_sharding", "")],
        &[("cp", "4"), ("dp", ""), ("cp_method", "ulysses"), ("zero_or_sharding", "FULL_SHARD")],
        &[("precision_class", "mxfp8"), ("device_class", "b200"), ("cuda_graph", "full_iteration scope=")],
        &[("zero_or_sharding", "SHARD_GRAD_OP"), ("recompute", "full (activation_checkpointing=True)")],
        &[
            ("step_time_s", ""),
            ("tokens_per_s_per_device", "32768"),
            ("mfu_pct", "41.5"),
            ("memory_gib", "2"),
        ],
        &[("pp", "8"), ("dp", "1"), ("schedule", "zb-1p"), ("zero_or_sharding", "none")],
    ]);
    assert_eq!(found[0].run.layout.schedule, Schedule::Interleaved { parts: 4 });
    assert!(found[0].run.layout.sequence_parallel && found[0].run.layout.sharding == Sharding::None);
    assert_eq!((found[1].run.layout.data, found[1].run.layout.context_method), (2, ContextMethod::Ulysses));
    assert_eq!(found[1].run.layout.sharding, Sharding::Parameters { reshard_after_forward: true });
    assert_eq!(found[2].run.precision.products, Format::Fp8);
    assert_eq!(found[2].run.framework.dispatch, Dispatch::Graph);
    assert_eq!(found[3].run.layout.sharding, Sharding::Parameters { reshard_after_forward: false });
    assert_eq!(found[3].run.recompute, Recompute::Full);
    // 64 x 8192 tokens / (32768 x 8 tokens/s).
    assert_eq!(found[4].measured.step_ns, 2_000_000_000);
    assert_eq!((found[4].measured.mfu, found[4].measured.memory_bytes), (Some(0.415), Some(2_147_483_648.0)));
    assert_eq!(found[5].run.layout.schedule, Schedule::ZeroBubbleH1);
}

#[rstest::rstest]
#[case("n_layers", "", "n_layers")]
#[case("ffn_type", "per base.yml", "ffn_type")]
#[case("dp", "16", "tp, cp, pp, dp")]
#[case("tp", "", "cp")]
#[case("gbs", "60", "gbs")]
#[case("grad_accum", "9", "grad_accum")]
#[case("task", "lora", "task")]
#[case("completeness", "partial", "completeness")]
#[case("precision_class", "int8", "precision_class")]
#[case("recompute", "", "recompute")]
#[case("step_time_s", "", "step_time_s")]
#[case("step_time_s", "-1", "step_time_s")]
#[case("step_time_s", "1e-300", "step_time_s")]
#[case("step_time_s", "1e300", "step_time_s")]
#[case("zero_or_sharding", "", "zero_or_sharding")]
#[case("device_class", "gaudi2", "cluster")]
#[case("cluster", "DGX A100", "device_class")]
#[case("devices_per_node", "4", "devices_per_node")]
#[case("n_kv_heads", "7", "model")]
#[case("attn_type", "mla", "arch_note")]
#[case("profile", "jax", "profile")]
#[case("moe_experts", "8", "ep")]
fn a_row_that_is_no_run_names_its_column(#[case] column: &str, #[case] value: &str, #[case] named: &str) {
    let refusal = try_rows(&[&[(column, value), ("cp", "")]]).remove(0).unwrap_err();
    assert_eq!((refusal.field, refusal.id.as_str(), refusal.line), (named, "ours-1", 2), "{refusal}");
}

#[test]
fn a_throughput_of_no_possible_step_is_refused() {
    let refusal = try_rows(&[&[("step_time_s", ""), ("tokens_per_s", "1e300")]]).remove(0).unwrap_err();
    assert_eq!(refusal.field, "tokens_per_s", "{refusal}");
}

/// Whatever ends a line, and where a cell holds one.
#[test]
fn a_refused_row_is_named_by_its_line() {
    let text = csv(&[&[("n_layers", "0"), ("model", "two\nlines")], &[("n_layers", "0")]]);
    let windows = text.replace('\n', "\r\n").replace("two\r\nlines", "two\nlines");
    for text in [&text, &windows, &format!("\u{feff}{windows}")] {
        let rows = read("test.csv", text.as_bytes(), Rules::built_in(), Clusters::built_in()).unwrap();
        let lines: Vec<u64> = rows.into_iter().map(|row| row.unwrap_err().line).collect();
        assert_eq!(lines, [2, 4], "{text:?}");
    }
}

#[test]
fn a_kernel_that_the_device_lacks_is_refused_where_the_row_states_it() {
    let read = try_rows(&[&[("attention_kernel", "flash4")], &[("attention_kernel", "flash2")]]);
    assert_eq!(read[0].as_ref().unwrap_err().field, "attention_kernel");
    assert!(read[1].is_ok());
}

#[test]
fn a_row_with_the_id_of_one_above_is_refused_with_both_lines() {
    let same: &[(&str, &str)] = &[("id", "run-1")];
    let read = try_rows(&[same, &[("id", "run-2")], same]);
    assert!(read[0].is_ok() && read[1].is_ok());
    let refusal = read[2].as_ref().unwrap_err();
    assert_eq!((refusal.line, refusal.field), (4, "id"));
    assert!(refusal.to_string().contains("line 2 has it too"), "{refusal}");
    // One that could not be used takes no id.
    assert!(try_rows(&[&[("id", "run-1"), ("n_layers", "0")], same])[1].is_ok());
}

#[test]
fn a_file_of_something_else_is_refused_as_a_whole() {
    let error = read("x.csv", "a,b\n1,2\n".as_bytes(), Rules::built_in(), Clusters::built_in()).unwrap_err();
    assert!(error.to_string().contains("x.csv") && error.to_string().contains("`id`"), "{error}");
    let ragged = read("x.csv", "id,n_devices,gbs\n1\n".as_bytes(), Rules::built_in(), Clusters::built_in());
    assert!(ragged.unwrap_err().to_string().contains("x.csv"));
}

fn step(step_ns: f64) -> Predicted {
    Predicted { step_ns, host: HostResponse::none(step_ns), memory_bytes: None, terms: None }
}

/// Predictions in the rows' order, in seconds.
fn evaluated<'a>(rows: &'a [RunRow], seconds: &[f64]) -> Evaluation<'a> {
    assert_eq!(rows.len(), seconds.len());
    let outcomes = rows.iter().zip(seconds);
    Evaluation {
        outcomes: outcomes.map(|(row, seconds)| Outcome { row, predicted: step(seconds * 1e9) }).collect(),
        failures: Vec::new(),
    }
}

#[test]
fn groups_failures_and_the_mean_of_sources() {
    let rows = rows(&[
        &[("id", "a"), ("source_key", "one"), ("memory_gib", "24")],
        &[("id", "b"), ("source_key", "one"), ("dp", "4"), ("tp", "2"), ("sp", "no")],
        &[("id", "c"), ("source_key", "two"), ("recompute", "full")],
    ]);
    let evaluation = evaluate_with(
        &rows,
        || (),
        |(), run| match run.layout.tensor {
            2 => Err("no"),
            _ if run.recompute == Recompute::Full => Ok(step(2.6e9)),
            _ => Ok(Predicted { memory_bytes: Some(30e9), ..step(1.8e9) }),
        },
    );
    assert_eq!((evaluation.outcomes.len(), evaluation.failures[0].row.id.as_str()), (2, "b"));
    assert_eq!(evaluation.failures[0].reason, "no");
    let report = evaluation.report().unwrap();
    assert!((report.all.mape - 0.2).abs() < 1e-12 && (report.all.bias - 0.1).abs() < 1e-12);
    assert!((report.sources_mean - 0.2).abs() < 1e-12);
    assert!((report.by[&Dimension::Source]["one"].bias + 0.1).abs() < 1e-12);
    assert_eq!(report.by[&Dimension::Tp].keys().collect::<Vec<_>>(), ["1"]);
    assert_eq!(report.by[&Dimension::Size]["1B to 10B"].rows, 2);
    assert!((report.memory["one"].bias - (30e9 / 24.0 / 1_073_741_824.0 - 1.0)).abs() < 1e-12);
    assert_eq!(report.memory.len(), 1);
    let json = serde_json::to_value(&report).unwrap();
    assert!(json["mape"].is_number() && json["by"]["source"]["two"]["median_ape"].is_number(), "{json}");
    // What gives no time is no prediction.
    assert_eq!(evaluate_with(&rows, || (), |(), _| Ok::<_, String>(step(f64::NAN))).report(), None);
}

#[test]
fn ranking_by_hand() {
    let tensor = |tp: &'static str, dp: &'static str, time: &'static str| {
        [("tp", tp), ("dp", dp), ("sp", "no"), ("step_time_s", time), ("id", tp)]
    };
    let (a, b, c) = (tensor("1", "8", "2.0"), tensor("2", "4", "1.0"), tensor("4", "2", "1.5"));
    let other = [("gbs", "128"), ("id", "z")];
    let rows = rows(&[&a, &b, &c, &other]);
    // Order of measurement: 2, 4, 1; of prediction: 4, 2, 1.
    let ranking = evaluated(&rows, &[3.0, 1.2, 1.1, 9.0]).report().unwrap().ranking;
    assert_eq!((ranking.groups, ranking.correlated_groups, ranking.each[0].rows), (1, 1, 3));
    assert!((ranking.spearman.unwrap() - 0.5).abs() < 1e-12);
    assert!((ranking.mean_regret.unwrap() - 0.5).abs() < 1e-12);
    assert_eq!((ranking.each[0].picked.as_str(), ranking.each[0].best.as_str()), ("4", "2"));
}

#[test]
fn factors_are_fitted_on_one_half_and_tested_on_the_other() {
    let ids: Vec<String> = (0..40).map(|number| format!("row-{number}")).collect();
    let changes: Vec<[(&str, &str); 1]> = ids.iter().map(|id| [("id", id.as_str())]).collect();
    let mut changes: Vec<&[(&str, &str)]> = changes.iter().map(|change| &change[..]).collect();
    let alone = [("id", "row-other"), ("software", "v2")];
    changes.push(&alone);
    let rows = rows(&changes);
    let (fitting, test) = evaluated(&rows, &[1.6; 41]).halves();
    let calibration = Calibration::fit(&fitting);
    // 2.0 / 1.6; one row of v2 makes no factor.
    assert_eq!(calibration.factors.len(), 1);
    let factor = &calibration.factors[0];
    assert!((factor.times.device_time - 1.25).abs() < 1e-12);
    assert_eq!((factor.times.host_time, factor.rows_that_feel_the_host), (1.0, 0));
    assert_eq!((factor.device.as_str(), factor.software.as_str()), ("H100 SXM5", "v1"));
    let tested = test.calibrated(&calibration);
    assert!(tested.report().unwrap().all.mape < 1e-12);
    assert!((test.uncalibrated().report().unwrap().all.mape - 0.2).abs() < 1e-12);
    assert!(tested.outcomes.len() > 10 && factor.rows.len() > 10);
    assert!(tested.outcomes.iter().all(|outcome| !factor.rows.contains(&outcome.row.id)));
}

/// Half the rows are bound by the host alone, half by the device alone: each tells its own factor.
#[test]
fn the_host_and_the_devices_have_factors_of_their_own() {
    let ids: Vec<String> = (0..80).map(|number| format!("row-{number}")).collect();
    let changes: Vec<[(&str, &str); 1]> = ids.iter().map(|id| [("id", id.as_str())]).collect();
    let rows = rows(&changes.iter().map(|change| &change[..]).collect::<Vec<_>>());
    let mut evaluation = evaluated(&rows, &[1.6; 80]);
    for outcome in evaluation.outcomes.iter_mut().step_by(2) {
        // Measured: 2.0 s. The host's half takes 1.0 s as predicted, the devices' 1.6 s.
        outcome.predicted.step_ns = 1e9;
        outcome.predicted.host =
            HostResponse::new(HostResponse::FACTORS.map(|factor| 0.8e9_f64.max(1e9 * factor)));
    }
    let (fitting, test) = evaluation.halves();
    let calibration = Calibration::fit(&fitting);
    let times = calibration.factors[0].times;
    assert!((times.device_time - 1.25).abs() < 0.02 && (times.host_time - 2.0).abs() < 0.02, "{times:?}");
    assert!(test.calibrated(&calibration).report().unwrap().all.mape < 0.01);
    let text = serde_json::to_string(&calibration).unwrap();
    assert_eq!(serde_json::from_str::<Calibration>(&text).unwrap(), calibration);
}

#[test]
fn what_became_worse_is_found_and_what_became_better_is_not() {
    let rows = rows(&[&[("id", "a")], &[("id", "b")]]);
    let report = |first, second| evaluated(&rows, &[first, second]).report().unwrap();
    let recorded = Regression::record(&report(2.1, 2.1), 0.005);
    let recorded = Regression::from_json("errors.json", &recorded.to_json().unwrap()).unwrap();
    assert_eq!(recorded.sources["ours"].mape, 0.05);
    assert_eq!(recorded.check(&report(2.1, 2.1)), []);
    assert_eq!(recorded.check(&report(2.0, 2.109)), []);
    let worse = recorded.check(&report(2.1, 2.14));
    assert_eq!(worse.len(), 3, "{worse:?}");
    assert!(worse[0].to_string().starts_with("ours: mape is 0.0600, was 0.0500"), "{}", worse[0]);
    let fewer = evaluated(&rows[..1], &[2.1]).report().unwrap();
    assert_eq!(recorded.check(&fewer).len(), 1);
    assert!(Regression::from_json("errors.json", "{}").unwrap_err().to_string().contains("errors.json"));
}

proptest! {
    /// Whatever stands in a column: a run, or a refusal.
    #[test]
    fn no_text_makes_a_reader_panic(
        column in proptest::sample::select(PLAIN.map(|(column, _)| column).to_vec()),
        other in proptest::sample::select(vec!["vpp", "cp", "ep", "etp", "moe_experts", "grad_accum", "arch_note", "first_stage_fewer"]),
        value in "[0-9]{1,12}|-?[0-9]\\.[0-9]|.{0,12}",
        second in "[0-9]{1,11}|.{0,5}",
    ) {
        let _ = try_rows(&[&[(column, &value), (other, &second)]]);
    }
}
