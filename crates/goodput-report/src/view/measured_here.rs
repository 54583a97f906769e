//! How much of a prediction rests on tables that the user measured.

use goodput_predict::measured::Coverage;
use serde::Serialize;

/// Kernels and exchanges of one micro-batch through all layers; what runs once a step is not among them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredHereView {
    /// The calibration file.
    pub tables: String,
    /// Share of their time that rests on it.
    pub share: f64,
    /// Term by term.
    pub terms: Vec<MeasuredTermView>,
}

/// One term.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredTermView {
    /// In words.
    pub term: &'static str,
    /// Share of its time that rests on the user's tables.
    pub share: f64,
    /// What does not, and falls back to the shipped tables and models.
    pub not_measured: Vec<&'static str>,
}

impl MeasuredHereView {
    /// Of a coverage.
    #[must_use]
    pub fn new(tables: &str, coverage: &Coverage) -> Self {
        let term = |of: &goodput_predict::measured::CoveredTerm| MeasuredTermView {
            term: of.term.label(),
            share: if of.ns > 0.0 { of.measured_ns / of.ns } else { 0.0 },
            not_measured: of.not_measured.clone(),
        };
        Self {
            tables: tables.to_owned(),
            share: coverage.share(),
            terms: coverage.terms.iter().map(term).collect(),
        }
    }
}
