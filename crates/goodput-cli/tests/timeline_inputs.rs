//! Logs as they are found: several writers, several files, lines out of order, files that are no log.

mod command;
mod job_log;

use std::path::Path;

use command::run;
use job_log::*;
use serde_json::{Value, json};

#[test]
fn several_writers_are_one_job_whatever_their_clocks_and_the_order_of_their_lines() {
    let right = [("startup", 110.0)];
    let mixed = |offsets: &[f64]| {
        let mut lines: Vec<Value> = offsets.iter().flat_map(|o| ml_steps(0..20, 110.0 + o)).collect();
        lines.sort_by(|a, b| {
            a["step_start_time"].as_f64().partial_cmp(&b["step_start_time"].as_f64()).unwrap()
        });
        [ml_start(0), lines, ml_end(150)]
    };
    for offsets in [[0.0, 0.01, 0.02], [0.0, 0.25, 0.875], [0.0, 0.5, 1.0]] {
        Case::new(&mixed(&offsets)).is(150.0, 40.0, &right);
    }
    // One writer's log after the other's.
    let one = || [ml_start(0), ml_steps(0..20, 110.0), ml_end(150)].concat();
    let report = Case::new(&[one(), one()]).is(150.0, 40.0, &right);
    assert!(finding(&report, "out_of_order").is_some());
    // Two lines swapped.
    let mut swapped = one();
    swapped.swap(10, 15);
    let report = Case::new(&[swapped]).is(150.0, 40.0, &right);
    assert_eq!(finding(&report, "out_of_order").unwrap()["line"], 12);
    // Clocks further apart than a step's time cannot be told from rollbacks, and the page says so.
    assert!(warns(&Case::new(&mixed(&[0.0, 1.75])).report(), "rollbacks_without_start"));
}

#[test]
fn a_jobs_files_are_one_timeline_in_any_order_and_twice() {
    let file = |i: i64| {
        [
            header(json!({"devices": 8})),
            launch(i * 100),
            steps(i * 10..i * 10 + 10, i * 100 + 50, 2, json!({})),
        ]
    };
    let right = [("startup", 400.0), ("recovery", 1280.0)];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        Case::new(&file(order[0])).log(&file(order[1])).log(&file(order[2])).is(2160.0, 480.0, &right);
    }
    Case::new(&file(0)).log(&file(0)).is(560.0, 160.0, &[("startup", 400.0)]);
    // `account` takes them as one timeline too.
    let folder = Case::new(&file(0)).log(&file(1));
    let sacct = folder.write(
        "fleet.txt",
        format!(
            "JobIDRaw|State|Submit|Eligible|Start|End|AllocTRES|NNodes|NodeList|Partition\n\
             7|COMPLETED|{T0}|{T0}|{T0}|{}|gres/gpu=8|1|n1|train\n",
            T0 + 180
        ),
    );
    let events = folder.write(
        "events.txt",
        format!("ClusterNodes|NodeName|Start|End|State|Reason|TRES|User\nn1||{T0}|Unknown||Registered|gres/gpu=8,node=1|\n"),
    );
    let fleet = |logs: &[&Path]| {
        let mut args = ["account", "--format", "json", "--sacct"].map(|s| s.to_owned()).to_vec();
        args.extend([path(&sacct), "--events".to_owned(), path(&events), "--timeline".to_owned()]);
        args.extend(logs.iter().map(|log| path(log)));
        command::json(&args)
    };
    let (first, second) = (Path::new(&folder.args[0]), Path::new(&folder.args[1]));
    for logs in [[first, second], [second, first]] {
        let report = fleet(&logs);
        let capacity = &report["jobs"][0]["capacity_time"];
        assert_eq!(capacity["retained_ns"], (8 * 40_000_000_000_i64).to_string());
        assert_eq!(capacity["runtime_losses"]["recovery_ns"], (8 * 80_000_000_000_i64).to_string());
    }
    let nameless = folder.write(
        "nameless.jsonl",
        std::fs::read_to_string(first).unwrap().replace("\"job\":\"7\"", "\"job\":null"),
    );
    let report = fleet(&[&nameless]);
    assert!(warns(&report, "timeline_without_job"), "{}", report["warnings"]);
}

