//! The command line.

mod baseline;
mod calibrate;
mod compare;
mod explain;
mod lint;
mod plan;
mod predict;
mod search;
mod serving;
mod trace;
mod validate;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use goodput_verbs::{WindowRequest, Work};

pub use baseline::{BaselineCheckArgs, BaselineCommand, BaselineFormat, BaselineUpdateArgs};
pub use calibrate::{CalibrateArgs, TablesArgs};
pub use compare::CompareArgs;
pub use explain::ExplainArgs;
pub use lint::{LintArgs, LintFormat};
pub use plan::PlanArgs;
pub use predict::PredictArgs;
pub use search::SearchArgs;
pub use serving::ServingArgs;
pub use trace::TraceArgs;
pub use validate::{CollectArgs, ValidateArgs, ValidateCommand};

/// Shows where a machine-learning fleet's accelerator-hours go: scheduling x runtime x program goodput, with every lost
/// device-second charged once.
#[derive(Debug, Parser)]
#[command(name = "goodput", version, arg_required_else_help = true, max_term_width = 100)]
#[command(
    after_help = "Exit status: 0 answered; 1 answered, but something falls short (degraded input under --strict); \
                        2 cannot answer, with what is missing and what to do."
)]
pub struct Goodput {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A fleet's capacity over a window: offered, held, retained, ideal, and every loss with its owner.
    Account(AccountArgs),
    /// One job's runtime goodput from its own log.
    Timeline(TimelineArgs),
    /// Two reports under one contract: the product of the ratios with its interval, and whether to keep the change.
    Compare(CompareArgs),
    /// A fleet of inference replicas: held, ready and ideal time, decode and prefill apart, from its own log.
    Serving(ServingArgs),
    /// Where the device-time of the steps went, over all ranks, from step traces.
    Trace(TraceArgs),
    /// Step time, MFU and memory of a parallel layout, term by term.
    Predict(PredictArgs),
    /// Predicted against traced, term by term: which term holds the gap.
    Explain(ExplainArgs),
    /// Every feasible layout of a run, ranked.
    Search(SearchArgs),
    /// Kernel and collective times measured on your devices, for predictions.
    Calibrate(CalibrateArgs),
    /// Prediction errors against measured runs, by source, device and layout.
    Validate(ValidateArgs),
    /// Regressions over a history of reports, in five tiers.
    #[command(subcommand)]
    Baseline(BaselineCommand),
    /// Known mistakes in a planning sheet or a report, with the figure put right.
    Lint(LintArgs),
    /// Checkpoint cadence, sizing, builds, spot, time to result, the frontier: decisions from a sheet of inputs.
    Plan(PlanArgs),
    /// Exact FLOPs, parameters and bytes of a model on a batch, and every published convention side by side.
    Flops(FlopsArgs),
    /// A week of a simulated shared fleet, accounted: see the whole report without any records of your own.
    Demo(DemoArgs),
    /// Writes the records of a simulated fleet, with the true ledger beside them.
    Simulate(SimulateArgs),
    /// A quoted MFU in another convention; what is wrong with a log's MFU.
    #[command(subcommand)]
    Mfu(MfuCommand),
    /// Prints a completion script for a shell.
    Completions(CompletionArgs),
    /// Prints the manual page.
    Man,
}

/// How to print a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for a terminal.
    Table,
    /// One JSON document with exact integers.
    Json,
    /// One self-contained page with charts.
    Html,
    /// OpenMetrics text for a scraper.
    Openmetrics,
}

impl From<Format> for goodput_report::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Table => Self::Table,
            Format::Json => Self::Json,
            Format::Html => Self::Html,
            Format::Openmetrics => Self::OpenMetrics,
        }
    }
}

/// What the scheduling factor divides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DenominatorArg {
    /// Devices in service; downtime is availability, beside the product.
    InService,
    /// Installed devices; downtime is a scheduling loss.
    Installed,
}

impl From<DenominatorArg> for goodput_core::scheduling::Denominator {
    fn from(denominator: DenominatorArg) -> Self {
        match denominator {
            DenominatorArg::InService => Self::InService,
            DenominatorArg::Installed => Self::Installed,
        }
    }
}

