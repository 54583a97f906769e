//! The fields of one line, unread until asked for, so that a bad one is refused by its name.

use goodput_core::Timestamp;
use goodput_core::records::{Phase, StopCause};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::decimal::seconds_to_ns;

/// The log's words for the phases.
pub(super) const PHASES: [(&str, Phase); 8] = [
    ("launch", Phase::Launch),
    ("checkpoint_load", Phase::CheckpointLoad),
    ("checkpoint_pause", Phase::CheckpointPause),
    ("input_wait", Phase::InputWait),
    ("evaluation", Phase::Evaluation),
    ("reconfiguration", Phase::Reconfiguration),
    ("suspension", Phase::Suspension),
    ("declared", Phase::Declared),
];

/// The log's words for the causes of a stop.
pub(super) const CAUSES: [(&str, StopCause); 5] = [
    ("finished", StopCause::Finished),
    ("ended", StopCause::Ended),
    ("fault", StopCause::Fault),
    ("preempted", StopCause::Preempted),
    ("reconfiguration", StopCause::Reconfiguration),
];

/// The log's words for events.
pub(super) const EVENTS: [&str; 10] =
    ["launch", "phase", "phase_end", "save", "commit", "restore", "resize", "standby", "stop", "logging"];

/// Why a line is refused.
#[derive(Debug)]
pub(super) struct Problem {
    pub code: &'static str,
    pub field: &'static str,
    pub message: String,
}

impl Problem {
    /// A word that the format does not have.
    pub(super) fn word(field: &'static str, found: &str, known: impl Iterator<Item = &'static str>) -> Self {
        let known: Vec<_> = known.collect();
        let message = format!("found {found:?}, expected one of {}; the line is not used", known.join(", "));
        Self { code: "bad_value", field, message }
    }

    pub(super) fn value(field: &'static str, expected: &str) -> Self {
        Self { code: "bad_value", field, message: format!("expected {expected}; the line is not used") }
    }
}

type Raw<'a> = Option<&'a RawValue>;

/// Every field that the format names.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Fields<'a> {
    #[serde(borrow)]
    goodput_timeline: Raw<'a>,
    pub job: Raw<'a>,
    pub devices: Raw<'a>,
    pub device: Raw<'a>,
    pub peak_tflops: Raw<'a>,
    pub dtype: Raw<'a>,
    pub model_flops_per_token: Raw<'a>,
    pub convention: Raw<'a>,
    pub planned_steps: Raw<'a>,
    pub commits: Raw<'a>,
    software: Raw<'a>,
    pub step: Raw<'a>,
    pub count: Raw<'a>,
    pub start: Raw<'a>,
    pub end: Raw<'a>,
    pub input_wait_s: Raw<'a>,
    pub tokens: Raw<'a>,
    pub model_flops: Raw<'a>,
    pub rank: Raw<'a>,
    pub host: Raw<'a>,
    pub duration_s: Raw<'a>,
    pub event: Raw<'a>,
    pub at: Raw<'a>,
    phase: Raw<'a>,
    pub name: Raw<'a>,
    cause: Raw<'a>,
}

