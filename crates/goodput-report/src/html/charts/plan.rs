//! Pictures of a plan: curves over an axis, and the frontier of cost and time.

use goodput_decide::plan::{Picture, Spot};
use plotly::common::{HoverInfo, Line, Marker, Mode, Position};
use plotly::{Scatter, Trace};

use super::{Chart, Key, axis, layout, palette, plain};
use crate::number::{money, significant, thousands};

/// Points of a frontier that a page draws; the dominated beyond are left out evenly.
const POINTS: usize = 2000;
/// Diameter in pixels of the option with most goodput; the area follows the goodput.
const DIAMETER: f64 = 26.0;

/// The picture of one answer.
pub(in crate::html) fn plan(id: &str, picture: &Picture, currency: Option<&str>) -> Chart {
    match picture {
        Picture::Curves { x, y, lines, marks } => curves(id, x, y, lines, marks),
        Picture::Frontier(spots) => frontier(id, spots, currency),
    }
}

fn curves(
    id: &str,
    x: &str,
    y: &str,
    lines: &[(String, Vec<(f64, f64)>)],
    marks: &[(String, f64, f64)],
) -> Chart {
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    let mut legend = Vec::new();
    for ((name, points), colour) in lines.iter().zip(palette::KINDS.into_iter().cycle()) {
        let hover =
            |(x, y): &(f64, f64)| format!("{}: {} at {}", plain(name, 60), significant(*y), significant(*x));
        traces.push(
            Scatter::new(
                points.iter().map(|point| point.0).collect(),
                points.iter().map(|point| point.1).collect(),
            )
            .name(plain(name, 60))
            .mode(Mode::LinesMarkers)
            .line(Line::new().color(colour).width(2.0))
            .marker(Marker::new().color(colour).size(5))
            .hover_text_array(points.iter().map(hover).collect::<Vec<_>>())
            .hover_info(HoverInfo::Text),
        );
        legend.push(Key::plain(name.clone(), colour));
    }
    for (name, x, y) in marks {
        traces.push(
            Scatter::new(vec![*x], vec![*y])
                .name(plain(name, 60))
                .mode(Mode::MarkersText)
                .marker(Marker::new().color(palette::LEVEL).size(11))
                .text_array(vec![plain(name, 60)])
                .text_position(Position::TopCenter)
                .hover_text_array(vec![format!(
                    "{}: {} at {}",
                    plain(name, 60),
                    significant(*y),
                    significant(*x)
                )])
                .hover_info(HoverInfo::Text),
        );
    }
    let all = || lines.iter().flat_map(|(_, points)| points);
    let (least, most) =
        (all().map(|point| point.0).fold(f64::MAX, f64::min), all().map(|point| point.0).fold(0.0, f64::max));
    // Sizes and intervals spread over powers of two; times to a result do not.
    let wide = least > 0.0 && most / least > 16.0;
    let mut horizontal = axis(x);
    if wide {
        // Ticks of a logarithmic axis run into each other: the points themselves say where they are.
        let ticks: Vec<f64> =
            lines.first().map_or_else(Vec::new, |(_, points)| points.iter().map(|p| p.0).collect());
        let text = ticks.iter().map(|tick| thousands(*tick, usize::from(*tick < 100.0))).collect();
        horizontal = horizontal.type_(plotly::layout::AxisType::Log).tick_values(ticks).tick_text(text);
    }
    let layout = layout()
        .x_axis(horizontal)
        .y_axis(axis(y).tick_format(".1%").range_mode(plotly::layout::RangeMode::ToZero));
    Chart::new(id, format!("{y} against {x}"), 380, legend, traces, layout)
}

fn frontier(id: &str, spots: &[Spot], currency: Option<&str>) -> Chart {
    let most = spots.iter().map(|spot| spot.goodput).fold(f64::MIN_POSITIVE, f64::max);
    let (on, off): (Vec<&Spot>, Vec<&Spot>) = spots.iter().partition(|spot| !spot.dominated);
    let step = off.len().div_ceil(POINTS).max(1);
    let off: Vec<&Spot> = off.into_iter().step_by(step).collect();
    let named = on.len() <= 12;
    let hours = || spots.iter().map(|spot| spot.hours);
    let middle =
        f64::midpoint(hours().fold(f64::INFINITY, f64::min), hours().fold(f64::NEG_INFINITY, f64::max));
    let trace = |spots: &[&Spot], colour: &'static str, filled: bool| -> Box<dyn Trace> {
        let diameter = |spot: &&Spot| ((spot.goodput / most).sqrt() * DIAMETER).round().max(4.0) as usize;
        let hover = |spot: &&Spot| {
            format!(
                "{}<br>{} h, {}<br>R x P {:.3}{}",
                plain(&spot.name, 80),
                thousands(spot.hours, 1),
                currency.map_or_else(|| thousands(spot.cost, 0), |currency| money(spot.cost, currency)),
                spot.goodput,
                if spot.dominated { "<br>beaten in time and cost" } else { "" }
            )
        };
        let marker = Marker::new()
            .color(if filled { colour } else { "rgba(0,0,0,0)" })
            .line(Line::new().width(1.5).color(colour))
            .size_array(spots.iter().map(diameter).collect());
        let names = spots.iter().map(|spot| if named { plain(&spot.name, 40) } else { String::new() });
        // Names lean inwards, where the plot does not cut them.
        let lean = |spot: &&Spot| if spot.hours < middle { Position::TopRight } else { Position::TopLeft };
        Scatter::new(
            spots.iter().map(|spot| spot.hours).collect(),
            spots.iter().map(|spot| spot.cost).collect(),
        )
        .mode(if filled { Mode::LinesMarkersText } else { Mode::Markers })
        .line(Line::new().color(colour).width(1.0))
        .marker(marker)
        .text_array(names.collect::<Vec<_>>())
        .text_position_array(spots.iter().map(lean).collect())
        .hover_text_array(spots.iter().map(hover).collect::<Vec<_>>())
        .hover_info(HoverInfo::Text)
    };
    let mut along = on;
    along.sort_by(|one, other| one.hours.total_cmp(&other.hours));
    let traces = vec![trace(&off, palette::OTHER, false), trace(&along, palette::KINDS[0], true)];
    let cost =
        currency.map_or_else(|| "cost".to_owned(), |currency| format!("cost ({})", plain(currency, 12)));
    let layout = layout().x_axis(axis("time to result (h)")).y_axis(axis(&cost));
    let label = format!(
        "Cost against time to result: {} on its frontier, {} beaten in both",
        along.len(),
        spots.len() - along.len()
    );
    let legend = vec![
        Key::plain("not beaten in time and cost; area: R x P", palette::KINDS[0]),
        Key::plain("beaten in time and cost", palette::OTHER),
    ];
    Chart::new(id, label, 480, legend, traces, layout)
}
