//! Real dumps: capacity, out-of-service time, node states, snapshots and the database's own tables.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use goodput_core::records::{FileId, FleetRecords, NodeInterval, NodeSet, NodeStatus, WaitReason};
use goodput_core::{Interval, NS_PER_SECOND, Timestamp};
use goodput_records::FileReport;
use goodput_records::scheduler::slurm::events::read_events;
use goodput_records::scheduler::slurm::nodes::read_nodes;
use goodput_records::scheduler::slurm::reservations::read_reservations;
use goodput_records::scheduler::slurm::slurmdbd::read_tables;
use goodput_records::scheduler::slurm::snapshots::read_snapshots;
use rstest::rstest;
use support::{by_state, shared, utc, window, without_overlap};

const SCENARIO_2205: (i64, i64) = (1_795_973_123, 1_795_973_435);
const SCENARIO_2411: (i64, i64) = (1_795_973_617, 1_795_974_015);
const LOAD: (i64, i64) = (1_795_973_123, 1_795_974_748);

fn events(bytes: &[u8]) -> (FleetRecords, FileReport) {
    let mut records = FleetRecords::new();
    let report = read_events("events.txt", FileId(0), bytes, &utc(), &mut records).unwrap();
    (records, report)
}

/// Device-seconds that intervals of eight-device nodes cover, overlaps of one node counted once.
fn out_of_service<'a>(intervals: impl IntoIterator<Item = &'a NodeInterval>, window: Interval) -> i64 {
    let mut by_node: BTreeMap<_, Vec<Interval>> = BTreeMap::new();
    for interval in intervals {
        let inside = Interval::new(interval.start, interval.end.unwrap_or(window.end)).intersect(window);
        by_node.entry(interval.node).or_default().push(inside);
    }
    let mut total_ns = 0;
    for spans in by_node.values_mut() {
        spans.sort_by_key(|span| span.start);
        let mut covered = window.start;
        for span in spans {
            total_ns += Interval::new(span.start.max(covered), span.end).duration_ns();
            covered = covered.max(span.end);
        }
    }
    8 * total_ns / NS_PER_SECOND
}

#[rstest]
#[case("22.05.8", SCENARIO_2205, 264)]
#[case("24.11.5", SCENARIO_2411, 456)]
#[case("22.05.8-load", LOAD, 2_464)]
fn events_give_capacity_and_out_of_service_time(
    #[case] dump: &str,
    #[case] (from, to): (i64, i64),
    #[case] expected: i64,
) {
    let Some(bytes) = shared(&format!("slurm/{dump}/event-all.txt")) else { return };
    let (records, report) = events(&bytes);
    assert_eq!((report.refused, report.repaired, report.rows), (0, 0, report.used));
    assert_eq!(out_of_service(&records.node_intervals, window(from, to)), expected);
    let [capacity] = records.capacity.as_slice() else { panic!("one cluster row") };
    assert_eq!((capacity.devices, capacity.end), (128, None));
    assert_eq!(records.node_set(capacity.nodes).len(), 16);
    assert_eq!(records.symbols.get(capacity.cluster), "vgpu");
    assert!(records.node_intervals.iter().any(|i| records.symbols.get(i.reason) == "ECC Xid 48 | row remap"));
}

#[test]
fn events_of_the_sampled_window() {
    let Some(bytes) = shared("slurm/22.05.8-load/event-all.txt") else { return };
    let (records, _) = events(&bytes);
    // The window's bounds are the middles of the first and last sample, the sum is exact to whole seconds.
    let window = Interval::new(
        Timestamp::from_nanos(1_795_974_121_350_685_400),
        Timestamp::from_nanos(1_795_974_721_140_098_000),
    );
    assert_eq!(out_of_service(&records.node_intervals, window), 2_200);
    let mut seconds = BTreeMap::new();
    for interval in records.node_intervals.iter().filter(|i| window.contains(i.start)) {
        let held = (interval.end.unwrap() - interval.start) / NS_PER_SECOND;
        *seconds.entry((records.symbols.get(interval.node), interval.status)).or_insert(0) += held;
    }
    let seconds: Vec<_> = seconds.into_iter().map(|((node, status), s)| (node, status, s)).collect();
    let expected = [
        ("a100-2", NodeStatus::Drain, 120),
        ("gpu003", NodeStatus::Drain, 12),
        ("gpu007", NodeStatus::Down, 41),
        ("gpu009", NodeStatus::Down, 31),
        ("gpu012", NodeStatus::Drain, 71),
    ];
    assert_eq!(seconds, expected);
}

