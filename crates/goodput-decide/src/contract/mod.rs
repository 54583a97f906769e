//! The measurement contract: the conditions under which a figure was measured. Two figures differ only by the change under
//! test where their contracts agree.
//!
//! A contract is a table of conditions. Each is known from the records or stated in a YAML file; a statement that
//! contradicts the records is refused.

mod condition;
mod file;
pub mod products;

pub use condition::{CONDITIONS, Condition, Touches, condition};

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a condition is known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// The records that the report was made from.
    #[serde(rename = "records")]
    Records,
    /// The contract file.
    #[serde(rename = "stated")]
    Stated,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Records => "from records",
            Self::Stated => "stated",
        })
    }
}

/// A known condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its value, as a person wrote it or the records say it.
    pub value: String,
    /// Where it is known from.
    pub source: Source,
}

/// The conditions that are known of a measurement, by key (`workload.model`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contract {
    known: BTreeMap<&'static str, Known>,
}

/// Why a contract is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ContractError {
    /// Not YAML, or not a table of conditions.
    #[error("{label}: {why}")]
    Malformed {
        /// The file.
        label: String,
        /// What the parser says.
        why: String,
    },
    /// A key that names no condition.
    #[error("{label}: no condition is named `{key}`; the nearest is `{nearest}`")]
    UnknownKey {
        /// The file.
        label: String,
        /// The key.
        key: String,
        /// The nearest known key.
        nearest: &'static str,
    },
    /// A value of the wrong kind.
    #[error("{label}: `{key}` is {found}, expected {expected}")]
    BadValue {
        /// The file.
        label: String,
        /// The key.
        key: &'static str,
        /// The value.
        found: String,
        /// What is needed.
        expected: &'static str,
    },
    /// A statement against the records.
    #[error(
        "{label}: `{key}` is stated as {stated}, and the records say {recorded}: records are never overruled by a statement; correct the statement, or account the records that it is about"
    )]
    Contradicts {
        /// The file.
        label: String,
        /// The key.
        key: &'static str,
        /// What is stated.
        stated: String,
        /// What the records say.
        recorded: String,
    },
}

/// One condition that two measurements do not share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The condition.
    pub condition: &'static Condition,
    /// Before; `None` where it is not known.
    pub before: Option<Known>,
    /// After; `None` where it is not known.
    pub after: Option<Known>,
}

impl Contract {
    /// The contract of conditions that the records give.
    pub fn from_records<'a>(conditions: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        Self::known(conditions, Source::Records)
    }

    /// The contract of conditions that a person states, of a plan or a prediction, say; an empty value states nothing.
    ///
    /// ```
    /// use goodput_decide::contract::{Contract, Source};
    /// let contract = Contract::stated([("workload.model", "llama2-70b".to_owned())]);
    /// assert_eq!(contract.get("workload.model").map(|known| known.source), Some(Source::Stated));
    /// ```
    pub fn stated<'a>(conditions: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        Self::known(conditions, Source::Stated)
    }

    fn known<'a>(conditions: impl IntoIterator<Item = (&'a str, String)>, source: Source) -> Self {
        let mut contract = Self::default();
        for (key, value) in conditions {
            if let Some(of) = condition(key).filter(|_| !value.is_empty()) {
                contract.known.insert(of.key, Known { value, source });
            }
        }
        contract
    }

    /// Adds the conditions that a YAML file states. `label` names it in errors.
    ///
    /// # Errors
    /// [`ContractError`] for a key that names no condition, a value of the wrong kind, or one that contradicts the records.
    pub fn state(&mut self, label: &str, yaml: &str) -> Result<(), ContractError> {
        for (of, value) in file::read(label, yaml)? {
            let Some(recorded) = self.known.get(of.key) else {
                self.known.insert(of.key, Known { value, source: Source::Stated });
                continue;
            };
            let Some(together) = of.together(&recorded.value, &value) else {
                return Err(ContractError::Contradicts {
                    label: label.to_owned(),
                    key: of.key,
                    stated: value,
                    recorded: recorded.value.clone(),
                });
            };
            if together != recorded.value {
                self.known.insert(of.key, Known { value: together, source: Source::Stated });
            }
        }
        Ok(())
    }

    /// A condition read back from a report.
    pub(crate) fn insert(&mut self, of: &'static Condition, known: Known) {
        self.known.insert(of.key, known);
    }

    /// A condition by its key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Known> {
        self.known.get(key)
    }

    /// A condition that is a number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.value.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// The known conditions in the order of the contract.
    pub fn conditions(&self) -> impl Iterator<Item = (&'static Condition, &Known)> {
        CONDITIONS.iter().filter_map(|of| Some((of, self.known.get(of.key)?)))
    }

    /// The conditions that the two do not share. What neither knows is no difference, and what only one knows is one.
    #[must_use]
    pub fn differences(&self, after: &Self) -> Vec<Difference> {
        let pairs = CONDITIONS.iter().map(|of| (of, self.get(of.key), after.get(of.key)));
        pairs
            .filter(|(of, before, after)| {
                of.touches != Touches::Outcome
                    && match (before, after) {
                        (Some(before), Some(after)) => !of.agree(&before.value, &after.value),
                        (None, None) => false,
                        _ => true,
                    }
            })
            .map(|(condition, before, after)| Difference {
                condition,
                before: before.cloned(),
                after: after.cloned(),
            })
            .collect()
    }

    /// The quality gate, where it is stated.
    #[must_use]
    pub fn gate(&self) -> Gate {
        let metric = || self.get("quality.metric").map_or_else(|| "quality".to_owned(), |k| k.value.clone());
        match self.get("quality.passed").map(|k| k.value.as_str()) {
            Some("true") => Gate::Passed { metric: metric() },
            Some("false") => Gate::Failed { metric: metric() },
            _ => match (self.number("quality.target"), self.number("quality.reached")) {
                (Some(target), Some(reached)) => {
                    let at_most = self.get("quality.direction").is_some_and(|k| k.value == "at_most");
                    let passed = if at_most { reached <= target } else { reached >= target };
                    if passed { Gate::Passed { metric: metric() } } else { Gate::Failed { metric: metric() } }
                }
                _ => Gate::NotStated,
            },
        }
    }
}

