//! The scheduling account of simulated fleets finds the truth that the simulation added up by itself.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use goodput_core::records::{FileId, FleetRecords};
use goodput_core::scheduling::{Denominator, PoolAccount, SchedulingOptions, account};
use goodput_core::{CapacityTime, Pattern, Timestamp, Window};
use goodput_records::scheduler::slurm::SlurmOptions;
use goodput_records::scheduler::slurm::events::read_events;
use goodput_records::scheduler::slurm::nodes::read_nodes;
use goodput_records::scheduler::slurm::reservations::read_reservations;
use goodput_records::scheduler::slurm::sacct::read_sacct;
use goodput_records::scheduler::slurm::snapshots::read_snapshots;
use goodput_simulate::{Scenario, World, simulate};
use jiff::tz::TimeZone;
use rstest::rstest;

const FLEET: &str = include_str!("../../../examples/fleet.yaml");

fn read(world: &World) -> FleetRecords {
    let files: BTreeMap<String, Vec<u8>> = world.files().into_iter().collect();
    let file = |name: &str| files[name].as_slice();
    let options = SlurmOptions { time_zone: Some(TimeZone::UTC), ..SlurmOptions::default() };
    let mut records = FleetRecords::new();
    read_sacct("sacct.txt", FileId(0), file("sacct.txt"), &options, &mut records).unwrap();
    read_events("events.txt", FileId(1), file("events.txt"), &options, &mut records).unwrap();
    read_reservations("reservations.txt", FileId(2), file("reservations.txt"), &options, &mut records)
        .unwrap();
    read_nodes("nodes.txt", FileId(3), file("nodes.txt"), None, &options, &mut records).unwrap();
    read_snapshots("snapshots.jsonl", FileId(4), file("snapshots.jsonl"), &options, &mut records).unwrap();
    records
}

fn loss(pool: &PoolAccount, pattern: Pattern) -> CapacityTime {
    pool.losses.iter().find(|loss| loss.pattern == pattern).map_or(CapacityTime::ZERO, |loss| loss.amount)
}

/// Seed, jobs a day of one class, seconds between snapshots.
#[rstest]
#[case(11, 20, 60)]
#[case(2, 400, 60)]
#[case(3, 100, 30)]
#[case(5, 60, 10)]
fn every_class_of_every_pool(#[case] seed: u64, #[case] per_day: u32, #[case] snapshot_every: u32) {
    let scenario = FLEET
        .replace("seed: 11", &format!("seed: {seed}"))
        .replace("per_day: 20", &format!("per_day: {per_day}"))
        .replace("snapshot_every: 60s", &format!("snapshot_every: {snapshot_every}s"));
    let world = simulate(&Scenario::from_yaml(&scenario).unwrap());
    let records = read(&world);
    let at = |second| Timestamp::from_seconds(world.epoch(second));
    let options = SchedulingOptions {
        window: Window::new(at(0), at(world.end())).unwrap(),
        denominator: Denominator::InService,
        pools: Vec::new(),
        series_points: 0,
    };
    let account = account(&records, &options).unwrap();
    for (spec, truth) in world.scenario.pools.iter().zip(&world.pools) {
        let pool = account.pools.iter().find(|pool| records.symbols.get(pool.name) == spec.name).unwrap();
        let exact = |device_seconds: i128| CapacityTime::from_device_ns(device_seconds * 1_000_000_000);
        assert_eq!(pool.offered, exact(truth.offered()));
        assert_eq!(pool.held, exact(truth.held()));
        assert_eq!(pool.idle_reserved, exact(truth.idle_reservation));
        assert_eq!(pool.out_of_service, exact(truth.out_of_service));
        assert_eq!(loss(pool, Pattern::UnheldUnsettled), CapacityTime::ZERO);
        let unheld = BTreeMap::from(truth.unheld());
        let truth = |pattern: Pattern| exact(unheld[&pattern]);
        for pattern in
            [Pattern::NoDemand, Pattern::Fragmentation, Pattern::TooFewFree, Pattern::GangReservation]
        {
            assert_eq!(loss(pool, pattern), truth(pattern), "{pattern:?} of {}", spec.name);
        }
        // That a quota blocks a job shows at the next snapshot; until then it looks late.
        let (quota, delay) = (Pattern::QuotaBlocked, Pattern::SchedulerDelay);
        assert_eq!(loss(pool, quota) + loss(pool, delay), truth(quota) + truth(delay));
        let late = (truth(quota) - loss(pool, quota)).device_seconds();
        let blocked = world.jobs.iter().filter(|job| job.pool == 1).count() as f64;
        assert!((0.0..=blocked * 2.0 * f64::from(snapshot_every)).contains(&late), "{late}");
    }
}
