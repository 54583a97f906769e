//! Factors before and after, and the conditions that differ.

use super::Column::{Number, Text};
use super::{Cell, Detail, Table, or_unknown};
use crate::number::{UNKNOWN, factor, percent};
use crate::view::{CompareView, DifferenceView, FactorMoveView};
use crate::words;

/// Each factor and the product.
pub(crate) fn compared_factors(view: &CompareView) -> Table {
    let row = |f: &FactorMoveView| -> Vec<Cell> {
        let name = format!("{} goodput{}", f.factor, if f.decides { "" } else { " (beside)" });
        let samples = format!("{} and {} {}", f.samples_before, f.samples_after, f.unit);
        let basis = if f.basis == "step_times" { "of step times" } else { "of factors" };
        vec![
            name.into(),
            factor(f.before).into(),
            factor(f.after).into(),
            words::ratio(&f.ratio).into(),
            samples.into(),
            basis.into(),
        ]
    };
    let mut rows: Vec<Vec<Cell>> = view.factors.iter().map(row).collect();
    let blank = Cell::default;
    rows.push(vec![
        "product of the ratios".into(),
        blank(),
        blank(),
        words::ratio(&view.product).into(),
        blank(),
        blank(),
    ]);
    Table {
        columns: vec![
            Text("factor"),
            Number("before"),
            Number("after"),
            Number("ratio"),
            Text("drawn from"),
            Text("basis"),
        ],
        rows,
        notes: Vec::new(),
    }
}

/// Conditions that differ, and what follows.
pub(crate) fn compared_conditions(view: &CompareView, detail: Detail) -> Table {
    let row = |d: &DifferenceView| -> Vec<Cell> {
        let value = |v: &Option<String>| or_unknown(v.as_deref(), |text| detail.name(text));
        vec![
            d.label.into(),
            value(&d.before).into(),
            value(&d.after).into(),
            d.not_attributable.clone().into(),
        ]
    };
    let notes = if view.differences.iter().any(|d| d.before.is_none() || d.after.is_none()) {
        vec![format!("{UNKNOWN}: known on one side only, so that nobody can say that it is the same.")]
    } else {
        Vec::new()
    };
    Table {
        columns: vec![Text("condition"), Text("before"), Text("after"), Text("so the comparison cannot say")],
        rows: view.differences.iter().map(row).collect(),
        notes,
    }
}

/// Each window.
pub(crate) fn compared_windows(view: &CompareView) -> Table {
    let row = |a: &crate::view::AdequacyView| -> Vec<Cell> {
        vec![
            a.side.into(),
            format!("{} goodput", a.factor).into(),
            if a.adequate { "long enough" } else { "too short" }.into(),
            or_unknown(a.no_failure_probability, |p| percent(Some(p))).into(),
            a.sentence.clone().into(),
        ]
    };
    Table {
        columns: vec![Text("side"), Text("factor"), Text("window"), Number("P(no failure)"), Text("because")],
        rows: view.adequacy.iter().map(row).collect(),
        notes: Vec::new(),
    }
}