/// Length of the blocks of a fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BlockArg {
    /// Days of 24 hours from the window's start.
    Day,
}

/// Where the report goes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// How to print.
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Exit with 1 when rows were repaired or refused, or a warning questions a figure.
    #[arg(long)]
    pub strict: bool,
    /// Price of one device-hour, for costs.
    #[arg(long, value_name = "PRICE")]
    pub price: Option<f64>,
    /// Currency of the price [default: USD].
    #[arg(long, value_name = "WORD")]
    pub currency: Option<String>,
}

/// The window, and the zone of stamps that carry none.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Window")]
pub struct WindowArgs {
    /// Start of the window: RFC 3339, a date, a date-time in --time-zone, or seconds since the epoch.
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// End of the window, exclusive.
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
    /// Zone of stamps without an offset (IANA name, e.g. UTC or Europe/Zurich). Needed when the records carry none.
    #[arg(long, value_name = "ZONE")]
    pub time_zone: Option<String>,
}

impl From<WindowArgs> for WindowRequest {
    fn from(WindowArgs { from, to, time_zone }: WindowArgs) -> Self {
        Self { from, to, time_zone }
    }
}

/// `goodput account`
#[derive(Debug, Clone, Args)]
#[command(after_long_help = "Records to ask a Slurm site for:\n\n  \
    SLURM_TIME_FORMAT=%s sacct -a -X -D -S FROM -E TO > sacct.txt \\\n    \
    --parsable2 --delimiter=$'\\x1f' --noconvert \\\n    \
    --format=JobIDRaw,JobID,User,Account,Partition,QOS,Reservation,State,ExitCode,Submit,Eligible,Start,End,Suspended,\
ElapsedRaw,Timelimit,NNodes,ReqTRES,AllocTRES,NodeList,Flags,Reason,JobName\n  \
    sacctmgr show event -P All_Time > events.txt \\\n    \
    format=Cluster,ClusterNodes,CPUCount,Duration,End,Event,EventRaw,NodeName,Reason,Start,State,StateRaw,TRES,User\n  \
    scontrol -o show node -d > nodes.txt\n\n\
Then:\n\n  goodput account --sacct sacct.txt --events events.txt --nodes nodes.txt \\\n    \
--time-zone UTC --format html -o week.html")]
pub struct AccountArgs {
    /// A YAML file that names the records, pools, prices and plans. Options on the command line come on top of it.
    #[arg(value_name = "FLEET.yaml")]
    pub fleet: Option<PathBuf>,
    /// Job records: `sacct` text or JSON.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Records")]
    pub sacct: Vec<PathBuf>,
    /// Column names of a sacct file without a header, as given to `sacct --format`.
    #[arg(long, value_name = "NAMES", help_heading = "Records")]
    pub sacct_format: Option<String>,
    /// Delimiter of the sacct text, when it cannot be told from the header.
    #[arg(long, value_name = "TEXT", help_heading = "Records")]
    pub delimiter: Option<String>,
    /// Capacity and node outages: `sacctmgr show event -P`.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Records")]
    pub events: Vec<PathBuf>,
    /// Inventory and node states: `scontrol show node` as text, one line a node, or JSON.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Records")]
    pub nodes: Vec<PathBuf>,
    /// Node and queue snapshots over time (docs/readers.md, contrib/snapshot.sh).
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Records")]
    pub snapshots: Vec<PathBuf>,
    /// Reservations: `sacctmgr show reservation -P` or `scontrol show reservation`.
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Records")]
    pub reservations: Vec<PathBuf>,
    /// Tables of the accounting database, told apart by their headers (the TRES table first).
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = "Records")]
    pub tables: Vec<PathBuf>,
    /// CSV or Parquet of any other source, with a column map: MAP.yaml=FILE.
    #[arg(long, value_name = "MAP=FILE", num_args = 1.., help_heading = "Records")]
    pub import: Vec<String>,
    /// A job's own log, as FILE or JOB=FILE.
    #[arg(long, value_name = "[JOB=]FILE", num_args = 1.., help_heading = "Records")]
    pub timeline: Vec<String>,
    /// A pool and its nodes, as NAME=NODELIST. Without it pools come from partitions and device types.
    #[arg(long, value_name = "NAME=NODES", help_heading = "Accounting")]
    pub pool: Vec<String>,
    /// What the scheduling factor divides by.
    #[arg(long, value_enum, help_heading = "Accounting")]
    pub denominator: Option<DenominatorArg>,
    /// Jobs without a timeline that get a row of their own, the largest first.
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Accounting")]
    pub jobs: usize,
    /// Planned steps of a job in the window, as JOB=STEPS.
    #[arg(long, value_name = "JOB=STEPS", help_heading = "Accounting")]
    pub plan: Vec<String>,
    /// What is known of the measurement beside the records: workload, quality gate, system, timing (examples/contract.yaml).
    #[arg(long, value_name = "FILE.yaml")]
    pub contract: Option<PathBuf>,
    /// Account every day apart too: the blocks from which `goodput compare` makes confidence intervals.
    #[arg(long, value_name = "LENGTH", value_enum)]
    pub blocks: Option<BlockArg>,
    /// The window.
    #[command(flatten)]
    pub window: WindowArgs,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What is known of a job's work and devices beside its log.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Work and devices")]
