//! `goodput mfu` on a terminal.

use super::page::{Page, TerminalStyle};
use super::parts;
use crate::number::{UNKNOWN, counted, significant, two_decimal_percent};
use crate::table::{Cell, Column, Table};
use crate::view::{ConversionView, ExplanationView, FigureView, MfuAuditView, MfuView};

pub(super) fn conversion(view: &ConversionView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    let (from, to) = (&view.from, &view.to);
    page.heading(&format!(
        "MFU {} ({}) is {} ({})",
        two_decimal_percent(from.mfu),
        from.convention,
        two_decimal_percent(to.mfu),
        to.convention
    ));
    page.line(&format!("{} on sequences of {}", view.model, counted(view.sequence_length, "token")));
    let mut rows: Vec<Vec<Cell>> = view
        .factors
        .iter()
        .map(|factor| {
            let (name, side): (&str, fn(&MfuView) -> String) = match factor.factor {
                "flops_per_token" => ("FLOPs per token", flops),
                "peak" => ("peak", peak),
                _ => ("tokens", |side| side.tokens.clone()),
            };
            vec![name.into(), side(from).into(), side(to).into(), format!("{:.4}", factor.ratio).into()]
        })
        .collect();
    rows.push(vec![
        "product".into(),
        two_decimal_percent(from.mfu).into(),
        two_decimal_percent(to.mfu).into(),
        format!("{:.4}", view.product).into(),
    ]);
    let columns = vec![Column::Text("factor"), Column::Text("from"), Column::Text("to"), Column::Number("x")];
    page.heading("Factors");
    page.table(&Table { columns, rows, notes: sources(view) });
    if let (None, None) = (from.peak_flops_per_second, to.peak_flops_per_second) {
        page.note("Both sides divide by the same peak, which is not stated.");
    }
    for warning in &view.warnings {
        page.warning(warning);
    }
    page.finish()
}

fn flops(side: &MfuView) -> String {
    format!("{} {}", side.convention, gflops(side.flops_per_token))
}

fn gflops(flops: f64) -> String {
    format!("{} GFLOP", significant(flops / 1e9))
}

fn peak(side: &MfuView) -> String {
    let peak = side.peak_flops_per_second.map_or_else(|| UNKNOWN.to_owned(), tflops);
    side.peak_source.as_ref().map_or(peak.clone(), |source| format!("{peak} ({source})"))
}

fn tflops(flops_per_second: f64) -> String {
    format!("{} TFLOP/s", significant(flops_per_second / 1e12))
}

fn sources(view: &ConversionView) -> Vec<String> {
    let source = |side: &MfuView| format!("{}: {}", side.convention, side.convention_source);
    let mut sources = vec![source(&view.from), source(&view.to)];
    sources.dedup();
    sources
}

pub(super) fn audit(view: &MfuAuditView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&format!("MFU audit of {}:{}", view.log.file, view.log.line));
    let step = view.log.step.map_or_else(String::new, |step| format!("step {step}, "));
    page.line(&format!(
        "{step}one of {} ({}); {} on sequences of {}, {}",
        counted(view.log.lines as u64, "line"),
        view.log.format,
        view.run.model,
        counted(view.run.sequence_length, "token"),
        counted(view.run.devices, "device")
    ));
    page.line(&format!("{} a token: exact pairs, no recomputation", gflops(view.flops_per_token)));
    page.line(&peak_line(view));
    if !view.log.convention.is_empty() {
        page.note(&format!("The log counts as {}.", view.log.convention));
    }
    if !view.tokens_are_recomputed {
        page.note("Tokens/s are taken as printed: the log does not give both step time and tokens.");
    }
    page.heading("Printed and recomputed");
    page.table(&figures(view));
    if view.figures.iter().all(|figure| figure.figure != "mfu")
        && let Some(mfu) = view.mfu
    {
        page.line(&format!("MFU, which the log does not print: {}", two_decimal_percent(mfu)));
    }
    for figure in &view.figures {
        explanations(&mut page, view, figure);
    }
    if view.read_report.degraded {
        parts::read_report(&mut page, &view.read_report);
    }
    for warning in &view.warnings {
        page.warning(warning);
    }
    page.finish()
}

fn peak_line(view: &MfuAuditView) -> String {
    let run = &view.run;
    match run.peak_flops_per_second {
        None => {
            "no peak: the MFU is not recomputed (state --device and --dtype, or --peak-tflops)".to_owned()
        }
        Some(peak) => {
            let device = run.device.as_deref().unwrap_or("stated");
            format!(
                "peak {} ({device}{})",
                tflops(peak),
                run.dtype.map_or_else(String::new, |d| format!(", {d}"))
            )
        }
    }
}

fn figures(view: &MfuAuditView) -> Table {
    let row = |figure: &FigureView| {
        vec![
            figure.label.into(),
            figure.text(figure.printed).into(),
            figure.right.map_or_else(|| UNKNOWN.to_owned(), |right| figure.text(right)).into(),
            figure.ratio.map_or_else(|| UNKNOWN.to_owned(), |ratio| format!("{ratio:.4}")).into(),
            verdict(view, figure).into(),
        ]
    };
    Table {
        columns: vec![
            Column::Text("figure"),
            Column::Number("printed"),
            Column::Number("right"),
            Column::Number("ratio"),
            Column::Text("verdict"),
        ],
        rows: view.figures.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

/// A printed figure by its key, in a person's words.
fn label(view: &MfuAuditView, key: Option<&str>) -> &'static str {
    view.figures.iter().find(|figure| Some(figure.figure) == key).map_or("figure", |figure| figure.label)
}

fn verdict(view: &MfuAuditView, figure: &FigureView) -> String {
    match figure.verdict {
        "agrees" => "agrees".to_owned(),
        "follows" => format!("follows from the printed {}", label(view, figure.follows)),
        "explained" => figure.explanations.first().map_or_else(String::new, names),
        "not_explained" => "not explained".to_owned(),
        _ => "nothing to compare with".to_owned(),
    }
}

fn names(explanation: &ExplanationView) -> String {
    explanation.faults.iter().map(|fault| fault.name).collect::<Vec<_>>().join(" and ")
}

fn explanations(page: &mut Page, view: &MfuAuditView, figure: &FigureView) {
    match figure.verdict {
        "explained" => {}
        "not_explained" => {
            page.heading(&format!("{}: not explained", figure.label));
            page.line(&format!(
                "No known fault and no pair of them makes {} within {}%.",
                figure.ratio.map_or_else(|| UNKNOWN.to_owned(), |ratio| format!("x{ratio:.4}")),
                view.tolerance * 100.0
            ));
            return;
        }
        _ => return,
    }
    page.heading(&format!("{}: what makes the difference", figure.label));
    for (position, explanation) in figure.explanations.iter().enumerate() {
        let lead = if position == 0 { "" } else { "or " };
        let after = explanation
            .after
            .map_or_else(String::new, |after| format!(", after the printed {}", label(view, Some(after))));
        page.line(&format!(
            "{lead}{}: x{:.4}{after}, leaving {:+.2}%",
            names(explanation),
            explanation.factor,
            explanation.left_over * 100.0
        ));
        for fault in &explanation.faults {
            page.note(&format!("  {} ({})", fault.title, fault.citation));
        }
    }
}
