//! The scheduling account of real Slurm dumps against sums worked out apart from it.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeMap;

use goodput_core::records::{FileId, FleetRecords, Reservation, SourceRef};
use goodput_core::scheduling::{
    CohortKind, Denominator, PoolAccount, SchedulingAccount, SchedulingOptions, account,
};
use goodput_core::{CapacityTime, Pattern, Timestamp, Window};
use goodput_records::scheduler::slurm::events::read_events;
use goodput_records::scheduler::slurm::nodes::read_nodes;
use goodput_records::scheduler::slurm::sacct::read_sacct;
use goodput_records::scheduler::slurm::snapshots::read_snapshots;

use support::{shared, utc};

/// Which files of a dump to read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum With {
    Jobs,
    Events,
    Nodes,
    Snapshots,
}

fn read(dump: &str, files: &[With]) -> Option<FleetRecords> {
    let mut records = FleetRecords::new();
    for file in files {
        let path = match file {
            With::Jobs => "sacct-delim.txt",
            With::Events => "event-all.txt",
            With::Nodes => "scontrol-node.txt",
            With::Snapshots => "snapshots.jsonl.gz",
        };
        let bytes = shared(&format!("slurm/{dump}/{path}"))?;
        let (bytes, options) = (bytes.as_slice(), utc());
        match file {
            With::Jobs => read_sacct(path, FileId(0), bytes, &options, &mut records),
            With::Events => read_events(path, FileId(1), bytes, &options, &mut records),
            With::Nodes => read_nodes(path, FileId(2), bytes, None, &options, &mut records),
            With::Snapshots => read_snapshots(path, FileId(3), bytes, &options, &mut records),
        }
        .unwrap();
    }
    Some(records)
}

fn seconds(from: i64, to: i64) -> Window {
    Window::new(Timestamp::from_seconds(from), Timestamp::from_seconds(to)).unwrap()
}

fn account_over(records: &FleetRecords, window: Window) -> SchedulingAccount {
    let options = SchedulingOptions {
        window,
        denominator: Denominator::InService,
        pools: Vec::new(),
        series_points: 100,
    };
    let account = account(records, &options).unwrap();
    for pool in account.pools.iter().chain([&account.fleet]) {
        let losses: CapacityTime = pool.losses.iter().map(|loss| loss.amount).sum();
        assert_eq!(losses, pool.offered - pool.held);
    }
    let pools: CapacityTime = account.pools.iter().map(|pool| pool.offered).sum();
    assert_eq!(pools, account.fleet.offered);
    account
}

fn whole(amount: CapacityTime) -> i64 {
    amount.device_seconds().round() as i64
}

fn by_state(account: &SchedulingAccount) -> BTreeMap<&'static str, i64> {
    account.by_state.iter().map(|(state, time)| (state.word(), whole(*time))).collect()
}

fn pool<'a>(account: &'a SchedulingAccount, records: &FleetRecords, name: &str) -> &'a PoolAccount {
    account.pools.iter().find(|pool| records.symbols.get(pool.name) == name).unwrap()
}

fn loss(pool: &PoolAccount, pattern: Pattern) -> i64 {
    pool.losses.iter().find(|loss| loss.pattern == pattern).map_or(0, |loss| whole(loss.amount))
}

const OLD: (&str, i64, i64) = ("22.05.8", 1_795_973_123, 1_795_973_435);
const NEW: (&str, i64, i64) = ("24.11.5", 1_795_973_617, 1_795_974_015);
const LOAD: (&str, i64, i64) = ("22.05.8-load", 1_795_973_123, 1_795_974_748);

/// The reservation `maint1`, whose node stands only in the controller's log.
fn maintenance(records: &mut FleetRecords, start: i64) {
    let node = records.symbols.intern("a100-4");
    records.node_sets.push(vec![node]);
    let nodes = goodput_core::records::NodeSet(u32::try_from(records.node_sets.len() - 1).unwrap());
    let name = records.symbols.intern("maint1");
    records.reservations.push(Reservation {
        name,
        start: Timestamp::from_seconds(start),
        end: Timestamp::from_seconds(start + 60),
        nodes,
        maintenance: true,
        source: SourceRef::default(),
    });
}

