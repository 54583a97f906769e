//! The columns of one row, each asked for by name and refused by name.

use std::collections::BTreeMap;
use std::str::FromStr;

/// Why a row is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, row {id}, column {field}: found {found:?}, expected {expected}")]
pub struct Refusal {
    /// Line of the file.
    pub line: u64,
    /// The row's `id`; empty where it has none.
    pub id: String,
    /// Where it is from: its `source_key`.
    pub origin: String,
    /// The column.
    pub field: &'static str,
    /// What stands there.
    pub found: String,
    /// What was looked for.
    pub expected: String,
}

/// A value that no column of the file states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assumption {
    /// The column.
    pub column: String,
    /// The value taken.
    pub value: String,
    /// Why, and from where.
    pub because: String,
}

/// A row by column name, and what rules have added to it.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields {
    pub line: u64,
    columns: BTreeMap<String, String>,
    pub assumed: Vec<Assumption>,
}

impl Fields {
    pub fn new(line: u64, columns: BTreeMap<String, String>) -> Self {
        Self { line, columns, assumed: Vec::new() }
    }

    /// What stands in a column; nothing where there is no such column.
    pub fn text(&self, column: &str) -> &str {
        self.columns.get(column).map_or("", |value| value.trim())
    }

    pub fn is_empty(&self, column: &str) -> bool {
        self.text(column).is_empty()
    }

    pub fn assume(&mut self, column: &str, value: &str, because: &str) {
        self.columns.insert(column.to_owned(), value.to_owned());
        self.assumed.push(Assumption {
            column: column.to_owned(),
            value: value.to_owned(),
            because: because.to_owned(),
        });
    }

    pub fn refuse(&self, field: &'static str, expected: impl Into<String>) -> Refusal {
        self.refuse_found(field, self.text(field), expected)
    }

    pub fn refuse_found(
        &self,
        field: &'static str,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Refusal {
        Refusal {
            line: self.line,
            id: self.text("id").to_owned(),
            origin: self.text("source_key").to_owned(),
            field,
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// A number of at least 1.
    pub fn count<T: FromStr + PartialOrd + From<u8>>(&self, column: &'static str) -> Result<T, Refusal> {
        self.optional_count(column)?.ok_or_else(|| self.refuse(column, "a whole number, at least 1"))
    }

    /// The same; none where the column is empty.
    pub fn optional_count<T: FromStr + PartialOrd + From<u8>>(
        &self,
        column: &'static str,
    ) -> Result<Option<T>, Refusal> {
        match self.text(column) {
            "" => Ok(None),
            // Spreadsheets write 48 as 48.0.
            text => match text.strip_suffix(".0").unwrap_or(text).parse() {
                Ok(value) if value >= T::from(1) => Ok(Some(value)),
                _ => Err(self.refuse(column, "a whole number, at least 1")),
            },
        }
    }

    /// A whole number, 0 where the column is empty.
    pub fn whole<T: FromStr + From<u8>>(&self, column: &'static str) -> Result<T, Refusal> {
        match self.text(column) {
            "" => Ok(T::from(0)),
            text => text.parse().map_err(|_| self.refuse(column, "a whole number")),
        }
    }

    /// A number above 0; none where the column is empty.
    pub fn positive(&self, column: &'static str) -> Result<Option<f64>, Refusal> {
        match self.text(column) {
            "" => Ok(None),
            text => match text.parse::<f64>() {
                Ok(value) if value.is_finite() && value > 0.0 => Ok(Some(value)),
                _ => Err(self.refuse(column, "a number above 0")),
            },
        }
    }

    /// Yes or no, with whatever is said after it.
    pub fn switch(&self, column: &'static str) -> Result<bool, Refusal> {
        self.optional_switch(column)?.ok_or_else(|| self.refuse(column, "yes or no"))
    }

    /// The same; none where the column is empty.
    pub fn optional_switch(&self, column: &'static str) -> Result<Option<bool>, Refusal> {
        let text = self.text(column).to_ascii_lowercase();
        match text.split([' ', ',', ';', '(']).next().unwrap_or_default() {
            "" => Ok(None),
            "yes" | "true" | "on" | "1" => Ok(Some(true)),
            "no" | "false" | "off" | "0" | "none" => Ok(Some(false)),
            _ => Err(self.refuse(column, "yes or no")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        let columns = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Fields::new(7, columns.collect())
    }

    #[test]
    fn columns_are_read_as_they_are_written_and_refused_with_their_place() {
        let row = fields(&[
            ("id", "a-1"),
            ("source_key", "a"),
            ("grad_accum", "48.0"),
            ("dp_overlap", "no (launcher)"),
            ("mbs", "0"),
        ]);
        assert_eq!(row.count::<u64>("grad_accum").unwrap(), 48);
        assert_eq!(row.optional_switch("dp_overlap").unwrap(), Some(false));
        assert_eq!(row.optional_switch("sp").unwrap(), None);
        let refusal = row.count::<u64>("mbs").unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "line 7, row a-1, column mbs: found \"0\", expected a whole number, at least 1"
        );
        assert_eq!(row.count::<u64>("pp").unwrap_err().found, "");
        assert!(row.switch("sp").is_err());
    }
}
