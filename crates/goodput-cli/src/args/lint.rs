//! The options of `goodput lint`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// `goodput lint`
#[derive(Debug, Clone, Args)]
#[command(after_long_help = "Examples:\n\n  goodput lint examples/sheet.yaml\n  \
    goodput timeline run.jsonl --format json -o run.json && goodput lint run.json\n\n\
    Exit status: 0 no finding is an error; 1 one is; 2 the file cannot be read. docs/lint.md has every check and the format \
    of a sheet.")]
pub struct LintArgs {
    /// A planning sheet (YAML), or a report of `goodput account` or `goodput timeline` (JSON).
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How to print.
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: LintFormat,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// How to print findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LintFormat {
    /// Sentences for a terminal.
    Table,
    /// One JSON document.
    Json,
    /// One self-contained page.
    Html,
    /// Markdown for a pull request or a job summary.
    Markdown,
}
