//! `goodput trace` on generated traces: every format, what to trace next, the audit, and what is wrong with the input.
#![allow(clippy::unwrap_used)]

mod command;

use std::fs;
use std::path::{Path, PathBuf};

use command::{Output, run, shared};
use goodput_simulate::step_trace::{Scenario, simulate};
use serde_json::Value;

/// A folder with the traces of a scenario.
struct Traces {
    folder: tempfile::TempDir,
}

impl Traces {
    fn of(scenario: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (rank, text) in simulate(&Scenario::named(scenario).unwrap()).ranks {
            fs::write(folder.path().join(format!("rank{rank}.json")), text).unwrap();
        }
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn run(&self, extra: &[&str]) -> Output {
        trace(self.path(), extra)
    }

    fn json(&self, extra: &[&str]) -> Value {
        let output = self.run(&[extra, &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", output.stderr);
        let document = serde_json::from_str(&output.stdout).unwrap();
        assert_valid(&document);
        document
    }
}

fn trace(path: &Path, extra: &[&str]) -> Output {
    run(&[&["trace", path.to_str().unwrap()], extra].concat())
}

#[track_caller]
fn assert_valid(document: &Value) {
    let schema = serde_json::from_str(include_str!("../../../schemas/trace.schema.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(document).take(5).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_table_names_the_rank_and_the_term() {
    let output = Traces::of("straggler").run(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr);
    let said = output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "4 ranks on Simulated accelerator",
        "charged once",
        "rank 2 starts last in 5 of 6 collectives and holds 99.3% of the skew",
        "What overlap hides and costs",
    ] {
        assert!(said.contains(part), "{part}\n{}", output.stdout);
    }
}

/// The pipeline waits at its ends, in the JSON as in the flow.
#[test]
fn the_json_is_valid_and_names_the_term() {
    let document = Traces::of("pipeline_1f1b").json(&[]);
    assert_eq!(document["schema"], "goodput.trace/1");
    assert_eq!(document["triage"]["term"], "synchronisation");
    assert_eq!(document["findings"][0]["pattern"], "pipeline_bubble");
    assert_eq!(document["timeline"]["lanes"].as_array().unwrap().len(), 4);
    assert_eq!(document["steps_across"]["matched_by"], "number");
    let window = document["total"]["window_ns"].as_i64().unwrap();
    let charged: i64 =
        document["charges"].as_array().unwrap().iter().map(|c| c["time_ns"].as_i64().unwrap()).sum();
    assert_eq!(charged, window);
}

#[test]
fn the_page_needs_nothing_else() {
    let traces = Traces::of("host_bound");
    let page = traces.file("page.html");
    let output = traces.run(&["--format", "html", "-o", page.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("default-src 'none'") && page.contains("<b>host dispatch</b>"));
    for id in ["ranks", "steps", "step-timeline", "communication"] {
        assert!(page.contains(&format!("<figure class=\"chart\" id=\"{id}\">")), "{id}");
    }
}

#[test]
fn a_trace_is_no_series_of_metrics() {
    let output = Traces::of("straggler").run(&["--format", "openmetrics"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.contains("table, json, html"), "{}", output.stderr);
}

#[test]
fn what_to_trace_next() {
    let traces = Traces::of("straggler");
    let document = traces.json(&["--plan", "2", "--layout", "dp=16"]);
    let ranks = document["sampling"]["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 2);
    assert!(ranks.iter().any(|rank| rank["rank"] == 2), "the straggler is traced again: {ranks:?}");
    let page = traces.run(&["--plan", "2", "--layout", "dp=16", "--format", "html"]);
    assert!(page.stdout.contains("id=\"sampling-section\""));
    let output = traces.run(&["--plan", "2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.contains("--layout"), "{}", output.stderr);
    for (layout, problem) in [
        ("tp=1000000,pp=1000000,dp=1000000", "ranks at most"),
        ("dp=65537", "ranks at most"),
        ("tp=8,tp=2", "stated twice"),
        ("dp=0", "above 0"),
    ] {
        let output = traces.run(&["--plan", "2", "--layout", layout]);
        assert_eq!(output.status.code(), Some(2), "{layout}");
        assert!(output.stderr.contains(problem), "{layout}: {}", output.stderr);
    }
}

#[test]
fn no_output_takes_the_place_of_an_input() {
    let traces = Traces::of("straggler");
    let input = traces.file("rank1.json");
    let text = fs::read(&input).unwrap();
    // By another spelling too, and where the input was found in a folder.
    let spelled = traces.path().join(".").join("rank1.json");
    for option in ["--annotate", "-o"] {
        for path in [&input, &spelled] {
            let output = traces.run(&[option, path.to_str().unwrap()]);
            assert_eq!(output.status.code(), Some(2), "{option}");
            assert!(output.stderr.contains("one of the inputs"), "{}", output.stderr);
            assert_eq!(fs::read(&input).unwrap(), text, "{option} left the input alone");
        }
        let output = traces.run(&[option, traces.file("new.json").to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", output.stderr);
        fs::remove_file(traces.file("new.json")).unwrap();
    }
}

const MESH: &str = "
model: llama3.1-8b
mesh:
  axes:
    - {name: data, size: 4}
  devices_per_node: 4
sharding:
  data: {axis: data, shards: none}
batch: {tokens: 4096, micro_batches: 1}
";

/// The generated job is no Llama: its gradients have another size, and the audit says so.
#[test]
fn collectives_against_the_mesh() {
    let traces = Traces::of("straggler");
    let mesh = traces.file("mesh.yaml");
    fs::write(&mesh, MESH).unwrap();
    let files: Vec<String> =
        (0..4).map(|r| traces.file(&format!("rank{r}.json")).display().to_string()).collect();
    let args = |format: &str| {
        let mesh = mesh.to_str().unwrap();
        let mut args: Vec<String> = ["trace", "--format", format, "--mesh", mesh].map(str::to_owned).into();
        args.extend(files.iter().cloned());
        run(&args)
    };
    let output = args("json");
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr);
    let document: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_valid(&document);
    let audit = &document["audit"];
    assert_eq!(audit["clean"], false);
    assert!(!audit["lines"].as_array().unwrap().is_empty());
    let page = args("html");
    assert!(page.stdout.contains("id=\"audit-section\""));
    assert!(page.stdout.contains("it communicates not as planned"));
}

#[test]
fn a_truncated_trace_is_used_and_strict_says_so() {
    let traces = Traces::of("straggler");
    let cut = traces.file("rank3.json");
    let text = fs::read(&cut).unwrap();
    fs::write(&cut, &text[..text.len() * 4 / 5]).unwrap();
    let document = traces.json(&[]);
    let degraded = |file: &&Value| file["degraded"] == true;
    let files: Vec<_> = document["files"].as_array().unwrap().iter().filter(degraded).collect();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0]["truncated"], true);
    assert!(document["warnings"][0].as_str().unwrap().contains("cut short"), "{}", document["warnings"]);
    let output = traces.run(&["--strict"]);
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    // Without damage it has nothing to say.
    let output = Traces::of("straggler").run(&["--strict"]);
    assert_eq!(output.status.code(), Some(0), "{}", output.stdout);
}

#[test]
fn unreadable_input_names_the_file_and_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes.txt");
    fs::write(&notes, "no trace at all\n").unwrap();
    let output = trace(&notes, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let said = output.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("notes.txt") && said.contains("nsys export --type sqlite"), "{}", output.stderr);

    let output = trace(&folder.path().join("absent.json"), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.contains("absent.json"), "{}", output.stderr);

    let output = trace(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2), "a folder without traces: {}", output.stdout);
}

/// Two files of one rank: both are named, and how to tell them apart.
#[test]
fn two_traces_of_one_rank_are_refused() {
    let traces = Traces::of("straggler");
    fs::copy(traces.file("rank1.json"), traces.file("again.json")).unwrap();
    let output = traces.run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        output.stderr.contains("again.json") && output.stderr.contains("rank1.json"),
        "{}",
        output.stderr
    );
}

/// Recorded traces of every format: valid JSON, a page, and kernels on the roofline where shapes are recorded.
#[test]
fn recorded_traces() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("traces");
    for name in [
        "dlrm8_v100",
        "kineto/h100_qwen05b.json.gz",
        "kineto/cpu_ops_only_rank0.json.gz",
        "kineto/rtx2080ti_resnet_dataloader_no_profilerstep.json.gz",
        "nsys/mfu_2gpu_before.sqlite",
        "other/rocprofv3_908_results.json.gz",
        "other/934987a2fc2f.xplane.pb",
    ] {
        let path = folder.join(name);
        if !path.exists() {
            continue;
        }
        let output = trace(&path, &["--format", "json"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", output.stderr);
        let document: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_valid(&document);
        if name.contains("qwen05b") {
            let roofline = &document["roofline"];
            assert!(
                roofline["placed_ns"].as_i64().unwrap() * 3 > roofline["compute_ns"].as_i64().unwrap() * 2
            );
        }
        let page = trace(&path, &["--format", "html"]).stdout;
        assert!(page.ends_with("</html>\n") || page.ends_with("</html>"), "{name}");
        assert!(page.len() < 8_000_000, "{name}: {} bytes", page.len());
    }
}

#[test]
fn work_of_several_devices_in_one_trace_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rank0.json");
    for (devices, warned) in [([0, 0], false), ([2, 2], false), ([0, 1], true)] {
        let events = devices.map(|device| {
            serde_json::json!({"ph": "X", "cat": "kernel", "name": "gemm", "pid": device, "tid": 7, "ts": 10 + 100 * device,
                "dur": 50, "args": {"device": device, "stream": 7}})
        });
        fs::write(&path, serde_json::json!({ "traceEvents": events }).to_string()).unwrap();
        let output = trace(&path, &["--format", "json"]);
        let document: Value = serde_json::from_str(&output.stdout).unwrap();
        let warnings = document["warnings"].to_string();
        assert_eq!(warnings.contains("2 devices in one trace"), warned, "{devices:?}: {warnings}");
    }
}

/// Links in a circle: neither the search for traces nor the bar over their bytes follows them for long.
#[cfg(unix)]
#[test]
fn a_folder_that_links_to_itself_is_read_once() {
    let traces = Traces::of("straggler");
    let plain = traces.run(&[]).stdout;
    for link in ["a", "b", "c", "d"] {
        std::os::unix::fs::symlink(traces.path(), traces.file(link)).unwrap();
    }
    let output = traces.run(&[]);
    assert_eq!((output.status.code(), output.stdout), (Some(0), plain), "{}", output.stderr);
}

#[test]
fn a_stamp_far_off_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rank0.json");
    let kernel = |ts: &str| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":{ts},"dur":10,"args":{{"stream":7,"correlation":1}}}}"#
        )
    };
    let trace =
        |far: &str| format!(r#"{{"traceEvents":[{},{},{}]}}"#, kernel("100"), kernel("200"), kernel(far));
    let run = |far: &str| {
        fs::write(&path, trace(far)).unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_goodput"))
            .arg("trace")
            .arg(&path)
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(run("4000000000000").contains("spans more than a day"));
    assert!(!run("4000").contains("spans more than a day"));
}

/// The value of a condition and where it is known from.
fn condition(document: &Value, field: &str) -> Option<String> {
    let conditions = document["contract"]["conditions"].as_array().unwrap();
    let of = conditions.iter().find(|condition| condition["field"] == field)?;
    Some(format!("{} ({})", of["value"].as_str().unwrap(), of["source"].as_str().unwrap()))
}

#[test]
fn a_report_carries_its_contract() {
    let traces = Traces::of("straggler");
    let document = traces.json(&[]);
    let contract = &document["contract"];
    assert_eq!(contract["scope"], "trace");
    assert_eq!(contract["devices"], document["scope"]["ranks"]);
    let held = "the judged steps on the device, by the profiler's stamps; boundaries: the profiler's steps (records)";
    for (field, expected) in [
        ("system.device_types", Some("Simulated accelerator (records)")),
        ("timing.held", Some(held)),
        ("statistics.denominator", Some("traced (records)")),
        ("workload.model", None),
        ("system.ideal", None),
    ] {
        assert_eq!(condition(&document, field).as_deref(), expected, "{field}");
    }
    // The window holds every judged step of every rank.
    let ns = |value: &Value| value.as_str().unwrap().parse::<i64>().unwrap();
    let steps =
        document["ranks"].as_array().unwrap().iter().flat_map(|rank| rank["steps"].as_array().unwrap());
    let spans: Vec<_> = steps
        .filter(|step| step["judged"] == true)
        .map(|step| (ns(&step["device_from_ns"]), step["device_window"]["window_ns"].as_i64().unwrap()))
        .collect();
    let first = spans.iter().map(|&(from, _)| from).min().unwrap();
    let last = spans.iter().map(|&(from, length)| from + length).max().unwrap();
    assert_eq!((ns(&contract["window"]["from_ns"]), ns(&contract["window"]["to_ns"])), (first, last));
    assert!(ns(&contract["duration_ns"]) <= last - first);

    // A few steps are a sample, and four ranks make no more steps of them.
    let program = &contract["statistics"][0];
    let trials = program["trials"].as_f64().unwrap();
    assert_eq!(trials * 4.0, program["percentiles"]["count"].as_f64().unwrap());
    assert_eq!((program["factor"].as_str(), program["adequate"].as_bool()), (Some("program"), Some(false)));
    assert!(program["sentence"].as_str().unwrap().starts_with("the trace is a sample"), "{program}");
    let mut lengths: Vec<i64> = spans.iter().map(|&(_, length)| length).collect();
    lengths.sort_unstable();
    assert_eq!(program["centre"].as_f64(), Some(lengths[(lengths.len() - 1) / 2] as f64));
    let page = traces.run(&["--format", "html"]).stdout;
    assert!(
        page.contains("id=\"contract-section\"") && page.contains("Conditions and where they are known from")
    );
}

#[test]
fn the_contract_of_a_model_names_work_and_ideal() {
    let model = ["--model", "llama3.1-8b", "--global-batch", "4", "--seq", "128", "--devices", "1000000"];
    let document = Traces::of("straggler").json(&[&model[..], &["--device", "H100 SXM5"]].concat());
    for (field, expected) in [
        ("workload.model", "llama3.1-8b (records)"),
        ("workload.sequence_tokens", "128 (records)"),
        ("workload.global_batch", "4 (records)"),
        ("system.devices", "1000000 (records)"),
        ("system.device_types", "H100 SXM5 (records)"),
        ("system.precision", "bf16 (records)"),
    ] {
        assert_eq!(condition(&document, field).as_deref(), Some(expected), "{field}");
    }
    let ideal = condition(&document, "system.ideal").unwrap();
    assert!(ideal.starts_with("compute on H100 SXM5, bf16 9.8"), "{ideal}");
}

#[test]
fn what_the_traces_do_not_say_is_stated() {
    let traces = Traces::of("straggler");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("contract.yaml");
    let state = |yaml: &str| {
        fs::write(&file, yaml).unwrap();
        file.display().to_string()
    };
    let path = state("workload: {model: mine}\nquality: {metric: loss, passed: true}\n");
    let document = traces.json(&["--contract", &path]);
    assert_eq!(condition(&document, "workload.model").as_deref(), Some("mine (stated)"));
    let table = traces.run(&["--contract", &path]).stdout;
    assert!(table.contains("3 stated") && table.contains("quality gate on loss: passed"), "{table}");
    for (yaml, words) in [
        ("system: {device_types: H100}", ["system.device_types", "records say Simulated accelerator"]),
        ("workload: {modle: x}", ["workload.modle", "workload.model"]),
    ] {
        let output = traces.run(&["--contract", &state(yaml)]);
        assert_eq!(output.status.code(), Some(2));
        for word in words {
            assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
        }
    }
    // The file that is stated is an input, too.
    let path = state("workload: {model: mine}\n");
    let output = traces.run(&["--contract", &path, "-o", &path]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.contains("one of the inputs"), "{}", output.stderr);
}

#[test]
fn versions_that_a_trace_states_are_of_its_contract() {
    let traces = Traces::of("straggler");
    for rank in 0..4 {
        let file = traces.file(&format!("rank{rank}.json"));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replacen('{', "{\"cuda_runtime_version\": 12040, ", 1)).unwrap();
    }
    assert_eq!(
        condition(&traces.json(&[]), "system.software").as_deref(),
        Some("cuda 12.4, nccl 2.27.5 (records)")
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("contract.yaml");
    fs::write(&file, "system: {software: {torch: '2.6'}}\n").unwrap();
    let both = traces.json(&["--contract", file.to_str().unwrap()]);
    assert_eq!(
        condition(&both, "system.software").as_deref(),
        Some("cuda 12.4, nccl 2.27.5, torch 2.6 (stated)")
    );
}