#[test]
fn scenario_on_22_05() {
    let (dump, from, to) = OLD;
    let Some(mut records) = read(dump, &[With::Jobs, With::Events, With::Nodes]) else { return };
    let account = account_over(&records, seconds(from, to));
    assert_eq!(whole(account.fleet.installed), 39_936);
    assert_eq!(whole(account.fleet.held), 14_111);
    assert_eq!(whole(account.fleet.out_of_service), 264);
    assert_eq!(whole(account.fleet.offered), 39_936 - 264);
    let states = [
        ("COMPLETED", 8_759),
        ("NODE_FAIL", 1_680),
        ("TIMEOUT", 1_312),
        ("RUNNING", 1_024),
        ("PREEMPTED", 768),
        ("RESIZING", 256),
        ("REQUEUED", 152),
        ("CANCELLED", 90),
        ("FAILED", 70),
    ];
    assert_eq!(by_state(&account), BTreeMap::from(states));
    let negative = account.warnings.iter().find(|warning| warning.code == "negative_wait").unwrap();
    assert!(negative.message.starts_with("1 x"), "{}", negative.message);
    assert!(!account.warnings.iter().any(|w| matches!(w.code, "beyond_capacity" | "devices_oversubscribed")));
    let gang = account.cohorts.iter().find(|c| c.kind == CohortKind::GangSize && c.label == "96").unwrap();
    assert_eq!(gang.attempt_wait.max_ns, 96_000_000_000);

    maintenance(&mut records, 1_795_973_322);
    let account = account_over(&records, seconds(from, to));
    assert_eq!(whole(account.fleet.out_of_service), 664);
}

#[test]
fn scenario_on_24_11() {
    let (dump, from, to) = NEW;
    let Some(mut records) = read(dump, &[With::Jobs, With::Events]) else { return };
    let account = account_over(&records, seconds(from, to));
    assert_eq!(whole(account.fleet.installed), 50_944);
    assert_eq!(whole(account.fleet.held), 15_567);
    assert_eq!(whole(account.fleet.out_of_service), 456);
    let states = [
        ("COMPLETED", 10_091),
        ("RUNNING", 1_452),
        ("NODE_FAIL", 1_400),
        ("TIMEOUT", 1_216),
        ("PREEMPTED", 704),
        ("RESIZING", 256),
        ("CANCELLED", 210),
        ("REQUEUED", 168),
        ("FAILED", 70),
    ];
    assert_eq!(by_state(&account), BTreeMap::from(states));
    assert!(!account.warnings.iter().any(|warning| warning.code == "negative_wait"));
    let gang = account.cohorts.iter().find(|c| c.kind == CohortKind::GangSize && c.label == "96").unwrap();
    assert_eq!(gang.attempt_wait.max_ns, 75_000_000_000);

    maintenance(&mut records, 1_795_973_878);
    let account = account_over(&records, seconds(from, to));
    assert_eq!(whole(account.fleet.out_of_service), 856);

    let mut records = read(dump, &[With::Jobs, With::Events, With::Nodes]).unwrap();
    maintenance(&mut records, 1_795_973_878);
    let account = account_over(&records, seconds(from, to));
    assert_eq!(whole(account.fleet.out_of_service), 872);
}

#[test]
fn suspended_time_stays_held() {
    let (dump, ..) = NEW;
    let Some(records) = read(dump, &[With::Jobs]) else { return };
    let suspended: i64 = records
        .attempts
        .iter()
        .filter(|attempt| attempt.start.is_some())
        .map(|a| a.suspended_ns / 1_000_000_000 * i64::try_from(a.devices).unwrap())
        .sum();
    assert_eq!(suspended, 240);
}

#[test]
fn load_whole_dump() {
    let (dump, from, to) = LOAD;
    let Some(mut records) = read(dump, &[With::Jobs, With::Events]) else { return };
    let account = account_over(&records, seconds(from, to));
    assert_eq!(whole(account.fleet.installed), 208_000);
    assert_eq!(whole(account.fleet.held), 72_947);
    assert_eq!(whole(account.fleet.out_of_service), 2_464);
    let states = [
        ("COMPLETED", 49_559),
        ("TIMEOUT", 10_928),
        ("FAILED", 7_551),
        ("NODE_FAIL", 2_256),
        ("PREEMPTED", 1_672),
        ("RUNNING", 480),
        ("RESIZING", 256),
        ("REQUEUED", 152),
        ("CANCELLED", 93),
    ];
    assert_eq!(by_state(&account), BTreeMap::from(states));
    maintenance(&mut records, 1_795_973_322);
    assert_eq!(whole(account_over(&records, seconds(from, to)).fleet.out_of_service), 2_864);
}

/// From the middle of the first sample to the middle of the last.
fn sampled_window(records: &FleetRecords) -> Window {
    let samples = &records.node_samples;
    Window::new(samples.first().unwrap().at, samples.last().unwrap().at).unwrap()
}

