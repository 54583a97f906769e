//! Options of `goodput baseline`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use goodput_decide::baseline::Tier;

use super::{ShortOutputArgs, share};

/// `goodput baseline`
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Adds the figures of reports to a history.
    Update(BaselineUpdateArgs),
    /// Finds what became worse over a history, and what changed at that time.
    Check(BaselineCheckArgs),
}

/// `goodput baseline update`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\n  \
    goodput account FLEET.yaml --from 2026-11-29 --to 2026-11-30 --format json -o day.json\n  \
    goodput baseline update history.jsonl day.json --policy 'backfill v7'\n  \
    goodput baseline update history.jsonl job.json --model llama3.1-8b --software nccl=2.27\n  \
    goodput baseline update history.jsonl canary-8.json canary-64.json --canary --model llama3.1-8b\n\n\
A report that the history has is recognised and skipped. Exit status: 0 added; 1 a row or line was refused; 2 nothing was\n\
written. The format: docs/baseline.md.")]
pub struct BaselineUpdateArgs {
    /// The history; made when it is not there.
    #[arg(value_name = "HISTORY.jsonl")]
    pub history: PathBuf,
    /// Reports: goodput account or goodput timeline with --format json.
    #[arg(value_name = "REPORT.json", required = true)]
    pub reports: Vec<PathBuf>,
    /// Architecture of the reports' jobs: their MFUs are compared with those of other jobs of it.
    #[arg(long, value_name = "NAME", help_heading = "What the reports do not say")]
    pub model: Option<String>,
    /// Version of the scheduler's policy.
    #[arg(long, value_name = "TEXT", help_heading = "What the reports do not say")]
    pub policy: Option<String>,
    /// A version on top of those that the reports name.
    #[arg(long, value_name = "NAME=VERSION", value_parser = version, help_heading = "What the reports do not say")]
    pub software: Vec<(String, String)>,
    /// The jobs are canaries: runs on one node and a few that are repeated to watch the software.
    #[arg(long)]
    pub canary: bool,
    /// The output.
    #[command(flatten)]
    pub output: ShortOutputArgs,
}

/// `goodput baseline check`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\n  \
    goodput baseline check history.jsonl\n  \
    goodput baseline check history.jsonl --tier startup-recovery --since 2026-11-01\n  \
    goodput baseline check history.jsonl --format markdown >> \"$GITHUB_STEP_SUMMARY\"\n\n\
Exit status: 0 no regression, or not enough history to say (which the report says); 1 a regression; 2 cannot answer.\n\
Tiers, methods, false-alarm rate and power: docs/baseline.md.")]
pub struct BaselineCheckArgs {
    /// What goodput baseline update wrote.
    #[arg(value_name = "HISTORY.jsonl")]
    pub history: PathBuf,
    /// Leave out changes before this day (UTC).
    #[arg(long, value_name = "DATE", help_heading = "What to check")]
    pub since: Option<String>,
    /// Only this job.
    #[arg(long, value_name = "NAME", help_heading = "What to check")]
    pub job: Option<String>,
    /// Only this pool and its jobs.
    #[arg(long, value_name = "NAME", help_heading = "What to check")]
    pub pool: Option<String>,
    /// Only these tiers.
    #[arg(long, value_enum, value_name = "TIERS", value_delimiter = ',', help_heading = "What to check")]
    pub tier: Vec<TierArg>,
    /// Least size worth reporting: relative, and for shares of time or capacity in points [default: 2%].
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "What to check")]
    pub threshold: Option<f64>,
    /// From how much over the typical rank's step a rank is slow [default: 5%].
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "What to check")]
    pub slow_rank: Option<f64>,
    /// Share of findings that may be false; where nothing changed, the probability of any finding [default: 5%].
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "What to check")]
    pub false_alarms: Option<f64>,
    /// How to print.
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: BaselineFormat,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Exit with 1 also when a line was refused or there is not enough history.
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}

/// The formats of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BaselineFormat {
    /// Tables for a terminal.
    Table,
    /// One JSON document.
    Json,
    /// One self-contained page with charts.
    Html,
    /// The summary of a CI job.
    Markdown,
}

/// The tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TierArg {
    /// Canaries and the scaling-efficiency curve.
    Canary,
    /// MFU of retained steps.
    Mfu,
    /// Step times and slow ranks.
    GrayFailure,
    /// Launches, commits, restarts and input.
    StartupRecovery,
    /// Queue waits, incomplete gangs and fragmentation.
    Allocation,
}

impl From<TierArg> for Tier {
    fn from(tier: TierArg) -> Self {
        match tier {
            TierArg::Canary => Self::Canary,
            TierArg::Mfu => Self::Mfu,
            TierArg::GrayFailure => Self::GrayFailure,
            TierArg::StartupRecovery => Self::StartupRecovery,
            TierArg::Allocation => Self::Allocation,
        }
    }
}

fn version(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, version)) if !name.is_empty() && !version.is_empty() => {
            Ok((name.to_owned(), version.to_owned()))
        }
        _ => Err("expected NAME=VERSION, such as nccl=2.27".to_owned()),
    }
}
