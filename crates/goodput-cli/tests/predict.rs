//! `goodput predict`, as a person runs it.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/run.yaml");
const SCHEMA: &str = include_str!("../../../schemas/predict.schema.json");

fn predict(run: &Path, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodput")).arg("predict").arg(run).args(options).output().unwrap()
}

#[test]
fn the_example_is_predicted_by_its_schema_and_its_terms_sum_to_the_step() {
    let output = predict(Path::new(EXAMPLE), &["--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(&report).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");

    let step_ns = report["step_ns"].as_f64().unwrap();
    let terms = report["terms"].as_array().unwrap().iter().map(|t| t["time_ns"].as_f64().unwrap());
    assert!((terms.sum::<f64>() / step_ns - 1.0).abs() < 1e-9);
    let efficiency = &report["efficiency"];
    assert_eq!(
        (&efficiency["dtype"], &efficiency["convention"]),
        (&Value::from("fp16"), &Value::from("exact"))
    );
    let own = efficiency["conventions"].as_array().unwrap().iter().find(|c| c["name"] == "exact").unwrap();
    assert!((own["mfu"].as_f64().unwrap() / report["mfu"].as_f64().unwrap() - 1.0).abs() < 1e-9);
    assert!(
        report["terms"].as_array().unwrap().iter().all(|term| term["basis"].is_string()),
        "{}",
        report["terms"]
    );
    let last = report["closed_forms"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (last["simulated_ns"].as_f64(), &last["closed_ns"]),
        (Some(step_ns), &report["guide"]["step_ns"])
    );
    for stage in report["stages"].as_array().unwrap() {
        let sum: f64 =
            stage["terms"].as_array().unwrap().iter().map(|t| t["time_ns"].as_f64().unwrap()).sum();
        assert!((sum / step_ns - 1.0).abs() < 1e-9, "{stage}");
        let parts = ["compute_ns", "exchange_ns", "bubble_ns", "other_ns"];
        let sum: f64 = parts.iter().map(|part| stage[part].as_f64().unwrap()).sum();
        assert!((sum / step_ns - 1.0).abs() < 1e-9, "{stage}");
    }
    // Korthikanti et al. 2022, table 5: 13.75 s.
    assert!((step_ns / 13.75e9 - 1.0).abs() < 0.035, "{step_ns}");
}

#[test]
fn the_page_draws_every_pass_and_needs_nothing_else() {
    let output = predict(Path::new(EXAMPLE), &["--format", "html"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = String::from_utf8(output.stdout).unwrap();
    // The whole step is too fine to be read, so that its ends are drawn too, pass by pass.
    for drawn in ["The whole step", "forward of micro-batch 0", "How it drains", "backward of micro-batch 63"]
    {
        assert!(page.contains(drawn), "{drawn}");
    }
    assert!(
        !page.contains("<script") && !page.contains("http://") && page.len() < 2_000_000,
        "{}",
        page.len()
    );
    for section in ["schedule", "terms", "memory", "conventions", "closed-forms"] {
        assert!(page.contains(&format!("id=\"{section}-section\"")), "{section}");
    }
}

#[test]
fn the_page_of_a_deep_pipeline_of_many_micro_batches_stays_small() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run.yaml");
    let text = "model: llama3.1-405b\ncluster: DGX H100\ndevices: 512\nlayout: {tp: 8, sp: true, pp: 64, uneven_ends: [1, 1]}\n\
                batch: {sequence: 2048, micro: 1, global: 2048}\n";
    std::fs::write(&run, text).unwrap();
    let output = predict(&run, &["--format", "html"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.len() < 5_000_000, "{}", output.stdout.len());
}

/// What Perfetto opens is read by `goodput trace` too: every pass, and the time of the step.
#[test]
fn the_trace_of_the_step_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("step.json.gz");
    let output = predict(Path::new(EXAMPLE), &["--format", "json", "--trace", trace.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let predicted: Value = serde_json::from_slice(&output.stdout).unwrap();
    let read = Command::new(env!("CARGO_BIN_EXE_goodput"))
        .arg("trace")
        .arg(&trace)
        .args(["--format", "json"])
        .output()
        .unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let read: Value = serde_json::from_slice(&read.stdout).unwrap();
    let file = &read["files"][0];
    assert_eq!(file["lost_device_events"], 0, "{file}");
    assert!(file["device_events"].as_u64().unwrap() >= 8 * 3 * 64 * 2, "{file}");
    let window_ns = read["total"]["window_ns"].as_f64().unwrap();
    let step_ns = predicted["step_ns"].as_f64().unwrap();
    assert!((window_ns / step_ns - 1.0).abs() < 1e-3, "{window_ns} {step_ns}");
}

/// What a known device shows, one of the user's own shows too: a peak is all that MFU needs.
#[test]
fn a_device_of_ones_own_has_its_mfu_in_every_output() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run.yaml");
    let text = "model: llama3.2-1b\ncluster:\n  device: {name: Falcon-1, dense_peaks: {bf16_tflops: 400}, \
                memory_gb: 96, memory_tb_per_s: 2.5}\n  devices_per_node: 4\n  generation: hopper\n  \
                intra: {link: pcie, gb_per_s: 64}\ndevices: 1\n\
                batch: {sequence: 4096, micro: 1, global: 4}\n";
    std::fs::write(&run, text).unwrap();
    let report: Value = serde_json::from_slice(&predict(&run, &["--format", "json"]).stdout).unwrap();
    assert_eq!(report["efficiency"]["peak_flops_per_second"], 4e14, "{report}");
    let mfu = report["mfu"].as_f64().unwrap();
    assert!((0.1..0.9).contains(&mfu), "{mfu}");
    let shown = format!("{:.1}%", mfu * 100.0);
    for options in [&[][..], &["--format", "html"]] {
        let output = String::from_utf8(predict(&run, options).stdout).unwrap();
        assert!(output.contains(&shown), "{shown} is not in {options:?}");
        assert!(
            output.contains("megatron-lm") && output.contains("1 device") && !output.contains("1 devices")
        );
    }
}

#[test]
fn a_layout_that_does_not_divide_is_refused_with_field_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run.yaml");
    let text = std::fs::read_to_string(EXAMPLE).unwrap().replace("pp: 8", "pp: 7");
    std::fs::write(&run, text).unwrap();
    let output = predict(&run, &[]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("run.yaml") && message.contains("examples/run.yaml"), "{message}");
    assert!(message.contains("pp") || message.contains("devices"), "{message}");
}

#[test]
fn a_job_that_does_not_fit_is_an_answer_that_falls_short_under_strict() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run.yaml");
    let text = std::fs::read_to_string(EXAMPLE)
        .unwrap()
        .replace("devices: 64", "devices: 8")
        .replace("pp: 8, vpp: 3", "pp: 1, vpp: 1");
    std::fs::write(&run, text).unwrap();
    let output = predict(&run, &["--strict"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("does not fit"));
}

fn search(options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_goodput")).args(["search", EXAMPLE]).args(options).output().unwrap()
}

#[test]
fn layouts_are_ranked_keep_the_constraints_and_fit() {
    let output = search(&[
        "--constraint",
        "tp=8",
        "--constraint",
        "micro=1",
        "--top",
        "3",
        "--pareto",
        "--format",
        "json",
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/search.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<_> = validator.iter_errors(&report).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let best = report["best"].as_array().unwrap();
    let steps: Vec<f64> = best.iter().map(|l| l["step_ns"].as_f64().unwrap()).collect();
    assert!(!steps.is_empty() && steps.is_sorted(), "{steps:?}");
    for layout in best {
        let degree = |name: &str| layout[name].as_u64().unwrap();
        assert_eq!((degree("tp"), degree("micro_batch")), (8, 1));
        assert_eq!(degree("tp") * degree("cp") * degree("pp") * degree("dp"), degree("devices"));
        assert!(layout["memory_bytes"].as_f64().unwrap() < 86e9);
    }
}

#[test]
fn the_best_layout_is_written_and_predicted_as_it_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let best = folder.path().join("best.yaml");
    let narrow = [
        "--devices",
        "64..128",
        "--constraint",
        "tp=8",
        "--constraint",
        "recompute=selective,full",
        "--format",
        "json",
    ];
    let result = ["--tokens", "1e9", "--price", "2", "--queue-wait", "128=1000h", "--runtime-goodput", "0.5"];
    let output = search(&[&narrow[..], &result, &["--write", best.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &report["best"][0];
    // The wait for 128 devices is longer than all that they save.
    assert_eq!((&report["ranked_by"], &first["devices"]), (&Value::from("time_to_result"), &Value::from(64)));
    let number = |of: &Value, name: &str| of[name].as_f64().unwrap();
    let steps = (1e9_f64 / (2048.0 * 64.0)).ceil();
    assert!((number(first, "result_ns") / (steps * number(first, "step_ns") / 0.5) - 1.0).abs() < 1e-9);
    let cost = number(first, "result_ns") / 3.6e12 * 64.0 * 2.0;
    assert!((number(first, "result_cost") / cost - 1.0).abs() < 1e-9);
    let refused = &report["refused"];
    let of = ["memory", "no_time", "beaten"].map(|name| refused[name].as_u64().unwrap()).iter().sum::<u64>();
    assert_eq!(of + report["feasible"].as_u64().unwrap(), report["candidates"].as_u64().unwrap());
    assert!(!refused["combinations"].as_array().unwrap().is_empty());

    let predicted = predict(&best, &["--format", "json"]);
    assert!(predicted.status.success(), "{}", String::from_utf8_lossy(&predicted.stderr));
    let predicted: Value = serde_json::from_slice(&predicted.stdout).unwrap();
    assert_eq!(predicted["step_ns"], first["step_ns"]);
}

#[test]
fn a_layout_that_cannot_be_predicted_says_nothing_of_those_that_are_searched() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run.yaml");
    let example = std::fs::read_to_string(EXAMPLE).unwrap();
    // 7 stages hold no 96 layers, and 64 devices have no 7 stages.
    let odd = example.replace("pp: 8, vpp: 3", "pp: 7, overlap_gradients: true");
    assert_ne!(odd, example);
    std::fs::write(&run, odd).unwrap();
    let command = |verb| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodput"));
        command.args([verb, run.to_str().unwrap()]);
        command
    };
    assert_eq!(command("predict").output().unwrap().status.code(), Some(2));
    let found = command("search").args(["--top", "1", "--format", "json"]).output().unwrap();
    let view: Value = serde_json::from_slice(&found.stdout).unwrap();
    assert!(view["best"][0]["step_ns"].as_f64().unwrap() > 0.0);
}

#[test]
fn stages_that_layers_do_not_fill_evenly_get_shorter_ends() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let run = "{model: gemma2-9b, cluster: DGX A100, devices: 16, layout: {dp: 16}, batch: {sequence: 4096, micro: 1, global: 64}}";
    std::fs::write(at("run.yaml"), run).unwrap();
    let goodput = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_goodput")).args(args).output().unwrap();
    // 42 layers on four stages: 11 each, the ends two fewer between them.
    let (constraint, run, best) = ("pp=4", at("run.yaml"), at("best.yaml"));
    let found = goodput(&["search", &run, "--constraint", constraint, "--write", &best, "--format", "json"]);
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    for layout in found["best"].as_array().unwrap() {
        let lack = |end: usize| layout["uneven_ends"][end].as_u64().unwrap();
        assert_eq!((42 + lack(0) + lack(1)) % (4 * layout["vpp"].as_u64().unwrap()), 0, "{layout}");
    }
    let predicted: Value =
        serde_json::from_slice(&goodput(&["predict", &best, "--format", "json"]).stdout).unwrap();
    assert_eq!(predicted["step_ns"], found["best"][0]["step_ns"]);
    let table = String::from_utf8(goodput(&["search", &run, "--constraint", constraint]).stdout).unwrap();
    assert!(table.contains("hold a and b layers less"), "{table}");
}

#[test]
fn the_page_of_a_search_draws_the_pareto_set() {
    let output = search(&["--constraint", "tp=8", "--pareto", "--top", "3", "--format", "html"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains("<circle") && page.contains("id=\"terms-by-layout\"") && !page.contains("<script"));
}

#[test]
fn the_layouts_fit_eighty_columns_and_more_numbers_of_devices_than_a_call_tries_are_refused() {
    let mut narrow = Command::new(env!("CARGO_BIN_EXE_goodput"));
    narrow.env("COLUMNS", "80").args(["search", EXAMPLE, "--top", "8"]);
    let output = String::from_utf8(narrow.output().unwrap().stdout).unwrap();
    assert!(output.contains("in every layout: devices 64, cp 1"), "{output}");
    // One line a layout.
    assert_eq!(output.lines().filter(|line| line.contains('%')).count(), 8, "{output}");
    assert!(output.lines().any(|line| line.contains("pp x vpp") && line.contains("memory")), "{output}");
    let many = search(&["--devices", "1..1000000:1"]);
    assert_eq!(many.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&many.stderr).contains("more than 4096"));
}

#[test]
fn a_constraint_that_says_nothing_and_a_space_without_a_layout_are_refused() {
    let odd = search(&["--constraint", "width<=8"]);
    assert_eq!(odd.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&odd.stderr).contains("width<=8"));
    let none = search(&["--devices", "1"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("memory"));
}

#[test]
fn a_report_carries_the_contract_of_its_run() {
    let output = predict(Path::new(EXAMPLE), &["--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let contract = &report["contract"];
    let conditions = contract["conditions"].as_array().unwrap();
    for (field, expected) in [
        ("workload.model", "gpt3-175b"),
        ("workload.sequence_tokens", "2048"),
        ("workload.global_batch", "64"),
        ("system.devices", "64"),
        ("system.device_types", report["run"]["device"].as_str().unwrap()),
        ("system.topology", "DGX A100"),
        ("system.software", "megatron-lm-2022"),
        ("system.precision", "fp16"),
        ("statistics.denominator", "step"),
    ] {
        let of = conditions.iter().find(|condition| condition["field"] == field).unwrap();
        assert_eq!(of["value"], expected, "{field}");
    }
    // The run states them; no record does, and nothing is measured.
    assert!(conditions.iter().all(|condition| condition["source"] == "stated"));
    assert!(contract["timing_boundary"]["held"].as_str().unwrap().starts_with("one step, predicted"));
    assert_eq!(contract["statistics"], Value::Array(Vec::new()));

    let table = predict(Path::new(EXAMPLE), &[]);
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("contract: 12 conditions stated by the run"), "{table}");
    let page = predict(Path::new(EXAMPLE), &["--format", "html"]);
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains("id=\"contract-section\"") && page.contains("megatron-lm-2022"));
}
