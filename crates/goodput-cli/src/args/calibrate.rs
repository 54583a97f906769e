//! Options of `goodput calibrate`, and `--tables`.

use std::path::PathBuf;

use clap::Args;

use super::ShortFormat;

/// `goodput calibrate`
#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n\n  \
    python -m fleet_goodput.bench -o bench.csv              measure on the GPU\n  \
    goodput calibrate bench.csv -o ours.tables         check every row, write the calibration\n  \
    goodput predict run.yaml --tables ours.tables      predict with it\n\n  \
    goodput calibrate perf.parquet --set kind=gemm --set state=burst --column time_ms=latency --device 'H100 SXM5' -o ours/\n\n\
Columns of a table and the calibration file: docs/calibrate.md. This calibrates kernels and exchanges from their own \
measurements; a factor on whole steps is another thing, and part of goodput validate.")]
pub struct CalibrateArgs {
    /// Measured tables: CSV (gzipped or not) or Parquet, and calibration files to be joined with them.
    #[arg(value_name = "TABLE", required = true)]
    pub tables: Vec<PathBuf>,
    /// Write the calibration to this file, or one file a device into this folder; without it tables are only checked.
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
    /// The device of every row, over what the tables say.
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// What the tables call a column: time_ms=latency.
    #[arg(long, value_name = "OURS=THEIRS")]
    pub column: Vec<String>,
    /// A value that holds for every row: state=burst.
    #[arg(long, value_name = "OURS=VALUE")]
    pub set: Vec<String>,
    /// How to print the summary.
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: ShortFormat,
    /// Exit with 1 when rows were repaired or refused.
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}

/// Measured tables of a prediction.
#[derive(Debug, Clone, Args)]
pub struct TablesArgs {
    /// A file that goodput calibrate wrote: kernels and exchanges measured on your devices, in front of the shipped tables. Once a
    /// device.
    #[arg(long, value_name = "FILE")]
    pub tables: Vec<PathBuf>,
}
