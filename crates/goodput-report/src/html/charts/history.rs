//! The history of one figure with its change point.

use plotly::common::{DashType, HoverInfo, Line, Marker, Mode};
use plotly::layout::AxisType;
use plotly::{Scatter, Trace};

use super::{Chart, Key, axis, layout, palette, plain};
use crate::view::BaselineChangeView;
use crate::words;

/// The values of a series, its levels before and after, and the days between which it changed.
pub(in crate::html) fn history(id: String, change: &BaselineChangeView) -> Chart {
    let largest = change.history.iter().map(|point| point.value).fold(0.0, f64::max);
    let (per_unit, unit) = axis_unit(change.unit, largest);
    let scale = |value: f64| value / per_unit;
    let days: Vec<String> = change.history.iter().map(|point| point.day.clone()).collect();
    let values: Vec<f64> = change.history.iter().map(|point| scale(point.value)).collect();
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let hover: Vec<String> = change
        .history
        .iter()
        .map(|point| format!("{}: {}", point.day, words::baseline_value(change, point.value)))
        .collect();
    let colour = if change.worse { WORSE } else { palette::USEFUL };
    let mut traces: Vec<Box<dyn Trace>> = vec![
        Scatter::new(days.clone(), values)
            .mode(Mode::Markers)
            .marker(Marker::new().color(palette::LEVEL).size(5))
            .hover_text_array(hover)
            .hover_info(HoverInfo::Text),
    ];
    let at = change.history.partition_point(|point| point.day < change.day);
    let mut level = |days: &[String], value: f64| {
        if let [first, .., last] | [first @ last] = days {
            traces.push(
                Scatter::new(vec![first.clone(), last.clone()], vec![scale(value); 2])
                    .mode(Mode::Lines)
                    .line(Line::new().color(colour).width(2.0))
                    .hover_info(HoverInfo::Skip),
            );
        }
    };
    level(&days[..at], change.before);
    level(&days[at..], change.after);
    for day in [&change.between.0, &change.between.1] {
        traces.push(
            Scatter::new(vec![day.clone(), day.clone()], vec![lowest, highest])
                .mode(Mode::Lines)
                .line(Line::new().color(colour).width(1.0).dash(DashType::Dot))
                .hover_info(HoverInfo::Skip),
        );
    }
    let title = format!("{} of {}", change.label, words::baseline_subject(change));
    let label = format!(
        "{title}: {} before {}, {} after",
        words::baseline_value(change, change.before),
        change.day,
        words::baseline_value(change, change.after)
    );
    let layout =
        layout().x_axis(axis("day (UTC)").type_(AxisType::Date)).y_axis(axis(unit).fixed_range(true));
    let legend =
        vec![Key::plain("a report", palette::LEVEL), Key::plain(words::baseline_state(change), colour)];
    Chart::new(id, label, 260, legend, traces, layout).titled(plain(&title, 80))
}

/// What the axis counts in, and its name: a wait of hours is not read off in thousands of seconds.
fn axis_unit(unit: &str, largest: f64) -> (f64, &'static str) {
    match unit {
        "seconds" if largest >= 3.0 * 3600.0 => (3600.0, "hours"),
        "seconds" if largest >= 3.0 * 60.0 => (60.0, "minutes"),
        "seconds" => (1.0, "seconds"),
        "share" => (0.01, "%"),
        "per_day" => (1.0, "per day"),
        _ => (1.0, "ratio"),
    }
}

/// What became worse.
const WORSE: &str = "#c24f00";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_counts_in_a_unit_that_fits() {
        let of = |unit, largest| axis_unit(unit, largest);
        assert_eq!(of("seconds", 2.1), (1.0, "seconds"));
        assert_eq!(of("seconds", 600.0), (60.0, "minutes"));
        assert_eq!(of("seconds", 13_000.0), (3600.0, "hours"));
        assert_eq!(of("share", 0.4), (0.01, "%"));
        assert_eq!(of("per_day", 9000.0), (1.0, "per day"));
        assert_eq!(of("ratio", 1.1), (1.0, "ratio"));
    }
}
