//! `sacctmgr show event`: when nodes were down or drained, and how many devices the cluster had.
//!
//! A row without a node is the cluster itself: its TRES are the installed capacity until the next
//! such row. The drain of a busy node is recorded only once the node is idle; until then it shows in
//! the node's state alone (see [`super::nodes`]).

use std::io::BufRead;

use goodput_core::Timestamp;
use goodput_core::records::{CapacityStep, FileId, FleetRecords, NodeInterval, NodeStatus};

use super::SlurmOptions;
use super::kind::other_kind;
use super::listing::Listing;
use super::node_state::NodeState;
use super::reading::{Fault, First, Lines, Outcome, Reading, read_file, shown, text};
use super::times::whole_number;
use super::tres::Tres;
use crate::{FileReport, ReadError, Treatment};

const REMEDY: &str = "export with: sacctmgr show event -P All_Time \
    format=Cluster,ClusterNodes,CPUCount,Duration,End,Event,EventRaw,NodeName,Reason,Start,State,StateRaw,TRES,User";

/// Reads a listing of events: node rows become [`NodeInterval`]s, cluster rows [`CapacityStep`]s.
///
/// Any selection and order of columns that has the start, the end and a node name or node list will
/// do, with any delimiter (`options.delimiter`, else `|`) or in columns, gzipped or not.
///
/// ```
/// use goodput_core::records::{FileId, FleetRecords, NodeStatus};
/// use goodput_records::scheduler::slurm::{SlurmOptions, events::read_events};
/// let listing = "NodeName|TimeStart|TimeEnd|State|Reason\ngpu7|1795973156|Unknown|DOWN*|Xid 79 | lost\n";
/// let mut records = FleetRecords::new();
/// read_events("events", FileId(0), listing.as_bytes(), &SlurmOptions::default(), &mut records)?;
/// assert_eq!(records.node_intervals[0].status, NodeStatus::Down);
/// assert_eq!(records.symbols.get(records.node_intervals[0].reason), "Xid 79 | lost");
/// # Ok::<(), goodput_records::ReadError>(())
/// ```
///
/// # Errors
/// [`ReadError`] when the file cannot be read, is no listing of events, or its times need a zone that
/// the options do not name.
pub fn read_events<'a>(
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
    mut lines: Lines<'_>,
    first: First,
    records: &mut FleetRecords,
) -> Result<(), ReadError> {
    let nodes_before = records.node_intervals.len();
    let mut line = Vec::new();
    let listing = header(reading, &mut lines, first, &mut line)?;
    let columns = Columns::find(&listing, reading)?;
    while let Some(number) = lines.next_filled(&mut line)? {
        reading.report.rows += 1;
        let outcome = match listing.fields(&line, columns.reason) {
            Ok(fields) => Row { columns: &columns, fields, line: number }.take(&listing, reading, records),
            Err(found) => Err(Fault::row("", format!("{found} fields, the header has another number"))),
        };
        reading.settle(number, outcome)?;
    }
    let is_silent = records.node_intervals.len() == nodes_before;
    if is_silent {
        reading.report.find(Treatment::Noted, "no_node_rows", 0, "", || {
            "the file tells of no node that was down or drained: either none was, or it was exported without All_Time \
             or with event=cluster"
                .to_owned()
        });
    }
    Ok(())
}

fn header(
    reading: &mut Reading<'_>,
    lines: &mut Lines<'_>,
    first: First,
    second: &mut Vec<u8>,
) -> Result<Listing, ReadError> {
    let First { line: header, number } = first;
    if header.trim_ascii_start().starts_with(b"{") {
        return Err(reading.error(number, "JSON, which no sacctmgr is known to write for events", REMEDY));
    }
    if let Some((what, to_do)) = other_kind(&header, "--events") {
        return Err(reading.error(number, what, &to_do));
    }
    if let Some(listing) = Listing::with_delimiter(&header, reading.options.delimiter.as_deref()) {
        reading.report.format = "sacctmgr event listing".to_owned();
        return Ok(listing);
    }
    lines.next(second)?;
    reading.report.format = "sacctmgr event listing in columns".to_owned();
    Listing::columns(&header, second).ok_or_else(|| {
        reading.other_file(number, &header, "--events", "is no header of an event listing", REMEDY)
    })
}

/// Where the known columns stand.
struct Columns {
    cluster: Option<usize>,
    cluster_nodes: Option<usize>,
    node: Option<usize>,
    event: Option<usize>,
    start: usize,
    end: usize,
    state: Option<usize>,
    state_raw: Option<usize>,
    tres: Option<usize>,
    reason: Option<usize>,
}

