//! Tables of predictions, searches, validations, explanations and calibrations.

use super::{FILES, Table, column};
use crate::table::{Column, Kind};

/// Every table by verb: some words (`terms`, `stages`) stand in several reports with other columns.
pub const TABLES: &[(&str, &[Table])] = &[
    (
        "predict",
        &[
            Table::new("terms", "/terms", TERMS),
            Table::new("stages", "/stages", STAGES),
            Table::new("efficiency", "/efficiency/conventions", CONVENTIONS),
            Table::new("closed_forms", "/closed_forms", CLOSED_FORMS),
        ],
    ),
    ("search", &[Table::new("layouts", "/best", LAYOUTS), Table::new("pareto", "/pareto", LAYOUTS)]),
    ("validate", &[Table::new("runs", "/rows", RUNS), Table::new("refused", "/refused", REFUSED_ROWS)]),
    (
        "explain",
        &[
            Table::new("terms", "/terms", EXPLAINED),
            Table::new("exchanges", "/exchanges", EXCHANGES),
            Table::new("checks", "/checks", CHECKS),
            Table::new("findings", "/findings", FINDINGS),
            Table::new("ranks", "/ranks", RANKS),
        ],
    ),
    (
        "calibrate",
        &[
            Table::new("kinds", "/devices/*/kinds", KINDS),
            Table::new("devices", "/devices", DEVICES),
            Table::new("files", "/read/files", FILES),
        ],
    ),
    (
        "collect",
        &[
            Table::new("rows", "/rows", COLLECTED),
            Table::new("missing", "/rows/*/missing", MISSING),
            Table::new("files", "/read_report/files", FILES),
        ],
    ),
];

const LAYOUTS: &[Column] = &[
    column("devices", "/devices", Kind::Integer),
    column("tp", "/tp", Kind::Integer),
    column("sp", "/sp", Kind::Flag),
    column("cp", "/cp", Kind::Integer),
    column("pp", "/pp", Kind::Integer),
    column("vpp", "/vpp", Kind::Integer),
    column("first_lacks", "/uneven_ends/0", Kind::Integer),
    column("last_lacks", "/uneven_ends/1", Kind::Integer),
    column("ep", "/ep", Kind::Integer),
    column("etp", "/etp", Kind::Integer),
    column("dp", "/dp", Kind::Integer),
    column("micro_batch", "/micro_batch", Kind::Integer),
    column("schedule", "/schedule", Kind::Text),
    column("sharding", "/sharding", Kind::Text),
    column("recompute", "/recompute", Kind::Text),
    column("step_ns", "/step_ns", Kind::Float),
    column("deviation", "/deviation", Kind::Float),
    column("memory_bytes", "/memory_bytes", Kind::Float),
    column("mfu", "/mfu", Kind::Float),
    column("step_cost", "/step_cost", Kind::Float),
    column("result_ns", "/result_ns", Kind::Float),
    column("result_cost", "/result_cost", Kind::Float),
];

const TERMS: &[Column] = &[
    column("term", "/term", Kind::Text),
    column("kind", "/kind", Kind::Text),
    column("time_ns", "/time_ns", Kind::Float),
    column("share", "/share", Kind::Float),
    column("deviation", "/deviation", Kind::Float),
    column("basis", "/basis", Kind::Text),
];

const STAGES: &[Column] = &[
    column("stage", "/stage", Kind::Integer),
    column("compute_ns", "/compute_ns", Kind::Float),
    column("exchange_ns", "/exchange_ns", Kind::Float),
    column("bubble_ns", "/bubble_ns", Kind::Float),
    column("other_ns", "/other_ns", Kind::Float),
    column("activation_bytes", "/activation_bytes", Kind::Float),
];

const CONVENTIONS: &[Column] = &[
    column("name", "/name", Kind::Text),
    column("title", "/title", Kind::Text),
    column("recompute", "/recompute", Kind::Text),
    column("flops_per_token", "/flops_per_token", Kind::Float),
    column("tflops_per_second_per_device", "/tflops_per_second_per_device", Kind::Float),
    column("mfu", "/mfu", Kind::Float),
    column("source", "/source", Kind::Text),
];

const CLOSED_FORMS: &[Column] = &[
    column("name", "/name", Kind::Text),
    column("closed_ns", "/closed_ns", Kind::Float),
    column("simulated_ns", "/simulated_ns", Kind::Float),
    column("formula", "/formula", Kind::Text),
    column("source", "/source", Kind::Text),
    column("why", "/why", Kind::Text),
];

