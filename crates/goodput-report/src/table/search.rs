//! Tables of a search.

use super::Column::{Number, Text};
use super::{Detail, Table, or_unknown};
use crate::number::{count, duration, money, percent, thousands};
use crate::view::{LayoutView, SearchView};
use crate::words;

/// Layouts, in their order.
pub(crate) fn layouts(view: &SearchView, layouts: &[LayoutView], detail: Detail) -> Table {
    let (priced, results) = (view.currency.as_deref(), layouts.iter().any(|of| of.result_ns.is_some()));
    let row = |of: &LayoutView| {
        let mut row = vec![
            count(of.devices.into()).into(),
            format!(
                "{}{}",
                of.tp,
                if !of.sp {
                    ""
                } else if detail == Detail::Full {
                    " + sp"
                } else {
                    "+sp"
                }
            )
            .into(),
            of.cp.to_string().into(),
            words::stages(of).into(),
            of.ep.to_string().into(),
            of.dp.to_string().into(),
            of.micro_batch.to_string().into(),
            of.schedule.clone().into(),
        ];
        if detail == Detail::Full {
            row.push(of.sharding.into());
        }
        row.push(of.recompute.clone().into());
        row.push(duration(of.step_ns as i64).into());
        if detail == Detail::Full {
            row.push(or_unknown(of.deviation, |share| format!("± {}", percent(Some(share)))).into());
        }
        row.push(percent(of.mfu).into());
        row.push(format!("{} GB", thousands(of.memory_bytes / 1e9, 1)).into());
        if results {
            row.push(or_unknown(of.result_ns, |ns| duration(ns as i64)).into());
        }
        if let Some(currency) = priced {
            let cost = if results { of.result_cost } else { of.step_cost };
            row.push(or_unknown(cost, |cost| money(cost, currency)).into());
        }
        row
    };
    let mut columns = vec![
        Number("devices"),
        Number("tp"),
        Number("cp"),
        Number("pp x vpp"),
        Number("ep"),
        Number("dp"),
        Number("micro"),
        Text("schedule"),
    ];
    if detail == Detail::Full {
        columns.push(Text("sharded"));
    }
    columns.extend([Text("recompute"), Number("step")]);
    if detail == Detail::Full {
        columns.push(Number("uncertainty"));
    }
    columns.extend([Number("MFU"), Number("memory")]);
    if results {
        columns.push(Number("time to result"));
    }
    if priced.is_some() {
        columns.push(Number(if results { "cost of the result" } else { "cost of a step" }));
    }
    let uneven = layouts.iter().any(|of| of.uneven_ends != [0, 0]);
    let notes = uneven.then(|| UNEVEN.to_owned()).into_iter().collect();
    Table { columns, rows: layouts.iter().map(row).collect(), notes }
}

const UNEVEN: &str =
    "pp x vpp (-a -b): the first and the last stage hold a and b layers less than the others";

/// Columns that say what a layout is, not how it does.
const SETTINGS: [&str; 9] = ["devices", "tp", "cp", "pp x vpp", "ep", "dp", "micro", "schedule", "recompute"];

/// The table without the settings that are the same in all of its rows, and those in words; so that it fits a narrow terminal.
pub(crate) fn without_shared(mut table: Table) -> (Option<String>, Table) {
    let mut shared = Vec::new();
    for at in (0..table.columns.len()).rev() {
        let (Number(name) | Text(name)) = table.columns[at];
        let Some(first) = table.rows.first().map(|row| row[at].text.clone()) else { break };
        if SETTINGS.contains(&name) && table.rows.iter().all(|row| row[at].text == first) {
            shared.push(format!("{name} {first}"));
            table.columns.remove(at);
            table.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        }
    }
    shared.reverse();
    ((!shared.is_empty()).then(|| format!("in every layout: {}", shared.join(", "))), table)
}

/// What cannot run, by rule.
pub(crate) fn refused(view: &SearchView) -> Table {
    let refused = &view.refused;
    let rules = refused.combinations.iter().map(|of| (of.rule, of.count, "combination of degrees"));
    let layouts = [
        ("does not fit in memory", refused.memory),
        ("no kernel or no schedule", refused.no_time),
        ("its lower bound is beyond the best: not looked at closer", refused.beaten),
    ];
    let layouts = layouts.into_iter().filter(|(_, count)| *count > 0).map(|(why, of)| (why, of, "layout"));
    let row = |(why, of, what): (&str, u64, &str)| vec![why.into(), count(of).into(), what.into()];
    Table {
        columns: vec![Text("why"), Number("how many"), Text("of what")],
        rows: rules.chain(layouts).map(row).collect(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Cell;
    use super::*;

    #[test]
    fn settings_that_all_rows_share_become_a_line_and_results_stay() {
        let row = |cells: [&str; 4]| cells.map(Into::into).to_vec();
        let table = Table {
            columns: vec![Number("devices"), Number("tp"), Text("schedule"), Number("step")],
            rows: vec![row(["64", "8+sp", "1f1b", "2 s"]), row(["64", "4", "1f1b", "2 s"])],
            notes: Vec::new(),
        };
        let (line, rest) = without_shared(table);
        assert_eq!(line.as_deref(), Some("in every layout: devices 64, schedule 1f1b"));
        assert_eq!(rest.columns, [Number("tp"), Number("step")]);
        assert_eq!(rest.rows[1], [Cell::from("4"), Cell::from("2 s")]);
        let (line, rest) = without_shared(Table::default());
        assert!(line.is_none() && rest.rows.is_empty());
    }
}
