//! `goodput timeline`

use goodput_verbs::TimelineRequest;

use crate::args::TimelineArgs;
use crate::error::CliError;
use crate::output::{self, Answer};
use crate::progress;

/// Accounts a job's logs and prints the report.
pub fn run(args: &TimelineArgs) -> Result<Answer, CliError> {
    let request = TimelineRequest {
        files: args.files.clone(),
        job: args.job.clone(),
        allocation: args.allocation.clone(),
        sacct: args.sacct.clone(),
        live: args.live,
        planned_steps: args.planned_steps,
        traces: args.trace.clone(),
        work: args.work.clone().into(),
        window: args.window.clone().into(),
        contract: args.contract.clone(),
        report: output::report(&args.output),
    };
    let answer = goodput_verbs::timeline(&request, &mut progress::inputs())?;
    let text = answer.view.render(args.output.format.into(), output::style(&args.output));
    output::write(&args.output, &text.map_err(|e| CliError::new(e.to_string()))?)?;
    Ok(output::answer(&args.output, answer.falls_short))
}
