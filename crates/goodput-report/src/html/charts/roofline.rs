//! Achieved rate against intensity, under the device's two ceilings.

use std::collections::BTreeMap;

use goodput_trace::class::Class;
use plotly::common::{HoverInfo, Line, Marker, Mode, Position};
use plotly::layout::AxisType;
use plotly::{Scatter, Trace};

use super::{Chart, Key, axis, layout, palette, plain};
use crate::number::{duration, percent, si, thousands};
use crate::view::{CeilingsView, RooflineKernelView, RooflineView};

/// Diameter in pixels of the kernels with least and with most time: the area follows the time.
const DIAMETERS: (f64, f64) = (6.0, 40.0);
/// Intensities drawn on both sides of the kernels and the ridges.
const ROOM: f64 = 3.0;

/// `None` when no kernel that does arithmetic could be placed.
pub(in crate::html) fn roofline(view: &RooflineView) -> Option<Chart> {
    let placed: Vec<_> = view.kernels.iter().filter_map(point).collect();
    let longest_ns = placed.iter().map(|(_, kernel)| kernel.time_ns).max()?;
    // A peak for arithmetic; work that only moves data has none of its own.
    let mut ceilings: Vec<_> = view.ceilings.iter().filter(|c| c.dtype.is_some()).collect();
    ceilings.dedup_by_key(|c| (c.flops_per_second.to_bits(), c.bytes_per_second.to_bits()));
    let at = || placed.iter().map(|(intensity, _)| *intensity).chain(ceilings.iter().map(|c| c.ridge));
    let (from, to) = (at().fold(f64::MAX, f64::min) / ROOM, at().fold(0.0, f64::max) * ROOM);

    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    for (i, &ceilings_of_type) in ceilings.iter().enumerate() {
        // Types share a bandwidth: its name stands on the slope once.
        let slope_is_named =
            ceilings[..i].iter().any(|c| c.bytes_per_second == ceilings_of_type.bytes_per_second);
        traces.push(ceiling(ceilings_of_type, (from, to), !slope_is_named));
    }
    let mut by_class: BTreeMap<Class, Vec<(f64, &RooflineKernelView)>> = BTreeMap::new();
    for (intensity, kernel) in &placed {
        by_class.entry(kernel.kind).or_default().push((*intensity, kernel));
    }
    let mut legend = Vec::new();
    for (class, kernels) in by_class {
        legend.push(Key::plain(class.label(), palette::class(class)));
        let diameter = |kernel: &RooflineKernelView| {
            let share = (kernel.time_ns as f64 / longest_ns.max(1) as f64).sqrt();
            (DIAMETERS.0 + (DIAMETERS.1 - DIAMETERS.0) * share).round() as usize
        };
        let points = Scatter::new(
            kernels.iter().map(|(intensity, _)| *intensity).collect(),
            kernels.iter().map(|(_, kernel)| kernel.flops_per_second).collect(),
        )
        .name(class.label())
        .mode(Mode::Markers)
        .marker(
            Marker::new()
                .color(palette::class(class))
                .opacity(0.75)
                .line(Line::new().width(1.0).color("#ffffff"))
                .size_array(kernels.iter().map(|(_, kernel)| diameter(kernel)).collect()),
        )
        .hover_text_array(kernels.iter().map(|(_, kernel)| hover(kernel)).collect::<Vec<_>>())
        .hover_info(HoverInfo::Text);
        traces.push(points);
    }
    let log = |title: &str, format: &str| axis(title).type_(AxisType::Log).tick_format(format);
    let layout = layout()
        .x_axis(log("intensity (FLOP a byte)", "~g").range(vec![from.log10(), to.log10()]))
        .y_axis(log("achieved (FLOP/s)", "~s"));
    let label = format!("Roofline: {} kernels under {} ceilings", placed.len(), ceilings.len());
    Some(Chart::new("roofline", label, 460, legend, traces, layout))
}

/// Where a kernel stands; `None` for one that only moves data, or moves none: a log scale has no zero.
fn point(kernel: &RooflineKernelView) -> Option<(f64, &RooflineKernelView)> {
    let intensity = kernel.intensity.filter(|intensity| *intensity > 0.0)?;
    (kernel.flops_per_second > 0.0).then_some((intensity, kernel))
}

fn ceiling(ceilings: &CeilingsView, (from, to): (f64, f64), names_slope: bool) -> Box<dyn Trace> {
    let CeilingsView { flops_per_second, bytes_per_second, ridge, .. } = *ceilings;
    let peak = format!("{} {}", ceilings.dtype.unwrap_or("peak"), si(flops_per_second, "FLOP/s"));
    let slope = if names_slope { si(bytes_per_second, "B/s") } else { String::new() };
    // The slope's name stands where it has room: at the middle of what is seen of it.
    let middle = (from * ridge).sqrt();
    Scatter::new(
        vec![from, middle, ridge, (ridge * to).sqrt(), to],
        vec![
            from * bytes_per_second,
            middle * bytes_per_second,
            flops_per_second,
            flops_per_second,
            flops_per_second,
        ],
    )
    .name(peak.clone())
    .mode(Mode::LinesText)
    .line(Line::new().color(palette::LEVEL).width(2.0))
    .text_array(vec![String::new(), slope, String::new(), peak, String::new()])
    .text_position(Position::TopCenter)
    .hover_info(HoverInfo::Skip)
}

fn hover(kernel: &RooflineKernelView) -> String {
    format!(
        "{}<br>{} a byte, {} ({} of the peak, {} of the bandwidth)<br>{} in {} runs: {}",
        plain(&kernel.name, 70),
        kernel.intensity.map_or_else(String::new, |i| format!("{} FLOP", thousands(i, 2))),
        si(kernel.flops_per_second, "FLOP/s"),
        percent(Some(kernel.compute_share)),
        percent(Some(kernel.bandwidth_share)),
        duration(kernel.time_ns),
        kernel.count,
        kernel.regime_label
    )
}
