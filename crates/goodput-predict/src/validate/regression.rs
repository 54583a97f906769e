//! Errors once reached, by source, and what has become worse since.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::dimension::Dimension;
use super::evaluate::Report;

/// The errors that a source must keep: a JSON file, written by [`Regression::record`].
///
/// ```json
/// {"margin": 0.005, "sources": {"ours": {"rows": 12, "mape": 0.041, "median_ape": 0.03, "p90_ape": 0.07, "bias": -0.01}}}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regression {
    /// How much larger an error may be, as a fraction: 0.005 is half a percentage point.
    pub margin: f64,
    /// By source.
    pub sources: BTreeMap<String, Reached>,
}

/// What was reached on a source.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reached {
    /// Rows predicted.
    pub rows: usize,
    /// Mean of the absolute relative error.
    pub mape: f64,
    /// Its median.
    pub median_ape: f64,
    /// Its 90th percentile.
    pub p90_ape: f64,
    /// Mean relative error, for whoever reads the file: its size is not checked.
    pub bias: f64,
}

/// An error that is larger than it was.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Worse {
    /// An error grew by more than the margin.
    #[error("{source_key}: {measure} is {now:.4}, was {before:.4}, and may be {margin:.4} more")]
    Error {
        /// The source.
        source_key: String,
        /// Which error.
        measure: &'static str,
        /// As recorded.
        before: f64,
        /// As it is.
        now: f64,
        /// How much more it may be.
        margin: f64,
    },
    /// Fewer rows are predicted.
    #[error("{source_key}: {now} rows are predicted, were {before}")]
    Rows {
        /// The source.
        source_key: String,
        /// As recorded.
        before: usize,
        /// As it is.
        now: usize,
    },
}

/// A file that is none of these.
#[derive(Debug, thiserror::Error)]
#[error("{label}: {source}")]
pub struct RegressionError {
    /// The file as the user named it.
    pub label: String,
    /// What is wrong, with its line.
    pub source: serde_json::Error,
}

impl Regression {
    /// The errors of a report, as what must be kept.
    #[must_use]
    pub fn record(report: &Report, margin: f64) -> Self {
        let sources = report.by.get(&Dimension::Source).into_iter().flatten().map(|(source, errors)| {
            let rounded = |value: f64| (value * 1e4).round() / 1e4;
            let reached = Reached {
                rows: errors.rows,
                mape: rounded(errors.mape),
                median_ape: rounded(errors.median_ape),
                p90_ape: rounded(errors.p90_ape),
                bias: rounded(errors.bias),
            };
            (source.clone(), reached)
        });
        Self { margin, sources: sources.collect() }
    }

    /// What is worse than recorded, by source. A source that is not recorded is not checked; one that is gone is.
    #[must_use]
    pub fn check(&self, report: &Report) -> Vec<Worse> {
        let now = report.by.get(&Dimension::Source);
        let mut worse = Vec::new();
        for (source_key, before) in &self.sources {
            let Some(errors) = now.and_then(|sources| sources.get(source_key)) else {
                worse.push(Worse::Rows { source_key: source_key.clone(), before: before.rows, now: 0 });
                continue;
            };
            if errors.rows < before.rows {
                let (before, now) = (before.rows, errors.rows);
                worse.push(Worse::Rows { source_key: source_key.clone(), before, now });
            }
            let measures = [
                ("mape", before.mape, errors.mape),
                ("median_ape", before.median_ape, errors.median_ape),
                ("p90_ape", before.p90_ape, errors.p90_ape),
            ];
            for (measure, before, now) in measures {
                if now > before + self.margin {
                    let source_key = source_key.clone();
                    worse.push(Worse::Error { source_key, measure, before, now, margin: self.margin });
                }
            }
        }
        worse
    }

    /// Reads the file.
    ///
    /// # Errors
    /// [`RegressionError`] with the line of what is not of this form.
    pub fn from_json(label: &str, text: &str) -> Result<Self, RegressionError> {
        serde_json::from_str(text).map_err(|source| RegressionError { label: label.to_owned(), source })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// [`RegressionError`] where a figure is no number.
    pub fn to_json(&self) -> Result<String, RegressionError> {
        let text = serde_json::to_string_pretty(self);
        text.map(|text| text + "\n")
            .map_err(|source| RegressionError { label: "regression".to_owned(), source })
    }
}
