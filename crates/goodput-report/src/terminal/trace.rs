//! `goodput trace` on a terminal.

use super::page::{Page, TerminalStyle};
use crate::number::percent;
use crate::table::{self, Detail};
use crate::view::TraceView;
use crate::words;

pub(super) fn render(view: &TraceView, style: TerminalStyle) -> String {
    let mut page = Page::new(style);
    page.heading(&words::trace_title(view));
    for line in words::trace_scope(view) {
        page.line(&line);
    }
    for line in view.model.iter().flat_map(words::trace_model) {
        page.line(&line);
    }
    if let Some(untraced) = &view.untraced {
        page.line(&words::untraced(untraced));
    }
    for line in words::contract(&view.contract.known, &view.contract.statistics) {
        page.line(&line);
    }
    if let Some(triage) = &view.triage {
        page.heading("Triage");
        page.table(&table::triage(triage));
        page.line(&words::triage(triage));
    }
    page.heading("Where the device-time went: every nanosecond of every rank's steps, charged once");
    page.table(&table::charges(view));
    page.note(&format!(
        "Kernels that compute are {} of the step without input waits: program goodput cannot be above it.",
        percent(view.program_goodput_upper_bound)
    ));
    page.heading("What to change first");
    page.table(&table::trace_findings(&view.findings));
    for finding in &view.findings {
        page.line(&format!("{}: {}.", finding.label, finding.evidence.join("; ")));
        page.note(&format!(
            "  {}. Lever: {}. Check first: {}.",
            finding.cause, finding.lever, finding.trade_off
        ));
    }
    if view.ranks.len() > 1 {
        page.heading("Ranks");
        page.table(&table::trace_ranks(&view.ranks, Detail::Brief));
    }
    if let Some(peers) = &view.peers {
        page.heading("Waiting for peers");
        for line in words::peers(peers) {
            page.line(&line);
        }
        page.table(&table::peers(peers, Detail::Brief));
        if !peers.bandwidth.is_empty() {
            page.heading("Bandwidth of collectives");
            page.table(&table::bandwidth(peers, Detail::Brief));
        }
    }
    if let Some(overlap) = &view.overlap {
        page.heading("What overlap hides and costs");
        for line in words::overlap(overlap) {
            page.line(&line);
        }
        if !overlap.kernels.is_empty() {
            page.table(&table::contention(overlap, Detail::Brief));
        }
    }
    if let Some(roofline) = &view.roofline {
        page.heading("Kernels between bandwidth and peak");
        for line in words::roofline(roofline) {
            page.line(&line);
        }
        if !roofline.kernels.is_empty() {
            page.table(&table::roofline(roofline, Detail::Brief));
        }
    }
    if let Some(audit) = &view.audit {
        page.heading("Collectives against the mesh and the sharding");
        for line in words::audit(audit) {
            page.line(&line);
        }
        page.table(&table::audit(audit, Detail::Brief));
    }
    if let Some(sampling) = &view.sampling {
        page.heading("What to trace next");
        for line in words::sampling(sampling) {
            page.line(&line);
        }
        page.table(&table::sampled_ranks(sampling, Detail::Brief));
        page.table(&table::sampled_windows(sampling));
    }
    page.heading("Steps");
    page.table(&table::trace_steps(&view.ranks, Detail::Brief));
    page.heading("Kernels by class");
    page.table(&table::kernel_rows(&view.classes, "class", Detail::Brief));
    if !view.collectives.is_empty() {
        page.heading("Communication by kind");
        page.table(&table::kernel_rows(&view.collectives, "exchange", Detail::Brief));
    }
    page.heading("Kernels");
    page.table(&table::kernel_rows(&view.kernels, "kernel", Detail::Brief));
    if !view.operators.is_empty() {
        page.heading("Kernels by launching operator");
        page.table(&table::kernel_rows(&view.operators, "operator", Detail::Brief));
    }
    page.heading("What was read");
    page.table(&table::trace_files(&view.files, Detail::Brief));
    for line in words::trace_findings(&view.files) {
        page.warning(&line);
    }
    for warning in &view.warnings {
        page.warning(warning);
    }
    page.finish()
}
