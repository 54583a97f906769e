//! The fields of one line, unread until asked for, so that a bad one is refused by its name.

use goodput_core::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::decimal::seconds_to_ns;

/// The log's words for events of a replica.
pub(super) const EVENTS: [&str; 10] = [
    "requested",
    "placed",
    "weights_loaded",
    "compiled",
    "warm",
    "ready",
    "draining",
    "failed",
    "restarting",
    "released",
];

/// Why a line is refused.
#[derive(Debug)]
pub(super) struct Problem {
    pub code: &'static str,
    pub field: &'static str,
    pub message: String,
}

impl Problem {
    pub(super) fn value(field: &'static str, expected: &str) -> Self {
        Self { code: "bad_value", field, message: format!("expected {expected}; the line is not used") }
    }

    pub(super) fn word(field: &'static str, found: &str, known: &[&str]) -> Self {
        let message = format!("found {found:?}, expected one of {}; the line is not used", known.join(", "));
        Self { code: "bad_value", field, message }
    }

    fn json(message: String) -> Self {
        Self { code: "bad_json", field: "", message }
    }
}

type Raw<'a> = Option<&'a RawValue>;

/// Every field that the format names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Fields<'a> {
    #[serde(borrow)]
    pub goodput_serving: Raw<'a>,
    pub deployment: Raw<'a>,
    pub model: Raw<'a>,
    pub device: Raw<'a>,
    pub dtype: Raw<'a>,
    pub weight_bytes: Raw<'a>,
    pub weight_bits: Raw<'a>,
    pub kv_bytes_per_token: Raw<'a>,
    pub kv_bits: Raw<'a>,
    pub prefill_flops_per_token: Raw<'a>,
    pub samples: Raw<'a>,
    pub replica: Raw<'a>,
    pub event: Raw<'a>,
    pub at: Raw<'a>,
    pub devices: Raw<'a>,
    pub pool: Raw<'a>,
    pub phase: Raw<'a>,
    pub from: Raw<'a>,
    pub to: Raw<'a>,
    pub busy_ns: Raw<'a>,
    pub steps: Raw<'a>,
    pub step_ns: Raw<'a>,
    pub tokens: Raw<'a>,
    pub batch: Raw<'a>,
    pub kv_tokens: Raw<'a>,
    pub dispatch_ns: Raw<'a>,
    pub exchange_ns: Raw<'a>,
    pub traffic_bytes: Raw<'a>,
    pub prompts: Raw<'a>,
    pub flops: Raw<'a>,
    pub requests: Raw<'a>,
    pub requests_within_targets: Raw<'a>,
    pub free_devices: Raw<'a>,
    pub whole_free_nodes: Raw<'a>,
    pub devices_per_node: Raw<'a>,
    pub replica_devices: Raw<'a>,
    pub placeable_replicas: Raw<'a>,
    pub waiting_replicas: Raw<'a>,
}

impl<'a> Fields<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Problem> {
        if !text.trim_ascii_start().starts_with('{') {
            return Err(Problem::json("expected one JSON object a line".to_owned()));
        }
        serde_json::from_str(text).map_err(|error| {
            Problem::json(format!("{error} of the line: expected one JSON object; the line is not used"))
        })
    }

    /// Refuses another version.
    pub(super) fn version(&self) -> Result<(), Problem> {
        match self.goodput_serving.map(RawValue::get) {
            Some("1") => Ok(()),
            other => Err(Problem {
                code: "bad_value",
                field: "goodput_serving",
                message: format!("version {} of the format; version 1 can be read", other.unwrap_or("null")),
            }),
        }
    }
}

pub(super) fn required<T>(field: &'static str, value: Option<T>) -> Result<T, Problem> {
    value.ok_or_else(|| Problem {
        code: "missing_field",
        field,
        message: format!("{field} is missing; the line is not used"),
    })
}

pub(super) fn text<'a>(
    field: &'static str,
    raw: Raw<'a>,
) -> Result<Option<std::borrow::Cow<'a, str>>, Problem> {
    let Some(raw) = raw.map(RawValue::get) else { return Ok(None) };
    // Most words hold no escape and can be read where they stand.
    let inside = raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if let Some(word) = inside.filter(|word| !word.contains('\\')) {
        return Ok(Some(word.into()));
    }
    let owned = serde_json::from_str::<String>(raw).map_err(|_| Problem::value(field, "a string"))?;
    Ok(Some(owned.into()))
}

/// Largest whole number that every JSON reader keeps: beyond it a field holds something else.
const MOST: u64 = 1 << 53;

/// Devices or replicas, at most.
const MOST_DEVICES: u64 = 1 << 32;

pub(super) fn whole(field: &'static str, raw: Raw<'_>) -> Result<Option<u64>, Problem> {
    let number = |raw: &RawValue| raw.get().parse().ok().filter(|number| *number <= MOST);
    let expected = "a whole number from 0 to 2^53";
    raw.map(|raw| number(raw).ok_or_else(|| Problem::value(field, expected))).transpose()
}

/// Devices or replicas.
pub(super) fn few(field: &'static str, value: Option<u64>) -> Result<Option<u64>, Problem> {
    match value {
        Some(value) if value > MOST_DEVICES => Err(Problem::value(field, "at most 2^32")),
        value => Ok(value),
    }
}

/// A whole number above zero.
pub(super) fn count(field: &'static str, raw: Raw<'_>) -> Result<Option<u64>, Problem> {
    match whole(field, raw)? {
        Some(0) => Err(Problem::value(field, "a whole number above 0")),
        value => Ok(value),
    }
}

pub(super) fn bits(field: &'static str, raw: Raw<'_>) -> Result<Option<u32>, Problem> {
    match count(field, raw)? {
        Some(bits) if bits <= 64 => Ok(u32::try_from(bits).ok()),
        Some(_) => Err(Problem::value(field, "bits of a value, at most 64")),
        None => Ok(None),
    }
}

/// A whole number, also as a string of digits.
pub(super) fn big(field: &'static str, raw: Raw<'_>) -> Result<Option<u128>, Problem> {
    let number = |raw: &RawValue| raw.get().trim_matches('"').parse();
    raw.map(|raw| number(raw).map_err(|_| Problem::value(field, "a whole number of at least 0"))).transpose()
}

/// Whole nanoseconds.
pub(super) fn nanoseconds(field: &'static str, raw: Raw<'_>) -> Result<Option<i64>, Problem> {
    let ns = |raw: &RawValue| raw.get().parse::<i64>().ok().filter(|ns| *ns >= 0);
    raw.map(|raw| ns(raw).ok_or_else(|| Problem::value(field, "whole nanoseconds of at least 0"))).transpose()
}

pub(super) fn time(field: &'static str, raw: Raw<'_>) -> Result<Option<Timestamp>, Problem> {
    let Some(raw) = raw else { return Ok(None) };
    let ns = if raw.get().starts_with('"') {
        let at = text(field, Some(raw))?.and_then(|text| text.parse::<jiff::Timestamp>().ok());
        at.and_then(|at| i64::try_from(at.as_nanosecond()).ok())
    } else {
        seconds_to_ns(raw.get())
    };
    let expected = "seconds since 1970 or RFC 3339 with an offset";
    ns.map(|ns| Some(Timestamp::from_nanos(ns))).ok_or_else(|| Problem::value(field, expected))
}
