//! A calibration file: a YAML head between two lines of `---`, then the rows as CSV. Text, so that two can be compared line by
//! line.

use std::collections::BTreeMap;
use std::io::Write;

use goodput_model::device::{Catalogue, UnknownDevice};
use serde::{Deserialize, Serialize};

use super::columns::{COLUMNS, ColumnError, Columns};
use super::sustained::Sustained;
use super::write::cells;
use super::{Calibration, Collector};

/// What the head of a file says that this version reads.
pub const SCHEMA: &str = "goodput.measured-tables/1";

/// The line before and after the head.
const FENCE: &str = "---";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    schema: String,
    device: String,
    #[serde(default)]
    software: Vec<String>,
    #[serde(default)]
    conditions: Vec<String>,
    sustained: Option<SustainedHead>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SustainedHead {
    time_over_burst: Vec<(f64, f64)>,
    deviation: f64,
    pairs: usize,
}

/// Why a calibration file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// No head.
    #[error(
        "{0}:1: no calibration: the first line is not `---`; make one of your tables with `goodput calibrate TABLE -o FILE`"
    )]
    NoHead(String),
    /// A head that cannot be.
    #[error("{label}: head: {message}")]
    Head {
        /// The file as the user named it.
        label: String,
        /// What is wrong.
        message: String,
    },
    /// Of another version.
    #[error("{label}:2: schema is {found:?}, this program reads {SCHEMA}; make it again from its tables")]
    Schema {
        /// The file as the user named it.
        label: String,
        /// What it says.
        found: String,
    },
    /// The device is not known.
    #[error("{label}: device: {source}")]
    Device {
        /// The file as the user named it.
        label: String,
        /// Why.
        source: UnknownDevice,
    },
    /// No columns.
    #[error("{label}: {source}")]
    Columns {
        /// The file as the user named it.
        label: String,
        /// Which.
        source: ColumnError,
    },
    /// A row.
    #[error("{label}:{line}{}: {message}", in_field(.field))]
    Row {
        /// The file as the user named it.
        label: String,
        /// One-based line.
        line: u64,
        /// The column, empty for the whole row.
        field: &'static str,
        /// What is wrong.
        message: String,
    },
}

fn in_field(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(", field {name}") }
}

/// Whether a text is a calibration file rather than a table.
#[must_use]
pub fn is_calibration(text: &[u8]) -> bool {
    text.strip_prefix(FENCE.as_bytes()).is_some_and(|rest| matches!(rest.first(), Some(b'\n' | b'\r')))
}

impl Calibration {
    /// Writes it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, mut out: impl Write) -> std::io::Result<()> {
        let head = Head {
            schema: SCHEMA.to_owned(),
            device: self.device.clone(),
            software: self.software.clone(),
            conditions: self.conditions.clone(),
            sustained: self.sustained.as_ref().map(|sustained| SustainedHead {
                time_over_burst: sustained.time_over_burst.clone(),
                deviation: sustained.deviation,
                pairs: sustained.pairs,
            }),
        };
        let head = serde_saphyr::to_string(&head).map_err(std::io::Error::other)?;
        writeln!(out, "{FENCE}\n{}\n{FENCE}", head.trim_end())?;
        // The device stands in the head alone, and so do software and conditions.
        let written = |name: &str| !matches!(name, "device" | "software" | "conditions");
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(COLUMNS.iter().filter(|name| written(name)))?;
        for row in &self.rows {
            let cells = cells(row);
            csv.write_record(
                cells.iter().zip(COLUMNS).filter(|(_, name)| written(name)).map(|(cell, _)| cell),
            )?;
        }
        csv.flush()
    }

    /// Reads one. Every row must be sound: the file is the program's own.
    ///
    /// # Errors
    /// [`FileError`] names line and column.
    pub fn read(label: &str, text: &str) -> Result<Self, FileError> {
        let text = text.trim_start_matches('\u{feff}');
        if !is_calibration(text.as_bytes()) {
            return Err(FileError::NoHead(label.to_owned()));
        }
        let wrong = |message: String| FileError::Head { label: label.to_owned(), message };
        let body = text.split_once('\n').map_or("", |(_, body)| body);
        let mut end = 0;
        let mut lines = 1;
        let mut found = false;
        for line in body.split_inclusive('\n') {
            lines += 1;
            end += line.len();
            if line.trim_end() == FENCE {
                found = true;
                break;
            }
        }
        if !found {
            return Err(wrong("it has no end: a line of `---` before the rows".to_owned()));
        }
        let (head, rows) = body.split_at(end);
        let head = head.trim_end().trim_end_matches(FENCE);
        let version: BTreeMap<String, serde_json::Value> =
            serde_saphyr::from_str(head).map_err(|error| wrong(error.to_string()))?;
        let schema = version.get("schema").and_then(|word| word.as_str()).unwrap_or("absent");
        if schema != SCHEMA {
            return Err(FileError::Schema { label: label.to_owned(), found: schema.to_owned() });
        }
        let head: Head = serde_saphyr::from_str(head).map_err(|error| wrong(error.to_string()))?;
        let device = Catalogue::built_in()
            .find(&head.device)
            .map_err(|source| FileError::Device { label: label.to_owned(), source })?;
        let mut collector = Collector::new(device);
        read_rows(label, rows, lines, &mut collector)?;
        let mut calibration = collector.finish();
        // What the head says counts, as long as it can be: a person may have measured the factor otherwise.
        if let Some(stated) = head.sustained {
            let positive = |value: f64| value.is_finite() && value > 0.0;
            let points = &stated.time_over_burst;
            let sound = !points.is_empty()
                && points.iter().all(|(work, ratio)| positive(*work) && positive(*ratio))
                && points.is_sorted_by(|one, other| one.0 < other.0)
                && (0.0..1.0).contains(&stated.deviation);
            if !sound {
                return Err(wrong(
                    "sustained: needs points of work (TFLOP, ascending) and ratio, all above 0, and a deviation below 1"
                        .to_owned(),
                ));
            }
            calibration.sustained = Some(Sustained {
                time_over_burst: stated.time_over_burst,
                deviation: stated.deviation,
                pairs: stated.pairs,
            });
        }
        calibration.software = head.software;
        calibration.conditions = head.conditions;
        Ok(calibration)
    }
}

fn read_rows(label: &str, rows: &str, lines_before: u64, collector: &mut Collector) -> Result<(), FileError> {
    let row_error = |line, field, message| FileError::Row { label: label.to_owned(), line, field, message };
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(rows.as_bytes());
    let header = reader.headers().map_err(|error| row_error(lines_before + 1, "", error.to_string()))?;
    let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    let device = BTreeMap::from([("device".to_owned(), String::new())]);
    let columns = Columns::new(&header, &BTreeMap::new(), &device)
        .map_err(|source| FileError::Columns { label: label.to_owned(), source })?;
    for record in reader.records() {
        let record = record.map_err(|error| {
            let line = error.position().map_or(0, csv::Position::line);
            row_error(lines_before + line, "", error.to_string())
        })?;
        let line = lines_before + record.position().map_or(0, csv::Position::line);
        if record.len() != header.len() {
            let message = format!("{} fields, the header has {}", record.len(), header.len());
            return Err(row_error(line, "", message));
        }
        let cells = columns.row(|at| record.get(at).unwrap_or(""));
        let read = cells.read().map_err(|bad| row_error(line, bad.field, bad.message))?;
        collector.add(&read.timed).map_err(|why| row_error(line, "time_us", why))?;
    }
    Ok(())
}
