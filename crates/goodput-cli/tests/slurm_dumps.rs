//! Every form in which Slurm writes its records, through the binary: the right answer, or a refusal that says where and
//! what to do.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod command;

use std::path::{Path, PathBuf};

use command::{Output, run, shared};
use serde_json::Value;

/// A dump of one cluster, and the window of its right answers.
struct Dump {
    folder: PathBuf,
    name: &'static str,
    from: i64,
    to: i64,
}

fn dumps() -> Vec<Dump> {
    let Some(shared) = shared() else { return Vec::new() };
    let windows = [
        ("22.05.8", 1_795_973_123, 1_795_973_435),
        ("24.11.5", 1_795_973_617, 1_795_974_015),
        ("22.05.8-load", 1_795_973_123, 1_795_974_748),
    ];
    let dump = |(name, from, to)| Dump { folder: shared.join("scheduler/slurm").join(name), name, from, to };
    windows.map(dump).into()
}

impl Dump {
    fn path(&self, file: &str) -> String {
        let path = Path::new(file);
        if path.is_absolute() { file.to_owned() } else { self.folder.join(path).display().to_string() }
    }

    /// Accounts the dump's window, its end moved by `seconds`.
    fn account(&self, files: &[(&str, &str)], extra: &[&str], seconds: i64) -> Output {
        let mut args = vec!["account".to_owned(), "--format".to_owned(), "json".to_owned()];
        for (option, file) in files {
            args.extend([(*option).to_owned(), self.path(file)]);
        }
        args.extend(["--from".to_owned(), self.from.to_string()]);
        args.extend(["--to".to_owned(), (self.to + seconds).to_string()]);
        args.extend(extra.iter().map(|&arg| arg.to_owned()));
        run(&args)
    }

    /// With the dump's own events and nodes.
    fn sacct(&self, file: &str, extra: &[&str], seconds: i64) -> Output {
        let extra = [&["--time-zone", "UTC"], extra].concat();
        self.account(&[("--sacct", file), EVENTS, NODES], &extra, seconds)
    }
}

const EVENTS: (&str, &str) = ("--events", "event-all.txt");
const NODES: (&str, &str) = ("--nodes", "scontrol-node.txt");
const UTC: [&str; 2] = ["--time-zone", "UTC"];

fn report(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr);
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_balanced(&report);
    report
}

/// Offered less held is the sum of the losses, in the fleet and in each pool, and the pools sum to the fleet.
fn assert_balanced(report: &Value) {
    let pools = report["pools"].as_array().unwrap();
    for scope in pools.iter().chain([report]) {
        let losses = scope["capacity_time"]["scheduling_losses"].as_object().unwrap();
        let lost: i128 = losses.values().map(integer).sum();
        assert_eq!(level(scope, "offered_ns") - level(scope, "held_ns"), lost, "{scope}");
    }
    for name in ["offered_ns", "held_ns"] {
        assert_eq!(pools.iter().map(|pool| level(pool, name)).sum::<i128>(), level(report, name), "{name}");
    }
}

fn level(scope: &Value, name: &str) -> i128 {
    integer(&scope["capacity_time"][name])
}

fn integer(value: &Value) -> i128 {
    value.as_str().unwrap_or_default().parse().unwrap()
}

fn held_seconds(report: &Value) -> i128 {
    level(report, "held_ns") / 1_000_000_000
}

fn out_of_service_seconds(report: &Value) -> i128 {
    integer(&report["out_of_service_ns"]) / 1_000_000_000
}

fn refuses(output: &Output, words: &[&str]) {
    assert_eq!((output.status.code(), output.stdout.as_str()), (Some(2), ""), "{words:?}: {}", output.stderr);
    for word in words {
        assert!(output.stderr.contains(word), "no {word:?} in {}", output.stderr);
    }
}

fn codes(report: &Value) -> Vec<&str> {
    report["warnings"].as_array().unwrap().iter().filter_map(|w| w["code"].as_str()).collect()
}

