//! `scontrol show node` (several lines a node, `-o` on one line, `--json`): what nodes there are, and
//! their state at one instant.
//!
//! Only here does a draining node show that still has jobs: its free devices are out of service
//! since the time beside the reason, and the events say nothing until it is idle.

use std::io::BufRead;

use goodput_core::Timestamp;
use goodput_core::records::{FileId, FleetRecords, Node, NodeInterval, NodeSample, NodeStatus, Symbol};
use rustc_hash::FxHashMap;

use super::SlurmOptions;
use super::keyed::Keyed;
use super::node_state::NodeState;
use super::nodes_json;
use super::reading::{Fault, First, Lines, Outcome, Reading, read_file, text};
use super::tres::{Tres, gres_devices};
use crate::{FileReport, ReadError, Treatment};

const REMEDY: &str = "export with: scontrol -o show node -d";

/// Reads the nodes of one `scontrol show node`: the inventory, and what is out of service since when.
///
/// The text form does not say when it was written, so `at` does. With it every node also becomes a
/// [`NodeSample`], and an interval out of service ends there, because nothing is known after it.
/// Without it the interval stays open. JSON tells the instant of its last change, which stands in.
///
/// ```
/// use goodput_core::records::{FileId, FleetRecords, NodeStatus};
/// use goodput_records::scheduler::slurm::{SlurmOptions, nodes::read_nodes};
/// let node = "NodeName=a100-2 Gres=gpu:a100:8 State=MIXED+DRAIN Partitions=dev,all \
///             CfgTRES=cpu=64,gres/gpu=8 AllocTRES=cpu=1,gres/gpu=4 Reason=fan [root@1795974011]";
/// let mut records = FleetRecords::new();
/// read_nodes("nodes", FileId(0), node.as_bytes(), None, &SlurmOptions::default(), &mut records)?;
/// assert_eq!(records.nodes[0].devices, 8);
/// assert_eq!(records.node_intervals[0].status, NodeStatus::Drain);
/// # Ok::<(), goodput_records::ReadError>(())
/// ```
///
/// # Errors
/// [`ReadError`] when the file cannot be read, is no `scontrol show node`, or its times need a zone
/// that the options do not name.
pub fn read_nodes<'a>(
    label: &'a str,
    file: FileId,
    input: impl BufRead + 'a,
    at: Option<Timestamp>,
    options: &'a SlurmOptions,
    records: &mut FleetRecords,
) -> Result<FileReport, ReadError> {
    read_file(label, file, input, options, REMEDY, records, |reading, lines, first, records| {
        read_all(reading, lines, first, at, records)
    })
}

fn read_all(
    reading: &mut Reading<'_>,
    lines: Lines<'_>,
    first: First,
    at: Option<Timestamp>,
    records: &mut FleetRecords,
) -> Result<(), ReadError> {
    let First { mut line, number } = first;
    if line.trim_ascii_start().starts_with(b"{") {
        line.push(b'\n');
        line.extend(lines.rest()?);
        nodes_json::read(reading, &line, at, records)?;
    } else if is_node_start(&line) {
        reading.report.format = "scontrol nodes".to_owned();
        read_records(reading, lines, line, number, at, records)?;
    } else {
        let expected = "begins no scontrol show node (sinfo lists a node once for every partition)";
        return Err(reading.other_file(number, &line, "--nodes", expected, REMEDY));
    }
    records.node_samples.sort_by_key(|sample| sample.at);
    Ok(())
}

pub(super) fn is_node_start(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"NodeName=")
}

fn read_records(
    reading: &mut Reading<'_>,
    mut lines: Lines<'_>,
    first: Vec<u8>,
    first_line: u32,
    at: Option<Timestamp>,
    records: &mut FleetRecords,
) -> Result<(), ReadError> {
    let mut inventory = Inventory::new(records);
    let (mut record, mut record_line) = (first, first_line);
    let mut line = Vec::new();
    loop {
        let next = lines.next_filled(&mut line)?;
        if next.is_some() && !is_node_start(&line) {
            record.push(b'\n');
            record.append(&mut line);
            continue;
        }
        inventory.take_text(&record, record_line, at, reading, records)?;
        let Some(number) = next else { return Ok(()) };
        (record, record_line) = (std::mem::take(&mut line), number);
    }
}

