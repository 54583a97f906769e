//! The levels and the factors between them.

use super::Column::{Number, Text};
use super::{Cell, Table};
use crate::number::{device_hours, factor, percent};
use crate::view::{Exact, FactorBoundsView, LedgerView};

/// Offered to ideal, with the product.
pub(crate) fn chain(ledger: &LedgerView) -> Table {
    let (capacity, factors, bounds) = (&ledger.capacity_time, &ledger.factors, &ledger.factor_bounds);
    let offered = capacity.offered_ns.unwrap_or_default();
    let row = |level, amount, factor| row(level, amount, offered, factor);
    table(
        "of offered",
        vec![
            row("offered", offered, None),
            row(
                "held",
                capacity.held_ns,
                Some(("scheduling goodput", factors.scheduling, bounds.scheduling)),
            ),
            row(
                "retained",
                capacity.retained_ns,
                Some(("runtime goodput", factors.runtime, Some(bounds.runtime))),
            ),
            row("ideal", capacity.ideal_ns, Some(("program goodput", factors.program, Some(bounds.program)))),
            product("ML productivity goodput", factors.mpg, bounds.mpg),
        ],
    )
}

/// Held to ideal, with the job product.
pub(crate) fn job_chain(ledger: &LedgerView) -> Table {
    let (capacity, factors, bounds) = (&ledger.capacity_time, &ledger.factors, &ledger.factor_bounds);
    let held = capacity.held_ns;
    let row = |level, amount, factor| row(level, amount, held, factor);
    table(
        "of held",
        vec![
            row("held", held, None),
            row(
                "retained",
                capacity.retained_ns,
                Some(("runtime goodput", factors.runtime, Some(bounds.runtime))),
            ),
            row("ideal", capacity.ideal_ns, Some(("program goodput", factors.program, Some(bounds.program)))),
            product("job product", factors.job_product, None),
        ],
    )
}

type Named = (&'static str, Option<f64>, Option<FactorBoundsView>);

fn table(whole: &'static str, rows: Vec<Vec<Cell>>) -> Table {
    let columns = vec![
        Text("level"),
        Number("device-h"),
        Number(whole),
        Text("factor"),
        Number("settled value"),
        Number("settled on"),
        Text("of all"),
    ];
    Table { columns, rows, notes: Vec::new() }
}

fn row(level: &str, amount: Exact, whole: Exact, named: Option<Named>) -> Vec<Cell> {
    let share = amount.capacity().share_of(whole.capacity());
    let mut cells: Vec<Cell> = vec![level.into(), device_hours(amount.capacity()).into()];
    cells.push(Cell { share, ..percent(share).into() });
    match named {
        Some((name, value, bounds)) => cells.extend(settled(name, value, bounds)),
        None => cells.resize(7, Cell::default()),
    }
    cells
}

fn product(name: &'static str, value: Option<f64>, bounds: Option<FactorBoundsView>) -> Vec<Cell> {
    let mut cells = vec![Cell::default(); 3];
    cells.extend(settled(name, value, bounds));
    cells
}

fn settled(name: &str, value: Option<f64>, bounds: Option<FactorBoundsView>) -> [Cell; 4] {
    let (settled_on, range) = match bounds {
        Some(b) if b.settled.is_some() && b.coverage >= 1.0 => ("100%".to_owned(), String::new()),
        Some(b) if b.high <= 0.0 => (percent(Some(b.coverage)), String::new()),
        Some(b) => {
            (percent(Some(b.coverage)), format!("{} to {}", factor(Some(b.low)), factor(Some(b.high))))
        }
        None => (String::new(), String::new()),
    };
    [name.into(), factor(value).into(), settled_on.into(), range.into()]
}
