//! Reports read back: the JSON that `goodput account` and `goodput timeline` write.
//!
//! Only what a decision needs is read; other keys are passed over, so that a report of a later minor version still reads.

mod exact;
mod figures;
mod serving;

pub use exact::Exact;
pub use figures::{
    CapacityTime, Contract, Coverage, Cycle, Day, Factor, FactorBounds, Ideal, Job, Loss, Measured, Pool,
    ProgramBasis, Ranks, Samples, Software, StatedCondition, StepBlock, StepTimes, Steps, Waits,
    WindowStamps,
};

pub use serving::{
    ServingContract, ServingDay, ServingIdeals, ServingMeasure, ServingReport, ServingRow, ServingWork,
};

use serde::Deserialize;

use crate::adequacy::Evidence;
use crate::serde_words::in_words;

/// A report of a fleet or of one job.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// `goodput account`: a fleet.
    Account(Box<AccountReport>),
    /// `goodput timeline`: one job.
    Timeline(Box<TimelineReport>),
}

/// What of `goodput.account/1` a decision needs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AccountReport {
    /// Title, when the user gave one.
    pub title: Option<String>,
    /// What the figures are measured over.
    pub contract: Contract,
    /// The levels and what was lost between them.
    pub capacity_time: CapacityTime,
    /// Each factor with its coverage and bounds.
    pub factor_bounds: FactorBounds,
    /// Losses, the largest first.
    pub losses: Vec<Loss>,
    /// The fleet's pools.
    #[serde(default)]
    pub pools: Vec<Pool>,
    /// The jobs.
    #[serde(default)]
    pub jobs: Vec<Job>,
    /// Day by day, where it was asked for (`--blocks day`).
    #[serde(default)]
    pub days: Vec<Day>,
}

/// What of `goodput.timeline/1` a decision needs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TimelineReport {
    /// Title, when the user gave one.
    pub title: Option<String>,
    /// The job's id.
    pub job: Option<String>,
    /// What the figures are measured over.
    pub contract: Contract,
    /// The levels and what was lost between them.
    pub capacity_time: CapacityTime,
    /// Each factor with its coverage and bounds.
    pub factor_bounds: FactorBounds,
    /// Losses, the largest first.
    pub losses: Vec<Loss>,
    /// Fault-free step time, ns.
    pub fault_free_step_ns: Option<Exact>,
    /// Steps by fate.
    pub steps: Steps,
    /// Durations of retained steady steps.
    pub step_times: StepTimes,
    /// Step times by rank.
    pub ranks: Option<Ranks>,
    /// Events as counted and timed.
    pub measured: Measured,
    /// What its program factor rests on.
    pub program_basis: Option<ProgramBasis>,
    /// Time between held intervals.
    pub queue_wait_ns: Option<Exact>,
    /// What confidence intervals are made from.
    #[serde(default)]
    pub samples: Samples,
}

/// Why a file is no report that can be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// No JSON, or a key that is missing or of another type.
    #[error("{label}: line {line}, column {column}: {why}")]
    Malformed {
        /// The file.
        label: String,
        /// Line.
        line: usize,
        /// Column.
        column: usize,
        /// What the parser says.
        why: String,
    },
    /// A serving fleet where a training job or fleet is asked for.
    #[error(
        "{label}: a report of goodput serving: its rows have ideals of their own and stand apart from training; \
         `goodput compare` compares two of them"
    )]
    Serving {
        /// The file.
        label: String,
    },
    /// JSON of something else.
    #[error(
        "{label}: its `schema` is {found}, expected goodput.account/1 or goodput.timeline/1; write it with `--format json`"
    )]
    OtherSchema {
        /// The file.
        label: String,
        /// What stands there.
        found: String,
    },
}

impl ReportError {
    fn malformed(label: &str, error: &serde_json::Error) -> Self {
        Self::Malformed {
            label: label.to_owned(),
            line: error.line(),
            column: error.column(),
            why: in_words(&error.to_string()),
        }
    }
}

