//! Options of `goodput search`.

use std::path::PathBuf;

use clap::Args;

use super::ShortOutputArgs;

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
    /// Multiply the times by these factors of the device (goodput validate --calibrate); the report names them.
    #[arg(long, value_name = "FILE.yaml")]
    pub calibration: Option<PathBuf>,
    /// The software whose factors count, where the calibration has several.
    #[arg(long, value_name = "NAME", requires = "calibration")]
    pub software: Option<String>,
    /// The output.
    #[command(flatten)]
    pub output: ShortOutputArgs,
}