#[rstest]
#[case("22.05.8/event-default.txt", 20)]
#[case("24.11.5/event-default.txt", 10)]
#[case("24.11.5/event-json.json", 10)]
fn the_default_columns_tell_the_same_except_capacity(#[case] file: &str, #[case] nodes: usize) {
    let Some(bytes) = shared(&format!("slurm/{file}")) else { return };
    let (records, report) = events(&bytes);
    let (dump, _) = file.split_once('/').unwrap();
    let (all, _) = events(&shared(&format!("slurm/{dump}/event-all.txt")).unwrap());
    let plain = |records: &FleetRecords| -> BTreeSet<_> {
        let of = |i: &NodeInterval| (records.symbols.get(i.node).to_owned(), i.status, i.start, i.end);
        records.node_intervals.iter().map(of).collect()
    };
    assert_eq!(plain(&records), plain(&all));
    assert_eq!(records.capacity, []);
    assert_eq!(report.counts["capacity_unknown"], 1);
    assert_eq!(
        (report.rows, report.used, report.skipped.values().sum::<u64>()),
        (nodes as u64 + 1, nodes as u64, 1)
    );
}

#[test]
fn cluster_rows_alone_and_an_empty_answer() {
    let Some(bytes) = shared("slurm/24.11.5/event-cluster.txt") else { return };
    let (records, _) = events(&bytes);
    assert_eq!((records.capacity[0].devices, records.node_intervals.len()), (128, 0));
    let empty = shared("slurm/22.05.8/event-json.json").unwrap();
    let error = read_events("e", FileId(0), empty.as_slice(), &utc(), &mut FleetRecords::new()).unwrap_err();
    assert!(error.to_string().contains("empty"), "{error}");
}

#[test]
fn local_times_without_a_zone_stop_the_reader() {
    let Some(bytes) = shared("slurm/22.05.8/event-all.txt") else { return };
    let mut records = FleetRecords::new();
    let options = Default::default();
    let error = read_events("e", FileId(0), bytes.as_slice(), &options, &mut records).unwrap_err();
    assert!(error.to_string().contains("--time-zone"), "{error}");
    assert_eq!((records.node_intervals.len(), records.capacity.len()), (0, 0));
}

#[test]
fn a_listed_reservation_without_nodes_is_unknown_and_the_table_settles_it() {
    let Some(listing) = shared("slurm/24.11.5/sacctmgr-resv.txt") else { return };
    let mut records = FleetRecords::new();
    let report = read_reservations("r", FileId(0), listing.as_slice(), &utc(), &mut records).unwrap();
    let [listed] = records.reservations.as_slice() else { panic!("one reservation") };
    assert_eq!((listed.nodes, listed.maintenance), (NodeSet::NONE, false));
    assert_eq!(report.counts["maintenance_unknown"], 1);
    assert!(report.findings[0].message.contains("resv_table"), "{:?}", report.findings);

    let table = shared("slurm/24.11.5/db/vgpu_resv_table.tsv").unwrap();
    let mut records = FleetRecords::new();
    let files = [("vgpu_resv_table.tsv", FileId(0), table.as_slice())];
    let reports = read_tables(files, &utc(), &mut records).unwrap();
    assert!(reports[0].counts.is_empty(), "{reports:?}");
    let [maint1] = records.reservations.as_slice() else { panic!("one reservation") };
    let nodes: Vec<_> = records.node_set(maint1.nodes).iter().map(|n| records.symbols.get(*n)).collect();
    assert_eq!(
        (records.symbols.get(maint1.name), nodes, maint1.maintenance),
        ("maint1", vec!["a100-4"], true)
    );
    let seconds = [maint1.start, maint1.end].map(|t| t.as_nanos() / NS_PER_SECOND);
    assert_eq!(seconds, [1_795_973_878, 1_795_973_938]);
    // Of its 480 device-seconds a job held 80: 400 of them add to the 456 of the events.
    assert_eq!(8 * (seconds[1] - seconds[0]), 480);

    let none = shared("slurm/24.11.5/scontrol-reservation.txt").unwrap();
    let report = read_reservations("r", FileId(0), none.as_slice(), &utc(), &mut records).unwrap();
    assert_eq!((report.rows, records.reservations.len()), (0, 1));
}

