//! Where reports go.

use std::io::{IsTerminal, Write};
use std::path::Path;

use clap::CommandFactory;

use goodput_report::terminal::TerminalStyle;
use goodput_report::{Format, RenderError};
use goodput_verbs::ReportRequest;

use crate::args::{Goodput, OutputArgs, PageOutputArgs, ShortOutputArgs};
use crate::error::CliError;

/// How a question was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// In full.
    Complete,
    /// With something that falls short.
    FallsShort,
}

/// Lines longer than this are hard to follow, however wide the terminal.
const WIDEST: u16 = 120;

/// Width and colour of a report for people.
pub fn style(args: &OutputArgs) -> TerminalStyle {
    style_of(args.output.as_deref())
}

/// The same for a report that goes to `output`, or to standard output.
pub fn style_of(output: Option<&Path>) -> TerminalStyle {
    let to_terminal = output.is_none() && std::io::stdout().is_terminal();
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let seen =
        || terminal_size::terminal_size().filter(|_| to_terminal).map(|(width, _)| width.0.min(WIDEST));
    TerminalStyle {
        width: stated.filter(|_| output.is_none()).or_else(seen).unwrap_or(100),
        color: to_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}

/// What the user says about the report.
pub fn report(args: &OutputArgs) -> ReportRequest {
    ReportRequest { title: None, price: args.price, currency: args.currency.clone() }
}

/// How a verb's question was answered.
pub fn answer(args: &OutputArgs, falls_short: bool) -> Answer {
    if args.strict && falls_short { Answer::FallsShort } else { Answer::Complete }
}

/// Writes a report to `-o` or to standard output.
pub fn write(args: &OutputArgs, text: &str) -> Result<(), CliError> {
    write_to(args.output.as_deref(), text)
}

/// Writes a report to a file, or to standard output.
pub fn write_to(output: Option<&Path>, text: &str) -> Result<(), CliError> {
    match output {
        Some(path) => std::fs::write(path, text).map_err(|e| CliError::io(path, &e)),
        None => print(text),
    }
}

/// Width and colour of a short report.
pub fn short_style(args: &ShortOutputArgs) -> TerminalStyle {
    style_of(args.output.as_deref())
}

/// Writes a short report to `-o` or to standard output.
pub fn write_short(args: &ShortOutputArgs, text: Result<String, RenderError>) -> Result<(), CliError> {
    write_to(args.output.as_deref(), &text.map_err(|e| CliError::new(e.to_string()))?)
}

/// Writes a report with a page to `-o` or to standard output.
pub fn write_page(
    args: &PageOutputArgs,
    render: impl FnOnce(Format, TerminalStyle) -> Result<String, RenderError>,
) -> Result<(), CliError> {
    let output = args.output.as_deref();
    let text = render(args.format.into(), style_of(output)).map_err(|e| CliError::new(e.to_string()))?;
    write_to(output, &text)
}

/// Writes to standard output.
pub fn print(text: &str) -> Result<(), CliError> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        // `goodput … | head` is a normal way to read a report.
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CliError::io(Path::new("standard output"), &e))
        }
        _ => Ok(()),
    }
}

/// `goodput completions`
pub fn completions(shell: clap_complete::Shell) -> Result<Answer, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Goodput::command(), "goodput", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Answer::Complete)
}

/// `goodput man`
pub fn man_page() -> Result<Answer, CliError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Goodput::command())
        .render(&mut page)
        .map_err(|e| CliError::io(Path::new("standard output"), &e))?;
    print(&String::from_utf8_lossy(&page))?;
    Ok(Answer::Complete)
}