/// Files by what must come out of them in the three dumps, in device-seconds held; zero where a dump has no such file.
#[test]
fn job_tables_in_every_form_hold_what_the_cluster_held() {
    const NO_HEADER: [&str; 2] = ["--sacct-format", "JobID,State,Submit,Start,End,AllocTRES,NodeList"];
    let forms: [(&str, &[&str], [i128; 3]); 7] = [
        ("sacct-delim.txt", &[], [14_111, 15_567, 72_947]),
        ("sacct-noheader.txt", &NO_HEADER, [14_111, 15_567, 72_947]),
        ("sacct-json-dup.json", &[], [14_111, 15_567, 0]),
        ("sacct-json-dup.json.gz", &[], [0, 0, 72_947]),
        // Before 24.11 JSON holds every attempt without -D too.
        ("sacct-json.json", &[], [14_111, 14_487, 0]),
        // Without -D earlier attempts are missing. 13,143 and 70,811 are plain sums; a resize overlaps by 128.
        ("sacct-parsable-trailing.txt", &[], [13_143 - 128, 14_487, 70_811 - 128]),
        ("sacct-delim.txt", &["--denominator", "installed"], [14_111, 15_567, 72_947]),
    ];
    for (number, dump) in dumps().iter().enumerate() {
        for (file, extra, held) in &forms {
            if held[number] != 0 {
                let report = report(&dump.sacct(file, extra, 0));
                assert_eq!(held_seconds(&report), held[number], "{} {file}", dump.name);
            }
        }
    }
}

/// These files were written some seconds before the window ends, so they are compared over a shorter one.
#[test]
fn tables_with_other_columns_steps_and_delimiters_give_the_same_ledger() {
    const EARLIER_S: i64 = -9;
    for dump in &dumps() {
        let ledger = |file: &str| report(&dump.sacct(file, &[], EARLIER_S))["capacity_time"].clone();
        let all_attempts = ledger("sacct-delim.txt");
        for file in ["sacct-alloc-dup.txt", "sacct-parsable2-dup.txt", "sacct-ALL.txt"] {
            if dump.folder.join(file).exists() {
                assert_eq!(ledger(file), all_attempts, "{} {file}", dump.name);
            }
        }
        let newest_attempts = ledger("sacct-parsable-trailing.txt");
        for file in ["sacct-alloc.txt", "sacct-parsable2-full.txt"] {
            // Between this file and the next a job of the load was requeued, and its first attempt vanished.
            if (dump.name, file) == ("22.05.8-load", "sacct-parsable2-full.txt") {
                continue;
            }
            let of_file = ledger(file);
            assert_eq!(of_file["held_ns"], newest_attempts["held_ns"], "{} {file}", dump.name);
        }
    }
}

/// A way to write the instant that a UTC stamp names.
type Notation = fn(&str) -> String;

#[test]
fn stamps_in_another_notation_give_the_same_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let notations: [(&str, Notation, &[&str]); 3] = [
        ("newyork", |utc| utc.replace("T17:", "T12:"), &["--time-zone", "America/New_York"]),
        ("offset", |utc| format!("{utc}+0000"), &[]),
        ("epoch", |utc| format!("{}", epoch(utc)), &[]),
    ];
    for dump in &dumps() {
        let expected = report(&dump.sacct("sacct-delim.txt", &[], 0))["capacity_time"].clone();
        for (name, notation, zone) in notations {
            let files = [("--sacct", "sacct-delim.txt"), EVENTS, NODES].map(|(option, file)| {
                let path = folder.path().join(format!("{name}-{file}"));
                let text = std::fs::read(dump.folder.join(file)).unwrap();
                std::fs::write(&path, restamped(&String::from_utf8_lossy(&text), notation)).unwrap();
                (option, path.display().to_string())
            });
            let files = files.each_ref().map(|(option, path)| (*option, path.as_str()));
            let report = report(&dump.account(&files, zone, 0));
            assert_eq!(report["capacity_time"], expected, "{} {name}", dump.name);
        }
    }
}

/// Every stamp of the dumps' day in another notation.
fn restamped(text: &str, notation: Notation) -> String {
    let mut parts = text.split("2026-11-29T");
    let mut restamped = parts.next().unwrap().to_owned();
    for part in parts {
        let (clock, rest) = part.split_at(8);
        restamped += &notation(&format!("2026-11-29T{clock}"));
        restamped += rest;
    }
    restamped
}

fn epoch(utc: &str) -> i64 {
    const MIDNIGHT: i64 = 1_795_910_400;
    let part = |range: std::ops::Range<usize>| utc[range].parse::<i64>().unwrap();
    MIDNIGHT + 3600 * part(11..13) + 60 * part(14..16) + part(17..19)
}

