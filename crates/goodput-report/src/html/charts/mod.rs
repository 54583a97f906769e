//! Charts: plotly figures as data. Colours of text, grid and background are the page's, set by its
//! script for light and dark.

mod charges;
mod cohorts;
mod errors;
mod explain;
mod heat;
mod history;
mod iso;
mod lanes;
mod levers;
mod over_time;
mod overlap;
mod plan;
mod published;
mod roofline;
mod size_curve;
mod step_lanes;
mod unheld;
mod waterfall;

pub(super) use charges::{Stack, charges};
pub(super) use cohorts::waits;
pub(super) use errors::{ErrorColours, by_group, by_term, histogram, scatter};
pub(super) use explain::{differences, paired_terms};
pub(super) use heat::heat;
pub(super) use history::history;
pub(super) use iso::iso_product;
pub(super) use lanes::lanes;
pub(super) use levers::levers;
pub(super) use over_time::over_time;
pub(super) use overlap::{blame, communication, slowdowns};
pub(super) use plan::plan;
pub(super) use published::{OwnMfu, published_mfu, published_mfu_note, software_gains};
pub(super) use roofline::roofline;
pub(super) use size_curve::size_curve;
pub(super) use step_lanes::step_lanes;
pub(super) use unheld::unheld;
pub(super) use waterfall::{fleet_waterfall, job_waterfall, opened};

use goodput_core::Pattern;
use goodput_trace::partition::Charge;
use plotly::common::{Font, Marker, Orientation, Pattern as Hatch, PatternShape, Title};
use plotly::configuration::DisplayModeBar;
use plotly::layout::{Axis, Margin};
use plotly::{Bar, Configuration, Layout, Plot, Trace};
use serde::Serialize;

use super::palette;
use crate::name::{cut, printable};

/// A figure of the page.
pub(super) struct Chart {
    /// Element id.
    pub id: String,
    /// A heading of its own, where the section's does not say enough.
    pub title: Option<String>,
    /// What it shows, for people who do not see it; the tables hold the same figures.
    pub label: String,
    /// Height in pixels.
    pub height: usize,
    /// Names and colours, where the rows do not tell. Set in the page: it wraps where plotly's would
    /// squeeze the plot.
    pub legend: Vec<Key>,
    /// The figure, safe inside a `<script>` element.
    pub json: String,
}

/// One entry of a legend.
pub(super) struct Key {
    /// What it stands for.
    pub name: String,
    /// A CSS background.
    pub swatch: String,
}

impl Key {
    pub(in crate::html) fn plain(name: impl Into<String>, colour: &str) -> Self {
        Self { name: name.into(), swatch: palette::swatch(colour, false) }
    }

    fn open(name: impl Into<String>) -> Self {
        Self { name: name.into(), swatch: palette::open_swatch() }
    }

    fn of_charge(charge: Charge) -> Self {
        let swatch = palette::swatch(palette::charge(charge), palette::is_charge_hatched(charge));
        Self { name: charge.label().to_owned(), swatch }
    }

    fn of(pattern: Pattern) -> Self {
        let swatch = palette::swatch(palette::pattern(pattern), palette::is_hatched(pattern));
        Self { name: pattern.label().to_owned(), swatch }
    }
}

impl Chart {
    fn new(
        id: impl Into<String>,
        label: impl Into<String>,
        height: usize,
        legend: Vec<Key>,
        traces: Vec<Box<dyn Trace>>,
        layout: Layout,
    ) -> Self {
        let mut plot = Plot::new();
        plot.add_traces(traces);
        plot.set_layout(layout.height(height).separators(".,").hover_label(hover_label()));
        plot.set_configuration(
            Configuration::new().responsive(true).display_logo(false).display_mode_bar(DisplayModeBar::False),
        );
        Self {
            id: id.into(),
            title: None,
            label: label.into(),
            height,
            legend,
            json: script_safe(&plot.to_json()),
        }
    }

    fn titled(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }
}

fn hover_label() -> plotly::common::Label {
    plotly::common::Label::new().font(Font::new().size(13))
}

