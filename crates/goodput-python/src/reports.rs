//! `account` and `timeline`: the verbs, asked as JSON, answered as a report that renders itself.

use goodput_core::scheduling::Denominator;
use goodput_report::terminal::TerminalStyle;
use goodput_report::{
    AccountView, ConversionView, FlopsView, Format, MfuAuditView, RenderError, TimelineView, TraceView, json,
};
use goodput_verbs::{
    AccountRequest, Answer, AuditRequest, ConversionRequest, Inputs, TimelineRequest, TraceRequest,
};
use pyo3::prelude::*;
use serde_json::Value;

use crate::errors::{argument, verb};
use crate::table::{ArrowTable, Column, Kind};

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

views!(AccountView, TimelineView, ConversionView, MfuAuditView, FlopsView, TraceView);

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

    /// The rows of one of [`TABLES`].
    fn table(&self, name: &str) -> PyResult<ArrowTable> {
        let report = self.view.value().map_err(argument)?;
        let of_report = || TABLES.iter().filter(|table| report.pointer(table.rows).is_some());
        let table = of_report().find(|table| table.name == name).ok_or_else(|| {
            let known: Vec<_> = of_report().map(|table| table.name).collect();
            argument(format!("table {name:?}: expected one of {}", known.join(", ")))
        })?;
        let rows: &[Value] = report.pointer(table.rows).and_then(Value::as_array).map_or(&[], Vec::as_slice);
        ArrowTable::new(table.columns, rows)
    }
}

/// A table of a report.
struct Table {
    name: &'static str,
    /// JSON pointer to its rows.
    rows: &'static str,
    columns: &'static [Column],
}

const fn column(name: &'static str, at: &'static str, kind: Kind) -> Column {
    Column { name, at, kind }
}

const KERNELS: &[Column] = &[
    column("name", "/name", Kind::Text),
    column("class", "/class", Kind::Text),
    column("count", "/count", Kind::Integer),
    column("total_ns", "/total_ns", Kind::Integer),
    column("charged_ns", "/charged_ns", Kind::Integer),
    column("median_ns", "/median_ns", Kind::Integer),
    column("p99_ns", "/p99_ns", Kind::Integer),
    column("max_ns", "/max_ns", Kind::Integer),
];

