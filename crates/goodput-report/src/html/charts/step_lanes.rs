//! The longest step over time, a lane a rank.

use std::collections::BTreeMap;

use goodput_trace::partition::Charge;
use plotly::common::{HoverInfo, Line};
use plotly::layout::BarMode;
use plotly::{Bar, Trace};

use super::{Chart, Floating, Key, THICKNESS, axis, charge_marker, layout, plain, row_bar, rows, time_unit};
use crate::number::duration;
use crate::view::{ChargedSegmentView, StepTimelineView};

/// Characters of a kernel's name in a hover text.
const KERNEL: usize = 56;

/// `name` of a rank by its index.
pub(in crate::html) fn step_lanes(view: &StepTimelineView, name: impl Fn(usize) -> String) -> Chart {
    let (unit, unit_ns) = time_unit(view.length_ns);
    let names: Vec<String> = view.lanes.iter().map(|lane| plain(&name(lane.index), 28)).collect();
    // Exchanges of all kinds share a colour and a key.
    let mut by_key: BTreeMap<&str, Vec<(usize, &ChargedSegmentView)>> = BTreeMap::new();
    for (row, lane) in view.lanes.iter().enumerate() {
        for segment in &lane.segments {
            by_key.entry(segment.charge).or_default().push((row, segment));
        }
    }
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    let mut legend = Vec::new();
    for charge in Charge::one_a_key() {
        let Some(segments) = by_key.get(charge.key()) else { continue };
        legend.push(Key::of_charge(charge));
        let (mut at, mut lengths, mut base, mut texts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for &(row, segment) in segments {
            at.push(row);
            lengths.push((segment.to_ns - segment.from_ns) as f64 / unit_ns);
            base.push(segment.from_ns as f64 / unit_ns);
            texts.push(text(&names[row], charge, segment));
        }
        let bar: Box<Bar<f64, usize>> = row_bar(lengths, at)
            .name(charge.label())
            .marker(charge_marker(charge).line(Line::new().width(0.0)))
            .width(THICKNESS)
            .hover_text_array(texts)
            .hover_info(HoverInfo::Text);
        traces.push(Box::new(Floating { bar: *bar, base }));
    }
    let lanes = view.lanes.len();
    let layout = layout()
        .bar_mode(BarMode::Overlay)
        .x_axis(
            axis(&format!("time since the step began on the device ({unit})"))
                .range(vec![0.0, view.length_ns as f64 / unit_ns]),
        )
        .y_axis(rows(names));
    let label = format!("What each of {lanes} ranks did over the longest step");
    let height = lanes * if lanes > 12 { 22 } else { 34 } + 80;
    Chart::new("step-timeline", label, height, legend, traces, layout)
}

fn text(lane: &str, charge: Charge, segment: &ChargedSegmentView) -> String {
    let length = duration(segment.to_ns - segment.from_ns);
    let from = duration(segment.from_ns);
    match &segment.kernel {
        Some(kernel) if charge.is_idle() => {
            format!("{lane}: {}, {length} from {from}, before {}", charge.label(), plain(kernel, KERNEL))
        }
        Some(kernel) => {
            format!("{lane}: {}, {length} from {from}: {}", charge.label(), plain(kernel, KERNEL))
        }
        None => format!("{lane}: mostly {}, {length} from {from}", charge.label()),
    }
}
