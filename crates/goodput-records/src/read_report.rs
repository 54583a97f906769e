//! What a reader did with every row: used it, repaired it, or refused it.

use std::collections::BTreeMap;

/// How a row was treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Treatment {
    /// Used after a repair.
    Repaired,
    /// Not used.
    Refused,
    /// Used as it stands, and worth a look.
    Noted,
}

/// One finding of a reader: located, with what was expected and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How the row was treated.
    pub treatment: Treatment,
    /// A stable word for the kind (`stray_delimiter`, `bad_utf8`, …).
    pub code: &'static str,
    /// One-based line, or record index; zero when the finding is about the whole file.
    pub line: u32,
    /// The field, empty when the finding is about the whole row.
    pub field: String,
    /// What was seen, what was expected, what was done and what to do.
    pub message: String,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileReport {
    /// The file as the user named it.
    pub path: String,
    /// The format as found (`sacct text`, `sacct json v0.0.42`, …).
    pub format: String,
    /// Rows (or records) seen.
    pub rows: u64,
    /// Rows used, repaired ones included.
    pub used: u64,
    /// Rows used after a repair.
    pub repaired: u64,
    /// Rows refused.
    pub refused: u64,
    /// Rows that are none of this reader's business (job steps, headers), by word.
    pub skipped: BTreeMap<&'static str, u64>,
    /// How often each kind of finding occurred.
    pub counts: BTreeMap<&'static str, u64>,
    /// The first findings of each kind, at most [`FileReport::KEPT_PER_CODE`].
    pub findings: Vec<Finding>,
}

impl FileReport {
    /// Findings kept of each kind; the rest is counted.
    pub const KEPT_PER_CODE: u64 = 5;

    /// An empty report of one file.
    pub fn new(path: impl Into<String>, format: impl Into<String>) -> Self {
        Self { path: path.into(), format: format.into(), ..Self::default() }
    }

    /// Counts a finding, and keeps it if it is among the first of its kind.
    pub fn find(
        &mut self,
        treatment: Treatment,
        code: &'static str,
        line: u32,
        field: &str,
        message: impl FnOnce() -> String,
    ) {
        match treatment {
            Treatment::Repaired => self.repaired += 1,
            Treatment::Refused => self.refused += 1,
            Treatment::Noted => {}
        }
        let count = self.counts.entry(code).or_default();
        *count += 1;
        if *count <= Self::KEPT_PER_CODE {
            self.findings.push(Finding {
                treatment,
                code,
                line,
                field: field.to_owned(),
                message: message(),
            });
        }
    }

    /// Adds another account of lines of the same file.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.rows += other.rows;
        self.used += other.used;
        self.repaired += other.repaired;
        self.refused += other.refused;
        for (word, count) in other.skipped {
            *self.skipped.entry(word).or_default() += count;
        }
        for finding in other.findings {
            let known = self.findings.iter().filter(|f| f.code == finding.code).count() as u64;
            if known < Self::KEPT_PER_CODE {
                self.findings.push(finding);
            }
        }
        for (code, count) in other.counts {
            *self.counts.entry(code).or_default() += count;
        }
    }
}

/// What became of every file, in the order of [`goodput_core::records::FileId`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadReport {
    /// One report a file.
    pub files: Vec<FileReport>,
}

impl ReadReport {
    /// Whether any row was repaired or refused.
    pub fn is_degraded(&self) -> bool {
        self.files.iter().any(|f| f.repaired + f.refused > 0)
    }
}
