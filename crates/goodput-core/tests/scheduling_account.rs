//! The scheduling account on small fleets whose right answer is plain.
#![allow(clippy::unwrap_used)]

mod scheduling_fleet;

use goodput_core::records::{JobState, NodeStatus, WaitReason};
use goodput_core::scheduling::{CohortKind, Denominator, PoolSpec, SchedulingError, account};
use goodput_core::{Boundary, CapacityTime, Factor, Ledger, Levels, Loss, Pattern};

use scheduling_fleet::{Fleet, assert_sums, at, codes, device_seconds, loss};

/// 100 devices; 65 in complete gangs, 15 bound to two gangs that wait for members, 20 free. Neither gang finds its
/// rest among the free ones.
fn shared_pool() -> Fleet {
    let mut fleet = Fleet::new();
    fleet.capacity(0, None, 100, &[]);
    fleet.attempt("complete", "", (0, Some(0), Some(100)), 65, &[]);
    fleet.attempt("half", "", (0, None, None), 32, &[]);
    fleet.attempt("other half", "", (0, None, None), 32, &[]);
    fleet.partial(1, "", 8, 0, None);
    fleet.partial(2, "", 7, 0, None);
    fleet
}

#[test]
fn shared_pool_snapshot() {
    // Worked example E2: 0.80 assigned, of which 0.15 to incomplete gangs.
    let account = shared_pool().account(0, 100);
    let pool = &account.fleet;
    assert_eq!(pool.held.share_of(pool.offered), Some(0.65));
    assert_eq!(loss(pool, Pattern::PartialGangHold), device_seconds(1500));
    // The free 20 are fewer than the 24 and 25 that the gangs still wait for.
    assert_eq!(loss(pool, Pattern::TooFewFree), device_seconds(2000));
    let ceiling = pool.held + loss(pool, Pattern::PartialGangHold);
    assert_eq!(ceiling.share_of(pool.offered), Some(0.80));
}

#[test]
fn a_gang_of_which_only_the_first_assignment_is_known_claims_at_most_what_is_free() {
    let mut fleet = Fleet::new();
    fleet.capacity(0, None, 100, &[]);
    fleet.attempt("complete", "", (0, Some(0), Some(100)), 65, &[]);
    fleet.attempt("gang", "", (0, Some(50), Some(100)), 35, &[]).assigned = Some(at(20));
    let account = fleet.account(0, 100);
    assert_eq!(loss(&account.fleet, Pattern::PartialGangHold), device_seconds(35 * 30));
    assert!(codes(&account).contains(&"partial_amount_unknown"));
}

#[test]
fn free_without_a_queue_has_no_demand() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1", "n2"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (0, Some(10), Some(60)), 8, &["n1"]).eligible = Some(at(10));
    let account = fleet.account(0, 100);
    assert_eq!(account.fleet.offered, device_seconds(1600));
    assert_eq!(account.fleet.held, device_seconds(400));
    assert_eq!(loss(&account.fleet, Pattern::NoDemand), device_seconds(1200));
    assert_eq!(account.pools.len(), 1);
    assert_eq!(fleet.records.symbols.get(account.pools[0].name), "train");
}

#[test]
fn a_fit_that_was_not_started_is_unsettled_without_snapshots_and_delay_with_them() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1", "n2"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (0, Some(10), Some(100)), 8, &["n1"]);
    let account = fleet.account(0, 100);
    assert_eq!(loss(&account.fleet, Pattern::UnheldUnsettled), device_seconds(80));
    assert_eq!(loss(&account.fleet, Pattern::NoDemand), device_seconds(1600 - 720 - 80));

    for second in [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100] {
        fleet.node_sample(second, "n1", NodeStatus::Up, false);
        fleet.node_sample(second, "n2", NodeStatus::Up, false);
        fleet.queue_sample(second, "1", WaitReason::Eligible);
    }
    let account = fleet.account(0, 100);
    assert_eq!(loss(&account.fleet, Pattern::SchedulerDelay), device_seconds(80));
    assert_eq!(account.fleet.diagnostics.snapshot_coverage, 1.0);
}

