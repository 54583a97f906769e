//! The page of `goodput search`.

use super::drawings::{self, Point, StackRow};
use super::page::{Block, Page, Section, Tile};
use super::palette;
use super::predict::segments;
use crate::number::{count, counted, duration, money, percent, thousands};
use crate::table::{self, Detail, gigabytes};
use crate::view::{LayoutView, SearchView};
use crate::words;

/// Layouts whose terms are drawn.
const BARS: usize = 30;

pub(super) fn page(view: &SearchView) -> Page {
    let mut sections = vec![ranked(view)];
    sections.extend(pareto(view));
    sections.push(Section {
        id: "refused",
        title: "What cannot run",
        intro: "Degrees that do not divide are no layouts: each combination counts once, at the first rule that it breaks.".to_owned(),
        blocks: vec![Block::Table("Why".to_owned(), table::refused(view))],
    });
    Page {
        title: words::search_title(view),
        window: words::searched(view),
        lines: view.calibration.iter().map(words::applied_factor).collect(),
        generated_by: view.generated_by.clone(),
        levels: Vec::new(),
        parts: Vec::new(),
        headline: view.best.first().map(|best| headline(view, best)).unwrap_or_default(),
        sections,
    }
}

fn headline(view: &SearchView, best: &LayoutView) -> Vec<Tile> {
    let mut tiles = vec![
        Tile {
            name: "best layout",
            value: format!("tp {} pp {} dp {}", best.tp, best.pp, best.dp),
            note: words::layout(best),
        },
        Tile {
            name: "its step",
            value: duration(best.step_ns as i64),
            note: format!("± {}; MFU {}", percent(best.deviation), percent(best.mfu)),
        },
        Tile {
            name: "its memory",
            value: gigabytes(best.memory_bytes),
            note: view
                .capacity_bytes
                .map_or_else(String::new, |bytes| format!("of {}, allowance included", gigabytes(bytes))),
        },
    ];
    if let Some(ns) = best.result_ns {
        tiles.push(Tile {
            name: "time to the result",
            value: duration(ns as i64),
            note: "with the stated wait and runtime goodput".to_owned(),
        });
    }
    if let (Some(currency), Some(cost)) = (&view.currency, best.result_cost.or(best.step_cost)) {
        let name = if best.result_cost.is_some() { "cost of the result" } else { "cost of a step" };
        tiles.push(Tile { name, value: money(cost, currency), note: String::new() });
    }
    tiles.push(Tile {
        name: "layouts",
        value: count(view.candidates),
        note: format!("{} predicted, {} can run", count(view.predicted), count(view.feasible)),
    });
    tiles
}

fn ranked(view: &SearchView) -> Section {
    let bar = |(index, of): (usize, &LayoutView)| StackRow {
        name: format!(
            "{}. tp {} cp {} pp {} ep {} dp {} mb {} {}",
            index + 1,
            of.tp,
            of.cp,
            words::stages(of),
            of.ep,
            of.dp,
            of.micro_batch,
            of.recompute
        ),
        segments: segments(&of.terms),
        total: duration(of.step_ns as i64),
    };
    let rows: Vec<StackRow> = view.best.iter().take(BARS).enumerate().map(bar).collect();
    Section {
        id: "best",
        title: "The best layouts",
        intro: "Where the step of each goes, the mean over its devices.".to_owned(),
        blocks: vec![
            Block::Drawing(drawings::stacks("terms-by-layout", None, "Terms of each layout", &rows, None)),
            Block::Table("In order".to_owned(), table::layouts(view, &view.best, Detail::Full)),
        ],
    }
}

fn pareto(view: &SearchView) -> Option<Section> {
    if view.pareto.is_empty() {
        return None;
    }
    let most = view.pareto.iter().map(|of| of.devices).max().unwrap_or(1);
    let point = |of: &LayoutView, name, colour| Point {
        x: of.step_ns / 1e9,
        y: of.memory_bytes / 1e9,
        size: 4.0 + 8.0 * (f64::from(of.devices) / f64::from(most)).sqrt(),
        name,
        colour,
        text: format!(
            "{}: {}, {} GB",
            words::layout(of),
            duration(of.step_ns as i64),
            thousands(of.memory_bytes / 1e9, 1)
        ),
    };
    let mut points: Vec<Point> =
        view.best.iter().map(|of| point(of, "the best by rank", palette::LEVEL)).collect();
    points.extend(view.pareto.iter().map(|of| point(of, "not beaten", palette::USEFUL)));
    let capacity = view.capacity_bytes.map(|bytes| (bytes / 1e9, "memory of a device"));
    Some(Section {
        id: "pareto",
        title: "Not beaten in time, memory and devices at once",
        intro: format!(
            "{}: to be faster, one must take more memory or more devices. The larger the circle the more devices.",
            counted(view.pareto.len() as u64, "layout")
        ),
        blocks: vec![
            Block::Drawing(drawings::scatter(
                "pareto-set",
                "Layouts by step time and memory",
                ["step time (s)", "memory of the fullest rank (GB)"],
                &points,
                capacity,
            )),
            Block::Table(
                "The Pareto set by step time".to_owned(),
                table::layouts(view, &view.pareto, Detail::Full),
            ),
        ],
    })
}
