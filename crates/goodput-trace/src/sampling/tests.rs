use super::trigger::{Dump, DumpRule, RankTimer, Threshold, Watch, dump};
use super::*;

const SECOND_NS: i64 = 1_000_000_000;

fn layout() -> JobLayout {
    JobLayout { tensor: 8, pipeline: 4, expert: 1, data: 4, devices_per_node: 8 }
}

fn request(budget: Budget) -> Request<'static> {
    Request {
        mesh: layout().mesh(),
        budget,
        bytes_per_device_second: 100_000_000,
        window_ns: 5 * SECOND_NS,
        windows: 1,
        steps: &[],
        suspects: &[],
    }
}

fn ranks(plan: &SamplingPlan) -> Vec<u32> {
    plan.ranks.iter().map(|chosen| chosen.rank).collect()
}

#[test]
fn e13_tracing_everything_is_half_a_terabyte() {
    let mesh = JobLayout { data: 32, ..layout() }.mesh();
    let plan = plan(&Request { mesh, ..request(Budget::Ranks(8)) }).unwrap();
    assert_eq!(plan.everything_bytes, 512_000_000_000);
    assert_eq!(plan.bytes, 8 * 500_000_000);
}

#[test]
fn bytes_are_measured_or_stated() {
    assert_eq!(bytes_per_device_second(500_000_000, 5 * SECOND_NS), Some(100_000_000));
    assert_eq!(bytes_per_device_second(1, 0), None);
    // 2.2 GB reach for four ranks of half a gigabyte.
    assert_eq!(plan(&request(Budget::Bytes(2_200_000_000))).unwrap().ranks.len(), 4);
}

#[test]
fn few_ranks_are_one_of_each_stage_and_never_rank_0_alone() {
    let four = plan(&request(Budget::Ranks(4))).unwrap();
    let stages: Vec<u32> = ranks(&four).iter().map(|rank| rank / 32).collect();
    assert_eq!(stages, [0, 1, 2, 3]);
    let two = plan(&request(Budget::Ranks(2))).unwrap();
    assert!(!ranks(&two).contains(&0), "{:?}", two.ranks);
    let error = plan(&request(Budget::Ranks(1))).unwrap_err();
    assert_eq!(error, SamplingError::TooSmall { ranks: 1, needed_bytes: 1_000_000_000 });
}

#[test]
fn room_makes_groups_whole_and_covers_every_node_that_it_can() {
    let plan = plan(&request(Budget::Ranks(32))).unwrap();
    assert_eq!(plan.ranks.len(), 32);
    assert_eq!(plan.split_axes, ["tensor"]);
    let traced = |name: &str| {
        let stratum = plan.strata.iter().find(|stratum| stratum.name == name).unwrap();
        (stratum.traced, stratum.places)
    };
    assert_eq!(traced("pipeline"), (4, 4));
    assert_eq!(traced("tensor"), (8, 8));
    assert_eq!(traced("data"), (4, 4));
    assert!(traced("node").0 >= 4);
}

#[test]
fn every_rank_of_a_small_job() {
    let mesh = JobLayout { tensor: 1, pipeline: 1, expert: 1, data: 4, devices_per_node: 8 }.mesh();
    let plan = plan(&Request { mesh, ..request(Budget::Ranks(99)) }).unwrap();
    assert_eq!(ranks(&plan), [0, 1, 2, 3]);
    assert_eq!(plan.bytes, plan.everything_bytes);
    assert_eq!(plan.split_axes, ["data"]);
}

#[test]
fn a_suspect_comes_with_a_healthy_peer_of_its_group() {
    let suspects = [Suspect { rank: 40, blame_ns: 5 }, Suspect { rank: 48, blame_ns: 9 }];
    let plan = plan(&Request { suspects: &suspects, ..request(Budget::Ranks(4)) }).unwrap();
    let reason = |rank: u32| plan.ranks.iter().find(|chosen| chosen.rank == rank).map(|c| c.reason.clone());
    assert_eq!(reason(48), Some(Reason::Suspect));
    assert_eq!(reason(56), Some(Reason::HealthyPeer { of: 48 }), "same place, next replica, other node");
    assert_eq!(reason(40), Some(Reason::Suspect));
    assert_eq!(reason(32), Some(Reason::HealthyPeer { of: 40 }));
    let unknown = [Suspect { rank: 128, blame_ns: 1 }];
    let error = super::plan(&Request { suspects: &unknown, ..request(Budget::Ranks(4)) }).unwrap_err();
    assert_eq!(error.to_string(), "suspects: found rank 128 of 128; expected a rank of the job");
}