impl Columns {
    fn find(listing: &Listing, reading: &Reading<'_>) -> Result<Self, ReadError> {
        let required = |names: &[&str], field: &str| {
            listing.position(names).ok_or_else(|| {
                reading.error(1, format!("no column {field} among {}", listing.header()), REMEDY)
            })
        };
        let columns = Self {
            cluster: listing.position(&["cluster"]),
            cluster_nodes: listing.position(&["clusternodes"]),
            node: listing.position(&["nodename"]),
            event: listing.position(&["event", "eventraw"]),
            start: required(&["timestart", "start"], "TimeStart")?,
            end: required(&["timeend", "end"], "TimeEnd")?,
            state: listing.position(&["state"]),
            state_raw: listing.position(&["stateraw"]),
            tres: listing.position(&["tres"]),
            reason: listing.position(&["reason"]),
        };
        if columns.node.or(columns.cluster_nodes).is_none() {
            required(&["nodename"], "NodeName")?;
        }
        Ok(columns)
    }
}

const NO_CAPACITY: Outcome = Outcome::Skipped("cluster rows without devices");

struct Row<'r> {
    columns: &'r Columns,
    fields: Vec<&'r [u8]>,
    line: u32,
}

impl<'r> Row<'r> {
    fn field(&self, column: Option<usize>) -> &'r [u8] {
        column.and_then(|column| self.fields.get(column)).copied().unwrap_or_default()
    }

    fn take(
        &self,
        listing: &Listing,
        reading: &mut Reading<'_>,
        records: &mut FleetRecords,
    ) -> Result<Outcome, Fault> {
        let columns = self.columns;
        let start = reading.instant(self.field(Some(columns.start)), self.line, "TimeStart")?;
        let end = reading.instant(self.field(Some(columns.end)), self.line, "TimeEnd")?;
        let start = start.ok_or_else(|| Fault::row("TimeStart", "the start is missing"))?;
        if end.is_some_and(|end| end < start) {
            return Err(Fault::row("TimeEnd", "the end is before the start"));
        }
        let node = self.field(columns.node);
        let is_node = !node.is_empty()
            || matches!(self.field(columns.event), b"Node" | b"2")
            || !self.field(columns.state).is_empty();
        if !is_node {
            return self.take_cluster(start, end, reading, records);
        }
        if node.is_empty() {
            return Err(Fault::row("NodeName", "a node's event without the node's name"));
        }
        if listing.cuts_fields() && node.ends_with(b"+") {
            return Err(Fault::row(
                "NodeName",
                format!("{} was cut to its column; export with -P", shown(node)),
            ));
        }
        let status = self.status(reading)?;
        records.node_intervals.push(NodeInterval {
            node: records.symbols.intern(&text(node)),
            status,
            start,
            end,
            reason: records.symbols.intern(&text(self.field(columns.reason))),
            source: reading.source(self.line),
        });
        Ok(Outcome::Used)
    }

    /// The number tells more than the word, which shows one of several flags.
    fn status(&self, reading: &mut Reading<'_>) -> Result<NodeStatus, Fault> {
        let (number, word) = (self.field(self.columns.state_raw), self.field(self.columns.state));
        let state = match (number, word) {
            (b"", b"") => {
                reading.report.find(Treatment::Repaired, "state_missing", self.line, "State", || {
                    "the event names no state: counted as down".to_owned()
                });
                return Ok(NodeStatus::Down);
            }
            (b"", word) => NodeState::from_text(&text(word)),
            (number, _) => whole_number(number)
                .and_then(|number| u32::try_from(number).ok())
                .map(NodeState::from_number)
                .ok_or_else(|| Fault::row("StateRaw", format!("{} is no state", shown(number))))?,
        };
        if state.status == NodeStatus::Up {
            let state = if word.is_empty() { number } else { word };
            return Err(Fault::row("State", format!("{} takes no node out of service", shown(state))));
        }
        Ok(state.status)
    }

    fn take_cluster(
        &self,
        start: Timestamp,
        end: Option<Timestamp>,
        reading: &mut Reading<'_>,
        records: &mut FleetRecords,
    ) -> Result<Outcome, Fault> {
        if self.columns.tres.is_none() {
            reading.report.find(Treatment::Noted, "capacity_unknown", self.line, "TRES", || {
                format!("the listing has no TRES column, so the installed capacity is unknown; {REMEDY}")
            });
            return Ok(NO_CAPACITY);
        }
        let tres = Tres::parse(self.field(self.columns.tres));
        let tres = tres.map_err(|error| Fault::row("TRES", error.to_string()))?;
        let Some(devices) = tres.devices else {
            reading.report.find(Treatment::Noted, "no_devices_in_tres", self.line, "TRES", || {
                "the cluster's TRES name no gres/gpu, so no Slurm accounting record counts devices: set \
                 AccountingStorageTRES=gres/gpu in slurm.conf, and give scontrol -o show node -d for what \
                 nodes have"
                    .to_owned()
            });
            return Ok(NO_CAPACITY);
        };
        let nodes = reading.node_set(self.field(self.columns.cluster_nodes), "Cluster Nodes", records)?;
        let cluster = reading.cluster(self.field(self.columns.cluster), records);
        let source = reading.source(self.line);
        records.capacity.push(CapacityStep { cluster, start, end, devices, nodes, source });
        Ok(Outcome::Used)
    }
}