const RUNS: &[Column] = &[
    column("id", "/id", Kind::Text),
    column("source", "/source", Kind::Text),
    column("model", "/model", Kind::Text),
    column("device", "/device", Kind::Text),
    column("software", "/software", Kind::Text),
    column("measured_ns", "/measured_ns", Kind::Float),
    column("predicted_ns", "/predicted_ns", Kind::Float),
    column("error", "/error", Kind::Float),
    column("blame", "/blame", Kind::Text),
];

const REFUSED_ROWS: &[Column] = &[
    column("line", "/line", Kind::Integer),
    column("id", "/id", Kind::Text),
    column("field", "/field", Kind::Text),
    column("found", "/found", Kind::Text),
    column("expected", "/expected", Kind::Text),
];

const EXPLAINED: &[Column] = &[
    column("term", "/term", Kind::Text),
    column("label", "/label", Kind::Text),
    column("predicted_ns", "/predicted_ns", Kind::Float),
    column("deviation", "/deviation", Kind::Float),
    column("measured_ns", "/measured_ns", Kind::Float),
    column("difference_ns", "/difference_ns", Kind::Float),
    column("gap_share", "/gap_share", Kind::Float),
    column("beyond_noise", "/beyond_noise", Kind::Flag),
    column("predicted_kernels", "/predicted_kernels", Kind::Float),
    column("measured_kernels", "/measured_kernels", Kind::Float),
];

const EXCHANGES: &[Column] = &[
    column("term", "/term", Kind::Text),
    column("label", "/label", Kind::Text),
    column("messages", "/messages", Kind::Float),
    column("transfer_ns", "/transfer_ns", Kind::Float),
    column("not_split_share", "/not_split_share", Kind::Float),
    column("sized_share", "/sized_share", Kind::Float),
    column("exposed_difference_ns", "/exposed_difference_ns", Kind::Float),
    column("by_transfer_ns", "/by_transfer_ns", Kind::Float),
    column("by_overlap_ns", "/by_overlap_ns", Kind::Float),
    column("measured_bus_gb_per_s", "/measured_bus_gb_per_s", Kind::Float),
    column("predicted_bus_gb_per_s", "/predicted_bus_gb_per_s", Kind::Float),
];

const CHECKS: &[Column] = &[
    column("subject", "/subject", Kind::Text),
    column("label", "/label", Kind::Text),
    column("run", "/run", Kind::Text),
    column("trace", "/trace", Kind::Text),
    column("verdict", "/verdict", Kind::Text),
];

const FINDINGS: &[Column] = &[
    column("rule", "/rule", Kind::Text),
    column("term", "/term", Kind::Text),
    column("term_label", "/term_label", Kind::Text),
    column("symptom", "/symptom", Kind::Text),
    column("amount_ns", "/amount_ns", Kind::Float),
    column("share", "/share", Kind::Float),
    column("evidence", "/evidence", Kind::Words),
    column("check", "/check", Kind::Text),
    column("lever", "/lever", Kind::Text),
    column("owner", "/owner", Kind::Text),
];

const RANKS: &[Column] = &[
    column("rank", "/rank", Kind::Integer),
    column("stage", "/stage", Kind::Integer),
    column("steps", "/steps", Kind::Integer),
    column("total_ns", "/total_ns", Kind::Integer),
];

const DEVICES: &[Column] = &[
    column("device", "/device", Kind::Text),
    column("file", "/file", Kind::Text),
    column("rows", "/rows", Kind::Integer),
    column("software", "/software", Kind::Words),
    column("conditions", "/conditions", Kind::Words),
    column("sustained_pairs", "/sustained/pairs", Kind::Integer),
];

const KINDS: &[Column] = &[
    column("device", "/device", Kind::Text),
    column("kind", "/kind", Kind::Text),
    column("rows", "/rows", Kind::Integer),
    column("sustained_rows", "/sustained_rows", Kind::Integer),
    column("repeats", "/repeats", Kind::Integer),
    column("least", "/least", Kind::Float),
    column("most", "/most", Kind::Float),
    column("unit", "/unit", Kind::Text),
    column("noise", "/noise", Kind::Float),
    column("ratio", "/ratio", Kind::Float),
    column("ratio_p10", "/ratio_p10", Kind::Float),
    column("ratio_p90", "/ratio_p90", Kind::Float),
    column("compared_with", "/compared_with", Kind::Text),
];

const COLLECTED: &[Column] = &[
    column("id", "/id", Kind::Text),
    column("source", "/source", Kind::Text),
    column("step", "/step", Kind::Text),
    column("measure", "/measure", Kind::Text),
    column("value", "/value", Kind::Float),
    column("steps", "/steps", Kind::Integer),
];

const MISSING: &[Column] = &[
    column("id", "/id", Kind::Text),
    column("source", "/source", Kind::Text),
    column("column", "/column", Kind::Text),
    column("found", "/found", Kind::Text),
    column("remedy", "/remedy", Kind::Text),
];