pub struct WorkArgs {
    /// Devices of the job, when no record says.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub devices: Option<u64>,
    /// Devices of one slice, for logs that count slices.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub devices_per_slice: Option<u64>,
    /// Device name. With --dtype, the catalogue knows its dense peak (docs/devices.md).
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// More devices than the catalogue's own (docs/devices.md).
    #[arg(long, value_name = "FILE")]
    pub device_file: Option<PathBuf>,
    /// Dense peak of one device in TFLOP/s for the arithmetic's own dtype, over the catalogue's.
    #[arg(long, value_name = "TFLOPS", value_parser = positive)]
    pub peak_tflops: Option<f64>,
    /// dtype of the arithmetic: bf16, fp16, fp8, fp4, tf32, int8 or fp32.
    #[arg(long, value_name = "NAME")]
    pub dtype: Option<String>,
    /// Model FLOPs per real token (forward and backward, no recompute), for logs that give tokens.
    #[arg(long, value_name = "FLOPS", value_parser = positive)]
    pub flops_per_token: Option<f64>,
}

impl From<WorkArgs> for Work {
    fn from(args: WorkArgs) -> Self {
        let WorkArgs { devices, devices_per_slice, device, device_file, peak_tflops, dtype, flops_per_token } =
            args;
        Self { devices, devices_per_slice, device, device_file, peak_tflops, dtype, flops_per_token }
    }
}

/// A positive finite number.
fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err("expected a number above zero".to_owned()),
    }
}

