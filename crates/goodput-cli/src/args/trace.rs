//! Options of `goodput trace`.

use std::path::PathBuf;

use clap::Args;

use super::{PageOutputArgs, positive};

/// `goodput trace`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\n  \
    goodput trace traces/                         every rank of a job, one file each\n  \
    goodput trace rank0.json.gz rank1.json.gz --format json\n  \
    goodput trace capture.sqlite                  nsys export --type sqlite capture.nsys-rep\n\n\
Formats: Kineto and Chrome traces (JSON; plain, gzip or zstd), SQLite exports of Nsight Systems, JSON of rocprofv3, \
XSpace protobuf of XLA. How to record them: docs/trace.md.")]
pub struct TraceArgs {
    /// Trace files, or directories of them.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// The rank of a file that does not tell it, as FILE=RANK.
    #[arg(long, value_name = "FILE=RANK")]
    pub rank: Vec<String>,
    /// Compare the stamps of ranks as they are, without estimating clock offsets.
    #[arg(long)]
    pub raw_clocks: bool,
    /// The device of all ranks, over what the traces say: its ceilings make the roofline (docs/devices.md).
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// More devices than the catalogue's own (docs/devices.md).
    #[arg(long, value_name = "FILE")]
    pub device_file: Option<PathBuf>,
    /// The job's own log: how long untraced steps take, and whether the trace lies in a warm-up.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub timeline: Vec<PathBuf>,
    /// What is known of the measurement beside the traces: workload, quality gate, system, timing (examples/contract.yaml).
    #[arg(long, value_name = "FILE.yaml")]
    pub contract: Option<PathBuf>,
    /// Rows of kernels and of operators.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub top: usize,
    /// The model: what a step requires, for its MFU and for operations executed beyond it.
    #[arg(long, value_name = "MODEL", requires = "global_batch", help_heading = "Model")]
    pub model: Option<String>,
    /// Tokens of a sequence [default: 4096].
    #[arg(long, value_name = "N", requires = "model", help_heading = "Model", value_parser = clap::value_parser!(u64).range(1..))]
    pub seq: Option<u64>,
    /// Sequences of an optimizer step over the whole job.
    #[arg(long, value_name = "N", requires = "model", help_heading = "Model", value_parser = clap::value_parser!(u64).range(1..))]
    pub global_batch: Option<u64>,
    /// Devices of the job, when the traces do not say.
    #[arg(long, value_name = "N", requires = "model", help_heading = "Model", value_parser = clap::value_parser!(u64).range(1..))]
    pub devices: Option<u64>,
    /// dtype of the arithmetic [default: bf16].
    #[arg(long, value_name = "NAME", requires = "model", help_heading = "Model")]
    pub dtype: Option<String>,
    /// Mesh and sharding of the job: audits which collectives a step contains (examples/mesh.yaml).
    #[arg(long, value_name = "MESH.yaml")]
    pub mesh: Option<PathBuf>,
    /// Also say which ranks and windows to trace next, within so many ranks (16) or bytes (100GB).
    #[arg(long, visible_alias = "sample", value_name = "BUDGET", help_heading = "What to trace next")]
    pub plan: Option<String>,
    /// Degrees of the job, as tp=8,pp=4,dp=16,ep=1; without it the mesh of --mesh.
    #[arg(long, value_name = "DEGREES", requires = "plan", help_heading = "What to trace next")]
    pub layout: Option<String>,
    /// Devices of a node.
    #[arg(long, value_name = "N", default_value_t = 8, help_heading = "What to trace next",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub devices_per_node: u32,
    /// Length of a window in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = positive, help_heading = "What to trace next")]
    pub window: f64,
    /// Windows to trace.
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = "What to trace next",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub windows: u32,
    /// Bytes that one device writes in a second of tracing (100MB), over what the traces given show.
    #[arg(long, value_name = "BYTES", requires = "plan", help_heading = "What to trace next")]
    pub trace_rate: Option<String>,
    /// Also write a trace that Perfetto opens: what each nanosecond is charged to, above the steps and streams.
    #[arg(long, value_name = "FILE.json[.gz]", help_heading = "Output")]
    pub annotate: Option<PathBuf>,
    /// Also write kernels.parquet and intervals.parquet into this folder.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub parquet: Option<PathBuf>,
    /// The output.
    #[command(flatten)]
    pub output: PageOutputArgs,
    /// Exit with 1 when events were lost or repaired, or a warning questions a figure.
    #[arg(long, help_heading = "Output")]
    pub strict: bool,
}