#[test]
fn planned_nodes_are_kept_for_a_gang() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1", "n2", "n3", "n4"], 8, "h100", &["train"]);
    fleet.attempt("busy", "train", (0, Some(0), Some(100)), 8, &["n1"]);
    fleet.waiting("gang", "train", 0, 32, 4);
    fleet.waiting("small", "train", 0, 8, 1);
    for second in [0, 50, 100] {
        for node in ["n1", "n2", "n3", "n4"] {
            fleet.node_sample(second, node, NodeStatus::Up, node != "n4");
        }
        fleet.queue_sample(second, "gang", WaitReason::Eligible);
    }
    let account = fleet.account(0, 100);
    // n1 is planned and busy, n2 and n3 are kept, n4 would hold the small job.
    assert_eq!(loss(&account.fleet, Pattern::GangReservation), device_seconds(1600));
    assert_eq!(loss(&account.fleet, Pattern::SchedulerDelay), device_seconds(800));
    assert_eq!(account.fleet.diagnostics.free_planned, Some(device_seconds(1600)));
}

#[test]
fn fragments_and_too_few() {
    // volcano-sh/volcano#3948: 7 + 6 + 7 of 8 used, so 4 are free and a 4-device job finds no node.
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1", "n2", "n3"], 8, "h100", &["train"]);
    fleet.attempt("a", "train", (0, Some(0), Some(100)), 7, &["n1"]);
    fleet.attempt("b", "train", (0, Some(0), Some(100)), 6, &["n2"]);
    fleet.attempt("c", "train", (0, Some(0), Some(100)), 7, &["n3"]);
    fleet.waiting("four", "train", 0, 4, 1);
    let account = fleet.account(0, 100);
    assert_eq!(loss(&account.fleet, Pattern::Fragmentation), device_seconds(400));
    assert_eq!(account.fleet.diagnostics.free_on_partly_used_nodes, Some(device_seconds(400)));
    assert_eq!(account.fleet.diagnostics.free_on_whole_nodes, Some(CapacityTime::ZERO));
    assert_eq!(account.fleet.series[0].largest_gang_nodes, Some(0));

    // A job of eight finds too few, whatever their shape.
    fleet.records.attempts[3].devices = 8;
    let account = fleet.account(0, 100);
    assert_eq!(loss(&account.fleet, Pattern::TooFewFree), device_seconds(400));
}

#[test]
fn limits_block_before_shape_does() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1", "n2"], 8, "h100", &["train"]);
    fleet.waiting("limited", "train", 0, 8, 1).wait_reason = WaitReason::Limit;
    fleet.waiting("held", "train", 0, 8, 1).wait_reason = WaitReason::NotEligible;
    let account = fleet.account(0, 100);
    assert_eq!(loss(&account.fleet, Pattern::QuotaBlocked), device_seconds(800));
    assert_eq!(loss(&account.fleet, Pattern::NoDemand), device_seconds(800));
}

#[test]
fn a_queue_snapshot_tells_who_is_blocked_and_until_when() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1"], 8, "h100", &["train"]);
    fleet.waiting("job", "train", 0, 8, 1);
    for second in [0, 10, 20, 30] {
        fleet.node_sample(second, "n1", NodeStatus::Up, false);
        let reason = if second < 20 { WaitReason::Limit } else { WaitReason::Eligible };
        fleet.queue_sample(second, "job", reason);
    }
    let account = fleet.account(0, 100);
    assert_eq!(loss(&account.fleet, Pattern::QuotaBlocked), device_seconds(160));
    assert_eq!(loss(&account.fleet, Pattern::SchedulerDelay), device_seconds(160));
    // The last snapshot, like every other, says nothing of the time after the next one was due.
    assert_eq!(loss(&account.fleet, Pattern::UnheldUnsettled), device_seconds(480));
    assert!((account.fleet.diagnostics.snapshot_coverage - 0.4).abs() < 1e-12);
}

#[test]
fn a_draining_node_stays_in_service_where_it_is_held() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1", "n2"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (0, Some(0), Some(60)), 4, &["n1"]);
    fleet.outage("n1", NodeStatus::Drain, 20, None);
    // An overlapping record of the same node counts once.
    fleet.outage("n1", NodeStatus::Down, 30, Some(50));
    let account = fleet.account(0, 100);
    assert_eq!(account.fleet.out_of_service, device_seconds(4 * 40 + 8 * 40));
    assert_eq!(account.fleet.offered, device_seconds(1600 - 480));
    assert_eq!(account.fleet.held, device_seconds(240));

    let mut options = Fleet::options(0, 100);
    options.denominator = Denominator::Installed;
    let account = account_of(&fleet, &options);
    assert_eq!(account.fleet.offered, device_seconds(1600));
    assert_eq!(loss(&account.fleet, Pattern::OutOfService), device_seconds(480));
}

