//! Tables of `goodput serving`.

use super::{FILES, Table, WARNINGS, column};
use crate::table::{Column, Kind};

/// Every table by verb.
pub const TABLES: &[(&str, &[Table])] = &[(
    "serving",
    &[
        Table::new("rows", "/rows", ROWS),
        Table::new("measures", "/rows/*/measures", MEASURES),
        Table::new("losses", "/rows/*/losses", LOSSES),
        Table::new("decode_terms", "/rows/*/decode_terms", DECODE_TERMS),
        Table::new("pools", "/pools", POOLS),
        Table::new("lifetimes", "/lifetimes", LIFETIMES),
        Table::new("warnings", "/warnings", WARNINGS),
        Table::new("files", "/read_report/files", FILES),
    ],
)];

const ROWS: &[Column] = &[
    column("deployment", "/deployment", Kind::Text),
    column("device", "/basis/device", Kind::Text),
    column("model", "/model", Kind::Text),
    column("dtype", "/basis/dtype", Kind::Text),
    column("pools", "/pools", Kind::Words),
    column("replicas", "/replicas", Kind::Integer),
    column("lives", "/lives", Kind::Integer),
    column("devices_per_replica", "/devices_per_replica", Kind::Integer),
    column("held_ns", "/held_ns", Kind::Exact),
    column("ready_ns", "/ready_ns", Kind::Exact),
    column("decode_tokens", "/work/decode_tokens", Kind::Exact),
    column("decode_ns", "/work/decode_ns", Kind::Exact),
    column("prefill_tokens", "/work/prefill_tokens", Kind::Exact),
    column("prefill_ns", "/work/prefill_ns", Kind::Exact),
    column("headroom_ns", "/work/headroom_ns", Kind::Exact),
    column("work_unknown_ns", "/work/work_unknown_ns", Kind::Exact),
    column("requests", "/work/requests", Kind::Integer),
    column("requests_within_targets", "/work/requests_within_targets", Kind::Integer),
];

const MEASURES: &[Column] = &[
    column("deployment", "/deployment", Kind::Text),
    column("device", "/basis/device", Kind::Text),
    column("key", "/key", Kind::Text),
    column("name", "/name", Kind::Text),
    column("value", "/value", Kind::Float),
    column("denominator", "/denominator", Kind::Text),
    column("missing", "/missing", Kind::Text),
];

const LOSSES: &[Column] = &[
    column("deployment", "/deployment", Kind::Text),
    column("device", "/basis/device", Kind::Text),
    column("boundary", "/boundary", Kind::Text),
    column("pattern", "/pattern", Kind::Text),
    column("class", "/class", Kind::Text),
    column("label", "/label", Kind::Text),
    column("amount_ns", "/amount_ns", Kind::Exact),
    column("share_of_held", "/share_of_held", Kind::Float),
    column("owner", "/owner", Kind::Text),
];

const DECODE_TERMS: &[Column] = &[
    column("deployment", "/deployment", Kind::Text),
    column("device", "/basis/device", Kind::Text),
    column("term", "/term", Kind::Text),
    column("label", "/label", Kind::Text),
    column("step_ns", "/step_ns", Kind::Float),
    column("share", "/share", Kind::Float),
    column("coverage", "/coverage", Kind::Float),
    column("from", "/from", Kind::Text),
];

const POOLS: &[Column] = &[
    column("pool", "/pool", Kind::Text),
    column("coverage", "/coverage", Kind::Float),
    column("offered_ns", "/offered_ns", Kind::Exact),
    column("held_ns", "/held_ns", Kind::Exact),
    column("no_demand_ns", "/no_demand_ns", Kind::Exact),
    column("replica_placement_wait_ns", "/replica_placement_wait_ns", Kind::Exact),
    column("incomplete_replica_ns", "/incomplete_replica_ns", Kind::Exact),
    column("scattered_ns", "/scattered_ns", Kind::Exact),
    column("waiting_replica_ns", "/waiting_replica_ns", Kind::Exact),
    column("scheduling_goodput", "/scheduling_goodput", Kind::Float),
];

const LIFETIMES: &[Column] = &[
    column("lifetime", "/lifetime", Kind::Text),
    column("lives", "/lives", Kind::Integer),
    column("held_ns", "/held_ns", Kind::Exact),
    column("cold_start_ns", "/cold_start_ns", Kind::Exact),
    column("ready_ns", "/ready_ns", Kind::Exact),
    column("cold_start_share", "/cold_start_share", Kind::Float),
    column("runtime_goodput", "/runtime_goodput", Kind::Float),
];
