//! Tables of the accounting database itself, exported as text: `<cluster>_job_table`,
//! `<cluster>_event_table`, `<cluster>_resv_table`, and the tables that name their numbers.
//!
//! Resources are numbered per site, so nothing can be counted without `tres_table`.

mod events;
mod jobs;
mod names;
mod reservations;

use std::io::{BufRead, Cursor, Read};

use goodput_core::records::{FileId, FleetRecords};

use super::SlurmOptions;
use super::kind::other_kind;
use super::reading::{Fault, Outcome, Reading, format_error, whole_devices};
use crate::scheduler::all_or_nothing::all_or_nothing;
use crate::{FileReport, ReadError, Treatment};

use names::Names;

const REMEDY: &str =
    "export whole tables with their header: mysql -B slurm_acct_db -e 'select * from <table>'";

/// Reads tables of one database, each recognised by its header, and returns one report a table in
/// the order given.
///
/// Tab-separated text as `mysql -B` writes it, or CSV; gzipped or not. The cluster's name is the
/// beginning of the file's name (`vgpu_job_table.tsv`), else the one of the options.
///
/// ```
/// use goodput_core::records::{FileId, FleetRecords};
/// use goodput_records::scheduler::slurm::{SlurmOptions, slurmdbd::read_tables};
/// let jobs = "id_job\tstate\ttime_submit\ttime_eligible\ttime_start\ttime_end\ttres_alloc\n\
///             7\t3\t1795973123\t1795973123\t1795973124\t1795973159\t1=256,1001=32,1002=32\n";
/// let resources = "id\ttype\tname\n1001\tgres\tgpu\n1002\tgres\tgpu:h100\n";
/// let files = [("vgpu_job_table.tsv", FileId(0), jobs.as_bytes()), ("tres_table.tsv", FileId(1), resources.as_bytes())];
/// let mut records = FleetRecords::new();
/// read_tables(files, &SlurmOptions::default(), &mut records)?;
/// assert_eq!(records.attempts[0].devices, 32);
/// # Ok::<(), goodput_records::ReadError>(())
/// ```
///
/// # Errors
/// [`ReadError`] when a file cannot be read or is no known table, or when a table counts resources
/// and `tres_table` is not among the files.
pub fn read_tables<'a, R: BufRead + 'a>(
    files: impl IntoIterator<Item = (&'a str, FileId, R)>,
    options: &'a SlurmOptions,
    records: &mut FleetRecords,
) -> Result<Vec<FileReport>, ReadError> {
    all_or_nothing(records, |records| read_all(files, options, records))
}

fn read_all<'a, R: BufRead + 'a>(
    files: impl IntoIterator<Item = (&'a str, FileId, R)>,
    options: &'a SlurmOptions,
    records: &mut FleetRecords,
) -> Result<Vec<FileReport>, ReadError> {
    let mut tables = Vec::new();
    let mut reports = Vec::new();
    for (position, (label, file, input)) in files.into_iter().enumerate() {
        whole_devices(label, records)?;
        match Table::open(label, file, input)? {
            Some(table) => tables.push((position, table)),
            None => reports.push((position, empty_table(label))),
        }
    }
    // Names first: a job refers to them by number.
    tables.sort_by_key(|(position, table)| (table.kind, *position));
    let mut names = Names::default();
    for (position, table) in tables {
        let label = table.label;
        let mut reading = Reading::new(label, table.file, options);
        reading.report.format = format!("slurmdbd {}", table.kind.word());
        match table.kind {
            Kind::Resources | Kind::Associations | Kind::Qos => names.read(table, &mut reading)?,
            Kind::Reservations => reservations::read(table, &mut names, &mut reading, records)?,
            Kind::Events => events::read(table, names.resources(label)?, &mut reading, records)?,
            Kind::Jobs => jobs::read(table, &names, &mut reading, records)?,
            Kind::Suspensions => skip_all(table, &mut reading)?,
        }
        reports.push((position, reading.finish()?));
    }
    reports.sort_by_key(|(position, _)| *position);
    Ok(reports.into_iter().map(|(_, report)| report).collect())
}

/// `mysql -B` writes nothing at all for a table without rows, not even its header.
fn empty_table(label: &str) -> FileReport {
    let mut report = FileReport::new(label, "slurmdbd table");
    report.find(Treatment::Noted, "no_rows", 0, "", || {
        "the file is empty: a table without rows, or a command that failed".to_owned()
    });
    report
}

/// A job's row holds the sum of its suspensions already.
fn skip_all(table: Table<'_>, reading: &mut Reading<'_>) -> Result<(), ReadError> {
    table.rows(reading, |_, _, _| Ok(Outcome::Skipped("suspensions")))
}

/// Which table a file is, in the order in which they must be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Resources,
    Associations,
    Qos,
    Reservations,
    Events,
    Jobs,
    Suspensions,
}

impl Kind {
    const fn word(self) -> &'static str {
        match self {
            Self::Resources => "tres_table",
            Self::Associations => "assoc_table",
            Self::Qos => "qos_table",
            Self::Reservations => "resv_table",
            Self::Events => "event_table",
            Self::Jobs => "job_table",
            Self::Suspensions => "suspend_table",
        }
    }

    fn of(header: &csv::ByteRecord) -> Option<Self> {
        let has = |names: &[&str]| {
            names.iter().all(|name| header.iter().any(|column| column.trim_ascii() == name.as_bytes()))
        };
        Some(match () {
            () if has(&["id_job", "time_submit"]) => Self::Jobs,
            () if has(&["resv_name", "time_start"]) => Self::Reservations,
            () if has(&["node_name", "time_start", "state"]) => Self::Events,
            () if has(&["job_db_inx", "time_start", "time_end"]) => Self::Suspensions,
            () if has(&["id_assoc", "acct", "user"]) => Self::Associations,
            () if has(&["id", "type", "name"]) => Self::Resources,
            () if has(&["id", "name", "preempt"]) => Self::Qos,
            () => return None,
        })
    }
}