fn account_of(
    fleet: &Fleet,
    options: &goodput_core::scheduling::SchedulingOptions,
) -> goodput_core::scheduling::SchedulingAccount {
    let account = account(&fleet.records, options).unwrap();
    assert_sums(&account);
    account
}

#[test]
fn overlapping_rows_of_a_resized_job_are_cut() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1", "n2"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (0, Some(0), Some(50)), 16, &["n1", "n2"]).state = JobState::Resizing;
    fleet.attempt("1", "train", (50, Some(0), Some(100)), 8, &["n1"]);
    let account = fleet.account(0, 100);
    assert_eq!(account.fleet.held, device_seconds(800 + 400));
    assert!(codes(&account).contains(&"overlapping_rows"));
    assert!(codes(&account).contains(&"negative_wait"));
}

#[test]
fn an_id_that_is_used_again_is_another_job() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (0, Some(5), Some(10)), 8, &["n1"]).state = JobState::Cancelled;
    fleet.attempt("1", "train", (20, Some(22), Some(30)), 8, &["n1"]);
    let account = fleet.account(0, 100);
    let gangs = account.cohorts.iter().find(|c| c.kind == CohortKind::GangSize).unwrap();
    assert_eq!((gangs.attempts, gangs.first_wait.count), (2, 2));
    assert_eq!(gangs.first_wait.max_ns, 5_000_000_000);
}

#[test]
fn a_requeued_job_waits_from_its_first_submit_and_in_total() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (0, Some(5), Some(10)), 8, &["n1"]).state = JobState::Requeued;
    fleet.attempt("1", "train", (10, Some(22), Some(30)), 8, &["n1"]);
    let account = fleet.account(0, 100);
    let gangs = account.cohorts.iter().find(|c| c.kind == CohortKind::GangSize).unwrap();
    assert_eq!((gangs.attempt_wait.count, gangs.attempt_wait.max_ns), (2, 12_000_000_000));
    assert_eq!((gangs.first_wait.count, gangs.first_wait.max_ns), (1, 5_000_000_000));
    assert_eq!((gangs.total_wait.count, gangs.total_wait.max_ns), (1, 17_000_000_000));
}

#[test]
fn pools_are_disjoint_where_partitions_overlap() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["g1", "g2"], 8, "h100", &["train", "all"]);
    fleet.nodes(&["a1"], 8, "a100", &["dev", "all"]);
    fleet.attempt("across", "all", (0, Some(0), Some(100)), 24, &["a1", "g1", "g2"]);
    let account = fleet.account(0, 100);
    let names: Vec<_> = account.pools.iter().map(|p| fleet.records.symbols.get(p.name)).collect();
    assert_eq!(names, ["train", "dev"]);
    assert_eq!(account.pools[0].held, device_seconds(1600));
    assert_eq!(account.pools[1].held, device_seconds(800));
    assert_eq!(account.fleet.devices, 24);
}

#[test]
fn idle_beside_another_pools_queue_shows_in_both_scopes() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["g1"], 8, "h100", &["train"]);
    fleet.nodes(&["g2"], 8, "h100", &["prod"]);
    fleet.nodes(&["a1"], 8, "a100", &["dev"]);
    fleet.attempt("busy", "train", (0, Some(0), Some(100)), 8, &["g1"]);
    fleet.waiting("waits", "train", 0, 10, 1);
    let account = fleet.account(0, 100);
    let idle: Vec<_> = account.pools.iter().map(|p| loss(p, Pattern::NoDemand)).collect();
    assert_eq!(idle, [CapacityTime::ZERO, device_seconds(800), device_seconds(800)]);
    assert_eq!(loss(&account.fleet, Pattern::QuotaBlocked), device_seconds(800));
    assert_eq!(loss(&account.fleet, Pattern::CapabilityMismatch), device_seconds(200));
    assert_eq!(loss(&account.fleet, Pattern::NoDemand), device_seconds(600));
    assert_eq!(account.fleet.diagnostics.quota_stranded, device_seconds(1000));
    assert_eq!(account.pools[1].diagnostics.free_other_pool_waiting, device_seconds(800));
}

#[test]
fn capacity_grows_with_its_records() {
    let mut fleet = Fleet::new();
    fleet.capacity(0, Some(50), 8, &["n1"]);
    fleet.capacity(50, None, 16, &["n1", "n2"]);
    fleet.attempt("1", "train", (0, Some(0), Some(100)), 8, &["n1"]);
    let account = fleet.account(0, 100);
    assert_eq!(account.fleet.installed, device_seconds(400 + 800));
    assert!(codes(&account).contains(&"inventory_inferred"));
}

