//! A flat Parquet table, written a row group at a time so that memory is bounded.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

/// Rows of one group: enough to compress well, some tens of megabytes at most.
const GROUP_ROWS: usize = 128 << 10;

/// One field of a row. Texts are shared, since a trace repeats few of them.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    Integer(Option<i64>),
    Text(Option<ByteArray>),
}

/// A table of optional `INT64` and `STRING` columns.
pub(super) struct Table<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    columns: Vec<Column>,
}

enum Column {
    Integers(Values<i64>),
    Texts(Values<ByteArray>),
}

/// Values that are there, and for each row whether one is.
struct Values<T> {
    values: Vec<T>,
    levels: Vec<i16>,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Integer,
    Text,
}

impl<W: Write + Send> Table<W> {
    /// A table of these columns.
    pub fn new(out: W, columns: &[(&str, Type)]) -> io::Result<Self> {
        let fields: String = columns
            .iter()
            .map(|(name, kind)| match kind {
                Type::Integer => format!("OPTIONAL INT64 {name};\n"),
                Type::Text => format!("OPTIONAL BYTE_ARRAY {name} (STRING);\n"),
            })
            .collect();
        let schema = parse_message_type(&format!("message trace {{ {fields} }}")).map_err(as_io)?;
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties)).map_err(as_io)?;
        let columns = columns
            .iter()
            .map(|(_, kind)| match kind {
                Type::Integer => Column::Integers(Values::default()),
                Type::Text => Column::Texts(Values::default()),
            })
            .collect();
        Ok(Self { writer, columns })
    }

    /// Adds a row: a field for each column, of its type.
    pub fn push<const N: usize>(&mut self, row: [Cell; N]) -> io::Result<()> {
        for (column, cell) in self.columns.iter_mut().zip(row) {
            match (column, cell) {
                (Column::Integers(values), Cell::Integer(value)) => values.push(value),
                (Column::Texts(values), Cell::Text(value)) => values.push(value),
                (Column::Integers(values), Cell::Text(_)) => values.push(None),
                (Column::Texts(values), Cell::Integer(_)) => values.push(None),
            }
        }
        if self.rows() >= GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Writes what is left and the footer.
    pub fn close(mut self) -> io::Result<()> {
        if self.rows() > 0 {
            self.flush()?;
        }
        self.writer.close().map(|_| ()).map_err(as_io)
    }

    fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| match column {
            Column::Integers(values) => values.levels.len(),
            Column::Texts(values) => values.levels.len(),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(as_io)?;
        for column in &mut self.columns {
            column.write(&mut group).map_err(as_io)?;
        }
        group.close().map(|_| ()).map_err(as_io)
    }
}

impl Column {
    fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError> {
        let Some(mut writer) = group.next_column()? else { return Ok(()) };
        match self {
            Self::Integers(Values { values, levels }) => {
                writer.typed::<Int64Type>().write_batch(values, Some(levels), None)?;
                (*values, *levels) = Default::default();
            }
            Self::Texts(Values { values, levels }) => {
                writer.typed::<ByteArrayType>().write_batch(values, Some(levels), None)?;
                (*values, *levels) = Default::default();
            }
        }
        writer.close()
    }
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self { values: Vec::new(), levels: Vec::new() }
    }
}

impl<T> Values<T> {
    fn push(&mut self, value: Option<T>) {
        self.levels.push(value.is_some().into());
        self.values.extend(value);
    }
}

fn as_io(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
