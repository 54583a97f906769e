//! Devices offered and held over time, with the queue on an axis of its own below.

use plotly::common::{Fill, HoverInfo, Line, LineShape, Mode};
use plotly::layout::{AxisType, HoverMode};
use plotly::{Scatter, Trace};

use super::{Chart, Key, axis, layout, palette, plain};
use crate::number::count;
use crate::view::SeriesView;

/// `None` without points.
pub(in crate::html) fn over_time(id: &str, series: &SeriesView) -> Option<Chart> {
    let points = &series.points;
    if points.is_empty() {
        return None;
    }
    let at: Vec<String> = points.iter().map(|p| p.at.clone()).collect();
    let line = |colour: &'static str, width| Line::new().shape(LineShape::Hv).color(colour).width(width);
    let area = |name: &str, y: Vec<f64>, colour: &'static str| {
        Scatter::new(at.clone(), y)
            .mode(Mode::Lines)
            .name(name)
            .stack_group("devices")
            .line(line(colour, 0.5))
            .fill_color(colour)
            .hover_template(format!("%{{y:,.1f}} {name}<extra></extra>"))
    };
    let held = area("held", points.iter().map(|p| p.held).collect(), palette::LEVEL);
    let unheld = area(
        "in service, not held",
        points.iter().map(|p| (p.offered - p.held).max(0.0)).collect(),
        palette::boundary(goodput_core::Boundary::Scheduling),
    );
    let queue = Scatter::new(at.clone(), points.iter().map(|p| p.waiting_devices as f64).collect())
        .mode(Mode::Lines)
        .name("devices asked for by waiting jobs")
        .fill(Fill::ToZeroY)
        .line(line(palette::QUEUE, 1.5))
        .y_axis("y2")
        .hover_text_array(
            points
                .iter()
                .map(|p| {
                    format!(
                        "{} waiting jobs ask for {} devices",
                        count(p.waiting_jobs),
                        count(p.waiting_devices)
                    )
                })
                .collect::<Vec<_>>(),
        )
        .hover_info(HoverInfo::Text);
    let traces: Vec<Box<dyn Trace>> = vec![held, unheld, queue];
    let name = series
        .pool
        .as_deref()
        .map_or_else(|| "the fleet".to_owned(), |pool| format!("pool {}", plain(pool, 40)));
    let layout = layout()
        .hover_mode(HoverMode::XUnified)
        .x_axis(axis("time (UTC)").type_(AxisType::Date).anchor("y2"))
        .y_axis(
            axis("devices")
                .domain(&[0.42, 1.0])
                .range_mode(plotly::layout::RangeMode::ToZero)
                .fixed_range(true),
        )
        .y_axis2(
            axis("queued devices")
                .domain(&[0.0, 0.3])
                .range_mode(plotly::layout::RangeMode::ToZero)
                .fixed_range(true),
        );
    let label =
        format!("Devices of {name} held and not held over time, and devices asked for by waiting jobs");
    let legend = vec![
        Key::plain("held", palette::LEVEL),
        Key::plain("in service, not held", palette::boundary(goodput_core::Boundary::Scheduling)),
        Key::plain("devices asked for by waiting jobs", palette::QUEUE),
    ];
    Some(Chart::new(id, label, 400, legend, traces, layout))
}
