//! The page: a headline, the chain, and sections made of blocks.

use askama::Template;
use goodput_core::Boundary;
use plotly::Plot;

use super::charts::{self, Chart};
use super::drawings::Drawing;
use super::palette;
use crate::number::{UNKNOWN, device_hours, factor, percent};
use crate::table::{Cell, Column, Detail, Table};
use crate::view::{
    ContractView, Exact, FactorBoundsView, FactorStatisticsView, KnownConditions, LedgerView, LossView,
    ReadReportView, TimingBoundaryView, WarningView,
};
use crate::{table, words};

/// All that the template knows.
pub(super) struct Page {
    pub title: String,
    pub window: String,
    pub lines: Vec<String>,
    pub generated_by: String,
    pub levels: Vec<Level>,
    /// A whole and its parts, where the page is not about the chain.
    pub parts: Vec<Part>,
    pub headline: Vec<Tile>,
    pub sections: Vec<Section>,
}

/// One level of the chain, and the factor that leads to it.
pub(super) struct Level {
    pub name: &'static str,
    pub hours: String,
    pub note: String,
    pub crossing: Option<Crossing>,
    pub useful: bool,
}

/// A factor between two levels.
pub(super) struct Crossing {
    pub boundary: &'static str,
    pub colour: &'static str,
    pub value: String,
    pub coverage: String,
}

/// A part of the whole, drawn as a stretch of one bar.
pub(super) struct Part {
    pub name: &'static str,
    /// A CSS background.
    pub swatch: String,
    /// Of the whole, in percent.
    pub width: f64,
    pub share: String,
    pub note: String,
}

/// One headline figure.
pub(super) struct Tile {
    pub name: &'static str,
    pub value: String,
    pub note: String,
}

/// A part of the page with a heading of its own.
pub(super) struct Section {
    pub id: &'static str,
    pub title: &'static str,
    pub intro: String,
    pub blocks: Vec<Block>,
}

/// What a section is made of.
pub(super) enum Block {
    /// Side by side where the width allows.
    Charts(Vec<Chart>),
    /// Over the whole width.
    Drawing(Drawing),
    /// A chart that is drawn when it is opened.
    FoldedChart(String, Chart),
    /// A table with its caption.
    Table(String, Table),
    /// A table that is shown when it is opened.
    FoldedTable(String, Table),
    /// A heading inside the section.
    Heading(String),
    /// Sentences.
    Lines(Vec<String>),
    /// Sentences beside the figures.
    Notes(Vec<String>),
    /// Sentences that ask for attention.
    Alerts(Vec<String>),
    /// Names and what they stand for.
    Definitions(Vec<(&'static str, String)>),
}

#[derive(Template)]
#[template(path = "page.html")]
struct PageTemplate<'a> {
    page: &'a Page,
    chart_script: &'a str,
}

impl Page {
    pub(super) fn render(&self) -> Result<String, askama::Error> {
        // Drawings need no script.
        let sources = if self.has_charts() { Plot::offline_js_sources() } else { String::new() };
        // The crate hands out two script elements, plotly first; the second typesets formulas, which no page has.
        let chart_script = sources.split_inclusive("</script>").next().unwrap_or_default();
        PageTemplate { page: self, chart_script }.render()
    }

