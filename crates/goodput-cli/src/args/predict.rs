//! Options of `goodput predict`.

use std::path::PathBuf;

use clap::Args;

use super::{PageOutputArgs, TablesArgs};

/// `goodput predict`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\n  goodput predict examples/run.yaml\n  \
goodput predict examples/run.yaml --format html -o step.html\n  \
goodput predict examples/run.yaml --trace step.json.gz    (opens in ui.perfetto.dev)\n\n\
What the times rest on: docs/kernels.md, docs/collectives.md. How far they are from measured runs: docs/validation.md.")]
pub struct PredictArgs {
    /// The run: model, cluster, layout, batch (examples/run.yaml).
    #[arg(value_name = "RUN.yaml")]
    pub run: PathBuf,
    /// Relative standard deviation of the devices' speeds (0.01): the step waits for the slowest.
    #[arg(long, value_name = "SHARE")]
    pub stragglers: Option<f64>,
    /// Multiply the times by these factors of the device (goodput validate --calibrate); the report names them.
    #[arg(long, value_name = "FILE.yaml")]
    pub calibration: Option<PathBuf>,
    /// The software whose factors count, where the calibration has several.
    #[arg(long, value_name = "NAME", requires = "calibration")]
    pub software: Option<String>,
    /// Write the simulated step, every pass of every stage, as a trace for Perfetto to this file; gzipped when its name ends in .gz.
    #[arg(long, value_name = "FILE.json", help_heading = "Output")]
    pub trace: Option<PathBuf>,
    /// Title of the report.
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    pub title: Option<String>,
    /// Measured tables.
    #[command(flatten)]
    pub tables: TablesArgs,
    /// The output.
    #[command(flatten)]
    pub output: PageOutputArgs,
    /// Exit with 1 when the job does not fit in memory.
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}
