//! `goodput validate`

use goodput_verbs::ValidateRequest;

use crate::args::ValidateArgs;
use crate::error::CliError;
use crate::output::{self, Answer};

/// Compares predictions with measured runs and prints the errors.
pub fn run(args: &ValidateArgs) -> Result<Answer, CliError> {
    let answer = goodput_verbs::validate(&ValidateRequest { runs: args.runs.clone() })?;
    let text = answer.view.render(args.format.into(), output::style_of(args.output.as_deref()));
    output::write_to(args.output.as_deref(), &text.map_err(|e| CliError::new(e.to_string()))?)?;
    Ok(if args.strict && answer.falls_short { Answer::FallsShort } else { Answer::Complete })
}
