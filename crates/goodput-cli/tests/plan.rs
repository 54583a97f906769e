//! `goodput plan`: the example, a plan that reads a report, and what is refused.
#![allow(clippy::unwrap_used)]

mod command;

use command::{json, run};
use serde_json::Value;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plan.yaml");

#[test]
fn the_example() {
    let view = json(&["plan", EXAMPLE, "--format", "json"]);
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/plan.schema.json")).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<_> = schema.iter_errors(&view).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let answers = view["answers"].as_array().unwrap();
    let figure = |question: &str, key: &str| {
        let answer = answers.iter().find(|answer| answer["question"] == question).unwrap();
        let figures = answer["figures"].as_array().unwrap();
        figures.iter().find(|figure| figure["key"] == key).unwrap()["value"].as_f64().unwrap()
    };
    // The chapter's figures.
    assert!((figure("runtime", "interval_s") / 60.0 - 76.936).abs() < 1e-3);
    assert!((figure("runtime", "runtime_goodput") - 0.90395).abs() < 5e-6);
    assert!((figure("runtime", "failures_overtake_input_devices") - 12_857.14).abs() < 5e-3);
    assert!((figure("cadence", "interval_s") / 60.0 - 20.875).abs() < 1e-3);
    assert!((figure("fleet", "mpg") - 0.282_273).abs() < 5e-7);
    assert!((figure("fleet", "cost_per_useful_device_hour") - 7.0853).abs() < 5e-5);
    assert!((figure("trade", "product") - 1.00833).abs() < 5e-6);
    assert!((figure("sizing", "break_even_pause_s") / 3600.0 - 8.889).abs() < 5e-4);
    assert!((figure("build", "break_even_executions") - 295_890.41).abs() < 5e-3);
    for answer in answers {
        assert!(!answer["verdict"].as_str().unwrap().is_empty());
        assert!(answer["question"] == "trade" || answer["inputs"].as_array().unwrap().len() > 2);
    }
    assert_eq!(view, json(&["plan", EXAMPLE, "--format", "json"]), "the same seed, the same answers");
    let table = run(&["plan", EXAMPLE]);
    for text in ["How often to save", "Time to result", "dominated", "reliability.mtbf 302 h"] {
        assert!(table.stdout.contains(text), "{text}: {}", table.stdout);
    }
    let page = run(&["plan", EXAMPLE, "--format", "html"]);
    for text in ["The efficiency frontier", "Inputs: ", "plan-0"] {
        assert!(page.stdout.contains(text), "{text}");
    }
}

/// A table of many configurations with long names: names in full, other rows by their number, nothing squeezed.
#[test]
fn the_page_of_a_frontier_with_long_names() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.yaml");
    let option = |place: &str, price: f64| {
        format!(
            "    - {{name: H100 SXM5 with a three year commitment in {place} and an interleaved schedule, price: {{per_device_hour: {price}}}}}\n"
        )
    };
    let text = format!(
        "job: {{devices: 8, ideal: 100 device-hours}}\nfactors: {{program: 0.5}}\nquestions:\n- ask: frontier\n  options:\n{}{}",
        option("us-east", 2.0),
        option("us-west", 3.0)
    );
    std::fs::write(&plan, text).unwrap();
    let page = run(&["plan", &plan.display().to_string(), "--format", "html"]).stdout;
    for text in [
        "commitment in us-west and an interleaved schedule</td>",
        "<td class=\"short\">2</td>",
        "dominated by no. 1</td>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // The terminal and JSON name the other row.
    let table = run(&["plan", &plan.display().to_string(), "--format", "json"]).stdout;
    assert!(table.contains("dominated by H100 SXM5 with a three year commitment in us-east"), "{table}");
}

#[test]
fn inputs_read_from_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let report = run(&["timeline", "timelines/fault-mid-step.jsonl", "--format", "json"]);
    std::fs::write(folder.path().join("job.json"), report.stdout).unwrap();
    let plan = folder.path().join("plan.yaml");
    std::fs::write(
        &plan,
        "job: {held: {from: job.json}}
startup: {from: job.json}
input_wait: {from: job.json}
questions: [runtime]
",
    )
    .unwrap();
    let view = json(&["plan", &plan.display().to_string(), "--format", "json"]);
    let inputs = view["answers"][0]["inputs"].as_array().unwrap();
    let startup = inputs.iter().find(|input| input["field"] == "startup").unwrap();
    assert_eq!((&startup["source"], &startup["measured"]), (&"report".into(), &true.into()));
    assert!(startup["evidence"].as_str().unwrap().starts_with("job.json: "));
    // People read what was measured with its unit, in the digits of a sheet.
    let table = run(&["plan", &plan.display().to_string()]).stdout.replace('\n', " ");
    for (field, said) in
        [("startup", startup), ("job.held", inputs.iter().find(|i| i["field"] == "job.held").unwrap())]
    {
        let text = said["text"].as_str().unwrap();
        assert!([" s", " min", " h", " d"].iter().any(|unit| text.ends_with(unit)), "{field}: {text}");
        assert!(table.contains(&format!("{field} {text} (job.json: ")), "{field} {text}: {table}");
    }
    assert!(
        startup["evidence"].as_str().unwrap().contains("launch") && !table.contains("launchs"),
        "{table}"
    );
}

#[test]
fn a_plan_that_cannot_be_answered() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.yaml");
    for (yaml, message) in [
        ("startup: {from: ../job.json}\nquestions: [runtime]", "below its own folder"),
        ("startup: {from: /etc/hostname}\nquestions: [runtime]", "below its own folder"),
        ("questions: [runtime]", "questions[0].job.held: missing"),
        ("job: {held: 12}\nquestions: [runtime]", "job.held: found 12, expected a duration"),
    ] {
        std::fs::write(&plan, yaml).unwrap();
        let output = run(&["plan", &plan.display().to_string()]);
        assert_eq!(output.status.code(), Some(2), "{yaml}");
        assert!(output.stderr.contains(message), "{}", output.stderr);
        assert!(output.stderr.contains("docs/plan.md"), "{}", output.stderr);
    }
}
