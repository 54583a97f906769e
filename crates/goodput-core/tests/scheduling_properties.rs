//! Whatever the records say, pools sum to the fleet and the losses to what is unheld, in integers.
#![allow(clippy::unwrap_used)]

mod scheduling_fleet;

use goodput_core::records::{JobState, NodeStatus, WaitReason};
use goodput_core::scheduling::{Denominator, account};
use goodput_core::{CapacityTime, Pattern};
use proptest::prelude::*;

use scheduling_fleet::{Fleet, assert_sums, at, loss};

const NODES: [&str; 6] = ["g1", "g2", "g3", "g4", "a1", "a2"];

#[derive(Debug, Clone)]
struct Job {
    id: u8,
    submit: i64,
    wait: Option<i64>,
    run: Option<i64>,
    nodes: Vec<usize>,
    devices: u64,
    reason: WaitReason,
    state: JobState,
    partition: &'static str,
    /// How many of its nodes were bound early, and how long before the start.
    bound: (usize, i64),
}

fn reason() -> impl Strategy<Value = WaitReason> {
    prop_oneof![Just(WaitReason::Eligible), Just(WaitReason::Limit), Just(WaitReason::NotEligible)]
}

fn job() -> impl Strategy<Value = Job> {
    let times = (-20..110i64, prop::option::weighted(0.8, 0..40i64), prop::option::weighted(0.8, -2..60i64));
    let shape = (prop::sample::subsequence((0..NODES.len()).collect::<Vec<_>>(), 0..4), 0..30u64);
    let state = prop::sample::select(vec![
        JobState::Completed,
        JobState::Requeued,
        JobState::Cancelled,
        JobState::Running,
    ]);
    let partition = prop::sample::select(vec!["train", "dev", "all", "nowhere"]);
    (0..12u8, times, shape, reason(), state, partition, (0..3usize, 0..10i64)).prop_map(
        |(id, (submit, wait, run), (nodes, devices), reason, state, partition, bound)| Job {
            id,
            submit,
            wait,
            run,
            nodes,
            devices,
            reason,
            state,
            partition,
            bound,
        },
    )
}

/// Jobs of which one at least was submitted inside the window: the account refuses records that miss it.
fn jobs(number: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Job>> {
    let reach = |jobs: &Vec<Job>| jobs.is_empty() || jobs.iter().any(|job| (0..100).contains(&job.submit));
    prop::collection::vec(job(), number).prop_filter("a job inside the window", reach)
}

fn outage() -> impl Strategy<Value = (usize, i64, Option<i64>)> {
    (0..NODES.len(), -10..110i64, prop::option::of(0..50i64))
}

/// Second, node, whether it drains, whether it is planned.
fn sample() -> impl Strategy<Value = (i64, usize, bool, bool)> {
    (0..20i64, 0..NODES.len(), prop::bool::weighted(0.2), prop::bool::weighted(0.4))
}

fn build(
    jobs: &[Job],
    outages: &[(usize, i64, Option<i64>)],
    samples: &[(i64, usize, bool, bool)],
    inventory: bool,
    capacity: bool,
) -> Fleet {
    let mut fleet = Fleet::new();
    if inventory {
        fleet.nodes(&NODES[..4], 8, "h100", &["train", "all"]);
        fleet.nodes(&NODES[4..], 4, "a100", &["dev", "all"]);
    }
    if capacity || !inventory {
        fleet.capacity(-50, Some(30), 36, &NODES[..5]);
        fleet.capacity(30, None, 40, &NODES);
    }
    for job in jobs {
        let start = job.wait.map(|wait| job.submit + wait);
        let end = job.run.map(|run| start.unwrap_or(job.submit) + run);
        let nodes: Vec<&str> = job.nodes.iter().map(|&n| NODES[n]).collect();
        let row = fleet.records.attempts.len();
        let attempt =
            fleet.attempt(&job.id.to_string(), job.partition, (job.submit, start, end), job.devices, &nodes);
        attempt.wait_reason = job.reason;
        attempt.state = job.state;
        if let Some(start) = start {
            for node in nodes.iter().take(job.bound.0) {
                fleet.partial(row, node, 1, start - job.bound.1, None);
            }
        }
    }
    for &(node, start, length) in outages {
        fleet.outage(NODES[node], NodeStatus::Drain, start, length.map(|length| start + length));
    }
    let mut samples = samples.to_vec();
    samples.sort_unstable();
    for (tick, node, drains, planned) in samples {
        let status = if drains { NodeStatus::Drain } else { NodeStatus::Up };
        fleet.node_sample(5 * tick, NODES[node], status, planned);
        let reason = if drains { WaitReason::Limit } else { WaitReason::Eligible };
        fleet.queue_sample(5 * tick, &(tick % 12).to_string(), reason);
    }
    fleet
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_sums(
        jobs in jobs(0..25),
        outages in prop::collection::vec(outage(), 0..5),
        samples in prop::collection::vec(sample(), 0..30),
        inventory: bool,
        capacity: bool,
        installed: bool,
        written_at in prop::option::weighted(0.3, 1..120i64),
    ) {
        let mut fleet = build(&jobs, &outages, &samples, inventory, capacity);
        fleet.records.written_at = written_at.map(at);
        let mut options = Fleet::options(0, 100);
        if installed {
            options.denominator = Denominator::Installed;
        }
        let account = account(&fleet.records, &options).unwrap();
        assert_sums(&account);
        let fleet = &account.fleet;
        // What the fleet lacks demand for, its pools lack demand for; the rest is wanted by another pool.
        let in_pools: CapacityTime = account.pools.iter().map(|p| loss(p, Pattern::NoDemand)).sum();
        prop_assert!(loss(fleet, Pattern::NoDemand) <= in_pools);
        // Classes that waiting jobs cause take no more than those jobs ask for.
        for pool in account.pools.iter().chain([fleet]) {
            let caused = [Pattern::QuotaBlocked, Pattern::Fragmentation, Pattern::TooFewFree, Pattern::GangReservation, Pattern::SchedulerDelay];
            let caused: CapacityTime = caused.iter().map(|&pattern| loss(pool, pattern)).sum();
            prop_assert!(caused <= pool.diagnostics.demand, "{caused} of {}", pool.diagnostics.demand);
        }
        let stretch_ns = 10e9;
        for pool in account.pools.iter().chain([fleet]) {
            let held: f64 = pool.series.iter().map(|point| point.held * stretch_ns).sum();
            prop_assert!((held - pool.held.device_ns() as f64).abs() < 1e3);
        }
    }

    /// Snapshots that say nothing new of nodes and reasons settle what was unsettled and change nothing else.
    #[test]
    fn snapshots_only_settle(mut jobs in jobs(1..20)) {
        jobs.iter_mut().for_each(|job| job.reason = WaitReason::Eligible);
        let without = build(&jobs, &[], &[], true, false);
        let calm: Vec<_> = (0..21).flat_map(|tick| (0..NODES.len()).map(move |node| (tick, node, false, false))).collect();
        let with = build(&jobs, &[], &calm, true, false);
        // Records that all lie outside the window are refused.
        prop_assume!(without.try_account(0, 100).is_ok() && with.try_account(0, 100).is_ok());
        let (without, with) = (without.account(0, 100), with.account(0, 100));
        prop_assert_eq!(without.fleet.held, with.fleet.held);
        prop_assert_eq!(without.fleet.offered, with.fleet.offered);
        prop_assert!(loss(&with.fleet, Pattern::UnheldUnsettled) <= loss(&without.fleet, Pattern::UnheldUnsettled));
    }
}
