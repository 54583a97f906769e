//! The method page: its examples by hand come out of the accounting, and it names every pattern with its word, owners
//! and lever.
#![allow(clippy::unwrap_used)]

mod runtime_log;
mod scheduling_fleet;

use goodput_core::records::StopCause::{Fault, Finished};
use goodput_core::records::{JobState, NodeStatus, Phase, WaitReason};
use goodput_core::{Boundary, Owner, Pattern};
use runtime_log::{Log, ended, held};
use scheduling_fleet::{Fleet, device_seconds, loss};

/// "Scheduling: offered to held": eight devices for ten hours.
#[test]
fn eight_devices_for_ten_hours() {
    const HOUR: i64 = 3600;
    let hours = |n: i64| device_seconds(n * HOUR);
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1", "n2", "n3", "n4"], 2, "h100", &["train"]);
    fleet.outage("n4", NodeStatus::Drain, HOUR, Some(3 * HOUR));
    fleet.attempt("A", "train", (0, Some(0), Some(6 * HOUR)), 4, &["n1", "n2"]);
    fleet.attempt("B", "train", (HOUR, Some(3 * HOUR), Some(10 * HOUR)), 4, &["n3", "n4"]);
    fleet.partial(1, "n3", 2, HOUR, Some(3 * HOUR));
    fleet.attempt("C", "train", (6 * HOUR, None, Some(8 * HOUR)), 4, &[]).wait_reason = WaitReason::Limit;
    fleet.waiting("D", "train", 8 * HOUR, 8, 4);

    let account = fleet.account(0, 10 * HOUR);
    let pool = &account.fleet;
    assert_eq!((pool.offered, pool.held), (hours(76), hours(52)));
    assert_eq!(pool.out_of_service, hours(4));
    for (pattern, amount) in [
        (Pattern::NoDemand, 4),
        (Pattern::PartialGangHold, 4),
        (Pattern::QuotaBlocked, 8),
        (Pattern::TooFewFree, 8),
    ] {
        assert_eq!(loss(pool, pattern), hours(amount), "{}", pattern.key());
    }
}

/// "Runtime: held to retained": 2,100 held seconds.
#[test]
fn twenty_one_hundred_held_seconds() {
    let log = Log::recording_commits()
        .launch(0)
        .whole_steps(0..30, 300, 10)
        .record(30, 1, 600, Some(630), 20)
        .whole_steps(31..60, 630, 10)
        .phase(Phase::CheckpointPause, 920, 950)
        .commit(59, 950)
        .whole_steps(60..80, 950, 10)
        .stop(Fault, 1150)
        .launch(1300)
        .restored(59, 1440)
        .record(60, 1, 1450, Some(1475), 0)
        .whole_steps(61..120, 1475, 10)
        .phase(Phase::CheckpointPause, 2065, 2095)
        .commit(119, 2095)
        .stop(Finished, 2095);
    let job = log.in_held(&[ended(0, 2100, JobState::Completed)]);
    job.is(
        1200.0,
        &[
            (Pattern::Startup, 300.0),
            (Pattern::InputWait, 20.0),
            (Pattern::CheckpointPause, 60.0),
            (Pattern::Rework, 200.0),
            (Pattern::Recovery, 315.0),
            (Pattern::Teardown, 5.0),
        ],
    );
    assert_eq!(job.0.fault_free_step_ns, Some(10_000_000_000));
    assert_eq!(job.0.retained.share_of(job.0.held), Some(1200.0 / 2100.0));
    assert_eq!((job.0.measured.commits, job.0.measured.pauses), (2, 2));
    // "Other people's goodput": had it queued 900 s first, its ETTR would be 0.400.
    let ettr = goodput_core::ettr::measured_ettr(900.0, 1200.0, 900.0).unwrap();
    assert!((ettr - 0.400).abs() < 1e-12);
}

/// The model's interval needs a count of checkpoints, pauses or not; two writers of one checkpoint count once.
#[test]
fn saves_count_where_commits_are_not_recorded() {
    use goodput_core::records::EventKind::SaveStarted;
    let log = Log::new()
        .launch(0)
        .whole_steps(0..10, 0, 10)
        .event(SaveStarted { step: 9 }, 100, 100)
        .event(SaveStarted { step: 9 }, 100, 100)
        .whole_steps(10..20, 100, 10)
        .event(SaveStarted { step: 19 }, 200, 200)
        .stop(Finished, 200);
    assert_eq!(log.in_held(&[held(0, 210)]).0.measured.commits, 2);
}

#[test]
fn the_page_has_a_row_for_every_pattern() {
    let page = include_str!("../../../docs/method.md");
    let (_, words) = page.split_once("\n## Every word").expect("the section of words");
    for boundary in Boundary::ALL {
        let section = words
            .split("\n### ")
            .find(|section| section.to_lowercase().starts_with(boundary.key()))
            .expect("a section for each boundary");
        let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        let expected: Vec<Pattern> = Pattern::at(boundary).collect();
        assert_eq!(rows.len(), expected.len(), "{boundary}");
        for (row, pattern) in rows.iter().zip(expected) {
            let owners: Vec<_> = pattern.owners().iter().copied().map(Owner::label).collect();
            assert!(row.starts_with(&format!("| `{}` |", pattern.key())), "{row}");
            assert!(row.ends_with(&format!("| {} | {} |", owners.join(", "), pattern.lever())), "{row}");
        }
    }
}
