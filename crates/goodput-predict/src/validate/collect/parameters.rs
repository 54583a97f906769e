//! The parameters of one run, asked for by column.

use std::collections::BTreeMap;

use super::catalogue::{Catalogue, Kind, Names, ParameterMap, spelled};

/// Parameters that say different things of one column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{column}: {}", self.values.iter().map(|(name, value)| format!("{name} is {value:?}")).collect::<Vec<_>>().join(", "))]
pub struct Conflict {
    /// The column.
    pub column: String,
    /// Each parameter with its value.
    pub values: Vec<(String, String)>,
}

/// What the parameters say of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stated {
    /// No parameter speaks of it.
    Nothing,
    /// A parameter of that name states that there is none: `None`, `null`.
    None(String),
    /// What stands in the column.
    Value(String),
    /// A value that is none of the column.
    Unknown { name: String, value: String },
}

impl Stated {
    pub fn value(self) -> Option<String> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }
}

/// Parameters by their path.
pub(super) struct Parameters<'a> {
    /// Path, name as logged, value.
    all: Vec<(String, &'a str, &'a str)>,
    map: &'a ParameterMap,
}

impl<'a> Parameters<'a> {
    pub fn new(params: &'a BTreeMap<String, String>, map: &'a ParameterMap) -> Self {
        let catalogue = Catalogue::built_in();
        let all = params.iter().map(|(name, value)| (catalogue.path(name), name.as_str(), value.trim()));
        Self { all: all.collect(), map }
    }

    /// What is said of a column of RUNS.csv.
    pub fn column(&self, column: &str) -> Result<Stated, Conflict> {
        let known = Catalogue::built_in().columns.get(column);
        let mut names = known.cloned().unwrap_or_default();
        if let Some(name) = self.map.columns.get(column) {
            let kind = if known.is_some() { names.kind } else { Kind::Text };
            let values = std::mem::take(&mut names.values);
            names = Names { kind, values, ..Names::default() };
            return self.ask(column, &names, |_, logged| logged == name);
        }
        self.known(column, &names)
    }

    /// What is said of a part of columns.
    pub fn part(&self, part: &str) -> Result<Stated, Conflict> {
        Catalogue::built_in().parts.get(part).map_or(Ok(Stated::Nothing), |names| self.known(part, names))
    }

    fn known(&self, column: &str, names: &Names) -> Result<Stated, Conflict> {
        let catalogue = Catalogue::built_in();
        let first = self.ask(column, names, |path, _| {
            catalogue.matches(path, &names.names) || catalogue.matches(path, &names.inverse)
        })?;
        if first != Stated::Nothing || names.otherwise.is_empty() {
            return Ok(first);
        }
        self.ask(column, names, |path, _| catalogue.matches(path, &names.otherwise))
    }

    /// The one value of all parameters that are asked for.
    fn ask(
        &self,
        column: &str,
        names: &Names,
        asked: impl Fn(&str, &str) -> bool,
    ) -> Result<Stated, Conflict> {
        let catalogue = Catalogue::built_in();
        let mut found: Vec<(&str, &str, String)> = Vec::new();
        let mut other = Stated::Nothing;
        for (path, name, value) in self.all.iter().filter(|(path, name, _)| asked(path, name)) {
            if catalogue.is_none(value) || names.unset.iter().any(|unset| unset == value) {
                if other == Stated::Nothing {
                    other = Stated::None((*name).to_owned());
                }
                continue;
            }
            let inverse = catalogue.matches(path, &names.inverse);
            match self.converted(column, names, value, inverse) {
                Some(converted) => found.push((name, value, converted)),
                None => other = Stated::Unknown { name: (*name).to_owned(), value: (*value).to_owned() },
            }
        }
        let Some((_, _, first)) = found.first() else { return Ok(other) };
        if found.iter().any(|(_, _, value)| value != first) {
            let values =
                found.iter().map(|(name, value, _)| ((*name).to_owned(), (*value).to_owned())).collect();
            return Err(Conflict { column: column.to_owned(), values });
        }
        Ok(Stated::Value(first.clone()))
    }

    fn converted(&self, column: &str, names: &Names, value: &str, inverse: bool) -> Option<String> {
        if let Some(known) = self.map.values.get(column).and_then(|values| values.get(value)) {
            return Some(known.clone());
        }
        match names.kind {
            Kind::Count => {
                let number: u64 = value.strip_suffix(".0").unwrap_or(value).replace('_', "").parse().ok()?;
                Some(number.to_string())
            }
            Kind::Switch => {
                let on = match value.to_ascii_lowercase().as_str() {
                    "true" | "yes" | "on" | "1" => true,
                    "false" | "no" | "off" | "0" => false,
                    _ => return None,
                };
                Some(if on != inverse { "yes" } else { "no" }.to_owned())
            }
            Kind::Word => names.values.get(&spelled(value)).cloned(),
            Kind::Text => Some(value.trim_matches(['\'', '"']).to_owned()),
        }
    }
}
