//! `goodput lint`

use goodput_report::{Format, markdown};
use goodput_verbs::LintRequest;

use crate::args::{LintArgs, LintFormat};
use crate::error::CliError;
use crate::output::{self, Answer};

/// Checks a sheet or a report and prints what was found.
pub fn run(args: &LintArgs) -> Result<Answer, CliError> {
    let answer = goodput_verbs::lint(&LintRequest { file: args.file.clone() })?;
    let output = args.output.as_deref();
    let render = |format| {
        answer.view.render(format, output::style_of(output)).map_err(|e| CliError::new(e.to_string()))
    };
    let text = match args.format {
        LintFormat::Table => render(Format::Table)?,
        LintFormat::Json => render(Format::Json)?,
        LintFormat::Html => render(Format::Html)?,
        LintFormat::Markdown => markdown::lint(&answer.view),
    };
    output::write_to(output, &text)?;
    Ok(if answer.falls_short { Answer::FallsShort } else { Answer::Complete })
}
