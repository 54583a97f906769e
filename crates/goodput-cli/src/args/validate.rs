//! Options of `goodput validate`.

use std::path::PathBuf;

use clap::Args;

use super::{PageOutputArgs, share};

/// `goodput validate`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\n  \
    goodput validate runs.csv --by source,software,tp\n  \
    goodput validate runs.csv --rules ours.yaml --format html -o errors.html\n  \
    goodput validate runs.csv --regression errors.json --record     # once\n  \
    goodput validate runs.csv --regression errors.json              # in CI: exit 1 when a source became worse\n\n\
Columns, measures and rules: docs/validation.md.")]
#[command(mut_arg("strict", |arg| arg.help("Exit with 1 when a row was refused or could not be predicted")))]
pub struct ValidateArgs {
    /// Measured runs, one a row (docs/validation.md).
    #[arg(value_name = "RUNS.csv")]
    pub runs: PathBuf,
    /// What your rows leave out, as rules before the built-in ones (docs/validation.md).
    #[arg(long, value_name = "FILE.yaml")]
    pub rules: Option<PathBuf>,
    /// Breakdowns to show: source, device, software, tp, pp, dp, ep, cp, size, format.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "source,device")]
    pub by: Vec<String>,
    /// Errors once reached: exit with 1 when those of a source have grown by more than the file's margin.
    #[arg(long, value_name = "FILE.json", help_heading = "Regression")]
    pub regression: Option<PathBuf>,
    /// Write that file from the errors as they are.
    #[arg(long, requires = "regression", help_heading = "Regression")]
    pub record: bool,
    /// How much an error may grow, in a file that is written [default: the file's, else 0.5%].
    #[arg(long, value_name = "SHARE", value_parser = share, requires = "record", help_heading = "Regression")]
    pub margin: Option<f64>,
    /// Write each row's measured and predicted time, error and terms to this CSV.
    #[arg(long, value_name = "FILE.csv", help_heading = "Output")]
    pub rows: Option<PathBuf>,
    /// The output.
    #[command(flatten)]
    pub output: PageOutputArgs,
    /// Exit with 1 when a row was refused or could not be predicted.
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}
