//! Fallacies and pitfalls as checks on a planning sheet or a report: what is wrong, where, why, and the right figure where
//! the data allow one.
//!
//! ```
//! use goodput_decide::lint::{Severity, Subject, lint, sheet::Sheet};
//! let sheet = Sheet::from_yaml("plan.yaml", "
//! figures:
//!   - {name: fleet MFU, value: 0.48, kind: mfu, scope: fleet}
//!   - {name: scaling, value: 0.7347, kind: scaling_efficiency}
//! formula: program = fleet_mfu * scaling
//! ")?;
//! let findings = lint(&Subject::Sheet(sheet));
//! assert_eq!((findings[0].check.id, findings[0].severity), ("fleet-mfu-times-scaling", Severity::Error));
//! # Ok::<(), goodput_decide::lint::sheet::SheetError>(())
//! ```

pub mod formula;
pub mod known_loss;
mod plan;
mod polynomial;
pub mod sheet;

mod charged_twice;
mod checks;

pub use checks::CHECKS;

use crate::report::Report;
use sheet::Sheet;

/// What is judged.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// A planning sheet.
    Sheet(Sheet),
    /// A report of `goodput account` or `goodput timeline`.
    Report(Report),
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// A figure or a conclusion is wrong.
    Error,
    /// A conclusion does not rest on what it needs.
    Warning,
    /// Worth knowing before the figure is used.
    Note,
}

impl Severity {
    /// The word used in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A fallacy or pitfall.
#[derive(Debug)]
pub struct Check {
    /// Its id, `mixed-overhead-budget`.
    pub id: &'static str,
    /// How much its findings matter.
    pub severity: Severity,
    /// The mistake in a few words.
    pub title: &'static str,
    /// Why it is one.
    pub why: &'static str,
    /// What of a sheet makes it.
    sheet: fn(&Sheet) -> Vec<Found>,
    /// What of a report makes it.
    report: fn(&Report) -> Vec<Found>,
}

/// A figure put right.
#[derive(Debug, Clone, PartialEq)]
pub struct Corrected {
    /// What it is.
    pub name: String,
    /// What stands in the sheet, where it has such a figure.
    pub stated: Option<f64>,
    /// What it should be.
    pub value: f64,
    /// How it follows.
    pub how: String,
}

impl Corrected {
    fn new(name: impl Into<String>, stated: Option<f64>, value: f64, how: impl Into<String>) -> Self {
        Self { name: name.into(), stated, value, how: how.into() }
    }
}

/// One place at which a check fires.
#[derive(Debug, Clone, PartialEq, Default)]
struct Found {
    at: String,
    evidence: Vec<String>,
    corrected: Vec<Corrected>,
    /// Where it matters less than the check's other findings.
    severity: Option<Severity>,
}

impl Found {
    fn new(at: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self { at: at.into(), evidence: vec![evidence.into()], ..Self::default() }
    }

    fn and(mut self, evidence: impl Into<String>) -> Self {
        self.evidence.push(evidence.into());
        self
    }

    fn corrected(mut self, corrected: impl IntoIterator<Item = Corrected>) -> Self {
        self.corrected.extend(corrected);
        self
    }

    fn only(self, severity: Severity) -> Self {
        Self { severity: Some(severity), ..self }
    }
}

/// One place at which a check fires.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The check.
    pub check: &'static Check,
    /// How much it matters here.
    pub severity: Severity,
    /// Key path.
    pub at: String,
    /// The numbers behind it.
    pub evidence: Vec<String>,
    /// Figures put right; empty where the data do not allow any.
    pub corrected: Vec<Corrected>,
}

/// Every finding, errors first, in the order of the checks.
#[must_use]
pub fn lint(subject: &Subject) -> Vec<Finding> {
    let of = |check: &'static Check| {
        let found = match subject {
            Subject::Sheet(sheet) => (check.sheet)(sheet),
            Subject::Report(report) => (check.report)(report),
        };
        found.into_iter().map(move |Found { at, evidence, corrected, severity }| Finding {
            check,
            severity: severity.unwrap_or(check.severity),
            at,
            evidence,
            corrected,
        })
    };
    let mut findings: Vec<Finding> = CHECKS.iter().copied().flat_map(of).collect();
    findings.sort_by_key(|finding| finding.severity);
    findings
}

/// A share with the digits that tell neighbours apart.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
