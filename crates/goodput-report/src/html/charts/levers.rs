//! Levers ranked by what each would add to the product at its ceiling.

use goodput_core::Owner;
use plotly::Trace;
use plotly::common::{HoverInfo, TextPosition};
use plotly::layout::BarMode;

use super::{Chart, THICKNESS, labelled_axis, layout, marker, row_bar, rows};
use crate::number::{factor, gain, money};
use crate::view::LeverView;

/// Levers drawn; the table lists all.
const DRAWN: usize = 12;

/// Levers that somebody can pull. `None` when none has a bounded gain.
pub(in crate::html) fn levers(levers: &[LeverView], currency: Option<&str>) -> Option<Chart> {
    let drawn: Vec<_> = levers
        .iter()
        .filter(|l| l.kind.owner() != Owner::Evidence)
        .filter_map(|l| Some((l, l.relative_gain?)))
        .take(DRAWN)
        .collect();
    if drawn.is_empty() {
        return None;
    }
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    for (row, (lever, relative_gain)) in drawn.iter().enumerate() {
        let worth = match (lever.worth, currency) {
            (Some(worth), Some(currency)) => format!(" · {}", money(worth, currency)),
            _ => String::new(),
        };
        let text = format!("{}{worth}", gain(*relative_gain));
        let hover = format!(
            "{}: {}; {} goodput {} to {}; owner: {}{}",
            lever.label,
            lever.lever,
            lever.boundary,
            factor(lever.factor),
            factor(lever.ceiling),
            lever.owner_label,
            lever.condition.map(|c| format!("; {c}")).unwrap_or_default()
        );
        traces.push(
            row_bar(vec![relative_gain * 100.0], vec![row])
                .name(lever.label)
                .marker(marker(lever.kind))
                .width(THICKNESS)
                .text(text)
                .text_position(TextPosition::Outside)
                .clip_on_axis(false)
                .hover_text(hover)
                .hover_info(HoverInfo::Text),
        );
    }
    let names = drawn.iter().map(|(l, _)| l.label.to_owned()).collect();
    let layout = layout()
        .bar_mode(BarMode::Overlay)
        .x_axis(
            labelled_axis(
                "gain of the product if the whole loss were removed",
                drawn.iter().map(|(_, gain)| gain * 100.0),
                0.6,
            )
            .tick_suffix("%"),
        )
        .y_axis(rows(names));
    let label = "Relative gain of the product if each loss were removed, the largest first";
    Some(Chart::new("levers", label, drawn.len() * 32 + 70, Vec::new(), traces, layout))
}