#[rstest]
#[case("22.05.8/scontrol-node.txt")]
#[case("22.05.8/scontrol-node-oneliner.txt")]
#[case("22.05.8/sinfo.json")]
#[case("24.11.5/scontrol-node.txt")]
#[case("24.11.5/scontrol-node-oneliner.txt")]
#[case("24.11.5/scontrol-node.json")]
#[case("22.05.8-load/scontrol-node.txt")]
fn the_inventory_lists_every_node_once(#[case] file: &str) {
    let Some(bytes) = shared(&format!("slurm/{file}")) else { return };
    let mut records = FleetRecords::new();
    for _ in 0..2 {
        let report = read_nodes(file, FileId(0), bytes.as_slice(), None, &utc(), &mut records).unwrap();
        assert_eq!((report.rows, report.used, report.refused), (16, 16, 0), "{report:?}");
    }
    let nodes: BTreeSet<_> = records.nodes.iter().map(|n| records.symbols.get(n.name)).collect();
    assert_eq!((records.nodes.len(), nodes.len()), (16, 16));
    assert_eq!(records.nodes.iter().map(|n| n.devices).sum::<u32>(), 128);
    for node in &records.nodes {
        let name = records.symbols.get(node.name);
        let (device_type, partition) =
            if name.starts_with("gpu") { ("h100", "train") } else { ("a100", "dev") };
        assert_eq!(records.symbols.get(node.device_type), device_type);
        let partitions: Vec<_> = node.partitions.iter().map(|p| records.symbols.get(*p)).collect();
        assert_eq!(partitions, [partition, "all"], "{name}");
    }
}

#[rstest]
#[case("scontrol-node.txt")]
#[case("scontrol-node-oneliner.txt")]
#[case("scontrol-node.json")]
fn a_busy_node_drains_since_the_time_of_its_reason(#[case] file: &str) {
    let Some(bytes) = shared(&format!("slurm/24.11.5/{file}")) else { return };
    let mut records = FleetRecords::new();
    read_nodes(file, FileId(0), bytes.as_slice(), None, &utc(), &mut records).unwrap();
    let intervals: Vec<_> = records
        .node_intervals
        .iter()
        .map(|i| (records.symbols.get(i.node), i.status, i.start, records.symbols.get(i.reason)))
        .collect();
    let at = Timestamp::from_seconds;
    let expected = [
        ("a100-2", NodeStatus::Drain, at(1_795_974_011), "drain while busy"),
        ("gpu010", NodeStatus::Drain, at(1_795_974_008), "test-draining-with-job"),
    ];
    assert_eq!(intervals, expected);
    // a100-2 had 4 devices free: 4 s until the window's end give the 16 that no event shows.
    let events = shared("slurm/24.11.5/event-all.txt").unwrap();
    read_events("e", FileId(1), events.as_slice(), &utc(), &mut records).unwrap();
    let (from, to) = SCENARIO_2411;
    let busy = |i: &&NodeInterval| records.symbols.get(i.node) == "a100-2" && i.start == at(1_795_974_011);
    let free: Vec<_> = records.node_intervals.iter().filter(|i| !busy(i)).collect();
    assert_eq!(out_of_service(free, window(from, to)), 456);
    let drained = records.node_intervals.iter().filter(busy);
    assert_eq!(out_of_service(drained, window(from, to)) / 2, 16);
}