/// One node as a record says it, whatever the form of the record.
pub(super) struct NodeRecord<'r> {
    pub(super) name: &'r str,
    pub(super) state: NodeState,
    pub(super) state_text: &'r str,
    pub(super) partitions: Vec<&'r str>,
    /// Configured TRES (`cpu=64,gres/gpu=8`).
    pub(super) tres: &'r str,
    /// Allocated TRES.
    pub(super) tres_used: &'r str,
    /// Configured generic resources (`gpu:h100:8`).
    pub(super) gres: &'r str,
    /// Used generic resources (`gpu:h100:4(IDX:0-3)`), when the record has them.
    pub(super) gres_used: Option<&'r str>,
    pub(super) reason: &'r str,
    pub(super) reason_since: Option<Timestamp>,
}

/// The nodes of the records by name, so that none is listed or sampled twice.
pub(super) struct Inventory {
    by_name: FxHashMap<Symbol, usize>,
    taken_at: FxHashMap<Symbol, Option<Timestamp>>,
}

impl Inventory {
    pub(super) fn new(records: &FleetRecords) -> Self {
        let by_name = records.nodes.iter().enumerate().map(|(at, node)| (node.name, at)).collect();
        Self { by_name, taken_at: FxHashMap::default() }
    }

    /// Takes one text record and counts what became of it.
    pub(super) fn take_text(
        &mut self,
        record: &[u8],
        line: u32,
        at: Option<Timestamp>,
        reading: &mut Reading<'_>,
        records: &mut FleetRecords,
    ) -> Result<(), ReadError> {
        let whole = text(record);
        let keyed = Keyed::new(whole.trim());
        let get = |key| keyed.get(key).unwrap_or_default();
        let (reason, since) = keyed.after("Reason").map_or(("", ""), reason);
        reading.report.rows += 1;
        let outcome = reading.instant(since.as_bytes(), line, "Reason").and_then(|reason_since| {
            let node = NodeRecord {
                name: get("NodeName"),
                state: NodeState::from_text(get("State")),
                state_text: get("State"),
                partitions: get("Partitions").split(',').collect(),
                tres: get("CfgTRES"),
                tres_used: get("AllocTRES"),
                gres: get("Gres"),
                gres_used: keyed.get("GresUsed"),
                reason,
                reason_since,
            };
            self.take(&node, line, at, reading, records)
        });
        reading.settle(line, outcome)
    }

    /// Takes one node: inventory, the interval that its reason opens, and a sample.
    pub(super) fn take(
        &mut self,
        node: &NodeRecord<'_>,
        line: u32,
        at: Option<Timestamp>,
        reading: &mut Reading<'_>,
        records: &mut FleetRecords,
    ) -> Result<Outcome, Fault> {
        if node.name.is_empty() || node.state_text.is_empty() {
            return Err(Fault::row("NodeName", "a node without a name or a state"));
        }
        if node.state.future {
            return Ok(Outcome::Skipped("future nodes"));
        }
        let devices = Devices::read(node, line, reading)?;
        let name = records.symbols.intern(node.name);
        self.list(name, devices.installed, devices.device_type, node.partitions.iter().copied(), records);
        if self.taken_at.insert(name, at) == Some(at) {
            return Ok(Outcome::Skipped("repeated nodes"));
        }
        if !node.state.known {
            reading.report.find(Treatment::Noted, "unknown_state", line, "State", || {
                format!("{:?} has a word that is not known here: it counts for nothing", node.state_text)
            });
        }
        if let Some(start) = node
            .reason_since
            .filter(|&since| node.state.status != NodeStatus::Up && at.is_none_or(|at| since < at))
        {
            if at.is_none() {
                reading.report.find(Treatment::Noted, "open_interval", line, "State", || {
                    "out of service since the time beside the reason; the file does not say when it was written, \
                     so that is taken to last: name the time of the file to end it there"
                        .to_owned()
                });
            }
            records.node_intervals.push(NodeInterval {
                node: name,
                status: node.state.status,
                start,
                end: at,
                reason: records.symbols.intern(node.reason),
                source: reading.source(line),
            });
        }
        if let (Some(at), Some(allocated)) = (at, devices.allocated) {
            records.node_samples.push(NodeSample {
                at,
                node: name,
                status: node.state.status,
                planned: node.state.planned,
                devices: devices.installed,
                allocated,
            });
        }
        Ok(Outcome::Used)
    }

