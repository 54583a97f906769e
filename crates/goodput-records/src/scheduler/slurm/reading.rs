//! What the readers of node, event and reservation records share: lines, instants, node lists, and
//! how a row is refused.

use std::io::{self, BufRead};

use goodput_core::Timestamp;
use goodput_core::records::{FileId, FleetRecords, NodeSet, SourceRef, Symbol};

use super::SlurmOptions;
use super::kind::other_kind;
use super::node_list::NodeLists;
use super::times::{Times, quoted};
use crate::scheduler::all_or_nothing::all_or_nothing;
use crate::{FileReport, ReadError, Treatment};

/// One file while it is read.
pub(super) struct Reading<'a> {
    pub(super) label: &'a str,
    pub(super) options: &'a SlurmOptions,
    pub(super) report: FileReport,
    file: FileId,
    times: Times,
    node_lists: NodeLists,
}

/// What became of a row that is in order.
pub(super) enum Outcome {
    /// Used.
    Used,
    /// None of the reader's business, by word.
    Skipped(&'static str),
}

/// Why a row is not used.
pub(super) enum Fault {
    /// Nothing else in the file can be used either.
    Stop(ReadError),
    /// This row cannot be used.
    Row { field: &'static str, message: String },
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        Self::Stop(error)
    }
}

impl Fault {
    pub(super) fn row(field: &'static str, message: impl Into<String>) -> Self {
        Self::Row { field, message: message.into() }
    }
}

impl<'a> Reading<'a> {
    pub(super) fn new(label: &'a str, file: FileId, options: &'a SlurmOptions) -> Self {
        Self {
            label,
            options,
            report: FileReport::new(label, ""),
            file,
            times: Times::new(options.time_zone.clone()),
            node_lists: NodeLists::default(),
        }
    }

    pub(super) fn source(&self, line: u32) -> SourceRef {
        SourceRef { file: self.file, line }
    }

    /// An error about the whole file.
    pub(super) fn error(&self, line: u32, message: impl Into<String>, remedy: &str) -> ReadError {
        format_error(self.label, line, message, remedy)
    }

    /// The error for a first line that begins no such file: what the file is instead, where that shows.
    pub(super) fn other_file(
        &self,
        number: u32,
        line: &[u8],
        option: &str,
        expected: &str,
        remedy: &str,
    ) -> ReadError {
        match other_kind(line, option) {
            Some((what, to_do)) => self.error(number, what, &to_do),
            None => self.error(number, format!("{} {expected}", shown(line)), remedy),
        }
    }

    /// Counts what became of a row; an error that concerns the whole file stops the reader.
    pub(super) fn settle(&mut self, line: u32, outcome: Result<Outcome, Fault>) -> Result<(), ReadError> {
        match outcome {
            Ok(Outcome::Used) => self.report.used += 1,
            Ok(Outcome::Skipped(word)) => *self.report.skipped.entry(word).or_default() += 1,
            Err(Fault::Stop(error)) => return Err(error),
            Err(Fault::Row { field, message }) => {
                self.report.find(Treatment::Refused, "bad_value", line, field, || {
                    format!("{message}: the row is not used")
                });
            }
        }
        Ok(())
    }

    /// The report, unless every row was refused: then the file is not what it should be.
    pub(super) fn finish(self) -> Result<FileReport, ReadError> {
        let report = self.report;
        match report.findings.iter().find(|finding| finding.treatment == Treatment::Refused) {
            Some(first) if report.refused == report.rows => Err(ReadError::Format {
                path: report.path,
                line: first.line,
                field: first.field.clone(),
                message: format!("none of {} rows can be used; the first: {}", report.rows, first.message),
                remedy: "check that the file is what its name says, and export it again".to_owned(),
            }),
            _ => Ok(report),
        }
    }

    pub(super) fn instant(
        &mut self,
        text: &[u8],
        line: u32,
        field: &'static str,
    ) -> Result<Option<Timestamp>, Fault> {
        self.times.instant(text).map_err(|error| {
            let message = error.to_string();
            if !error.concerns_whole_file() {
                return Fault::Row { field, message };
            }
            Fault::Stop(ReadError::Format {
                path: self.label.to_owned(),
                line,
                field: field.to_owned(),
                message,
                remedy: "name the zone with --time-zone, or export again with SLURM_TIME_FORMAT=%s"
                    .to_owned(),
            })
        })
    }

