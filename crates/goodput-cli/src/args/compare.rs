//! Options of `goodput compare`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::PageFormat;

/// Whose product decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LeverArg {
    /// The job's: runtime x program goodput, for levers inside one allocation.
    Job,
    /// The pool's MPG, for levers that move capacity between jobs.
    Pool,
}

impl LeverArg {
    /// The word of the request.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Pool => "pool",
        }
    }
}

/// `goodput compare`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\n  \
    goodput timeline before.jsonl --contract contract.yaml --format json -o before.json\n  \
    goodput timeline after.jsonl --contract contract.yaml --format json -o after.json\n  \
    goodput compare before.json after.json\n\n  \
    goodput account fleet.yaml --from 2026-11-02 --to 2026-11-16 --blocks day --format json -o before.json\n  \
    goodput account fleet.yaml --from 2026-11-16 --to 2026-11-30 --blocks day --format json -o after.json\n  \
    goodput compare before.json after.json --lever pool --format html -o compare.html\n\n  \
    goodput serving week1.jsonl --format json -o before.json && goodput serving week2.jsonl --format json -o after.json\n  \
    goodput compare before.json after.json\n\n\
Exit status: 0 accept; 1 reject or not decided; 2 the reports have no comparison.\n\
How the verdict is made, and how often it errs: docs/compare.md.")]
pub struct CompareArgs {
    /// The report before the change: JSON of goodput account, goodput timeline or goodput serving.
    #[arg(value_name = "BEFORE.json")]
    pub before: PathBuf,
    /// The report after it.
    #[arg(value_name = "AFTER.json")]
    pub after: PathBuf,
    /// Whose product decides. Without it: the pool's for reports of fleets, the job's for those of one job. Reports of goodput
    /// serving are judged on their deployment's own product.
    #[arg(long, value_name = "WHOSE", value_enum)]
    pub lever: Option<LeverArg>,
    /// Confidence of the intervals.
    #[arg(long, value_name = "SHARE", default_value_t = 0.95, help_heading = "Intervals")]
    pub confidence: f64,
    /// Resamples of the bootstrap.
    #[arg(long, value_name = "N", default_value_t = 2000, help_heading = "Intervals")]
    pub resamples: usize,
    /// Seed of its draws: the same seed gives the same intervals.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Intervals")]
    pub seed: u64,
    /// Title of the report.
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    pub title: Option<String>,
    /// How to print.
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: PageFormat,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}
