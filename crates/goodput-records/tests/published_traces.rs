//! Published traces through the column maps: the sums that their own tables give, and their traps.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use goodput_core::records::{FileId, FleetRecords};
use goodput_core::{NS_PER_SECOND, Timestamp};
use goodput_records::FileReport;
use goodput_records::scheduler::completeness;
use goodput_records::scheduler::import::{ImportMap, read_import};

const MINUTE_NS: i64 = 60 * NS_PER_SECOND;

fn traces() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/scheduler/traces");
    if !folder.exists() {
        println!("skipped: ../shared is not there");
        return None;
    }
    Some(folder)
}

fn map(name: &str) -> ImportMap {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/maps").join(name);
    ImportMap::from_yaml(name, &std::fs::read_to_string(path).unwrap()).unwrap()
}

fn read(path: &Path, map: &ImportMap, records: &mut FleetRecords) -> FileReport {
    let input = BufReader::new(File::open(path).unwrap());
    let report = read_import(&path.to_string_lossy(), FileId(0), input, map, records).unwrap();
    assert_eq!((report.refused, report.repaired), (0, 0), "{report:?}");
    report
}

/// Device-minutes of one pool, or of all of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Minutes {
    offered: u64,
    held: u64,
    demand: u64,
    idle_queue_empty: u64,
    idle_queue_waiting: u64,
    with_a_queue: u64,
}

fn hours(minutes: u64) -> f64 {
    minutes as f64 / 60.0
}

#[test]
fn helios_earth_sums_to_its_baseline() {
    let Some(traces) = traces() else { return };
    let map = map("helios-vc.yaml");
    let mut records = FleetRecords::new();
    let mut files: Vec<_> = std::fs::read_dir(traces.join("helios-earth-vc"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "gz"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 16);
    for path in &files {
        let report = read(path, &map, &mut records);
        assert_eq!((report.rows, report.used), (44_640, 44_640));
        assert_eq!(report.counts.get("series_gap"), None);
        assert_eq!(report.counts.get("held_beyond_offered"), None);
    }
    assert!(records.pool_samples.is_sorted_by_key(|sample| sample.at));

    let mut pools: BTreeMap<&str, Minutes> = BTreeMap::new();
    let (mut only_others_wait, mut could_have_served, mut nobody_waits) = (0, 0, 0);
    let mut days: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
    let mut idle_minutes = Vec::new();
    for minute in records.pool_samples.chunk_by(|a, b| a.at == b.at) {
        assert_eq!(minute.len(), 16);
        let all_demand: u64 = minute.iter().map(|s| s.demand).sum();
        let mut idle_without_queue = 0;
        for sample in minute {
            let pool = pools.entry(records.symbols.get(sample.pool)).or_default();
            let idle = sample.offered - sample.held;
            pool.offered += sample.offered;
            pool.held += sample.held;
            pool.demand += sample.demand;
            if sample.demand == 0 {
                pool.idle_queue_empty += idle;
                idle_without_queue += idle;
            } else {
                pool.idle_queue_waiting += idle;
                pool.with_a_queue += 1;
            }
        }
        if all_demand == 0 {
            nobody_waits += idle_without_queue;
        } else {
            only_others_wait += idle_without_queue;
            // Demand that the idle devices of the waiting pools would not meet, were they of one shape.
            let idle: u64 = minute.iter().map(|s| s.offered - s.held).sum();
            could_have_served += idle_without_queue.min(all_demand.saturating_sub(idle - idle_without_queue));
        }
        let day = days.entry(minute[0].at.as_nanos() / (1440 * MINUTE_NS)).or_default();
        let held: u64 = minute.iter().map(|s| s.held).sum();
        *day = (day.0 + held, day.1 + minute.iter().map(|s| s.offered).sum::<u64>());
        if held == 0 {
            idle_minutes.push(minute[0].at);
        }
    }
    let total = pools.values().fold(Minutes::default(), |a, b| Minutes {
        offered: a.offered + b.offered,
        held: a.held + b.held,
        demand: a.demand + b.demand,
        idle_queue_empty: a.idle_queue_empty + b.idle_queue_empty,
        idle_queue_waiting: a.idle_queue_waiting + b.idle_queue_waiting,
        with_a_queue: a.with_a_queue + b.with_a_queue,
    });
    assert_eq!(total.offered, 636_864 * 60);
    let rounded = |minutes| hours(minutes).round();
    assert_eq!(rounded(total.held), 424_773.0);
    assert_eq!(rounded(total.demand), 45_672.0);
    assert_eq!(rounded(total.idle_queue_empty), 202_853.0);
    assert_eq!(rounded(total.idle_queue_waiting), 9_239.0);
    assert_eq!(rounded(only_others_wait), 161_766.0);
    assert_eq!(rounded(could_have_served), 36_309.0);
    assert_eq!(rounded(nobody_waits), 41_086.0);
    assert_eq!(total.offered - total.held, total.idle_queue_empty + total.idle_queue_waiting);
    assert_eq!(total.idle_queue_empty, only_others_wait + nobody_waits);

    let tenths = |minutes: u64| {
        let tenths = (minutes + 3) / 6;
        format!("{}.{}", tenths / 10, tenths % 10)
    };
    for (name, held, empty, waiting, queue_share, demand) in [
        ("vc3sl", "29869.1", "17590.7", "156.2", "0.0330", "197.6"),
        ("vc6YE", "139683.7", "11560.3", "3508.0", "0.5471", "14803.2"),
        ("vcJkd", "101.1", "11802.9", "0.0", "0.0000", "0.0"),
        ("vcpDC", "37930.9", "2524.6", "1208.5", "0.7704", "10422.1"),
        ("vcvlY", "48131.0", "22913.9", "379.2", "0.1167", "2459.6"),
    ] {
        let pool = pools[name];
        assert_eq!(tenths(pool.held), held, "{name}");
        assert_eq!(tenths(pool.idle_queue_empty), empty, "{name}");
        assert_eq!(tenths(pool.idle_queue_waiting), waiting, "{name}");
        assert_eq!(tenths(pool.demand), demand, "{name}");
        assert_eq!(format!("{:.4}", pool.with_a_queue as f64 / 44_640.0), queue_share, "{name}");
    }
    let shares: Vec<f64> = days.values().map(|&(held, offered)| held as f64 / offered as f64).collect();
    assert_eq!(shares.iter().position(|&share| share == 0.0), Some(9), "2020-05-10");
    let least = shares.iter().copied().filter(|&s| s > 0.0).fold(1.0, f64::min);
    assert_eq!(
        (format!("{least:.3}"), format!("{:.3}", shares.iter().copied().fold(0.0, f64::max))),
        ("0.525".into(), "0.823".into())
    );

    assert_eq!(idle_minutes.len(), 1_566);
    let warnings = completeness(&records);
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].code, "all_pools_idle");
    for part in [&format!("{} s", 1_566 * 60), "2020-05-09T23:56:00Z", "2020-05-12T16:02:00Z"] {
        assert!(warnings[0].message.contains(part), "{part}: {}", warnings[0].message);
    }
}

