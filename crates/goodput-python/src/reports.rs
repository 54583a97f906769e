//! The verbs, asked as JSON, answered as a report that renders itself.

use goodput_core::scheduling::Denominator;
use goodput_report::terminal::TerminalStyle;
use goodput_report::{
    AccountView, BaselineUpdateView, BaselineView, CollectionView, CompareView, ConversionView, ExplainView,
    FlopsView, Format, LintView, MeasuredTablesView, MfuAuditView, PlanView, PredictionView, RenderError,
    SearchView, ServingView, TimelineView, TraceView, ValidationView, json,
};
use goodput_verbs::{
    AccountRequest, Answer, AuditRequest, BaselineCheckRequest, BaselineUpdateRequest, CalibrateRequest,
    CollectRequest, CompareRequest, ConversionRequest, ExplainRequest, Inputs, LintRequest, PlanRequest,
    PredictRequest, SearchRequest, ServingRequest, TimelineRequest, TraceRequest, ValidateRequest,
};
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors::{argument, verb};
use crate::table::ArrowTable;
use crate::tables::tables_of;

/// A report's view, of whatever verb.
trait View: Send + Sync {
    fn json(&self) -> serde_json::Result<String>;
    fn value(&self) -> serde_json::Result<Value>;
    fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError>;
}

macro_rules! views {
    ($($view:ty),*) => {
        $(impl View for $view {
            fn json(&self) -> serde_json::Result<String> {
                json::render(self)
            }

            fn value(&self) -> serde_json::Result<Value> {
                serde_json::to_value(self)
            }

            fn render(&self, format: Format, style: TerminalStyle) -> Result<String, RenderError> {
                self.render(format, style)
            }
        })*
    };
}

views!(
    AccountView,
    TimelineView,
    ConversionView,
    MfuAuditView,
    FlopsView,
    TraceView,
    PredictionView,
    SearchView,
    ValidationView,
    ExplainView,
    MeasuredTablesView,
    CollectionView,
    CompareView,
    PlanView,
    BaselineUpdateView,
    BaselineView,
    LintView,
    ServingView
);

/// A verb's answer.
#[pyclass(module = "fleet_goodput._native", frozen)]
pub struct Report {
    view: Box<dyn View>,
    falls_short: bool,
}

impl<V: View + 'static> From<Answer<V>> for Report {
    fn from(Answer { view, falls_short }: Answer<V>) -> Self {
        Self { view: Box::new(view), falls_short }
    }
}

/// Answers `goodput account` for a request as JSON, on top of a fleet file if one is named.
#[pyfunction]
#[pyo3(signature = (request, fleet=None, denominator=None))]
pub fn account(
    py: Python<'_>,
    request: &str,
    fleet: Option<std::path::PathBuf>,
    denominator: Option<&str>,
) -> PyResult<Report> {
    let mut request: AccountRequest = serde_json::from_str(request).map_err(argument)?;
    request.denominator = match denominator {
        None => None,
        Some("in_service") => Some(Denominator::InService),
        Some("installed") => Some(Denominator::Installed),
        Some(other) => {
            return Err(argument(format!("denominator {other:?}: expected in_service or installed")));
        }
    };
    let answer = py.detach(|| {
        if let Some(path) = fleet {
            request = request.over(goodput_verbs::fleet_file(&path)?);
        }
        goodput_verbs::account(&request, &mut Inputs::default())
    });
    answer.map(Into::into).map_err(|e| verb(&e))
}

/// Answers `goodput timeline` for a request as JSON.
#[pyfunction]
pub fn timeline(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: TimelineRequest = serde_json::from_str(request).map_err(argument)?;
    let answer = py.detach(|| goodput_verbs::timeline(&request, &mut Inputs::default()));
    answer.map(Into::into).map_err(|e| verb(&e))
}

/// Answers `goodput trace` for a request as JSON.
#[pyfunction]
pub fn trace(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: TraceRequest = serde_json::from_str(request).map_err(argument)?;
    let answer = py.detach(|| goodput_verbs::trace(&request, &mut Inputs::default(), None));
    answer.map(Into::into).map_err(|e| verb(&e))
}

/// Answers `goodput predict` for a request as JSON.
#[pyfunction]
pub fn predict(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: PredictRequest = serde_json::from_str(request).map_err(argument)?;
    let view = py.detach(|| goodput_verbs::predict(&request)).map_err(|e| verb(&e))?;
    let falls_short = view.memory.fits == Some(false);
    Ok(Answer { view, falls_short }.into())
}

/// Answers `goodput search` for a request as JSON.
#[pyfunction]
pub fn search(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: SearchRequest = serde_json::from_str(request).map_err(argument)?;
    let view = py.detach(|| goodput_verbs::search(&request, &|_| {})).map_err(|e| verb(&e))?;
    Ok(Answer { view, falls_short: false }.into())
}

/// Answers `goodput validate` for a request as JSON.
#[pyfunction]
pub fn validate(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: ValidateRequest = serde_json::from_str(request).map_err(argument)?;
    let answer = py.detach(|| goodput_verbs::validate(&request));
    answer.map(Into::into).map_err(|e| verb(&e))
}

