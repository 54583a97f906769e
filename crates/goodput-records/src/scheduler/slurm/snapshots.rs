//! Repeated snapshots of nodes and queue: the only record of nodes kept free for a gang, and of busy
//! nodes that drain.
//!
//! Two forms: one JSON object a line, as `contrib/snapshot.sh` writes it, or the output of
//! `scontrol -o show node` again and again, each under a line `# <epoch seconds>`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::BufRead;

use goodput_core::Timestamp;
use goodput_core::records::{FileId, FleetRecords, NodeSample, QueueSample, WaitReason};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::SlurmOptions;
use super::node_state::NodeState;
use super::nodes::{Inventory, is_node_start};
use super::reading::{Fault, First, Lines, Outcome, Reading, read_file, shown};
use super::state::{job_state, wait_reason};
use super::tres::gres_devices;
use crate::decimal::scaled;
use crate::{FileReport, ReadError, Treatment};

const REMEDY: &str =
    "collect with contrib/snapshot.sh, or repeat: echo \"# $(date +%s)\"; scontrol -o show node";

/// Reads a series of snapshots into node samples, queue samples and the inventory.
///
/// A JSON snapshot is taken to show the middle between its `t0` and `t1`, when the commands began and
/// ended.
///
/// ```
/// use goodput_core::records::{FileId, FleetRecords};
/// use goodput_records::scheduler::slurm::{SlurmOptions, snapshots::read_snapshots};
/// let line = r#"{"t0": 1795974121.2, "t1": 1795974121.4, "nodes": {"gpu1": ["IDLE+PLANNED", 8, 0, "train"]},
///     "q": [["39", "PENDING", "Resources", "4", "gres:gpu:8", "train", "", "normal"]]}"#.replace('\n', " ");
/// let mut records = FleetRecords::new();
/// read_snapshots("snapshots", FileId(0), line.as_bytes(), &SlurmOptions::default(), &mut records)?;
/// assert_eq!(records.node_samples[0].at.as_nanos(), 1_795_974_121_300_000_000);
/// assert!(records.node_samples[0].planned);
/// assert_eq!(records.queue_samples[0].devices, 32);
/// # Ok::<(), goodput_records::ReadError>(())
/// ```
///
/// # Errors
/// [`ReadError`] when the file cannot be read or is in neither form.
pub fn read_snapshots<'a>(
    label: &'a str,
    file: FileId,
    input: impl BufRead + 'a,
    options: &'a SlurmOptions,
    records: &mut FleetRecords,
) -> Result<FileReport, ReadError> {
    read_file(label, file, input, options, REMEDY, records, read_all)
}

fn read_all(
    reading: &mut Reading<'_>,
    lines: Lines<'_>,
    first: First,
    records: &mut FleetRecords,
) -> Result<(), ReadError> {
    let First { line, number } = first;
    match line.trim_ascii_start().first() {
        Some(b'{') => {
            reading.report.format = "snapshots".to_owned();
            read_objects(reading, lines, line, number, records)?;
        }
        Some(b'#') => {
            reading.report.format = "scontrol nodes over time".to_owned();
            read_blocks(reading, lines, line, number, records)?;
        }
        _ => {
            return Err(reading.other_file(number, &line, "--snapshots", "begins no snapshots", REMEDY));
        }
    }
    records.node_samples.sort_by_key(|sample| sample.at);
    records.queue_samples.sort_by_key(|sample| sample.at);
    Ok(())
}

/// One line. Times stay text so that no digit passes through a float.
#[derive(Deserialize)]
struct Snapshot<'l> {
    #[serde(borrow)]
    t0: &'l RawValue,
    #[serde(borrow)]
    t1: &'l RawValue,
    #[serde(borrow)]
    nodes: BTreeMap<Cow<'l, str>, NodeEntry<'l>>,
    #[serde(borrow, default)]
    q: Vec<QueueEntry<'l>>,
}

/// Text that stays in the line where it needs no unescaping.
#[derive(Deserialize)]
struct Text<'l>(#[serde(borrow)] Cow<'l, str>);

