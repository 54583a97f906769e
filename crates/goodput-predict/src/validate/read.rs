//! Rows of a CSV file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Read;

use super::fields::{Fields, Refusal};
use super::row::{RunRow, convert};
use super::rules::Rules;
use crate::cluster::Clusters;

/// A file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No CSV.
    #[error("{label}: {source}")]
    Csv {
        /// The file as the user named it.
        label: String,
        /// What is wrong, with its line.
        source: csv::Error,
    },
    /// No column that a run needs.
    #[error(
        "{label}: there is no column `{column}`; RUNS.csv has one run a row, its columns are in docs/validation.md"
    )]
    Column {
        /// The file as the user named it.
        label: String,
        /// The column.
        column: &'static str,
    },
}

/// Every row, as a run or with the reason why it is none, in the file's order.
///
/// Columns may stand in any order; one that is missing counts as empty, and others are passed over. `id`, `n_devices`
/// and `gbs` must be there, so that a file of something else is not taken for one of refused rows. A row whose `id` a row
/// above has is refused: which rows calibrate goes by it.
///
/// # Errors
/// [`ReadError`] where the file is no CSV or has none of a run's columns.
pub fn read(
    label: &str,
    mut input: impl Read,
    rules: &Rules,
    clusters: &Clusters,
) -> Result<Vec<Result<RunRow, Refusal>>, ReadError> {
    let error = |source| ReadError::Csv { label: label.to_owned(), source };
    let mut text = Vec::new();
    input.read_to_end(&mut text).map_err(|source| error(source.into()))?;
    let mut reader = csv::ReaderBuilder::new().flexible(false).from_reader(text.as_slice());
    let columns = reader.headers().map_err(error)?.clone();
    for column in ["id", "n_devices", "gbs"] {
        if !columns.iter().any(|known| known.trim() == column) {
            return Err(ReadError::Column { label: label.to_owned(), column });
        }
    }
    let mut lines: HashMap<String, u64> = HashMap::new();
    reader
        .records()
        .map(|record| {
            let record = record.map_err(error)?;
            // After `\r\n` the reader places a record at the `\n`, which is still the line before.
            let line = record.position().map_or(0, |place| {
                let behind = usize::try_from(place.byte()).is_ok_and(|at| text.get(at) == Some(&b'\n'));
                place.line() + u64::from(behind)
            });
            let named = columns.iter().zip(&record);
            let fields = named.map(|(column, value)| (column.trim().to_owned(), value.to_owned())).collect();
            Ok(convert(Fields::new(line, fields), rules, clusters)
                .and_then(|row| its_own_id(row, line, &mut lines)))
        })
        .collect()
}

/// The row, unless one above it has its `id`; `lines` has those of the rows above.
fn its_own_id(row: RunRow, line: u64, lines: &mut HashMap<String, u64>) -> Result<RunRow, Refusal> {
    match lines.entry(row.id.clone()) {
        Entry::Vacant(free) => {
            free.insert(line);
            Ok(row)
        }
        Entry::Occupied(_) if row.id.is_empty() => Ok(row),
        Entry::Occupied(above) => Err(Refusal {
            line,
            id: row.id.clone(),
            origin: row.source,
            field: "id",
            found: row.id,
            expected: format!("an id that no other row has: line {} has it too", above.get()),
        }),
    }
}
