//! The page of `goodput lint`.

use super::charts;
use super::page::{Block, Page, Section, Tile};
use crate::table;
use crate::view::LintView;
use crate::words;

pub(super) fn page(view: &LintView) -> Page {
    let mut sections = vec![Section {
        id: "findings",
        title: "What was found",
        intro: "Errors first. Where the data allow it, the figure put right.".to_owned(),
        blocks: if view.findings.is_empty() {
            vec![Block::Lines(vec!["Nothing.".to_owned()])]
        } else {
            vec![
                Block::Table("Findings".to_owned(), table::lint_findings(view)),
                Block::Table("Why they are mistakes".to_owned(), table::lint_reasons(view)),
            ]
        },
    }];
    if view.software_differs() {
        sections.push(software_section());
    }
    let tile =
        |name, count: usize, note: &str| Tile { name, value: count.to_string(), note: note.to_owned() };
    Page {
        title: words::lint_title(view),
        window: words::lint_answer(view),
        lines: vec![view.file.clone()],
        generated_by: view.generated_by.clone(),
        levels: Vec::new(),
        parts: Vec::new(),
        headline: vec![
            tile("errors", view.errors, "a figure or a conclusion is wrong"),
            tile("warnings", view.warnings, "a conclusion does not rest on what it needs"),
            tile("notes", view.notes, "worth knowing before the figure is used"),
        ],
        sections,
    }
}

/// What an upgrade can hide in a comparison.
pub(super) fn software_section() -> Section {
    Section {
        id: "software",
        title: "What software alone does",
        intro: "Throughput of one system over four benchmark rounds, its hardware unchanged. A comparison over an upgrade of software \
                holds the upgrade too."
            .to_owned(),
        blocks: vec![
            Block::Charts(charts::software_gains().into_iter().collect()),
            Block::Notes(crate::published::software().map(|s| s.note()).into_iter().collect()),
        ],
    }
}
