//! Tables of comparisons, plans, histories and findings.

use super::{Table, column};
use crate::table::{Column, Kind};

/// Every table by verb.
pub const TABLES: &[(&str, &[Table])] = &[
    (
        "compare",
        &[
            Table::new("factors", "/factors", MOVES),
            Table::new("differences", "/differences", DIFFERENCES),
            Table::new("adequacy", "/adequacy", ADEQUACY),
        ],
    ),
    (
        "plan",
        &[
            Table::new("figures", "/answers/*/figures", FIGURES),
            Table::new("inputs", "/answers/*/inputs", INPUTS),
        ],
    ),
    ("baseline-update", &[Table::new("refused_lines", "/refused_lines", REFUSED)]),
    (
        "baseline",
        &[
            Table::new("changes", "/changes", CHANGES),
            Table::new("causes", "/causes", CAUSES),
            Table::new("tiers", "/tiers", TIERS),
            Table::new("slow_hosts", "/slow_hosts/*/jobs", SLOW_HOSTS),
            Table::new("canaries", "/curves/*/points", CANARIES),
            Table::new("departures", "/departures", DEPARTURES),
            Table::new("refused", "/refused", REFUSED),
        ],
    ),
    (
        "lint",
        &[
            Table::new("findings", "/findings", FINDINGS),
            Table::new("corrected", "/findings/*/corrected", CORRECTED),
        ],
    ),
];

const MOVES: &[Column] = &[
    column("factor", "/factor", Kind::Text),
    column("decides", "/decides", Kind::Flag),
    column("basis", "/basis", Kind::Text),
    column("before", "/before", Kind::Float),
    column("after", "/after", Kind::Float),
    column("coverage_before", "/coverage_before", Kind::Float),
    column("coverage_after", "/coverage_after", Kind::Float),
    column("ratio", "/ratio/value", Kind::Float),
    column("ratio_low", "/ratio/low", Kind::Float),
    column("ratio_high", "/ratio/high", Kind::Float),
    column("unit", "/unit", Kind::Text),
    column("samples_before", "/samples_before", Kind::Integer),
    column("samples_after", "/samples_after", Kind::Integer),
    column("headroom", "/headroom", Kind::Float),
    column("may_give_up", "/may_give_up", Kind::Float),
];

const DIFFERENCES: &[Column] = &[
    column("field", "/field", Kind::Text),
    column("label", "/label", Kind::Text),
    column("before", "/before", Kind::Text),
    column("before_source", "/before_source", Kind::Text),
    column("after", "/after", Kind::Text),
    column("after_source", "/after_source", Kind::Text),
    column("not_attributable", "/not_attributable", Kind::Text),
];

const ADEQUACY: &[Column] = &[
    column("side", "/side", Kind::Text),
    column("factor", "/factor", Kind::Text),
    column("adequate", "/adequate", Kind::Flag),
    column("no_failure_probability", "/no_failure_probability", Kind::Float),
    column("sentence", "/sentence", Kind::Text),
];

const FIGURES: &[Column] = &[
    column("question", "/question", Kind::Text),
    column("name", "/name", Kind::Text),
    column("key", "/key", Kind::Text),
    column("label", "/label", Kind::Text),
    column("value", "/value", Kind::Float),
    column("unit", "/unit", Kind::Text),
];

const INPUTS: &[Column] = &[
    column("question", "/question", Kind::Text),
    column("name", "/name", Kind::Text),
    column("field", "/field", Kind::Text),
    column("text", "/text", Kind::Text),
    column("value", "/value", Kind::Float),
    column("unit", "/unit", Kind::Text),
    column("source", "/source", Kind::Text),
    column("measured", "/measured", Kind::Flag),
    column("evidence", "/evidence", Kind::Text),
];

const REFUSED: &[Column] = &[column("line", "/line", Kind::Integer), column("why", "/why", Kind::Text)];

const CHANGES: &[Column] = &[
    column("tier", "/tier", Kind::Text),
    column("metric", "/metric", Kind::Text),
    column("label", "/label", Kind::Text),
    column("unit", "/unit", Kind::Text),
    column("kind", "/kind", Kind::Text),
    column("subject", "/subject", Kind::Text),
    column("worse", "/worse", Kind::Flag),
    column("recovered", "/recovered", Kind::Flag),
    column("before", "/before", Kind::Float),
    column("after", "/after", Kind::Float),
    column("relative", "/relative", Kind::Float),
    column("relative_low", "/relative_interval/0", Kind::Float),
    column("relative_high", "/relative_interval/1", Kind::Float),
    column("day", "/day", Kind::Text),
    column("last_day_before", "/between/0", Kind::Text),
    column("last_first_day", "/between/1", Kind::Text),
    column("p_value", "/p_value", Kind::Float),
    column("slow_host", "/slow_host", Kind::Text),
];

const CAUSES: &[Column] = &[
    column("what", "/what", Kind::Text),
    column("before", "/before", Kind::Text),
    column("after", "/after", Kind::Text),
    column("day", "/day", Kind::Text),
    column("worse", "/worse", Kind::Integer),
    column("better", "/better", Kind::Integer),
    column("subjects", "/subjects", Kind::Integer),
];

const TIERS: &[Column] = &[
    column("tier", "/tier", Kind::Text),
    column("label", "/label", Kind::Text),
    column("tests", "/tests", Kind::Integer),
    column("regressions", "/regressions", Kind::Integer),
];

const SLOW_HOSTS: &[Column] = &[
    column("host", "/host", Kind::Text),
    column("job", "/job", Kind::Text),
    column("rank", "/rank", Kind::Integer),
    column("ranks", "/ranks", Kind::Integer),
    column("ratio", "/ratio", Kind::Float),
    column("lost", "/lost", Kind::Float),
    column("reports", "/reports", Kind::Integer),
    column("of", "/of", Kind::Integer),
    column("day", "/day", Kind::Text),
];

const CANARIES: &[Column] = &[
    column("job", "/job", Kind::Text),
    column("devices", "/devices", Kind::Integer),
    column("day", "/day", Kind::Text),
    column("speed", "/speed", Kind::Float),
    column("baseline_speed", "/baseline_speed", Kind::Float),
    column("efficiency", "/efficiency", Kind::Float),
    column("baseline_efficiency", "/baseline_efficiency", Kind::Float),
    column("earlier", "/earlier", Kind::Integer),
    column("p_value", "/p_value", Kind::Float),
    column("change", "/change", Kind::Float),
    column("verdict", "/verdict", Kind::Text),
];

const DEPARTURES: &[Column] = &[
    column("job", "/job", Kind::Text),
    column("group", "/group", Kind::Text),
    column("mfu", "/mfu", Kind::Float),
    column("baseline", "/baseline", Kind::Float),
    column("change", "/change", Kind::Float),
    column("runs", "/runs", Kind::Integer),
    column("p_value", "/p_value", Kind::Float),
    column("day", "/day", Kind::Text),
];

const FINDINGS: &[Column] = &[
    column("check", "/check", Kind::Text),
    column("severity", "/severity", Kind::Text),
    column("title", "/title", Kind::Text),
    column("at", "/at", Kind::Text),
    column("evidence", "/evidence", Kind::Words),
    column("why", "/why", Kind::Text),
];

const CORRECTED: &[Column] = &[
    column("check", "/check", Kind::Text),
    column("severity", "/severity", Kind::Text),
    column("at", "/at", Kind::Text),
    column("name", "/name", Kind::Text),
    column("stated", "/stated", Kind::Float),
    column("value", "/value", Kind::Float),
    column("how", "/how", Kind::Text),
];
