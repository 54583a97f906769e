//! Parts that the pages of several verbs share.

use super::page::Column::{Number, Text};
use super::page::Page;
use crate::number::{self, UNKNOWN, count, device_hours, duration, factor, money, percent};
use crate::view::{
    ContractView, FactorBoundsView, LeverView, LossView, ReadReportView, WarningView, WindowView,
};

/// `2026-11-23 00:00 to 2026-11-30 00:00 UTC (7 d)`.
pub(super) fn window(window: &WindowView) -> String {
    let instant = |ns: crate::view::Exact| number::instant(goodput_core::Timestamp::from_nanos(ns.as_i64()));
    format!(
        "{} to {} UTC ({})",
        instant(window.from_ns),
        instant(window.to_ns),
        duration(window.duration_ns.as_i64())
    )
}

/// The coverage and bounds of a factor, in words.
pub(super) fn settled_on(bounds: Option<FactorBoundsView>) -> (String, String) {
    match bounds {
        Some(b) if b.settled.is_some() && b.coverage >= 1.0 => ("100%".to_owned(), String::new()),
        Some(b) => {
            (percent(Some(b.coverage)), format!("{} to {}", factor(Some(b.low)), factor(Some(b.high))))
        }
        None => (String::new(), String::new()),
    }
}

pub(super) fn losses(page: &mut Page, losses: &[LossView], whole: &'static str) {
    if losses.is_empty() {
        page.line("none");
        return;
    }
    let row = |loss: &LossView| {
        vec![
            loss.label.to_owned(),
            loss.boundary.to_owned(),
            device_hours(loss.amount_ns.capacity()),
            percent(loss.share),
            loss.kind.owner().label().to_owned(),
        ]
    };
    let columns = [Text("loss"), Text("boundary"), Number("device-h"), Number(whole), Text("owner")];
    page.table(&columns, losses.iter().map(row).collect());
}

/// Levers that a terminal page lists.
const LEVERS: usize = 8;

pub(super) fn levers(page: &mut Page, levers: &[LeverView], currency: Option<&str>) {
    if levers.is_empty() {
        return;
    }
    page.heading("Levers, by what removing the whole loss would add to the product");
    let row = |l: &LeverView| {
        let gain = match l.relative_gain {
            Some(gain) => format!("+{}", percent(Some(gain))),
            None if l.open => "open".to_owned(),
            None => "unbounded".to_owned(),
        };
        let mut row = vec![
            format!("{}: {}", l.label, l.lever),
            l.owner_label.to_owned(),
            format!("{} to {}", factor(l.factor), factor(l.ceiling)),
            gain,
        ];
        if l.open {
            row[2] = UNKNOWN.to_owned();
        }
        if let Some(currency) = currency {
            row.push(l.worth.map_or_else(|| UNKNOWN.to_owned(), |worth| money(worth, currency)));
        }
        row
    };
    let mut columns = vec![Text("lever"), Text("owner"), Text("factor"), Number("gain")];
    if currency.is_some() {
        columns.push(Number("worth"));
    }
    page.table(&columns, levers.iter().take(LEVERS).map(row).collect());
    page.note("Gains are ceilings, one lever at a time: they do not add.");
    if let Some(condition) = levers.iter().take(LEVERS).find_map(|l| l.condition) {
        page.note(&format!("Scheduling levers gain {condition}."));
    }
}

pub(super) fn ideals(contract: &ContractView) -> Vec<String> {
    let text = |i: &crate::view::IdealView| {
        format!(
            "ideal: {} on {}, dense {} peak {} a device, FLOPs by {} ({})",
            i.ideal,
            i.device,
            i.dtype,
            number::si(i.peak_flops_per_second, "FLOP/s"),
            i.convention,
            number::counted(i.jobs, "job")
        )
    };
    contract.ideals.iter().map(text).collect()
}

pub(super) fn read_report(page: &mut Page, read: &ReadReportView) {
    page.heading("What was read");
    let row = |f: &crate::view::FileView| {
        let numbers = [f.rows, f.used, f.repaired, f.refused].map(count);
        let skipped: u64 = f.skipped.0.iter().map(|(_, n)| n).sum();
        let mut row = vec![f.path.clone(), f.format.clone()];
        row.extend(numbers);
        row.push(count(skipped));
        row
    };
    let columns = [
        Text("file"),
        Text("format"),
        Number("rows"),
        Number("used"),
        Number("repaired"),
        Number("refused"),
        Number("skipped"),
    ];
    page.table(&columns, read.files.iter().map(row).collect());
    const SHOWN: usize = 10;
    let findings = read.files.iter().flat_map(|f| f.findings.iter().map(move |finding| (f, finding)));
    for (file, finding) in findings.clone().take(SHOWN) {
        let line = finding.line.map(|l| format!(":{l}")).unwrap_or_default();
        let field = finding.field.as_ref().map(|f| format!(" {f}")).unwrap_or_default();
        page.warning(&format!("{}{line}{field}: {} ({})", file.path, finding.message, finding.treatment));
    }
    let further = findings.count().saturating_sub(SHOWN);
    if further > 0 {
        page.note(&format!("and {} more; --format json lists them", count(further as u64)));
    }
}

pub(super) fn warnings(page: &mut Page, warnings: &[WarningView]) {
    if warnings.is_empty() {
        return;
    }
    page.heading("Before you trust a figure");
    for w in warnings {
        let job = w.job.as_ref().map(|j| format!("job {j}: ")).unwrap_or_default();
        let source = w.source.as_ref().map(|s| format!(" ({s})")).unwrap_or_default();
        let more =
            if w.more > 0 { format!(" [and {} more of this kind]", count(w.more)) } else { String::new() };
        page.warning(&format!("{}: {job}{}{source}{more}", w.code, w.message));
    }
}