#[test]
fn holding_more_than_is_installed_raises_the_capacity_and_is_said() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (0, Some(0), Some(100)), 8, &["n1"]);
    fleet.attempt("2", "train", (0, Some(50), Some(100)), 8, &["n1"]);
    let account = fleet.account(0, 100);
    assert_eq!(account.fleet.held, device_seconds(1200));
    assert_eq!(account.fleet.offered, device_seconds(1200));
    assert!(codes(&account).contains(&"beyond_capacity"));
    assert!(codes(&account).contains(&"devices_oversubscribed"));
}

#[test]
fn what_the_records_do_not_reach_is_unrecorded() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (0, Some(0), None), 8, &["n1"]);
    fleet.records.written_at = Some(at(60));
    let account = fleet.account(0, 100);
    assert_eq!(account.fleet.held, device_seconds(480));
    assert_eq!(loss(&account.fleet, Pattern::Unrecorded), device_seconds(320));
    assert_eq!(account.fleet.diagnostics.free_queue_empty, CapacityTime::ZERO);
    let levels = Levels { offered: account.fleet.offered, held: account.fleet.held, ..Levels::default() };
    let losses = account.fleet.losses.iter().cloned();
    let losses = losses.chain([Loss::new(Pattern::RuntimeUnsettled, account.fleet.held)]).collect();
    let chain = *Ledger::new(account.window, levels, losses).unwrap().chain();
    let expected = Factor { settled: Some(1.0), coverage: 0.6, low: 0.6, high: 1.0 };
    assert_eq!(chain.factor(Boundary::Scheduling), expected);
    assert!(codes(&account).contains(&"window_not_covered"));
    let error = fleet.try_account(60, 100).unwrap_err();
    assert!(matches!(error, SchedulingError::NotCovered { .. }));
}

#[test]
fn an_export_that_ends_early_does_not_pass_for_an_idle_fleet() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (0, Some(0), Some(20)), 8, &["n1"]);
    assert!(codes(&fleet.account(0, 100)).contains(&"window_not_covered"));
    assert!(!codes(&fleet.account(0, 20)).contains(&"window_not_covered"));
}

#[test]
fn a_window_outside_the_records_has_no_account() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (200, Some(200), Some(300)), 8, &["n1"]);
    for window in [(0, 200), (301, 400)] {
        let error = fleet.try_account(window.0, window.1).unwrap_err();
        assert!(matches!(error, SchedulingError::OutsideRecords { .. }), "{error}");
    }
    assert!(fleet.try_account(0, 201).is_ok());
}

#[test]
fn what_runs_on_after_the_last_record_is_said_to_be_a_guess() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (0, Some(10), None), 8, &["n1"]);
    let account = fleet.account(0, 100);
    assert_eq!(account.fleet.held, device_seconds(8 * 90));
    assert!(account.warnings.iter().any(|w| w.code == "window_not_covered" && w.message.contains("guess")));
}

#[test]
fn without_capacity_there_is_no_account() {
    let mut fleet = Fleet::new();
    fleet.attempt("1", "train", (0, Some(0), Some(100)), 8, &["n1"]);
    assert_eq!(fleet.try_account(0, 100).unwrap_err(), SchedulingError::NoCapacity);
}

#[test]
fn without_jobs_nothing_is_known_of_demand() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1"], 8, "h100", &["train"]);
    let account = fleet.account(0, 100);
    assert_eq!(loss(&account.fleet, Pattern::Unrecorded), device_seconds(800));
    assert!(codes(&account).contains(&"no_attempts"));
}

#[test]
fn named_pools_must_be_disjoint_sets_of_known_nodes() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1", "n2"], 8, "h100", &["train"]);
    let (one, two) = (fleet.symbol("one"), fleet.symbol("two"));
    let (n1, n3) = (fleet.symbol("n1"), fleet.symbol("n3"));
    fleet.attempt("1", "train", (0, Some(0), Some(100)), 8, &["n1"]);
    let mut options = Fleet::options(0, 100);
    options.pools = vec![PoolSpec { name: one, nodes: vec![n1] }];
    let split = account_of(&fleet, &options);
    assert_eq!(split.pools.len(), 2);
    assert_eq!(split.pools[0].held, split.pools[0].offered);
    options.pools.push(PoolSpec { name: two, nodes: vec![n1] });
    assert!(matches!(account(&fleet.records, &options), Err(SchedulingError::PoolsOverlap { .. })));
    options.pools[1].nodes = vec![n3];
    assert!(matches!(account(&fleet.records, &options), Err(SchedulingError::UnknownNode { .. })));
    options.pools[1].nodes.clear();
    assert!(matches!(account(&fleet.records, &options), Err(SchedulingError::EmptyPool { .. })));
}

