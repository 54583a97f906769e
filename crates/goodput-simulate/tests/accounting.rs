//! The accounting of a simulated fleet's records finds its true ledger, in exact integers.
#![allow(clippy::unwrap_used)]

mod fleets;

use std::collections::{BTreeMap, BTreeSet};

use goodput_core::fleet::{self, FleetAccount, FleetOptions, JobAccount};
use goodput_core::records::{FileId, FleetRecords, JobState, Timeline};
use goodput_core::runtime::RuntimeOptions;
use goodput_core::scheduling::{Denominator, SchedulingOptions};
use goodput_core::{Boundary, Ledger, Pattern, Timestamp, Window};
use goodput_records::scheduler::slurm::{SlurmOptions, events, nodes, reservations, sacct, snapshots};
use goodput_records::timeline::{TimelineOptions, read_timeline};
use goodput_simulate::{
    Job, JobTime, Knowledge, LogFormat, Mark, Scenario, Stretch, TrueLedger, What, World, simulate,
};
use proptest::prelude::*;

/// A world's records, read back.
fn read(world: &World) -> (FleetRecords, Vec<Timeline>) {
    let options = SlurmOptions { time_zone: Some(jiff::tz::TimeZone::UTC), ..SlurmOptions::default() };
    let mut fleet = FleetRecords::new();
    let mut timelines = Vec::new();
    let end = Timestamp::from_seconds(world.epoch(world.end()));
    for (number, (name, content)) in world.files().iter().enumerate() {
        let file = FileId(u16::try_from(number).unwrap());
        let input = content.as_slice();
        let report = match name.as_str() {
            "sacct.txt" => sacct::read_sacct(name, file, input, &options, &mut fleet).unwrap(),
            "events.txt" => events::read_events(name, file, input, &options, &mut fleet).unwrap(),
            "reservations.txt" => {
                reservations::read_reservations(name, file, input, &options, &mut fleet).unwrap()
            }
            "nodes.txt" => nodes::read_nodes(name, file, input, Some(end), &options, &mut fleet).unwrap(),
            "snapshots.jsonl" => snapshots::read_snapshots(name, file, input, &options, &mut fleet).unwrap(),
            _ if name.starts_with("timelines/") => {
                let mut read = read_timeline(name, file, input, &TimelineOptions::default()).unwrap();
                let (timeline, report) = read.remove(0);
                timelines.push(timeline);
                report
            }
            _ => continue,
        };
        assert_eq!((report.repaired, report.refused), (0, 0), "{name}: {report:?}");
    }
    (fleet, timelines)
}

fn account(world: &World, records: &FleetRecords, timelines: &[Timeline]) -> FleetAccount {
    let at = |seconds| Timestamp::from_seconds(world.epoch(seconds));
    let options = FleetOptions {
        scheduling: SchedulingOptions {
            window: Window::new(at(0), at(world.end())).unwrap(),
            denominator: Denominator::InService,
            pools: Vec::new(),
            series_points: 0,
        },
        runtime: RuntimeOptions::default(),
        detailed_jobs: usize::MAX,
    };
    fleet::account(records, timelines, &options).unwrap()
}

/// Named amounts, those that are zero left out.
type Amounts = BTreeMap<String, i128>;

fn amounts(levels: [(&str, i128); 4], losses: impl Iterator<Item = (Pattern, i128)>) -> Amounts {
    let mut amounts: Amounts = levels.into_iter().map(|(key, ns)| (key.to_owned(), ns)).collect();
    amounts.extend(losses.map(|(pattern, ns)| (format!("{} {}", pattern.boundary(), pattern.key()), ns)));
    amounts.retain(|_, ns| *ns != 0);
    amounts
}

fn found(ledger: &Ledger) -> Amounts {
    let levels = ledger.chain().levels();
    let losses = ledger.losses().iter().map(|loss| (loss.pattern, loss.amount.device_ns()));
    amounts(
        [
            ("offered", levels.offered.device_ns()),
            ("held", levels.held.device_ns()),
            ("retained", levels.retained.device_ns()),
            ("ideal", levels.ideal.device_ns()),
        ],
        losses,
    )
}