/// `goodput timeline`
#[derive(Debug, Args)]
pub struct TimelineArgs {
    /// The job's logs. Several files of one job are one timeline.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The job's id, for logs that do not say.
    #[arg(long, value_name = "ID")]
    pub job: Option<String>,
    /// A held interval, as FROM..TO; repeat it for every attempt. Without it held time runs from the log's first evidence.
    #[arg(long, value_name = "FROM..TO", help_heading = "Allocation")]
    pub allocation: Vec<String>,
    /// Take the held intervals from job records instead.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "allocation", help_heading = "Allocation")]
    pub sacct: Vec<PathBuf>,
    /// The job still runs: the window ends now, and it is held until then.
    #[arg(long, conflicts_with = "to", help_heading = "Window")]
    pub live: bool,
    /// Steps that the job planned to retain in the window.
    #[arg(long, value_name = "STEPS")]
    pub planned_steps: Option<u64>,
    /// Step traces of the job (goodput trace): they divide the program loss by terms.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub trace: Vec<PathBuf>,
    /// Work and devices.
    #[command(flatten)]
    pub work: WorkArgs,
    /// What is known of the measurement beside the records: workload, quality gate, system, timing (examples/contract.yaml).
    #[arg(long, value_name = "FILE.yaml")]
    pub contract: Option<PathBuf>,
    /// The window.
    #[command(flatten)]
    pub window: WindowArgs,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What a step computes a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RecomputeArg {
    /// Nothing.
    None,
    /// The scores, as every fused attention does.
    FusedAttention,
    /// The attention core: selective checkpointing.
    Attention,
    /// Whole blocks: full checkpointing.
    Full,
}

/// `goodput flops`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\n  \
    goodput flops llama3.1-8b --seq 8192\n  \
    goodput flops config.json --documents 2979x10,2978 --row 32768\n  \
    goodput flops qwen2.5-vl-7b --documents 4096x4 --images 46x34x8\n  \
    goodput flops deepseek-v3 --seq 4096 --mtp 1 --recompute full --format json\n  \
    goodput flops --self-check")]
pub struct FlopsArgs {
    /// A Hugging Face config.json, a YAML file in goodput's own form (docs/flops.md), or a known name.
    #[arg(value_name = "MODEL", required_unless_present_any = ["self_check", "list"])]
    pub model: Option<String>,
    /// Tokens of a sequence: one document each.
    #[arg(long, value_name = "N", conflicts_with = "documents", help_heading = "Batch",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub seq: Option<u64>,
    /// Sequences.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "documents", help_heading = "Batch",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub batch: u64,
    /// Lengths of documents, as LENGTH or LENGTHxCOUNT, separated by commas.
    #[arg(long, value_name = "LENGTHS", help_heading = "Batch")]
    pub documents: Option<String>,
    /// Tokens of the packed row that the documents fill: an error when they do not.
    #[arg(long, value_name = "N", requires = "documents", help_heading = "Batch")]
    pub row: Option<u64>,
    /// Pad every document to a row of its own of N tokens.
    #[arg(long, value_name = "N", requires = "documents", conflicts_with = "row", help_heading = "Batch")]
    pub pad_to: Option<u64>,
    /// Lengths of the sources that an encoder reads, or of prompts, one to a document.
    #[arg(long, value_name = "LENGTHS", help_heading = "Batch")]
    pub sources: Option<String>,
    /// Grids of patches, as HEIGHTxWIDTH, HEIGHTxWIDTHxCOUNT, or t:FRAMESxHEIGHTxWIDTH for a video, separated by commas.
    #[arg(long, value_name = "GRIDS", help_heading = "Batch")]
    pub images: Option<String>,
    /// Multi-token prediction modules that are trained.
    #[arg(long, value_name = "N", help_heading = "Training")]
    pub mtp: Option<u64>,
    /// Count the forward pass alone.
    #[arg(long, conflicts_with_all = ["freeze", "lora"], help_heading = "Training")]
    pub forward: bool,
    /// Modules that are not trained (docs/flops.md lists them).
    #[arg(
        long,
        value_name = "MODULE",
        value_delimiter = ',',
        conflicts_with = "lora",
        help_heading = "Training"
    )]
    pub freeze: Vec<String>,
    /// Adapters of this rank; everything else is frozen.
    #[arg(long, value_name = "RANK", help_heading = "Training", value_parser = clap::value_parser!(u64).range(1..))]
    pub lora: Option<u64>,
    /// Modules with adapters; without it the seven projections of a block.
    #[arg(long, value_name = "MODULE", value_delimiter = ',', requires = "lora", help_heading = "Training")]
    pub lora_targets: Vec<String>,
    /// What a step computes a second time.
    #[arg(long, value_enum, default_value = "none", help_heading = "Training")]
    pub recompute: RecomputeArg,
    /// Show that the batch formula equals the per-token constant where that constant's assumption holds, and why it
    /// differs elsewhere: for MODEL, or for five vision-language models.
    #[arg(long, conflicts_with_all = ["seq", "batch", "documents", "sources", "images", "mtp", "forward", "freeze",
          "lora", "recompute"])]
    pub self_check: bool,
    /// Print the known names.
    #[arg(long, exclusive = true)]
    pub list: bool,
    /// The output.
    #[command(flatten)]
    pub output: ShortOutputArgs,
}

/// `goodput demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Also write the simulated records and their true ledger into this folder.
    #[arg(long, value_name = "DIR")]
    pub records: Option<PathBuf>,
    /// Seed of the simulation.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `goodput simulate`
