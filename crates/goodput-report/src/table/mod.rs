//! Tables that more than one renderer shows: what stands in each row, free of how it is drawn.

mod baseline;
mod chain;
mod compare;
mod conditions;
mod explain;
mod fleet;
mod flops;
mod jobs;
mod lint;
mod losses;
mod plan;
mod predict;
mod read;
mod search;
mod serving;
mod trace;
mod trace_kernels;
mod trace_plan;
pub(crate) mod validation;

pub(crate) use baseline::{baseline_changes, baseline_tiers, curve, departures, slow_hosts};
pub(crate) use chain::{chain, job_chain};
pub(crate) use compare::{compared_conditions, compared_factors, compared_windows};
pub(crate) use conditions::conditions;
pub(crate) use explain::{
    explain_findings, explained_exchanges, explained_kernels, explained_ranks, explained_stages,
    explained_terms, same_job,
};
pub(crate) use fleet::{classes, cohorts, diagnostics, pools};
pub(crate) use flops::{components, conventions, recurrence, self_check};
pub(crate) use jobs::{composed, jobs, size_curve};
pub(crate) use lint::{lint_findings, lint_reasons};
pub(crate) use losses::{levers, losses};
pub(crate) use plan::{plan_figures, plan_inputs, plan_rows};
pub(crate) use predict::{
    basis, beyond_tables, closed_forms, gigabytes, predicted_conventions, predicted_memory, predicted_stages,
    predicted_terms,
};
pub(crate) use read::{files, findings};
pub(crate) use search::{layouts, refused, without_shared};
pub(crate) use serving::{
    decode_terms, readiness_curve, serving_levers, serving_lifetimes, serving_losses, serving_measures,
    serving_pools,
};
pub(crate) use trace::{
    bandwidth, charges, kernel_rows, peers, trace_files, trace_findings, trace_ranks, trace_steps, triage,
};
pub(crate) use trace_kernels::{contention, overlap, roofline};
pub(crate) use trace_plan::{audit, sampled_ranks, sampled_windows};

use goodput_core::Pattern;
use goodput_trace::partition::Charge;

use crate::name::cut;
use crate::number::UNKNOWN;

/// A table, with notes that belong under it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    pub notes: Vec<String>,
}

/// A column and how its cells are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Text(&'static str),
    Number(&'static str),
}

/// One cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cell {
    pub text: String,
    /// The loss that the row is about, for a swatch of its colour.
    pub pattern: Option<Pattern>,
    /// The charge of a step that the row is about, likewise.
    pub charge: Option<Charge>,
    /// A share between zero and one, for a bar behind the number.
    pub share: Option<f64>,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// How much a table says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// For a terminal: few rows, short names, the columns that matter most.
    Brief,
    /// For a page.
    Full,
}

impl Detail {
    /// Rows of a list that may be long.
    pub(crate) fn rows(self) -> usize {
        match self {
            Self::Brief => 10,
            Self::Full => 50,
        }
    }

    /// A name from other people's records, cut to what the table bears.
    pub(crate) fn name(self, text: &str) -> String {
        cut(text, if self == Self::Brief { 24 } else { 40 })
    }
}

/// The text of a figure, or the mark of an unknown one.
fn or_unknown<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), text)
}
