//! A predicted and a traced step: two bars of the same terms, and where they differ.

use plotly::common::{HoverInfo, Line, Marker, TextPosition};
use plotly::layout::BarMode;
use plotly::{Bar, Trace};

use super::{Chart, Key, THICKNESS, axis, hatched, labelled_axis, layout, palette, row_bar, rows, time_unit};
use crate::number::{duration, percent};
use crate::view::{ExplainView, ExplainedTermView};
use crate::words::signed_duration;

fn marker(term: &ExplainedTermView) -> Marker {
    let colour = palette::explained(term.kind);
    let marker =
        if palette::is_explained_hatched(term.kind) { hatched(colour) } else { Marker::new().color(colour) };
    marker.line(Line::new().width(0.0))
}

/// The predicted and the measured step, divided by the same terms.
pub(in crate::html) fn paired_terms(view: &ExplainView) -> Chart {
    let longest_ns = view.predicted_ns.max(view.measured_ns);
    let (unit, unit_ns) = time_unit(longest_ns as i64);
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    let mut legend = Vec::new();
    for term in &view.terms {
        let times = [term.predicted_ns, term.measured_ns];
        if times.iter().all(|ns| *ns <= 0.0) {
            continue;
        }
        let swatch = palette::swatch(palette::explained(term.kind), palette::is_explained_hatched(term.kind));
        legend.push(Key { name: term.label.to_owned(), swatch });
        let whole = [view.predicted_ns, view.measured_ns];
        let text = |row: usize| {
            let name = ["predicted", "measured"][row];
            let share = percent(Some(times[row] / whole[row].max(1.0)));
            format!("{name}: {} {}, {share}", term.label, duration(times[row] as i64))
        };
        traces.push(
            row_bar(times.iter().map(|ns| ns / unit_ns).collect(), vec![0, 1])
                .name(term.label)
                .marker(marker(term))
                .width(THICKNESS)
                .hover_text_array(vec![text(0), text(1)])
                .hover_info(HoverInfo::Text),
        );
    }
    let layout = layout()
        .bar_mode(BarMode::Stack)
        .x_axis(labelled_axis(&format!("a mean step ({unit})"), std::iter::once(longest_ns / unit_ns), 0.02))
        .y_axis(rows(vec!["predicted".to_owned(), "measured".to_owned()]));
    let label = format!(
        "Predicted step of {} and measured step of {}, each divided by the same terms",
        duration(view.predicted_ns as i64),
        duration(view.measured_ns as i64)
    );
    Chart::new("paired", label, 190, legend, traces, layout).titled("The two steps")
}

/// What each term adds to the gap, the largest first.
pub(in crate::html) fn differences(view: &ExplainView) -> Chart {
    let mut terms: Vec<&ExplainedTermView> =
        view.terms.iter().filter(|term| term.predicted_ns > 0.0 || term.measured_total_ns > 0).collect();
    terms.sort_by(|one, other| other.difference_ns.abs().total_cmp(&one.difference_ns.abs()));
    let largest_ns = terms.first().map_or(1.0, |term| term.difference_ns.abs().max(1.0));
    let (unit, unit_ns) = time_unit(largest_ns as i64);
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    for (row, term) in terms.iter().enumerate() {
        let noise = match term.beyond_noise {
            true => "beyond its noise",
            false => "within its noise, or below 1% of the step",
        };
        let hover = format!("{}: {}, {noise}", term.label, signed_duration(term.difference_ns));
        let bar: Box<Bar<f64, usize>> = row_bar(vec![term.difference_ns / unit_ns], vec![row]);
        traces.push(
            bar.name(term.label)
                .marker(marker(term).opacity(if term.beyond_noise { 1.0 } else { 0.35 }))
                .width(THICKNESS)
                .text(signed_duration(term.difference_ns))
                .text_position(TextPosition::Outside)
                .clip_on_axis(false)
                .hover_text(hover)
                .hover_info(HoverInfo::Text),
        );
    }
    let bounds = |sign: f64| terms.iter().map(|term| sign * term.difference_ns / unit_ns).fold(0.0, f64::max);
    let (below, above) = (bounds(-1.0), bounds(1.0));
    // Room for the figures beside the bars.
    let room = 0.25 * (below + above).max(f64::MIN_POSITIVE);
    let range =
        vec![-below - if below > 0.0 { room } else { 0.0 }, above + if above > 0.0 { room } else { 0.0 }];
    let axis =
        axis(&format!("measured less predicted ({unit})")).range(range).fixed_range(true).zero_line(true);
    let names = terms.iter().map(|term| term.label.to_owned()).collect();
    let layout = layout().bar_mode(BarMode::Overlay).x_axis(axis).y_axis(rows(names));
    let label = format!(
        "Differences of terms, the largest first: {}",
        terms
            .iter()
            .take(5)
            .map(|term| format!("{} {}", term.label, signed_duration(term.difference_ns)))
            .collect::<Vec<_>>()
            .join(", ")
    );
    Chart::new("differences", label, terms.len() * 28 + 70, Vec::new(), traces, layout)
        .titled("Where they differ (pale: within the noise)")
}
