//! The scheduling account of a published series: Helios Earth, May 2020, sixteen virtual clusters.
#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use goodput_core::records::{FileId, FleetRecords};
use goodput_core::scheduling::{Denominator, PoolAccount, SchedulingOptions, account};
use goodput_core::{CapacityTime, NS_PER_SECOND, Pattern, Window};
use goodput_records::scheduler::import::{ImportMap, read_import};

fn helios() -> Option<FleetRecords> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../../../shared/data/scheduler/traces/helios-earth-vc");
    if !folder.exists() {
        println!("skipped: ../shared is not there");
        return None;
    }
    let map = std::fs::read_to_string(here.join("tests/data/maps/helios-vc.yaml")).unwrap();
    let map = ImportMap::from_yaml("helios-vc.yaml", &map).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .collect();
    files.sort();
    let mut records = FleetRecords::new();
    for path in files {
        let input = BufReader::new(File::open(&path).unwrap());
        read_import(&path.to_string_lossy(), FileId(0), input, &map, &mut records).unwrap();
    }
    Some(records)
}

fn hours(amount: CapacityTime) -> f64 {
    amount.device_hours().round()
}

fn tenths(amount: CapacityTime) -> f64 {
    (amount.device_hours() * 10.0).round() / 10.0
}

#[test]
fn helios_earth_in_both_scopes() {
    let Some(records) = helios() else { return };
    let first = records.pool_samples.first().unwrap().at;
    let window = Window::new(first, first + 44_640 * 60 * NS_PER_SECOND).unwrap();
    let options = SchedulingOptions {
        window,
        denominator: Denominator::InService,
        pools: Vec::new(),
        series_points: 31,
    };
    let account = account(&records, &options).unwrap();
    let fleet = &account.fleet;
    assert_eq!(fleet.devices, 856);
    assert_eq!(hours(fleet.offered), 636_864.0);
    assert_eq!(hours(fleet.held), 424_773.0);
    assert_eq!(hours(fleet.diagnostics.demand), 45_672.0);

    let sum =
        |figure: fn(&PoolAccount) -> CapacityTime| account.pools.iter().map(figure).sum::<CapacityTime>();
    assert_eq!(hours(sum(|pool| pool.diagnostics.free_queue_empty)), 202_853.0);
    assert_eq!(hours(sum(|pool| pool.diagnostics.free_queue_waiting)), 9_239.0);
    assert_eq!(hours(fleet.diagnostics.free_other_pool_waiting), 161_766.0);
    assert_eq!(hours(fleet.diagnostics.quota_stranded), 36_309.0);
    assert_eq!(hours(fleet.diagnostics.free_queue_empty), 41_086.0);

    let losses: CapacityTime = fleet.losses.iter().map(|loss| loss.amount).sum();
    assert_eq!(losses, fleet.offered - fleet.held);
    assert!(fleet.losses.iter().any(|loss| loss.pattern == Pattern::QuotaBlocked));

    let pool = |name| account.pools.iter().find(|p| records.symbols.get(p.name) == name).unwrap();
    let busiest = pool("vc6YE");
    assert_eq!(busiest.devices, 208);
    let figures =
        [busiest.held, busiest.diagnostics.free_queue_empty, busiest.diagnostics.free_queue_waiting];
    assert_eq!(figures.map(tenths), [139_683.7, 11_560.3, 3_508.0]);
    let share = busiest.diagnostics.queue_waiting_ns as f64 / window.duration_ns() as f64;
    assert_eq!((share * 10_000.0).round(), 5_471.0);

    // The month has 1,566 minutes in which nothing ran anywhere: shown, not averaged away.
    let gap = account.warnings.iter().find(|warning| warning.code == "nothing_held").unwrap();
    assert!(gap.message.contains(&format!("{} s", 1_566 * 60)), "{}", gap.message);
}
