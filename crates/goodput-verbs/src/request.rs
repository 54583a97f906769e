//! What a person asks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use goodput_core::scheduling::Denominator;
use goodput_report::{Price, ViewSettings};
use serde::Deserialize;

use crate::VerbError;

/// The window, and the zone of stamps that carry none.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WindowRequest {
    /// Start: RFC 3339, a date, a date-time in `time_zone`, or seconds since the epoch.
    pub from: Option<String>,
    /// End, exclusive.
    pub to: Option<String>,
    /// IANA name of the zone of stamps without an offset.
    pub time_zone: Option<String>,
}

/// What is known of a job's work and devices beside its log.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Work {
    /// Devices of the job, when no record says.
    pub devices: Option<u64>,
    /// Devices of one slice, for logs that count slices.
    pub devices_per_slice: Option<u64>,
    /// Device name.
    pub device: Option<String>,
    /// More devices than the catalogue's own.
    pub device_file: Option<PathBuf>,
    /// Dense peak of one device in TFLOP/s for `dtype`, over the catalogue's.
    pub peak_tflops: Option<f64>,
    /// dtype of the arithmetic.
    pub dtype: Option<String>,
    /// Model FLOPs per real token.
    pub flops_per_token: Option<f64>,
}

/// A job's log and what is known beside it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TimelineInput {
    /// The log.
    pub file: PathBuf,
    /// The job's id, when the user states it.
    pub job: Option<String>,
    /// Work and devices, when the user states them.
    pub work: Work,
}

/// How a report is titled and priced.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReportRequest {
    /// Title.
    pub title: Option<String>,
    /// Price of one device-hour.
    pub price: Option<f64>,
    /// Currency of the price; US dollars when nobody says.
    pub currency: Option<String>,
}

impl ReportRequest {
    pub(crate) fn settings(&self) -> Result<ViewSettings, VerbError> {
        let currency = || self.currency.clone().unwrap_or_else(|| "USD".to_owned());
        let price = self.price.map(|price| Price::new(price, currency())).transpose();
        Ok(ViewSettings {
            title: self.title.clone(),
            price: price.map_err(|e| VerbError::new(format!("--price: {e}")))?,
            ..ViewSettings::default()
        })
    }
}

/// `goodput account`: the records of a fleet, and how to account them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AccountRequest {
    /// `sacct` files.
    pub sacct: Vec<PathBuf>,
    /// Column names of a sacct file without a header.
    pub sacct_columns: Option<Vec<String>>,
    /// Delimiter of sacct text.
    pub delimiter: Option<String>,
    /// Event files.
    pub events: Vec<PathBuf>,
    /// Node files.
    pub nodes: Vec<PathBuf>,
    /// Snapshot files.
    pub snapshots: Vec<PathBuf>,
    /// Reservation files.
    pub reservations: Vec<PathBuf>,
    /// Database tables.
    pub tables: Vec<PathBuf>,
    /// Column maps with their files.
    pub imports: Vec<(PathBuf, Vec<PathBuf>)>,
    /// Timelines.
    pub timelines: Vec<TimelineInput>,
    /// Pools and their node lists.
    pub pools: BTreeMap<String, String>,
    /// The denominator; devices in service when nobody says.
    #[serde(skip)]
    pub denominator: Option<Denominator>,
    /// Planned steps by job.
    pub planned_steps: BTreeMap<String, u64>,
    /// Jobs without a timeline that get a row of their own.
    pub jobs: usize,
    /// The window.
    pub window: WindowRequest,
    /// Blocks for confidence intervals: account every day apart too.
    pub days: bool,
    /// What is known of the measurement beside the records (`examples/contract.yaml`).
    pub contract: Option<PathBuf>,
    /// The report.
    pub report: ReportRequest,
}

impl Default for AccountRequest {
    fn default() -> Self {
        Self {
            sacct: Vec::new(),
            sacct_columns: None,
            delimiter: None,
            events: Vec::new(),
            nodes: Vec::new(),
            snapshots: Vec::new(),
            reservations: Vec::new(),
            tables: Vec::new(),
            imports: Vec::new(),
            timelines: Vec::new(),
            pools: BTreeMap::new(),
            denominator: None,
            planned_steps: BTreeMap::new(),
            jobs: 100,
            window: WindowRequest::default(),
            days: false,
            contract: None,
            report: ReportRequest::default(),
        }
    }
}

impl AccountRequest {
    /// This request on top of one from a file: records come together, and what both say, this one says.
    #[must_use]
    pub fn over(mut self, file: Self) -> Self {
        let chain = |first: Vec<PathBuf>, more: Vec<PathBuf>| first.into_iter().chain(more).collect();
        self.sacct = chain(file.sacct, self.sacct);
        self.events = chain(file.events, self.events);
        self.nodes = chain(file.nodes, self.nodes);
        self.snapshots = chain(file.snapshots, self.snapshots);
        self.reservations = chain(file.reservations, self.reservations);
        self.tables = chain(file.tables, self.tables);
        self.imports = file.imports.into_iter().chain(self.imports).collect();
        self.timelines = file.timelines.into_iter().chain(self.timelines).collect();
        self.pools = file.pools.into_iter().chain(self.pools).collect();
        self.planned_steps = file.planned_steps.into_iter().chain(self.planned_steps).collect();
        self.denominator = self.denominator.or(file.denominator);
        self.window = WindowRequest {
            from: self.window.from.or(file.window.from),
            to: self.window.to.or(file.window.to),
            time_zone: self.window.time_zone.or(file.window.time_zone),
        };
        self.report = ReportRequest {
            title: self.report.title.or(file.report.title),
            price: self.report.price.or(file.report.price),
            currency: self.report.currency.or(file.report.currency),
        };
        self
    }
}

/// `goodput timeline`: one job's logs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TimelineRequest {
    /// The logs; several files of one job are one timeline.
    pub files: Vec<PathBuf>,
    /// The job's id, for logs that do not say.
    pub job: Option<String>,
    /// Held intervals, as FROM..TO.
    pub allocation: Vec<String>,
    /// Or the job records that hold them.
    pub sacct: Vec<PathBuf>,
    /// The job still runs: the window ends now.
    pub live: bool,
    /// Steps that the job planned.
    pub planned_steps: Option<u64>,
    /// Step traces of the job: they divide its program loss by terms.
    pub traces: Vec<PathBuf>,
    /// Work and devices.
    pub work: Work,
    /// The window.
    pub window: WindowRequest,
    /// What is known of the measurement beside the log (`examples/contract.yaml`).
    pub contract: Option<PathBuf>,
    /// The report.
    pub report: ReportRequest,
}