#[test]
fn json_has_the_time_of_its_last_change_and_so_samples() {
    let Some(bytes) = shared("slurm/24.11.5/scontrol-node.json") else { return };
    let mut records = FleetRecords::new();
    read_nodes("n", FileId(0), bytes.as_slice(), None, &utc(), &mut records).unwrap();
    assert_eq!(records.node_samples.len(), 16);
    let allocated: u32 = records.node_samples.iter().map(|s| s.allocated).sum();
    assert_eq!((records.node_samples[0].at, allocated), (Timestamp::from_seconds(1_795_974_016), 36));
    let end = records.node_intervals[0].end;
    assert_eq!(end, Some(Timestamp::from_seconds(1_795_974_016)), "nothing is known after it");
}

#[test]
fn sinfo_by_node_is_refused_because_it_repeats_nodes() {
    let Some(bytes) = shared("slurm/24.11.5/sinfo-Nl.txt") else { return };
    let mut records = FleetRecords::new();
    let error = read_nodes("n", FileId(0), bytes.as_slice(), None, &utc(), &mut records).unwrap_err();
    assert!(error.remedy().unwrap().contains("scontrol"));
}

#[test]
fn snapshots_sum_to_the_sampled_truth() {
    let Some(bytes) = shared("slurm/22.05.8-load/snapshots.jsonl.gz") else { return };
    let mut records = FleetRecords::new();
    let report = read_snapshots("s", FileId(0), bytes.as_slice(), &utc(), &mut records).unwrap();
    assert_eq!((report.rows, report.used), (297, 297));
    assert_eq!(report.counts, BTreeMap::new(), "{report:?}");
    assert_eq!(records.nodes.len(), 16);

    let times: Vec<Timestamp> =
        records.node_samples.chunk_by(|a, b| a.at == b.at).map(|group| group[0].at).collect();
    assert_eq!(times[0].as_nanos(), 1_795_974_121_350_685_350);
    assert_eq!(times[296].as_nanos() / 100, 17_959_747_211_400_980);
    let lasts: BTreeMap<_, _> = times.windows(2).map(|pair| (pair[0], pair[1] - pair[0])).collect();

    let mut waits: BTreeSet<(Timestamp, &str)> = BTreeSet::new();
    for job in records.queue_samples.iter().filter(|q| q.pending && q.reason != WaitReason::NotEligible) {
        waits.insert((job.at, records.symbols.get(job.partition)));
    }
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for sample in &records.node_samples {
        let Some(&lasts_ns) = lasts.get(&sample.at) else { continue };
        let free = i64::from(sample.devices - sample.allocated) * lasts_ns;
        let is_up = sample.status == NodeStatus::Up;
        let partition = if records.symbols.get(sample.node).starts_with("gpu") { "train" } else { "dev" };
        let waiting = waits.contains(&(sample.at, partition));
        let mut add = |what, amount| *sums.entry(what).or_default() += amount;
        add("allocated", i64::from(sample.allocated) * lasts_ns);
        add("capacity", i64::from(sample.devices) * lasts_ns);
        if sample.planned {
            add("free planned", free);
        }
        if !is_up {
            add("unschedulable free", free);
            add("unschedulable", i64::from(sample.devices) * lasts_ns);
            continue;
        }
        add("free", free);
        match (partition, waiting) {
            ("train", true) => add("train waiting", free),
            ("train", false) => add("train empty", free),
            (_, true) => add("dev waiting", free),
            (_, false) => add("dev empty", free),
        }
        if waiting {
            add(if sample.allocated > 0 { "waiting, partly used" } else { "waiting, whole" }, free);
        }
    }
    let seconds: BTreeMap<_, _> =
        sums.into_iter().map(|(what, ns)| (what, (ns + NS_PER_SECOND / 2) / NS_PER_SECOND)).collect();
    let expected = BTreeMap::from([
        ("allocated", 46_107),
        ("capacity", 76_773),
        ("unschedulable free", 2_193),
        ("unschedulable", 2_584),
        ("free", 28_474),
        ("free planned", 12_133),
        ("train waiting", 15_971),
        ("train empty", 2_174),
        ("dev waiting", 3_727),
        ("dev empty", 6_602),
        ("waiting, partly used", 1_683),
        ("waiting, whole", 18_014),
    ]);
    assert_eq!(seconds, expected);
}

