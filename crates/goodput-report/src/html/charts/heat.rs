//! Ranks by steps: stragglers stand out.

use plotly::common::{ColorBar, ColorScale, ColorScaleElement, HoverInfo, Title};
use plotly::{HeatMap, Trace};

use super::{Chart, axis, layout, palette, plain, time_unit};
use crate::number::duration;
use crate::view::{AmountsView, TraceView};

/// Ranks drawn.
const RANKS: usize = 1024;
/// Steps drawn.
const STEPS: usize = 256;
/// Cells drawn.
const CELLS: usize = 16_384;
/// Pixels of the map that its colour bar needs.
const LEAST_HEIGHT: usize = 120;
/// Pixels that a label needs.
const LABEL: usize = 15;
/// Noise is no straggler: the scale of what should be equal spans at least so much of its least.
const LEAST_SPAN: f64 = 1.05;

/// What a cell shows of a step.
pub(in crate::html) enum Measure {
    /// The device window without the waiting for others: long on those that hold the others up.
    OwnTime,
    /// Waiting for peers and senders.
    Waiting,
}

/// Own time, and waiting where there is any. Empty for one rank.
pub(in crate::html) fn heat(view: &TraceView, name: impl Fn(usize) -> String) -> Vec<Chart> {
    if view.ranks.len() < 2 {
        return Vec::new();
    }
    let grid = Grid::of(view);
    let title = "Own time: the step on the device without waiting for others";
    let mut charts = Vec::from_iter(grid.chart("heat", title, Measure::OwnTime, &name));
    if view.total.waiting_ns() > 0 {
        charts.extend(grid.chart("heat-wait", "Waiting for others", Measure::Waiting, &name));
    }
    charts
}

struct Grid<'a> {
    view: &'a TraceView,
    /// Ranks by index.
    ranks: Vec<usize>,
    /// Rows of `steps_across` by index.
    steps: Vec<usize>,
}

impl<'a> Grid<'a> {
    fn of(view: &'a TraceView) -> Self {
        let ranks = view.worst_ranks(RANKS);
        let rows = &view.steps_across.rows;
        let mut steps: Vec<usize> = (0..rows.len()).collect();
        let limit = STEPS.min(CELLS / ranks.len().max(1)).max(1);
        let mut grid = Self { view, ranks, steps: Vec::new() };
        if steps.len() > limit {
            let longest_ns = |row: &usize| {
                grid.ranks.iter().filter_map(|&r| grid.cell(r, *row)).map(|(a, ..)| a.window_ns).max()
            };
            steps.sort_by_cached_key(|row| std::cmp::Reverse(longest_ns(row)));
            steps.truncate(limit);
            steps.sort_unstable();
        }
        grid.steps = steps;
        grid
    }

    /// The device window of a step, its name and whether it counts.
    fn cell(&self, rank: usize, row: usize) -> Option<(&AmountsView, &str, bool)> {
        let index = self.view.steps_across.rows.get(row)?.of_rank.get(rank).copied().flatten()?;
        let step = self.view.ranks.get(rank)?.steps.get(index as usize)?;
        Some((step.device_window.as_ref()?, &step.name, step.judged))
    }

    fn chart(
        &self,
        id: &str,
        title: &str,
        measure: Measure,
        name: impl Fn(usize) -> String,
    ) -> Option<Chart> {
        let value = |amounts: &AmountsView| match measure {
            Measure::OwnTime => amounts.window_ns - amounts.waiting_ns(),
            Measure::Waiting => amounts.waiting_ns(),
        };
        let cells =
            || self.ranks.iter().flat_map(|&rank| self.steps.iter().map(move |&row| self.cell(rank, row)));
        let judged = || cells().flatten().filter(|(.., judged)| *judged).map(|(amounts, ..)| value(amounts));
        let (least_ns, most_ns) = (judged().min()?, judged().max()?);
        let (unit, unit_ns) = time_unit(most_ns);
        let least = match measure {
            Measure::OwnTime => least_ns as f64 / unit_ns,
            Measure::Waiting => 0.0,
        };
        let most = (most_ns as f64 / unit_ns).max(least * LEAST_SPAN);

        let mut values: Vec<Vec<Option<f64>>> = Vec::new();
        let mut texts: Vec<Vec<String>> = Vec::new();
        for &rank in &self.ranks {
            let row: Vec<_> = self.steps.iter().map(|&step| self.cell(rank, step)).collect();
            values.push(row.iter().map(|c| c.map(|(a, ..)| value(a) as f64 / unit_ns)).collect());
            texts.push(
                row.iter()
                    .map(|cell| match cell {
                        None => format!("{}: not traced", plain(&name(rank), 28)),
                        Some((amounts, step, judged)) => format!(
                            "{}, {}: {}{}",
                            plain(&name(rank), 28),
                            plain(step, 28),
                            duration(value(amounts)),
                            if *judged { "" } else { " (left out of the totals)" }
                        ),
                    })
                    .collect(),
            );
        }
        let rows = self.ranks.len();
        let row_pixels = (720 / rows).clamp(1, 24).max(LEAST_HEIGHT / rows);
        let every = LABEL.div_ceil(row_pixels);
        let ticks: Vec<usize> = (0..rows).step_by(every).collect();
        let columns_labelled: Vec<usize> =
            (0..self.steps.len()).step_by(self.steps.len().div_ceil(12)).collect();
        let scale = palette::HEAT.iter().enumerate();
        let scale = scale.map(|(i, colour)| {
            ColorScaleElement(i as f64 / (palette::HEAT.len() - 1) as f64, (*colour).to_owned())
        });
        let map: Box<dyn Trace> =
            HeatMap::new((0..self.steps.len()).collect::<Vec<_>>(), (0..rows).collect::<Vec<_>>(), values)
                .zmin(least)
                .zmax(most)
                .zauto(false)
                .color_scale(ColorScale::Vector(scale.collect()))
                .color_bar(ColorBar::new().thickness(12).outline_width(0).title(Title::with_text(unit)))
                .hover_on_gaps(false)
                .text_matrix(texts)
                .hover_info(HoverInfo::Text);
        let layout = layout()
            .x_axis(
                axis("step")
                    .tick_values(columns_labelled.iter().map(|&i| i as f64).collect())
                    .tick_text(
                        columns_labelled.iter().map(|&i| plain(&self.step_name(self.steps[i]), 12)).collect(),
                    )
                    .show_grid(false)
                    .fixed_range(true),
            )
            .y_axis(
                axis("")
                    .tick_values(ticks.iter().map(|&i| i as f64).collect())
                    .tick_text(ticks.iter().map(|&i| plain(&name(self.ranks[i]), 20)).collect())
                    .range(vec![rows as f64 - 0.5, -0.5])
                    .show_grid(false)
                    .fixed_range(true),
            );
        let label = format!("{title}: {rows} ranks by {} steps", self.steps.len());
        Some(Chart::new(id, label, rows * row_pixels + 90, Vec::new(), vec![map], layout).titled(title))
    }

    fn step_name(&self, row: usize) -> String {
        match self.view.steps_across.rows[row].number {
            Some(number) => number.to_string(),
            None => row.to_string(),
        }
    }
}
