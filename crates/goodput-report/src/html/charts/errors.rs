//! Prediction errors: predicted against measured time, their distribution, and what they go with.

use std::collections::BTreeMap;

use goodput_predict::validate::{Dimension, Errors};
use plotly::common::{Fill, HoverInfo, Line, Marker, MarkerSymbol, Mode};
use plotly::layout::{AxisType, BarMode};
use plotly::{Bar, Scatter, Trace};

use super::{Chart, Key, THICKNESS, axis, layout, palette, plain, row_bar, rows};
use crate::number::{counted, duration, gain, percent};
use crate::view::{ValidatedRowView, ValidationView};

/// Points that a page draws; more are sampled evenly over the errors.
const POINTS: usize = 5000;
/// Width of a bar of the distribution.
const BIN: f64 = 0.05;
/// Errors beyond this share the last bar.
const LAST_BIN: f64 = 1.0;

/// The colour of each source: those with most rows have one of their own.
pub(in crate::html) struct ErrorColours<'a> {
    own: BTreeMap<&'a str, &'static str>,
    others: usize,
}

impl<'a> ErrorColours<'a> {
    pub(in crate::html) fn of(view: &'a ValidationView) -> Self {
        let sources = view.report.by.get(&Dimension::Source);
        let mut sources: Vec<_> =
            sources.into_iter().flatten().map(|(source, errors)| (source.as_str(), errors.rows)).collect();
        sources.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
        let others = sources.len().saturating_sub(palette::KINDS.len());
        Self { own: sources.iter().map(|(source, _)| *source).zip(palette::KINDS).collect(), others }
    }

    fn of_source(&self, source: &str) -> &'static str {
        self.own.get(source).copied().unwrap_or(palette::OTHER)
    }

    fn legend(&self) -> Vec<Key> {
        let mut legend: Vec<_> =
            self.own.iter().map(|(source, colour)| Key::plain(named(source), colour)).collect();
        if self.others > 0 {
            legend.push(Key::plain(counted(self.others as u64, "other source"), palette::OTHER));
        }
        legend
    }

    /// Rows by colour, so that a colour is one trace.
    fn groups(
        &self,
        rows: impl Iterator<Item = &'a ValidatedRowView>,
    ) -> Vec<(&'static str, Vec<&'a ValidatedRowView>)> {
        let mut groups: BTreeMap<&'static str, Vec<&ValidatedRowView>> = BTreeMap::new();
        for row in rows {
            groups.entry(self.of_source(&row.source)).or_default().push(row);
        }
        groups.into_iter().collect()
    }
}

fn named(text: &str) -> &str {
    if text.is_empty() { "not stated" } else { text }
}

/// Predicted against measured time on logarithmic axes, with the band of 10 %.
pub(in crate::html) fn scatter(view: &ValidationView, colours: &ErrorColours<'_>) -> Chart {
    let step = view.rows.len().div_ceil(POINTS).max(1);
    let drawn: Vec<&ValidatedRowView> = view.rows.iter().step_by(step).collect();
    let times = || drawn.iter().flat_map(|row| [row.measured_ns / 1e9, row.predicted_ns / 1e9]);
    let (from, to) = (times().fold(f64::MAX, f64::min) / 1.5, times().fold(0.0, f64::max) * 1.5);
    let edge = |factor: f64| {
        Scatter::new(vec![from, to], vec![from * factor, to * factor])
            .mode(Mode::Lines)
            .line(Line::new().color(palette::LEVEL).width(0.5))
            .hover_info(HoverInfo::Skip)
    };
    let mut traces: Vec<Box<dyn Trace>> = vec![
        edge(0.9),
        edge(1.1).fill(Fill::ToNextY).fill_color("rgba(0,135,95,0.18)"),
        edge(1.0).line(Line::new().color(palette::LEVEL).width(1.5)),
    ];
    for (colour, rows) in colours.groups(drawn.iter().copied()) {
        traces.push(
            Scatter::new(
                rows.iter().map(|row| row.measured_ns / 1e9).collect(),
                rows.iter().map(|row| row.predicted_ns / 1e9).collect(),
            )
            .mode(Mode::Markers)
            .marker(Marker::new().color(colour).size(7).opacity(0.75))
            .hover_text_array(rows.iter().map(|row| hover(row)).collect::<Vec<_>>())
            .hover_info(HoverInfo::Text),
        );
    }
    let log = |title: &str| {
        axis(title).type_(AxisType::Log).range(vec![from.log10(), to.log10()]).tick_format("~g")
    };
    let layout = layout().x_axis(log("measured (s)")).y_axis(log("predicted (s)"));
    let label = format!(
        "Predicted against measured step time of {} of {}, with the band of 10 %",
        drawn.len(),
        counted(view.rows.len() as u64, "run")
    );
    let mut legend = colours.legend();
    legend.push(Key::plain("within 10 %", "rgba(0,135,95,0.18)"));
    Chart::new("scatter", label, 520, legend, traces, layout).titled("Predicted against measured step")
}

fn hover(row: &ValidatedRowView) -> String {
    let blame = row.blame.map(|term| format!("<br>most likely {term}")).unwrap_or_default();
    format!(
        "{}<br>{}, {}<br>measured {}, predicted {}: {}{blame}",
        plain(&row.id, 60),
        plain(&row.source, 40),
        plain(&row.model, 40),
        duration(row.measured_ns as i64),
        duration(row.predicted_ns as i64),
        gain(row.error)
    )
}