impl<'a> Fields<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Problem> {
        if !text.trim_ascii_start().starts_with('{') {
            return Err(Problem {
                code: "bad_json",
                field: "",
                message: "expected one JSON object a line".to_owned(),
            });
        }
        serde_json::from_str(text).map_err(|error| Problem {
            code: "bad_json",
            field: "",
            message: format!("{error} of the line: expected one JSON object; the line is not used"),
        })
    }

    pub(super) fn is_header(&self) -> bool {
        self.goodput_timeline.is_some()
    }

    pub(super) fn version(&self) -> Result<(), Problem> {
        match self.goodput_timeline.map(RawValue::get) {
            Some("1") => Ok(()),
            other => Err(Problem {
                code: "bad_value",
                field: "goodput_timeline",
                message: format!("version {} of the format; version 1 can be read", other.unwrap_or("null")),
            }),
        }
    }

    pub(super) fn required<T>(&self, field: &'static str, value: Option<T>) -> Result<T, Problem> {
        value.ok_or_else(|| Problem {
            code: "missing_field",
            field,
            message: format!("{field} is missing; the line is not used"),
        })
    }

    pub(super) fn text(&self, field: &'static str, raw: Raw<'a>) -> Result<Option<String>, Problem> {
        raw.map(|raw| serde_json::from_str(raw.get()).map_err(|_| Problem::value(field, "a string")))
            .transpose()
    }

    pub(super) fn flag(&self, field: &'static str, raw: Raw<'a>) -> Result<Option<bool>, Problem> {
        raw.map(|raw| raw.get().parse().map_err(|_| Problem::value(field, "true or false"))).transpose()
    }

    pub(super) fn whole(&self, field: &'static str, raw: Raw<'a>) -> Result<Option<u64>, Problem> {
        raw.map(|raw| raw.get().parse().map_err(|_| Problem::value(field, "a whole number of at least 0")))
            .transpose()
    }

    /// A whole number, also as a string of digits.
    pub(super) fn big(&self, field: &'static str, raw: Raw<'a>) -> Result<Option<u128>, Problem> {
        let digits = |raw: &'a RawValue| raw.get().trim_matches('"');
        raw.map(|raw| digits(raw).parse().map_err(|_| Problem::value(field, "a whole number of at least 0")))
            .transpose()
    }

    pub(super) fn positive(&self, field: &'static str, raw: Raw<'a>) -> Result<Option<f64>, Problem> {
        let number = |raw: &'a RawValue| raw.get().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
        raw.map(|raw| number(raw).ok_or_else(|| Problem::value(field, "a number above 0"))).transpose()
    }

    pub(super) fn duration(&self, field: &'static str, raw: Raw<'a>) -> Result<Option<i64>, Problem> {
        let ns = |raw: &'a RawValue| seconds_to_ns(raw.get()).filter(|ns| *ns >= 0);
        raw.map(|raw| ns(raw).ok_or_else(|| Problem::value(field, "a number of seconds of at least 0")))
            .transpose()
    }

    pub(super) fn time(&self, field: &'static str, raw: Raw<'a>) -> Result<Option<Timestamp>, Problem> {
        let Some(raw) = raw else { return Ok(None) };
        let ns = if raw.get().starts_with('"') {
            let at = self.text(field, Some(raw))?.and_then(|text| text.parse::<jiff::Timestamp>().ok());
            at.and_then(|at| i64::try_from(at.as_nanosecond()).ok())
        } else {
            seconds_to_ns(raw.get())
        };
        let expected = "seconds since 1970 or RFC 3339 with an offset";
        ns.map(|ns| Some(Timestamp::from_nanos(ns))).ok_or_else(|| Problem::value(field, expected))
    }

    pub(super) fn phase(&self) -> Result<Phase, Problem> {
        let word = self.required("phase", self.text("phase", self.phase)?)?;
        let phase = PHASES.iter().find(|(name, _)| *name == word);
        phase
            .map(|(_, phase)| *phase)
            .ok_or_else(|| Problem::word("phase", &word, PHASES.iter().map(|(name, _)| *name)))
    }

    pub(super) fn cause(&self) -> Result<StopCause, Problem> {
        let word = self.required("cause", self.text("cause", self.cause)?)?;
        let cause = CAUSES.iter().find(|(name, _)| *name == word);
        cause
            .map(|(_, cause)| *cause)
            .ok_or_else(|| Problem::word("cause", &word, CAUSES.iter().map(|(name, _)| *name)))
    }

    /// Names and versions, in the order of their names.
    pub(super) fn software(&self) -> Result<Vec<(String, String)>, Problem> {
        let Some(raw) = self.software else { return Ok(Vec::new()) };
        serde_json::from_str::<std::collections::BTreeMap<String, String>>(raw.get())
            .map(|versions| versions.into_iter().collect())
            .map_err(|_| Problem::value("software", "an object of strings"))
    }
}