/// All tables of a dump in one go, the names last: the reader puts them in order.
fn tables(dump: &str) -> Option<(FleetRecords, Vec<FileReport>)> {
    let names = ["vgpu_job_table.tsv", "vgpu_event_table.tsv", "tres_table.tsv", "vgpu_assoc_table.tsv"];
    let names = &names[..if dump == "24.11.5" { 4 } else { 3 }];
    let mut files = Vec::new();
    for name in names {
        files.push(shared(&format!("slurm/{dump}/db/{name}"))?);
    }
    let mut records = FleetRecords::new();
    let inputs = names.iter().zip(&files).map(|(name, bytes)| (*name, FileId(0), bytes.as_slice()));
    let reports = read_tables(inputs, &utc(), &mut records).unwrap();
    Some((records, reports))
}

#[test]
fn the_job_table_of_24_11_5_counts_as_the_text_does() {
    let Some((records, reports)) = tables("24.11.5") else { return };
    assert_eq!(reports.iter().map(|r| r.path.as_str()).next(), Some("vgpu_job_table.tsv"));
    assert_eq!((reports[0].rows, reports[0].used, reports[0].refused), (50, 50, 0));
    let (from, to) = SCENARIO_2411;
    let window = window(from, to);
    assert_eq!(without_overlap(&records, window), 15_567);
    let states = by_state(&records, window);
    assert_eq!((states["COMPLETED"], states["CANCELLED"], states.get("RUNNING")), (10_471, 1_282, None));
    let suspended: i64 = records.attempts.iter().map(|a| a.suspended_ns / NS_PER_SECOND).sum();
    assert_eq!(suspended, 15);
    let first: Vec<_> = records.attempts.iter().filter(|a| records.symbols.get(a.key.job) == "1").collect();
    assert_eq!(first.len(), 2, "the ids began again at 1: two jobs, told apart by their submission");
    assert_ne!(first[0].key, first[1].key);
    let users: BTreeSet<_> = records.attempts.iter().map(|a| records.symbols.get(a.user)).collect();
    assert_eq!(users, BTreeSet::from(["alice", "bob", "carol", "root"]));
    let has = |id: &str| records.attempts.iter().any(|a| records.symbols.get(a.display_id) == id);
    assert!(has("9_5") && has("23+1"), "array tasks and parts of heterogeneous jobs");
    assert_eq!(records.capacity[0].devices, 128);
    // After the text: the drain of a100-2 is an event once its job has ended.
    assert!(records.node_intervals.iter().any(|i| i.start == Timestamp::from_seconds(1_795_974_033)));
}

#[test]
fn the_job_table_of_the_load_counts_as_the_text_does() {
    let Some((records, reports)) = tables("22.05.8-load") else { return };
    assert_eq!((reports[0].rows, reports[0].used), (264, 264));
    let (from, to) = LOAD;
    let window = window(from, to);
    assert_eq!(without_overlap(&records, window), 72_947);
    // The later row of the job that shrank begins at the original start: 128 are in both rows.
    let states = by_state(&records, window);
    assert_eq!((states["COMPLETED"], states["FAILED"], states["RUNNING"]), (49_719 + 128, 7_647, 224));
    assert_eq!(out_of_service(&records.node_intervals, window), 2_464);
}

#[test]
fn resources_are_not_counted_without_their_names() {
    let Some(jobs) = shared("slurm/24.11.5/db/vgpu_job_table.tsv") else { return };
    let files = [("vgpu_job_table.tsv", FileId(0), jobs.as_slice())];
    let error = read_tables(files, &utc(), &mut FleetRecords::new()).unwrap_err();
    assert!(error.remedy().unwrap().contains("tres_table"), "{error}");
}