/// The word under `schema` of a JSON document.
///
/// # Errors
/// [`ReportError::Malformed`] for what is no JSON object.
pub fn schema(label: &str, json: &[u8]) -> Result<Option<String>, ReportError> {
    #[derive(Deserialize)]
    struct Header {
        schema: Option<String>,
    }
    let header: Header = serde_json::from_slice(json).map_err(|e| ReportError::malformed(label, &e))?;
    Ok(header.schema)
}

impl Report {
    /// Reads a report from the text of its JSON. `label` names it in errors.
    ///
    /// # Errors
    /// [`ReportError`] with line and column, or with the schema that was found.
    pub fn read(label: &str, json: &[u8]) -> Result<Self, ReportError> {
        let malformed = |e: serde_json::Error| ReportError::malformed(label, &e);
        match schema(label, json)?.as_deref() {
            Some(ServingReport::SCHEMA) => Err(ReportError::Serving { label: label.to_owned() }),
            Some("goodput.account/1") => serde_json::from_slice(json).map(Self::Account).map_err(malformed),
            Some("goodput.timeline/1") => serde_json::from_slice(json).map(Self::Timeline).map_err(malformed),
            other => Err(ReportError::OtherSchema {
                label: label.to_owned(),
                found: other.map_or_else(|| "missing".to_owned(), |s| format!("{s:?}")),
            }),
        }
    }

    /// What the figures are measured over.
    #[must_use]
    pub const fn contract(&self) -> &Contract {
        match self {
            Self::Account(report) => &report.contract,
            Self::Timeline(report) => &report.contract,
        }
    }

    /// What the windows of the factors rest on.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        let of = |steps: Option<u64>, measured: &[Measured]| Evidence {
            steady_steps: steps,
            interruptions: (!measured.is_empty())
                .then(|| measured.iter().map(|m| m.failures + m.preemptions).sum()),
            failures: measured.iter().map(|m| m.failures).sum(),
            held_ns: measured.iter().map(|m| m.held_ns.0 as f64).sum(),
            ..Evidence::default()
        };
        match self {
            Self::Timeline(job) => of(Some(job.step_times.count), &[job.measured]),
            Self::Account(fleet) => {
                let logged: Vec<Measured> = fleet.jobs.iter().filter_map(|job| job.measured).collect();
                let counts = fleet.jobs.iter().filter_map(|job| job.step_times).map(|times| times.count);
                let window = self.contract().window;
                Evidence {
                    pool_window_ns: Some((window.to_ns.0 - window.from_ns.0) as f64),
                    ..of((!logged.is_empty()).then(|| counts.sum()), &logged)
                }
            }
        }
    }

    /// Each factor with its coverage and bounds.
    #[must_use]
    pub const fn factors(&self) -> &FactorBounds {
        match self {
            Self::Account(report) => &report.factor_bounds,
            Self::Timeline(report) => &report.factor_bounds,
        }
    }

    /// The levels and what was lost between them.
    #[must_use]
    pub const fn capacity_time(&self) -> &CapacityTime {
        match self {
            Self::Account(report) => &report.capacity_time,
            Self::Timeline(report) => &report.capacity_time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_report_is_refused_with_what_it_is() {
        let other = Report::read("a.json", br#"{"schema": "goodput.flops/1"}"#).unwrap_err().to_string();
        assert!(other.starts_with("a.json: its `schema` is \"goodput.flops/1\""), "{other}");
        let missing = Report::read("a.json", b"{}").unwrap_err().to_string();
        assert!(missing.contains("missing"), "{missing}");
        let torn = Report::read("a.json", b"{\n \"schema\": ").unwrap_err();
        assert!(matches!(torn, ReportError::Malformed { line: 2, .. }), "{torn}");
        let short = Report::read("a.json", br#"{"schema": "goodput.account/1"}"#).unwrap_err().to_string();
        assert!(short.contains("missing field"), "{short}");
    }
}
