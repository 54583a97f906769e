//! `goodput plan`

use goodput_verbs::PlanRequest;

use crate::args::PlanArgs;
use crate::error::CliError;
use crate::output::{self, Answer};

/// Answers a plan's questions.
pub fn run(args: &PlanArgs) -> Result<Answer, CliError> {
    let view = goodput_verbs::plan(&PlanRequest { plan: args.plan.clone(), seed: args.seed })?;
    output::write_page(&args.output, |format, style| view.render(format, style))?;
    Ok(Answer::Complete)
}
