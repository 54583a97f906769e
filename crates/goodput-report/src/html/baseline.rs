//! The page of `goodput baseline check`.

use super::charts;
use super::page::{Block, Page, Section, Tile};
use crate::number::{count, percent};
use crate::table::{self, Detail};
use crate::view::BaselineView;
use crate::words;

/// Changes that are drawn; the tables have them all.
const DRAWN: usize = 12;

pub(super) fn page(view: &BaselineView) -> Page {
    let mut sections = vec![changes(view)];
    if !view.slow_hosts.is_empty() {
        sections.push(Section {
            id: "hosts",
            title: "Hosts slower than their peers",
            intro: "All ranks of a synchronous step wait for the slowest: one that is slower by a share can cost the whole job about \
                    that share."
                .to_owned(),
            blocks: vec![Block::Table("Slow hosts".to_owned(), table::slow_hosts(view, Detail::Full))],
        });
    }
    if !view.curves.is_empty() {
        sections.push(Section {
            id: "canaries",
            title: "Canaries and scaling efficiency",
            intro: "The newest run on each number of devices against its earlier runs. On the fewest devices the speed is judged, on \
                    more of them the efficiency against those."
                .to_owned(),
            blocks: view
                .curves
                .iter()
                .map(|curve| Block::Table(format!("Canary {}", curve.job), table::curve(curve)))
                .collect(),
        });
    }
    if !view.departures.is_empty() {
        sections.push(Section {
            id: "runs",
            title: "Runs off the baseline of their architecture and software",
            intro: "Compared with the other runs of the same architecture, software, device, peak and convention.".to_owned(),
            blocks: vec![Block::Table("Runs".to_owned(), table::departures(view, Detail::Full))],
        });
    }
    sections.push(method(view));
    Page {
        title: words::baseline_title(view),
        window: format!("{} to {}", view.from, view.to),
        lines: vec![words::baseline_scope(view)],
        generated_by: view.generated_by.clone(),
        levels: Vec::new(),
        parts: Vec::new(),
        headline: view
            .tiers
            .iter()
            .map(|tier| Tile {
                name: tier.label,
                value: count(tier.regressions as u64),
                note: format!("regressions; {} tests", count(tier.tests as u64)),
            })
            .collect(),
        sections,
    }
}

fn changes(view: &BaselineView) -> Section {
    let mut blocks = Vec::new();
    let drawn: Vec<_> = view
        .changes
        .iter()
        .take(DRAWN)
        .enumerate()
        .map(|(i, change)| charts::history(format!("change-{i}"), change))
        .collect();
    if !drawn.is_empty() {
        blocks.push(Block::Charts(drawn));
    }
    if !view.causes.is_empty() {
        let lines = view.causes.iter().take(50).map(words::coincidence).collect();
        blocks.push(Block::Lines(lines));
    }
    blocks.push(Block::Table("Every change".to_owned(), table::baseline_changes(view, Detail::Full)));
    Section {
        id: "changes",
        title: "Changes over time",
        intro: "Dotted lines stand where the change began at the earliest and at the latest. A release that changed then is no proof: \
                it is the first thing to look at."
            .to_owned(),
        blocks,
    }
}

fn method(view: &BaselineView) -> Section {
    let mut notes = vec![words::baseline_method(view)];
    if let Some(level) = view.level {
        notes.push(format!(
            "p-values up to {} count as findings",
            words::p_value(level).trim_start_matches('<')
        ));
    }
    notes.push(format!(
        "a rank is slow from {} over the typical rank",
        percent(Some(view.settings.slow_rank))
    ));
    notes.extend(words::baseline_not_tested(view));
    let mut blocks = vec![Block::Notes(notes)];
    let refused = words::baseline_refused(view);
    if !refused.is_empty() {
        blocks.push(Block::Alerts(refused));
    }
    Section {
        id: "method",
        title: "What was tested, and what was not",
        intro: "Methods, error rates and power: docs/baseline.md.".to_owned(),
        blocks,
    }
}
