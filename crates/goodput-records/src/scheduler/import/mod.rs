//! Tables of any other source, as CSV or Parquet, with a [map](ImportMap) of what their columns mean:
//! jobs become attempts, series become pool samples, node lists the inventory.

mod jobs;
mod map;
mod nodes;
mod series;
mod times;

use std::io::BufRead;

use csv::StringRecord;
use goodput_core::records::{FileId, FleetRecords};

pub use map::{ImportMap, JobColumns, NodeColumns, PoolName, SeriesColumns};
pub use times::TimeFormat;

use times::Instants;

use crate::scheduler::all_or_nothing::all_or_nothing;
use crate::table::{Position, Table};
use crate::{FileReport, ReadError, Treatment};

/// Reads a CSV (gzipped or not) or Parquet table into `records`, with the first section of the map
/// whose columns the table has.
///
/// ```
/// use goodput_core::records::{FileId, FleetRecords};
/// use goodput_records::scheduler::import::{ImportMap, read_import};
/// let map = ImportMap::from_yaml("map.yaml", "
/// time: epoch_seconds
/// jobs: {job: id, submit: submitted, start: began, end: ended, devices: gpus}
/// ")?;
/// let table = "id,submitted,began,ended,gpus\n7,100,160,400,16\n";
/// let mut records = FleetRecords::new();
/// let report = read_import("jobs.csv", FileId(0), table.as_bytes(), &map, &mut records)?;
/// assert_eq!((report.used, records.attempts[0].devices), (1, 16));
/// # Ok::<(), goodput_records::ReadError>(())
/// ```
///
/// # Errors
/// [`ReadError`] when the file cannot be read, is neither CSV nor Parquet, or has not the columns of
/// any section of the map.
pub fn read_import<'a>(
    label: &str,
    file: FileId,
    input: impl BufRead + 'a,
    map: &ImportMap,
    records: &mut FleetRecords,
) -> Result<FileReport, ReadError> {
    all_or_nothing(records, |records| read_all(label, file, input, map, records))
}

fn read_all<'a>(
    label: &str,
    file: FileId,
    input: impl BufRead + 'a,
    map: &ImportMap,
    records: &mut FleetRecords,
) -> Result<FileReport, ReadError> {
    let table = Table::open(label, input)?;
    let mut absent = Vec::new();
    let mut fits = |section: &str, columns: Vec<&str>| {
        let missing: Vec<_> = columns.into_iter().filter(|c| table.column(c).is_none()).collect();
        if missing.is_empty() {
            return true;
        }
        absent.push(format!("{section} needs {}", missing.join(", ")));
        false
    };
    if let Some(columns) = map.jobs.as_ref().filter(|c| fits("jobs", c.names())) {
        return jobs::read(Reading::new(label, file, table, map), columns, records);
    }
    if let Some(columns) = map.series.as_ref().filter(|c| fits("series", c.names())) {
        return series::read(Reading::new(label, file, table, map), columns, records);
    }
    if let Some(columns) = map.nodes.as_ref().filter(|c| fits("nodes", c.names())) {
        return nodes::read(Reading::new(label, file, table, map), columns, records);
    }
    Err(ReadError::Format {
        path: label.to_owned(),
        line: 1,
        field: String::new(),
        message: format!(
            "columns are missing: {}; the table has {}",
            absent.join("; "),
            table.header.join(", ")
        ),
        remedy: "name the table's own columns in the map".to_owned(),
    })
}

/// One table while it is read.
struct Reading<'a> {
    label: &'a str,
    file: FileId,
    table: Table<'a>,
    map: &'a ImportMap,
    instants: Instants,
    report: FileReport,
}

/// A row that cannot be used: which field, and why.
struct Refusal {
    field: String,
    message: String,
}

impl<'a> Reading<'a> {
    fn new<'b: 'a>(label: &'a str, file: FileId, table: Table<'b>, map: &'a ImportMap) -> Self {
        let report = FileReport::new(label, table.format);
        let instants = Instants::new(map.time, map.time_zone.clone());
        Self { label, file, table, map, instants, report }
    }

    /// Hands every whole row to `take` and counts what became of it.
    fn rows(
        mut self,
        mut take: impl FnMut(&mut Self, &StringRecord, u32) -> Result<(), Refusal>,
    ) -> Result<FileReport, ReadError> {
        let mut row = StringRecord::new();
        while let Some(Position { line, has_bad_utf8 }) = self.table.next(&mut row)? {
            self.report.rows += 1;
            let columns = self.table.header.len();
            if row.len() != columns {
                self.report.find(Treatment::Refused, "column_count", line, "", || {
                    format!("{} fields, the header has {columns}: the row is not used", row.len())
                });
                continue;
            }
            match take(&mut self, &row, line) {
                Ok(()) => {
                    self.report.used += 1;
                    if has_bad_utf8 {
                        self.report.find(Treatment::Repaired, "bad_utf8", line, "", || {
                            "bytes that are no UTF-8 were replaced".to_owned()
                        });
                    }
                }
                Err(Refusal { field, message }) => {
                    self.report.find(Treatment::Refused, "bad_value", line, &field, || {
                        format!("{message}: the row is not used")
                    });
                }
            }
        }
        Ok(self.report)
    }

    /// The cell of a mapped column; `None` when it is empty or a word for "no value".
    fn cell<'r>(&self, row: &'r StringRecord, column: Option<usize>) -> Option<&'r str> {
        let cell = row.get(column?)?;
        (!cell.is_empty() && !self.map.missing.iter().any(|word| word == cell)).then_some(cell)
    }

    fn instant(
        &mut self,
        row: &StringRecord,
        column: usize,
    ) -> Result<Option<goodput_core::Timestamp>, Refusal> {
        let Some(cell) = self.cell(row, Some(column)) else { return Ok(None) };
        self.instants.read(cell).map(Some).map_err(|message| self.refusal(column, message))
    }

    fn count(&self, row: &StringRecord, column: usize) -> Result<u64, Refusal> {
        let cell = row.get(column).unwrap_or_default();
        crate::decimal::whole(cell.as_bytes())
            .ok_or_else(|| self.refusal(column, format!("{cell:?} is no whole count")))
    }

    fn refusal(&self, column: usize, message: String) -> Refusal {
        Refusal { field: self.table.header.get(column).cloned().unwrap_or_default(), message }
    }

    /// Position of a column that `read_import` has found in the header.
    fn column(&self, name: &str) -> usize {
        self.table.column(name).unwrap_or(usize::MAX)
    }

    fn optional(&self, name: &Option<String>) -> Option<usize> {
        self.table.column(name.as_deref()?)
    }
}
