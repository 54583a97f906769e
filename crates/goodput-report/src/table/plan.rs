//! Tables of a plan's answers.

use goodput_decide::plan::Unit;

use super::Column::{Number, Text};
use super::{Cell, Detail, Table};
use crate::name::cut;
use crate::number::{
    UNKNOWN, amount, counted, duration, hours, money, significant, thousands, two_decimal_percent,
};
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

/// The longest name of a row on a terminal.
const NAME: usize = 36;
/// The longest note that stands in a column on a terminal; longer ones stand under the table.
const SHORT_NOTE: usize = 24;

/// Options, sizes or terms. A column that no row fills is left out.
pub(crate) fn plan_rows(view: &PlanView, rows: &PlanRowsView, detail: Detail) -> Table {
    let limit = if detail == Detail::Brief { 20 } else { 200 };
    let filled: Vec<usize> = (0..rows.columns.len())
        .filter(|&i| rows.rows.iter().any(|row| row.values.get(i).is_some_and(Option::is_some)))
        .collect();
    let marks = || rows.rows.iter().take(limit).filter_map(|row| Some((&row.name, row.mark.as_ref()?)));
    let below = detail == Detail::Brief && marks().any(|(_, mark)| mark.chars().count() > SHORT_NOTE);
    let marked = !below && marks().next().is_some();
    let numbers =
        if detail == Detail::Full { numbered(&rows.rows[..rows.rows.len().min(limit)]) } else { None };
    let mut columns = if numbers.is_some() { vec![Text("no."), Text("")] } else { vec![Text("")] };
    columns.extend(filled.iter().map(|&i| Number(rows.columns[i].label)));
    if marked {
        columns.push(Text("note"));
    }
    let has = |unit| filled.iter().any(|&i| rows.columns[i].unit == unit);
    let row = |(i, row): (usize, &PlanRowView)| {
        let mut cells: Vec<Cell> =
            if numbers.is_some() { vec![(i + 1).to_string().into()] } else { Vec::new() };
        cells.push(cut(&row.name, if detail == Detail::Brief { NAME } else { 160 }).into());
        cells.extend(filled.iter().map(|&i| {
            let value = row.values.get(i).copied().flatten();
            value.map_or_else(|| UNKNOWN.to_owned(), |value| bare(value, rows.columns[i].unit)).into()
        }));
        if marked {
            let mark = row.mark.as_deref().unwrap_or_default();
            let other = numbers.as_ref().and_then(|numbers| numbers[i]);
            let mark = match other {
                Some(of) => mark.replace(&rows.rows[of].name, &format!("no. {}", of + 1)),
                None => mark.to_owned(),
            };
            cells.push(mark.into());
        }
        cells
    };
    let mut notes = Vec::new();
    if let Some(currency) = view.currency.as_deref().filter(|_| has(Unit::Money)) {
        notes.push(format!("Prices and costs in {currency}."));
    }
    if below {
        notes.extend(marks().map(|(name, mark)| format!("{}: {mark}", cut(name, NAME))));
    }
    let more = rows.rows.len().saturating_sub(limit);
    if more > 0 {
        notes.push(format!("{} in JSON", counted(more as u64, "more row")));
    }
    Table { columns, rows: rows.rows.iter().take(limit).enumerate().map(row).collect(), notes }
}

/// For each row the row whose name its mark ends with, where a mark does: a number says the same in less room.
fn numbered(rows: &[PlanRowView]) -> Option<Vec<Option<usize>>> {
    let named = |row: &PlanRowView| {
        let mark = row.mark.as_deref()?;
        let ends = |(_, other): &(usize, &PlanRowView)| {
            mark.strip_suffix(other.name.as_str()).is_some_and(|rest| rest.ends_with(" by "))
        };
        rows.iter().enumerate().find(ends).map(|(i, _)| i)
    };
    let of: Vec<_> = rows.iter().map(named).collect();
    of.iter().any(Option::is_some).then_some(of)
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

/// A value without what the heading or a note of its table says: currency, and the unit of device-hours.
fn bare(value: f64, unit: Unit) -> String {
    match unit {
        Unit::DeviceHours if value.is_finite() => hours(value),
        Unit::Money if value.is_finite() => amount(value),
        _ => measure(value, unit, None),
    }
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
