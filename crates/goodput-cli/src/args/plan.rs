//! Options of `goodput plan`.

use std::path::PathBuf;

use clap::Args;

use super::PageOutputArgs;

/// `goodput plan`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\n  \
    goodput plan examples/plan.yaml\n  \
    goodput plan examples/plan.yaml --format html -o plan.html\n\n\
A sheet of one question:\n\n  \
    reliability: {mtbf: 302 h, recovery: 6.2 min}\n  \
    checkpoint: {write: 9.8 s}\n  \
    questions: [cadence]\n\n\
Questions and fields: docs/plan.md.")]
pub struct PlanArgs {
    /// Inputs and questions (examples/plan.yaml).
    #[arg(value_name = "PLAN.yaml")]
    pub plan: PathBuf,
    /// Seed of the draws, instead of the sheet's.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The output.
    #[command(flatten)]
    pub output: PageOutputArgs,
}
