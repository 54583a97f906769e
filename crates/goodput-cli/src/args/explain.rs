//! Options of `goodput explain`.

use std::path::PathBuf;

use clap::Args;

use super::{PageFormat, TablesArgs};

/// `goodput explain`
#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n\n  \
    goodput explain examples/run.yaml --trace traces/ --format html -o gap.html\n\n\
How terms are matched and what is named: docs/explain.md. How to record traces: docs/trace.md.")]
pub struct ExplainArgs {
    /// The run: model, cluster, layout, batch (examples/run.yaml).
    #[arg(value_name = "RUN.yaml")]
    pub run: PathBuf,
    /// Step traces of the run: files, or directories of them. A part of the ranks will do.
    #[arg(long, value_name = "PATH", num_args = 1.., required = true)]
    pub trace: Vec<PathBuf>,
    /// The rank of a file that does not tell it, as FILE=RANK.
    #[arg(long, value_name = "FILE=RANK")]
    pub rank: Vec<String>,
    /// Compare the stamps of ranks as they are, without estimating clock offsets.
    #[arg(long)]
    pub raw_clocks: bool,
    /// Relative standard deviation of the devices' speeds (0.01): the predicted step waits for the slowest.
    #[arg(long, value_name = "SHARE")]
    pub stragglers: Option<f64>,
    /// Measured tables.
    #[command(flatten)]
    pub tables: TablesArgs,
    /// How to print.
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: PageFormat,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Exit with 1 when the step is off by more than two deviations of the prediction, the traces are of another job,
    /// or their reading is questioned.
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}
