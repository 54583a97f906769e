//! `goodput serving`, as a person runs it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod command;

use std::fs;
use std::path::Path;

use command::{json, run};
use serde_json::Value;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/serving.jsonl");

fn schema(text: &str) -> jsonschema::Validator {
    jsonschema::draft202012::new(&serde_json::from_str(text).unwrap()).unwrap()
}

#[track_caller]
fn assert_valid(schema: &jsonschema::Validator, document: &Value) {
    let errors: Vec<_> =
        schema.iter_errors(document).take(5).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn report(log: &Path, more: &[&str]) -> Value {
    let log = log.display().to_string();
    let args = [&["serving", &log, "--format", "json"], more].concat();
    let report = json(&args);
    assert_valid(&schema(include_str!("../../../schemas/serving-report.schema.json")), &report);
    report
}

fn written(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("serving.jsonl");
    fs::write(&path, text).unwrap();
    (folder, path)
}

fn ns(value: &Value) -> i128 {
    value.as_str().unwrap_or_default().parse().unwrap()
}

fn measure(row: &Value, key: &str) -> Option<f64> {
    row["measures"].as_array().unwrap().iter().find(|m| m["key"] == key)?["value"].as_f64()
}

#[test]
fn a_simulated_fleet_has_its_own_books() {
    books_are_met(None);
    books_are_met(Some(
        "{days: 2, replicas: 9, warm_pool: 0, failure_h: 3, update_h: 5, sample_s: 1200, eager: false}",
    ));
}

#[test]
fn a_scenario_that_cannot_be_is_refused_by_its_field() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = folder.path().join("fleet.yaml");
    fs::write(&scenario, "peak_load: 1.2").unwrap();
    let out = folder.path().join("out").display().to_string();
    let output = run(&["simulate", "--serving", &scenario.display().to_string(), "-o", &out]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        output.stderr.contains("fleet.yaml: peak_load: must be a share from 0 to 1"),
        "{}",
        output.stderr
    );
    assert!(!Path::new(&out).exists());
}

fn books_are_met(scenario: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display().to_string();
    let mut args = vec!["simulate", "--serving", "--seed", "7", "-o", &out];
    let path = folder.path().join("scenario.yaml").display().to_string();
    if let Some(scenario) = scenario {
        fs::write(&path, scenario).unwrap();
        args.push(&path);
    }
    let output = run(&args);
    assert!(output.status.success(), "{}", output.stderr);
    let log = folder.path().join("serving.jsonl");
    let lines = schema(include_str!("../../../schemas/serving.schema.json"));
    for line in fs::read_to_string(&log).unwrap().lines() {
        assert_valid(&lines, &serde_json::from_str(line).unwrap());
    }
    let truth: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("truth.json")).unwrap()).unwrap();
    let report = report(&log, &["--strict"]);
    let row = &report["rows"][0];
    assert_eq!(row["held_ns"], truth["held_ns"]);
    for (used, amount) in truth["uses"].as_object().unwrap() {
        assert_eq!(row["uses"][used], *amount, "{used}");
    }
    let work = &row["work"];
    for (ours, theirs) in [
        ("decode_ns", &truth["decode"]["busy_ns"]),
        ("decode_tokens", &truth["decode"]["tokens"]),
        ("decode_ideal_weights_ns", &truth["decode"]["ideal_weights_ns"]),
        ("decode_ideal_weights_and_kv_ns", &truth["decode"]["ideal_weights_and_kv_ns"]),
        ("prefill_ns", &truth["prefill"]["busy_ns"]),
        ("prefill_ideal_ns", &truth["prefill"]["ideal_ns"]),
        ("headroom_ns", &truth["headroom_ns"]),
    ] {
        assert_eq!(work[ours], *theirs, "{ours}");
    }
    let pool = &report["pools"][0];
    for (key, amount) in truth["pool"].as_object().unwrap() {
        assert_eq!(pool[key], *amount, "{key}");
    }
    // From held to the ideal of decode, every device-nanosecond once.
    let losses: i128 = row["losses"].as_array().unwrap().iter().map(|loss| ns(&loss["amount_ns"])).sum();
    let ideals = ns(&work["decode_ideal_weights_ns"]) + ns(&work["prefill_ideal_ns"]);
    assert_eq!(losses + ideals, ns(&row["held_ns"]));
}

