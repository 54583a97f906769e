//! How long jobs wait, by the size of their gang.

use plotly::Trace;
use plotly::common::{HoverInfo, TextPosition};
use plotly::layout::BarMode;

use super::{Chart, Key, labelled_axis, layout, palette, plain, row_bar, rows};
use crate::number::duration;
use crate::view::{CohortView, Exact, WaitView};

/// Gang sizes drawn; the table lists more.
const DRAWN: usize = 16;

/// `None` when no cohort of gang sizes has a wait.
pub(in crate::html) fn waits(cohorts: &[CohortView]) -> Option<Chart> {
    let mut drawn: Vec<_> =
        cohorts.iter().filter(|c| c.kind == "gang_size" && c.first_wait.count > 0).collect();
    if drawn.is_empty() {
        return None;
    }
    drawn.sort_by_key(|c| std::cmp::Reverse(c.held_ns));
    drawn.truncate(DRAWN);
    drawn.sort_by_key(|c| c.label.parse::<u64>().unwrap_or(u64::MAX));
    let longest_ns = drawn.iter().map(|c| c.first_wait.p90_ns.as_i64()).max().unwrap_or(0);
    let (unit, unit_ns) = match longest_ns / 1_000_000_000 {
        s if s >= 2 * 86_400 => ("days", 8.64e13),
        s if s >= 2 * 3600 => ("hours", 3.6e12),
        s if s >= 2 * 60 => ("minutes", 6e10),
        _ => ("seconds", 1e9),
    };
    let percentile = |name: &str, colour: &'static str, of: fn(&WaitView) -> Exact| -> Box<dyn Trace> {
        let waits: Vec<i64> = drawn.iter().map(|c| of(&c.first_wait).as_i64()).collect();
        row_bar(waits.iter().map(|&ns| ns as f64 / unit_ns).collect(), (0..drawn.len()).collect())
            .name(name)
            .marker(plotly::common::Marker::new().color(colour))
            .text_array(waits.iter().map(|&ns| duration(ns)).collect::<Vec<_>>())
            .text_position(TextPosition::Outside)
            .clip_on_axis(false)
            .hover_text_array(
                drawn
                    .iter()
                    .zip(&waits)
                    .map(|(c, &ns)| {
                        format!("gang of {}: {name} of the first wait {}", plain(&c.label, 40), duration(ns))
                    })
                    .collect::<Vec<_>>(),
            )
            .hover_info(HoverInfo::Text)
    };
    let traces = vec![
        percentile("p50", palette::pattern(goodput_core::Pattern::NoDemand), |w| w.p50_ns),
        percentile("p90", palette::boundary(goodput_core::Boundary::Scheduling), |w| w.p90_ns),
    ];
    let names = drawn.iter().map(|c| format!("gang of {}", plain(&c.label, 24))).collect();
    let layout = layout()
        .bar_mode(BarMode::Group)
        .bar_gap(0.25)
        .x_axis(labelled_axis(
            &format!("wait from first submit to first start ({unit})"),
            drawn.iter().map(|c| c.first_wait.p90_ns.as_i64() as f64 / unit_ns),
            0.3,
        ))
        .y_axis(rows(names));
    let legend = vec![
        Key::plain("median (p50)", palette::pattern(goodput_core::Pattern::NoDemand)),
        Key::plain("90th percentile (p90)", palette::boundary(goodput_core::Boundary::Scheduling)),
    ];
    let label = "Median and 90th percentile of the first wait by gang size";
    Some(Chart::new("waits", label, drawn.len() * 52 + 80, legend, traces, layout))
}