#[test]
fn the_series_keeps_the_integrals() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1", "n2"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (0, Some(13), Some(77)), 8, &["n1"]);
    let account = fleet.account(0, 100);
    let held: f64 = account.fleet.series.iter().map(|point| point.held * 10.0).sum();
    assert!((held - account.fleet.held.device_seconds()).abs() < 1e-9);
    assert_eq!(account.fleet.series.len(), 10);
}

#[test]
fn a_series_of_pool_totals_is_accounted_in_both_scopes() {
    let mut fleet = Fleet::new();
    for (second, held, demand) in [(0, 8, 4), (60, 0, 0), (120, 8, 4)] {
        fleet.pool_sample(second, "one", 8, held, demand);
        fleet.pool_sample(second, "two", 8, held / 4, 0);
    }
    let account = fleet.account(0, 180);
    assert_eq!(account.fleet.offered, device_seconds(16 * 180));
    assert_eq!(account.fleet.held, device_seconds(10 * 120));
    let two = &account.pools[1];
    assert_eq!(two.diagnostics.free_other_pool_waiting, device_seconds(6 * 120));
    assert_eq!(two.diagnostics.quota_stranded, device_seconds(4 * 120));
    assert_eq!(loss(two, Pattern::NoDemand), device_seconds(6 * 120 + 8 * 60));
    assert_eq!(loss(&account.fleet, Pattern::QuotaBlocked), device_seconds(4 * 120));
    assert!(codes(&account).contains(&"nothing_held"));
    assert!(codes(&fleet.account(0, 200)).contains(&"window_not_covered"));
}

#[test]
fn a_reservation_granted_to_a_team_is_held_and_one_for_maintenance_is_out_of_service() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1", "n2"], 8, "h100", &["train"]);
    fleet.attempt("1", "train", (0, Some(0), Some(50)), 4, &["n1"]);
    fleet.reservation(0, 80, &["n1"], false);
    fleet.reservation(20, 60, &["n2"], true);
    let account = fleet.account(0, 100);
    assert_eq!(account.fleet.idle_reserved, device_seconds(4 * 50 + 8 * 30));
    assert_eq!(account.fleet.idle_reserved_evidence.len(), 1);
    assert_eq!(account.fleet.held, device_seconds(200 + 440));
    assert_eq!(account.fleet.out_of_service, device_seconds(8 * 40));

    fleet.reservation(0, 80, &[], true);
    assert!(codes(&fleet.account(0, 100)).contains(&"maintenance_unknown"));
}

#[test]
fn losses_name_the_largest_records_behind_them() {
    let mut fleet = Fleet::new();
    fleet.nodes(&["n1", "n2", "n3"], 8, "h100", &["train"]);
    fleet.attempt("a", "train", (0, Some(0), Some(100)), 7, &["n1"]);
    fleet.attempt("b", "train", (0, Some(0), Some(100)), 7, &["n2"]);
    fleet.attempt("c", "train", (0, Some(0), Some(100)), 7, &["n3"]);
    for submit in [40, 10, 70, 20, 30, 50, 60] {
        fleet.waiting(&submit.to_string(), "train", submit, 2, 1);
    }
    let account = fleet.account(0, 100);
    let lines = |pattern| {
        let loss = account.fleet.losses.iter().find(|loss| loss.pattern == pattern).unwrap();
        loss.evidence.iter().map(|source| source.line).collect::<Vec<_>>()
    };
    assert_eq!(lines(Pattern::Fragmentation), [4, 6, 7, 3, 8]);
    assert_eq!(lines(Pattern::NoDemand), []);
}

#[test]
fn cohorts_show_what_was_kept_or_partly_held_for_them() {
    let account = shared_pool().account(0, 100);
    let gangs: Vec<_> = account
        .cohorts
        .iter()
        .filter(|cohort| cohort.kind == CohortKind::GangSize)
        .map(|cohort| (cohort.label.as_str(), cohort.attempts, cohort.partly_held))
        .collect();
    let none = Some(CapacityTime::ZERO);
    assert_eq!(gangs, [("32", 2, Some(device_seconds(1500))), ("65", 1, none)]);
}
