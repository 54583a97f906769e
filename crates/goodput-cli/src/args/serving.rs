//! Options of `goodput serving`.

use std::path::PathBuf;

use clap::Args;

use super::{OutputArgs, WindowArgs};

/// `goodput serving`
#[derive(Debug, Clone, Args)]
#[command(after_long_help = "Example:\n\n  \
    goodput serving examples/serving.jsonl --price 2.00\n  \
    goodput simulate --serving -o fleet/ && goodput serving fleet/serving.jsonl --format html -o serving.html\n\n\
What each figure means: docs/serving.md. The log: docs/serving-format.md.")]
pub struct ServingArgs {
    /// Logs of replicas: lifecycle events and samples of their work (docs/serving-format.md), gzipped or not; - for
    /// standard input.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The model, over what the log says: a known name, a Hugging Face config.json, or our YAML.
    #[arg(long, value_name = "MODEL", help_heading = "Ideals")]
    pub model: Option<String>,
    /// The device, over what the log says (docs/devices.md).
    #[arg(long, value_name = "NAME", help_heading = "Ideals")]
    pub device: Option<String>,
    /// More devices than the catalogue's own (docs/devices.md).
    #[arg(long, value_name = "FILE", help_heading = "Ideals")]
    pub device_file: Option<PathBuf>,
    /// dtype of the arithmetic: its dense peak is the ideal of prefill.
    #[arg(long, value_name = "DTYPE", help_heading = "Ideals")]
    pub dtype: Option<String>,
    /// Bits of a stored weight, where they are not the dtype's.
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "Ideals")]
    pub weight_bits: Option<u32>,
    /// Bits of a cached key or value; 16 for bf16 and fp16, otherwise to be stated.
    #[arg(long, value_name = "BITS", value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "Ideals")]
    pub kv_bits: Option<u32>,
    /// Step traces of decode: files, or directories of them. They say what a step waits for.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub trace: Vec<PathBuf>,
    /// What is known of the measurement beside the logs: workload, quality gate, system, timing (examples/contract.yaml).
    #[arg(long, value_name = "FILE.yaml")]
    pub contract: Option<PathBuf>,
    /// The window.
    #[command(flatten)]
    pub window: WindowArgs,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}
