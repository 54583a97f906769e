//! `goodput explain`, as a person runs it: traces whose kernels take what the prediction gives them, and one difference planted.
#![allow(clippy::unwrap_used)]

mod command;

use std::fs;
use std::path::{Path, PathBuf};

use command::{Output, run, shared};
use goodput_model::Architecture;
use goodput_simulate::step_trace::{Scenario, Straggler, simulate};
use serde_json::Value;

const MODEL: &str = "llama3.2-1b";
const DEVICES: u64 = 4;
const RUN: &str = "\
model: llama3.2-1b
cluster: DGX H100
devices: 4
layout: {dp: 4}
batch: {sequence: 4096, micro: 1, global: 4}
";

struct Job {
    folder: tempfile::TempDir,
    scenario: Scenario,
}

impl Job {
    /// A simulated job whose terms are those of the prediction: its layers hold 12 units of products (4 forward, 8 backward), 3 of
    /// attention and 7 pointwise kernels.
    fn as_predicted() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("run.yaml"), RUN).unwrap();
        let mut job = Self { folder, scenario: Scenario::named("data_parallel").unwrap() };
        job.write();
        let first = job.json();
        let term = |key: &str| {
            let terms = first["terms"].as_array().unwrap();
            let found = terms.iter().find(|term| term["term"] == key).unwrap();
            found["predicted_ns"].as_f64().unwrap()
        };
        let architecture = Architecture::known(MODEL).unwrap();
        let layers =
            architecture.text.as_ref().unwrap().decoder.iter().map(|group| group.blocks).sum::<u64>();
        let gradient_bytes = 4 * architecture.parameters().unwrap().total as u64;
        let of_layers = |ns: f64, units: f64| (ns / units / layers as f64) as i64;
        let pointwise = (term("memory_bound") / (7.0 * layers as f64 + 2.0)) as i64;
        let fill_ns = gradient_bytes as f64 / 2000.0;
        let scenario = &mut job.scenario;
        scenario.layers_per_stage = u32::try_from(layers).unwrap();
        scenario.kernels.matmul_ns = of_layers(term("products"), 12.0);
        scenario.kernels.attention_ns = of_layers(term("attention"), 3.0);
        scenario.kernels.norm_ns = pointwise;
        scenario.kernels.elementwise_ns = pointwise;
        scenario.kernels.embedding_ns = pointwise;
        scenario.kernels.loss_ns = pointwise;
        scenario.kernels.optimizer_ns = ((term("optimizer") - fill_ns) / 3.0) as i64;
        scenario.messages.gradient_bytes_per_layer = gradient_bytes / layers;
        scenario.messages.layers_per_bucket = scenario.layers_per_stage;
        let moved = gradient_bytes as f64 * 2.0 * (DEVICES - 1) as f64 / DEVICES as f64;
        scenario.network.local_bytes_per_us = (moved * 1000.0 / term("data_exchange")) as u64;
        job.write();
        job
    }

    fn planted(mut self, change: impl FnOnce(&mut Scenario)) -> Self {
        change(&mut self.scenario);
        self.write();
        self
    }

    fn write(&self) {
        simulate(&self.scenario).write(&self.folder.path().join("traces")).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn explain(&self, options: &[&str]) -> Output {
        explain(&self.path("run.yaml"), &self.path("traces"), options)
    }

    fn json(&self) -> Value {
        let output = self.explain(&["--format", "json"]);
        assert!(output.status.success(), "{}", output.stderr);
        serde_json::from_str(&output.stdout).unwrap()
    }
}

fn explain(run_file: &Path, traces: &Path, options: &[&str]) -> Output {
    let mut args = vec!["explain".as_ref(), run_file.as_os_str(), "--trace".as_ref(), traces.as_os_str()];
    args.extend(options.iter().map(std::ffi::OsStr::new));
    run(&args)
}

fn rules(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|found| found["rule"].as_str().unwrap()).collect()
}

