//! What was read, and how each odd row was treated.

use super::Column::{Number, Text};
use super::{Cell, Table};
use crate::number::{count, counted};
use crate::view::{FileView, FindingView, ReadReportView};

pub(crate) fn files(read: &ReadReportView) -> Table {
    let row = |f: &FileView| {
        let skipped: u64 = f.skipped.0.iter().map(|(_, n)| n).sum();
        let numbers = [f.rows, f.used, f.repaired, f.refused, skipped].map(|n| Cell::from(count(n)));
        let mut row: Vec<Cell> = vec![f.path.as_str().into(), f.format.as_str().into()];
        row.extend(numbers);
        row
    };
    let columns = vec![
        Text("file"),
        Text("format"),
        Number("rows"),
        Number("used"),
        Number("repaired"),
        Number("refused"),
        Number("skipped"),
    ];
    Table { columns, rows: read.files.iter().map(row).collect(), notes: Vec::new() }
}

/// The first `limit` findings, and how many there are beside them.
pub(crate) fn findings(read: &ReadReportView, limit: usize) -> (Vec<String>, Option<String>) {
    let text = |file: &FileView, f: &FindingView| {
        let line = f.line.map(|l| format!(":{l}")).unwrap_or_default();
        let field = f.field.as_ref().map(|f| format!(" {f}")).unwrap_or_default();
        format!("{}{line}{field}: {} ({})", file.path, f.message, f.treatment)
    };
    let all = read.files.iter().flat_map(|file| file.findings.iter().map(move |f| (file, f)));
    let listed: Vec<_> = all.take(limit).map(|(file, f)| text(file, f)).collect();
    let found: u64 = read.files.iter().flat_map(|f| &f.counts.0).map(|(_, n)| n).sum();
    let more = found.saturating_sub(listed.len() as u64);
    (listed, (more > 0).then(|| format!("and {} more", counted(more, "finding"))))
}