    /// Lists a node, or adds what is new to one that is listed.
    pub(super) fn list<'p>(
        &mut self,
        name: Symbol,
        devices: u32,
        device_type: &str,
        partitions: impl IntoIterator<Item = &'p str>,
        records: &mut FleetRecords,
    ) {
        let at = *self.by_name.entry(name).or_insert_with(|| {
            let (device_type, block) = (Symbol::EMPTY, Symbol::EMPTY);
            records.nodes.push(Node { name, devices, device_type, partitions: Vec::new(), block });
            records.nodes.len() - 1
        });
        let FleetRecords { nodes, symbols, .. } = records;
        let Some(node) = nodes.get_mut(at) else { return };
        node.devices = node.devices.max(devices);
        if node.device_type == Symbol::EMPTY {
            node.device_type = symbols.intern(device_type);
        }
        for partition in partitions.into_iter().filter(|p| !p.is_empty()) {
            let partition = symbols.intern(partition);
            if !node.partitions.contains(&partition) {
                node.partitions.push(partition);
            }
        }
    }
}

/// Devices of one node.
struct Devices<'r> {
    installed: u32,
    /// `None` when the record does not say.
    allocated: Option<u32>,
    device_type: &'r str,
}

impl<'r> Devices<'r> {
    /// From the TRES, and from the generic resources where the site does not track devices as TRES.
    fn read(node: &NodeRecord<'r>, line: u32, reading: &mut Reading<'_>) -> Result<Self, Fault> {
        let tres = |text: &'r str, field| {
            Tres::parse(text.as_bytes()).map_err(|error| Fault::row(field, error.to_string()))
        };
        let gres = |text: &str, field| {
            let devices = gres_devices(text.as_bytes());
            devices.ok_or_else(|| Fault::row(field, format!("{text:?} is no list of generic resources")))
        };
        let count = |devices: u64, field| {
            u32::try_from(devices).map_err(|_| Fault::row(field, format!("{devices} devices on one node")))
        };
        let configured = tres(node.tres, "CfgTRES")?;
        let device_type = gres_type(node.gres).unwrap_or_default();
        if let Some(installed) = configured.devices {
            let used = tres(node.tres_used, "AllocTRES")?.devices.unwrap_or(0);
            let (installed, allocated) = (count(installed, "CfgTRES")?, count(used, "AllocTRES")?);
            return Ok(Self { installed, allocated: Some(allocated), device_type });
        }
        let installed = count(gres(node.gres, "Gres")?, "Gres")?;
        let used = node.gres_used.map(|used| gres(used, "GresUsed")).transpose()?;
        let allocated = match used {
            Some(used) => Some(count(used, "GresUsed")?),
            None => (installed == 0).then_some(0),
        };
        if installed > 0 {
            reading.report.find(Treatment::Noted, "no_devices_in_tres", line, "CfgTRES", || {
                let used = if allocated.is_none() { ", and what is used is unknown without -d" } else { "" };
                format!(
                    "CfgTRES names no gres/gpu (AccountingStorageTRES=gres/gpu is not set): devices taken from \
                     Gres{used}"
                )
            });
        }
        Ok(Self { installed, allocated, device_type })
    }
}

/// The device type in `gpu:h100:8(S:0-1)`, when there is exactly one.
fn gres_type(gres: &str) -> Option<&str> {
    let mut types = gres.split(',').filter_map(|item| {
        let mut parts = item.trim().split(['(', ':']);
        let device_type = parts.next().filter(|&name| name == "gpu").and(parts.next())?;
        device_type.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(device_type)
    });
    types.next().filter(|first| types.all(|other| other == *first))
}