#[test]
fn the_example_in_every_format() {
    let report = report(Path::new(EXAMPLE), &["--price", "2"]);
    let row = &report["rows"][0];
    assert_eq!(row["basis"]["device"], "H100 SXM5");
    let floor = row["decode_model"]["floor_ns"].as_f64().unwrap() / 1e6;
    assert!((5.1..5.3).contains(&floor), "{floor}");
    assert_eq!(row["decode_model"]["exchange_bytes"], 16_384);
    assert_eq!(row["decode_model"]["exchanges"], 160);
    assert_eq!(row["decode_model"]["eager_dispatch_least_ns"], 12e6);
    assert!(measure(row, "program_decode_weights") < measure(row, "program_decode_weights_and_kv"));
    let table = run(&["serving", EXAMPLE]);
    assert!(table.status.success(), "{}", table.stderr);
    for words in [
        "serving runtime goodput",
        "MBU while decoding (weights floor)",
        "headroom",
        "graph replay",
        "not added or averaged",
    ] {
        assert!(table.stdout.contains(words), "{words}: {}", table.stdout);
    }
    let page = run(&["serving", EXAMPLE, "--format", "html"]);
    assert!(page.status.success() && page.stdout.contains("Where ready time went"), "{}", page.stderr);
    let metrics = run(&["serving", EXAMPLE, "--format", "openmetrics"]);
    assert!(metrics.stdout.contains("goodput_serving_measure{") && metrics.stdout.ends_with("# EOF\n"));
    let lines = schema(include_str!("../../../schemas/serving.schema.json"));
    for line in fs::read_to_string(EXAMPLE).unwrap().lines() {
        assert_valid(&lines, &serde_json::from_str(line).unwrap());
    }
}

/// Worked example E10: 5.7 minutes of readiness are 9.5 % of an hour and 0.3958 % of a day.
#[test]
fn readiness_weighs_by_lifetime() {
    for (hours, share) in [(1, 0.095), (24, 0.003_958)] {
        let released = 1_767_225_600 + hours * 3600;
        let (_folder, log) = written(&format!(
            "{{\"goodput_serving\":1}}\n\
             {{\"replica\":\"r\",\"at\":1767225600,\"event\":\"placed\",\"devices\":8}}\n\
             {{\"replica\":\"r\",\"at\":1767225942,\"event\":\"ready\"}}\n\
             {{\"replica\":\"r\",\"at\":{released},\"event\":\"released\"}}\n"
        ));
        let report = report(&log, &[]);
        let found = report["lifetimes"][0]["cold_start_share"].as_f64().unwrap();
        assert!((found - share).abs() < 1e-6, "{found}");
        let goodput = measure(&report["rows"][0], "runtime").unwrap();
        assert!((goodput - (1.0 - share)).abs() < 1e-6, "{goodput}");
    }
}

const HEAD: &str = "{\"goodput_serving\":1,\"deployment\":\"d\",\"weight_bytes\":140000000000,\"device\":\"H100 SXM5\"}\n\
    {\"replica\":\"r\",\"at\":1767225600,\"event\":\"placed\",\"devices\":8}\n\
    {\"replica\":\"r\",\"at\":1767225600,\"event\":\"ready\"}\n";
const TAIL: &str = "{\"replica\":\"r\",\"at\":1767226600,\"event\":\"released\"}\n";

fn decode(more: &str) -> String {
    format!(
        "{{\"replica\":\"r\",\"phase\":\"decode\",\"from\":1767225600,\"to\":1767225700,\"tokens\":1000{more}}}\n"
    )
}

