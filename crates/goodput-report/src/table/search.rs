//! Tables of a search.

use super::Column::{Number, Text};
use super::{Detail, Table, or_unknown};
use crate::number::{count, duration, money, percent, thousands};
use crate::view::{LayoutView, SearchView};

/// Layouts, in their order.
pub(crate) fn layouts(view: &SearchView, layouts: &[LayoutView], detail: Detail) -> Table {
    let (priced, results) = (view.currency.as_deref(), layouts.iter().any(|of| of.result_ns.is_some()));
    let row = |of: &LayoutView| {
        let mut row = vec![
            count(of.devices.into()).into(),
            format!("{}{}", of.tp, if of.sp { " + sp" } else { "" }).into(),
            of.cp.to_string().into(),
            format!("{} x {}", of.pp, of.vpp).into(),
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
    Table { columns, rows: layouts.iter().map(row).collect(), notes: Vec::new() }
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
