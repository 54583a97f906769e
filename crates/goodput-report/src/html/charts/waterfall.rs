//! Where the capacity went: a solid bar for what is left at each level, a slice for what the boundary before it lost,
//! a hatched one for what no record settles there.

use goodput_core::Boundary;
use plotly::common::{Font, Marker, TextAnchor, TextPosition};
use plotly::layout::{Axis, BarMode};
use plotly::{Bar, Trace};

use super::{
    Chart, Key, THICKNESS, axis, layout, marker, open_marker, palette, row_bar, rows, share_axis, whole_axis,
};
use crate::number::{device_hours, percent};
use crate::view::{Exact, LedgerView, LossView};

/// Offered to ideal.
pub(in crate::html) fn fleet_waterfall(ledger: &LedgerView, losses: &[LossView]) -> Chart {
    let capacity = &ledger.capacity_time;
    let offered = capacity.offered_ns.unwrap_or_default();
    let levels = [
        ("offered", offered),
        ("held", capacity.held_ns),
        ("retained", capacity.retained_ns),
        ("ideal", capacity.ideal_ns),
    ];
    waterfall(&levels, &Boundary::ALL, losses).titled("From offered to ideal")
}

/// Held to ideal.
pub(in crate::html) fn job_waterfall(ledger: &LedgerView, losses: &[LossView]) -> Chart {
    let capacity = &ledger.capacity_time;
    let levels =
        [("held", capacity.held_ns), ("retained", capacity.retained_ns), ("ideal", capacity.ideal_ns)];
    waterfall(&levels, &Boundary::ALL[1..], losses).titled("From held to ideal")
}

fn waterfall(levels: &[(&'static str, Exact)], boundaries: &[Boundary], losses: &[LossView]) -> Chart {
    let (whole_name, whole) = levels[0];
    let whole = whole.capacity();
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
    let mut legend = Vec::new();
    let mut any_open = false;
    for (i, &boundary) in boundaries.iter().enumerate() {
        let open = LossView::open_at(losses, boundary);
        let lost = Exact(levels[i].1.0 - levels[i + 1].1.0 - open.0);
        let slice = |name: String, amount: Exact, marker: Marker, text: String| {
            let shown = percent(Some(share(amount)));
            Bar::new(vec![names[i + 1].clone()], vec![share(amount) * 100.0])
                .hover_text(format!("{name}: {} device-hours, {shown} of {whole_name}", hours(amount)))
                .name(name)
                .marker(marker)
                .text(text)
                .text_position(TextPosition::Auto)
                .inside_text_anchor(TextAnchor::Middle)
                .hover_info(plotly::common::HoverInfo::Text)
        };
        if open.0 > 0 {
            // Between two others a thin slice has no room for its text.
            let text = match lost.0 == 0 || share(open) > 0.05 {
                true => format!("{} open", percent(Some(share(open)))),
                false => String::new(),
            };
            let name = format!("open at the {boundary} boundary: no record settles it");
            let slice = slice(name, open, open_marker(), text);
            traces.push(slice.inside_text_font(Font::new().color("#1b1f24")));
            any_open = true;
        }
        if lost.0 > 0 {
            let (name, colour) = (format!("lost at the {boundary} boundary"), palette::boundary(boundary));
            legend.push(Key::plain(name.clone(), colour));
            let text = format!("−{}", percent(Some(share(lost))));
            let slice = slice(name, lost, Marker::new().color(colour), text);
            traces.push(slice.inside_text_font(Font::new().color("#ffffff")));
        }
    }
    if any_open {
        legend.push(Key::open("not settled: may still cross"));
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
            whole_axis(axis(&format!("share of {whole_name}"))).range(vec![0.0, 109.0]).fixed_range(true),
        );
    Chart::new("waterfall", label, 380, legend, traces, layout)
}

/// The runtime slice opened into its categories, as shares of what the waterfall starts from.
pub(in crate::html) fn opened(ledger: &LedgerView, losses: &[LossView]) -> Option<Chart> {
    let capacity = &ledger.capacity_time;
    let (whole_name, whole) = match capacity.offered_ns {
        Some(offered) => ("offered", offered),
        None => ("held", capacity.held_ns),
    };
    let runtime: Vec<_> = losses.iter().filter(|l| l.kind.boundary() == Boundary::Runtime).collect();
    if runtime.is_empty() {
        return None;
    }
    let share = |amount: Exact| amount.capacity().share_of(whole.capacity()).unwrap_or(0.0);
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    for (i, loss) in runtime.iter().enumerate() {
        let shown = percent(Some(share(loss.amount_ns)));
        let text = format!(
            "{}: {} device-hours, {shown} of {whole_name}",
            loss.label,
            device_hours(loss.amount_ns.capacity())
        );
        traces.push(
            row_bar(vec![share(loss.amount_ns) * 100.0], vec![i])
                .name(loss.label)
                .marker(marker(loss.kind))
                .width(THICKNESS)
                .text(shown)
                .text_position(TextPosition::Outside)
                .clip_on_axis(false)
                .hover_text(text)
                .hover_info(plotly::common::HoverInfo::Text),
        );
    }
    let names = runtime.iter().map(|l| l.label.to_owned()).collect();
    let shares = runtime.iter().map(|l| share(l.amount_ns) * 100.0);
    let layout = layout()
        .bar_mode(BarMode::Overlay)
        .x_axis(share_axis(&format!("share of {whole_name}"), shares))
        .y_axis(rows(names));
    let slice = share(Exact(capacity.held_ns.0 - capacity.retained_ns.0));
    let title = format!("The runtime slice opened: {} of {whole_name}", percent(Some(slice)));
    let label = format!("{title}, by category, the largest first");
    Some(Chart::new("opened", label, runtime.len() * 30 + 80, Vec::new(), traces, layout).titled(title))
}