#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// The scenario (docs/simulate.md). Without it, the demo's.
    #[arg(value_name = "FLEET.yaml")]
    pub scenario: Option<PathBuf>,
    /// Folder for the records and the true ledger.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Write the step traces of a small job instead: data_parallel, straggler, tensor_parallel, pipeline_1f1b, expert,
    /// overlap_contention, host_bound, input_bound, clock_skew, cut_captures or hybrid.
    #[arg(long, value_name = "NAME", conflicts_with = "scenario")]
    pub traces: Option<String>,
    /// Write the log of a fleet of inference replicas instead (serving.jsonl, docs/serving.md); the scenario, if given, is
    /// then that of such a fleet (docs/simulate.md).
    #[arg(long, conflicts_with = "traces")]
    pub serving: bool,
    /// Seed, over the scenario's.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// `goodput mfu`
#[derive(Debug, Subcommand)]
pub enum MfuCommand {
    /// A quoted MFU in another convention, peak and token scope, factor by factor.
    Convert(MfuConvertArgs),
    /// Recomputes the speeds that a training log prints, and names the faults that explain a difference.
    Audit(MfuAuditArgs),
}

/// The formats of a short report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ShortFormat {
    /// Tables for a terminal.
    Table,
    /// One JSON document.
    Json,
}

impl From<ShortFormat> for goodput_report::Format {
    fn from(format: ShortFormat) -> Self {
        match format {
            ShortFormat::Table => Self::Table,
            ShortFormat::Json => Self::Json,
        }
    }
}

/// Where a short report goes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct ShortOutputArgs {
    /// How to print.
    #[arg(long, value_enum, default_value = "table")]
    pub format: ShortFormat,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The formats of a report with a page and without metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PageFormat {
    /// Tables for a terminal.
    Table,
    /// One JSON document.
    Json,
    /// One self-contained page with charts.
    Html,
}

impl From<PageFormat> for goodput_report::Format {
    fn from(format: PageFormat) -> Self {
        match format {
            PageFormat::Table => Self::Table,
            PageFormat::Json => Self::Json,
            PageFormat::Html => Self::Html,
        }
    }
}

/// Where a report with a page goes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct PageOutputArgs {
    /// How to print.
    #[arg(long, value_enum, default_value = "table")]
    pub format: PageFormat,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `goodput mfu convert`
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n\n  \
    goodput mfu convert --mfu 43% --from palm --to exact --model llama3.1-8b --seq 8192\n  \
    goodput mfu convert --mfu 0.21 --from megatron-lm --to exact --model llama3.1-8b --seq 8192 \\\n    \
    --peak-from 1979 --device \"NVIDIA H200\" --dtype bf16\n\n\
Conventions, models and scopes: docs/mfu.md. Devices: docs/devices.md.")]
pub struct MfuConvertArgs {
    /// The MFU: a fraction (0.43), or a percentage with its sign (43%).
    #[arg(long, value_name = "MFU", value_parser = share)]
    pub mfu: f64,
    /// Convention of the quoted MFU (a wrong name lists them all).
    #[arg(long, value_name = "CONVENTION")]
    pub from: String,
    /// Convention to convert to.
    #[arg(long, value_name = "CONVENTION", default_value = "exact")]
    pub to: String,
    /// The model: a known name, a Hugging Face config.json, or our YAML.
    #[arg(long, value_name = "MODEL")]
    pub model: String,
    /// Tokens of a sequence.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub seq: u64,
    /// Peak behind the quoted MFU: TFLOP/s, or DEVICE:DTYPE. Default: that of --device.
    #[arg(long, value_name = "PEAK", help_heading = "Peak")]
    pub peak_from: Option<String>,
    /// Peak to divide by: TFLOP/s, or DEVICE:DTYPE. Default: that of --device.
    #[arg(long, value_name = "PEAK", help_heading = "Peak")]
    pub peak_to: Option<String>,
    /// Device whose dense peak stands where none is stated.
    #[arg(long, value_name = "NAME", requires = "dtype", help_heading = "Peak")]
    pub device: Option<String>,
    /// dtype of its arithmetic: bf16, fp16, fp8, fp4, tf32, int8 or fp32.
    #[arg(long, value_name = "NAME", requires = "device", help_heading = "Peak")]
    pub dtype: Option<String>,
    /// More devices than the catalogue's own (docs/devices.md).
    #[arg(long, value_name = "FILE", help_heading = "Peak")]
    pub device_file: Option<PathBuf>,
    /// Tokens behind the quoted MFU: real, padded=SHARE (share of real tokens), summed=RANKS, divided=RANKS.
    #[arg(long, value_name = "SCOPE", default_value = "real", help_heading = "Tokens")]
    pub scope_from: String,
    /// Tokens to count, in the same words.
    #[arg(long, value_name = "SCOPE", default_value = "real", help_heading = "Tokens")]
    pub scope_to: String,
    /// The output.
    #[command(flatten)]
    pub output: ShortOutputArgs,
}

