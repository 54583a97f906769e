//! Rows of a CSV or Parquet table as text.

use std::io::{BufRead, Read};
use std::panic::AssertUnwindSafe;

use bytes::Bytes;
pub use csv::StringRecord;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::record::reader::RowIter;

use crate::ReadError;

const PARQUET_MAGIC: &[u8] = b"PAR1";

/// A table: its header, then row after row.
#[allow(missing_debug_implementations, reason = "readers of the libraries have none")]
pub struct Table<'a> {
    /// `csv` or `parquet`.
    pub format: &'static str,
    /// Names of the columns.
    pub header: Vec<String>,
    rows: Rows<'a>,
    path: String,
}

enum Rows<'a> {
    Csv { reader: Box<csv::Reader<Box<dyn BufRead + 'a>>>, lines_behind: u32 },
    Parquet { rows: Box<RowIter<'static>>, row: u32 },
}

/// Where a row stands, and whether its bytes were mended.
#[derive(Debug, Clone, Copy)]
pub struct Position {
    /// One-based line of a CSV file, one-based row of a Parquet file.
    pub line: u32,
    /// Bytes that are no UTF-8 were replaced.
    pub has_bad_utf8: bool,
}

impl<'a> Table<'a> {
    /// Opens a table, gzipped or not; `path` is what errors call it.
    ///
    /// # Errors
    /// [`ReadError`] where it is no table.
    pub fn open(path: &str, input: impl BufRead + 'a) -> Result<Self, ReadError> {
        let io = |source| ReadError::Io { path: path.to_owned(), source };
        let mut input = crate::gzip::inflated(input).map_err(io)?;
        let mut first = Vec::with_capacity(PARQUET_MAGIC.len());
        (&mut input).take(PARQUET_MAGIC.len() as u64).read_to_end(&mut first).map_err(io)?;
        if first == PARQUET_MAGIC {
            input.read_to_end(&mut first).map_err(io)?;
            return Self::parquet(path, first);
        }
        // A record that ends in CR LF ends at the CR for the library, which counts the next line from the LF on.
        let start = [first.as_slice(), input.fill_buf().map_err(io)?].concat();
        let end = start.iter().position(|byte| *byte == b'\n');
        let lines_behind = u32::from(end.is_some_and(|end| start[..end].ends_with(b"\r")));
        Self::csv(path, Box::new(std::io::Cursor::new(first).chain(input)), lines_behind)
    }

    fn csv(path: &str, input: Box<dyn BufRead + 'a>, lines_behind: u32) -> Result<Self, ReadError> {
        let mut reader = csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(input);
        let header = reader.byte_headers().map_err(|error| csv_error(path, error))?;
        let mut header: Vec<String> =
            header.iter().map(|name| String::from_utf8_lossy(name.trim_ascii()).into_owned()).collect();
        if let Some(first) = header.first_mut() {
            // Spreadsheets begin UTF-8 with a byte-order mark.
            *first = first.trim_start_matches('\u{feff}').to_owned();
        }
        if header.iter().all(String::is_empty) {
            return Err(format_error(
                path,
                "the file is empty".to_owned(),
                "give a CSV file with a header line",
            ));
        }
        let rows = Rows::Csv { reader: Box::new(reader), lines_behind };
        Ok(Self { format: "csv", header, rows, path: path.to_owned() })
    }

    fn parquet(path: &str, bytes: Vec<u8>) -> Result<Self, ReadError> {
        let (header, rows) = contained(path, || {
            let reader = SerializedFileReader::new(Bytes::from(bytes))?;
            let schema = reader.metadata().file_metadata().schema_descr();
            let fields = schema.root_schema().get_fields().iter();
            let header = fields.map(|field| field.name().to_owned()).collect();
            Ok((header, RowIter::from_file_into(Box::new(reader))))
        })?;
        let rows = Rows::Parquet { rows: Box::new(rows), row: 0 };
        Ok(Self { format: "parquet", header, rows, path: path.to_owned() })
    }

    /// Position of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// Reads the next row into `row`; `None` at the end.
    ///
    /// # Errors
    /// [`ReadError`] where the rest cannot be read.
    pub fn next(&mut self, row: &mut StringRecord) -> Result<Option<Position>, ReadError> {
        match &mut self.rows {
            Rows::Csv { reader, lines_behind } => {
                let mut bytes = std::mem::take(row).into_byte_record();
                if !reader.read_byte_record(&mut bytes).map_err(|error| csv_error(&self.path, error))? {
                    return Ok(None);
                }
                let line = bytes.position().map_or(0, csv::Position::line) + u64::from(*lines_behind);
                let line = u32::try_from(line).unwrap_or(u32::MAX);
                let read = StringRecord::from_byte_record(bytes);
                let has_bad_utf8 = read.is_err();
                *row = read
                    .unwrap_or_else(|error| StringRecord::from_byte_record_lossy(error.into_byte_record()));
                Ok(Some(Position { line, has_bad_utf8 }))
            }
            Rows::Parquet { rows, row: index } => {
                let Some(next) = contained(&self.path, || rows.next().transpose())? else { return Ok(None) };
                *index = index.saturating_add(1);
                row.clear();
                for (_, field) in next.get_column_iter() {
                    push(row, field);
                }
                Ok(Some(Position { line: *index, has_bad_utf8: false }))
            }
        }
    }
}

fn push(row: &mut StringRecord, field: &Field) {
    let instant = |ns: Option<i128>| {
        ns.and_then(|ns| jiff::Timestamp::from_nanosecond(ns).ok()).map(|t| t.to_string()).unwrap_or_default()
    };
    match field {
        Field::Null => row.push_field(""),
        Field::Str(text) => row.push_field(text.trim()),
        Field::TimestampMillis(ms) => row.push_field(&instant(i128::from(*ms).checked_mul(1_000_000))),
        Field::TimestampMicros(us) => row.push_field(&instant(i128::from(*us).checked_mul(1_000))),
        other => row.push_field(&other.to_string()),
    }
}

fn csv_error(path: &str, error: csv::Error) -> ReadError {
    let line = error.position().map_or(0, |p| u32::try_from(p.line()).unwrap_or(u32::MAX));
    match error.into_kind() {
        csv::ErrorKind::Io(source) => ReadError::Io { path: path.to_owned(), source },
        kind => ReadError::Format {
            path: path.to_owned(),
            line,
            field: String::new(),
            message: format!("no CSV: {kind:?}"),
            remedy: "give a CSV file with a header line".to_owned(),
        },
    }
}

/// Runs a step of the Parquet library, which panics on some damaged files instead of answering. What
/// it worked on is dropped with the error and not used again.
fn contained<T>(path: &str, step: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ReadError> {
    let message = match std::panic::catch_unwind(AssertUnwindSafe(step)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(error)) => format!("unreadable Parquet: {error}"),
        Err(_) => "damaged Parquet".to_owned(),
    };
    let remedy = "write the file again, uncompressed or with Snappy or Zstandard";
    Err(format_error(path, message, remedy))
}

fn format_error(path: &str, message: String, remedy: &str) -> ReadError {
    ReadError::Format {
        path: path.to_owned(),
        line: 0,
        field: String::new(),
        message,
        remedy: remedy.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("a,b\n1,2\n3,4\n")]
    #[case("a,b\r\n1,2\r\n3,4\r\n")]
    #[case("\u{feff}a,b\r\n1,2\r\n3,4")]
    fn lines_are_counted_as_an_editor_does(#[case] text: &str) {
        let mut table = Table::open("t.csv", text.as_bytes()).unwrap();
        assert_eq!(table.header, ["a", "b"]);
        let mut row = StringRecord::new();
        let mut lines = Vec::new();
        while let Some(position) = table.next(&mut row).unwrap() {
            lines.push((position.line, row[0].to_owned()));
        }
        assert_eq!(lines, [(2, "1".to_owned()), (3, "3".to_owned())]);
    }
}
