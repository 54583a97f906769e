//! FLOPs by component, conventions, and the self-check.

use super::Column::{Number, Text};
use super::{Cell, Table, or_unknown};
use crate::number::{percent, si, thousands};
use crate::view::{Exact, FlopsView, RecurrenceView, SelfCheckView};

fn flop(count: Exact) -> String {
    si(count.0 as f64, "FLOP")
}

/// Forward and backward by component.
pub(crate) fn components(view: &FlopsView) -> Table {
    let padded = view.flops.padding.total.0 > 0;
    let again = view.flops.recompute.0 > 0;
    let mut columns = vec![Text("component"), Number("forward"), Number("backward"), Number("of useful")];
    columns.extend(padded.then_some(Number("on padding")));
    columns.extend(again.then_some(Number("recomputed")));
    let row = |part: &crate::view::ComponentView| {
        let backward = Exact(part.useful.total.0 - part.useful.forward.0);
        let mut row: Vec<Cell> = vec![
            part.label.into(),
            flop(part.useful.forward).into(),
            flop(backward).into(),
            Cell { share: part.share, ..percent(part.share).into() },
        ];
        row.extend(padded.then(|| flop(part.padding.total).into()));
        row.extend(again.then(|| flop(part.recompute).into()));
        row
    };
    Table { columns, rows: view.components.iter().map(row).collect(), notes: Vec::new() }
}

/// What frameworks count for a recurrence.
pub(crate) fn recurrence(recurrence: &RecurrenceView) -> Table {
    let row = |count: &crate::view::RecurrenceCountView| {
        vec![count.framework.into(), count.formula.into(), flop(count.forward_per_token).into()]
    };
    Table {
        columns: vec![Text("counted by"), Text("a layer and token"), Number("forward a token")],
        rows: recurrence.counts.iter().map(row).collect(),
        notes: vec!["No two frameworks agree, so the recurrence is in no total.".to_owned()],
    }
}

/// Every convention that says something about the model.
pub(crate) fn conventions(view: &FlopsView) -> Table {
    let batch = view
        .conventions
        .iter()
        .any(|convention| differs(convention.ratio_to_exact, convention.ratio_to_batch));
    let mut columns = vec![Text("convention"), Number("a token"), Number("x exact")];
    columns.extend(batch.then_some(Number("x batch")));
    columns.extend([Text("attention"), Text("logits")]);
    let mixture = view.parameters.active != view.parameters.total;
    columns.extend(mixture.then_some(Text("experts")));
    columns.push(Text("recompute"));
    let defined = view.conventions.iter().filter(|convention| convention.flops_per_token.is_some());
    let row = |convention: &crate::view::ConventionView| {
        let ratio = |value: Option<f64>| or_unknown(value, |value| thousands(value, 4));
        let mut row: Vec<Cell> = vec![
            convention.name.into(),
            or_unknown(convention.flops_per_token, |flops| si(flops, "FLOP")).into(),
            ratio(convention.ratio_to_exact).into(),
        ];
        row.extend(batch.then(|| ratio(convention.ratio_to_batch).into()));
        row.extend([convention.attention.into(), convention.logits.into()]);
        row.extend(mixture.then(|| convention.experts.into()));
        row.push(convention.recompute.into());
        row
    };
    let silent: Vec<&str> =
        view.conventions.iter().filter(|c| c.flops_per_token.is_none()).map(|c| c.name).collect();
    let mut notes = vec!["An MFU quoted in a convention is too high by its factor over exact.".to_owned()];
    if view.batch.patches > 0 {
        notes.push("Conventions count the text model alone, no images.".to_owned());
    }
    if !silent.is_empty() {
        notes.push(format!("Not defined for this model (--format json says why): {}.", silent.join(", ")));
    }
    Table { columns, rows: defined.map(row).collect(), notes }
}

/// Whether the batch is not one sequence of the conventions' length.
fn differs(exact: Option<f64>, batch: Option<f64>) -> bool {
    const SAME: f64 = 1e-12;
    exact.zip(batch).is_some_and(|(exact, batch)| (exact - batch).abs() > SAME)
}

/// Both counts of each batch.
pub(crate) fn self_check(view: &SelfCheckView) -> Table {
    let row = |comparison: &crate::view::ComparisonView| {
        vec![
            comparison.model.as_str().into(),
            comparison.case.into(),
            flop(comparison.batch_flops).into(),
            flop(comparison.constant_flops).into(),
            thousands(comparison.ratio, 4).into(),
            comparison.remainder.0.to_string().into(),
        ]
    };
    let reasons = view.comparisons.first().map(|comparison| &comparison.departures);
    let notes =
        reasons.into_iter().flatten().map(|departure| format!("Accounted for: {}.", departure.reason));
    Table {
        columns: vec![
            Text("model"),
            Text("batch"),
            Number("counted"),
            Number("constant"),
            Number("ratio"),
            Number("left over"),
        ],
        rows: view.comparisons.iter().map(row).collect(),
        notes: notes.collect(),
    }
}
