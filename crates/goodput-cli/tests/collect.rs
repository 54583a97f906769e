//! `goodput validate collect`, as a person runs it: stores, logs and traces -> RUNS.csv -> errors.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// What Megatron-LM logs of an 8B model on 64 devices.
const PARAMS: [(&str, &str); 35] = [
    ("num_layers", "32"),
    ("hidden_size", "4096"),
    ("num_attention_heads", "32"),
    ("group_query_attention", "True"),
    ("num_query_groups", "8"),
    ("kv_channels", "128"),
    ("ffn_hidden_size", "14336"),
    ("swiglu", "True"),
    ("padded_vocab_size", "128256"),
    ("untie_embeddings_and_output_weights", "True"),
    ("normalization", "RMSNorm"),
    ("position_embedding_type", "rope"),
    ("add_bias_linear", "False"),
    ("num_experts", "None"),
    ("seq_length", "8192"),
    ("world_size", "64"),
    ("tensor_model_parallel_size", "4"),
    ("sequence_parallel", "True"),
    ("context_parallel_size", "1"),
    ("pipeline_model_parallel_size", "2"),
    ("virtual_pipeline_model_parallel_size", "None"),
    ("data_parallel_size", "8"),
    ("use_distributed_optimizer", "True"),
    ("micro_batch_size", "1"),
    ("global_batch_size", "256"),
    ("bf16", "True"),
    ("fp16", "False"),
    ("fp8", "None"),
    ("recompute_granularity", "None"),
    ("overlap_grad_reduce", "True"),
    ("overlap_param_gather", "True"),
    ("hidden_dropout", "0.0"),
    ("attention_dropout", "0.0"),
    ("accumulate_allreduce_grads_in_fp32", "True"),
    ("optimizer", "adam"),
];

struct Store(TempDir);

