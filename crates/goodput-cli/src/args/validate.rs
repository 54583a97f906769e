//! Options of `goodput validate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{PageOutputArgs, ShortFormat, TablesArgs, share};

/// `goodput validate`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\n  \
    goodput validate runs.csv --by source,software,tp\n  \
    goodput validate runs.csv --rules ours.yaml --format html -o errors.html\n  \
    goodput validate runs.csv --calibrate factors.yaml\n  \
    goodput validate later.csv --calibration factors.yaml\n  \
    goodput validate collect mlruns -o runs.csv\n  \
    goodput validate runs.csv --regression errors.json --record     # once\n  \
    goodput validate runs.csv --regression errors.json              # in CI: exit 1 when a source became worse\n\n\
Columns, measures and rules: docs/validation.md.")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(mut_arg("strict", |arg| arg.help("Exit with 1 when a row was refused or could not be predicted")))]
pub struct ValidateArgs {
    /// What to do beside comparing.
    #[command(subcommand)]
    pub command: Option<ValidateCommand>,
    /// Measured runs, one a row (docs/validation.md).
    #[arg(value_name = "RUNS.csv", required = true)]
    pub runs: Option<PathBuf>,
    /// What your rows leave out, as rules before the built-in ones (docs/validation.md).
    #[arg(long, value_name = "FILE.yaml")]
    pub rules: Option<PathBuf>,
    /// Measured tables.
    #[command(flatten)]
    pub tables: TablesArgs,
    /// Breakdowns to show: source, device, software, tp, pp, dp, ep, cp, size, format.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "source,device")]
    pub by: Vec<String>,
    /// Fit one calibration a device and software on half of the rows, write it, and report the errors of the other half.
    #[arg(long, value_name = "FILE.yaml", conflicts_with = "calibration", help_heading = "Calibration")]
    pub calibrate: Option<PathBuf>,
    /// Report also the errors with this calibration, of rows that it was not fitted on.
    #[arg(long, value_name = "FILE.yaml", help_heading = "Calibration")]
    pub calibration: Option<PathBuf>,
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

/// What `goodput validate` does beside comparing.
#[derive(Debug, Subcommand)]
pub enum ValidateCommand {
    /// Writes RUNS.csv from MLflow stores, job logs and step traces, and names what each row lacks.
    Collect(CollectArgs),
}

/// `goodput validate collect`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\n  \
    goodput validate collect mlruns -o runs.csv --model llama3.1-8b --cluster 'DGX H100'\n  \
    goodput validate collect mlflow.db -o runs.csv --map ours.yaml\n  \
    goodput validate collect train-*.log traces/ -o runs.csv\n  \
    goodput validate runs.csv\n\n\
A column that nothing states stays empty and is named, in the report and in the row's `missing`; such rows are refused by\n\
`goodput validate` until it is filled. Names of parameters and metrics, and the map: docs/validation.md.")]
pub struct CollectArgs {
    /// MLflow folders (mlruns), databases (mlflow.db) and REST exports; job logs; step traces, as files or a folder.
    #[arg(value_name = "SOURCE", required = true)]
    pub sources: Vec<PathBuf>,
    /// The table to write.
    #[arg(short, long, value_name = "RUNS.csv")]
    pub output: PathBuf,
    /// Your own names of parameters, and values that no run logs (docs/validation.md).
    #[arg(long, value_name = "FILE.yaml")]
    pub map: Option<PathBuf>,
    /// The model of all runs: a known name, a Hugging Face config.json, or our YAML.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// The cluster of all runs (docs/collectives.md).
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// How to print what was collected.
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: ShortFormat,
    /// Exit with 1 when a source, run or line was refused, or a row lacks a column.
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}
