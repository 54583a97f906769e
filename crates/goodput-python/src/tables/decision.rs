//! Tables of comparisons.

use super::{Table, column};
use crate::table::{Column, Kind};

/// Every table by verb.
pub const TABLES: &[(&str, &[Table])] = &[(
    "compare",
    &[
        Table::new("factors", "/factors", MOVES),
        Table::new("differences", "/differences", DIFFERENCES),
        Table::new("adequacy", "/adequacy", ADEQUACY),
    ],
)];

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