#[test]
fn load_by_its_records() {
    let (dump, ..) = LOAD;
    let Some(snapshots) = read(dump, &[With::Snapshots]) else { return };
    let records = read(dump, &[With::Jobs, With::Events, With::Nodes]).unwrap();
    let account = account_over(&records, sampled_window(&snapshots));
    let fleet = &account.fleet;
    assert_eq!(whole(fleet.installed), 76_773);
    assert_eq!(whole(fleet.held), 46_137);
    assert_eq!(whole(fleet.out_of_service), 2_200);
    assert_eq!(whole(fleet.offered - fleet.held), 28_436);
    let (train, dev) = (pool(&account, &records, "train"), pool(&account, &records, "dev"));
    let figures = |pool: &PoolAccount| {
        (whole(pool.diagnostics.free_queue_waiting), whole(pool.diagnostics.free_queue_empty))
    };
    assert_eq!(figures(train), (15_800, 2_350));
    assert_eq!(figures(dev), (2_089, 8_197));
    assert_eq!(fleet.diagnostics.free_planned, None);
    let states =
        [("COMPLETED", 37_425), ("FAILED", 7_229), ("PREEMPTED", 904), ("NODE_FAIL", 576), ("CANCELLED", 3)];
    assert_eq!(by_state(&account), BTreeMap::from(states));
}

#[test]
fn load_waits_by_gang_size() {
    let (dump, ..) = LOAD;
    let Some(snapshots) = read(dump, &[With::Snapshots]) else { return };
    let records = read(dump, &[With::Jobs, With::Events, With::Nodes]).unwrap();
    let account = account_over(&records, sampled_window(&snapshots));
    let waits: Vec<_> = account
        .cohorts
        .iter()
        .filter(|cohort| cohort.kind == CohortKind::GangSize)
        .map(|cohort| {
            let wait = cohort.attempt_wait;
            let seconds = |ns: i64| ns / 1_000_000_000;
            (
                cohort.label.as_str(),
                wait.count,
                seconds(wait.p50_ns),
                seconds(wait.p90_ns),
                seconds(wait.max_ns),
            )
        })
        .collect();
    let right = [
        ("1", 57, 2, 28, 39),
        ("2", 31, 1, 27, 34),
        ("4", 31, 1, 10, 36),
        ("8", 26, 3, 168, 227),
        ("16", 12, 65, 204, 245),
        ("32", 14, 170, 272, 344),
        ("64", 5, 5, 354, 354),
        ("96", 4, 441, 454, 454),
    ];
    assert_eq!(waits, right);
}

#[test]
fn load_by_its_snapshots_alone() {
    let (dump, ..) = LOAD;
    let Some(records) = read(dump, &[With::Snapshots]) else { return };
    let mut records = records;
    // The snapshots of this dump name no partitions; the nodes' names do.
    let (train, dev) = (records.symbols.intern("train"), records.symbols.intern("dev"));
    for node in &mut records.nodes {
        let of_train = records.symbols.get(node.name).starts_with("gpu");
        node.partitions = vec![if of_train { train } else { dev }];
    }
    let account = account_over(&records, sampled_window(&records));
    let fleet = &account.fleet;
    assert_eq!(whole(fleet.installed), 76_773);
    assert_eq!(whole(fleet.held), 46_107);
    assert_eq!(whole(fleet.out_of_service), 2_193);
    assert_eq!(whole(fleet.offered - fleet.held), 28_474);
    let figures = |name: &str| {
        let diagnostics = pool(&account, &records, name).diagnostics;
        (whole(diagnostics.free_queue_waiting), whole(diagnostics.free_queue_empty))
    };
    assert_eq!(figures("train"), (15_971, 2_174));
    assert_eq!(figures("dev"), (3_727, 6_602));
    assert_eq!(fleet.diagnostics.free_planned.map(whole), Some(12_101));
    let sum = |figure: fn(&PoolAccount) -> Option<CapacityTime>| -> i64 {
        whole(account.pools.iter().filter_map(figure).sum())
    };
    assert_eq!(sum(|pool| pool.diagnostics.free_on_partly_used_nodes), 1_683);
    assert_eq!(sum(|pool| pool.diagnostics.free_on_whole_nodes), 18_014);
}

#[test]
fn load_by_records_and_snapshots_shows_the_gang_hold() {
    let (dump, ..) = LOAD;
    let files = [With::Jobs, With::Events, With::Nodes, With::Snapshots];
    let Some(records) = read(dump, &files) else { return };
    let account = account_over(&records, sampled_window(&records));
    let fleet = &account.fleet;
    assert_eq!(whole(fleet.held), 46_137);
    assert!((fleet.diagnostics.snapshot_coverage - 1.0).abs() < 1e-9);
    // By samples alone 12,101; here a gang's nodes cease to be free when it starts, not at the next sample.
    let planned = fleet.diagnostics.free_planned.map(whole).unwrap();
    assert!((11_000..12_101).contains(&planned), "{planned}");
    // The loss is nodes kept for gangs, or too few for the only gangs that wait; not fragments.
    let kept = loss(fleet, Pattern::GangReservation) + loss(fleet, Pattern::TooFewFree);
    println!("{:?}", fleet.losses.iter().map(|l| (l.pattern, whole(l.amount))).collect::<Vec<_>>());
    assert!(kept > 10 * loss(fleet, Pattern::Fragmentation));
    assert_eq!(loss(fleet, Pattern::UnheldUnsettled), 0);
}
