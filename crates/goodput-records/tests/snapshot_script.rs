//! `contrib/snapshot.sh` against stand-ins for Slurm's commands: the reader reads what it writes.
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use goodput_core::records::{FileId, FleetRecords, NodeStatus};
use goodput_records::scheduler::slurm::{SlurmOptions, snapshots::read_snapshots};

const NODES: &str = "\
NodeName=n1 Arch=x86_64 Gres=gpu:h100:8 GresUsed=gpu:h100:4(IDX:0-3) OS=Linux 6 #1 SMP State=MIXED+DRAIN \
Partitions=train,all CfgTRES=cpu=64,gres/gpu:h100=8,gres/gpu=8 AllocTRES=cpu=1,gres/gpu=4,gres/gpu:h100=4 \
Reason=State=DOWN soon [root@2026-11-29T17:40:11]
NodeName=n2 Gres=gpu:h100:8(S:0-1) GresUsed=gpu:h100:5(IDX:0-2,4-5) State=IDLE+PLANNED Partitions=train \
CfgTRES=cpu=64 AllocTRES=cpu=8
NodeName=n3 Gres=(null) GresUsed=(null) State=IDLE Partitions=cpu CfgTRES=cpu=64 AllocTRES=
";
const QUEUE: &str =
    "39|PENDING|a \"b\" c|4|gres:gpu:8|train||normal\n40|RUNNING|None|1|N/A|train|n1|normal\n";

fn command(folder: &Path, name: &str, answer: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\ncat <<'END'\n{answer}END\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_collector_writes_what_the_reader_reads() {
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/snapshot.sh");
    let file = folder.path().join("snapshots.jsonl");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    for queue in [QUEUE, ""] {
        command(folder.path(), "scontrol", NODES);
        command(folder.path(), "squeue", queue);
        let status = Command::new("bash").arg(&script).arg(&file).arg("once").env("PATH", &path).status();
        assert!(status.unwrap().success());
    }
    let mut records = FleetRecords::new();
    let bytes = fs::read(&file).unwrap();
    let report =
        read_snapshots("s", FileId(0), bytes.as_slice(), &SlurmOptions::default(), &mut records).unwrap();
    assert_eq!((report.rows, report.used, report.counts.len()), (2, 2, 0), "{report:?}");
    let first: Vec<_> = records.node_samples[..3]
        .iter()
        .map(|s| (records.symbols.get(s.node), s.status, s.planned, s.devices, s.allocated))
        .collect();
    let expected = [
        ("n1", NodeStatus::Drain, false, 8, 4),
        ("n2", NodeStatus::Up, true, 8, 5),
        ("n3", NodeStatus::Up, false, 0, 0),
    ];
    assert_eq!(first, expected);
    assert_eq!(records.nodes[0].partitions.len(), 2);
    let queue: Vec<_> = records.queue_samples.iter().map(|q| (q.pending, q.devices, q.node_count)).collect();
    assert_eq!(queue, [(true, 32, 4), (false, 0, 1)]);
}
