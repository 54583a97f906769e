//! The contract: what a figure is measured over, so that two of them can be compared or refused.

use std::borrow::Cow;

use goodput_core::records::Commits;
use goodput_core::scheduling::Denominator;
use goodput_core::{Boundary, Chain, NS_PER_SECOND, Window};
use serde::Serialize;

use super::conditions::{FactorStatisticsView, KnownConditions, Measurements};
use super::exact::Exact;
use crate::number::rfc3339;

/// What every figure of the report is measured over.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContractView {
    /// `fleet` or `job`.
    pub scope: &'static str,
    /// The window, half-open.
    pub window: WindowView,
    /// What the first factor divides by: `in_service`, `installed`, or `held` for one job.
    pub denominator: &'static str,
    /// Most devices at any time.
    pub devices: u64,
    /// Device types that the records name.
    pub device_types: Vec<String>,
    /// The ideals behind the program factor.
    pub ideals: Vec<IdealView>,
    /// Software as far as the records say.
    pub software: Vec<SoftwareView>,
    /// Where held and productive time begin and end.
    pub timing_boundary: TimingBoundaryView,
    /// How much of the capacity the evidence settles.
    pub coverage: CoverageView,
    /// Jobs by what their log says of commits.
    pub commits: CommitsView,
    /// The conditions that are known, and where from.
    #[serde(flatten)]
    pub known: KnownConditions,
    /// How each factor was measured, and whether its window is long enough.
    pub statistics: Vec<FactorStatisticsView>,
    /// What the statistics are made from.
    #[serde(skip)]
    pub(crate) measurements: Measurements,
}

/// The window `[from, to)`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WindowView {
    /// RFC 3339, UTC.
    pub from: String,
    /// RFC 3339, UTC.
    pub to: String,
    /// Nanoseconds since the Unix epoch.
    pub from_ns: Exact,
    /// Nanoseconds since the Unix epoch.
    pub to_ns: Exact,
    /// Length in nanoseconds.
    pub duration_ns: Exact,
}

impl From<Window> for WindowView {
    fn from(window: Window) -> Self {
        Self {
            from: rfc3339(window.from()),
            to: rfc3339(window.to()),
            from_ns: window.from().into(),
            to_ns: window.to().into(),
            duration_ns: window.duration_ns().into(),
        }
    }
}

/// A named ideal: a program factor without one cannot be compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IdealView {
    /// `compute`, or another named ideal.
    pub ideal: &'static str,
    /// Device.
    pub device: String,
    /// Dense peak of one device in FLOP/s.
    pub peak_flops_per_second: f64,
    /// dtype of the peak.
    pub dtype: String,
    /// Convention behind the FLOPs.
    pub convention: String,
    /// Jobs that rest on it.
    pub jobs: u64,
}

/// One piece of software.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SoftwareView {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
}

impl SoftwareView {
    pub(crate) fn all(software: &[(String, String)]) -> Vec<Self> {
        let view = |(name, version): &(String, String)| Self { name: name.clone(), version: version.clone() };
        software.iter().map(view).collect()
    }
}

/// Where the timed stretches begin and end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TimingBoundaryView {
    /// From when to when devices count as held.
    pub held: Cow<'static, str>,
    /// What counts as productive.
    pub productive: &'static str,
    /// Resolution of the stamps; `None` when the records do not say.
    pub stamp_resolution_ns: Option<Exact>,
}

/// An arithmetic ideal as a condition of a contract.
pub(crate) fn ideal_condition(ideal: &str, device: &str, dtype: &str, peak_flops_per_second: f64) -> String {
    format!("{ideal} on {device}, {dtype} {peak_flops_per_second:.4e} FLOP/s a device")
}

/// The coarsest unit, of a second to a nanosecond, that all stamps are multiples of; `None` of none.
pub(crate) fn resolution_ns(mut stamps_ns: impl Iterator<Item = i64> + Clone) -> Option<i64> {
    [NS_PER_SECOND, NS_PER_SECOND / 1000, NS_PER_SECOND / 1_000_000, 1]
        .into_iter()
        .find(|unit| stamps_ns.clone().all(|ns| ns % unit == 0))
        .filter(|_| stamps_ns.next().is_some())
}

impl TimingBoundaryView {
    /// What it says as conditions of a contract.
    pub(crate) fn conditions(&self) -> [(&'static str, String); 3] {
        let resolution = self.stamp_resolution_ns.map_or_else(String::new, |ns| ns.0.to_string());
        [
            ("timing.held", self.held.to_string()),
            ("timing.productive", self.productive.to_owned()),
            ("timing.stamp_resolution_ns", resolution),
        ]
    }

    const PRODUCTIVE: &'static str = "duration less input wait of the steps that a commit holds and no later \
                                      attempt rolled back; warm-up steps count at most the fault-free step time";

    pub(crate) fn recorded(stamp_resolution_ns: Option<i64>) -> Self {
        Self {
            held: "gang complete to release, by the scheduler's records".into(),
            productive: Self::PRODUCTIVE,
            stamp_resolution_ns: stamp_resolution_ns.filter(|&ns| ns > 0).map(Into::into),
        }
    }

    pub(crate) fn from_log(stamp_resolution_ns: Option<i64>) -> Self {
        Self {
            held: "first evidence in the log to a logged end, else to the window's end: no allocation record"
                .into(),
            ..Self::recorded(stamp_resolution_ns)
        }
    }
}

/// The share of the capacity that reached each factor on which the evidence settles it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CoverageView {
    /// Of offered; absent for one job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<f64>,
    /// Of held.
    pub runtime: f64,
    /// Of retained.
    pub program: f64,
    /// Share of held time of jobs that have a timeline.
    pub timelines: Option<f64>,
    /// Share of the window covered by node snapshots; absent for one job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_snapshots: Option<f64>,
}

impl CoverageView {
    pub(crate) fn of(chain: &Chain) -> Self {
        Self {
            scheduling: None,
            runtime: chain.factor(Boundary::Runtime).coverage,
            program: chain.factor(Boundary::Program).coverage,
            timelines: None,
            node_snapshots: None,
        }
    }
}

/// Jobs by what their log says of commits. Where it records none, steps that were not rolled back count as retained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct CommitsView {
    /// Jobs whose timeline records commits.
    pub recorded_jobs: u64,
    /// Jobs whose timeline does not.
    pub unknown_jobs: u64,
    /// Jobs without a timeline.
    pub jobs_without_timeline: u64,
}

impl CommitsView {
    pub(crate) fn count(&mut self, commits: Option<Commits>) {
        match commits {
            Some(Commits::Recorded) => self.recorded_jobs += 1,
            Some(Commits::Unknown) => self.unknown_jobs += 1,
            None => self.jobs_without_timeline += 1,
        }
    }
}

/// The word for a denominator.
pub(crate) fn denominator_key(denominator: Denominator) -> &'static str {
    match denominator {
        Denominator::InService => "in_service",
        Denominator::Installed => "installed",
    }
}