    fn has_charts(&self) -> bool {
        let blocks = self.sections.iter().flat_map(|section| &section.blocks);
        blocks.into_iter().any(|block| matches!(block, Block::Charts(_) | Block::FoldedChart(..)))
    }
}

/// The chain as a strip of levels. One job begins at held. What no record settles may still reach a
/// level: its figure is the least, and the note says the most.
pub(super) fn levels(ledger: &LedgerView, losses: &[LossView]) -> Vec<Level> {
    let (capacity, factors, bounds) = (&ledger.capacity_time, &ledger.factors, &ledger.factor_bounds);
    let whole = capacity.offered_ns.unwrap_or(capacity.held_ns).capacity();
    let level = |name, amount: Exact, open: i128, crossing| {
        let share = |amount: Exact| percent(amount.capacity().share_of(whole));
        let most = share(Exact(amount.0 + open));
        let (hours, note) = match (amount.0, open) {
            (_, 0) => (device_hours(amount.capacity()), format!("device-hours, {}", share(amount))),
            (0, _) => (UNKNOWN.to_owned(), format!("not settled, at most {most}")),
            _ => {
                (device_hours(amount.capacity()), format!("device-hours, {}, at most {most}", share(amount)))
            }
        };
        Level { name, hours, note, crossing, useful: name == "ideal" }
    };
    let crossing = |boundary: Boundary, value, bounds: Option<FactorBoundsView>| {
        Some(Crossing {
            boundary: boundary.key(),
            colour: palette::boundary(boundary),
            value: factor(value),
            coverage: bounds.map(words::coverage).unwrap_or_default(),
        })
    };
    let mut levels = Vec::new();
    let mut to_held = None;
    if let Some(offered) = capacity.offered_ns {
        levels.push(level("offered", offered, 0, None));
        to_held = crossing(Boundary::Scheduling, factors.scheduling, bounds.scheduling);
    }
    levels.push(level("held", capacity.held_ns, 0, to_held));
    let open = LossView::open_at(losses, Boundary::Runtime).0;
    let to_retained = crossing(Boundary::Runtime, factors.runtime, Some(bounds.runtime));
    levels.push(level("retained", capacity.retained_ns, open, to_retained));
    let open = open + LossView::open_at(losses, Boundary::Program).0;
    let to_ideal = crossing(Boundary::Program, factors.program, Some(bounds.program));
    levels.push(level("ideal", capacity.ideal_ns, open, to_ideal));
    levels
}

/// The report's own MFU beside published ones; `None` without an own one.
pub(super) fn published_section(own: &[charts::OwnMfu]) -> Option<Section> {
    Some(Section {
        id: "published",
        title: "MFU beside published runs",
        intro: String::new(),
        blocks: vec![
            Block::Charts(vec![charts::published_mfu(own)?]),
            Block::Notes(vec![charts::published_mfu_note()]),
        ],
    })
}

/// What was read and how odd rows were treated.
pub(super) fn read_section(read: &ReadReportView) -> Section {
    let brief = table::files(read, Detail::Brief);
    let every = table::files(read, Detail::Full);
    let mut blocks = vec![
        Block::Table("Rows of each file".to_owned(), brief),
        Block::FoldedTable("Every file with its path and format in full".to_owned(), every),
    ];
    let (mut findings, more) = table::findings(read, 200);
    findings.extend(more);
    if !findings.is_empty() {
        blocks.push(Block::Lines(findings));
    }
    let intro = if read.degraded {
        "Some rows were repaired or refused; each is named with what to do about it."
    } else {
        "Every row was used as it stands."
    };
    Section { id: "read", title: "What was read", intro: intro.to_owned(), blocks }
}

/// `None` without warnings.
pub(super) fn warning_section(warnings: &[WarningView]) -> Option<Section> {
    (!warnings.is_empty()).then(|| Section {
        id: "warnings",
        title: "Before you trust a figure",
        intro: String::new(),
        blocks: vec![Block::Alerts(words::warnings(warnings))],
    })
}

/// Where the timed stretches begin and end, by name.
pub(super) fn timing(boundary: &TimingBoundaryView) -> [(&'static str, String); 3] {
    let resolution = boundary.stamp_resolution_ns.map(|ns| crate::number::duration(ns.as_i64()));
    [
        ("held", boundary.held.to_string()),
        ("productive", boundary.productive.to_owned()),
        ("stamp resolution", resolution.unwrap_or_else(|| "not stated".to_owned())),
    ]
}

/// What is known of a contract: in sentences, by name, and condition by condition.
pub(super) fn contract_blocks(
    known: &KnownConditions,
    statistics: &[FactorStatisticsView],
    definitions: Vec<(&'static str, String)>,
) -> Vec<Block> {
    vec![
        Block::Lines(words::contract(known, statistics)),
        Block::Definitions(definitions),
        Block::Table("Conditions and where they are known from".to_owned(), table::conditions(known)),
    ]
}

/// What every figure is measured over.
pub(super) fn contract_section(contract: &ContractView, generated_by: &str) -> Section {
    let software: Vec<_> = contract.software.iter().map(|s| format!("{} {}", s.name, s.version)).collect();
    let coverage = &contract.coverage;
    let commits = &contract.commits;
    let list = |items: &[String]| if items.is_empty() { "not stated".to_owned() } else { items.join(", ") };
    let [held, productive, resolution] = timing(&contract.timing_boundary);
    let definitions = vec![
        ("window", format!("{} to {}, half-open", contract.window.from, contract.window.to)),
        ("scope", contract.scope.to_owned()),
        ("denominator", contract.denominator.replace('_', " ")),
        ("devices", format!("{} ({})", contract.devices, list(&contract.device_types))),
        ("ideal", list(&words::ideals(contract).collect::<Vec<_>>())),
        ("software", list(&software)),
        held,
        productive,
        resolution,
        (
            "coverage",
            [
                ("scheduling", coverage.scheduling),
                ("runtime", Some(coverage.runtime)),
                ("program", Some(coverage.program)),
                ("timelines over held time", coverage.timelines),
                ("node snapshots over the window", coverage.node_snapshots),
            ]
            .into_iter()
            .filter(|(_, covered)| covered.is_some())
            .map(|(what, covered)| format!("{what} {}", percent(covered)))
            .collect::<Vec<_>>()
            .join(", "),
        ),
        (
            "commits",
            format!(
                "{} record them, {} do not, {} without a timeline",
                crate::number::counted(commits.recorded_jobs, "job"),
                commits.unknown_jobs,
                commits.jobs_without_timeline
            ),
        ),
        ("made by", generated_by.to_owned()),
    ];
    Section {
        id: "contract",
        title: "The contract",
        intro: "Two reports may be compared when these agree.".to_owned(),
        blocks: contract_blocks(&contract.known, &contract.statistics, definitions),
    }
}

impl Cell {
    /// The colour of the loss that the row is about.
    fn swatch(&self) -> Option<String> {
        let pattern = self.pattern.map(|p| (palette::pattern(p), palette::is_hatched(p)));
        let charge = self.charge.map(|c| (palette::charge(c), palette::is_charge_hatched(c)));
        pattern.or(charge).map(|(colour, hatched)| palette::swatch(colour, hatched))
    }

    /// How a cell of words claims room: a short name stays on one line, a sentence is not squeezed into a column of words.
    fn width(&self) -> Option<&'static str> {
        let longest = self.text.lines().map(|line| line.chars().count()).max();
        match longest {
            Some(1..=16) => Some("short"),
            // Lines that were broken on purpose stay as they are.
            Some(..=28) if self.text.contains('\n') => Some("short"),
            Some(33..) => Some("long"),
            _ => None,
        }
    }

    /// Width of the bar behind a share, in percent.
    fn bar(&self) -> Option<String> {
        self.share.filter(|s| s.is_finite()).map(|s| format!("{:.1}", s.clamp(0.0, 1.0) * 100.0))
    }
}

impl Column {
    fn name(&self) -> &'static str {
        match self {
            Self::Text(name) | Self::Number(name) => name,
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Number(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_claim_the_room_that_their_words_need() {
        let of = |text: &str| Cell::from(text).width();
        assert_eq!(of("train-0000"), Some("short"));
        assert_eq!(of("2026-03-22\n(2026-03-20 to 2026-03-23)"), Some("short"));
        assert_eq!(of("a name of middling length"), None);
        assert_eq!(of(&"word ".repeat(20)), Some("long"));
        assert_eq!(of(""), None);
    }
}
