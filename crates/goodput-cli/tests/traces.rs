//! Published traces through the generic import: their baselines come out of the report.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod command;

use std::path::{Path, PathBuf};

use command::{run, shared};
use serde_json::Value;

fn map(name: &str) -> String {
    let maps = Path::new(env!("CARGO_MANIFEST_DIR")).join("../goodput-records/tests/data/maps");
    maps.join(name).display().to_string()
}

fn report(map_and_files: &[(&str, PathBuf)], extra: &[&str]) -> Value {
    let mut args = vec!["account".to_owned(), "--format".to_owned(), "json".to_owned()];
    for (name, file) in map_and_files {
        args.extend(["--import".to_owned(), format!("{}={}", map(name), file.display())]);
    }
    args.extend(extra.iter().map(|&arg| arg.to_owned()));
    let output = run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

fn hours(value: &Value) -> f64 {
    value.as_str().unwrap().parse::<i128>().unwrap() as f64 / 3.6e12
}

fn level(scope: &Value, name: &str) -> f64 {
    hours(&scope["capacity_time"][name])
}

fn has_warning(report: &Value, code: &str) -> bool {
    report["warnings"].as_array().unwrap().iter().any(|warning| warning["code"] == code)
}

#[test]
fn helios_earth_at_both_scopes() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("scheduler/traces/helios-earth-vc");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "gz")).collect();
    files.sort();
    let files: Vec<_> = files.into_iter().map(|file| ("helios-vc.yaml", file)).collect();
    let report = report(&files, &[]);
    assert_eq!(level(&report, "offered_ns"), 636_864.0);
    assert_eq!(level(&report, "held_ns").round(), 424_773.0);
    let pools = report["pools"].as_array().unwrap();
    let of_pools =
        |name: &str| pools.iter().map(|pool| hours(&pool["diagnostics"][name])).sum::<f64>().round();
    assert_eq!(of_pools("free_queue_empty_ns"), 202_853.0);
    assert_eq!(of_pools("free_queue_waiting_ns"), 9_239.0);
    assert_eq!(of_pools("free_other_pool_waiting_ns"), 161_766.0);
    let of_fleet = |name: &str| hours(&report["diagnostics"][name]).round();
    assert_eq!(of_fleet("quota_stranded_ns"), 36_309.0);
    assert_eq!(of_fleet("free_queue_empty_ns"), 41_086.0);
    assert_eq!(of_fleet("demand_ns"), 45_672.0);
    for (name, held, empty, waiting) in [
        ("vc6YE", 139_683.7, 11_560.3, 3_508.0),
        ("vcpDC", 37_930.9, 2_524.6, 1_208.5),
        ("vcJkd", 101.1, 11_802.9, 0.0),
    ] {
        let pool = pools.iter().find(|pool| pool["name"] == name).unwrap();
        let near = |value: f64, expected: f64| {
            assert!((value - expected).abs() < 0.06, "{name}: {value} {expected}")
        };
        near(level(pool, "held_ns"), held);
        near(hours(&pool["diagnostics"]["free_queue_empty_ns"]), empty);
        near(hours(&pool["diagnostics"]["free_queue_waiting_ns"]), waiting);
    }
    assert!(has_warning(&report, "all_pools_idle"), "the hole in the data is named");
}

#[test]
fn openb_pods_that_share_devices() {
    let Some(shared) = shared() else { return };
    let file = |name: &str| ("openb.yaml", shared.join("scheduler/traces/alibaba-openb").join(name));
    let files = [file("openb_pod_list_default.csv"), file("openb_node_list_gpu_node.csv")];
    let report = report(&files, &[]);
    assert_eq!((level(&report, "held_ns") * 10.0).round(), 514_707.0);
    let states = report["held_by_state"].as_object().unwrap();
    let of_state = |name: &str| hours(&states[name]).round();
    assert_eq!((of_state("RUNNING"), of_state("COMPLETED"), of_state("FAILED")), (46_440.0, 4_095.0, 936.0));
    assert!(has_warning(&report, "load_incomplete"), "the pods are a sample of the load");
    let listed: f64 = report["jobs"].as_array().unwrap().iter().map(|job| level(job, "held_ns")).sum();
    let omitted = hours(&report["jobs_omitted"]["held_ns"]);
    assert!((listed + omitted - level(&report, "held_ns")).abs() < 1e-6, "{listed} {omitted}");
    assert!(report["jobs_omitted"]["count"].as_u64().unwrap() > 6_000);
}
