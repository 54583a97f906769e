//! `goodput predict`

use goodput_verbs::{PredictRequest, ReportRequest};

use crate::args::{PageFormat, PredictArgs};
use crate::error::CliError;
use crate::output::{self, Answer};

/// Predicts a run and prints the report.
pub fn run(args: &PredictArgs) -> Result<Answer, CliError> {
    let request = PredictRequest {
        run: args.run.clone(),
        tables: args.tables.tables.clone(),
        straggler_deviation: args.stragglers,
        picture: args.output.format == PageFormat::Html,
        trace: args.trace.clone(),
        report: ReportRequest { title: args.title.clone(), ..ReportRequest::default() },
        calibration: args.calibration.clone(),
        software: args.software.clone(),
    };
    let view = goodput_verbs::predict(&request)?;
    output::write_page(&args.output, |format, style| view.render(format, style))?;
    let falls_short = args.strict && view.memory.fits == Some(false);
    Ok(if falls_short { Answer::FallsShort } else { Answer::Complete })
}
