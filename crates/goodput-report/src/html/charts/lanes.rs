//! A lane an attempt: what it did over time.

use std::collections::BTreeMap;

use goodput_core::{Pattern, Timestamp};
use plotly::common::{HoverInfo, Line, Marker};
use plotly::layout::{AxisType, BarMode};
use plotly::{Bar, Trace};

use super::{Chart, Floating, Key, THICKNESS, axis, layout, marker, palette, plain, row_bar, rows};
use crate::number::{duration, instant, rfc3339};
use crate::view::{LaneView, LanesView, SegmentView, WindowView};

/// `None` when no job has a timeline. `name` of a lane is told whether it is the first of its job.
pub(in crate::html) fn lanes(
    view: &LanesView,
    window: &WindowView,
    name: impl Fn(&LaneView, bool) -> String,
) -> Option<Chart> {
    if view.lanes.is_empty() {
        return None;
    }
    // Productive time first, then the patterns in charging order: the order of the legend.
    let mut by_use: BTreeMap<Option<Pattern>, Vec<(usize, SegmentView, String)>> = BTreeMap::new();
    for (row, lane) in view.lanes.iter().enumerate() {
        for segment in &lane.segments {
            let label = segment.pattern.map_or("productive", Pattern::label);
            let from = Timestamp::from_nanos(segment.from_ns.as_i64());
            let length_ns = (segment.to_ns.0 - segment.from_ns.0).min(i128::from(i64::MAX)) as i64;
            let text = format!(
                "job {}, attempt {}: {label}, {} from {}",
                plain(&lane.job, 40),
                lane.attempt,
                duration(length_ns),
                instant(from)
            );
            by_use.entry(segment.pattern).or_default().push((row, *segment, text));
        }
    }
    let legend = by_use
        .keys()
        .map(|used_for| used_for.map_or_else(|| Key::plain("productive", palette::USEFUL), Key::of))
        .collect();
    let traces = by_use.into_iter().map(|(pattern, stretches)| trace(pattern, stretches)).collect();
    let names = view
        .lanes
        .iter()
        .enumerate()
        .map(|(i, lane)| plain(&name(lane, i == 0 || view.lanes[i - 1].job != lane.job), 40))
        .collect();
    let layout = layout()
        .bar_mode(BarMode::Overlay)
        .x_axis(
            axis("time (UTC)").type_(AxisType::Date).range(vec![window.from.as_str(), window.to.as_str()]),
        )
        .y_axis(rows(names));
    let label = format!("What each of {} attempts did over time", view.lanes.len());
    Some(Chart::new("lanes", label, view.lanes.len() * 34 + 90, legend, traces, layout))
}

fn trace(pattern: Option<Pattern>, stretches: Vec<(usize, SegmentView, String)>) -> Box<dyn Trace> {
    let (mut rows, mut lengths_ms, mut base, mut texts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (row, segment, text) in stretches {
        rows.push(row);
        lengths_ms.push((segment.to_ns.0 - segment.from_ns.0) as f64 / 1e6);
        base.push(rfc3339(Timestamp::from_nanos(segment.from_ns.as_i64())));
        texts.push(text);
    }
    let marker =
        pattern.map_or_else(|| Marker::new().color(palette::USEFUL), marker).line(Line::new().width(0.0));
    let bar: Box<Bar<f64, usize>> = row_bar(lengths_ms, rows)
        .name(pattern.map_or("productive", Pattern::label))
        .marker(marker)
        .width(THICKNESS)
        .hover_text_array(texts)
        .hover_info(HoverInfo::Text);
    Box::new(Floating { bar: *bar, base })
}
