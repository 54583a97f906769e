//! Reports that the verbs wrote are what decisions read.
#![allow(clippy::unwrap_used)]

mod command;

use command::run;
use goodput_decide::report::Report;

#[test]
fn an_account_reads_back() {
    let output = run(&["demo", "--format", "json"]);
    let Report::Account(report) = Report::read("demo", output.stdout.as_bytes()).unwrap() else {
        panic!("an account")
    };
    assert_eq!(report.contract.scope, "fleet");
    assert!(report.jobs.iter().any(|job| job.measured.is_some_and(|m| m.preemptions > 0)));
    let losses = &report.capacity_time.scheduling_losses;
    let unheld: i128 = losses.values().map(|loss| loss.0).sum();
    let offered = report.capacity_time.offered_ns.unwrap().0;
    assert_eq!(offered - unheld, report.capacity_time.held_ns.0);
}

#[test]
fn a_timeline_reads_back() {
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/timelines/fault-mid-step.jsonl");
    let output = run(&["timeline", log, "--format", "json"]);
    assert!(matches!(Report::read("job", output.stdout.as_bytes()).unwrap(), Report::Timeline(_)));
}
