//! The page of `goodput predict`.

use super::drawings::{self, Mark, Segment, StackRow};
use super::page::{Block, Page, Part, Section, Tile};
use super::palette;
use crate::number::{UNKNOWN, counted, duration, percent, thousands};
use crate::table::{self, Detail, gigabytes};
use crate::view::{PictureView, PredictionView, StageTermView};
use crate::words;

/// Stages that have a bar each.
const BARS: usize = 64;

pub(super) fn page(view: &PredictionView) -> Page {
    let mut sections = Vec::new();
    sections.extend(view.picture.as_ref().map(picture));
    sections.push(terms(view));
    sections.push(memory(view));
    sections.extend(efficiency(view));
    sections.push(closed_forms(view));
    sections.push(contract(view));
    let mut lines = vec![words::predicted_run(view)];
    lines.extend(view.efficiency.as_ref().map(words::efficiency));
    Page {
        title: view.title.clone().unwrap_or_else(|| format!("Predicted step of {}", view.run.model)),
        window: format!("{} of {}", counted(view.run.devices.into(), "device"), view.run.cluster),
        lines,
        generated_by: view.generated_by.clone(),
        levels: Vec::new(),
        parts: parts(view),
        headline: headline(view),
        sections,
    }
}

/// The step as one bar.
fn parts(view: &PredictionView) -> Vec<Part> {
    let of = |term: &StageTermView, share: f64| Part {
        name: term.term,
        swatch: palette::swatch(palette::term(term.of), false),
        width: share * 100.0,
        share: percent(Some(share)),
        note: duration(term.time_ns as i64),
    };
    view.mean_terms().iter().map(|term| of(term, term.time_ns / view.step_ns)).collect()
}

fn headline(view: &PredictionView) -> Vec<Tile> {
    let memory = &view.memory;
    let spread = view.deviation * view.step_ns;
    let of_peak = |share: f64| percent(view.efficiency.as_ref().map(|_| share));
    let fits = match memory.fits {
        Some(true) => "fits",
        Some(false) => "does not fit",
        None => "the device's memory is not known",
    };
    vec![
        Tile {
            name: "step",
            value: format!("{} ± {}", duration(view.step_ns as i64), duration(spread as i64)),
            note: format!(
                "one standard deviation, {}; rests on: {}",
                percent(Some(view.deviation)),
                table::basis(view.basis)
            ),
        },
        Tile {
            name: "MFU",
            value: of_peak(view.mfu),
            note: view.efficiency.as_ref().map_or_else(
                || "the device has no peak for this format".to_owned(),
                |of| format!("exact convention, dense {} peak", of.dtype),
            ),
        },
        Tile {
            name: "HFU",
            value: of_peak(view.hfu),
            note: match view.recompute_ns {
                0.0 => "nothing is computed again".to_owned(),
                again => format!("{} of the step is computed again", duration(again as i64)),
            },
        },
        Tile {
            name: "tokens/s a device",
            value: thousands(view.tokens_per_second_per_device, 0),
            note: format!(
                "{} TFLOP/s a device",
                view.efficiency
                    .as_ref()
                    .map_or_else(|| UNKNOWN.to_owned(), |of| thousands(of.tflops_per_second_per_device, 1))
            ),
        },
        Tile {
            name: "memory",
            value: gigabytes(memory.total_bytes + memory.allowance_bytes),
            note: format!(
                "of {}: {fits}; {} of it is an assumed allowance",
                memory.capacity_bytes.map_or_else(|| UNKNOWN.to_owned(), gigabytes),
                gigabytes(memory.allowance_bytes)
            ),
        },
    ]
}

fn picture(view: &PictureView) -> Section {
    let mut blocks: Vec<Block> = view
        .windows
        .iter()
        .enumerate()
        .map(|(index, window)| Block::Drawing(drawings::gantt(format!("schedule-{index}"), window)))
        .collect();
    let mut notes = vec![
        "A pass that waits for parameters is drawn after its wait. The thin strip under a stage is what it exchanges with its replicas beside its passes."
            .to_owned(),
    ];
    let coarse = view.windows.iter().filter_map(|window| window.resolution_ns);
    notes.extend(coarse.reduce(f64::max).map(|ns| {
        format!(
            "Where not every pass can be seen, stretches shorter than {} are drawn as what fills most of them; the tables are exact.",
            duration(ns as i64)
        )
    }));
    if view.stages_omitted > 0 {
        notes.push(format!("{} in the middle are not drawn.", counted(view.stages_omitted as u64, "stage")));
    }
    blocks.push(Block::Notes(notes));
    Section {
        id: "schedule",
        title: "The simulated step",
        intro: "What every stage does at every moment. Point at a stretch for its micro-batch and its time."
            .to_owned(),
        blocks,
    }
}

