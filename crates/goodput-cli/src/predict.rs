//! `goodput predict`

use goodput_verbs::{PredictRequest, ReportRequest};

use crate::args::PredictArgs;
use crate::error::CliError;
use crate::output::{self, Answer};

/// Predicts a run and prints the report.
pub fn run(args: &PredictArgs) -> Result<Answer, CliError> {
    let request = PredictRequest {
        run: args.run.clone(),
        straggler_deviation: args.stragglers,
        report: ReportRequest::default(),
    };
    let view = goodput_verbs::predict(&request)?;
    let text = view.render(args.output.format.into(), output::short_style(&args.output));
    output::write_short(&args.output, text)?;
    let falls_short = args.strict && view.memory.fits == Some(false);
    Ok(if falls_short { Answer::FallsShort } else { Answer::Complete })
}
