//! What the readers did with every row, and what a person should know before trusting a figure.

use std::collections::BTreeMap;

use goodput_core::Warning;
use goodput_core::records::SourceRef;
use goodput_records::{FileReport, ReadReport, Treatment};
use serde::Serialize;

use super::ledger::Keyed;

/// Names of the input files, by their number.
pub(crate) struct Sources<'a>(pub &'a ReadReport);

impl Sources<'_> {
    /// `sacct.txt:12`, as editors and terminals open it.
    pub(crate) fn name(&self, source: SourceRef) -> String {
        let path = match self.0.files.get(usize::from(source.file.0)) {
            Some(file) => file.path.clone(),
            None => format!("input {}", source.file.0 + 1),
        };
        if source.line == 0 { path } else { format!("{path}:{}", source.line) }
    }
}

/// What became of every input file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReadReportView {
    /// Whether any row was repaired or refused.
    pub degraded: bool,
    /// Rows seen in all files.
    pub rows: u64,
    /// Rows used, repaired ones included.
    pub used: u64,
    /// Rows used after a repair.
    pub repaired: u64,
    /// Rows refused.
    pub refused: u64,
    /// One entry a file.
    pub files: Vec<FileView>,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileView {
    /// As the user named it.
    pub path: String,
    /// As found.
    pub format: String,
    /// Rows seen.
    pub rows: u64,
    /// Rows used, repaired ones included.
    pub used: u64,
    /// Rows used after a repair.
    pub repaired: u64,
    /// Rows refused.
    pub refused: u64,
    /// Rows that are none of the reader's business, by word.
    pub skipped: Keyed<u64>,
    /// How often each kind of finding occurred.
    pub counts: Keyed<u64>,
    /// The first findings of each kind.
    pub findings: Vec<FindingView>,
}

/// One located finding.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingView {
    /// `repaired`, `refused` or `noted`.
    pub treatment: &'static str,
    /// The kind.
    pub code: &'static str,
    /// One-based line; `None` when it is about the whole file.
    pub line: Option<u32>,
    /// The field; `None` when it is about the whole row.
    pub field: Option<String>,
    /// What was seen, expected, done, and what to do.
    pub message: String,
}

impl ReadReportView {
    pub(crate) fn new(read: &ReadReport) -> Self {
        let total = |of: fn(&FileReport) -> u64| read.files.iter().map(of).sum();
        Self {
            degraded: read.is_degraded(),
            rows: total(|f| f.rows),
            used: total(|f| f.used),
            repaired: total(|f| f.repaired),
            refused: total(|f| f.refused),
            files: read.files.iter().map(FileView::new).collect(),
        }
    }
}

impl FileView {
    fn new(file: &FileReport) -> Self {
        let words = |map: &BTreeMap<&'static str, u64>| {
            Keyed(map.iter().map(|(&word, &n)| (word.to_owned(), n)).collect())
        };
        Self {
            path: file.path.clone(),
            format: file.format.clone(),
            rows: file.rows,
            used: file.used,
            repaired: file.repaired,
            refused: file.refused,
            skipped: words(&file.skipped),
            counts: words(&file.counts),
            findings: file
                .findings
                .iter()
                .map(|f| FindingView {
                    treatment: match f.treatment {
                        Treatment::Repaired => "repaired",
                        Treatment::Refused => "refused",
                        Treatment::Noted => "noted",
                    },
                    code: f.code,
                    line: (f.line > 0).then_some(f.line),
                    field: (!f.field.is_empty()).then(|| f.field.clone()),
                    message: f.message.clone(),
                })
                .collect(),
        }
    }
}

/// Something that the accounting did not take at face value, or could not settle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WarningView {
    /// The kind.
    pub code: &'static str,
    /// What was seen, why it matters, what settles it.
    pub message: String,
    /// The job it is about, when it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The record.
    pub source: Option<String>,
    /// Further warnings of this kind that are not listed.
    pub more: u64,
}

impl WarningView {
    /// Warnings listed of each kind; the rest is counted on the last one.
    const PER_CODE: u64 = 5;

    /// The first warnings of each kind, each with the job it is about.
    pub(crate) fn all<'a>(
        warnings: impl Iterator<Item = (Option<&'a str>, &'a Warning)>,
        sources: &Sources<'_>,
    ) -> Vec<Self> {
        let mut views: Vec<Self> = Vec::new();
        let mut seen: BTreeMap<&'static str, (u64, usize)> = BTreeMap::new();
        for (job, warning) in warnings {
            let (count, last) = seen.entry(warning.code).or_default();
            if *count >= Self::PER_CODE {
                views[*last].more += 1;
                continue;
            }
            (*count, *last) = (*count + 1, views.len());
            views.push(Self {
                code: warning.code,
                message: warning.message.clone(),
                job: job.map(str::to_owned),
                source: warning.source.map(|s| sources.name(s)),
                more: 0,
            });
        }
        views
    }
}