#[test]
fn bad_lines_are_refused_by_field_and_counted() {
    for (line, field) in [
        (decode(",\"steps\":1000,\"busy_ns\":-5"), "busy_ns"),
        (decode(",\"steps\":1000,\"step_ns\":200000000"), "step_ns"),
        (decode(",\"batch\":7"), "steps"),
        (decode(",\"steps\":10,\"dispatch_ns\":20000000000"), "dispatch_ns"),
        (decode(",\"steps\":0"), "steps"),
        ("{\"replica\":\"r\",\"at\":1767225700,\"event\":\"sleeping\"}\n".to_owned(), "event"),
        ("{\"replica\":\"q\",\"at\":1767225700,\"event\":\"placed\"}\n".to_owned(), "devices"),
        ("{\"replica\":\"q\",\"at\":\"today\",\"event\":\"ready\"}\n".to_owned(), "at"),
        (
            "{\"at\":1767225700,\"free_devices\":8,\"whole_free_nodes\":2,\"devices_per_node\":8}\n"
                .to_owned(),
            "whole_free_nodes",
        ),
    ] {
        let (_folder, log) = written(&format!("{HEAD}{line}{TAIL}"));
        let report = report(&log, &[]);
        let finding = &report["read_report"]["files"][0]["findings"][0];
        assert_eq!((&finding["field"], &finding["line"]), (&Value::from(field), &Value::from(4)), "{line}");
        assert_eq!(report["read_report"]["refused"], 1);
        let strict = run(&["serving", &log.display().to_string(), "--strict"]);
        assert_eq!(strict.status.code(), Some(1), "{line}");
    }
}

