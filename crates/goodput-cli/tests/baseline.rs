//! `goodput baseline`: reports become a history, and its check says what became worse.
#![allow(clippy::unwrap_used)]

mod command;

use std::path::Path;

use command::{json, run};
use jsonschema::Validator;
use serde_json::{Value, json};

fn schema(text: &str) -> Validator {
    jsonschema::draft202012::new(&serde_json::from_str(text).unwrap()).unwrap()
}

#[track_caller]
fn assert_valid(schema: &Validator, document: &Value) {
    let errors: Vec<_> =
        schema.iter_errors(document).take(5).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn check_schema() -> Validator {
    schema(include_str!("../../../schemas/baseline.schema.json"))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Daily rows of a job whose MFU falls by a tenth on day 40, when NCCL changes.
fn regressed(path: &Path) {
    let rows: String = (0..60_i64)
        .map(|day| {
            let late = day >= 40;
            let noise = 1.0 + 0.01 * ((day * 37 % 11) as f64 / 5.0 - 1.0);
            let from_ns = (20_000 + day) * 86_400_000_000_000;
            let row = json!({
                "schema": "goodput.baseline-row/1", "kind": "job", "day": format!("2024-{:02}-{:02}", 10 + day / 28, 1 + day % 28),
                "from_ns": from_ns, "to_ns": from_ns + 86_400_000_000_000_i64, "job": "pretrain|70b", "devices": 512,
                "software": {"nccl": if late { "2.27" } else { "2.26" }},
                "program": {
                    "mfu": 0.4 * noise * if late { 0.9 } else { 1.0 }, "ideal": "compute", "device": "H100-SXM5", "dtype": "bf16",
                    "peak_flops_per_second": 989e12, "convention": "model FLOPs", "coverage": 1.0
                },
                "slowest": {"ranks": 512, "rank": 17, "host": "node-0017", "p50_s": 2.2, "typical_p50_s": 2.0},
                "factors": {"runtime_coverage": 1.0, "program_coverage": 1.0}, "contract": "c", "report": format!("r{day}")
            });
            format!("{row}\n")
        })
        .collect();
    std::fs::write(path, rows).unwrap();
}

#[test]
fn two_accounts_become_a_history_and_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let history = text(&folder.path().join("history.jsonl"));
    let (fleet, job) = (text(&folder.path().join("fleet.json")), text(&folder.path().join("job.json")));
    assert!(run(&["demo", "--format", "json", "-o", &fleet]).status.success());
    assert!(
        run(&["timeline", "timelines/final-eval.jsonl", "--format", "json", "-o", &job]).status.success()
    );
    let update =
        ["baseline", "update", &history, &fleet, &job, "--policy", "backfill v7", "--format", "json"];
    let added = json(&update);
    assert_valid(&schema(include_str!("../../../schemas/baseline-update.schema.json")), &added);
    assert!(added["added"].as_u64().unwrap() > 20 && added["known"] == 0, "{added}");
    let row_schema = schema(include_str!("../../../schemas/baseline-row.schema.json"));
    let rows: Vec<Value> = std::fs::read_to_string(&history)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    rows.iter().for_each(|row| assert_valid(&row_schema, row));
    // Pools have queue waits, jobs an MFU with all that it is relative to, and both the policy.
    assert!(rows.iter().any(|row| row["kind"] == "pool" && row["allocation"]["wait_p50_s"].is_number()));
    assert!(rows.iter().any(|row| row["job"] == "pretrain-70b" && row["program"]["convention"].is_string()));
    assert!(rows.iter().all(|row| row["policy"] == "backfill v7"));

    let again = json(&update);
    assert_eq!((&again["added"], &again["known"]), (&json!(0), &added["added"]));

    let report = json(&["baseline", "check", &history, "--format", "json"]);
    assert_valid(&check_schema(), &report);
    assert_eq!(report["verdict"], "not_enough_history");
    assert_eq!(run(&["baseline", "check", &history, "--strict"]).status.code(), Some(1));
    let page = run(&["baseline", "check", &history]).stdout;
    assert!(page.contains("Not enough history") && page.contains("of the 21 reports"), "{page}");
}

#[test]
fn a_regression_fails_and_is_tied_to_its_release() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    regressed(&path);
    let history = text(&path);
    let output = run(&["baseline", "check", &history, "--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_valid(&check_schema(), &report);
    let change = &report["changes"][0];
    assert_eq!((&change["metric"], &change["causes"][0]["what"]), (&json!("mfu"), &json!("nccl")));
    assert!((change["relative"].as_f64().unwrap() + 0.1).abs() < 0.02, "{change}");
    let slow = &report["slow_hosts"][0];
    assert_eq!(slow["host"], "node-0017");

    for (format, part) in [
        ("table", "nccl 2.26 -> 2.27"),
        ("markdown", "| worse | MFU of retained steps | pretrain\\|70b |"),
        ("html", "MFU of retained steps of pretrain|70b"),
    ] {
        let output = run(&["baseline", "check", &history, "--format", format]);
        assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
        assert!(
            output.stdout.contains(part),
            "{format}: {}",
            output.stdout.chars().take(3000).collect::<String>()
        );
    }
    // What is older, smaller or of another tier than asked for does not count.
    for args in [
        &["--since", "2024-12-30"][..],
        &["--tier", "startup-recovery"],
        &["--tier", "mfu", "--threshold", "30%"],
    ] {
        let output = run(&[&["baseline", "check", &history][..], args].concat());
        let late = args[0] == "--since";
        assert_eq!(output.status.code(), Some(0), "{late} {args:?}: {}", output.stdout);
    }
}

/// The table of changes fits a window of 1200 px: lines that the page does not break are short, in every cell.
#[test]
fn the_table_of_changes_needs_no_scrolling() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    regressed(&path);
    let page = run(&["baseline", "check", &text(&path), "--format", "html"]).stdout;
    let (_, table) = page.split_once("<caption>Every change").unwrap();
    let (table, _) = table.split_once("</table>").unwrap();
    let cells: Vec<(&str, &str)> = table
        .split("<td")
        .skip(1)
        .map(|cell| cell.split_once("</td>").unwrap().0.split_once('>').unwrap())
        .collect();
    assert_eq!(cells.len() % 8, 0, "{cells:?}");
    for (class, cell) in cells.iter().filter(|(class, _)| class.contains("number") || class.contains("short"))
    {
        assert!(cell.lines().all(|line| line.trim().chars().count() <= 16), "{class}: {cell}");
    }
    // An interval and two levels, a line each.
    assert!(cells.iter().any(|(class, cell)| class.contains("number") && cell.trim().lines().count() == 3));
    assert!(cells.iter().any(|(class, cell)| class.contains("number") && cell.trim().lines().count() == 2));
}

/// A host that is slow from day 40 on, in the middle of a job's life: one regression, of which the figure's rise names the host.
#[test]
fn a_slow_host_is_one_regression() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    regressed(&path);
    let rows: String = std::fs::read_to_string(&path)
        .unwrap()
        .lines()
        .enumerate()
        .map(|(day, line)| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            row["program"] = Value::Null;
            if day < 40 {
                row["slowest"]["host"] = json!(format!("node-{:04}", day % 7));
                row["slowest"]["p50_s"] = json!(2.02 + 0.01 * (day % 3) as f64);
            }
            format!("{row}\n")
        })
        .collect();
    std::fs::write(&path, rows).unwrap();
    let check = |format: &str| run(&["baseline", "check", &text(&path), "--format", format]);
    let output = check("json");
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_valid(&check_schema(), &report);
    assert_eq!((&report["regressions"], &report["slow_hosts"][0]["host"]), (&json!(1), &json!("node-0017")));
    let change = &report["changes"][0];
    assert_eq!((&change["metric"], &change["slow_host"]), (&json!("slowest_rank"), &json!("node-0017")));
    let gray =
        report["tiers"].as_array().unwrap().iter().find(|tier| tier["tier"] == "gray_failure").unwrap();
    assert_eq!(gray["regressions"], 1);
    for format in ["markdown", "html"] {
        assert!(check(format).stdout.contains("slow host node-0017, counted once"), "{format}");
    }
    assert!(check("table").stdout.contains("1 regression since"));
}