    pub(super) fn node_set(
        &mut self,
        text: &[u8],
        field: &'static str,
        records: &mut FleetRecords,
    ) -> Result<NodeSet, Fault> {
        self.node_lists
            .set(&String::from_utf8_lossy(text), records)
            .map_err(|error| Fault::row(field, error.to_string()))
    }

    /// The cluster of a record: its own, or the one the user names.
    pub(super) fn cluster(&self, text: &[u8], records: &mut FleetRecords) -> Symbol {
        match text {
            b"" => records.symbols.intern(self.options.cluster.as_deref().unwrap_or_default()),
            _ => records.symbols.intern(&String::from_utf8_lossy(text)),
        }
    }
}

/// The first line of a file that is not blank.
pub(super) struct First {
    pub(super) line: Vec<u8>,
    pub(super) number: u32,
}

/// Reads one file: `read` gets it from its first line that is not blank. A file that fails leaves no records behind.
pub(super) fn read_file<'a>(
    label: &'a str,
    file: FileId,
    input: impl BufRead + 'a,
    options: &'a SlurmOptions,
    remedy: &str,
    records: &mut FleetRecords,
    read: impl FnOnce(&mut Reading<'a>, Lines<'a>, First, &mut FleetRecords) -> Result<(), ReadError>,
) -> Result<FileReport, ReadError> {
    all_or_nothing(records, |records| {
        whole_devices(label, records)?;
        let mut reading = Reading::new(label, file, options);
        let mut lines = Lines::new(label, input)?;
        let mut line = Vec::new();
        let Some(number) = lines.next_filled(&mut line)? else {
            return Err(reading.error(0, "the file is empty (a command that failed writes nothing)", remedy));
        };
        read(&mut reading, lines, First { line, number }, records)?;
        reading.finish()
    })
}

/// Devices of Slurm records are whole: they cannot join records that count thousandths.
pub(super) fn whole_devices(label: &str, records: &FleetRecords) -> Result<(), ReadError> {
    if records.device_unit.per_device() == 1 {
        return Ok(());
    }
    Err(format_error(
        label,
        0,
        "the records so far count thousandths of a device (milli_per_device in a column map), Slurm counts whole ones",
        "account fleets with shared devices on their own",
    ))
}

pub(super) fn format_error(label: &str, line: u32, message: impl Into<String>, remedy: &str) -> ReadError {
    ReadError::Format {
        path: label.to_owned(),
        line,
        field: String::new(),
        message: message.into(),
        remedy: remedy.to_owned(),
    }
}

/// The lines of a file, inflated if it is gzipped, numbered from one.
pub(super) struct Lines<'a> {
    input: Box<dyn BufRead + 'a>,
    label: &'a str,
    number: u32,
}

impl<'a> Lines<'a> {
    fn new(label: &'a str, input: impl BufRead + 'a) -> Result<Self, ReadError> {
        let input = crate::gzip::inflated(input).map_err(|source| io_error(label, source))?;
        Ok(Self { input, label, number: 0 })
    }

    /// Reads the next line into `line`, without its end; its number, or `None` at the end.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> Result<Option<u32>, ReadError> {
        line.clear();
        let read = self.input.read_until(b'\n', line).map_err(|source| io_error(self.label, source))?;
        if read == 0 {
            return Ok(None);
        }
        while let Some(b'\n' | b'\r') = line.last() {
            line.pop();
        }
        self.number = self.number.saturating_add(1);
        Ok(Some(self.number))
    }

    /// The next line that is not blank.
    pub(super) fn next_filled(&mut self, line: &mut Vec<u8>) -> Result<Option<u32>, ReadError> {
        while let Some(number) = self.next(line)? {
            if !line.trim_ascii().is_empty() {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// All that follows.
    pub(super) fn rest(mut self) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        self.input.read_to_end(&mut bytes).map_err(|source| io_error(self.label, source))?;
        Ok(bytes)
    }
}

fn io_error(label: &str, source: io::Error) -> ReadError {
    ReadError::Io { path: label.to_owned(), source }
}

/// Text for a message or a name: bytes that are no UTF-8 replaced.
pub(super) fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// A short, printable form of a field for a message.
pub(super) fn shown(bytes: &[u8]) -> String {
    format!("{:?}", quoted(bytes))
}
