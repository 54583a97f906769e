//! `goodput validate`

use goodput_verbs::ValidateRequest;

use crate::args::ValidateArgs;
use crate::error::CliError;
use crate::output::{self, Answer};

/// Compares predictions with measured runs and prints the errors.
pub fn run(args: &ValidateArgs) -> Result<Answer, CliError> {
    let answer = goodput_verbs::validate(&ValidateRequest { runs: args.runs.clone() })?;
    let text = answer.view.render(args.output.format.into(), output::short_style(&args.output));
    output::write_short(&args.output, text)?;
    Ok(if args.strict && answer.falls_short { Answer::FallsShort } else { Answer::Complete })
}
