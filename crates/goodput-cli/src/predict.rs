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
    let text = view.render(args.format.into(), output::style_of(args.output.as_deref()));
    output::write_to(args.output.as_deref(), &text.map_err(|e| CliError::new(e.to_string()))?)?;
    let falls_short = args.strict && view.memory.fits == Some(false);
    Ok(if falls_short { Answer::FallsShort } else { Answer::Complete })
}
