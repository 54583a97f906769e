//! Options of `goodput predict` and `search`.

use std::path::PathBuf;

use clap::Args;

use super::ShortOutputArgs;

/// `goodput predict`
#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n\n  goodput predict examples/run.yaml\n\n\
What the times rest on: docs/kernels.md, docs/collectives.md. How far they are from measured runs: docs/validation.md.")]
pub struct PredictArgs {
    /// The run: model, cluster, layout, batch (examples/run.yaml).
    #[arg(value_name = "RUN.yaml")]
    pub run: PathBuf,
    /// Relative standard deviation of the devices' speeds (0.01): the step waits for the slowest.
    #[arg(long, value_name = "SHARE")]
    pub stragglers: Option<f64>,
    /// The output.
    #[command(flatten)]
    pub output: ShortOutputArgs,
    /// Exit with 1 when the job does not fit in memory.
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}

/// `goodput search`
#[derive(Debug, Args)]
#[command(
    after_long_help = "Example:\n\n  goodput search examples/run.yaml --devices 64 --constraint 'tp<=8' --top 5"
)]
pub struct SearchArgs {
    /// The run: model, cluster, batch (examples/run.yaml). Its layout gives the switches, not the degrees.
    #[arg(value_name = "RUN.yaml")]
    pub run: PathBuf,
    /// Devices to try, over the run's own.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub devices: Vec<u32>,
    /// How many of the best to show.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Narrow a degree: tp, cp, pp, dp, ep, etp, vpp or micro with <=, >= or =.
    #[arg(long, value_name = "tp<=8")]
    pub constraint: Vec<String>,
    /// Rank by device-time (the cheapest result) instead of step time.
    #[arg(long)]
    pub by_device_time: bool,
    /// Also list all that no other layout beats in time, memory and devices at once.
    #[arg(long)]
    pub pareto: bool,
    /// The output.
    #[command(flatten)]
    pub output: ShortOutputArgs,
}
