//! Tables of an export: any may be missing, carry a version in its name, or lack columns.

use std::borrow::Cow;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result, Row};
use rustc_hash::FxHashMap;

/// The tables of a database with their columns.
pub(super) struct Tables<'db> {
    db: &'db Connection,
    columns: FxHashMap<String, Vec<String>>,
}

impl<'db> Tables<'db> {
    /// Lists the tables.
    pub fn of(db: &'db Connection) -> Result<Self> {
        let mut columns: FxHashMap<String, Vec<String>> = FxHashMap::default();
        let mut listed = db.prepare(
            "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c \
             WHERE t.type IN ('table', 'view')",
        )?;
        let mut rows = listed.query([])?;
        while let Some(row) = rows.next()? {
            columns.entry(row.get(0)?).or_default().push(row.get(1)?);
        }
        Ok(Self { db, columns })
    }

    /// Whether there is a table of this name, whatever its version.
    pub fn has(&self, name: &str) -> bool {
        !self.versions(name).is_empty()
    }

    /// Calls `each` with every row, numbered from 1, of the newest version of a table that has rows. Columns that
    /// the table lacks are NULL.
    ///
    /// # Errors
    /// When the file is damaged; rows before the damage have been seen.
    pub fn rows(&self, name: &str, columns: &[&str], mut each: impl FnMut(u64, Cells<'_>)) -> Result<()> {
        for table in self.versions(name) {
            let has = &self.columns[table];
            let selected: Vec<String> = columns
                .iter()
                .map(|column| match has.iter().find(|known| known.eq_ignore_ascii_case(column)) {
                    Some(known) => quoted(known),
                    None => "NULL".to_owned(),
                })
                .collect();
            let mut query =
                self.db.prepare(&format!("SELECT {} FROM {}", selected.join(", "), quoted(table)))?;
            let mut rows = query.query([])?;
            let mut number = 0;
            while let Some(row) = rows.next()? {
                number += 1;
                each(number, Cells(row));
            }
            if number > 0 {
                break;
            }
        }
        Ok(())
    }

    /// Tables `NAME`, `NAME_V2`, `NAME_V3`, …, the newest first.
    fn versions(&self, name: &str) -> Vec<&str> {
        let mut found: Vec<(u32, &str)> = self
            .columns
            .keys()
            .filter_map(|table| {
                let version = match table.strip_prefix(name)? {
                    "" => 1,
                    suffix => suffix.strip_prefix("_V")?.parse().ok()?,
                };
                Some((version, table.as_str()))
            })
            .collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.into_iter().map(|(_, table)| table).collect()
    }
}

fn quoted(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

/// One row. SQLite's columns have no fixed type: what is no whole number or no text is taken as missing.
pub(super) struct Cells<'row>(&'row Row<'row>);

impl<'row> Cells<'row> {
    /// A whole number, also one that stands as text.
    pub fn integer(&self, column: usize) -> Option<i64> {
        match self.0.get_ref(column).ok()? {
            ValueRef::Integer(value) => Some(value),
            ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
            _ => None,
        }
    }

    /// A whole number that is not negative.
    pub fn unsigned(&self, column: usize) -> Option<u64> {
        self.integer(column).and_then(|value| value.try_into().ok())
    }

    /// A text; bytes that are no UTF-8 are replaced.
    pub fn text(&self, column: usize) -> Option<Cow<'row, str>> {
        match self.0.get_ref(column).ok()? {
            ValueRef::Text(text) => Some(String::from_utf8_lossy(text)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_table_with_rows_is_read_and_absent_columns_are_null() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(
            "CREATE TABLE K (start INTEGER, name TEXT); INSERT INTO K VALUES (1, 'old');
             CREATE TABLE K_V2 (\"START\", name, extra); INSERT INTO K_V2 VALUES ('2', x'ff', 1.5), (NULL, 'b', -1);
             CREATE TABLE K_V10 (start INTEGER);
             CREATE TABLE K_VIEW (start INTEGER); INSERT INTO K_VIEW VALUES (7);",
        )
        .unwrap();
        let tables = Tables::of(&db).unwrap();
        let mut seen = Vec::new();
        tables
            .rows("K", &["start", "name", "extra", "absent"], |number, row| {
                let text = row.text(1).map(Cow::into_owned);
                seen.push((number, row.integer(0), text, row.integer(2), row.unsigned(2), row.integer(3)));
            })
            .unwrap();
        let expected =
            [(1, Some(2), None, None, None, None), (2, None, Some("b".to_owned()), Some(-1), None, None)];
        assert_eq!(seen, expected);
        assert!(tables.has("K") && !tables.has("KERNEL"));
        tables.rows("KERNEL", &["start"], |_, _| unreachable!()).unwrap();
    }
}