/// JSON that cannot end the `<script>` element it stands in, nor open a comment.
fn script_safe(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Text for a figure, in which plotly would read tags and entities. Names come from other people's records.
fn plain(text: &str, characters: usize) -> String {
    cut(&printable(text), characters).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Colour and, for what no record settles, hatching.
fn marker(pattern: Pattern) -> Marker {
    let colour = palette::pattern(pattern);
    if palette::is_hatched(pattern) { hatched(colour) } else { Marker::new().color(colour) }
}

/// The same for a charge of a step.
fn charge_marker(charge: Charge) -> Marker {
    let colour = palette::charge(charge);
    if palette::is_charge_hatched(charge) { hatched(colour) } else { Marker::new().color(colour) }
}

fn hatched(colour: &'static str) -> Marker {
    let hatch = Hatch::new().shape(PatternShape::RightDiagonalLine).size(7.0).solidity(0.35);
    Marker::new().color(colour).pattern(hatch)
}

/// Thin lines, far enough apart for a label on top.
fn open_marker() -> Marker {
    let hatch = Hatch::new()
        .shape(PatternShape::RightDiagonalLine)
        .background_color(palette::OPEN_GROUND)
        .foreground_color(palette::OPEN)
        .size(12.0)
        .solidity(0.1);
    Marker::new().color(palette::OPEN_GROUND).pattern(hatch)
}

/// Horizontal bars at the numbered rows of an axis made by [`rows`]: names as positions would merge
/// where two are the same, and turn into numbers where they look like one.
fn row_bar(values: Vec<f64>, rows: Vec<usize>) -> Box<Bar<f64, usize>> {
    Bar::new(values, rows).orientation(Orientation::Horizontal)
}

/// Thickness of a bar in its row; without it plotly derives one from how many bars a trace has.
const THICKNESS: f64 = 0.7;

/// An axis with one named row a position, the first at the top.
fn rows(names: Vec<String>) -> Axis {
    let positions = (0..names.len()).map(|i| i as f64).collect();
    let last = names.len() as f64;
    Axis::new()
        .tick_values(positions)
        .tick_text(names)
        .range(vec![last - 0.4, -0.6])
        .auto_margin(true)
        .fixed_range(true)
        .show_grid(false)
        .zero_line(false)
}

/// An axis of shares of a whole, in percent, with room for the labels outside the bars.
fn share_axis(title: &str, values: impl Iterator<Item = f64>) -> Axis {
    let largest = values.fold(0.0, f64::max);
    let axis = labelled_axis(title, std::iter::once(largest), 0.3).tick_suffix("%");
    // No tick beyond the whole.
    if largest > 75.0 { whole_axis(axis) } else { axis }
}

/// Ticks from nothing to the whole.
fn whole_axis(axis: Axis) -> Axis {
    let ticks = (0..=5).map(|i| i * 20);
    axis.tick_values(ticks.clone().map(f64::from).collect())
        .tick_text(ticks.map(|t| format!("{t}%")).collect())
}

/// A value axis from zero with room, as a share of the longest bar, for the labels outside the bars.
fn labelled_axis(title: &str, values: impl Iterator<Item = f64>, room: f64) -> Axis {
    let largest = values.fold(0.0, f64::max);
    let end = if largest > 0.0 { largest * (1.0 + room) } else { 1.0 };
    axis(title).range(vec![0.0, end]).fixed_range(true)
}

fn axis(title: &str) -> Axis {
    Axis::new().title(Title::with_text(title)).auto_margin(true).zero_line(false)
}

fn layout() -> Layout {
    Layout::new()
        .margin(Margin::new().left(10).right(16).top(8).bottom(40))
        .auto_size(true)
        .show_legend(false)
}

/// A unit of an axis of times, with its nanoseconds.
pub(in crate::html) fn time_unit(longest_ns: i64) -> (&'static str, f64) {
    match longest_ns {
        ns if ns >= 2_000_000_000 => ("s", 1e9),
        ns if ns >= 2_000_000 => ("ms", 1e6),
        _ => ("µs", 1e3),
    }
}

/// A bar with a starting point, which the typed trace of the crate lacks.
#[derive(Clone, Serialize)]
struct Floating<T, B = String> {
    #[serde(flatten)]
    bar: T,
    base: Vec<B>,
}

impl<T: Trace + Serialize + Clone, B: Serialize + Clone> Trace for Floating<T, B> {
    fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_script_nor_become_markup() {
        assert_eq!(plain("<b>&", 60), "&lt;b&gt;&amp;");
        assert!(!script_safe("{\"x\":\"</script><!--\"}").contains(['<', '>']));
    }
}