#[test]
fn a_job_that_runs_as_predicted_has_no_gap_and_its_json_is_by_the_schema() {
    let job = Job::as_predicted();
    let report = job.json();
    let schema = serde_json::from_str(include_str!("../../../schemas/explain.schema.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(&report).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?}");

    assert_eq!((&report["same_job"], &report["within_noise"]), (&true.into(), &true.into()), "{report:#}");
    assert_eq!(report["holder"], Value::Null, "{:#}", report["terms"]);
    let terms = report["terms"].as_array().unwrap();
    let total: i64 = terms.iter().map(|term| term["measured_total_ns"].as_i64().unwrap()).sum();
    assert_eq!(report["traced"]["total_ns"], total);
    let predicted: f64 = terms.iter().map(|term| term["predicted_ns"].as_f64().unwrap()).sum();
    assert!((predicted / report["predicted_ns"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    for rank in report["ranks"].as_array().unwrap() {
        let sum: i64 = rank["terms"].as_object().unwrap().values().map(|ns| ns.as_i64().unwrap()).sum();
        assert_eq!(rank["total_ns"], sum);
    }
    assert_eq!(job.explain(&["--strict"]).status.code(), Some(0));
}

#[test]
fn one_planted_difference_is_named() {
    let named = |change: fn(&mut Scenario)| {
        let report = Job::as_predicted().planted(change).json();
        let rule = rules(&report).first().map(|rule| (*rule).to_owned()).unwrap_or_default();
        (report["holder"].as_str().unwrap_or("none").to_owned(), rule)
    };
    let expected = |term: &str, rule: &str| (term.to_owned(), rule.to_owned());
    assert_eq!(
        named(|s| s.network.local_bytes_per_us /= 3),
        expected("data_exchange", "slower_transfer"),
        "a slower network"
    );
    assert_eq!(
        named(|s| s.host.optimizer_ns = 250_000_000),
        expected("host", "host_late"),
        "a host that is late"
    );
    assert_eq!(
        named(|s| {
            s.stragglers = vec![Straggler { rank: 2, from_step: 0, to_step: 3, slower_permille: 400 }];
        }),
        expected("waiting", "stragglers"),
        "a slow rank"
    );
    assert_eq!(
        named(|s| s.kernels.elementwise_ns *= 12),
        expected("memory_bound", "slow_memory_bound"),
        "slow kernels"
    );
}

#[test]
fn a_gap_beyond_the_noise_falls_short_under_strict_and_is_told_in_words_and_on_a_page() {
    let job = Job::as_predicted().planted(|s| s.host.data_loader_ns = 90_000_000);
    let output = job.explain(&["--strict"]);
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    assert!(output.stdout.contains("The gap is in: input wait."), "{}", output.stdout);
    let page = job.path("gap.html");
    let output = job.explain(&["--format", "html", "-o", page.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Predicted step of") && page.contains("Differences of terms"), "both pictures");
    assert!(page.contains("input wait"));
}

#[test]
fn traces_of_another_job_are_said_to_be_so_first() {
    let job = Job::as_predicted();
    let other = job.path("other.yaml");
    fs::write(
        &other,
        RUN.replace("devices: 4", "devices: 8").replace("dp: 4}", "dp: 8}").replace("global: 4", "global: 8"),
    )
    .unwrap();
    let output = explain(&other, &job.path("traces"), &["--strict"]);
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    let second = output.stdout.lines().nth(1).unwrap();
    assert!(
        second.starts_with("The traces are not of this run: devices of the job (8 in the run, 4 in the"),
        "{second}"
    );
}

#[test]
fn a_part_of_the_ranks_will_do() {
    let job = Job::as_predicted();
    let output = explain(&job.path("run.yaml"), &job.path("traces/rank1.json"), &["--format", "json"]);
    assert!(output.status.success(), "{}", output.stderr);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((&report["same_job"], &report["traced"]["ranks"]), (&true.into(), &1.into()));
    assert_eq!(report["exchanges"][0]["not_split_share"], 1.0);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [run_file, broken, trace, empty] =
        ["run.yaml", "broken.yaml", "trace.json", "empty.json"].map(|name| folder.path().join(name));
    fs::write(&run_file, RUN).unwrap();
    fs::write(&broken, RUN.replace("devices: 4", "devices: 3")).unwrap();
    fs::write(&trace, "no trace").unwrap();
    fs::write(&empty, r#"{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]}"#)
        .unwrap();
    for (run_file, trace, says) in [
        (&run_file, &trace, "trace.json"),
        (&run_file, &empty, "no trace holds a step with device work"),
        (&broken, &empty, "broken.yaml"),
        (&folder.path().join("absent.yaml"), &empty, "absent.yaml"),
        (&run_file, &folder.path().join("absent.json"), "absent.json"),
    ] {
        let output = explain(run_file, trace, &[]);
        assert_eq!(output.status.code(), Some(2), "{says}: {}", output.stdout);
        assert!(output.stderr.contains(says), "{says}: {}", output.stderr);
    }
    let output = run(&["explain", run_file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.contains("--trace"));
}

#[test]
fn a_recorded_trace_of_another_model_is_told_apart() {
    let Some(shared) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let run_file = folder.path().join("run.yaml");
    fs::write(&run_file, RUN).unwrap();
    let trace = shared.join("traces/kineto/a100_ddp_resnet_nccl_meta_ns.json.gz");
    let output = explain(&run_file, &trace, &["--format", "json", "--strict"]);
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["same_job"], false);
    let inference = shared.join("traces/kineto/h100_qwen05b.json.gz");
    let one = folder.path().join("one.yaml");
    fs::write(
        &one,
        "model: qwen2.5-0.5b\ncluster: DGX H100\ndevices: 1\nbatch: {sequence: 512, micro: 16, global: 16}\n",
    )
    .unwrap();
    let output = explain(&one, &inference, &[]);
    assert!(output.stdout.contains("The traces are not of this run: what a step does"), "{}", output.stdout);
    let total: i64 = report["terms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|term| term["measured_total_ns"].as_i64().unwrap())
        .sum();
    assert_eq!(report["traced"]["total_ns"], total);
}