/// One table: which it is, its header, and its rows.
struct Table<'a> {
    label: &'a str,
    file: FileId,
    kind: Kind,
    header: csv::ByteRecord,
    reader: csv::Reader<Box<dyn BufRead + 'a>>,
    is_escaped: bool,
}

impl<'a> Table<'a> {
    /// `None` for an empty file.
    fn open(label: &'a str, file: FileId, input: impl BufRead + 'a) -> Result<Option<Self>, ReadError> {
        let io = |source| ReadError::Io { path: label.to_owned(), source };
        let mut input = crate::gzip::inflated(input).map_err(io)?;
        let mut first_line = Vec::new();
        input.read_until(b'\n', &mut first_line).map_err(io)?;
        if first_line.is_empty() {
            return Ok(None);
        }
        let is_escaped = first_line.contains(&b'\t');
        let header_line = first_line.clone();
        let input: Box<dyn BufRead + 'a> = Box::new(Cursor::new(first_line).chain(input));
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(if is_escaped { b'\t' } else { b',' })
            .quoting(!is_escaped)
            .flexible(true)
            .from_reader(input);
        let header = reader.byte_headers().map_err(|error| table_error(label, error))?.clone();
        let kind = Kind::of(&header).ok_or_else(|| {
            if let Some((what, to_do)) = other_kind(&header_line, "--tables") {
                return format_error(label, 1, what, &to_do);
            }
            let columns: Vec<_> = header.iter().map(String::from_utf8_lossy).take(8).collect();
            let message = format!("no known table has these columns: {} …", columns.join(", "));
            format_error(label, 1, message, REMEDY)
        })?;
        Ok(Some(Self { label, file, kind, header, reader, is_escaped }))
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column.trim_ascii() == name.as_bytes())
    }

    /// The beginning of the file's name, before the table's.
    fn cluster(&self) -> &'a str {
        let name = self.label.rsplit(['/', '\\']).next().unwrap_or(self.label);
        name.split_once(self.kind.word()).and_then(|(cluster, _)| cluster.strip_suffix('_')).unwrap_or("")
    }

    /// Hands every row of the right length that is not marked deleted to `take`.
    fn rows(
        mut self,
        reading: &mut Reading<'_>,
        mut take: impl FnMut(&Row<'_>, &mut Reading<'_>, u32) -> Result<Outcome, Fault>,
    ) -> Result<(), ReadError> {
        let deleted = self.column("deleted");
        let columns = self.header.len();
        let mut record = csv::ByteRecord::new();
        while self.reader.read_byte_record(&mut record).map_err(|error| table_error(self.label, error))? {
            let line = record.position().map_or(0, |p| u32::try_from(p.line()).unwrap_or(u32::MAX));
            reading.report.rows += 1;
            let row = Row { record: &record, is_escaped: self.is_escaped };
            if record.len() != columns {
                reading.report.find(Treatment::Refused, "column_count", line, "", || {
                    format!("{} fields, the header has {columns}: the row is not used", record.len())
                });
                continue;
            }
            if row.get(deleted) == b"1" {
                *reading.report.skipped.entry("deleted rows").or_default() += 1;
                continue;
            }
            let outcome = take(&row, reading, line);
            reading.settle(line, outcome)?;
        }
        Ok(())
    }
}

/// One row. Absent columns and `NULL` are empty.
struct Row<'r> {
    record: &'r csv::ByteRecord,
    is_escaped: bool,
}

impl<'r> Row<'r> {
    fn get(&self, column: Option<usize>) -> &'r [u8] {
        let field = column.and_then(|column| self.record.get(column)).unwrap_or_default().trim_ascii();
        if field == b"NULL" { b"" } else { field }
    }

    /// A free text, with the escapes of `mysql -B` undone.
    fn text(&self, column: Option<usize>) -> String {
        let text = String::from_utf8_lossy(self.get(column));
        if !self.is_escaped || !text.contains('\\') {
            return text.into_owned();
        }
        let mut plain = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            plain.push(match c {
                '\\' => match chars.next() {
                    Some('t') => '\t',
                    Some('n') => '\n',
                    Some('0') => '\0',
                    Some(other) => other,
                    None => '\\',
                },
                _ => c,
            });
        }
        plain
    }
}

fn table_error(label: &str, error: csv::Error) -> ReadError {
    match error.into_kind() {
        csv::ErrorKind::Io(source) => ReadError::Io { path: label.to_owned(), source },
        kind => format_error(label, 0, format!("no table: {kind:?}"), REMEDY),
    }
}