fn truly(ledger: &TrueLedger) -> Amounts {
    let levels = [
        ("offered", ledger.offered),
        ("held", ledger.held),
        ("retained", ledger.retained),
        ("ideal", ledger.ideal),
    ];
    amounts(levels, ledger.losses.iter().map(|(pattern, ns)| (*pattern, *ns)))
}

/// A job's account as a ledger of what it held.
fn true_job(time: &JobTime) -> Amounts {
    let ideal = time.ideal.unwrap_or(0);
    let program = if time.ideal.is_some() { Pattern::TermUnsettled } else { Pattern::ProgramUnsettled };
    let levels = [("offered", time.held), ("held", time.held), ("retained", time.retained), ("ideal", ideal)];
    let losses = time.lost.iter().map(|(pattern, ns)| (*pattern, *ns));
    amounts(levels, losses.chain([(program, time.retained - ideal)]))
}

fn differ(what: &str, truly: &Amounts, found: &Amounts) -> Vec<String> {
    let keys: BTreeSet<_> = truly.keys().chain(found.keys()).collect();
    let amount = |of: &Amounts, key: &str| of.get(key).copied().unwrap_or(0);
    keys.into_iter()
        .map(|key| (key, amount(truly, key), amount(found, key)))
        .filter(|(_, truly, found)| truly != found)
        .map(|(key, truly, found)| format!("{what} {key}: truly {truly} found {found}"))
        .collect()
}

/// Whether more steps are steady than not, so that their median is the fault-free step time.
fn settles_step_time(job: &Job) -> bool {
    let lines = job.attempts.iter().flat_map(|a| &a.life).filter_map(|s| match &s.what {
        What::Steps(steps) => Some(steps.warm_up.is_none()),
        _ => None,
    });
    let (steady, slow): (Vec<bool>, Vec<bool>) = lines.partition(|steady| *steady);
    steady.len() > slow.len()
}

/// Whether the log has a line of every attempt: one that began on a dead node left none.
fn logs_every_attempt(job: &Job) -> bool {
    let launch = What::Mark(Mark::Launch);
    job.attempts.iter().all(|a| a.start.is_none() || a.life.iter().any(|s| s.what == launch))
}

/// Whether it hung until the scheduler took its devices, and started again: for the records, a
/// silence that ends in a new start is recovery.
fn starts_again_after_a_hang(job: &Job) -> bool {
    let hung = |s: &Stretch| s.what == What::Silence(Pattern::Hang);
    let taken = job
        .attempts
        .iter()
        .position(|a| matches!(a.state, JobState::NodeFail | JobState::Preempted) && a.life.iter().any(hung));
    taken.is_some_and(|taken| job.attempts[taken + 1..].iter().any(|a| a.start.is_some()))
}