/// Every table of every report.
const TABLES: &[Table] = &[
    Table {
        name: "losses",
        rows: "/losses",
        columns: &[
            column("boundary", "/boundary", Kind::Text),
            column("pattern", "/pattern", Kind::Text),
            column("label", "/label", Kind::Text),
            column("owner", "/owner", Kind::Text),
            column("owners", "/owners", Kind::Words),
            column("lever", "/lever", Kind::Text),
            column("amount_ns", "/amount_ns", Kind::Exact),
            column("device_hours", "/device_hours", Kind::Float),
            column("share", "/share", Kind::Float),
            column("open", "/open", Kind::Flag),
            column("evidence", "/evidence", Kind::Words),
        ],
    },
    Table {
        name: "levers",
        rows: "/levers",
        columns: &[
            column("rank", "/rank", Kind::Integer),
            column("lever", "/lever", Kind::Text),
            column("boundary", "/boundary", Kind::Text),
            column("pattern", "/pattern", Kind::Text),
            column("owner", "/owner", Kind::Text),
            column("loss_ns", "/loss_ns", Kind::Exact),
            column("loss_device_hours", "/loss_device_hours", Kind::Float),
            column("relative_gain", "/relative_gain", Kind::Float),
            column("relative_gain_low", "/relative_gain_low", Kind::Float),
            column("worth", "/worth", Kind::Float),
            column("condition", "/condition", Kind::Text),
            column("open", "/open", Kind::Flag),
        ],
    },
    Table {
        name: "pools",
        rows: "/pools",
        columns: &[
            column("name", "/name", Kind::Text),
            column("devices", "/devices", Kind::Integer),
            column("offered_ns", "/capacity_time/offered_ns", Kind::Exact),
            column("held_ns", "/capacity_time/held_ns", Kind::Exact),
            column("retained_ns", "/capacity_time/retained_ns", Kind::Exact),
            column("ideal_ns", "/capacity_time/ideal_ns", Kind::Exact),
            column("scheduling", "/factors/scheduling", Kind::Float),
            column("runtime", "/factors/runtime", Kind::Float),
            column("program", "/factors/program", Kind::Float),
            column("mpg", "/factors/mpg", Kind::Float),
            column("availability", "/availability", Kind::Float),
        ],
    },
    Table {
        name: "jobs",
        rows: "/jobs",
        columns: &[
            column("id", "/id", Kind::Text),
            column("name", "/name", Kind::Text),
            column("user", "/user", Kind::Text),
            column("account", "/account", Kind::Text),
            column("pool", "/pool", Kind::Text),
            column("state", "/state", Kind::Text),
            column("attempts", "/attempts", Kind::Integer),
            column("devices", "/devices", Kind::Integer),
            column("held_ns", "/capacity_time/held_ns", Kind::Exact),
            column("retained_ns", "/capacity_time/retained_ns", Kind::Exact),
            column("ideal_ns", "/capacity_time/ideal_ns", Kind::Exact),
            column("runtime", "/factors/runtime", Kind::Float),
            column("program", "/factors/program", Kind::Float),
        ],
    },
    Table {
        name: "warnings",
        rows: "/warnings",
        columns: &[
            column("code", "/code", Kind::Text),
            column("message", "/message", Kind::Text),
            column("job", "/job", Kind::Text),
            column("source", "/source", Kind::Text),
            column("more", "/more", Kind::Integer),
        ],
    },
    Table {
        name: "files",
        rows: "/read_report/files",
        columns: &[
            column("path", "/path", Kind::Text),
            column("format", "/format", Kind::Text),
            column("rows", "/rows", Kind::Integer),
            column("used", "/used", Kind::Integer),
            column("repaired", "/repaired", Kind::Integer),
            column("refused", "/refused", Kind::Integer),
        ],
    },
    Table {
        name: "factors",
        rows: "/factors",
        columns: &[
            column("factor", "/factor", Kind::Text),
            column("from", "/from", Kind::Float),
            column("to", "/to", Kind::Float),
            column("ratio", "/ratio", Kind::Float),
        ],
    },
    Table {
        name: "figures",
        rows: "/figures",
        columns: &[
            column("figure", "/figure", Kind::Text),
            column("printed", "/printed", Kind::Float),
            column("right", "/right", Kind::Float),
            column("ratio", "/ratio", Kind::Float),
            column("verdict", "/verdict", Kind::Text),
            column("follows", "/follows", Kind::Text),
            column("fault", "/explanations/0/faults/0/name", Kind::Text),
            column("second_fault", "/explanations/0/faults/1/name", Kind::Text),
            column("citation", "/explanations/0/faults/0/citation", Kind::Text),
        ],
    },
    Table {
        name: "components",
        rows: "/components",
        columns: &[
            column("component", "/component", Kind::Text),
            column("useful", "/useful/total", Kind::Exact),
            column("useful_forward", "/useful/forward", Kind::Exact),
            column("useful_input_gradient", "/useful/input_gradient", Kind::Exact),
            column("useful_weight_gradient", "/useful/weight_gradient", Kind::Exact),
            column("padding", "/padding/total", Kind::Exact),
            column("recompute", "/recompute", Kind::Exact),
            column("share", "/share", Kind::Float),
        ],
    },
    Table {
        name: "charges",
        rows: "/charges",
        columns: &[
            column("charge", "/charge", Kind::Text),
            column("label", "/label", Kind::Text),
            column("term", "/term", Kind::Text),
            column("owner", "/owner", Kind::Text),
            column("time_ns", "/time_ns", Kind::Integer),
            column("share", "/share", Kind::Float),
        ],
    },
    Table {
        name: "findings",
        rows: "/findings",
        columns: &[
            column("symptom", "/symptom", Kind::Text),
            column("label", "/label", Kind::Text),
            column("cause", "/cause", Kind::Text),
            column("factor", "/factor", Kind::Text),
            column("pattern", "/pattern", Kind::Text),
            column("term", "/term", Kind::Text),
            column("owner", "/owner", Kind::Text),
            column("lever", "/lever", Kind::Text),
            column("trade_off", "/trade_off", Kind::Text),
            column("time_ns", "/time_ns", Kind::Integer),
            column("share", "/share", Kind::Float),
            column("evidence", "/evidence", Kind::Words),
        ],
    },
    Table {
        name: "ranks",
        rows: "/ranks",
        columns: &[
            column("rank", "/rank", Kind::Integer),
            column("file", "/file", Kind::Text),
            column("window_ns", "/total/window_ns", Kind::Integer),
            column("compute_ns", "/total/compute_ns", Kind::Integer),
            column("exposed_comm_ns", "/total/exposed_comm_ns", Kind::Integer),
            column("exposed_mem_ns", "/total/exposed_mem_ns", Kind::Integer),
            column("idle_ns", "/total/idle_ns", Kind::Integer),
            column("overlap_ns", "/total/overlap_ns", Kind::Integer),
        ],
    },
    Table {
        name: "blame",
        rows: "/peers/blame",
        columns: &[
            column("rank", "/rank", Kind::Integer),
            column("skew_ns", "/skew_ns", Kind::Integer),
            column("share", "/share", Kind::Float),
            column("times_last", "/times_last", Kind::Integer),
            column("doing", "/doing", Kind::Text),
        ],
    },
    Table { name: "kernels", rows: "/kernels", columns: KERNELS },
    Table { name: "operators", rows: "/operators", columns: KERNELS },
    Table { name: "classes", rows: "/classes", columns: KERNELS },
    Table {
        name: "trace_files",
        rows: "/files",
        columns: &[
            column("file", "/file", Kind::Text),
            column("format", "/format", Kind::Text),
            column("bytes", "/bytes", Kind::Integer),
            column("events", "/events", Kind::Integer),
            column("device_events", "/device_events", Kind::Integer),
            column("lost_device_events", "/lost_device_events", Kind::Integer),
            column("truncated", "/truncated", Kind::Flag),
        ],
    },
    Table {
        name: "conventions",
        rows: "/conventions",
        columns: &[
            column("name", "/name", Kind::Text),
            column("title", "/title", Kind::Text),
            column("flops_per_token", "/flops_per_token", Kind::Float),
            column("flops_per_sequence", "/flops_per_sequence", Kind::Exact),
            column("ratio_to_exact", "/ratio_to_exact", Kind::Float),
            column("ratio_to_batch", "/ratio_to_batch", Kind::Float),
            column("attention", "/attention", Kind::Text),
            column("logits", "/logits", Kind::Text),
            column("experts", "/experts", Kind::Text),
            column("recompute", "/recompute", Kind::Text),
            column("padding", "/padding", Kind::Flag),
            column("source", "/source", Kind::Text),
            column("note", "/note", Kind::Text),
        ],
    },
];