impl Store {
    fn new() -> Self {
        let store = Self(tempfile::tempdir().unwrap());
        store.write("1/meta.yaml", "experiment_id: '1'\nlifecycle_stage: active\nname: pretrain-8b\n");
        store
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("mlruns")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A run with its parameters and the history of one metric.
    fn run(&self, id: &str, status: u8, params: &[(&str, &str)], metric: &str, lines: &str) {
        let meta = format!("lifecycle_stage: active\nrun_id: {id}\nrun_name: {id}\nstatus: {status}\n");
        self.write(&format!("1/{id}/meta.yaml"), &meta);
        for (name, value) in params {
            self.write(&format!("1/{id}/params/{name}"), value);
        }
        self.write(&format!("1/{id}/metrics/{metric}"), lines);
    }

    fn collect(&self, options: &[&str]) -> (Output, Value, String) {
        collect(self.0.path(), &["mlruns"], options)
    }
}

fn collect(folder: &Path, sources: &[&str], options: &[&str]) -> (Output, Value, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodput"));
    command.current_dir(folder).args(["validate", "collect"]).args(sources);
    let to: &[&str] = if options.contains(&"-o") { &[] } else { &["-o", "runs.csv"] };
    let output = command.args(to).args(["--format", "json"]).args(options).output().unwrap();
    let view = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    if !view.is_null() {
        let schema = include_str!("../../../schemas/collect.schema.json");
        let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
        let errors: Vec<_> =
            validator.iter_errors(&view).map(|e| format!("{}: {e}", e.instance_path())).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    (output, view, fs::read_to_string(folder.join("runs.csv")).unwrap_or_default())
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A warm-up step, then steady ones.
fn steps(of: f64) -> String {
    (0..24).fold(String::new(), |mut lines, step: i32| {
        let value = if step == 0 { 3.0 * of } else { of + 0.001 * f64::from(step % 5 - 2) };
        writeln!(lines, "{} {value} {step}", 1_760_000_000_000_i64 + i64::from(step) * 12_000).unwrap();
        lines
    })
}

fn with(changes: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let mut params: Vec<_> =
        PARAMS.into_iter().filter(|(name, _)| !changes.iter().any(|(other, _)| other == name)).collect();
    params.extend(changes.iter().filter(|(_, value)| !value.is_empty()));
    params
}

fn lacks(view: &Value) -> Vec<String> {
    let missing = view["rows"][0]["missing"].as_array().unwrap();
    missing.iter().map(|missing| missing["column"].as_str().unwrap().to_owned()).collect()
}

fn validated(folder: &Path) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodput"));
    let output =
        command.current_dir(folder).args(["validate", "runs.csv", "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", message(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_store_becomes_rows_that_are_predicted() {
    let store = Store::new();
    store.run("megatron", 3, &PARAMS, "perf/step_time_ms", &steps(12_000.0));
    // A failed run has measured steps too; its attempt warms up anew after step 20.
    let resumed = steps(12.1) + "1760001000000 40 20\n1760001012000 12.1 21\n1760001024000 nan 22\n";
    store.run("failed", 4, &PARAMS, "iteration-time", &resumed);
    let (output, view, csv) = store.collect(&["--cluster", "DGX H100", "--strict"]);
    assert_eq!(output.status.code(), Some(0), "{} {view:#}", message(&output));
    assert_eq!((&view["complete"], &view["partial"]), (&2.into(), &0.into()));
    let rows = view["rows"].as_array().unwrap();
    let row = |id| rows.iter().find(|row| row["id"] == id).unwrap();
    assert_eq!((&row("megatron")["value"], &row("megatron")["steps"]), (&12.0.into(), &23.into()));
    assert_eq!((&row("failed")["value"], &row("failed")["steps"]), (&12.1.into(), &24.into()));
    assert!(csv.contains("the run is failed"), "{csv}");
    let errors = validated(store.0.path());
    assert_eq!((&errors["runs"], &errors["rows"][0]["source"]), (&2.into(), &"pretrain-8b".into()));
}

#[test]
fn a_database_and_a_rest_export_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mlflow/mlflow.db.gz");
    let mut database = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(data).unwrap()).read_to_end(&mut database).unwrap();
    fs::write(folder.path().join("mlflow.db"), database).unwrap();
    let (output, view, csv) = collect(folder.path(), &["mlflow.db"], &["--cluster", "DGX H100"]);
    assert!(output.status.success(), "{}", message(&output));
    let ids: Vec<_> = view["rows"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
    assert_eq!(view["complete"], 2, "{view:#}");
    assert!(ids.contains(&"megatron-8b".into()) && ids.contains(&"nemo-8b".into()), "{ids:?}");
    // NeMo's run logs no vocabulary.
    let nemo = view["rows"].as_array().unwrap().iter().find(|row| row["id"] == "nemo-8b").unwrap();
    let names: Vec<_> = nemo["missing"].as_array().unwrap().iter().map(|m| m["column"].clone()).collect();
    assert_eq!(names, ["vocab"], "{csv}");

    let params: Vec<_> =
        PARAMS.iter().map(|(key, value)| serde_json::json!({"key": key, "value": value})).collect();
    let history: Vec<_> = (0..10)
        .map(|step| serde_json::json!({"key": "step_time_s", "value": 12.0, "timestamp": "1760000000000", "step": step.to_string()}))
        .collect();
    let run = serde_json::json!({"run": {"info": {"run_id": "abc", "run_name": "rest", "status": "FINISHED", "experiment_id": "1"},
        "data": {"params": params, "metrics": [{"key": "step_time_s", "value": 12.0, "timestamp": 1, "step": 9}]}}});
    fs::write(folder.path().join("run.json"), run.to_string()).unwrap();
    let (_, view, _) = collect(folder.path(), &["run.json"], &["--cluster", "DGX H100"]);
    assert_eq!(lacks(&view), ["step_time_s"]);
    assert!(view["rows"][0]["missing"][0]["found"].as_str().unwrap().contains("get-history"), "{view:#}");
    let both = format!("{run}\n{}", serde_json::json!({"metrics": history}));
    fs::write(folder.path().join("run.json"), both).unwrap();
    let (_, view, _) = collect(folder.path(), &["run.json"], &["--cluster", "DGX H100"]);
    assert_eq!((&view["complete"], &view["rows"][0]["steps"]), (&1.into(), &10.into()), "{view:#}");
}

#[test]
fn what_nothing_states_is_named_with_what_fills_it() {
    let store = Store::new();
    let changes =
        [("pipeline_model_parallel_size", ""), ("data_parallel_size", ""), ("recompute_granularity", "")];
    store.run("run", 3, &with(&changes), "step_time_s", &steps(12.0));
    let (output, view, csv) = store.collect(&["--strict"]);
    assert_eq!(output.status.code(), Some(1), "{}", message(&output));
    assert_eq!(lacks(&view), ["pp", "recompute", "cluster"]);
    assert!(csv.contains("partial") && csv.contains("pp recompute cluster"), "{csv}");
    // The row is refused until it is filled, and a map fills it.
    fs::write(store.0.path().join("map.yaml"), "set: {pp: 2, recompute: none, cluster: DGX H100}\n").unwrap();
    let (output, view, _) = store.collect(&["--map", "map.yaml", "--strict"]);
    assert_eq!(output.status.code(), Some(0), "{} {view:#}", message(&output));
    assert_eq!(validated(store.0.path())["runs"], 1);
}

#[test]
fn a_step_time_without_a_unit_is_refused_by_name_and_a_map_states_it() {
    let store = Store::new();
    store.run("run", 3, &PARAMS, "perf/step_time", &steps(12_000.0));
    let (_, view, _) = store.collect(&["--cluster", "DGX H100"]);
    assert_eq!(lacks(&view), ["step_time_s"]);
    assert!(view["rows"][0]["missing"][0]["found"].as_str().unwrap().contains("perf/step_time: its unit"));
    fs::write(store.0.path().join("map.yaml"), "step_time: {metric: perf/step_time, unit: ms}\n").unwrap();
    let (_, view, _) = store.collect(&["--cluster", "DGX H100", "--map", "map.yaml"]);
    assert_eq!((&view["complete"], &view["rows"][0]["value"]), (&1.into(), &12.0.into()));
}

#[test]
fn two_values_for_one_column_refuse_the_run() {
    let store = Store::new();
    store.run("good", 3, &PARAMS, "step_time_s", &steps(12.0));
    store.run("twice", 3, &with(&[("trainer.tensor_parallel_size", "8")]), "step_time_s", &steps(12.0));
    store.run("model", 3, &with(&[("hidden_size", "5120")]), "step_time_s", &steps(12.0));
    let (output, view, csv) = store.collect(&["--cluster", "DGX H100", "--model", "llama3.1-8b", "--strict"]);
    assert_eq!(output.status.code(), Some(1), "{}", message(&output));
    let refused = view["refused"].as_array().unwrap();
    let of = |id| refused.iter().find(|run| run["id"] == id).unwrap();
    assert_eq!(of("twice")["column"], "tp");
    let said = of("twice")["values"].to_string();
    assert!(said.contains("tensor_model_parallel_size") && said.contains("\"8\""), "{said}");
    assert_eq!(of("model")["column"], "hidden");
    assert_eq!((view["rows"].as_array().unwrap().len(), csv.lines().count()), (1, 2));
}

#[test]
fn broken_lines_and_files_are_counted_and_located() {
    let store = Store::new();
    let lines = steps(12.0) + "no number at all\n1760001000000 12 x\n";
    store.run("run", 3, &PARAMS, "step_time_s", &lines);
    store.write("1/broken/meta.yaml", "status: [\n");
    store.write("1/broken/params/a", "1");
    let (output, view, _) = store.collect(&["--cluster", "DGX H100", "--strict"]);
    assert_eq!(output.status.code(), Some(1), "{}", message(&output));
    let findings = view["read_report"].to_string();
    assert!(findings.contains("bad_metric_line") && findings.contains("bad_meta"), "{findings}");
    assert_eq!(view["rows"][0]["steps"], 23);
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_of_the_store_are_refused() {
    let store = Store::new();
    store.run("run", 3, &with(&[("world_size", "")]), "step_time_s", &steps(12.0));
    let secret = store.0.path().join("secret");
    fs::write(&secret, "64").unwrap();
    std::os::unix::fs::symlink(&secret, store.path().join("1/run/params/world_size")).unwrap();
    std::os::unix::fs::symlink("/", store.path().join("1/run/metrics/root")).unwrap();
    let (_, view, _) = store.collect(&["--cluster", "DGX H100"]);
    assert!(lacks(&view).contains(&"n_devices".to_owned()), "{view:#}");
    assert!(view["read_report"].to_string().contains("link_out"));
}

#[test]
fn an_empty_store_and_a_store_as_output_are_refused() {
    let store = Store::new();
    let (output, ..) = store.collect(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("holds no run"), "{}", message(&output));
    let (output, ..) = collect(store.0.path(), &["nowhere"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("nowhere"), "{}", message(&output));
    store.run("run", 3, &PARAMS, "step_time_s", &steps(12.0));
    let (output, ..) = collect(store.0.path(), &["mlruns"], &["-o", "mlruns/runs.csv"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(message(&output).contains("among the sources"), "{}", message(&output));
}

#[test]
fn a_megatron_log_gives_arguments_and_steps() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = "using world size: 64, data-parallel-size: 8\n------------------------ arguments ------------------------\n".to_owned();
    for (name, value) in PARAMS {
        writeln!(log, "  {name} {} {value}", ".".repeat(48 - name.len())).unwrap();
    }
    for step in 1..30 {
        let elapsed = if step == 1 { 30_000.0 } else { 12_000.0 + f64::from(step % 5) };
        let (minute, second) = (step * 12 / 60, step * 12 % 60);
        writeln!(log, " [2026-01-01 00:{minute:02}:{second:02}] iteration {step:8}/ 100 | consumed samples: {:12} | elapsed time per iteration (ms): {elapsed:.1} | learning rate: 1.0E-04 | global batch size: 256 | lm loss: 1.0E+01 | loss scale: 1.0 | grad norm: 1.0 | number of skipped iterations: 0 | number of nan iterations: 0 |", step * 256).unwrap();
    }
    fs::write(folder.path().join("train.log"), log).unwrap();
    let (output, view, csv) = collect(folder.path(), &["train.log"], &["--cluster", "DGX H100"]);
    assert!(output.status.success(), "{}", message(&output));
    assert_eq!(view["complete"], 1, "{view:#} {csv}");
    let value = view["rows"][0]["value"].as_f64().unwrap();
    assert!((value - 12.002).abs() < 0.002, "{value}");
    assert_eq!(validated(folder.path())["runs"], 1);
}

#[test]
fn step_traces_give_the_median_step() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_goodput"));
    let simulated = command
        .current_dir(folder.path())
        .args(["simulate", "--traces", "data_parallel", "-o", "traces"])
        .output();
    assert!(simulated.unwrap().status.success());
    let (output, view, _) = collect(folder.path(), &["traces"], &[]);
    assert!(output.status.success(), "{}", message(&output));
    assert!(view["rows"][0]["value"].as_f64().unwrap() > 0.0, "{view:#}");
    assert!(view["rows"][0]["step"].as_str().unwrap().contains("judged steps"));
    assert!(lacks(&view).contains(&"tp".to_owned()));
}
