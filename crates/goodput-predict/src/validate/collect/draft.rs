//! A row that is being made, and what each column rests on.

use std::collections::BTreeMap;

use super::parameters::{Conflict, Parameters, Stated};
use super::{Derived, Missing};

/// Columns so far. Two sources that differ are a conflict.
pub(super) struct Draft<'a> {
    pub parameters: Parameters<'a>,
    pub columns: BTreeMap<&'static str, String>,
    /// What gave each column.
    origins: BTreeMap<&'static str, String>,
    pub missing: Vec<Missing>,
    pub derived: Vec<Derived>,
    /// The column, what stands there and what was looked for, where all is stated and it still is no run.
    pub refused: Option<(String, String, String)>,
}

impl<'a> Draft<'a> {
    pub fn new(parameters: Parameters<'a>) -> Self {
        let (columns, origins) = (BTreeMap::new(), BTreeMap::new());
        Self { parameters, columns, origins, missing: Vec::new(), derived: Vec::new(), refused: None }
    }

    pub fn has(&self, column: &str) -> bool {
        self.columns.contains_key(column)
    }

    pub fn text(&self, column: &str) -> &str {
        self.columns.get(column).map_or("", String::as_str)
    }

    pub fn number(&self, column: &str) -> Option<u64> {
        self.text(column).parse().ok()
    }

    /// A column as `from` states it.
    pub fn put(
        &mut self,
        column: &'static str,
        value: impl Into<String>,
        from: &str,
    ) -> Result<(), Conflict> {
        let value = value.into();
        if let Some(known) = self.columns.get(column)
            && *known != value
        {
            let origin = self.origins.get(column).cloned().unwrap_or_default();
            let values = vec![(origin, known.clone()), (from.to_owned(), value)];
            return Err(Conflict { column: column.to_owned(), values });
        }
        self.columns.insert(column, value);
        self.origins.entry(column).or_insert_with(|| from.to_owned());
        Ok(())
    }

    /// A column that follows from others, if nothing states it.
    pub fn derive(&mut self, column: &'static str, value: impl Into<String>, because: impl Into<String>) {
        if self.has(column) {
            return;
        }
        let (value, because) = (value.into(), because.into());
        self.derived.push(Derived {
            column: column.to_owned(),
            value: value.clone(),
            because: because.clone(),
        });
        self.columns.insert(column, value);
        self.origins.insert(column, because);
    }

    /// A column that nothing states, unless it is named already.
    pub fn lacks(&mut self, column: &str, found: impl Into<String>, remedy: impl Into<String>) {
        if !self.missing.iter().any(|missing| missing.column == column) {
            self.missing.push(Missing {
                column: column.to_owned(),
                found: found.into(),
                remedy: remedy.into(),
            });
        }
    }

    pub fn part(&self, part: &str) -> Result<Stated, Conflict> {
        self.parameters.part(part)
    }

    /// A part as text; none where nothing or None is stated.
    pub fn part_text(&self, part: &str) -> Result<Option<String>, Conflict> {
        Ok(match self.part(part)? {
            Stated::Value(value) | Stated::Unknown { value, .. } => Some(value),
            Stated::Nothing | Stated::None(_) => None,
        })
    }

    pub fn part_number(&self, part: &str) -> Result<Option<u64>, Conflict> {
        Ok(self.part(part)?.value().and_then(|value| value.parse().ok()))
    }

    /// A switch; none where nothing is stated.
    pub fn part_switch(&self, part: &str) -> Result<Option<bool>, Conflict> {
        Ok(self.part(part)?.value().map(|value| value == "yes"))
    }

    /// Whether a column or part is stated to be none.
    pub fn is_none(&self, stated: Result<Stated, Conflict>) -> bool {
        matches!(stated, Ok(Stated::None(_)))
    }
}
