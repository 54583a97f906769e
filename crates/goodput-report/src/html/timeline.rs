//! The page of `goodput timeline`.

use super::charts;
use super::page::{
    Block, Page, Section, Tile, contract_section, levels, published_section, read_section, warning_section,
};
use crate::number::{count, counted, duration, factor};
use crate::table::{self, Detail};
use crate::view::{ComposedView, TimelineView};
use crate::words;

pub(super) fn page(view: &TimelineView) -> Page {
    let mut sections = vec![losses(view)];
    sections.extend(lanes(view));
    sections.push(levers(view));
    sections.push(Section {
        id: "steps",
        title: "Steps",
        intro: String::new(),
        blocks: vec![Block::Lines(words::steps(view))],
    });
    if let Some(model) = &view.composed {
        sections.push(Section {
            id: "model",
            title: "The composed first-order model beside what was measured",
            intro: "Each owner's own formula as a share of held time. What the model does not predict is the residual."
                .to_owned(),
            blocks: model_blocks(model),
        });
    }
    sections.extend(published(view));
    sections.push(read_section(&view.read_report));
    sections.extend(warning_section(&view.warnings));
    sections.push(contract_section(&view.contract, &view.generated_by));
    Page {
        title: words::job_title(view),
        window: words::window(&view.contract.window),
        lines: words::job_contract(view),
        generated_by: view.generated_by.clone(),
        levels: levels(&view.ledger, &view.losses),
        parts: Vec::new(),
        headline: headline(view),
        sections,
    }
}

fn model_blocks(model: &ComposedView) -> Vec<Block> {
    let mut blocks =
        vec![Block::Table("Modelled and measured shares of held time".to_owned(), table::composed(model))];
    blocks.extend(charts::size_curve("size-curve", model).map(|chart| Block::Charts(vec![chart])));
    if !model.size_curve.is_empty() {
        blocks.push(Block::Table("The model against job size".to_owned(), table::size_curve(model)));
    }
    blocks
}

fn published(view: &TimelineView) -> Option<Section> {
    let basis = view.program_basis.as_ref()?;
    let own = charts::OwnMfu {
        name: view.job.clone().unwrap_or_else(|| "this job".to_owned()),
        mfu: basis.mfu,
        convention: basis.convention.clone(),
    };
    published_section(&[own])
}

fn headline(view: &TimelineView) -> Vec<Tile> {
    let mut tiles = vec![Tile {
        name: "steps retained",
        value: count(view.steps.retained),
        note: words::steps(view).into_iter().next().unwrap_or_default(),
    }];
    if let Some(f) = view.fault_free_step_ns {
        tiles.push(Tile {
            name: "fault-free step",
            value: duration(f.as_i64()),
            note: "median of the steady steps with input ready".to_owned(),
        });
    }
    if view.ledger.factors.job_product.is_some() {
        tiles.push(Tile {
            name: "job product",
            value: factor(view.ledger.factors.job_product),
            note: "runtime x program goodput: what the team can improve inside its own allocation".to_owned(),
        });
    }
    tiles
}

fn losses(view: &TimelineView) -> Section {
    let mut drawn = vec![charts::job_waterfall(&view.ledger, &view.losses)];
    drawn.extend(charts::opened(&view.ledger, &view.losses));
    Section {
        id: "losses",
        title: "Where the held time went",
        intro: "Each solid bar is what is left after a boundary, each slice what that boundary lost; the second chart opens \
                the runtime slice."
            .to_owned(),
        blocks: vec![
            Block::Charts(drawn),
            Block::Notes(words::open(&view.ledger, &view.losses).into_iter().collect()),
            Block::Table("Every loss, the largest first".to_owned(), table::losses(&view.losses, "of held", Detail::Full)),
            Block::FoldedTable("The chain in figures".to_owned(), table::job_chain(&view.ledger)),
        ],
    }
}

fn lanes(view: &TimelineView) -> Option<Section> {
    let chart = charts::lanes(&view.lanes, &view.contract.window, |lane, _| {
        let devices = if view.held.devices_known {
            format!(" · {}", counted(lane.devices, "device"))
        } else {
            String::new()
        };
        format!("attempt {}{devices}", lane.attempt)
    })?;
    Some(Section {
        id: "lanes",
        title: "What each attempt did",
        intro: format!(
            "Stretches shorter than {} are drawn as part of what surrounds them; the figures are exact.",
            duration(view.lanes.resolution_ns.as_i64())
        ),
        blocks: vec![Block::Charts(vec![chart])],
    })
}

fn levers(view: &TimelineView) -> Section {
    let mut blocks: Vec<_> =
        charts::levers(&view.levers, None).into_iter().map(|chart| Block::Charts(vec![chart])).collect();
    blocks.extend(words::withheld(&view.levers).map(|note| Block::Notes(vec![note])));
    let table = table::levers(&view.levers, None, Detail::Full);
    blocks.push(Block::Table("Levers, the largest gain first".to_owned(), table));
    blocks.push(Block::Notes(words::worth_of_a_point(&view.ledger)));
    Section {
        id: "levers",
        title: "Which lever returns the most",
        intro: "What removing each loss whole would add to runtime x program goodput.".to_owned(),
        blocks,
    }
}