#[test]
fn what_is_no_job_table_is_refused_with_what_to_do() {
    let refused = [
        ("sacct-default.txt", "blanks"),
        ("sacct-completion.txt", "missing columns Submit, Start, AllocTRES"),
        ("sacct-epoch.txt", "missing column AllocTRES"),
        ("sacct-relative.txt", "missing column AllocTRES"),
        ("sacct-tzoffset.txt", "missing column AllocTRES"),
        ("sacct-newyork.txt", "missing column AllocTRES"),
        ("sacct-long.txt", "missing columns Submit, Start, End"),
        ("sacct-noconvert.txt", "missing columns Submit, Start, End"),
        ("sacct-whole-hetjob-yes.txt", "missing columns Submit, Start, End"),
        ("sacct-yaml.yaml", "YAML"),
        ("sacct-fields.txt", "blanks"),
        ("sacct-noheader.txt", "--sacct-format"),
        ("squeue.txt", "squeue"),
        ("squeue.json", "squeue"),
        ("jobcomp-filetxt.txt", "job completion"),
        ("sreport-sizes.txt", "sreport"),
    ];
    for dump in &dumps() {
        for (file, word) in refused {
            if dump.folder.join(file).exists() {
                let file_and_line = format!("{file}:");
                refuses(
                    &dump.sacct(file, &[], 0),
                    &[&file_and_line, word, "SLURM_TIME_FORMAT=%s sacct -a -X -D"],
                );
            }
        }
        refuses(
            &dump.account(&[("--sacct", "sacct-delim.txt"), NODES], &[], 0),
            &["sacct-delim.txt:2", "--time-zone"],
        );
        refuses(&dump.account(&[("--sacct", "sacct-delim.txt")], &UTC, 0), &["--events", "--nodes"]);
    }
}

#[test]
fn a_file_in_anothers_place_is_named() {
    let files = [("--sacct", "sacct-delim.txt"), EVENTS, NODES, ("--reservations", "sacctmgr-resv.txt")];
    for dump in dumps().iter().take(1) {
        for (right, file) in files {
            for wrong in ["--sacct", "--events", "--nodes", "--reservations", "--snapshots", "--tables"] {
                if wrong != right {
                    let output = dump.account(&[(wrong, file)], &UTC, 0);
                    refuses(&output, &[&format!("{file}:1"), &format!("give it with {right}")]);
                }
            }
        }
    }
}

#[test]
fn outages_come_from_events_nodes_and_reservations() {
    const NAMES: (&str, &str) = ("--tables", "db/tres_table.tsv");
    const RESERVATIONS: (&str, &str) = ("--tables", "db/vgpu_resv_table.tsv");
    type Files = &'static [(&'static str, &'static str)];
    let cases: [(Files, [Option<i128>; 3]); 9] = [
        (&[EVENTS], [Some(264), Some(456), Some(2_464)]),
        // A busy node that drains shows in the node's state alone: 4 free devices for 4 s.
        (&[EVENTS, NODES], [Some(264), Some(456 + 16), Some(2_464)]),
        (&[EVENTS, ("--nodes", "scontrol-node-oneliner.txt")], [Some(264), Some(456 + 16), Some(2_464)]),
        (&[EVENTS, ("--nodes", "scontrol-node.json")], [None, Some(456 + 16), None]),
        (&[("--events", "event-default.txt"), NODES], [Some(264), Some(456 + 16), Some(2_464)]),
        (&[("--events", "events-list-current.txt"), NODES], [Some(264), Some(456 + 16), Some(2_464)]),
        (&[("--events", "event-json.json"), NODES], [None, Some(456 + 16), None]),
        // Twice the same, and overlapping listings: an outage is one outage.
        (
            &[EVENTS, EVENTS, ("--events", "event-nodes.txt"), NODES, NODES],
            [Some(264), Some(456 + 16), Some(2_464)],
        ),
        (&[EVENTS, NODES, NAMES, RESERVATIONS], [None, Some(856 + 16), None]),
    ];
    for (number, dump) in dumps().iter().enumerate() {
        for (files, seconds) in &cases {
            let Some(seconds) = seconds[number] else { continue };
            let files = [&[("--sacct", "sacct-delim.txt")], *files].concat();
            let report = report(&dump.account(&files, &UTC, 0));
            assert_eq!(out_of_service_seconds(&report), seconds, "{} {files:?}", dump.name);
            let installed = 128 * i128::from(dump.to - dump.from);
            assert_eq!(
                level(&report, "offered_ns") / 1_000_000_000,
                installed - seconds,
                "{} {files:?}",
                dump.name
            );
            let has_nodes = files.iter().any(|(option, _)| *option == "--nodes");
            assert_eq!(codes(&report).contains(&"inventory_inferred"), !has_nodes, "{files:?}");
        }
        let installed = report(&dump.sacct("sacct-delim.txt", &["--denominator", "installed"], 0));
        let lost = integer(&installed["capacity_time"]["scheduling_losses"]["out_of_service_ns"]);
        assert_eq!(lost, integer(&installed["out_of_service_ns"]));
        assert_eq!(level(&installed, "offered_ns"), 128_000_000_000 * i128::from(dump.to - dump.from));

        let unknown = report(&dump.account(&[("--sacct", "sacct-delim.txt"), NODES], &UTC, 0));
        let has_states = out_of_service_seconds(&unknown) > 0;
        assert_eq!(codes(&unknown).contains(&"outages_unknown"), !has_states, "{}", dump.name);
    }
}