#[test]
fn what_is_no_history_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    regressed(&path);
    let whole = std::fs::read_to_string(&path).unwrap();
    // A torn last line is refused with its number, the rest is checked, and an update begins a line of its own.
    std::fs::write(&path, &whole[..whole.len() - 40]).unwrap();
    let history = text(&path);
    let output = run(&["baseline", "check", &history]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.contains("line 60: torn"), "{}", output.stdout);
    let job = text(&folder.path().join("job.json"));
    run(&["timeline", "timelines/final-eval.jsonl", "--format", "json", "-o", &job]);
    let output = run(&["baseline", "update", &history, &job]);
    assert_eq!(output.status.code(), Some(1), "a line was refused: {}", output.stdout);
    let lines = std::fs::read_to_string(&path).unwrap();
    assert_eq!(lines.lines().count(), 61);
    assert!(serde_json::from_str::<Value>(lines.lines().last().unwrap()).is_ok());

    for (content, part) in [("", "is empty"), ("{\"schema\": 1}\n", "none of its 1 lines is a row; line 1")] {
        std::fs::write(&path, content).unwrap();
        let output = run(&["baseline", "check", &history]);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stderr.contains(part), "{}", output.stderr);
    }
    std::fs::write(&path, whole).unwrap();
    for (args, part) in [
        (&["check", "none.jsonl"][..], "none.jsonl"),
        (&["check", &history, "--job", "other"], "it has pretrain|70b"),
        (&["check", &history, "--since", "soon"], "--since soon"),
        (&["check", &history, "--false-alarms", "5"], "expected a share below one"),
        (&["update", &history, "none.json"], "none.json"),
        (&["update", &history, &history], "found a history of reports"),
    ] {
        let output = run(&[&["baseline"][..], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stderr.contains(part), "{}", output.stderr);
    }
}
