//! The page of `goodput validate`.

use goodput_predict::validate::Dimension;

use super::charts::{self, ErrorColours};
use super::page::{Block, Page, Section, Tile};
use crate::number::{count, counted, gain, percent};
use crate::table::{Detail, validation as tables};
use crate::view::ValidationView;
use crate::words;

pub(super) fn page(view: &ValidationView) -> Page {
    let mut sections = Vec::new();
    sections.extend(regression(view));
    sections.push(errors(view));
    sections.push(groups(view));
    sections.extend(terms(view));
    sections.extend(calibration(view));
    sections.extend(ranking(view));
    sections.push(Section {
        id: "worst",
        title: "Largest errors",
        intro: "The term that is blamed is the one that would have to change most, going by all rows of the source.".to_owned(),
        blocks: vec![Block::Table("Runs, the largest error first".to_owned(), tables::worst(view, Detail::Full))],
    });
    sections.push(rows(view));
    Page {
        title: words::validation_title(view),
        window: words::validation_scope(view),
        lines: Vec::new(),
        generated_by: view.generated_by.clone(),
        levels: Vec::new(),
        parts: Vec::new(),
        headline: headline(view),
        sections,
    }
}

fn headline(view: &ValidationView) -> Vec<Tile> {
    let all = &view.report.all;
    let share =
        |name, value: f64, note: &str| Tile { name, value: percent(Some(value)), note: note.to_owned() };
    let mut tiles = vec![
        share("MAPE", all.mape, "mean of the absolute relative errors of step time"),
        share("median", all.median_ape, "half of the rows are nearer"),
        share("p90", all.p90_ape, "nine of ten rows are nearer"),
        Tile {
            name: "bias",
            value: gain(all.bias),
            note: "above 0 where predictions are too slow".to_owned(),
        },
        share("mean of the sources", view.report.sources_mean, "every source weighs the same"),
        share("MFU", all.mfu_mape, "MAPE of MFU, in every convention"),
    ];
    let memory: usize = view.report.memory.values().map(|errors| errors.rows).sum();
    if memory > 0 {
        let sum: f64 = view.report.memory.values().map(|errors| errors.mape * errors.rows as f64).sum();
        let note = format!("MAPE of {} that state it", counted(memory as u64, "row"));
        tiles.push(Tile { name: "memory", value: percent(Some(sum / memory as f64)), note });
    }
    tiles
}

fn regression(view: &ValidationView) -> Option<Section> {
    let regression = view.regression.as_ref()?;
    let sentence = vec![words::regression(regression)];
    let blocks = if regression.worse.is_empty() {
        vec![Block::Notes(sentence)]
    } else {
        vec![
            Block::Alerts(sentence),
            Block::Table("Measures that are worse than recorded".to_owned(), tables::worse(regression)),
        ]
    };
    Some(Section { id: "regression", title: "Errors that may not grow", intro: String::new(), blocks })
}

fn errors(view: &ValidationView) -> Section {
    let colours = ErrorColours::of(view);
    let mut blocks =
        vec![Block::Charts(vec![charts::scatter(view, &colours), charts::histogram(view, &colours)])];
    blocks.extend(view.breakdown.iter().map(|dimension| {
        Block::Table(format!("By {}", dimension.name()), tables::errors(view, *dimension, Detail::Full))
    }));
    Section {
        id: "errors",
        title: "Predicted and measured steps",
        intro: "An error is (predicted - measured) / measured: above the line the prediction is too slow."
            .to_owned(),
        blocks,
    }
}

/// Every breakdown that the tables above leave out, as charts and folded tables.
fn groups(view: &ValidationView) -> Section {
    const DRAWN: [Dimension; 7] = [
        Dimension::Tp,
        Dimension::Pp,
        Dimension::Dp,
        Dimension::Ep,
        Dimension::Cp,
        Dimension::Size,
        Dimension::Format,
    ];
    let charts = DRAWN.into_iter().filter_map(|dimension| charts::by_group(view, dimension)).collect();
    let mut blocks = vec![Block::Charts(charts)];
    blocks.extend(Dimension::ALL.into_iter().filter(|dimension| !view.breakdown.contains(dimension)).map(
        |dimension| {
            Block::FoldedTable(
                format!("By {}", dimension.name()),
                tables::errors(view, dimension, Detail::Full),
            )
        },
    ));
    Section {
        id: "groups",
        title: "Error by degree, size and format",
        intro: "Rows of a group stand in brackets.".to_owned(),
        blocks,
    }
}

fn terms(view: &ValidationView) -> Option<Section> {
    let chart = charts::by_term(view)?;
    Some(Section {
        id: "terms",
        title: "Error by term",
        intro: "How much of the predicted step each term would have to gain or lose for the predictions of its source to meet \
                the measurements best, by least squares over the rows. It says where to look; no prediction uses it."
            .to_owned(),
        blocks: vec![
            Block::Charts(vec![chart]),
            Block::Table("Terms by source".to_owned(), tables::blame(view, Detail::Full)),
        ],
    })
}

fn calibration(view: &ValidationView) -> Option<Section> {
    let calibration = view.calibration.as_ref()?;
    Some(Section {
        id: "calibration",
        title: "With a calibration",
        intro: "Every other figure of this page is without it.".to_owned(),
        blocks: vec![
            Block::Notes(words::calibration(calibration)),
            Block::Table("Errors without and with the factors".to_owned(), tables::calibrated(calibration)),
            Block::Table("Factors".to_owned(), tables::factors(calibration)),
        ],
    })
}

fn ranking(view: &ValidationView) -> Option<Section> {
    Some(Section {
        id: "ranking",
        title: "Layouts of one model on the same devices",
        intro: words::ranking(view)?,
        blocks: vec![Block::FoldedTable("Each group".to_owned(), tables::ranking(view))],
    })
}

fn rows(view: &ValidationView) -> Section {
    let mut blocks = Vec::new();
    let refused: Vec<_> = words::refused_rows(view).take(100).collect();
    if !refused.is_empty() {
        blocks.push(Block::Lines(refused));
    }
    let failed = view.failures.iter().take(100).map(|failure| format!("{}: {}", failure.id, failure.reason));
    let failed: Vec<_> = failed.collect();
    if !failed.is_empty() {
        blocks.push(Block::Alerts(failed));
    }
    blocks.push(Block::FoldedTable("Values that no column states".to_owned(), tables::assumed(view)));
    Section {
        id: "rows",
        title: "Rows refused, and what was assumed",
        intro: format!(
            "{} refused, {} without a prediction, {} taken from rules.",
            counted(view.refused.len() as u64, "row"),
            count(view.failures.len() as u64),
            counted(view.assumed.len() as u64, "value")
        ),
        blocks,
    }
}
