//! SQLite exports of Nsight Systems (`nsys export --type sqlite`), one trace a process that used a device.
//!
//! The tables are those of the exporter's schema 3.x (docs.nvidia.com/nsight-systems, "SQLite Schema Reference"). Stamps
//! are nanoseconds since the session's start.

mod device;
mod host;
mod process;
mod session;
mod tables;

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use rustc_hash::FxHashMap;

use crate::reading::{Cause, FileReading, FileTraces, Format, ReadError};
use process::Processes;
use tables::Tables;

/// Tables of device work.
const DEVICE_TABLES: [&str; 4] = [
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
];

/// Reads the traces of one export.
///
/// # Errors
/// When the file is no SQLite database, or one of something else. An export without device work gives a trace without any, and the reading says
/// so.
pub fn read(path: &Path) -> Result<FileTraces, ReadError> {
    let refused = |error: rusqlite::Error| ReadError::Format {
        path: path.to_owned(),
        problem: format!(
            "no readable SQLite database ({error}): export the report again with nsys export --type sqlite"
        ),
    };
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(refused)?;
    // SQLite refuses a file that is shorter than its header says, unless told that its schema is being repaired.
    db.pragma_update(None, "writable_schema", true).map_err(refused)?;
    let tables = Tables::of(&db).map_err(refused)?;
    if !export_parts().iter().any(|(table, _)| tables.has(table)) && !tables.has("META_DATA_EXPORT") {
        return Err(ReadError::Format {
            path: path.to_owned(),
            problem:
                "a SQLite database, but no export of Nsight Systems: make one with nsys export --type sqlite"
                    .into(),
        });
    }

    let mut reading = FileReading::new(path, Format::Nsight);
    reading.bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    let mut export = Export {
        base_ns: 0,
        strings: FxHashMap::default(),
        processes: Processes::default(),
        reading,
        tables: &tables,
    };
    // A file cut short is read up to the first damaged page of each table.
    for (table, read) in export_parts() {
        if let Err(error) = read(&mut export) {
            export.reading.truncated = true;
            export.reading.find(Cause::Truncated, 0, || format!("{table}: {error}"));
        }
    }
    Ok(export.finish())
}

/// What is read from an export while it is read.
struct Export<'db> {
    tables: &'db Tables<'db>,
    /// Nanoseconds from 1970 to the session's start, 0 when not known.
    base_ns: i64,
    /// `StringIds`: what names refer to.
    strings: FxHashMap<i64, Box<str>>,
    processes: Processes,
    reading: FileReading,
}

type Part = fn(&mut Export<'_>) -> rusqlite::Result<()>;

/// The tables in the order that they need each other: strings, then device work, then what the hosts did.
fn export_parts() -> [(&'static str, Part); 13] {
    [
        ("TARGET_INFO_SESSION_START_TIME", session::start_time),
        ("StringIds", session::strings),
        ("CUPTI_ACTIVITY_KIND_KERNEL", device::kernels),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", device::copies),
        ("CUPTI_ACTIVITY_KIND_MEMSET", device::fills),
        ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", device::graphs),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", host::calls),
        ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", host::waits),
        ("CUPTI_ACTIVITY_KIND_OVERHEAD", host::cupti_overhead),
        ("PROFILER_OVERHEAD", host::profiler_overhead),
        ("NVTX_EVENTS", host::nvtx),
        ("TARGET_INFO_GPU", session::devices),
        ("PROCESSES", session::identities),
    ]
}

impl Export<'_> {
    /// An interval of a row on the trace's clock, or `None` with the reason counted.
    fn interval(
        &mut self,
        (start, end): (Option<i64>, Option<i64>),
        is_device: bool,
        table: &str,
        row: u64,
    ) -> Option<(i64, i64)> {
        let shown = |stamp: Option<i64>| stamp.map_or_else(|| "none".to_owned(), |stamp| stamp.to_string());
        let example = || format!("{table} row {row}: start {}, end {}", shown(start), shown(end));
        let (start, end) = self.reading.interval(start, end, is_device, row, example)?;
        Some((self.base_ns.saturating_add(start), self.base_ns.saturating_add(end)))
    }

    fn finish(mut self) -> FileTraces {
        if self.reading.device_events == 0 {
            let has_tables = DEVICE_TABLES.iter().any(|table| self.tables.has(table));
            self.reading.find(Cause::NoDeviceWork, 0, || {
                match has_tables {
                    true => "the tables of device work have no row that can be used",
                    false => "the export has no table of device work (CUPTI_ACTIVITY_KIND_KERNEL and others)",
                }
                .into()
            });
        }
        let ranks = self.processes.finish(&self.reading.path, self.base_ns != 0);
        FileTraces { ranks, reading: self.reading }
    }
}