#[test]
fn what_the_records_do_not_settle_is_said() {
    let codes = |report: &Value| -> Vec<String> {
        let warnings = report["warnings"].as_array().unwrap();
        warnings.iter().map(|w| w["code"].as_str().unwrap().to_owned()).collect()
    };
    // Faster than the hardware.
    let (_folder, log) = written(&format!("{HEAD}{}{TAIL}", decode(",\"steps\":1000000")));
    let refused = report(&log, &[]);
    assert_eq!(codes(&refused), ["mbu_above_one"]);
    assert_eq!(refused["rows"][0]["work"]["work_unknown_ns"], (8_u64 * 1000 * 1_000_000_000).to_string());
    // No model, no device.
    let headless = HEAD.replace(",\"weight_bytes\":140000000000,\"device\":\"H100 SXM5\"", "");
    let (_folder, log) = written(&format!("{headless}{}{TAIL}", decode(",\"steps\":1000")));
    let unknown = report(&log, &[]);
    assert_eq!(codes(&unknown), ["ideal_unknown"]);
    assert_eq!(measure(&unknown["rows"][0], "program_decode_weights"), None);
    assert_eq!(unknown["rows"][0]["work"]["decode_tokens"], "1000");
    // Given on the command line, they settle it.
    let settled = report(&log, &["--model", "llama3.1-70b", "--device", "H100 SXM5", "--dtype", "bf16"]);
    let factor = measure(&settled["rows"][0], "program_decode_weights").unwrap();
    assert!((factor - 0.0052).abs() < 1e-4, "{factor}");
    // Without KV lengths the second floor is not known.
    assert_eq!(measure(&settled["rows"][0], "program_decode_weights_and_kv"), None);
    // An unknown device in the log is said, one on the command line refused.
    let (_folder, log) =
        written(&format!("{}{}{TAIL}", HEAD.replace("H100 SXM5", "Banana 9"), decode(",\"steps\":1000")));
    assert_eq!(codes(&report(&log, &[])), ["ideal_unknown"]);
    let output = run(&["serving", &log.display().to_string(), "--device", "Banana 9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stderr.contains("Banana 9"), "{}", output.stderr);
}

#[test]
fn what_is_no_log_is_refused() {
    for (text, says) in [
        ("", "empty"),
        ("not json\n", "header"),
        ("{\"goodput_serving\":2}\n", "version"),
        ("{\"goodput_serving\":1}\n", "place no replica"),
        ("{\"goodput_serving\":1,\"weight_bytes\":-1}\n", "weight_bytes: expected"),
        (
            "{\"goodput_serving\":1}\n{\"replica\":\"r\",\"at\":0,\"event\":\"placed\",\"devices\":0}\n",
            "devices: expected",
        ),
        ("{\"replica\":\"r\",\"at\":1,\"event\":\"ready\"}\n", "no header"),
    ] {
        let (_folder, log) = written(text);
        let output = run(&["serving", &log.display().to_string()]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(output.stderr.contains(says), "{says}: {}", output.stderr);
    }
    // A torn last line is located.
    let (_folder, log) = written(&format!("{HEAD}{TAIL}{{\"replica\":\"r\",\"at\":17672"));
    let report = report(&log, &[]);
    assert_eq!(report["read_report"]["files"][0]["findings"][0]["code"], "truncated_line");
}

/// A trace of three decode steps of 100 us: a kernel of 40 us from 10 us on, an exchange of 20 us after it, and 30 us of
/// nothing until the host launches the second kernel.
fn decode_trace() -> String {
    let mut events = Vec::new();
    for step in 1..=3 {
        let start = 100 * step;
        events.push(serde_json::json!({
            "ph": "X", "cat": "user_annotation", "name": format!("ProfilerStep#{step}"), "pid": 1, "tid": 1,
            "ts": start, "dur": 100,
        }));
        for (correlation, (launched, from, dur, name)) in (10 * step..).zip([
            (1, 10, 40, "ampere_gemm_128x128"),
            (3, 50, 20, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"),
            (99, 100, 10, "elementwise_kernel"),
        ]) {
            events.push(serde_json::json!({
                "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                "ts": start + launched, "dur": 1, "args": {"correlation": correlation},
            }));
            events.push(serde_json::json!({
                "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start + from, "dur": dur,
                "args": {"device": 0, "stream": 7, "correlation": correlation},
            }));
        }
    }
    serde_json::json!({"distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events}).to_string()
}

#[test]
fn traces_say_what_a_decode_step_waits_for() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("rank0.json");
    fs::write(&trace, decode_trace()).unwrap();
    let trace = trace.display().to_string();
    let report = report(Path::new(EXAMPLE), &["--trace", &trace]);
    let traced = &report["traced"];
    assert_eq!(
        (&traced["steps"], &traced["total_ns"]),
        (&Value::from(3), &Value::from(300_000)),
        "{traced:#}"
    );
    // 40 + 10 us of kernels, 20 of exchange, 29 until the host launches and 1 until what it launched starts.
    for (share, expected) in [
        ("compute_share", 0.5),
        ("exchange_share", 0.2),
        ("dispatch_share", 0.29),
        ("launch_share", 0.01),
        ("memory_share", 0.0),
        ("unattributed_share", 0.0),
    ] {
        let found = traced[share].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-12, "{share}: {found}");
    }
    assert!(
        report["read_report"]["files"].as_array().unwrap().iter().any(|file| file["path"] == trace.as_str())
    );
    let table = run(&["serving", EXAMPLE, "--trace", &trace]);
    assert!(table.stdout.contains("3 traced rank-steps: kernels 50.0%"), "{}", table.stdout);
    let page = run(&["serving", EXAMPLE, "--trace", &trace, "--format", "html"]);
    assert!(page.stdout.contains("id=\"traced-step\""), "{}", page.stderr);
}

#[test]
fn a_trace_that_says_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("rank0.json");
    for (text, says) in [("{\"traceEvents\": [", "rank0.json"), ("{\"traceEvents\": []}", "rank0.json")] {
        fs::write(&trace, text).unwrap();
        let output = run(&["serving", EXAMPLE, "--trace", &trace.display().to_string()]);
        assert_eq!(output.status.code(), Some(2), "{text}: {}", output.stdout);
        assert!(output.stderr.contains(says), "{says}: {}", output.stderr);
    }
    let missing = run(&["serving", EXAMPLE, "--trace", "nowhere.json"]);
    assert!(
        missing.status.code() == Some(2) && missing.stderr.contains("nowhere.json"),
        "{}",
        missing.stderr
    );
}

/// A week of a simulated fleet, written to `folder`.
fn simulated(folder: &Path, seed: &str) -> std::path::PathBuf {
    let out = folder.join(seed).display().to_string();
    assert!(run(&["simulate", "--serving", "--seed", seed, "-o", &out]).status.success());
    folder.join(seed).join("serving.jsonl")
}

/// The log with `factor` times the decode steps and tokens in the same time.
fn faster(log: &Path, factor: f64) -> std::path::PathBuf {
    let line = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if line["phase"] == "decode" {
            for field in ["steps", "tokens"] {
                line[field] = ((line[field].as_f64().unwrap() * factor).round() as u64).into();
            }
        }
        line.to_string()
    };
    let text: Vec<String> = fs::read_to_string(log).unwrap().lines().map(line).collect();
    let path = log.with_extension("faster.jsonl");
    fs::write(&path, text.join("\n") + "\n").unwrap();
    path
}

fn written_report(log: &Path, more: &[&str]) -> std::path::PathBuf {
    let out = log.with_extension("json");
    let report = report(log, more);
    fs::write(&out, report.to_string()).unwrap();
    out
}

fn compare(before: &Path, after: &Path, more: &[&str]) -> command::Output {
    let paths = [before, after].map(|path| path.display().to_string());
    run(&[&["compare", &paths[0], &paths[1]][..], more].concat())
}

#[test]
fn a_report_carries_its_contract() {
    let found = report(Path::new(EXAMPLE), &[]);
    let contract = &found["contract"];
    let value = |contract: &Value, field: &str| {
        let conditions = contract["conditions"].as_array().unwrap();
        let of = conditions.iter().find(|condition| condition["field"] == field);
        of.map(|of| format!("{} ({})", of["value"].as_str().unwrap(), of["source"].as_str().unwrap()))
    };
    for (field, expected) in [
        ("workload.model", "llama3.1-70b (records)"),
        ("system.devices", "16 (records)"),
        ("system.device_types", "H100 SXM5 (records)"),
        ("system.precision", "bf16 (records)"),
        ("system.pool", "serving (records)"),
        ("system.topology", "replicas of 8 devices (records)"),
        ("statistics.denominator", "in_service (records)"),
    ] {
        assert_eq!(value(contract, field).as_deref(), Some(expected), "{field}");
    }
    let factors: Vec<_> = contract["statistics"].as_array().unwrap().iter().map(|of| &of["factor"]).collect();
    assert_eq!(factors, ["scheduling", "runtime", "program"]);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("contract.yaml");
    let state = |yaml: &str| {
        fs::write(&file, yaml).unwrap();
        file.display().to_string()
    };
    let path = state("workload: {revision: abc}\nquality: {metric: win rate, target: 0.5, reached: 0.51}\n");
    let stated = report(Path::new(EXAMPLE), &["--contract", &path]);
    assert_eq!(value(&stated["contract"], "workload.revision").as_deref(), Some("abc (stated)"));
    let table = run(&["serving", EXAMPLE, "--contract", &path]).stdout;
    assert!(table.contains("3 stated") || table.contains("4 stated"), "{table}");
    assert!(table.contains("quality gate on win rate: passed"), "{table}");
    let page = run(&["serving", EXAMPLE, "--contract", &path, "--format", "html"]).stdout;
    assert!(page.contains("Conditions and where they are known from") && page.contains("win rate"));

    for (yaml, words) in [
        ("workload: {model: other}", ["workload.model", "records say llama3.1-70b"]),
        ("workload: {modle: x}", ["workload.modle", "workload.model"]),
    ] {
        let output = run(&["serving", EXAMPLE, "--contract", &state(yaml)]);
        assert_eq!(output.status.code(), Some(2));
        for word in words {
            assert!(output.stderr.contains(word), "{word}: {}", output.stderr);
        }
    }
}

#[test]
fn two_weeks_of_a_deployment_are_compared_by_days() {
    let folder = tempfile::tempdir().unwrap();
    let (log, other) = (simulated(folder.path(), "7"), simulated(folder.path(), "8"));
    let before = written_report(&log, &[]);
    let row = &report(&log, &[])["rows"][0];
    let days = row["days"].as_array().unwrap();
    assert_eq!(days.len(), 7);
    for (level, whole) in [("held_ns", &row["held_ns"]), ("ready_ns", &row["ready_ns"])] {
        assert_eq!(days.iter().map(|day| ns(&day[level])).sum::<i128>(), ns(whole), "{level}");
    }
    // Samples that cross midnight are divided, rounded down.
    let ideal: i128 = days.iter().map(|day| ns(&day["decode_ideal_ns"])).sum();
    let whole = ns(&row["work"]["decode_ideal_weights_ns"]);
    assert!((ideal - whole).abs() * 1_000_000 < whole, "{ideal} {whole}");

    let after = written_report(&faster(&log, 1.2), &[]);
    let found = compare(&before, &after, &["--format", "json"]);
    let view: Value = serde_json::from_str(&found.stdout).unwrap_or_else(|_| found.stderr.clone().into());
    assert_valid(&schema(include_str!("../../../schemas/compare.schema.json")), &view);
    assert_eq!((view["verdict"].as_str(), found.status.code()), (Some("accept"), Some(0)), "{view:#}");
    assert_eq!(view["lever"], "deployment");
    let product = view["product"]["value"].as_f64().unwrap();
    assert!((product - 1.2).abs() < 1e-3, "{product}");
    assert_eq!(view["before"]["runtime"], measure(row, "runtime").unwrap());
    assert_eq!(compare(&after, &before, &[]).status.code(), Some(1));
    let table = compare(&before, &after, &[]).stdout;
    assert!(table.contains("Accept: the deployment's product"), "{table}");
    assert!(compare(&before, &after, &["--format", "html"]).stdout.contains("Curves of one product"));

    // Another week of the same fleet decides nothing.
    let same = compare(&before, &written_report(&other, &[]), &["--format", "json"]);
    let view: Value = serde_json::from_str(&same.stdout).unwrap_or_else(|_| same.stderr.clone().into());
    assert_eq!(view["verdict"], "not_decided", "{view:#}");

    // Weights of half the bytes have another floor.
    let other = log.with_extension("int8.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains("\"weight_bytes\":140000000000"));
    fs::write(&other, text.replace("\"weight_bytes\":140000000000", "\"weight_bytes\":70000000000")).unwrap();
    let refused = compare(&before, &written_report(&other, &[]), &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stderr.contains("different ideals"), "{}", refused.stderr);
    let refused = compare(&before, &after, &["--lever", "pool"]);
    assert!(refused.status.code() == Some(2) && refused.stderr.contains("--lever"), "{}", refused.stderr);
}

#[test]
fn what_has_no_common_factor_is_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let copied = |name: &str, text: &str| {
        fs::write(file(name), text).unwrap();
        written_report(&file(name), &[])
    };
    let text = fs::read_to_string(EXAMPLE).unwrap();
    let short = copied("short.jsonl", &text);
    let later = copied("later.jsonl", &text.replace("2026-11-30", "2026-12-01").replace("burst", "extra"));
    // Hours, no days: judged, and nothing decided.
    let found = compare(&short, &later, &[]);
    assert_eq!(found.status.code(), Some(1), "{}", found.stderr);
    let said = found.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("account windows of three days or more"), "{said}");
    // Two deployments in one report.
    let second = HEAD.replace("\"replica\":\"r\"", "\"replica\":\"other\"");
    let both = copied("both.jsonl", &format!("{HEAD}{TAIL}{}", second.replace("\"d\"", "\"e\"")));
    let alone = copied("alone.jsonl", &format!("{HEAD}{TAIL}"));
    let refused = compare(&alone, &both, &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(refused.stderr.contains("d on H100 SXM5; e on H100 SXM5"), "{}", refused.stderr);
    // Training.
    let training = file("training.json");
    let job = data_timeline();
    let output = run(&["timeline", &job, "--format", "json", "-o", &training.display().to_string()]);
    assert!(output.status.success(), "{}", output.stderr);
    for (one, other) in [(&short, &training), (&training, &short)] {
        let refused = compare(one, other, &[]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(refused.stderr.contains("no ratio with training"), "{}", refused.stderr);
    }
    // Nor do decisions on training read it.
    let short = short.display().to_string();
    let history = file("history").display().to_string();
    for args in [&["lint", &short][..], &["baseline", "update", &history, &short]] {
        let refused = run(args);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("a report of serving"), "{args:?}: {}", refused.stderr);
    }
}

fn data_timeline() -> String {
    command::data().join("timelines").join("fault-mid-step.jsonl").display().to_string()
}
