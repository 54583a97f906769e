//! One way to ask for any format.

use std::fmt;

use serde::Serialize;

use crate::terminal::TerminalStyle;
use crate::view::{
    AccountView, BaselineUpdateView, BaselineView, CollectionView, CompareView, ConversionView, ExplainView,
    FlopsView, LintView, MeasuredTablesView, MfuAuditView, PlanView, PredictionView, SearchView,
    SelfCheckView, ServingView, TimelineView, TraceView, ValidationView,
};
use crate::{html, json, openmetrics, terminal};

/// What a report is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// A terminal page.
    Table,
    /// JSON, with a schema in `schemas/`.
    Json,
    /// One self-contained page.
    Html,
    /// OpenMetrics text.
    OpenMetrics,
}

/// A renderer that could not write.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// JSON.
    #[error("the report cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// HTML.
    #[error("the report cannot be written as HTML: {0}")]
    Html(#[from] askama::Error),
    /// A format that this report does not have.
    #[error("this report is a table or JSON")]
    NoSuchFormat,
    /// A report without metrics.
    #[error("this report is a table, JSON or HTML")]
    NoMetrics,
    /// OpenMetrics.
    #[error("the report cannot be written as OpenMetrics: {0}")]
    OpenMetrics(#[from] fmt::Error),
}

impl AccountView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError`] when a renderer cannot write, which no view of this crate brings about.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        Ok(match format {
            Format::Table => terminal::account(self, style),
            Format::Json => json::render(self)?,
            Format::Html => html::account(self)?,
            Format::OpenMetrics => openmetrics::account(self)?,
        })
    }
}

impl TimelineView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError`] when a renderer cannot write, which no view of this crate brings about.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        Ok(match format {
            Format::Table => terminal::timeline(self, style),
            Format::Json => json::render(self)?,
            Format::Html => html::timeline(self)?,
            Format::OpenMetrics => openmetrics::timeline(self)?,
        })
    }
}

impl CompareView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoMetrics`] for OpenMetrics: a comparison is of two moments.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        Ok(match format {
            Format::Table => terminal::comparison(self, style),
            Format::Json => json::render(self)?,
            Format::Html => html::comparison(self)?,
            Format::OpenMetrics => return Err(RenderError::NoMetrics),
        })
    }
}

impl ServingView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError`] when a renderer cannot write, which no view of this crate brings about.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        Ok(match format {
            Format::Table => terminal::serving(self, style),
            Format::Json => json::render(self)?,
            Format::Html => html::serving(self)?,
            Format::OpenMetrics => openmetrics::serving(self)?,
        })
    }
}

impl TraceView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoMetrics`] for OpenMetrics: a trace is of one moment.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        Ok(match format {
            Format::Table => terminal::trace(self, style),
            Format::Json => json::render(self)?,
            Format::Html => html::trace(self)?,
            Format::OpenMetrics => return Err(RenderError::NoMetrics),
        })
    }
}

impl ExplainView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoMetrics`] for OpenMetrics: a trace is of one moment.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        Ok(match format {
            Format::Table => terminal::explanation(self, style),
            Format::Json => json::render(self)?,
            Format::Html => html::explanation(self)?,
            Format::OpenMetrics => return Err(RenderError::NoMetrics),
        })
    }
}

impl BaselineView {
    /// The report in `format`; `style` is for the terminal. Markdown: [`crate::markdown::baseline`].
    ///
    /// # Errors
    /// [`RenderError::NoMetrics`] for OpenMetrics: a check is of a whole history.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        Ok(match format {
            Format::Table => terminal::baseline_check(self, style),
            Format::Json => json::render(self)?,
            Format::Html => html::baseline(self)?,
            Format::OpenMetrics => return Err(RenderError::NoMetrics),
        })
    }
}

impl LintView {
    /// The report in `format`; `style` is for the terminal. For Markdown there is [`markdown::lint`](crate::markdown::lint).
    ///
    /// # Errors
    /// [`RenderError::NoMetrics`] for OpenMetrics: findings are of a file.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        Ok(match format {
            Format::Table => terminal::lint(self, style),
            Format::Json => json::render(self)?,
            Format::Html => html::lint(self)?,
            Format::OpenMetrics => return Err(RenderError::NoMetrics),
        })
    }
}

impl BaselineUpdateView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoSuchFormat`] for a format that is neither a table nor JSON.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        table_or_json(self, format, || terminal::baseline_update(self, style))
    }
}

impl ConversionView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoSuchFormat`] for a format that is neither a table nor JSON.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        table_or_json(self, format, || terminal::conversion(self, style))
    }
}

impl MfuAuditView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoSuchFormat`] for a format that is neither a table nor JSON.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        table_or_json(self, format, || terminal::mfu_audit(self, style))
    }
}

impl PlanView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoMetrics`] for OpenMetrics: a plan is no measurement.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        Ok(match format {
            Format::Table => terminal::plan(self, style),
            Format::Json => json::render(self)?,
            Format::Html => html::plan(self)?,
            Format::OpenMetrics => return Err(RenderError::NoMetrics),
        })
    }
}

impl PredictionView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoMetrics`] for OpenMetrics: a prediction is no measurement.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        Ok(match format {
            Format::Table => terminal::prediction(self, style),
            Format::Json => json::render(self)?,
            Format::Html => html::prediction(self)?,
            Format::OpenMetrics => return Err(RenderError::NoMetrics),
        })
    }
}

impl MeasuredTablesView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoSuchFormat`] for a format that is neither a table nor JSON.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        table_or_json(self, format, || terminal::measured_tables(self, style))
    }
}

impl ValidationView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoMetrics`] for OpenMetrics: errors are of runs that are over.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        Ok(match format {
            Format::Table => terminal::validation(self, style),
            Format::Json => json::render(self)?,
            Format::Html => html::validation(self)?,
            Format::OpenMetrics => return Err(RenderError::NoMetrics),
        })
    }
}

impl CollectionView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoSuchFormat`] for a format that is neither a table nor JSON.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        table_or_json(self, format, || terminal::collection(self, style))
    }
}

impl SearchView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoMetrics`] for OpenMetrics: a search is no measurement.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        Ok(match format {
            Format::Table => terminal::search(self, style),
            Format::Json => json::render(self)?,
            Format::Html => html::search(self)?,
            Format::OpenMetrics => return Err(RenderError::NoMetrics),
        })
    }
}

impl FlopsView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoSuchFormat`] for a format that is neither a table nor JSON.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        table_or_json(self, format, || terminal::flops(self, style))
    }
}

impl SelfCheckView {
    /// The report in `format`; `style` is for the terminal.
    ///
    /// # Errors
    /// [`RenderError::NoSuchFormat`] for a format that is neither a table nor JSON.
    pub fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
        table_or_json(self, format, || terminal::self_check(self, style))
    }
}

/// A report that has neither a page nor metrics.
fn table_or_json(
    view: &impl Serialize,
    format: Format,
    table: impl FnOnce() -> String,
) -> Result<String, RenderError> {
    match format {
        Format::Table => Ok(table()),
        Format::Json => Ok(json::render(view)?),
        Format::Html | Format::OpenMetrics => Err(RenderError::NoSuchFormat),
    }
}
