//! What was read, and how each odd row was treated.

use std::collections::{BTreeMap, BTreeSet};

use super::Column::{Number, Text};
use super::{Cell, Detail, Table};
use crate::name::{cut, short_path};
use crate::number::{count, counted};
use crate::view::{FileView, FindingView, ReadReportView};

/// Fewer files of one format than this keep a row each.
const SUMMED: usize = 4;

/// Rows of each file; in brief, files of one format without a finding share a row.
pub(crate) fn files(read: &ReadReportView, detail: Detail) -> Table {
    let is_plain = |f: &&FileView| f.counts.0.is_empty() && f.repaired + f.refused == 0;
    let mut alike: BTreeMap<&str, Vec<&FileView>> = BTreeMap::new();
    if detail == Detail::Brief {
        for file in read.files.iter().filter(is_plain) {
            alike.entry(&file.format).or_default().push(file);
        }
        alike.retain(|_, files| files.len() >= SUMMED);
    }
    let mut groups: Vec<Vec<&FileView>> = Vec::new();
    let mut listed = BTreeSet::new();
    for file in &read.files {
        match alike.get(file.format.as_str()).filter(|_| is_plain(&file)) {
            Some(files) if listed.insert(file.format.as_str()) => groups.push(files.clone()),
            Some(_) => {}
            None => groups.push(vec![file]),
        }
    }
    let row = |group: &Vec<&FileView>| {
        let sum = |of: fn(&FileView) -> u64| Cell::from(count(group.iter().map(|f| of(f)).sum()));
        let path = |f: &FileView| match detail {
            Detail::Brief => cut(short_path(&f.path), 36),
            Detail::Full => f.path.clone(),
        };
        let name = match group.as_slice() {
            [first, _, ..] => format!("{} and {} more", path(first), count(group.len() as u64 - 1)),
            _ => path(group[0]),
        };
        let format = match detail {
            Detail::Brief => group[0].format.split(',').next().unwrap_or_default(),
            Detail::Full => &group[0].format,
        };
        vec![
            name.into(),
            format.into(),
            sum(|f| f.rows),
            sum(|f| f.used),
            sum(|f| f.repaired),
            sum(|f| f.refused),
            sum(|f| f.skipped.0.iter().map(|(_, n)| n).sum()),
        ]
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
    Table { columns, rows: groups.iter().map(row).collect(), notes: Vec::new() }
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
