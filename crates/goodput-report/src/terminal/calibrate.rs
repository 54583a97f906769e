//! `goodput calibrate` on a terminal, and what a prediction says of measured tables.

use super::page::{Page, TerminalStyle};
use super::parts;
use crate::number::{UNKNOWN, counted, percent, si, thousands};
use crate::table::Column::{Number, Text};
use crate::table::{Cell, Table};
use crate::view::{CalibratedDeviceView, CalibratedKindView, MeasuredHereView, MeasuredTablesView};

pub(super) fn render(view: &MeasuredTablesView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading("Measured kernels and exchanges");
    parts::read_report(&mut page, &view.read);
    for device in &view.devices {
        page.heading(&device.device);
        let file = device.file.as_ref().map_or_else(
            || "checked only: -o FILE writes the calibration".to_owned(),
            |file| format!("written to {file}; use it with --tables {file}"),
        );
        page.line(&format!("{}, {file}", counted(device.rows as u64, "call")));
        for (what, texts) in [("software", &device.software), ("conditions", &device.conditions)] {
            if !texts.is_empty() {
                page.line(&format!("{what}: {}", texts.join("; ")));
            }
        }
        page.table(&kinds(device));
        match &device.sustained {
            Some(sustained) => {
                let points = sustained.time_over_burst.iter();
                let points: Vec<_> = points
                    .map(|(work, ratio)| format!("{ratio:.2} at {}", si(work * 1e12, "FLOP")))
                    .collect();
                page.line(&format!(
                    "sustained over burst time: {} (+- {}, {} in both states)",
                    points.join(", "),
                    percent(Some(sustained.deviation)),
                    counted(sustained.pairs as u64, "call")
                ));
            }
            None => page.note(
                "No call was measured both in a burst and sustained: the device's shipped sustained factor stays.",
            ),
        }
    }
    page.finish()
}

fn kinds(device: &CalibratedDeviceView) -> Table {
    let ratio = |ratio: Option<f64>| ratio.map_or_else(|| UNKNOWN.to_owned(), |ratio| thousands(ratio, 2));
    let row = |kind: &CalibratedKindView| {
        let size = |size: f64| if kind.unit == "kernel" { UNKNOWN.to_owned() } else { si(size, kind.unit) };
        vec![
            Cell::from(kind.kind),
            kind.rows.to_string().into(),
            kind.sustained_rows.to_string().into(),
            size(kind.least).into(),
            size(kind.most).into(),
            percent(kind.noise).into(),
            ratio(kind.ratio).into(),
            format!("{} to {}", ratio(kind.ratio_p10), ratio(kind.ratio_p90)).into(),
            kind.compared_with.unwrap_or(UNKNOWN).into(),
        ]
    };
    Table {
        columns: vec![
            Text("kind"),
            Number("calls"),
            Number("sustained"),
            Number("smallest"),
            Number("largest"),
            Number("noise"),
            Number("over shipped"),
            Number("10 to 90 %"),
            Text("shipped from"),
        ],
        rows: device.kinds.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// How much of a prediction rests on measured tables.
pub(super) fn measured_here(page: &mut Page, measured: &MeasuredHereView) {
    page.heading("Measured here");
    page.line(&format!(
        "{} of the kernels and exchanges of the layers rest on {}; the rest falls back to the shipped tables and models",
        percent(Some(measured.share)),
        measured.tables
    ));
    let row = |term: &crate::view::MeasuredTermView| {
        vec![Cell::from(term.term), percent(Some(term.share)).into(), term.not_measured.join(", ").into()]
    };
    page.table(&Table {
        columns: vec![Text("term"), Number("measured here"), Text("not measured")],
        rows: measured.terms.iter().map(row).collect(),
        notes: Vec::new(),
    });
}