/// `goodput mfu audit`
#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n\n  \
    goodput mfu audit train.log --model llama3.1-8b --seq 8192 --global-batch 256 --devices 64 --tp 2 \\\n    \
    --device \"NVIDIA H100 80GB HBM3\" --dtype bf16\n\n\
Exit status: 0 every printed figure agrees; 1 a figure is wrong; 2 the log cannot be audited.\n\
Log formats and faults: docs/mfu.md.")]
pub struct MfuAuditArgs {
    /// The training log, plain or gzipped; - for standard input.
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// The model: a known name, a Hugging Face config.json, or our YAML.
    #[arg(long, value_name = "MODEL")]
    pub model: String,
    /// Step to audit. Without it, the median line by speed.
    #[arg(long, value_name = "N")]
    pub step: Option<u64>,
    /// A difference up to this is none, beside what rounding makes: 1% or 0.01.
    #[arg(long, value_name = "SHARE", default_value = "1%", value_parser = share)]
    pub tolerance: f64,
    /// Tokens of a sequence, over what the log says.
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Run")]
    pub seq: Option<u64>,
    /// Sequences of an optimizer step over the whole job.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Run")]
    pub global_batch: Option<u64>,
    /// Micro-batches of an optimizer step.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Run")]
    pub grad_accum: Option<u64>,
    /// Lengths of the documents packed into one sequence.
    #[arg(long, value_name = "TOKENS", value_delimiter = ',', help_heading = "Run")]
    pub documents: Vec<u64>,
    /// Share of tokens that are no padding.
    #[arg(long, value_name = "SHARE", value_parser = share, help_heading = "Run")]
    pub real_share: Option<f64>,
    /// Devices of the job.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Devices")]
    pub devices: Option<u64>,
    /// Tensor parallel size.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Devices")]
    pub tp: Option<u64>,
    /// Context (or sequence) parallel size.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Devices")]
    pub cp: Option<u64>,
    /// Pipeline stages.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Devices")]
    pub pp: Option<u64>,
    /// Data parallel size; with tp, cp and pp it makes the number of devices.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Devices")]
    pub dp: Option<u64>,
    /// Device name, over what the log says.
    #[arg(long, value_name = "NAME", help_heading = "Devices")]
    pub device: Option<String>,
    /// More devices than the catalogue's own (docs/devices.md).
    #[arg(long, value_name = "FILE", help_heading = "Devices")]
    pub device_file: Option<PathBuf>,
    /// Dense peak of one device in TFLOP/s, over the catalogue's.
    #[arg(long, value_name = "TFLOPS", value_parser = positive, help_heading = "Devices")]
    pub peak_tflops: Option<f64>,
    /// dtype of the arithmetic: bf16, fp16, fp8, fp4, tf32, int8 or fp32.
    #[arg(long, value_name = "NAME", help_heading = "Devices")]
    pub dtype: Option<String>,
    /// The output.
    #[command(flatten)]
    pub output: ShortOutputArgs,
}

/// A fraction, or a percentage with its sign.
fn share(text: &str) -> Result<f64, String> {
    let (digits, scale) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 100.0));
    positive(digits.trim()).map(|number| number / scale)
}

/// `goodput completions`
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell.
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
