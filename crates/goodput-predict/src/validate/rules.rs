//! What a source leaves out of its rows, or states otherwise than it was: `data/validate/rules.yaml`, and a site's own.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::fields::Fields;

/// Rules, applied in order: the first that gives a column its value counts.
///
/// A rule's `set` fills columns that are empty; its `correct` replaces what stands there. `when` compares columns with
/// texts, in which `*` at the start or end stands for anything; an empty text asks for an empty column.
///
/// ```
/// use goodput_predict::validate::Rules;
/// let ours = Rules::built_in().preceded_by("ours.yaml", "
/// rules:
///   - when: {source_key: our-mlflow}
///     set: {cluster: p5.48xlarge, dropout: 'no'}
///     because: all our runs are on one cluster
/// ")?;
/// # Ok::<(), goodput_predict::validate::RuleError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    rules: Vec<Rule>,
}

/// A file of rules that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{label}: {message}")]
pub struct RuleError {
    /// The file as the user named it.
    pub label: String,
    /// What is wrong, with its line.
    pub message: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[serde(default)]
    when: BTreeMap<String, String>,
    #[serde(default)]
    set: BTreeMap<String, String>,
    #[serde(default)]
    correct: BTreeMap<String, String>,
    because: String,
}

impl Rules {
    /// Those of `data/validate/rules.yaml`: the sources that are known, and last what is taken where nobody says.
    #[must_use]
    pub fn built_in() -> &'static Self {
        // A test reads the file, so that no rules are never seen.
        static BUILT_IN: LazyLock<Rules> = LazyLock::new(|| {
            let text = include_str!("../../data/validate/rules.yaml");
            parse("rules.yaml", text).map_or_else(|_| Rules::default(), |rules| Rules { rules })
        });
        &BUILT_IN
    }

    /// The rules of a file, and after them these.
    ///
    /// # Errors
    /// [`RuleError`] with the line of what is no rule.
    pub fn preceded_by(&self, label: &str, text: &str) -> Result<Self, RuleError> {
        let mut rules = parse(label, text)?;
        rules.extend(self.rules.iter().cloned());
        Ok(Self { rules })
    }

    pub(super) fn apply(&self, row: &mut Fields) {
        for rule in &self.rules {
            if !rule.when.iter().all(|(column, pattern)| matches(row.text(column), pattern)) {
                continue;
            }
            for (column, value) in &rule.correct {
                if row.text(column) != value && !row.assumed.iter().any(|known| known.column == *column) {
                    row.assume(column, value, &rule.because);
                }
            }
            for (column, value) in &rule.set {
                if row.is_empty(column) {
                    row.assume(column, value, &rule.because);
                }
            }
        }
    }
}

fn parse(label: &str, text: &str) -> Result<Vec<Rule>, RuleError> {
    let file: Result<File, _> = serde_saphyr::from_str(text);
    file.map(|file| file.rules)
        .map_err(|error| RuleError { label: label.to_owned(), message: error.to_string() })
}

fn matches(text: &str, pattern: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(_), Some(_)) => text.contains(pattern.trim_matches('*')),
        (Some(end), None) => text.ends_with(end),
        (None, Some(start)) => text.starts_with(start),
        (None, None) => text == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pairs: &[(&str, &str)]) -> Fields {
        let columns = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Fields::new(1, columns.collect())
    }

    #[test]
    fn the_first_rule_that_speaks_of_a_column_counts_and_says_why() {
        let text = "
rules:
  - when: {source_key: 'a*', cp: ''}
    set: {cp: '2', dropout: 'no'}
    because: first
  - set: {cp: '4', sp: 'no'}
    correct: {mbs: '8', gbs: '1'}
    because: second
";
        let rules = Rules::default().preceded_by("test", text).unwrap();
        let mut found = row(&[("source_key", "abc"), ("sp", "yes"), ("mbs", "1"), ("gbs", "1")]);
        rules.apply(&mut found);
        assert_eq!(["cp", "dropout", "sp", "mbs"].map(|column| found.text(column)), ["2", "no", "yes", "8"]);
        let why: Vec<_> =
            found.assumed.iter().map(|known| (known.column.as_str(), known.because.as_str())).collect();
        assert_eq!(why, [("cp", "first"), ("dropout", "first"), ("mbs", "second")]);
    }

    #[test]
    fn patterns() {
        assert!(matches("mlperf-v5.0", "mlperf-*") && matches("a b", "*b") && matches("abc", "*b*"));
        assert!(!matches("x", "") && matches("", "") && matches("", "*") && !matches("ab", "a"));
    }

    #[test]
    fn the_built_in_rules_can_be_read_and_a_bad_file_is_refused_with_its_line() {
        parse("rules.yaml", include_str!("../../data/validate/rules.yaml")).unwrap();
        assert!(Rules::built_in().rules.len() > 10);
        let error = Rules::default().preceded_by("ours", "rules:\n  - wenn: {}\n").unwrap_err();
        assert!(error.to_string().contains("ours") && error.to_string().contains("wenn"), "{error}");
    }
}
