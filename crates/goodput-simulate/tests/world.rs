//! A simulated fleet is deterministic, its truth adds up, and its records do not contradict it.
#![allow(clippy::unwrap_used)]

mod fleets;

use std::collections::HashMap;

use goodput_core::Boundary;
use goodput_simulate::{Knowledge, PoolTime, Scenario, What, World, simulate};
use proptest::prelude::*;

const NS: i128 = 1_000_000_000;

fn fleet() -> Scenario {
    Scenario::from_yaml(include_str!("../../../examples/fleet.yaml")).unwrap()
}

/// Every boundary's losses sum to its gap, in integers, and lives tile their allocations.
fn adds_up(world: &World) {
    let truth = world.truth();
    let end = world.end();
    for (pool, time) in truth.pools.iter().enumerate() {
        let unheld: i128 = time.unheld().iter().map(|(_, amount)| amount).sum();
        assert_eq!(time.offered() - time.held(), unheld);
        let of_pool = world.jobs.iter().zip(&truth.jobs).filter(|(job, _)| job.pool == pool);
        assert_eq!(time.jobs * NS, of_pool.map(|(_, t)| t.held).sum::<i128>());
    }
    for knowledge in [Knowledge::Everything, Knowledge::Records] {
        for ledger in world.ledgers(&truth, knowledge) {
            let lost = |boundary| -> i128 {
                ledger.losses.iter().filter(|(p, _)| p.boundary() == boundary).map(|(_, a)| a).sum()
            };
            assert_eq!(lost(Boundary::Scheduling), ledger.offered - ledger.held);
            assert_eq!(lost(Boundary::Runtime), ledger.held - ledger.retained);
            assert_eq!(lost(Boundary::Program), ledger.retained - ledger.ideal);
        }
    }
    for (job, time) in world.jobs.iter().zip(&truth.jobs) {
        let lost: i128 = time.lost.values().sum();
        assert_eq!(time.held - time.retained, lost, "job {}", job.id);
        assert!(time.ideal.is_none_or(|ideal| ideal >= 0), "job {}", job.id);
        assert_eq!(time.steps.executed, time.steps.retained + time.steps.discarded + time.steps.pending);
        for attempt in &job.attempts {
            let Some((start, release)) = attempt.held(end) else { continue };
            let mut at = start * 1_000;
            let mut tiles: Vec<_> =
                attempt.life.iter().filter(|s| !matches!(s.what, What::Mark(_))).collect();
            tiles.sort_by_key(|s| (s.from, s.to));
            for tile in tiles {
                // A suspension lies inside its step.
                assert!(tile.from == at || tile.what == What::Suspension, "job {}", job.id);
                at = at.max(tile.to);
            }
            assert_eq!(at, release * 1_000, "job {}", job.id);
        }
    }
}

/// No node ever holds more than it has, and none of it while it is down.
fn fits_the_nodes(world: &World) {
    let mut changes: HashMap<usize, Vec<(i64, i64)>> = HashMap::new();
    for job in &world.jobs {
        for attempt in &job.attempts {
            let Some((start, release)) = attempt.held(world.end()) else { continue };
            assert!(attempt.submit <= attempt.eligible && attempt.eligible <= start && start <= release);
            for &node in &attempt.nodes {
                let devices = i64::from(job.devices_per_node);
                changes.entry(node).or_default().extend([(start, devices), (release, -devices)]);
            }
        }
    }
    for (node, mut changes) in changes {
        changes.sort_unstable();
        let mut held = 0;
        for (_, change) in changes {
            held += change;
            assert!(held <= i64::from(world.nodes[node].devices), "{}", world.nodes[node].name);
        }
    }
}

#[test]
fn the_same_seed_writes_the_same_bytes() {
    let scenario = fleet();
    assert_eq!(simulate(&scenario).files(), simulate(&scenario).files());
    let other = Scenario { seed: scenario.seed + 1, ..scenario.clone() };
    assert_ne!(simulate(&scenario).files(), simulate(&other).files());
}

#[test]
fn everything_that_can_happen_adds_up() {
    let world = simulate(&fleet());
    adds_up(&world);
    fits_the_nodes(&world);
    let time = world.truth().pools[0];
    let PoolTime { out_of_service, idle_reservation, gang_reservation, .. } = time;
    assert!(out_of_service > 0 && idle_reservation > 0 && gang_reservation > 0, "{time:?}");
}

#[test]
fn a_scenario_survives_being_written_as_yaml() {
    let scenario = fleet();
    let text = serde_saphyr::to_string(&scenario).unwrap();
    assert_eq!(Scenario::from_yaml(&text).unwrap(), scenario);
}

#[test]
fn errors_name_line_and_field() {
    let text = include_str!("../../../examples/fleet.yaml");
    let message = |text: String| Scenario::from_yaml(&text).unwrap_err().to_string();
    let unknown = message(text.replace("snapshot_every", "snapshot_evry"));
    assert!(unknown.contains("line 6") && unknown.contains("snapshot_evry"), "{unknown}");
    let unit = message(text.replace("duration: 1d", "duration: 86400"));
    assert!(unit.contains("line 5") && unit.contains("duration"), "{unit}");
    let value = message(text.replace("nodes: [7, 8]", "nodes: [7, 9]"));
    assert_eq!(value, "outages[1].nodes: must name nodes by position, 1 to 8");
    let pool = message(text.replace("pool: dev", "pool: prod"));
    assert!(pool.contains("no pool `prod`"), "{pool}");
    let lines = message(text.replace("step: 12s", "step: 1ms").replace("model_flops_per_step: 1.5e17", ""));
    assert!(lines.starts_with("jobs[0].program.steps_per_line: gives too many lines"), "{lines}");
    let twice = "  - {name: again, account: vision, pool: train, nodes: [8], at: 2h, lasts: 1h}\njobs:";
    let granted = message(text.replace("jobs:", twice));
    assert_eq!(granted, "reservations[1].nodes: are granted twice at the same time");
}

#[test]
fn files_are_written_below_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let world = simulate(&fleet());
    let paths = world.write(folder.path()).unwrap();
    assert_eq!(paths.len(), world.files().len());
    assert!(paths.iter().all(|p| p.is_file()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_fleets_add_up(scenario in fleets::scenario()) {
        prop_assert!(scenario.check().is_ok());
        let world = simulate(&scenario);
        adds_up(&world);
        fits_the_nodes(&world);
    }
}

/// docs/simulate.md has a row for every field of a scenario, and no row for a field that does not exist.
#[test]
fn the_page_has_every_field() {
    let page = include_str!("../../../docs/simulate.md");
    let scenario = serde_json::to_value(fleet()).unwrap();
    let fields =
        |value: &serde_json::Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let sections = [
        ("## The scenario", fields(&scenario)),
        ("### `pools`", fields(&scenario["pools"][0])),
        ("### `policy`", fields(&scenario["policy"])),
        ("### `outages`", fields(&scenario["outages"][0])),
        ("### `reservations`", fields(&scenario["reservations"][0])),
        ("### `jobs`", fields(&scenario["jobs"][0])),
        ("### `program`", fields(&scenario["jobs"][0]["program"])),
    ];
    for (heading, mut expected) in sections {
        let (_, after) = page.split_once(&format!("\n{heading}\n")).expect(heading);
        let section = after.split("\n#").next().unwrap_or_default();
        let mut rows: Vec<String> = section
            .lines()
            .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned()))
            .collect();
        rows.sort();
        expected.sort();
        assert_eq!(rows, expected, "{heading}");
    }
}
