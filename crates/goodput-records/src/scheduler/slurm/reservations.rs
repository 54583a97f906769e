//! Reservations: `sacctmgr show reservation` and `scontrol show reservation`.
//!
//! A maintenance reservation takes its nodes out of service and leaves no event. What `sacctmgr`
//! lists by default has neither the nodes nor the flags, so the maintenance is unknown then, and the
//! report says which record settles it.

use std::io::BufRead;

use goodput_core::Timestamp;
use goodput_core::records::{FileId, FleetRecords, NodeSet, Reservation};

use super::SlurmOptions;
use super::keyed::Keyed;
use super::kind::other_kind;
use super::listing::Listing;
use super::reading::{Fault, First, Lines, Outcome, Reading, read_file, shown, text};
use crate::{FileReport, ReadError, Treatment};

const REMEDY: &str = "export with: sacctmgr show reservation -P start=<from> \
    format=Cluster,Name,Flags,NodeNames,Start,End,TRES,UnusedWall";

/// Reads reservations from a listing of `sacctmgr` or the records of `scontrol show reservation`.
///
/// ```
/// use goodput_core::records::{FileId, FleetRecords};
/// use goodput_records::scheduler::slurm::{SlurmOptions, reservations::read_reservations};
/// let record = "ReservationName=maint1 StartTime=1795973322 EndTime=1795973382 Duration=00:01:00\n   \
///               Nodes=a100-4 NodeCnt=1 Flags=MAINT,IGNORE_JOBS,SPEC_NODES\n";
/// let mut records = FleetRecords::new();
/// read_reservations("resv", FileId(0), record.as_bytes(), &SlurmOptions::default(), &mut records)?;
/// assert!(records.reservations[0].maintenance);
/// # Ok::<(), goodput_records::ReadError>(())
/// ```
///
/// # Errors
/// [`ReadError`] when the file cannot be read, holds no reservations in a known form, or its times
/// need a zone that the options do not name.
pub fn read_reservations<'a>(
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
    let First { line, number } = first;
    if line.starts_with(b"No reservations in the system") {
        reading.report.format = "scontrol reservations".to_owned();
        return Ok(());
    }
    if line.trim_ascii_start().starts_with(b"ReservationName=") {
        reading.report.format = "scontrol reservations".to_owned();
        return read_records(reading, lines, line, number, records);
    }
    if let Some((what, to_do)) = other_kind(&line, "--reservations") {
        return Err(reading.error(number, what, &to_do));
    }
    let listing = match Listing::with_delimiter(&line, reading.options.delimiter.as_deref()) {
        Some(listing) => listing,
        None => {
            let mut second = Vec::new();
            lines.next(&mut second)?;
            Listing::columns(&line, &second).ok_or_else(|| {
                let expected = "begins no list of reservations";
                reading.other_file(number, &line, "--reservations", expected, REMEDY)
            })?
        }
    };
    reading.report.format = "sacctmgr reservation listing".to_owned();
    read_listing(reading, lines, &listing, records)
}

/// One reservation as text, whatever it was read from.
pub(super) struct Fields<'r> {
    pub(super) name: &'r [u8],
    pub(super) start: &'r [u8],
    pub(super) end: &'r [u8],
    /// `None` when the source has no such field.
    pub(super) nodes: Option<&'r [u8]>,
    /// Whether the flags say maintenance; `None` when the source has no flags.
    pub(super) maintenance: Option<bool>,
}

impl Fields<'_> {
    pub(super) fn take(
        &self,
        line: u32,
        reading: &mut Reading<'_>,
        records: &mut FleetRecords,
    ) -> Result<Outcome, Fault> {
        let bound = |bound: Option<Timestamp>, field| {
            bound.ok_or_else(|| Fault::row(field, "a reservation without a start or an end"))
        };
        let start = bound(reading.instant(self.start, line, "TimeStart")?, "TimeStart")?;
        let end = bound(reading.instant(self.end, line, "TimeEnd")?, "TimeEnd")?;
        if end < start {
            return Err(Fault::row("TimeEnd", "the end is before the start"));
        }
        let nodes = reading.node_set(self.nodes.unwrap_or_default(), "Nodes", records)?;
        let is_known = self.maintenance.is_some_and(|m| !m || nodes != NodeSet::NONE);
        if !is_known {
            reading.report.find(Treatment::Noted, "maintenance_unknown", line, "Nodes", || {
                format!(
                    "whether reservation {} took nodes out of service, and which, is not listed: scontrol show \
                     reservation while it lasts tells (Nodes, Flags), or the cluster's resv_table, or {REMEDY}",
                    shown(self.name)
                )
            });
        }
        records.reservations.push(Reservation {
            name: records.symbols.intern(&text(self.name)),
            start,
            end,
            nodes,
            maintenance: self.maintenance.unwrap_or(false),
            source: reading.source(line),
        });
        Ok(Outcome::Used)
    }
}

/// Whether flags as words hold maintenance.
fn is_maintenance(flags: &[u8]) -> bool {
    flags.split(|&b| matches!(b, b',' | b'|')).any(|flag| flag.trim_ascii().eq_ignore_ascii_case(b"MAINT"))
}

fn read_listing(
    reading: &mut Reading<'_>,
    mut lines: Lines<'_>,
    listing: &Listing,
    records: &mut FleetRecords,
) -> Result<(), ReadError> {
    let required = |names: &[&str]| {
        listing.position(names).ok_or_else(|| {
            reading.error(1, format!("no column {} among {}", names[0], listing.header()), REMEDY)
        })
    };
    let (name, start, end) =
        (required(&["name"])?, required(&["timestart", "start"])?, required(&["timeend", "end"])?);
    let nodes = listing.position(&["nodenames", "nodes", "nodelist"]);
    let flags = listing.position(&["flags"]);
    let mut line = Vec::new();
    while let Some(number) = lines.next_filled(&mut line)? {
        reading.report.rows += 1;
        let outcome = match listing.fields(&line, None) {
            Ok(fields) => Fields {
                name: fields[name],
                start: fields[start],
                end: fields[end],
                nodes: nodes.map(|column| fields[column]),
                maintenance: flags.map(|column| is_maintenance(fields[column])),
            }
            .take(number, reading, records),
            Err(found) => Err(Fault::row("", format!("{found} fields, the header has another number"))),
        };
        reading.settle(number, outcome)?;
    }
    Ok(())
}

fn read_records(
    reading: &mut Reading<'_>,
    mut lines: Lines<'_>,
    first: Vec<u8>,
    first_line: u32,
    records: &mut FleetRecords,
) -> Result<(), ReadError> {
    let (mut record, mut record_line) = (first, first_line);
    let mut line = Vec::new();
    loop {
        let next = lines.next_filled(&mut line)?;
        let begins = line.trim_ascii_start().starts_with(b"ReservationName=");
        if next.is_some() && !begins {
            record.push(b'\n');
            record.append(&mut line);
            continue;
        }
        reading.report.rows += 1;
        let whole = text(&record);
        let keyed = Keyed::new(whole.trim_ascii());
        let get = |key| keyed.get(key).unwrap_or_default().as_bytes();
        let fields = Fields {
            name: get("ReservationName"),
            start: get("StartTime"),
            end: get("EndTime"),
            nodes: keyed.get("Nodes").map(str::as_bytes),
            maintenance: Some(is_maintenance(get("Flags"))),
        };
        let outcome = fields.take(record_line, reading, records);
        reading.settle(record_line, outcome)?;
        let Some(number) = next else { return Ok(()) };
        (record, record_line) = (std::mem::take(&mut line), number);
    }
}
