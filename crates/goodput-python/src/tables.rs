//! Tables of reports: where their rows stand in the JSON, and what the columns are.

use std::borrow::Cow;

use serde_json::Value;

use crate::table::{Column, Kind};

mod decision;
mod prediction;
mod serving;

/// A table of a report.
pub struct Table {
    pub name: &'static str,
    /// JSON pointer to its rows, or `/OUTER/*/INNER`: the inner rows of all outer ones, with the texts and objects of these.
    rows: &'static str,
    pub columns: &'static [Column],
}

impl Table {
    const fn new(name: &'static str, rows: &'static str, columns: &'static [Column]) -> Self {
        Self { name, rows, columns }
    }

    /// Its rows in a report, if the report has it.
    pub fn rows<'a>(&self, report: &'a Value) -> Option<Cow<'a, [Value]>> {
        let rows = |at: &'a Value, pointer: &str| {
            at.pointer(pointer).map(|rows| rows.as_array().map_or(&[][..], Vec::as_slice))
        };
        match self.rows.split_once("/*") {
            None => rows(report, self.rows).map(Cow::Borrowed),
            Some((outer, inner)) => {
                let outer = rows(report, outer)?.iter();
                Some(
                    outer
                        .flat_map(|of| rows(of, inner).unwrap_or_default().iter().map(|row| joined(of, row)))
                        .collect(),
                )
            }
        }
    }
}

/// `row` with the texts and objects of the row that it stands in.
fn joined(of: &Value, row: &Value) -> Value {
    let fields = |of: &Value| of.as_object().cloned().unwrap_or_default();
    let mut joined = fields(of);
    joined.retain(|_, value| value.is_string() || value.is_object());
    joined.extend(fields(row));
    Value::Object(joined)
}

/// Every table that a report of this schema (`goodput.VERB/1`) may have.
pub fn tables_of(schema: &str) -> &'static [Table] {
    let verb = schema.trim_start_matches("goodput.").split('/').next();
    let own = prediction::TABLES
        .iter()
        .chain(decision::TABLES)
        .chain(serving::TABLES)
        .find(|(name, _)| verb == Some(name));
    own.map_or(TABLES, |(_, tables)| tables)
}

const fn column(name: &'static str, at: &'static str, kind: Kind) -> Column {
    Column { name, at, kind }
}

const FILES: &[Column] = &[
    column("path", "/path", Kind::Text),
    column("format", "/format", Kind::Text),
    column("rows", "/rows", Kind::Integer),
    column("used", "/used", Kind::Integer),
    column("repaired", "/repaired", Kind::Integer),
    column("refused", "/refused", Kind::Integer),
];

const WARNINGS: &[Column] = &[
    column("code", "/code", Kind::Text),
    column("message", "/message", Kind::Text),
    column("job", "/job", Kind::Text),
    column("source", "/source", Kind::Text),
    column("more", "/more", Kind::Integer),
];

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

/// Every table of the accounting, of traces and of efficiency.
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
    Table::new("warnings", "/warnings", WARNINGS),
    Table::new("files", "/read_report/files", FILES),
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
