//! Tables of a plan's answers.

use goodput_decide::plan::Unit;

use super::Column::{Number, Text};
use super::{Cell, Detail, Table};
use crate::name::cut;
use crate::number::{UNKNOWN, counted, duration, hours, money, significant, thousands, two_decimal_percent};
use crate::view::{PlanAnswerView, PlanFigureView, PlanInputView, PlanRowView, PlanRowsView, PlanView};

/// Figures with their words.
pub(crate) fn plan_figures(view: &PlanView, answer: &PlanAnswerView) -> Table {
    let row = |figure: &PlanFigureView| {
        vec![figure.label.into(), measure(figure.value, figure.unit, view.currency.as_deref()).into()]
    };
    Table {
        columns: vec![Text("figure"), Number("value")],
        rows: answer.figures.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// Options, sizes or terms. A column that no row fills is left out.
pub(crate) fn plan_rows(view: &PlanView, rows: &PlanRowsView, detail: Detail) -> Table {
    let limit = if detail == Detail::Brief { 20 } else { 200 };
    let filled: Vec<usize> = (0..rows.columns.len())
        .filter(|&i| rows.rows.iter().any(|row| row.values.get(i).is_some_and(Option::is_some)))
        .collect();
    let marked = rows.rows.iter().any(|row| row.mark.is_some());
    let mut columns = vec![Text("")];
    columns.extend(filled.iter().map(|&i| Number(rows.columns[i].label)));
    if marked {
        columns.push(Text("note"));
    }
    let row = |row: &PlanRowView| {
        let mut cells: Vec<Cell> = vec![cut(&row.name, if detail == Detail::Brief { 36 } else { 80 }).into()];
        cells.extend(filled.iter().map(|&i| {
            let value = row.values.get(i).copied().flatten();
            value
                .map_or_else(
                    || UNKNOWN.to_owned(),
                    |value| measure(value, rows.columns[i].unit, view.currency.as_deref()),
                )
                .into()
        }));
        if marked {
            cells.push(row.mark.clone().unwrap_or_default().into());
        }
        cells
    };
    let more = rows.rows.len().saturating_sub(limit);
    Table {
        columns,
        rows: rows.rows.iter().take(limit).map(row).collect(),
        notes: if more > 0 {
            vec![format!("{} in JSON", counted(more as u64, "more row"))]
        } else {
            Vec::new()
        },
    }
}

/// What an answer rests on.
pub(crate) fn plan_inputs(answer: &PlanAnswerView) -> Table {
    const ROWS: usize = 200;
    let row = |input: &PlanInputView| {
        let source = match &input.evidence {
            Some(evidence) => format!("measured: {evidence}"),
            None => input.source.to_owned(),
        };
        vec![input.field.as_str().into(), cut(&input.text, 32).into(), source.into()]
    };
    let more = answer.inputs.len().saturating_sub(ROWS);
    Table {
        columns: vec![Text("input"), Number("value"), Text("source")],
        rows: answer.inputs.iter().take(ROWS).map(row).collect(),
        notes: if more > 0 {
            vec![format!("{} in JSON", counted(more as u64, "more input"))]
        } else {
            Vec::new()
        },
    }
}

/// A decimal without needless zeros.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// A value as people read it.
fn measure(value: f64, unit: Unit, currency: Option<&str>) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    match unit {
        Unit::Seconds => duration((value * 1e9) as i64),
        Unit::Share => two_decimal_percent(value),
        Unit::Factor => format!("{value:.4}"),
        Unit::Number => trimmed(&significant(value)).to_owned(),
        Unit::Count => thousands(value, 0),
        Unit::DeviceHours => format!("{} device-hours", hours(value)),
        Unit::Money => currency.map_or_else(|| thousands(value, 2), |currency| money(value, currency)),
    }
}
