//! A serving fleet: rows, losses, measures, the decode step, pools and lifetimes.

use super::Column::{Number, Text};
use super::{Cell, Table, or_unknown};
use crate::number::{count, device_hours, duration, factor, percent, thousands};
use crate::view::{Exact, ServingRowView, ServingView};

fn hours(ns: Exact) -> Cell {
    device_hours(ns.capacity()).into()
}

fn table(columns: Vec<super::Column>, rows: Vec<Vec<Cell>>, notes: Vec<String>) -> Table {
    Table { columns, rows, notes }
}

/// Every measure under its full name.
pub(crate) fn serving_measures(row: &ServingRowView) -> Table {
    let reasons = row.measures.iter().any(|measure| measure.missing.is_some());
    let rows = row.measures.iter().map(|measure| {
        let value = match measure.key {
            "slo_goodput" => or_unknown(measure.value, |rate| format!("{}/s", thousands(rate, 3))),
            _ => factor(measure.value),
        };
        let mut cells = vec![Cell::from(measure.name), value.into(), measure.denominator.into()];
        if reasons {
            cells.push(measure.missing.clone().unwrap_or_default().into());
        }
        cells
    });
    let mut columns = vec![Text("measure"), Number("value"), Text("divides by")];
    if reasons {
        columns.push(Text("why there is none"));
    }
    table(columns, rows.collect(), Vec::new())
}

/// A share with its bar.
fn share(share: Option<f64>) -> Cell {
    Cell { share, ..percent(share).into() }
}

/// Held time by what became of it: every loss once.
pub(crate) fn serving_losses(row: &ServingRowView) -> Table {
    let mut losses: Vec<_> = row.losses.iter().collect();
    losses.sort_by_key(|loss| std::cmp::Reverse(loss.amount_ns));
    let rows = losses.into_iter().map(|loss| {
        vec![
            Cell::from(loss.label),
            loss.boundary.into(),
            hours(loss.amount_ns),
            share(loss.share_of_held),
            loss.owner.replace('_', " ").into(),
        ]
    });
    let columns =
        vec![Text("loss"), Text("boundary"), Number("device-hours"), Number("of held"), Text("owner")];
    table(columns, rows.collect(), Vec::new())
}

/// Terms of the decode time, as samples and floors say.
pub(crate) fn decode_terms(row: &ServingRowView) -> Table {
    let rows = row.decode_terms.iter().map(|term| {
        vec![
            Cell::from(term.label),
            or_unknown(term.step_ns, |ns| duration(ns as i64)).into(),
            share(term.share),
            percent(Some(term.coverage)).into(),
            term.from.into(),
        ]
    });
    let columns = vec![
        Text("of a mean decode step"),
        Number("time"),
        Number("share"),
        Number("samples say"),
        Text("from"),
    ];
    table(columns, rows.collect(), Vec::new())
}

/// What each lever could return at most.
pub(crate) fn serving_levers(row: &ServingRowView) -> Table {
    let rows = row.levers.iter().map(|lever| {
        vec![
            Cell::from(lever.lever),
            lever.shortens.into(),
            thousands(lever.at_most_device_hours, 1).into(),
            share(lever.share_of_held),
            lever.owner.replace('_', " ").into(),
        ]
    });
    let columns =
        vec![Text("lever"), Text("shortens"), Number("device-hours"), Number("of held"), Text("owner")];
    let note = "The whole of each term, the most that its lever can return; gains are not added up, since shortening one term moves the others.";
    table(columns, rows.collect(), vec![note.to_owned()])
}

/// Scheduling of the pools.
pub(crate) fn serving_pools(view: &ServingView) -> Table {
    let rows = view.pools.iter().map(|pool| {
        vec![
            Cell::from(if pool.pool.is_empty() { "not named" } else { &pool.pool }),
            factor(pool.scheduling_goodput).into(),
            hours(pool.offered_ns),
            hours(pool.held_ns),
            hours(pool.no_demand_ns),
            hours(pool.replica_placement_wait_ns),
            hours(pool.incomplete_replica_ns),
            hours(pool.scattered_ns),
            percent(Some(pool.coverage)).into(),
        ]
    });
    let columns = vec![
        Text("pool"),
        Number("held / offered"),
        Number("offered"),
        Number("held"),
        Number("no demand"),
        Number("waits though it fits"),
        Number("no whole node for who waits"),
        Number("scattered in all"),
        Number("covers"),
    ];
    let note = "Device-hours. Scattered devices stand on nodes that are not whole; they are a loss only while a replica waits for them.";
    table(columns, rows.collect(), vec![note.to_owned()])
}

/// Readiness by lifetime.
pub(crate) fn serving_lifetimes(view: &ServingView) -> Table {
    let rows = view.lifetimes.iter().map(|range| {
        vec![
            Cell::from(range.lifetime),
            count(range.lives).into(),
            hours(range.held_ns),
            share(range.cold_start_share),
            factor(range.runtime_goodput).into(),
        ]
    });
    let columns = vec![
        Text("lifetime"),
        Number("lives"),
        Number("held, device-hours"),
        Number("cold start of held"),
        Number("ready / held"),
    ];
    table(columns, rows.collect(), Vec::new())
}

/// The median cold start against lifetimes.
pub(crate) fn readiness_curve(view: &ServingView) -> Option<Table> {
    let curve = view.readiness_curve.as_ref()?;
    let rows = curve.points.iter().map(|point| {
        let share = format!("{}%", thousands(point.cold_start_share * 100.0, 2));
        vec![Cell::from(duration((point.lifetime_h * 3600e9) as i64)), share.into()]
    });
    let columns = vec![Text("if a replica lives"), Number("cold start of held")];
    let note = format!("From the median cold start, {}.", duration(curve.cold_start_ns.as_i64()));
    Some(table(columns, rows.collect(), vec![note]))
}