/// Every difference between truth and account, in the pools and in the settled jobs that wrote a log.
fn differences(scenario: &Scenario, settled: impl Fn(&Job) -> bool) -> Vec<String> {
    let world = simulate(scenario);
    let (records, timelines) = read(&world);
    let account = account(&world, &records, &timelines);
    assert!(account.warnings.is_empty(), "{:?}", account.warnings);
    let truth = world.truth();
    let mut differences = Vec::new();

    let (logged, open): (Vec<_>, Vec<_>) = world
        .jobs
        .iter()
        .zip(&truth.jobs)
        .filter(|(job, time)| scenario.jobs[job.class].log != LogFormat::None && time.held > 0)
        .partition(|(job, _)| settled(job));
    let accounts: BTreeMap<&str, &JobAccount> =
        account.jobs.iter().map(|job| (records.symbols.get(job.id), job)).collect();
    for (job, time) in logged {
        let account = accounts[job.id.to_string().as_str()];
        let what = format!("job {} {}", job.id, scenario.jobs[job.class].name);
        differences.extend(differ(&what, &true_job(time), &found(&account.ledger)));
        let steps = account.runtime.as_ref().unwrap().steps;
        let counted = (steps.executed, steps.retained, steps.discarded, steps.pending);
        let steps = time.steps;
        let true_steps = (steps.executed, steps.retained, steps.discarded, steps.pending);
        if counted != true_steps {
            differences.push(format!("{what} steps: truly {true_steps:?} found {counted:?}"));
        }
    }

    let ledgers = world.ledgers(&truth, Knowledge::Records);
    for ((spec, ledger), time) in scenario.pools.iter().zip(&ledgers).zip(&truth.pools) {
        let named = |p: &&goodput_core::scheduling::PoolAccount| records.symbols.get(p.name) == spec.name;
        let pool = account.scheduling.pools.iter().position(|p| named(&p)).unwrap();
        let (mut truly, mut found) = (truly(ledger), found(&account.pools[pool]));
        truly.insert("out of service".into(), time.out_of_service * 1_000_000_000);
        found.insert("out of service".into(), account.scheduling.pools[pool].out_of_service.device_ns());
        if !open.is_empty() {
            // What open jobs did with what they held is not compared.
            let compared = |key: &String| {
                let idle = format!("runtime {}", Pattern::IdleReservation.key());
                ["offered", "held", "out of service", idle.as_str()].contains(&key.as_str())
                    || key.starts_with(Boundary::Scheduling.key())
            };
            truly.retain(|key, _| compared(key));
            found.retain(|key, _| compared(key));
        }
        differences.extend(differ(&format!("pool {}", spec.name), &truly, &found));
    }
    differences
}

#[test]
fn the_demo_is_accounted_exactly() {
    let differences = differences(&Scenario::demo().unwrap(), |_| true);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_fleet_with_everything_is_accounted_exactly() {
    let scenario = Scenario::from_yaml(include_str!("../../../examples/fleet.yaml")).unwrap();
    let differences = differences(&scenario, |_| true);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn random_fleets_are_accounted_exactly(scenario in fleets::scenario()) {
        let settled = |job: &Job| settles_step_time(job) && logs_every_attempt(job) && !starts_again_after_a_hang(job);
        let differences = differences(&scenario, settled);
        let yaml = || serde_saphyr::to_string(&scenario).unwrap();
        prop_assert!(differences.is_empty(), "{}\n{}", differences.join("\n"), yaml());
    }
}

/// A node dies, and the records end before its job starts again; a job restarts in place, and they
/// end before its first new step.
#[test]
fn a_fault_without_a_new_step_is_recovery() {
    let scenario = Scenario::from_yaml(
        "
seed: 1
start: 2026-03-02T00:00:00Z
duration: 2h
pools: [{name: train, nodes: 3, devices_per_node: 8, device: H100}]
outages: [{kind: down, pool: train, nodes: [1], at: 118min, lasts: 1h}]
jobs:
  - {name: dies, nodes: 2, submit_at: [0s], log: goodput, program: {steps: 10000, step: 7s, checkpoint: {every_steps: 50}}}
  - name: restarts
    nodes: 1
    submit_at: [0s]
    log: goodput
    program: {steps: 10000, step: 7s, checkpoint: {every_steps: 50}, faults: {at: [118min], recovery: 5min}}
",
    )
    .unwrap();
    let differences = differences(&scenario, |_| true);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_demo_is_the_running_example() {
    let world = simulate(&Scenario::demo().unwrap());
    let truth = world.truth();
    let share = |amount: i128, whole: i128| amount as f64 / whole as f64;
    let pool = truth.pools[0];
    let close = |value: f64, wanted: f64, by: f64| assert!((value - wanted).abs() <= by, "{value} {wanted}");
    close(share(pool.held(), pool.offered()), 0.65, 0.005);
    close(share(pool.gang_reservation, pool.offered()), 0.15, 0.005);
    let job = &truth.jobs[0];
    assert_eq!(world.scenario.jobs[world.jobs[0].class].name, "pretrain-70b");
    let pending = job.lost[&Pattern::Pending];
    close(share(job.retained, job.held - pending), 0.904, 0.001);
    close(share(job.ideal.unwrap(), job.retained), 0.480, 0.001);
}
