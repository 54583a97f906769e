//! The view of `goodput lint`: known mistakes in a planning sheet or a report.

use goodput_decide::lint::{CHECKS, Corrected, Finding, Severity, Subject, lint};
use goodput_decide::report::Report;
use serde::Serialize;

use super::settings::ViewSettings;

/// Findings, ready to be printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LintView {
    /// `goodput.lint/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// The sheet's or report's own title.
    pub title: Option<String>,
    /// The file.
    pub file: String,
    /// `sheet`, `account` or `timeline`.
    pub kind: &'static str,
    /// Checks made.
    pub checks: usize,
    /// Findings that make a figure or a conclusion wrong.
    pub errors: usize,
    /// Findings that leave a conclusion without what it needs.
    pub warnings: usize,
    /// The rest.
    pub notes: usize,
    /// Findings, errors first.
    pub findings: Vec<LintFindingView>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LintFindingView {
    /// The check.
    pub check: &'static str,
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// The mistake in a few words.
    pub title: &'static str,
    /// Key path.
    pub at: String,
    /// The numbers behind it.
    pub evidence: Vec<String>,
    /// Why it is a mistake.
    pub why: &'static str,
    /// Figures put right.
    pub corrected: Vec<CorrectedView>,
}

/// A figure put right.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CorrectedView {
    /// What it is.
    pub name: String,
    /// What stands in the file, where it has such a figure.
    pub stated: Option<f64>,
    /// What it should be.
    pub value: f64,
    /// How it follows.
    pub how: String,
}

impl LintView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.lint/1";

    /// Lints a sheet or a report that `file` names.
    pub fn new(file: &str, subject: &Subject, settings: &ViewSettings) -> Self {
        let findings = lint(subject);
        let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
        let (kind, title) = match subject {
            Subject::Sheet(sheet) => ("sheet", &sheet.title),
            Subject::Report(Report::Account(report)) => ("account", &report.title),
            Subject::Report(Report::Timeline(report)) => ("timeline", &report.title),
        };
        Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            title: title.clone(),
            file: file.to_owned(),
            kind,
            checks: CHECKS.len(),
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
            findings: findings.iter().map(finding).collect(),
        }
    }

    /// Whether software of several versions stands behind the figures.
    pub(crate) fn software_differs(&self) -> bool {
        self.findings.iter().any(|finding| finding.check == "software-differs")
    }
}

fn finding(found: &Finding) -> LintFindingView {
    let corrected = |Corrected { name, stated, value, how }: &Corrected| CorrectedView {
        name: name.clone(),
        stated: *stated,
        value: *value,
        how: how.clone(),
    };
    LintFindingView {
        check: found.check.id,
        severity: found.severity.key(),
        title: found.check.title,
        at: found.at.clone(),
        evidence: found.evidence.clone(),
        why: found.check.why,
        corrected: found.corrected.iter().map(corrected).collect(),
    }
}