/// The words of a reason and the text of its instant: `drain while busy [root@2026-11-29T17:40:11]`.
fn reason(reason: &str) -> (&str, &str) {
    reason
        .rsplit_once(" [")
        .and_then(|(words, tail)| {
            let (by, _) = tail.split_once(']')?;
            Some((words.trim(), by.rsplit_once('@')?.1))
        })
        .unwrap_or((reason.trim(), ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("gpu:h100:8(S:0-1)", Some("h100"))]
    #[case("gpu:a100:4,gpu:a100:4", Some("a100"))]
    #[case("gpu:a100:4,gpu:h100:4", None)]
    #[case("gpu:8", None)]
    #[case("nic:x:1,gpu:h100:8", Some("h100"))]
    #[case("", None)]
    fn device_types(#[case] gres: &str, #[case] expected: Option<&str>) {
        assert_eq!(gres_type(gres), expected);
    }

    #[rstest]
    #[case("drain while busy [root@2026-11-29T17:40:11]", ("drain while busy", "2026-11-29T17:40:11"))]
    #[case("disk [sda] [a@corp@1795974011] Comment=x", ("disk [sda]", "1795974011"))]
    #[case("no instant", ("no instant", ""))]
    fn reasons(#[case] text: &str, #[case] expected: (&str, &str)) {
        assert_eq!(reason(text), expected);
    }

    fn nodes(text: &str, at: Option<i64>) -> (FleetRecords, FileReport) {
        let mut records = FleetRecords::new();
        let at = at.map(Timestamp::from_seconds);
        let options = SlurmOptions { time_zone: Some(jiff::tz::TimeZone::UTC), ..SlurmOptions::default() };
        let report = read_nodes("nodes", FileId(0), text.as_bytes(), at, &options, &mut records).unwrap();
        (records, report)
    }

    #[test]
    fn a_site_without_devices_in_its_tres_is_read_from_gres() {
        let text = "NodeName=n1 Gres=gpu:h100:8 GresUsed=gpu:h100:5(IDX:0-4) State=MIXED Partitions=a CfgTRES=cpu=64 \
                    AllocTRES=cpu=8\nNodeName=n2 Gres=gpu:h100:8 State=MIXED Partitions=a CfgTRES=cpu=64 AllocTRES=cpu=8\n";
        let (records, report) = nodes(text, Some(1_795_974_000));
        assert_eq!(records.nodes.iter().map(|n| n.devices).collect::<Vec<_>>(), [8, 8]);
        assert_eq!(
            records.node_samples.iter().map(|s| s.allocated).collect::<Vec<_>>(),
            [5],
            "n2 is unknown"
        );
        assert_eq!(report.counts["no_devices_in_tres"], 2);
    }

    #[test]
    fn a_node_that_is_listed_again_counts_once() {
        let node = "NodeName=n1 Gres=gpu:8 State=IDLE Partitions=a CfgTRES=gres/gpu=8 AllocTRES=\n";
        let (records, report) = nodes(&format!("{node}{}", node.replace("=a", "=b")), Some(1_795_974_000));
        assert_eq!((records.nodes.len(), records.nodes[0].partitions.len()), (1, 2));
        assert_eq!((records.node_samples.len(), report.skipped["repeated nodes"]), (1, 1));
    }

    #[test]
    fn an_interval_ends_where_knowledge_ends() {
        let node = "NodeName=n1 Gres=gpu:8 State=ALLOCATED+DRAIN CfgTRES=gres/gpu=8 AllocTRES=gres/gpu=8 Reason=x [r@1795974000]\n";
        let (open, report) = nodes(node, None);
        assert_eq!((open.node_intervals[0].end, report.counts["open_interval"]), (None, 1));
        let (closed, _) = nodes(node, Some(1_795_974_100));
        assert_eq!(closed.node_intervals[0].end, Some(Timestamp::from_seconds(1_795_974_100)));
        let (stale, _) = nodes(node, Some(1_795_973_000));
        assert_eq!(stale.node_intervals, []);
    }

    #[rstest]
    #[case("")]
    #[case("NODELIST   NODES PARTITION       STATE\ngpu001 1 train idle\n")]
    #[case("{\"sinfo\": []}")]
    #[case("{\"nodes\": 5}")]
    fn what_lists_no_nodes_is_refused(#[case] text: &str) {
        let options = SlurmOptions::default();
        let error = read_nodes("nodes", FileId(0), text.as_bytes(), None, &options, &mut FleetRecords::new())
            .unwrap_err();
        assert!(error.remedy().is_some_and(|remedy| remedy.contains("scontrol")), "{error}");
    }
}
