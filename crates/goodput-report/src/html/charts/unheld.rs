//! Unheld capacity by cause, a row a pool.

use goodput_core::{Boundary, Pattern};
use plotly::Trace;
use plotly::common::HoverInfo;
use plotly::layout::BarMode;

use super::{Chart, Key, THICKNESS, axis, layout, marker, plain, row_bar, rows};
use crate::number::{device_hours, percent};
use crate::view::PoolView;

/// Pools drawn, the largest loss first.
const DRAWN: usize = 24;

/// `None` when no pool has unheld capacity.
pub(in crate::html) fn unheld(pools: &[PoolView]) -> Option<Chart> {
    let lost = |p: &PoolView| -> i128 {
        p.losses.iter().filter(|l| l.boundary == Boundary::Scheduling.key()).map(|l| l.amount_ns.0).sum()
    };
    let mut drawn: Vec<_> = pools.iter().filter(|p| lost(p) > 0).collect();
    if drawn.is_empty() {
        return None;
    }
    drawn.sort_by_key(|p| std::cmp::Reverse(lost(p)));
    drawn.truncate(DRAWN);
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    let mut legend = Vec::new();
    for pattern in Pattern::at(Boundary::Scheduling) {
        let of_pool = |row: usize, p: &PoolView| {
            let loss = p.losses.iter().find(|l| l.kind == pattern)?;
            let text = format!(
                "{}, {}: {} device-hours, {} of offered",
                plain(&p.name, 40),
                pattern.label(),
                device_hours(loss.amount_ns.capacity()),
                percent(loss.share)
            );
            Some((row, loss.share.unwrap_or(0.0) * 100.0, text))
        };
        let found: Vec<_> = drawn.iter().enumerate().filter_map(|(row, p)| of_pool(row, p)).collect();
        if found.is_empty() {
            continue;
        }
        legend.push(Key::of(pattern));
        traces.push(
            row_bar(found.iter().map(|f| f.1).collect(), found.iter().map(|f| f.0).collect())
                .name(pattern.label())
                .marker(marker(pattern))
                .width(THICKNESS)
                .hover_text_array(found.iter().map(|f| f.2.clone()).collect::<Vec<_>>())
                .hover_info(HoverInfo::Text),
        );
    }
    let names = drawn.iter().map(|p| plain(&p.name, 24)).collect();
    let layout = layout()
        .bar_mode(BarMode::Stack)
        .x_axis(axis("share of what the pool offered").tick_suffix("%").fixed_range(true))
        .y_axis(rows(names));
    Some(Chart::new(
        "unheld",
        "Unheld capacity of each pool by cause",
        drawn.len() * 40 + 80,
        legend,
        traces,
        layout,
    ))
}