/// How many rows have which error, stacked by source.
pub(in crate::html) fn histogram(view: &ValidationView, colours: &ErrorColours<'_>) -> Chart {
    let bin = |error: f64| (error.clamp(-LAST_BIN, LAST_BIN) / BIN).floor() as i32;
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    for (colour, rows) in colours.groups(view.rows.iter()) {
        let mut bins: BTreeMap<i32, u64> = BTreeMap::new();
        for row in rows {
            *bins.entry(bin(row.error)).or_default() += 1;
        }
        let middle = |bin: &i32| (f64::from(*bin) + 0.5) * BIN * 100.0;
        let name = |(bin, rows): (&i32, &u64)| {
            let from = f64::from(*bin) * BIN;
            format!("{} to {}: {}", gain(from), gain(from + BIN), counted(*rows, "row"))
        };
        let texts: Vec<_> = bins.iter().map(name).collect();
        traces.push(
            Bar::new(bins.keys().map(middle).collect(), bins.values().copied().collect::<Vec<_>>())
                .width(BIN * 100.0)
                .marker(Marker::new().color(colour))
                .hover_text_array(texts)
                .hover_info(HoverInfo::Text),
        );
    }
    let layout = layout()
        .bar_mode(BarMode::Stack)
        .x_axis(axis("error: predicted over measured, less 1").tick_suffix("%"))
        .y_axis(axis("rows").fixed_range(true));
    let label = format!("Distribution of the errors of {}", counted(view.rows.len() as u64, "run"));
    Chart::new("histogram", label, 520, Vec::new(), traces, layout).titled("Errors, by source")
}

/// MAPE as a bar and bias as a mark, of each group of a dimension; `None` where there is one group only.
pub(in crate::html) fn by_group(view: &ValidationView, dimension: Dimension) -> Option<Chart> {
    let mut groups: Vec<(&str, &Errors)> =
        view.report.by.get(&dimension)?.iter().map(|(name, errors)| (named(name), errors)).collect();
    if groups.len() < 2 {
        return None;
    }
    groups.sort_by_key(|(name, _)| dimension.place(name));
    groups.truncate(30);
    let names =
        groups.iter().map(|(name, errors)| format!("{} ({})", plain(name, 28), errors.rows)).collect();
    let positions: Vec<usize> = (0..groups.len()).collect();
    let texts: Vec<String> = groups
        .iter()
        .map(|(name, errors)| {
            let (mape, bias) = (percent(Some(errors.mape)), gain(errors.bias));
            format!("{}: MAPE {mape}, bias {bias}, {}", plain(name, 40), counted(errors.rows as u64, "row"))
        })
        .collect();
    let bars = row_bar(groups.iter().map(|(_, errors)| errors.mape * 100.0).collect(), positions.clone())
        .width(THICKNESS)
        .marker(Marker::new().color(palette::KINDS[0]))
        .hover_text_array(texts)
        .hover_info(HoverInfo::Text);
    let marks = Scatter::new(groups.iter().map(|(_, errors)| errors.bias * 100.0).collect(), positions)
        .mode(Mode::Markers)
        .marker(Marker::new().color(palette::KINDS[1]).size(9).symbol(MarkerSymbol::Diamond))
        .hover_info(HoverInfo::Skip);
    let height = 70 + 26 * groups.len();
    let layout =
        layout().y_axis(rows(names)).x_axis(axis("").tick_suffix("%").zero_line(true).fixed_range(true));
    let legend = vec![Key::plain("MAPE", palette::KINDS[0]), Key::plain("bias", palette::KINDS[1])];
    let label = format!("MAPE and bias by {}", dimension.name());
    let id = format!("by-{}", dimension.name());
    Some(
        Chart::new(id, label, height, legend, vec![bars, marks], layout)
            .titled(format!("By {}", dimension.name())),
    )
}

/// What a change of each term would do to the steps, the mean over the rows; `None` where no term is blamed.
pub(in crate::html) fn by_term(view: &ValidationView) -> Option<Chart> {
    let sources = view.report.by.get(&Dimension::Source)?;
    let mut changes: BTreeMap<&str, f64> = BTreeMap::new();
    let mut weights = 0.0;
    for (source, terms) in &view.blame {
        let rows = sources.get(source).map_or(0.0, |errors| errors.rows as f64);
        weights += rows;
        for term in terms {
            *changes.entry(term.term).or_default() += term.change * rows;
        }
    }
    let mut changes: Vec<(&str, f64)> = changes
        .into_iter()
        .map(|(term, sum)| (term, sum / weights))
        .filter(|(_, c)| c.abs() >= 0.0005)
        .collect();
    if changes.is_empty() {
        return None;
    }
    changes.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let texts: Vec<_> = changes
        .iter()
        .map(|(term, change)| format!("{term}: {} of the predicted step", gain(*change)))
        .collect();
    let bars =
        row_bar(changes.iter().map(|(_, change)| change * 100.0).collect(), (0..changes.len()).collect())
            .width(THICKNESS)
            .marker(Marker::new().color(palette::KINDS[2]))
            .hover_text_array(texts)
            .hover_info(HoverInfo::Text);
    let height = 70 + 26 * changes.len();
    let names = changes.iter().map(|(term, _)| (*term).to_owned()).collect();
    let layout = layout()
        .y_axis(rows(names))
        .x_axis(axis("change of the predicted step").tick_suffix("%").zero_line(true).fixed_range(true));
    let label = "What a change of each term would do to the predicted steps".to_owned();
    Some(Chart::new("by-term", label, height, Vec::new(), vec![bars], layout))
}
