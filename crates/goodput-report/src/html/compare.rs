//! The page of `goodput compare`.

use super::charts;
use super::page::{Block, Page, Section, Tile};
use crate::number::{duration, factor, gain};
use crate::table::{self, Detail};
use crate::view::CompareView;
use crate::words;

pub(super) fn page(view: &CompareView) -> Page {
    let mut sections = Vec::new();
    if !view.notes.is_empty() {
        sections.push(Section {
            id: "warnings",
            title: "Before you trust a figure",
            intro: String::new(),
            blocks: vec![Block::Alerts(view.notes.clone())],
        });
    }
    sections.push(factors(view));
    if let Some(coupling) = &view.coupling {
        sections.push(Section {
            id: "coupling",
            title: "Why one factor moved with another",
            intro: String::new(),
            blocks: vec![Block::Lines(vec![coupling.why.clone()])],
        });
    }
    sections.push(Section {
        id: "conditions",
        title: "Conditions that differ",
        intro: "Two measurements differ only by the change where their contracts agree.".to_owned(),
        blocks: vec![if view.differences.is_empty() {
            Block::Lines(vec!["None of those that both contracts know.".to_owned()])
        } else {
            let table = table::compared_conditions(view, Detail::Full);
            Block::Table("What the comparison cannot attribute".to_owned(), table)
        }],
    });
    sections.push(Section {
        id: "windows",
        title: "Windows",
        intro: "Each factor loses time on its own scale, and its window must hold enough of it.".to_owned(),
        blocks: vec![Block::Table("Is each window long enough?".to_owned(), table::compared_windows(view))],
    });
    Page {
        title: words::compare_title(view),
        window: words::compare_answer(view).join(" "),
        lines: words::compare_scope(view),
        generated_by: view.generated_by.clone(),
        levels: Vec::new(),
        parts: Vec::new(),
        headline: headline(view),
        sections,
    }
}

fn factors(view: &CompareView) -> Section {
    let mut blocks: Vec<Block> =
        charts::iso_product(view).map(|chart| Block::Charts(vec![chart])).into_iter().collect();
    blocks.push(Block::Table("Factors before and after".to_owned(), table::compared_factors(view)));
    blocks.push(Block::Lines(words::compare_beside(view)));
    Section {
        id: "factors",
        title: "Factors and their product",
        intro: "Along a curve the product is the same: a step from one to a higher one is a gain, whichever factor made it."
            .to_owned(),
        blocks,
    }
}

fn headline(view: &CompareView) -> Vec<Tile> {
    let mut tiles = vec![
        Tile {
            name: "verdict",
            value: view.verdict.replace('_', " "),
            note: view.reasons.first().cloned().unwrap_or_default(),
        },
        Tile {
            name: "product of the ratios",
            value: format!("{:.4}", view.product.value),
            note: match (view.product.low, view.product.high) {
                (Some(low), Some(high)) => format!("{low:.4} to {high:.4}"),
                _ => "no interval".to_owned(),
            },
        },
    ];
    for of in view.factors.iter().filter(|f| f.decides) {
        tiles.push(Tile {
            name: match of.factor {
                "scheduling" => "scheduling goodput",
                "runtime" => "runtime goodput",
                _ => "program goodput",
            },
            value: gain(of.ratio.value - 1.0),
            note: format!("{} to {}", factor(of.before), factor(of.after)),
        });
    }
    if let Some(time) = &view.time_to_result {
        tiles.push(Tile {
            name: if time.to_quality { "time to the quality of before" } else { "time to the same result" },
            value: gain(time.after_s / time.before_s - 1.0),
            note: format!(
                "{} to {}",
                duration((time.before_s * 1e9) as i64),
                duration((time.after_s * 1e9) as i64)
            ),
        });
    }
    tiles
}