#[test]
fn openb_shares_devices_and_is_a_sample() {
    let Some(traces) = traces() else { return };
    let map = map("openb.yaml");
    let mut records = FleetRecords::new();
    let folder = traces.join("alibaba-openb");
    assert_eq!(read(&folder.join("openb_node_list_gpu_node.csv"), &map, &mut records).used, 1_213);
    let pods = read(&folder.join("openb_pod_list_default.csv"), &map, &mut records);
    assert_eq!((pods.used, pods.counts.get("unknown_state")), (8_152, None));

    // Read before the pods, and still in their unit: thousandths of a device.
    let devices: u64 = records.nodes.iter().map(|node| u64::from(node.devices)).sum();
    assert_eq!(devices, 6_212_000);
    let mut by_type: BTreeMap<&str, u64> = BTreeMap::new();
    for node in &records.nodes {
        *by_type.entry(records.symbols.get(node.device_type)).or_default() += u64::from(node.devices) / 1000;
    }
    assert_eq!((by_type["G2"], by_type["T4"], by_type["A10"]), (4_392, 842, 2));

    let mut hours: BTreeMap<&str, f64> = BTreeMap::new();
    let (mut never, mut never_devices) = (0, 0);
    let mut changes = Vec::new();
    for attempt in &records.attempts {
        let (Some(start), Some(end)) = (attempt.start, attempt.end) else {
            never += 1;
            never_devices += attempt.devices;
            continue;
        };
        let held = attempt.devices as f64 / 1000.0 * (end - start) as f64 / (3600.0 * NS_PER_SECOND as f64);
        *hours.entry(attempt.state.word()).or_default() += held;
        let devices = i64::try_from(attempt.devices).unwrap();
        changes.extend([(end, -devices), (start, devices)]);
    }
    let total: f64 = hours.values().sum();
    assert_eq!((never, never_devices), (897, 601_870));
    assert_eq!(format!("{total:.1}"), "51470.7");
    let rounded: Vec<_> = hours.iter().map(|(word, hours)| (*word, hours.round())).collect();
    assert_eq!(rounded, [("COMPLETED", 4_095.0), ("FAILED", 936.0), ("RUNNING", 46_440.0)]);

    changes.sort_unstable();
    let mut held = 0;
    let peak = changes.iter().map(|&(at, change)| {
        held += change;
        (held, at)
    });
    let (most, at) = peak.max_by_key(|&(held, at)| (held, std::cmp::Reverse(at))).unwrap();
    assert_eq!((most, at), (65_590, Timestamp::from_seconds(12_523_649)));

    // Waits of the pods that share a device, percentiles by linear interpolation.
    let mut waits: Vec<i64> = records
        .attempts
        .iter()
        .filter(|a| (1..1000).contains(&a.devices))
        .filter_map(|a| Some((a.start? - a.key.submit) / NS_PER_SECOND))
        .collect();
    waits.sort_unstable();
    assert_eq!((waits.len(), waits[waits.len() / 2], *waits.last().unwrap()), (2_573, 1, 4_492));

    let warnings = completeness(&records);
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].code, "load_incomplete");
    assert!(warnings[0].message.contains("0.2 %"), "{}", warnings[0].message);
    assert!(warnings[0].message.contains("6212 devices"), "{}", warnings[0].message);
}