fn path(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn what_is_no_log_is_refused_with_what_to_do() {
    let folder = Case::new(&[header(json!({})), launch(0), steps(0..10, 100, 2, json!({}))]);
    let torn = {
        use std::io::Write as _;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(&std::fs::read(&folder.args[0]).unwrap()).unwrap();
        let whole = gzip.finish().unwrap();
        whole[..whole.len() - 20].to_vec()
    };
    for (name, bytes, said) in [
        ("empty", Vec::new(), "empty"),
        ("blank", b"\n \n".to_vec(), "empty"),
        ("binary", (0..=255).cycle().take(4096).collect(), "formats that can be read"),
        ("torn.gz", torn, "cut off"),
        ("newer", b"{\"goodput_timeline\":2}\n".to_vec(), "version 1"),
        (
            "headless",
            b"{\"goodput_timeline\":1,\"job\":\"a\",\"job\":\"b\"}\n{\"step\":0}\n".to_vec(),
            "header",
        ),
    ] {
        let path = folder.folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let output = run(&["timeline", &path.display().to_string()]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", output.stdout);
        assert!(output.stderr.contains(said), "{name}: {}", output.stderr);
    }
}

#[test]
fn slices_are_devices_once_somebody_says_how_many() {
    let slices = |active: u64, at: i64| {
        vec![entry(
            json!({"active_slices": active, "total_slices": 2, "elastic_slice_counts_timestamp": T0 + at}),
        )]
    };
    let log = [slices(2, 0), ml_start(0), ml_steps(0..10, 110.0), ml_end(130)];
    let report = Case::new(&log).is(2.0 * 130.0, 2.0 * 20.0, &[("startup", 2.0 * 110.0)]);
    assert!(finding(&report, "slices_not_devices").is_some());
    let stated = Case::new(&log).arg(&["--devices-per-slice", "16"]);
    stated.is(32.0 * 130.0, 32.0 * 20.0, &[("startup", 32.0 * 110.0)]);
}

#[test]
fn a_fleets_window_inside_a_jobs_life_cuts_what_it_held_and_not_what_is_known() {
    // Evicted at 210, again from 400; 50 steps, then from step 30 on, then silence from 600 to the release at 5000.
    let case = Case::new(&[
        header(json!({"devices": 8})),
        launch(0),
        steps(0..50, 100, 2, json!({})),
        launch(400),
        steps(30..80, 500, 2, json!({})),
    ]);
    let sacct = case.write(
        "fleet.txt",
        format!(
            "JobIDRaw|State|Submit|Eligible|Start|End|AllocTRES|NNodes|NodeList|Partition\n\
             7|PREEMPTED|{T0}|{T0}|{T0}|{}|gres/gpu=8|1|n1|train\n\
             7|TIMEOUT|{}|{}|{}|{}|gres/gpu=8|1|n1|train\n",
            T0 + 210,
            T0 + 210,
            T0 + 210,
            T0 + 400,
            T0 + 5000
        ),
    );
    let events = case.write(
        "events.txt",
        format!("ClusterNodes|NodeName|Start|End|State|Reason|TRES|User\nn1||{T0}|Unknown||Registered|gres/gpu=8,node=1|\n"),
    );
    let within = |from: i64, to: i64| {
        let (from, to) = ((T0 + from).to_string(), (T0 + to).to_string());
        let report = command::json(&[
            "account",
            "--format",
            "json",
            "--sacct",
            &path(&sacct),
            "--events",
            &path(&events),
            "--timeline",
            &case.args[0],
            "--from",
            &from,
            "--to",
            &to,
        ]);
        let doubtful = ["outside_held", "clocks_disagree"].iter().any(|code| warns(&report, code));
        assert!(!doubtful, "{}", report["warnings"]);
        let capacity = report["jobs"][0]["capacity_time"].clone();
        let of =
            move |value: &Value| value.as_str().map_or(0, |ns| ns.parse::<i64>().unwrap() / 8_000_000_000);
        let lost = |word: &str| of(&capacity["runtime_losses"][format!("{word}_ns")]);
        (of(&capacity["held_ns"]), of(&capacity["retained_ns"]), lost("preemption"), lost("hang"))
    };
    // Steps 25-29 are kept; 30-49 are the eviction's, and so are 200-210 and 400-500.
    assert_eq!(within(150, 300), (60, 10, 50, 0));
    assert_eq!(within(450, 700), (250, 100, 50, 100));
    // The silence is a hang although the window ends soon after the last step: nothing was released.
    assert_eq!(within(580, 900), (320, 20, 0, 300));
}
