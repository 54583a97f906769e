//! Losses, and what removing each is worth.

use super::Column::{Number, Text};
use super::{Cell, Detail, Table, or_unknown};
use crate::name::records;
use crate::number::{UNKNOWN, device_hours, factor, gain, money, percent};
use crate::view::{LeverView, LossView};

/// Every loss, the largest first. `whole` names what the shares are of.
pub(crate) fn losses(losses: &[LossView], whole: &'static str, detail: Detail) -> Table {
    let mut columns = vec![Text("loss"), Text("boundary"), Number("device-h"), Number(whole), Text("owner")];
    if detail == Detail::Full {
        columns.extend([Text("lever"), Text("records to open")]);
    }
    let row = |loss: &LossView| {
        let mut row = vec![
            Cell { pattern: Some(loss.kind), ..loss.label.into() },
            loss.boundary.into(),
            device_hours(loss.amount_ns.capacity()).into(),
            Cell { share: loss.share, ..percent(loss.share).into() },
            loss.kind.owner().label().into(),
        ];
        if detail == Detail::Full {
            row.extend([loss.lever.into(), records(&loss.evidence).into()]);
        }
        row
    };
    Table { columns, rows: losses.iter().map(row).collect(), notes: Vec::new() }
}

/// Levers, the largest gain first; with `currency`, what each is worth.
pub(crate) fn levers(levers: &[LeverView], currency: Option<&str>, detail: Detail) -> Table {
    let listed = match detail {
        Detail::Brief => &levers[..levers.len().min(8)],
        Detail::Full => levers,
    };
    let full = detail == Detail::Full;
    let mut columns = if full {
        vec![Text("loss"), Text("lever"), Text("owner"), Text("factor"), Number("gain"), Number("at least")]
    } else {
        vec![Text("loss: lever"), Text("factor"), Number("gain")]
    };
    if currency.is_some() {
        columns.push(Number("worth"));
    }
    let row = |l: &LeverView| {
        let gain = |value: Option<f64>| match value {
            Some(value) => gain(value),
            None if l.open => "open".to_owned(),
            None if l.factor.is_none() => UNKNOWN.to_owned(),
            None => "unbounded".to_owned(),
        };
        let to = |ceiling| format!("{} to {}", factor(l.factor), factor(Some(ceiling)));
        let loss = |text: String| Cell { pattern: Some(l.kind), ..text.into() };
        let mut row = if full {
            vec![loss(l.label.to_owned()), l.lever.into(), l.owner_label.into()]
        } else {
            vec![loss(format!("{}: {}", l.label, l.lever))]
        };
        row.extend([or_unknown(l.ceiling, to).into(), gain(l.relative_gain).into()]);
        if full {
            row.push(l.relative_gain_low.map_or_else(|| UNKNOWN.to_owned(), |low| gain(Some(low))).into());
        }
        if let Some(currency) = currency {
            row.push(or_unknown(l.worth, |worth| money(worth, currency)).into());
        }
        row
    };
    let mut notes = vec!["Gains are ceilings, one lever at a time: they do not add.".to_owned()];
    for boundary in ["scheduling", "program"] {
        if let Some(condition) = listed.iter().filter(|l| l.boundary == boundary).find_map(|l| l.condition) {
            notes.push(format!("Levers at the {boundary} boundary gain {condition}."));
        }
    }
    if currency.is_some() {
        notes.push(
            "Worth is the price of the capacity that would have to be added to gain as much.".to_owned(),
        );
    }
    Table { columns, rows: listed.iter().map(row).collect(), notes }
}