#[test]
fn empty_answers_of_commands_that_do_not_exist_yet_are_refused() {
    for dump in dumps().iter().take(1) {
        let sacct = ("--sacct", "sacct-delim.txt");
        refuses(
            &dump.account(&[sacct, ("--events", "event-json.json")], &UTC, 0),
            &["event-json.json", "empty"],
        );
        refuses(
            &dump.account(&[sacct, ("--nodes", "scontrol-node.json")], &UTC, 0),
            &["scontrol-node.json", "empty"],
        );
        refuses(
            &dump.account(&[sacct, ("--nodes", "sinfo-Nl.txt")], &UTC, 0),
            &["sinfo", "scontrol -o show node"],
        );
    }
}

#[test]
fn tables_of_the_database_agree_with_the_text() {
    let names = ["tres", "vgpu_assoc", "qos", "vgpu_resv", "vgpu_event", "vgpu_job", "vgpu_suspend"];
    let tables = names.map(|name| format!("db/{name}_table.tsv"));
    for (dump, held) in dumps().iter().zip([0, 15_567, 72_947]) {
        let tables: Vec<_> = tables.iter().filter(|table| dump.folder.join(table).exists()).collect();
        let mut files: Vec<_> = tables.iter().map(|table| ("--tables", table.as_str())).collect();
        if files.is_empty() {
            continue;
        }
        files.push(NODES);
        let alone = report(&dump.account(&files, &UTC, 0));
        assert_eq!(held_seconds(&alone), held, "{}", dump.name);
        // The text beside them tells of the same attempts, and why some of them waited.
        files.push(("--sacct", "sacct-delim.txt"));
        let both = report(&dump.account(&files, &UTC, 0));
        for name in ["offered_ns", "held_ns"] {
            assert_eq!(level(&both, name), level(&alone, name), "{} {name}", dump.name);
        }
    }
}

#[test]
fn an_attempt_in_several_files_counts_once() {
    for dump in &dumps() {
        let expected = report(&dump.sacct("sacct-delim.txt", &[], 0));
        for again in [
            "sacct-delim.txt",
            "sacct-parsable2-dup.txt",
            "sacct-parsable-trailing.txt",
            "sacct-json-dup.json",
        ] {
            if !dump.folder.join(again).exists() {
                continue;
            }
            let files = [("--sacct", again), ("--sacct", "sacct-delim.txt"), EVENTS, NODES];
            let report = report(&dump.account(&files, &UTC, 0));
            assert_eq!(report["capacity_time"], expected["capacity_time"], "{} {again}", dump.name);
            let files = report["read_report"]["files"].as_array().unwrap();
            let duplicates =
                files.iter().filter_map(|file| file["skipped"]["duplicate"].as_u64()).sum::<u64>();
            assert!(duplicates >= 37, "{} {again}: {duplicates}", dump.name);
        }
    }
}

