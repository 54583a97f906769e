//! The page of `goodput explain`.

use super::charts;
use super::page::{Block, Page, Part, Section, Tile};
use super::palette;
use crate::number::{duration, gain, percent};
use crate::table::{self, Detail};
use crate::view::ExplainView;
use crate::words::{self, signed_duration};

pub(super) fn page(view: &ExplainView) -> Page {
    let mut sections = Vec::new();
    if !view.same_job || !view.warnings.is_empty() {
        let mut alerts: Vec<String> = view
            .other_job()
            .map(|check| {
                format!(
                    "The traces are not of this run: {}: {} in the run, {} in the traces.",
                    check.label, check.run, check.trace
                )
            })
            .collect();
        alerts.extend(view.warnings.iter().cloned());
        sections.push(Section {
            id: "warnings",
            title: "Before you trust a figure",
            intro: String::new(),
            blocks: vec![Block::Alerts(alerts)],
        });
    }
    sections.extend([terms(view), findings(view)]);
    sections.extend(stages(view));
    sections.push(kernels(view));
    sections.push(same_job(view));
    let answer = words::explain_answer(view);
    Page {
        title: words::explain_title(view),
        window: answer.join(" "),
        lines: words::explain_scope(view),
        generated_by: view.generated_by.clone(),
        levels: Vec::new(),
        parts: parts(view),
        headline: headline(view),
        sections,
    }
}

/// The measured step as one bar.
fn parts(view: &ExplainView) -> Vec<Part> {
    let share = |ns: f64| if view.measured_ns > 0.0 { ns / view.measured_ns } else { 0.0 };
    let measured = view.terms.iter().filter(|term| term.measured_total_ns > 0);
    measured
        .map(|term| Part {
            name: term.label,
            swatch: palette::swatch(palette::explained(term.kind), palette::is_explained_hatched(term.kind)),
            width: share(term.measured_ns) * 100.0,
            share: percent(Some(share(term.measured_ns))),
            note: match term.predicted_ns > 0.0 {
                true => format!("predicted {}", duration(term.predicted_ns as i64)),
                false => "not predicted".to_owned(),
            },
        })
        .collect()
}

fn headline(view: &ExplainView) -> Vec<Tile> {
    let noise = if view.within_noise { "within" } else { "beyond" };
    let mut tiles = vec![
        Tile {
            name: "measured step",
            value: duration(view.measured_ns as i64),
            note: format!(
                "predicted {} ± {}",
                duration(view.predicted_ns as i64),
                percent(Some(view.deviation))
            ),
        },
        Tile {
            name: "gap",
            value: gain(view.gap_share),
            note: format!("{}, {noise} twice the prediction's deviation", signed_duration(view.gap_ns)),
        },
        Tile {
            name: "term that holds it",
            value: view.holder_label.unwrap_or("none").to_owned(),
            note: view.terms.iter().find(|term| Some(term.term) == view.holder).map_or_else(
                || "no term of its sign is beyond its noise".to_owned(),
                |term| format!("{} of {}", signed_duration(term.difference_ns), signed_duration(view.gap_ns)),
            ),
        },
    ];
    tiles.push(Tile {
        name: "same job",
        value: if view.same_job { "nothing against it" } else { "no" }.to_owned(),
        note: view.other_job().map(|check| check.label).next().unwrap_or("see the last table").to_owned(),
    });
    tiles
}

fn terms(view: &ExplainView) -> Section {
    Section {
        id: "terms",
        title: "Term by term",
        intro: "A mean step of the traced devices, every nanosecond in one term. Of the prediction the same devices."
            .to_owned(),
        blocks: vec![
            Block::Charts(vec![charts::paired_terms(view), charts::differences(view)]),
            Block::Table("Predicted and measured".to_owned(), table::explained_terms(view, Detail::Full)),
        ],
    }
}

fn findings(view: &ExplainView) -> Section {
    let blocks = if view.findings.is_empty() {
        vec![Block::Lines(vec!["Nothing: no rule is borne out by the numbers.".to_owned()])]
    } else {
        vec![Block::Table("Largest amount first".to_owned(), table::explain_findings(view))]
    };
    Section {
        id: "findings",
        title: "What to check",
        intro: "Every row is a hypothesis: change one thing, trace again, and believe the step time."
            .to_owned(),
        blocks,
    }
}

fn stages(view: &ExplainView) -> Option<Section> {
    (!view.stages.is_empty()).then(|| Section {
        id: "stages",
        title: "Stages",
        intro: "Ranks stand on stages as the layout of the run counts them.".to_owned(),
        blocks: vec![Block::Table("Traced stages".to_owned(), table::explained_stages(view, Detail::Full))],
    })
}

fn kernels(view: &ExplainView) -> Section {
    let mut blocks = Vec::new();
    if !view.exchanges.is_empty() {
        blocks.push(Block::Table(
            "Exchanges: slower, or less of them hidden".to_owned(),
            table::explained_exchanges(view),
        ));
    }
    blocks.push(Block::Table("Kernels".to_owned(), table::explained_kernels(view)));
    blocks.push(Block::FoldedTable("Every traced rank".to_owned(), table::explained_ranks(view)));
    Section { id: "kernels", title: "Exchanges and kernels", intro: String::new(), blocks }
}

fn same_job(view: &ExplainView) -> Section {
    Section {
        id: "same-job",
        title: "Is it the same job?",
        intro: "What the run says against what the traces say.".to_owned(),
        blocks: vec![Block::Table("Run and traces".to_owned(), table::same_job(view))],
    }
}