/// State, devices, devices allocated, and perhaps the partitions.
#[derive(Deserialize)]
#[serde(untagged)]
enum NodeEntry<'l> {
    Listed(#[serde(borrow)] Text<'l>, u32, u32, #[serde(borrow)] Text<'l>),
    Bare(#[serde(borrow)] Text<'l>, u32, u32),
}

/// Id, state, reason, nodes, TRES per node, partition, node list, QOS.
type QueueEntry<'l> = (Text<'l>, Text<'l>, Text<'l>, Text<'l>, Text<'l>, Text<'l>, IgnoredAny, IgnoredAny);

fn read_objects(
    reading: &mut Reading<'_>,
    mut lines: Lines<'_>,
    first: Vec<u8>,
    first_line: u32,
    records: &mut FleetRecords,
) -> Result<(), ReadError> {
    let mut inventory = Inventory::new(records);
    let mut last = None;
    let (mut line, mut number) = (first, first_line);
    loop {
        reading.report.rows += 1;
        let outcome = take_object(&line, number, &mut last, &mut inventory, reading, records);
        reading.settle(number, outcome)?;
        match lines.next_filled(&mut line)? {
            Some(next) => number = next,
            None => return Ok(()),
        }
    }
}

fn take_object(
    line: &[u8],
    number: u32,
    last: &mut Option<Timestamp>,
    inventory: &mut Inventory,
    reading: &mut Reading<'_>,
    records: &mut FleetRecords,
) -> Result<Outcome, Fault> {
    let snapshot: Snapshot<'_> = serde_json::from_slice(line)
        .map_err(|error| Fault::row("", format!("no snapshot (a line cut short?): {error}")))?;
    let instant = |raw: &RawValue, field| {
        let ns = scaled(raw.get().as_bytes(), 9);
        ns.ok_or_else(|| Fault::row(field, format!("{} is no epoch time in seconds", raw.get())))
    };
    let (t0, t1) = (instant(snapshot.t0, "t0")?, instant(snapshot.t1, "t1")?);
    if t1 < t0 {
        return Err(Fault::row("t1", "the snapshot ends before it begins"));
    }
    let at = Timestamp::from_nanos(t0 + t1.saturating_sub(t0) / 2);
    if last.is_some_and(|last| at <= last) {
        return Err(Fault::row("t0", "the snapshot is not after the one before"));
    }
    *last = Some(at);
    for (name, entry) in &snapshot.nodes {
        let (state_text, devices, allocated, partitions) = match entry {
            NodeEntry::Listed(state, devices, allocated, partitions) => {
                (&*state.0, devices, allocated, &*partitions.0)
            }
            NodeEntry::Bare(state, devices, allocated) => (&*state.0, devices, allocated, ""),
        };
        let state = NodeState::from_text(state_text);
        if state.future {
            continue;
        }
        if !state.known {
            reading.report.find(Treatment::Noted, "unknown_state", number, "nodes", || {
                format!("{state_text:?} has a word that is not known here: it counts for nothing")
            });
        }
        let node = records.symbols.intern(name);
        inventory.list(node, *devices, "", partitions.split(','), records);
        records.node_samples.push(NodeSample {
            at,
            node,
            status: state.status,
            planned: state.planned,
            devices: *devices,
            allocated: *allocated,
        });
    }
    let mut left_out = None;
    for entry in &snapshot.q {
        match queue_sample(entry, at, records) {
            Ok(sample) => records.queue_samples.push(sample),
            Err(message) => left_out = Some(message),
        }
    }
    if let Some(message) = left_out {
        reading.report.find(Treatment::Repaired, "bad_queue_entry", number, "q", || {
            format!("{message}: the snapshot is used without this job")
        });
    }
    Ok(Outcome::Used)
}

fn queue_sample(
    entry: &QueueEntry<'_>,
    at: Timestamp,
    records: &mut FleetRecords,
) -> Result<QueueSample, String> {
    let (Text(id), Text(state), Text(reason), Text(nodes), Text(tres), Text(partition), ..) = entry;
    let node_count =
        nodes.trim().parse().map_err(|_| format!("job {id:?}: {nodes:?} is no number of nodes"))?;
    let per_node =
        gres_devices(tres.as_bytes()).ok_or_else(|| format!("job {id:?}: {tres:?} names no devices"))?;
    let pending = job_state(state) == goodput_core::records::JobState::Pending;
    Ok(QueueSample {
        at,
        job: records.symbols.intern(id),
        partition: records.symbols.intern(partition),
        pending,
        reason: if pending { wait_reason(reason) } else { WaitReason::Eligible },
        devices: per_node.saturating_mul(u64::from(node_count)),
        node_count,
    })
}

fn read_blocks(
    reading: &mut Reading<'_>,
    mut lines: Lines<'_>,
    first: Vec<u8>,
    first_line: u32,
    records: &mut FleetRecords,
) -> Result<(), ReadError> {
    let mut inventory = Inventory::new(records);
    let (mut line, mut number) = (first, first_line);
    let mut at = None;
    loop {
        let text = line.trim_ascii();
        if let Some(stamp) = text.strip_prefix(b"#") {
            let next =
                scaled(stamp, 9).map(Timestamp::from_nanos).filter(|&next| at.is_none_or(|at| at < next));
            if next.is_none() {
                reading.report.find(Treatment::Noted, "bad_time", number, "", || {
                    format!("{} is no epoch time after the one before: its nodes are refused", shown(stamp))
                });
            }
            at = next;
        } else if is_node_start(text) && at.is_some() {
            inventory.take_text(text, number, at, reading, records)?;
        } else {
            reading.report.rows += 1;
            let message = "no node of scontrol -o show node under a time";
            reading.settle(number, Err(Fault::row("", message)))?;
        }
        match lines.next_filled(&mut line)? {
            Some(next) => number = next,
            None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodput_core::records::NodeStatus;

    fn read(text: &str) -> (FleetRecords, FileReport) {
        let mut records = FleetRecords::new();
        let options = SlurmOptions::default();
        let report = read_snapshots("snapshots", FileId(0), text.as_bytes(), &options, &mut records).unwrap();
        (records, report)
    }

    #[test]
    fn blocks_of_scontrol_become_samples() {
        let node = "NodeName=n1 Gres=gpu:h100:8 State=IDLE+PLANNED Partitions=train,all CfgTRES=gres/gpu=8 AllocTRES=";
        let (records, report) =
            read(&format!("# 1795974000\n{node}\n\n# 1795974002.5\n{}\n", node.replace("IDLE", "DOWN*")));
        let samples: Vec<_> =
            records.node_samples.iter().map(|s| (s.at.as_nanos() / 1_000_000, s.status)).collect();
        assert_eq!(samples, [(1_795_974_000_000, NodeStatus::Up), (1_795_974_002_500, NodeStatus::Down)]);
        assert!(records.node_samples.iter().all(|s| s.planned));
        assert_eq!((records.nodes.len(), records.nodes[0].partitions.len(), report.used), (1, 2, 2));
    }

    #[test]
    fn a_block_without_a_time_is_refused() {
        let node = "NodeName=n1 State=IDLE CfgTRES=gres/gpu=8 AllocTRES=\n";
        let (records, report) = read(&format!("# yesterday\n{node}# 1795974000\n{node}"));
        assert_eq!((records.node_samples.len(), report.refused, report.counts["bad_time"]), (1, 1, 1));
    }

    #[test]
    fn a_cut_line_and_a_repeated_time_are_refused_and_counted() {
        let line =
            r#"{"t0":1,"t1":3,"nodes":{"n1":["DOWN",8,0]},"q":[["1","RUNNING","None","x","N/A","p","",""]]}"#;
        let (records, report) = read(&format!("{line}\n{line}\n{}\n", &line[..30]));
        assert_eq!((report.rows, report.used, report.refused), (3, 1, 2));
        assert_eq!((records.node_samples.len(), report.counts["bad_queue_entry"]), (1, 1));
    }

    #[test]
    fn waits_that_are_not_eligible_or_limited_are_told_apart() {
        let job = |reason: &str| format!(r#"["1","PENDING","{reason}","2","gres:gpu:4","p","",""]"#);
        let jobs = ["Resources", "BeginTime", "QOSMaxGRESPerUser"].map(job).join(",");
        let (records, _) = read(&format!(r#"{{"t0":1,"t1":1,"nodes":{{}},"q":[{jobs}]}}"#));
        let reasons: Vec<_> = records.queue_samples.iter().map(|q| q.reason).collect();
        assert_eq!(reasons, [WaitReason::Eligible, WaitReason::NotEligible, WaitReason::Limit]);
        assert!(records.queue_samples.iter().all(|q| q.pending && q.devices == 8));
    }
}
