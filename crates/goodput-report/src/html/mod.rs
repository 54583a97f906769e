//! HTML: one file that needs nothing else. The chart script is inside, a content-security policy
//! forbids every request, tables hold each figure that a chart draws, and names are escaped.

mod account;
mod baseline;
mod charts;
mod compare;
mod drawings;
mod explain;
mod lint;
mod page;
mod palette;
mod plan;
mod predict;
mod search;
mod serving;
mod timeline;
mod trace;
mod validate;

use crate::view::{
    AccountView, BaselineView, CompareView, ExplainView, LintView, PlanView, PredictionView, SearchView,
    ServingView, TimelineView, TraceView, ValidationView,
};

/// A fleet's account as one HTML page.
///
/// # Errors
/// Only if writing to a string fails.
pub fn account(view: &AccountView) -> Result<String, askama::Error> {
    account::page(view).render()
}

/// A baseline check as one HTML page.
///
/// # Errors
/// Only if writing to a string fails.
pub fn baseline(view: &BaselineView) -> Result<String, askama::Error> {
    baseline::page(view).render()
}

/// One job's account as one HTML page.
///
/// # Errors
/// Only if writing to a string fails.
pub fn timeline(view: &TimelineView) -> Result<String, askama::Error> {
    timeline::page(view).render()
}

/// Two measurements compared as one HTML page.
///
/// # Errors
/// Only if writing to a string fails.
pub fn comparison(view: &CompareView) -> Result<String, askama::Error> {
    compare::page(view).render()
}

/// A serving fleet's account as one HTML page.
///
/// # Errors
/// Only if writing to a string fails.
pub fn serving(view: &ServingView) -> Result<String, askama::Error> {
    serving::page(view).render()
}

/// A step trace as one HTML page.
///
/// # Errors
/// Only if writing to a string fails.
pub fn trace(view: &TraceView) -> Result<String, askama::Error> {
    trace::page(view).render()
}

/// A predicted step against the traced one as one HTML page.
///
/// # Errors
/// Only if writing to a string fails.
pub fn explanation(view: &ExplainView) -> Result<String, askama::Error> {
    explain::page(view).render()
}

/// Known mistakes as one HTML page.
///
/// # Errors
/// Only if writing to a string fails.
pub fn lint(view: &LintView) -> Result<String, askama::Error> {
    lint::page(view).render()
}

/// Prediction errors as one HTML page.
///
/// # Errors
/// Only if writing to a string fails.
pub fn validation(view: &ValidationView) -> Result<String, askama::Error> {
    validate::page(view).render()
}

/// A plan's answers as one HTML page.
///
/// # Errors
/// Only if writing to a string fails.
pub fn plan(view: &PlanView) -> Result<String, askama::Error> {
    plan::page(view).render()
}

/// A predicted step as one HTML page.
///
/// # Errors
/// Only if writing to a string fails.
pub fn prediction(view: &PredictionView) -> Result<String, askama::Error> {
    predict::page(view).render()
}

/// Layouts as one HTML page.
///
/// # Errors
/// Only if writing to a string fails.
pub fn search(view: &SearchView) -> Result<String, askama::Error> {
    search::page(view).render()
}