/// The whole-pool diagnostics of the load, from the records alone and with snapshots of nodes and queue.
#[test]
fn free_devices_while_the_queue_waits() {
    let Some(dump) = dumps().into_iter().find(|dump| dump.name == "22.05.8-load") else { return };
    let sampled = ["--from", "1795974121.3506854", "--to", "1795974721.140098", "--time-zone", "UTC"];
    let account = |more: &[&str]| {
        let files = [("--sacct", "sacct-delim.txt"), EVENTS, NODES];
        let files = files.map(|(option, file)| [option.to_owned(), dump.path(file)]).concat();
        let args =
            ["account", "--format", "json"].iter().chain(&sampled).chain(more).map(|&arg| arg.to_owned());
        report(&run(&args.chain(files).collect::<Vec<_>>()))
    };
    let seconds = |report: &Value, pool: &str, name: &str| {
        let pool = report["pools"].as_array().unwrap().iter().find(|p| p["name"] == pool).unwrap();
        integer(&pool["diagnostics"][name]) / 1_000_000_000
    };
    let records = account(&[]);
    assert_eq!(held_seconds(&records), 46_136);
    assert_eq!(out_of_service_seconds(&records), 2_200);
    for (pool, waiting, empty) in [("train", 15_800, 2_350), ("dev", 2_089, 8_196)] {
        assert_eq!(seconds(&records, pool, "free_queue_waiting_ns"), waiting, "{pool}");
        assert_eq!(seconds(&records, pool, "free_queue_empty_ns"), empty, "{pool}");
    }
    assert!(records["diagnostics"]["free_planned_ns"].is_null(), "no record tells without snapshots");
    let snapshots = account(&["--snapshots", &dump.path("snapshots.jsonl.gz")]);
    assert_eq!(held_seconds(&snapshots), 46_136);
    assert!(seconds(&snapshots, "train", "free_planned_ns") > 10_000);
    let losses = &snapshots["capacity_time"]["scheduling_losses"];
    assert!(integer(&losses["gang_reservation_ns"]) > 10_000_000_000_000);
    assert!(losses.get("unsettled_ns").is_none());
}

#[test]
fn a_window_that_the_records_miss_is_refused_and_one_they_leave_is_unsettled_there() {
    for dump in dumps().iter().take(1) {
        let account = |from: &str, to: &str| {
            let files = [("--sacct", "sacct-delim.txt"), EVENTS, NODES];
            let files = files.map(|(option, file)| [option.to_owned(), dump.path(file)]).concat();
            let args = ["account", "--format", "json", "--time-zone", "UTC", "--from", from, "--to", to];
            run(&args.map(str::to_owned).into_iter().chain(files).collect::<Vec<_>>())
        };
        refuses(&account("2026-11-28", "2026-11-29"), &["2026-11-28T00:00:00Z", "2026-11-29T17:25:23Z"]);
        refuses(&account("2026-11-30", "2026-12-01"), &["2026-11-29T17:30:35Z"]);
        refuses(&account("2026-11-30", "2026-11-29"), &["--to must be after --from"]);
        let beyond = report(&account("1795973123", "2026-12-01"));
        assert_eq!(held_seconds(&beyond), 14_111);
        let scheduling = &beyond["factor_bounds"]["scheduling"];
        // What the fleet held of the 312 s that the records tell of.
        let expected = 14_111.0 / (39_936.0 - 264.0);
        assert!((scheduling["settled"].as_f64().unwrap() - expected).abs() < 1e-12, "{scheduling}");
        assert!(scheduling["coverage"].as_f64().unwrap() < 0.01, "{scheduling}");
        assert!(codes(&beyond).contains(&"window_not_covered"));
    }
}

/// Samples of another site's exports, with broken lines and bytes.
#[test]
fn samples_of_another_site() {
    let Some(shared) = shared() else { return };
    let account = |file: &str| {
        let file = shared.join("scheduler/gcm-samples").join(file).display().to_string();
        let nodes = shared.join("scheduler/slurm/22.05.8/scontrol-node.txt").display().to_string();
        run(&["account", "--format", "json", "--time-zone", "UTC", "--sacct", &file, "--nodes", &nodes])
    };
    let rows = |file: &str| {
        let report = report(&account(file));
        let file = report["read_report"]["files"][0].clone();
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        (count(&file["used"]), count(&file["skipped"]["step"]), count(&file["skipped"]["duplicate"]))
    };
    refuses(&account("sample-sacct-output.txt"), &["68 rows are job steps", "sacct -a -X -D"]);
    refuses(
        &account("sample-sacct-output-with-invalid-lines.txt"),
        &["invalid-lines.txt:2", "93 fields", "109"],
    );
    assert_eq!(rows("sample-sacct-output-invalid-utf8.txt"), (2, 9, 0));
    assert_eq!(rows("sample-sacct-fake-line-break.txt"), (2, 2, 0));
    assert_eq!(rows("sample-sacct-fake-line-break-expected.txt"), (2, 2, 0));
    assert_eq!(rows("sample-sacct-multiple-multiline.txt"), (2, 2, 2));
}
