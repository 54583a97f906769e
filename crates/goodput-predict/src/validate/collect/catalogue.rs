//! What frameworks call the columns: `data/validate/parameters.yaml`, and a site's own map before it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// Names of parameters and metrics.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Catalogue {
    pub passed_over: Vec<String>,
    pub prefixes: Vec<String>,
    pub none: Vec<String>,
    pub columns: BTreeMap<String, Names>,
    pub parts: BTreeMap<String, Names>,
    pub step_time: Vec<String>,
    pub units: BTreeMap<String, String>,
    pub tokens: Vec<String>,
}

/// The names of one column.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Names {
    pub kind: Kind,
    pub names: Vec<String>,
    #[serde(default)]
    pub inverse: Vec<String>,
    #[serde(default, rename = "else")]
    pub otherwise: Vec<String>,
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    #[serde(default)]
    pub unset: Vec<String>,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A whole number, at least 0.
    Count,
    /// Yes or no.
    Switch,
    /// One of the known words.
    Word,
    /// As it stands.
    #[default]
    Text,
}

impl Catalogue {
    pub fn built_in() -> &'static Self {
        // A test reads the file, so that an empty catalogue is never seen.
        static BUILT_IN: LazyLock<Catalogue> = LazyLock::new(|| {
            serde_saphyr::from_str(include_str!("../../../data/validate/parameters.yaml")).unwrap_or_default()
        });
        &BUILT_IN
    }

    /// A parameter's path in one spelling: lower case, dots between parts, without first words that say nothing.
    pub fn path(&self, name: &str) -> String {
        let path = spelled(name.trim_start_matches('-')).replace('/', ".");
        let mut rest = path.as_str();
        while let Some((first, behind)) = rest.split_once('.')
            && self.prefixes.iter().any(|prefix| prefix == first)
        {
            rest = behind;
        }
        rest.to_owned()
    }

    /// Whether one of the names is the path, or its last parts.
    pub fn matches(&self, path: &str, names: &[String]) -> bool {
        names.iter().any(|name| match name.strip_prefix('=') {
            Some(whole) => path == whole,
            None => match path.strip_suffix(name.as_str()) {
                Some("") => true,
                Some(before) => {
                    before.ends_with('.')
                        && !before.split('.').any(|part| self.passed_over.iter().any(|word| word == part))
                }
                None => false,
            },
        })
    }

    pub fn is_none(&self, value: &str) -> bool {
        self.none.contains(&value.trim().to_ascii_lowercase())
    }
}

/// One spelling of names and words.
pub(super) fn spelled(text: &str) -> String {
    text.trim().to_ascii_lowercase().replace('-', "_")
}

/// A site's own names: MAP.yaml.
///
/// ```
/// use goodput_predict::validate::ParameterMap;
/// let map = ParameterMap::from_yaml("map.yaml", "
/// set: {cluster: DGX H100, pp: 1}
/// columns: {tp: my.tensor_ranks}
/// values: {recompute: {'true': full, 'false': none}}
/// step_time: {metric: perf/step, unit: ms}
/// ")?;
/// # Ok::<(), goodput_predict::validate::RuleError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ParameterMap {
    /// Columns that are the same for every run; a parameter that says otherwise refuses the run.
    pub set: BTreeMap<String, String>,
    /// The parameter of a column, instead of the known names.
    pub columns: BTreeMap<String, String>,
    /// What a column's values stand for.
    pub values: BTreeMap<String, BTreeMap<String, String>>,
    /// Which metric is the step time.
    pub step_time: Option<StepMetric>,
}

/// A metric of step times or of throughput.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepMetric {
    /// Its name, as logged.
    pub metric: String,
    /// `s`, `ms`, `us`, `tokens/s`, `tokens/s/device` or `samples/s`.
    pub unit: String,
}

impl ParameterMap {
    /// Reads a map.
    ///
    /// # Errors
    /// [`RuleError`](crate::validate::RuleError) with the line of what is none, or a column that RUNS.csv does not have.
    pub fn from_yaml(label: &str, text: &str) -> Result<Self, crate::validate::RuleError> {
        let error = |message: String| crate::validate::RuleError { label: label.to_owned(), message };
        let map: Self = serde_saphyr::from_str(text).map_err(|e| error(e.to_string()))?;
        let named = map.set.keys().chain(map.columns.keys()).chain(map.values.keys());
        for column in named {
            if !super::COLUMNS.contains(&column.as_str()) {
                return Err(error(format!("{column}: RUNS.csv has no such column (docs/validation.md)")));
            }
        }
        if let Some(step) = &map.step_time
            && super::metric::Unit::named(&step.unit).is_none()
        {
            let units = "expected s, ms, us, tokens/s, tokens/s/device or samples/s";
            return Err(error(format!("step_time: unit {:?}: {units}", step.unit)));
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_can_be_read_and_speaks_of_known_columns() {
        let text = include_str!("../../../data/validate/parameters.yaml");
        let catalogue: Catalogue = serde_saphyr::from_str(text).unwrap();
        for (column, names) in &catalogue.columns {
            assert!(super::super::COLUMNS.contains(&column.as_str()), "{column}");
            assert_eq!(names.kind == Kind::Word, !names.values.is_empty(), "{column}");
        }
        for names in catalogue.columns.values().chain(catalogue.parts.values()) {
            for name in names.names.iter().chain(&names.otherwise).chain(&names.inverse) {
                let plain = name.trim_start_matches('=');
                assert_eq!(plain, spelled(plain), "{name}");
            }
        }
    }

    #[test]
    fn paths_and_their_last_parts() {
        let catalogue = Catalogue::built_in();
        let names = ["seq_length".to_owned(), "=tp".to_owned()];
        let matches = |name: &str| catalogue.matches(&catalogue.path(name), &names);
        assert!(matches("--seq-length") && matches("args/seq_length") && matches("model.data.seq_length"));
        assert!(matches("TP") && matches("config.tp"));
        assert!(!matches("eval.seq_length") && !matches("my_seq_length") && !matches("other.tp"));
    }

    #[test]
    fn a_map_names_columns_that_exist() {
        let error = |text| ParameterMap::from_yaml("map.yaml", text).unwrap_err().to_string();
        assert!(error("set: {tensor: 8}").contains("tensor"));
        assert!(error("step_time: {metric: a, unit: furlong}").contains("furlong"));
        assert!(error("setz: {tp: 8}").contains("setz"));
    }
}
