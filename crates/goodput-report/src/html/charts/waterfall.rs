//! Where the capacity went: a solid bar for what is left at each level, a slice for what the boundary before it lost.

use goodput_core::Boundary;
use plotly::common::{Font, Line, Marker, TextAnchor, TextPosition};
use plotly::layout::{Axis, BarMode};
use plotly::{Bar, Trace};

use super::{Chart, Key, axis, labelled_axis, layout, marker, palette, row_bar, rows};
use crate::number::{device_hours, percent};
use crate::view::{Exact, LedgerView, LossView};

/// Offered to ideal.
pub(in crate::html) fn fleet_waterfall(ledger: &LedgerView) -> Chart {
    let capacity = &ledger.capacity_time;
    let offered = capacity.offered_ns.unwrap_or_default();
    let levels = [
        ("offered", offered),
        ("held", capacity.held_ns),
        ("retained", capacity.retained_ns),
        ("ideal", capacity.ideal_ns),
    ];
    waterfall(&levels, &Boundary::ALL, "offered")
}

/// Held to ideal.
pub(in crate::html) fn job_waterfall(ledger: &LedgerView) -> Chart {
    let capacity = &ledger.capacity_time;
    let levels =
        [("held", capacity.held_ns), ("retained", capacity.retained_ns), ("ideal", capacity.ideal_ns)];
    waterfall(&levels, &Boundary::ALL[1..], "held")
}

fn waterfall(levels: &[(&'static str, Exact)], boundaries: &[Boundary], whole_name: &str) -> Chart {
    let whole = levels[0].1.capacity();
    let share = |amount: Exact| amount.capacity().share_of(whole).unwrap_or(0.0);
    let last = levels.len() - 1;
    let names: Vec<_> = levels.iter().map(|(name, _)| (*name).to_owned()).collect();
    let colours =
        (0..levels.len()).map(|i| if i == last { palette::USEFUL } else { palette::LEVEL }).collect();
    let hours = |amount: Exact| device_hours(amount.capacity());
    let solid = Bar::new(names.clone(), levels.iter().map(|(_, a)| share(*a) * 100.0).collect())
        .name("left")
        .marker(Marker::new().color_array(colours))
        .text_array(levels.iter().map(|(_, a)| percent(Some(share(*a)))).collect::<Vec<_>>())
        .hover_text_array(
            levels
                .iter()
                .map(|(name, a)| {
                    format!(
                        "{name}: {} device-hours, {} of {whole_name}",
                        hours(*a),
                        percent(Some(share(*a)))
                    )
                })
                .collect::<Vec<_>>(),
        )
        .hover_info(plotly::common::HoverInfo::Text)
        .text_position(TextPosition::Inside)
        .inside_text_anchor(TextAnchor::Middle)
        .inside_text_font(Font::new().color("#ffffff"));
    let mut traces: Vec<Box<dyn Trace>> = vec![solid];
    for (i, boundary) in boundaries.iter().enumerate() {
        let lost = Exact(levels[i].1.0 - levels[i + 1].1.0);
        let text = format!(
            "lost at the {boundary} boundary: {} device-hours, {} of {whole_name}",
            hours(lost),
            percent(Some(share(lost)))
        );
        let colour = palette::boundary(*boundary);
        let slice = Bar::new(vec![names[i + 1].clone()], vec![share(lost) * 100.0])
            .name(format!("lost: {boundary}"))
            .marker(Marker::new().color(colour).opacity(0.85).line(Line::new().color(colour).width(1.0)))
            .text(format!("−{}", percent(Some(share(lost)))))
            .text_position(TextPosition::Auto)
            .inside_text_anchor(TextAnchor::Middle)
            .hover_text(text)
            .hover_info(plotly::common::HoverInfo::Text);
        traces.push(slice);
    }
    let label = format!(
        "Waterfall of capacity-time: {}",
        levels
            .iter()
            .map(|(name, a)| format!("{name} {} device-hours ({})", hours(*a), percent(Some(share(*a)))))
            .collect::<Vec<_>>()
            .join(", ")
    );
    let layout =
        layout().bar_mode(BarMode::Stack).bar_gap(0.25).x_axis(Axis::new().fixed_range(true)).y_axis(
            axis(&format!("share of {whole_name}"))
                .tick_suffix("%")
                .range(vec![0.0, 104.0])
                .fixed_range(true),
        );
    let legend = boundaries
        .iter()
        .map(|&b| Key::plain(format!("lost at the {b} boundary"), palette::boundary(b)))
        .collect();
    Chart::new("waterfall", label, 380, legend, traces, layout)
}

/// The runtime slice opened into its categories, as shares of held time.
pub(in crate::html) fn opened(ledger: &LedgerView, losses: &[LossView]) -> Option<Chart> {
    let held = ledger.capacity_time.held_ns.capacity();
    let runtime: Vec<_> = losses.iter().filter(|l| l.boundary == "runtime").collect();
    if runtime.is_empty() {
        return None;
    }
    let share = |l: &LossView| l.amount_ns.capacity().share_of(held);
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    for (i, loss) in runtime.iter().enumerate() {
        let text = format!(
            "{}: {} device-hours, {} of held",
            loss.label,
            device_hours(loss.amount_ns.capacity()),
            percent(share(loss))
        );
        traces.push(
            row_bar(vec![share(loss).unwrap_or(0.0) * 100.0], vec![i])
                .name(loss.label)
                .marker(marker(loss.kind))
                .text(percent(share(loss)))
                .text_position(TextPosition::Outside)
                .clip_on_axis(false)
                .hover_text(text)
                .hover_info(plotly::common::HoverInfo::Text),
        );
    }
    let names = runtime.iter().map(|l| l.label.to_owned()).collect();
    let height = (runtime.len() * 30 + 70).max(200);
    let layout = layout()
        .bar_mode(BarMode::Overlay)
        .bar_gap(0.3)
        .x_axis(
            labelled_axis(
                "share of held time",
                runtime.iter().filter_map(|l| share(l)).map(|s| s * 100.0),
                0.3,
            )
            .tick_suffix("%"),
        )
        .y_axis(rows(names));
    Some(Chart::new(
        "opened",
        "The runtime losses as shares of held time, the largest first",
        height,
        Vec::new(),
        traces,
        layout,
    ))
}