#[test]
fn windows_without_a_timeline_are_spread_over_the_day() {
    let hours = |windows| {
        let plan = plan(&Request { windows, ..request(Budget::Ranks(2)) }).unwrap();
        plan.windows.iter().map(|window| window.hour).collect::<Vec<_>>()
    };
    assert_eq!(hours(4), [3, 9, 15, 21]);
    assert_eq!(hours(1), [12]);
}

/// A step every minute for six hours, the one at the half of each hour slow, every tenth beside a checkpoint.
fn timeline() -> Vec<StepTime> {
    let step = |at: i64| StepTime {
        number: at,
        start_ns: at * 60 * SECOND_NS,
        duration_ns: SECOND_NS + at % 7 * 1_000_000 + if at % 60 == 31 { SECOND_NS } else { 0 },
        phase: match at {
            0..5 => Phase::WarmUp,
            _ if at % 10 == 0 => Phase::Checkpoint,
            _ => Phase::Steady,
        },
    };
    (0..360).map(step).collect()
}

#[test]
fn windows_follow_the_hours_and_phases_of_the_timeline() {
    let steps = timeline();
    let windows = |count| {
        plan(&Request { windows: count, steps: &steps, ..request(Budget::Ranks(2)) }).unwrap().windows
    };
    let reasons: Vec<_> = windows(4).iter().map(|window| window.reason).collect();
    for wanted in [
        WindowReason::Usual(Phase::Steady),
        WindowReason::Slow,
        WindowReason::Usual(Phase::Checkpoint),
        WindowReason::Usual(Phase::WarmUp),
    ] {
        assert!(reasons.contains(&wanted), "{wanted:?} in {reasons:?}");
    }
    let slow: Vec<_> = windows(20).into_iter().filter(|window| window.reason == WindowReason::Slow).collect();
    assert_eq!(slow.len(), 6, "one an hour");
    assert!(slow.iter().all(|window| window.like_step.is_some_and(|step| step % 60 == 31)));
    assert_eq!(slow[0].steps, Some(2), "five seconds hold two slow steps");
    let hours: std::collections::BTreeSet<_> = windows(20).iter().map(|window| window.hour).collect();
    assert_eq!(hours, (0..6).collect());
}

#[test]
fn a_threshold_knows_how_regular_the_steps_are() {
    let regular = Threshold::of(&[1_000; 30], 6).unwrap();
    assert_eq!((regular.deviation_ns, regular.slow_above_ns), (0, 1_020));
    let rough: Vec<i64> = (0..30).map(|at| 1_000 + 100 * (at % 3)).collect();
    let rough = Threshold::of(&rough, 6).unwrap();
    assert_eq!((rough.median_ns, rough.deviation_ns, rough.slow_above_ns), (1_100, 100, 1_700));
    assert_eq!(Threshold::of(&[1_000; 19], 6), None);
}

/// Two stages of eight ranks, the second slower by nature; rank `lagging` slower by fault.
fn timers(lagging: u32) -> Vec<RankTimer> {
    let own_ns =
        |rank: u32| 100 + i64::from(rank / 8) * 50 + if rank == lagging { 40 } else { i64::from(rank % 2) };
    (0..16).map(|rank| RankTimer { rank, own_ns: own_ns(rank) }).collect()
}

#[test]
fn the_lagging_rank_and_a_healthy_one_of_its_stage_on_another_node() {
    let mesh = JobLayout { tensor: 2, pipeline: 2, expert: 1, data: 4, devices_per_node: 4 }.mesh();
    assert_eq!(dump(&mesh, 7, &timers(5)), Some(Dump { step: 7, lagging: 5, healthy: 0, excess_ns: 40 }));
    let same: Vec<RankTimer> = (0..16).map(|rank| RankTimer { rank, own_ns: 100 }).collect();
    assert_eq!(dump(&mesh, 7, &same), None, "nobody lags");
    assert_eq!(dump(&mesh, 7, &[]), None);
}

#[test]
fn a_watch_waits_for_slow_steps_in_a_row_and_rests() {
    let mesh = JobLayout { tensor: 2, pipeline: 2, expert: 1, data: 4, devices_per_node: 4 }.mesh();
    let threshold = Threshold::of(&[1_000; 30], 6).unwrap();
    let mut watch = Watch::new(mesh, DumpRule { threshold, slow_in_a_row: 3, rests: 10 });
    let mut at =
        |step: i64, duration_ns: i64| watch.step(step, duration_ns, &timers(12)).map(|dump| dump.step);
    assert_eq!([at(0, 1_100), at(1, 1_100), at(2, 1_000), at(3, 1_100), at(4, 1_100)], [None; 5]);
    assert_eq!(at(5, 1_100), Some(5));
    let dumps: Vec<i64> = (6..20).filter_map(|step| at(step, 1_100)).collect();
    assert_eq!(dumps, [15], "every step is slow, and one trace is enough for ten");
}