fn terms(view: &PredictionView) -> Section {
    let rows: Vec<StackRow> = view
        .stages
        .iter()
        .take(BARS)
        .map(|stage| StackRow {
            name: format!("stage {}", stage.stage),
            segments: segments(&stage.terms),
            total: duration(view.step_ns as i64),
        })
        .collect();
    let mut notes = Vec::new();
    if view.stages.len() > BARS {
        notes.push(format!("{} more are not drawn.", counted((view.stages.len() - BARS) as u64, "stage")));
    }
    if view.recompute_ns > 0.0 {
        notes.push(format!(
            "{} of the mean is computed again in the backward pass.",
            duration(view.recompute_ns as i64)
        ));
    }
    let mut blocks = vec![
        Block::Drawing(drawings::stacks("terms-by-stage", None, "Terms of each stage", &rows, None)),
        Block::Notes(notes),
        Block::Table(
            "Every term, the mean over all devices, with what it rests on".to_owned(),
            table::predicted_terms(view),
        ),
    ];
    let beyond = table::beyond_tables(view);
    if !beyond.rows.is_empty() {
        blocks.push(Block::Alerts(words::beyond_tables(view).into_iter().collect()));
        blocks.push(Block::FoldedTable("Parts that no table holds as they are".to_owned(), beyond));
    }
    blocks.push(Block::FoldedTable("Every stage".to_owned(), table::predicted_stages(view, Detail::Full)));
    Section {
        id: "terms",
        title: "Where the step goes",
        intro: "The terms of every stage sum to the step. Uncertainty is one relative standard deviation, from the noise of the tables and \
                what lies beyond them."
            .to_owned(),
        blocks,
    }
}

/// Terms as stretches of a bar.
pub(super) fn segments(terms: &[StageTermView]) -> Vec<Segment> {
    let of = |term: &StageTermView| Segment {
        name: term.term,
        colour: palette::term(term.of),
        value: term.time_ns,
        text: duration(term.time_ns as i64),
    };
    terms.iter().map(of).collect()
}

fn memory(view: &PredictionView) -> Section {
    let memory = &view.memory;
    let colours = ["#2a78b0", "#5fb0d8", "#a8569e", "#2fa58d", "#7d9b3a", "#ecc344"];
    let mut parts: Vec<Segment> = memory
        .parts()
        .into_iter()
        .zip(colours)
        .filter(|((_, bytes), _)| *bytes > 0.0)
        .map(|((name, bytes), colour)| Segment { name, colour, value: bytes, text: gigabytes(bytes) })
        .collect();
    parts.push(Segment {
        name: "allowance (assumed)",
        colour: palette::OPEN,
        value: memory.allowance_bytes,
        text: gigabytes(memory.allowance_bytes),
    });
    let row = StackRow {
        name: format!("stage {}", memory.stage),
        segments: parts,
        total: gigabytes(memory.total_bytes + memory.allowance_bytes),
    };
    let mark = memory
        .capacity_bytes
        .map(|bytes| Mark { value: bytes, name: format!("{}: {}", view.run.device, gigabytes(bytes)) });
    Section {
        id: "memory",
        title: "Memory of the rank that needs most",
        intro: "At the fullest moment of the step.".to_owned(),
        blocks: vec![
            Block::Drawing(drawings::stacks(
                "memory-parts",
                None,
                "Parts of the memory",
                &[row],
                mark.as_ref(),
            )),
            Block::Table("Parts of the memory".to_owned(), table::predicted_memory(view)),
        ],
    }
}

fn efficiency(view: &PredictionView) -> Option<Section> {
    let efficiency = view.efficiency.as_ref()?;
    Some(Section {
        id: "conventions",
        title: "The same step in every convention",
        intro: words::efficiency(efficiency),
        blocks: vec![
            Block::Table(
                "Figures that conventions give this step".to_owned(),
                table::predicted_conventions(efficiency, Detail::Brief),
            ),
            Block::FoldedTable(
                "Every convention with its source".to_owned(),
                table::predicted_conventions(efficiency, Detail::Full),
            ),
        ],
    })
}

fn contract(view: &PredictionView) -> Section {
    let contract = &view.contract;
    let definitions = vec![
        ("scope", "prediction: nothing is measured".to_owned()),
        ("denominator", "the predicted step".to_owned()),
        (
            "devices",
            format!("{} ({})", counted(contract.devices.into(), "device"), contract.device_types.join(", ")),
        ),
        ("held", contract.timing_boundary.held.to_string()),
        ("productive", contract.timing_boundary.productive.to_owned()),
        ("made by", view.generated_by.clone()),
    ];
    Section {
        id: "contract",
        title: "The contract",
        intro: "What a measurement must share with the run for the two to be held against each other."
            .to_owned(),
        blocks: vec![
            Block::Lines(vec![words::prediction_contract(view)]),
            Block::Definitions(definitions),
            Block::Table(
                "Conditions and where they are known from".to_owned(),
                table::conditions(&contract.known),
            ),
        ],
    }
}

fn closed_forms(view: &PredictionView) -> Section {
    Section {
        id: "closed-forms",
        title: "Closed forms beside the simulation",
        intro: "For comparison only: nothing is predicted from them.".to_owned(),
        blocks: vec![Block::Table("Closed forms".to_owned(), table::closed_forms(view, Detail::Full))],
    }
}