/// Answers `goodput validate collect` for a request as JSON.
#[pyfunction]
pub fn collect(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: CollectRequest = serde_json::from_str(request).map_err(argument)?;
    let answer = py.detach(|| goodput_verbs::collect(&request, &mut Inputs::default()));
    answer.map(Into::into).map_err(|e| verb(&e))
}

/// Answers `goodput explain` for a request as JSON.
#[pyfunction]
pub fn explain(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: ExplainRequest = serde_json::from_str(request).map_err(argument)?;
    let answer = py.detach(|| goodput_verbs::explain(&request, None));
    answer.map(Into::into).map_err(|e| verb(&e))
}

/// Answers `goodput calibrate` for a request as JSON.
#[pyfunction]
pub fn calibrate(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: CalibrateRequest = serde_json::from_str(request).map_err(argument)?;
    let answer = py.detach(|| goodput_verbs::calibrate(&request, &mut Inputs::default()));
    answer.map(Into::into).map_err(|e| verb(&e))
}

/// Answers `goodput compare` for a request as JSON.
#[pyfunction]
pub fn compare(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: CompareRequest = serde_json::from_str(request).map_err(argument)?;
    let answer = py.detach(|| goodput_verbs::compare(&request));
    answer.map(Into::into).map_err(|e| verb(&e))
}

/// Answers `goodput baseline update` for a request as JSON.
#[pyfunction]
pub fn baseline_update(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: BaselineUpdateRequest = serde_json::from_str(request).map_err(argument)?;
    let answer = py.detach(|| goodput_verbs::baseline_update(&request));
    answer.map(Into::into).map_err(|e| verb(&e))
}

/// Answers `goodput baseline check` for a request as JSON.
#[pyfunction]
pub fn baseline_check(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: BaselineCheckRequest = serde_json::from_str(request).map_err(argument)?;
    let answer = py.detach(|| goodput_verbs::baseline_check(&request));
    answer.map(Into::into).map_err(|e| verb(&e))
}

/// Answers `goodput lint` for a request as JSON.
#[pyfunction]
pub fn lint(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: LintRequest = serde_json::from_str(request).map_err(argument)?;
    let answer = py.detach(|| goodput_verbs::lint(&request));
    answer.map(Into::into).map_err(|e| verb(&e))
}

/// Answers `goodput plan` for a request as JSON.
#[pyfunction]
pub fn plan(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: PlanRequest = serde_json::from_str(request).map_err(argument)?;
    let view = py.detach(|| goodput_verbs::plan(&request)).map_err(|e| verb(&e))?;
    Ok(Answer { view, falls_short: false }.into())
}

/// Answers `goodput serving` for a request as JSON.
#[pyfunction]
pub fn serving(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: ServingRequest = serde_json::from_str(request).map_err(argument)?;
    let answer = py.detach(|| goodput_verbs::serving(&request, &mut Inputs::default(), None));
    answer.map(Into::into).map_err(|e| verb(&e))
}

/// Answers `goodput mfu convert` for a request as JSON.
#[pyfunction]
pub fn mfu_convert(request: &str) -> PyResult<Report> {
    let request: ConversionRequest = serde_json::from_str(request).map_err(argument)?;
    let view = goodput_verbs::convert_mfu(&request).map_err(|e| verb(&e))?;
    Ok(Answer { view, falls_short: false }.into())
}

/// Answers `goodput mfu audit` for a request as JSON.
#[pyfunction]
pub fn mfu_audit(py: Python<'_>, request: &str) -> PyResult<Report> {
    let request: AuditRequest = serde_json::from_str(request).map_err(argument)?;
    let answer = py.detach(|| goodput_verbs::audit_mfu(&request, &mut Inputs::default()));
    answer.map(Into::into).map_err(|e| verb(&e))
}

#[pymethods]
impl Report {
    #[getter]
    fn falls_short(&self) -> bool {
        self.falls_short
    }

    fn json(&self) -> PyResult<String> {
        self.view.json().map_err(argument)
    }

    /// `table`, `html` or `openmetrics`.
    fn render(&self, format: &str, width: u16) -> PyResult<String> {
        let format = match format {
            "table" => Format::Table,
            "html" => Format::Html,
            "openmetrics" => Format::OpenMetrics,
            other => return Err(argument(format!("format {other:?}: expected table, html or openmetrics"))),
        };
        let style = TerminalStyle { width, color: false };
        self.view.render(format, style).map_err(argument)
    }

    /// The rows of one of [`tables_of`] the report.
    fn table(&self, name: &str) -> PyResult<ArrowTable> {
        let report = self.view.value().map_err(argument)?;
        let tables = tables_of(report.pointer("/schema").and_then(Value::as_str).unwrap_or_default());
        let found = tables.iter().filter(|table| table.name == name);
        let mut found = found.filter_map(|table| Some((table, table.rows(&report)?)));
        let Some((table, rows)) = found.next() else {
            let known: Vec<_> =
                tables.iter().filter(|table| table.rows(&report).is_some()).map(|table| table.name).collect();
            return Err(argument(format!("table {name:?}: expected one of {}", known.join(", "))));
        };
        ArrowTable::new(table.columns, &rows)
    }
}