/// What a contract says of quality.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// The target is met.
    Passed {
        /// Of which metric.
        metric: String,
    },
    /// The target is missed: no speed makes up for it.
    Failed {
        /// Of which metric.
        metric: String,
    },
    /// Nothing is stated.
    NotStated,
}

#[cfg(test)]
mod tests {
    use super::*;

    const YAML: &str = "workload:\n  model: llama2-70b\n  global_batch: 512\nquality:\n  metric: loss\n  target: 1.8\n  \
                        reached: 1.79\n  direction: at_most\nsystem:\n  driver: \"550.54\"\n  software: {torch: 2.4, nccl: 2.21}\n";

    #[test]
    fn the_records_come_first_and_the_file_fills_the_rest() {
        let mut contract = Contract::from_records([("system.devices", "128".to_owned())]);
        contract.state("c.yaml", YAML).unwrap();
        assert_eq!(contract.get("system.devices").unwrap().source, Source::Records);
        assert_eq!(contract.get("system.driver").unwrap().source, Source::Stated);
        assert_eq!(contract.get("system.software").unwrap().value, "nccl 2.21, torch 2.4");
        assert_eq!(contract.gate(), Gate::Passed { metric: "loss".to_owned() });
    }

    #[test]
    fn a_statement_against_the_records_names_both() {
        let mut contract = Contract::from_records([("system.devices", "128".to_owned())]);
        let refused = contract.state("c.yaml", "system: {devices: 64}").unwrap_err().to_string();
        assert!(refused.contains("stated as 64") && refused.contains("records say 128"), "{refused}");
        // The same number in another spelling is no contradiction.
        contract.state("c.yaml", "system: {devices: 128.0}").unwrap();
    }

    #[test]
    fn software_of_two_sources_adds_up_unless_a_version_differs() {
        let mut contract = Contract::from_records([("system.software", "torch 2.4".to_owned())]);
        contract.state("c.yaml", "system: {software: {nccl: 2.21, torch: 2.4}}").unwrap();
        assert_eq!(contract.get("system.software").unwrap().value, "nccl 2.21, torch 2.4");
        assert!(contract.state("c.yaml", "system: {software: {torch: 2.5}}").is_err());
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest() {
        let mut contract = Contract::default();
        let refused = contract.state("c.yaml", "workload: {modle: x}").unwrap_err().to_string();
        assert!(refused.contains("`workload.modle`") && refused.contains("`workload.model`"), "{refused}");
        for bad in ["high", "[1]", "", "true", ".nan", "-.inf"] {
            let bad =
                contract.state("c.yaml", &format!("quality: {{target: {bad}}}")).unwrap_err().to_string();
            assert!(bad.contains("quality.target") && bad.contains("a finite number"), "{bad}");
        }
        assert!(contract.state("c.yaml", "workload: {global_batch: 0}").is_err());
        let torn = contract.state("c.yaml", "workload: [").unwrap_err();
        assert!(matches!(torn, ContractError::Malformed { .. }), "{torn}");
    }

    #[test]
    fn differences_name_what_a_comparison_cannot_attribute() {
        let side = |driver: &str| {
            let mut side = Contract::default();
            side.state("c.yaml", &format!("system: {{driver: \"{driver}\", compiler: inductor}}")).unwrap();
            side
        };
        assert!(side("550").differences(&side("550")).is_empty());
        let differences = side("550").differences(&side("560"));
        assert_eq!(differences.len(), 1);
        assert_eq!(differences[0].condition.key, "system.driver");
        assert!(differences[0].condition.not_attributable().contains("driver"));
        // The gate's outcome is judged, not compared.
        let mut worse = side("550");
        worse.state("c.yaml", "quality: {reached: 2.0}").unwrap();
        assert!(side("550").differences(&worse).is_empty());
    }
}
