//! The page of `goodput plan`.

use super::charts;
use super::page::{Block, Page, Section, Tile};
use crate::table::{Detail, plan_figures, plan_inputs, plan_rows};
use crate::view::{PlanAnswerView, PlanView};
use crate::words;

pub(super) fn page(view: &PlanView) -> Page {
    // Questions of one kind share a section, which stands where the first of them was asked.
    let mut sections: Vec<Section> = Vec::new();
    for (i, answer) in view.answers.iter().enumerate() {
        let title = words::plan_question(&answer.question);
        let blocks = blocks(view, i, answer);
        match sections.iter_mut().find(|section| section.title == title) {
            Some(section) => section.blocks.extend(blocks),
            None => {
                sections.push(Section {
                    id: words::plan_id(&answer.question),
                    title,
                    intro: String::new(),
                    blocks,
                });
            }
        }
    }
    let (inputs, measured) = view.measured_inputs();
    Page {
        title: words::plan_title(view),
        window: words::plan_scope(view),
        lines: Vec::new(),
        generated_by: view.generated_by.clone(),
        levels: Vec::new(),
        parts: Vec::new(),
        headline: vec![
            Tile {
                name: "answers",
                value: view.answers.len().to_string(),
                note: "in the order of the plan".to_owned(),
            },
            Tile {
                name: "inputs measured",
                value: format!("{measured} of {inputs}"),
                note: "every answer names its inputs and where they came from".to_owned(),
            },
        ],
        sections,
    }
}

fn blocks(view: &PlanView, i: usize, answer: &PlanAnswerView) -> Vec<Block> {
    let verdict = match &answer.name {
        Some(name) => format!("{name}: {}", answer.verdict),
        None => answer.verdict.clone(),
    };
    let mut blocks = vec![Block::Lines(vec![verdict])];
    if !answer.warnings.is_empty() {
        blocks.push(Block::Alerts(answer.warnings.clone()));
    }
    if let Some(picture) = &answer.picture {
        let chart = charts::plan(&format!("plan-{i}"), picture, view.currency.as_deref());
        blocks.push(Block::Charts(vec![chart]));
    }
    if !answer.figures.is_empty() {
        blocks.push(Block::Table("Figures".to_owned(), plan_figures(view, answer)));
    }
    for rows in &answer.rows {
        blocks.push(Block::Table(rows.title.to_owned(), plan_rows(view, rows, Detail::Full)));
    }
    let measured = answer.inputs.iter().filter(|input| input.measured).count();
    if !answer.inputs.is_empty() {
        let caption = format!("Inputs: {measured} of {} measured", answer.inputs.len());
        blocks.push(Block::FoldedTable(caption, plan_inputs(answer)));
    }
    blocks
}
