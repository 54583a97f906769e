//! Options of `goodput search`.

use std::path::PathBuf;

use clap::Args;

use super::{PageOutputArgs, TablesArgs, positive};

/// `goodput search`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\n  \
goodput search examples/run.yaml --devices 64 --constraint 'tp<=8' --top 5 --write best.yaml\n  \
goodput search examples/run.yaml --devices 64..1024 --pareto --format html -o layouts.html\n  \
goodput search examples/run.yaml --devices 256..2048 --tokens 3e11 --price 2.5 \\\n    \
--runtime-goodput 0.95 --runtime-goodput 2048=0.85 --queue-wait 2048=72h\n\n\
Ranking: by step time; with --by-device-time by the cost of a step; with --tokens by the time to the result, which is the wait in the \
queue and steps x step time over runtime goodput, both as you state them.")]
pub struct SearchArgs {
    /// The run: model, cluster, batch (examples/run.yaml). Its layout gives the switches, not the degrees.
    #[arg(value_name = "RUN.yaml")]
    pub run: PathBuf,
    /// Devices to try, over the run's own: 64, a list, 8..512 (doubled from the first to the last) or 8..64:8 (in steps of 8).
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub devices: Vec<String>,
    /// How many of the best to show.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    /// Narrow the space: tp, cp, pp, dp, ep, etp, vpp, micro or nodes with <=, >= or =; memory<=GB. Or name what is tried: sp=on,off,
    /// zero=0,1,3, recompute=none,selective,full,4 (a number is so many layers of a stage), schedule=1f1b,interleaved,zb-h1,
    /// overlap_gradients=on,off (so overlap_parameters and overlap_tensor).
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
    /// Write the run with the best layout to this file, ready for `goodput predict`.
    #[arg(long, value_name = "BEST.yaml", help_heading = "Output")]
    pub write: Option<PathBuf>,
    /// Tokens of the whole job: rank by the time to the result.
    #[arg(long, value_name = "N", value_parser = positive, help_heading = "Result")]
    pub tokens: Option<f64>,
    /// Wait in the queue, as 24h, or 512=24h for so many devices. May be repeated.
    #[arg(long, value_name = "TIME", help_heading = "Result")]
    pub queue_wait: Vec<String>,
    /// Share of the held time in retained steps, as 0.9, or 512=0.85 for so many devices. May be repeated.
    #[arg(long, value_name = "SHARE", help_heading = "Result")]
    pub runtime_goodput: Vec<String>,
    /// Price of one device-hour, for costs.
    #[arg(long, value_name = "PRICE", help_heading = "Result")]
    pub price: Option<f64>,
    /// Currency of the price [default: USD].
    #[arg(long, value_name = "WORD", help_heading = "Result")]
    pub currency: Option<String>,
    /// Title of the report.
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    pub title: Option<String>,
    /// Measured tables.
    #[command(flatten)]
    pub tables: TablesArgs,
    /// The output.
    #[command(flatten)]
    pub output: PageOutputArgs,
}
