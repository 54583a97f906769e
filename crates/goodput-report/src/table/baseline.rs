//! Tables of `goodput baseline check`.

use super::Column::{Number, Text};
use super::{Cell, Detail, Table, or_unknown};
use crate::number::{count, gain, percent, significant};
use crate::view::{BaselineView, CurveView};
use crate::words;

/// Tests and regressions of each tier.
pub(crate) fn baseline_tiers(view: &BaselineView) -> Table {
    let row = |tier: &crate::view::TierView| {
        vec![tier.label.into(), count(tier.tests as u64).into(), count(tier.regressions as u64).into()]
    };
    Table {
        columns: vec![Text("tier"), Number("tests"), Number("regressions")],
        rows: view.tiers.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// Changes over time. On a page the levels stand over each other and days and intervals on lines of their own, so that all
/// columns fit beside each other.
pub(crate) fn baseline_changes(view: &BaselineView, detail: Detail) -> Table {
    let (shown, is_page) = if detail == Detail::Brief { (20, false) } else { (500, true) };
    let row = |change: &crate::view::BaselineChangeView| {
        let levels = [change.before, change.after].map(|level| words::baseline_value(change, level));
        let levels = if is_page { vec![levels.join("\n")] } else { levels.to_vec() };
        let day = match is_page {
            true => format!("{}\n({} to\n{})", change.day, change.between.0, change.between.1),
            false => change.day.clone(),
        };
        let mut cells: Vec<Cell> = vec![
            words::baseline_state(change).into(),
            change.label.into(),
            detail.name(&words::baseline_subject(change)).into(),
        ];
        cells.extend(levels.into_iter().map(Cell::from));
        cells.extend([
            words::baseline_size(change, is_page).into(),
            day.into(),
            words::p_value(change.p_value).into(),
            words::baseline_causes(change).into(),
        ]);
        cells
    };
    let mut columns = vec![Text(""), Text("figure"), Text("of")];
    columns.extend(if is_page {
        vec![Number("before, after")]
    } else {
        vec![Number("before"), Number("after")]
    });
    columns.extend([Number("change"), Text("first day"), Number("p"), Text("what else changed then")]);
    let more = view.changes.len().saturating_sub(shown);
    Table {
        columns,
        rows: view.changes.iter().take(shown).map(row).collect(),
        notes: (more > 0)
            .then(|| format!("{} more changes in JSON", count(more as u64)))
            .into_iter()
            .collect(),
    }
}

/// Slow hosts, a row for each of their jobs.
pub(crate) fn slow_hosts(view: &BaselineView, detail: Detail) -> Table {
    let rows = view.slow_hosts.iter().flat_map(|host| {
        host.jobs.iter().map(move |job| {
            vec![
                detail.name(&host.host).into(),
                detail.name(&job.job).into(),
                format!("{} of {}", job.rank, count(job.ranks)).into(),
                gain(job.ratio - 1.0).into(),
                percent(Some(job.lost)).into(),
                format!("{} of {}", job.reports, job.of).into(),
                job.day.clone().into(),
            ]
        })
    });
    Table {
        columns: vec![
            Text("host"),
            Text("job"),
            Text("rank"),
            Number("slower by"),
            Number("job loses at most"),
            Text("newest reports"),
            Text("last"),
        ],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

/// A canary's curve.
pub(crate) fn curve(curve: &CurveView) -> Table {
    let speed = |value: f64| match curve.speed {
        "mfu" => percent(Some(value)),
        _ => format!("{} steps/s", significant(value)),
    };
    let row = |point: &crate::view::CurvePointView| {
        let p = &point.point;
        vec![
            count(p.devices).into(),
            p.day.clone().into(),
            speed(p.speed).into(),
            or_unknown(p.baseline_speed, speed).into(),
            percent(Some(p.efficiency)).into(),
            percent(p.baseline_efficiency).into(),
            or_unknown(p.change, gain).into(),
            or_unknown(p.p_value, words::p_value).into(),
            point.verdict.replace('_', " ").into(),
        ]
    };
    Table {
        columns: vec![
            Number("devices"),
            Text("newest run"),
            Number("speed"),
            Number("baseline"),
            Number("efficiency"),
            Number("baseline"),
            Number("change"),
            Number("p"),
            Text(""),
        ],
        rows: curve.points.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// Runs off the baseline of their group.
pub(crate) fn departures(view: &BaselineView, detail: Detail) -> Table {
    let row = |departure: &goodput_decide::baseline::Departure| {
        vec![
            detail.name(&departure.job).into(),
            percent(Some(departure.mfu)).into(),
            percent(Some(departure.baseline)).into(),
            gain(departure.change).into(),
            count(departure.runs as u64).into(),
            words::p_value(departure.p_value).into(),
            departure.group.clone().into(),
        ]
    };
    Table {
        columns: vec![
            Text("run"),
            Number("MFU"),
            Number("baseline"),
            Number("change"),
            Number("other runs"),
            Number("p"),
            Text("group"),
        ],
        rows: view.departures.iter().take(detail.rows()).map(row).collect(),
        notes: Vec::new(),
    }
}
