//! Terminal pages: tables that fit the width, colour only when asked.

mod account;
mod baseline;
mod calibrate;
mod collect;
mod compare;
mod explain;
mod flops;
mod lint;
mod mfu;
mod page;
mod parts;
mod plan;
mod predict;
mod search;
mod serving;
mod timeline;
mod trace;
mod validate;
mod widths;

pub use page::TerminalStyle;

use crate::view::{
    AccountView, BaselineUpdateView, BaselineView, CollectionView, CompareView, ConversionView, ExplainView,
    FlopsView, LintView, MeasuredTablesView, MfuAuditView, PlanView, PredictionView, SearchView,
    SelfCheckView, ServingView, TimelineView, TraceView, ValidationView,
};

/// A fleet's account as a terminal page.
pub fn account(view: &AccountView, style: TerminalStyle) -> String {
    account::render(view, style)
}

/// A baseline check as a terminal page.
pub fn baseline_check(view: &BaselineView, style: TerminalStyle) -> String {
    baseline::check(view, style)
}

/// What was added to a baseline as a terminal page.
pub fn baseline_update(view: &BaselineUpdateView, style: TerminalStyle) -> String {
    baseline::update(view, style)
}

/// One job's account as a terminal page.
pub fn timeline(view: &TimelineView, style: TerminalStyle) -> String {
    timeline::render(view, style)
}

/// Two measurements compared as a terminal page.
pub fn comparison(view: &CompareView, style: TerminalStyle) -> String {
    compare::render(view, style)
}

/// A step trace as a terminal page.
pub fn trace(view: &TraceView, style: TerminalStyle) -> String {
    trace::render(view, style)
}

/// Measured tables as a terminal page.
pub fn measured_tables(view: &MeasuredTablesView, style: TerminalStyle) -> String {
    calibrate::render(view, style)
}

/// A plan's answers as a terminal page.
pub fn plan(view: &PlanView, style: TerminalStyle) -> String {
    plan::render(view, style)
}

/// A predicted step as a terminal page.
pub fn prediction(view: &PredictionView, style: TerminalStyle) -> String {
    predict::render(view, style)
}

/// A predicted step against the traced one as a terminal page.
pub fn explanation(view: &ExplainView, style: TerminalStyle) -> String {
    explain::render(view, style)
}

/// Known mistakes as a terminal page.
pub fn lint(view: &LintView, style: TerminalStyle) -> String {
    lint::render(view, style)
}

/// Prediction errors as a terminal page.
pub fn validation(view: &ValidationView, style: TerminalStyle) -> String {
    validate::render(view, style)
}

/// Collected runs as a terminal page.
pub fn collection(view: &CollectionView, style: TerminalStyle) -> String {
    collect::render(view, style)
}

/// A serving fleet's account as a terminal page.
pub fn serving(view: &ServingView, style: TerminalStyle) -> String {
    serving::render(view, style)
}

/// Layouts as a terminal page.
pub fn search(view: &SearchView, style: TerminalStyle) -> String {
    search::render(view, style)
}

/// A converted MFU as a terminal page.
pub fn conversion(view: &ConversionView, style: TerminalStyle) -> String {
    mfu::conversion(view, style)
}

/// The audit of a log as a terminal page.
pub fn mfu_audit(view: &MfuAuditView, style: TerminalStyle) -> String {
    mfu::audit(view, style)
}

/// What a batch of a model computes, as a terminal page.
pub fn flops(view: &FlopsView, style: TerminalStyle) -> String {
    flops::render(view, style)
}

/// The self-check of the FLOPs formulas as a terminal page.
pub fn self_check(view: &SelfCheckView, style: TerminalStyle) -> String {
    flops::self_check(view, style)
}
