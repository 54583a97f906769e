//! `goodput explain`

use goodput_verbs::{ExplainRequest, ReportRequest};

use crate::args::ExplainArgs;
use crate::error::CliError;
use crate::output::{self, Answer};
use crate::progress;

/// Lines a prediction up with traces and prints the report.
pub fn run(args: &ExplainArgs) -> Result<Answer, CliError> {
    let request = ExplainRequest {
        run: args.run.clone(),
        tables: args.tables.tables.clone(),
        traces: args.trace.clone(),
        ranks: args.rank.clone(),
        raw_clocks: args.raw_clocks,
        straggler_deviation: args.stragglers,
        output: args.output.clone(),
        report: ReportRequest::default(),
    };
    let bar = progress::bytes(&args.trace);
    let answer = goodput_verbs::explain(&request, Some(&|bytes| bar.inc(bytes)));
    bar.finish_and_clear();
    let answer = answer?;
    let text = answer.view.render(args.format.into(), output::style_of(args.output.as_deref()));
    output::write_to(args.output.as_deref(), &text.map_err(|e| CliError::new(e.to_string()))?)?;
    Ok(if args.strict && answer.falls_short { Answer::FallsShort } else { Answer::Complete })
}
