//! Rows of a step's time, each divided by what it is charged to.

use goodput_trace::partition::Charge;
use plotly::Trace;
use plotly::common::{HoverInfo, Line};
use plotly::layout::BarMode;

use super::{Chart, Key, THICKNESS, charge_marker, labelled_axis, layout, plain, row_bar, rows, time_unit};
use crate::number::{duration, percent};
use crate::view::AmountsView;

/// One row: a rank's average step, or one step.
pub(in crate::html) struct Stack<'a> {
    /// What the row is.
    pub name: String,
    /// What is divided.
    pub amounts: &'a AmountsView,
    /// Steps that the amounts are the sum of.
    pub steps: usize,
    /// Whether it counts in the totals. Others are marked, and may run out of the picture.
    pub judged: bool,
}

impl Stack<'_> {
    pub(super) fn per_step(&self, ns: i64) -> i64 {
        i64::try_from(self.steps.max(1)).map_or(0, |steps| ns / steps)
    }
}

/// `None` without a row.
pub(in crate::html) fn charges(
    id: &'static str,
    title: &str,
    axis: &str,
    stacks: &[Stack<'_>],
) -> Option<Chart> {
    let lengths = |judged: bool| {
        stacks.iter().filter(move |stack| stack.judged == judged).map(|s| s.per_step(s.amounts.window_ns))
    };
    let longest_ns = lengths(true).max().or_else(|| lengths(false).max())?;
    let (unit, unit_ns) = time_unit(longest_ns);
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    let mut legend = Vec::new();
    for charge in Charge::one_a_key() {
        let (mut lengths, mut at, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (row, stack) in stacks.iter().enumerate() {
            let ns = stack.amounts.of(charge);
            if ns == 0 {
                continue;
            }
            let share = ns as f64 / stack.amounts.window_ns.max(1) as f64;
            let ns = stack.per_step(ns);
            lengths.push(ns as f64 / unit_ns);
            at.push(row);
            texts.push(format!(
                "{}: {} {}, {}",
                plain(&stack.name, 48),
                charge.label(),
                duration(ns),
                percent(Some(share))
            ));
        }
        if lengths.is_empty() {
            continue;
        }
        legend.push(Key::of_charge(charge));
        traces.push(
            row_bar(lengths, at)
                .name(charge.label())
                .marker(charge_marker(charge).line(Line::new().width(0.0)))
                .width(THICKNESS)
                .hover_text_array(texts)
                .hover_info(HoverInfo::Text),
        );
    }
    if traces.is_empty() {
        return None;
    }
    let name = |stack: &Stack<'_>| match stack.per_step(stack.amounts.window_ns) {
        _ if stack.judged => plain(&stack.name, 28),
        ns if ns > longest_ns => format!("{} (left out, {})", plain(&stack.name, 20), duration(ns)),
        _ => format!("{} (left out)", plain(&stack.name, 20)),
    };
    let names = stacks.iter().map(name).collect();
    let axis = format!("{axis} ({unit})");
    let layout = layout()
        .bar_mode(BarMode::Stack)
        .x_axis(labelled_axis(&axis, std::iter::once(longest_ns as f64 / unit_ns), 0.02))
        .y_axis(rows(names));
    let label = format!("{title}: {} rows, each divided by what its time is charged to", stacks.len());
    let height = stacks.len() * if stacks.len() > 12 { 18 } else { 30 } + 70;
    Some(Chart::new(id, label, height, legend, traces, layout).titled(title))
}
