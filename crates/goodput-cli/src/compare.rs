//! `goodput compare`

use goodput_verbs::{CompareRequest, ReportRequest};

use crate::args::CompareArgs;
use crate::error::CliError;
use crate::output::{self, Answer};

/// Compares two reports and prints the verdict.
pub fn run(args: &CompareArgs) -> Result<Answer, CliError> {
    let request = CompareRequest {
        before: args.before.clone(),
        after: args.after.clone(),
        lever: args.lever.map(|lever| lever.word().to_owned()),
        confidence: Some(args.confidence),
        resamples: Some(args.resamples),
        seed: Some(args.seed),
        report: ReportRequest { title: args.title.clone(), ..ReportRequest::default() },
    };
    let answer = goodput_verbs::compare(&request)?;
    let text = answer.view.render(args.format.into(), output::style_of(args.output.as_deref()));
    output::write_to(args.output.as_deref(), &text.map_err(|e| CliError::new(e.to_string()))?)?;
    Ok(if answer.falls_short { Answer::FallsShort } else { Answer::Complete })
}
