//! Arbitrary and damaged files: every reader of fleet records answers with a report or an error,
//! never with a panic, and every row is used, refused or skipped.
#![allow(clippy::unwrap_used)]

use goodput_core::Timestamp;
use goodput_core::records::{FileId, FleetRecords};
use goodput_records::scheduler::import::{ImportMap, read_import};
use goodput_records::scheduler::slurm::SlurmOptions;
use goodput_records::scheduler::slurm::events::read_events;
use goodput_records::scheduler::slurm::nodes::read_nodes;
use goodput_records::scheduler::slurm::reservations::read_reservations;
use goodput_records::scheduler::slurm::slurmdbd::read_tables;
use goodput_records::scheduler::slurm::snapshots::read_snapshots;
use goodput_records::{FileReport, ReadError};
use proptest::prelude::*;

const SEEDS: [&str; 12] = [
    "Cluster|Cluster Nodes|TimeEnd|NodeName|Reason|TimeStart|State|StateRaw|TRES\n\
     vgpu|n[1-2]|Unknown||up|1795973017|||gres/gpu=16\nvgpu||1795973058|n1|a|b|1795973020|DOWN*|2049|gres/gpu=8\n",
    " NodeName           TimeStart State\n--------- ------------------- -----\n       n1          1795973020  DOWN\n",
    "ReservationName=m StartTime=1795973322 EndTime=1795973382\n   Nodes=n[1-2] Flags=MAINT\nReservationName=x StartTime=1 EndTime=2\n",
    "Cluster|Name|Flags|NodeNames|TimeStart|TimeEnd\nvgpu|m|MAINT|n1|1795973322|1795973382\n",
    "NodeName=n1 Gres=gpu:h100:8(S:0-1) State=MIXED+DRAIN CfgTRES=gres/gpu=8 AllocTRES=gres/gpu=4\n   Reason=x [r@1795973322]\n\nNodeName=n2 State=IDLE\n",
    "{\"nodes\": [{\"name\": \"n1\", \"state\": [\"IDLE\"], \"tres\": \"gres/gpu=8\", \"reason_changed_at\": {\"set\": true, \"number\": 5}}], \"last_update\": 1795973322}",
    "{\"t0\": 1795974121.28, \"t1\": 1795974121.41, \"nodes\": {\"n1\": [\"IDLE\", 8, 0]}, \"q\": [[\"1\", \"PENDING\", \"None\", \"1\", \"gres:gpu:2\", \"d\", \"\", \"n\"]]}\n",
    "# 1795974121\nNodeName=n1 State=IDLE CfgTRES=gres/gpu=8 AllocTRES=\n# 1795974122\n",
    "id_job\tstate\ttime_submit\ttime_eligible\ttime_start\ttime_end\ttres_alloc\ttime_suspended\n7\t3\t1795973123\t0\t1795973124\t1795973159\t1001=32\t15\n",
    "id\ttype\tname\n1001\tgres\tgpu\n",
    "job,submit,start,end,gpus,share\n1,5,6,7,1,500\n2,5,,,8,1000\n",
    "time,pool,offered,held\n2020-05-01 00:00:00,a,8,4\n2020-05-01 00:01:00,a,8,9\n",
];

const MAP: &str = "
time: epoch_seconds
jobs: {job: job, submit: submit, start: start, end: end, devices: gpus, milli_per_device: share}
series: {time: time, pool: {column: pool}, offered: offered, held: held, step_seconds: 60}
nodes: {node: id, devices: type}
";

fn counted(result: Result<FileReport, ReadError>) {
    if let Ok(report) = result {
        let skipped: u64 = report.skipped.values().sum();
        assert_eq!(report.rows, report.used + report.refused + skipped, "{report:?}");
        assert!(report.repaired <= report.used, "{report:?}");
    }
}

fn read_as_everything(bytes: &[u8]) {
    let options = SlurmOptions { time_zone: Some(jiff::tz::TimeZone::UTC), ..SlurmOptions::default() };
    let mut records = FleetRecords::new();
    let at = Some(Timestamp::from_seconds(1_795_974_000));
    counted(read_events("f", FileId(0), bytes, &options, &mut records));
    counted(read_reservations("f", FileId(0), bytes, &options, &mut records));
    counted(read_nodes("f", FileId(0), bytes, at, &options, &mut records));
    counted(read_snapshots("f", FileId(0), bytes, &options, &mut records));
    let names = SEEDS[9].as_bytes();
    if let Ok(reports) =
        read_tables([("f", FileId(0), bytes), ("t", FileId(1), names)], &options, &mut records)
    {
        reports.into_iter().for_each(|report| counted(Ok(report)));
    }
    let map = ImportMap::from_yaml("map", MAP).unwrap();
    counted(read_import("f", FileId(0), bytes, &map, &mut records));
}

#[test]
fn the_seeds_are_read() {
    SEEDS.iter().for_each(|seed| read_as_everything(seed.as_bytes()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read_as_everything(&bytes);
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        seed in 0..SEEDS.len(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 0..6),
    ) {
        let mut bytes = SEEDS[seed].as_bytes().to_vec();
        for (at, byte, how) in damage {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
        }
        read_as_everything(&bytes);
    }

    #[test]
    fn any_map_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = ImportMap::from_yaml("map", &text);
    }
}
