//! Readers of experiment trackers: parameters and metrics that training runs logged.
//!
//! A run is what the tracker holds of it, unchanged: names and values as they were logged. What a parameter means is for
//! whoever asks.

mod megatron_arguments;
mod mlflow;
mod series;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{FileReport, ReadError};

pub use megatron_arguments::megatron_arguments;
pub use mlflow::{is_mlflow, mlflow_metric_lines, mlflow_rest, read_mlflow};
pub use series::{Point, Series};

/// A run of an experiment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExperimentRun {
    /// The tracker's identifier.
    pub id: String,
    /// What people call it; empty where it has no name.
    pub name: String,
    /// The experiment's name, else its identifier.
    pub experiment: String,
    /// How it ended.
    pub status: RunStatus,
    /// Parameters as logged.
    pub params: BTreeMap<String, String>,
    /// Tags as logged.
    pub tags: BTreeMap<String, String>,
    /// Metrics that were asked for.
    pub metrics: BTreeMap<String, Series>,
    /// Names of the metrics that were not asked for.
    pub other_metrics: Vec<String>,
    /// Where it was found.
    pub place: PathBuf,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunStatus {
    /// It still runs, or never said that it ended.
    Running,
    /// It ended as it should.
    Finished,
    /// It failed.
    Failed,
    /// Somebody ended it.
    Killed,
    /// The tracker does not say.
    #[default]
    Unknown,
}

impl RunStatus {
    /// A word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Killed => "killed",
            Self::Unknown => "of unknown end",
        }
    }

    /// By its number in a file store, or its name elsewhere.
    fn of(text: &str) -> Self {
        match text.trim().trim_matches(['\'', '"']) {
            "1" | "2" | "RUNNING" | "SCHEDULED" => Self::Running,
            "3" | "FINISHED" => Self::Finished,
            "4" | "FAILED" => Self::Failed,
            "5" | "KILLED" => Self::Killed,
            _ => Self::Unknown,
        }
    }
}

/// Runs, and what became of the files that hold them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Experiments {
    /// Each run, by experiment and identifier.
    pub runs: Vec<ExperimentRun>,
    /// What became of the lines.
    pub report: FileReport,
}

/// Which metrics to read: others are passed over, as they may hold millions of lines.
pub type Wanted<'a> = &'a dyn Fn(&str) -> bool;

fn refused(path: &Path, message: impl Into<String>, remedy: impl Into<String>) -> ReadError {
    ReadError::Format {
        path: path.display().to_string(),
        line: 0,
        field: String::new(),
        message: message.into(),
        remedy: remedy.into(),
    }
}

fn io(path: &Path, source: std::io::Error) -> ReadError {
    ReadError::Io { path: path.display().to_string(), source }
}
