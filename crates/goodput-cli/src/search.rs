//! `goodput search`

use goodput_verbs::{ReportRequest, SearchRequest};

use crate::args::SearchArgs;
use crate::error::CliError;
use crate::output::{self, Answer};
use crate::progress;

/// Searches layouts and prints the best.
pub fn run(args: &SearchArgs) -> Result<Answer, CliError> {
    let request = SearchRequest {
        run: args.run.clone(),
        tables: args.tables.tables.clone(),
        devices: args.devices.clone(),
        top: args.top,
        constraints: args.constraint.clone(),
        by_device_time: args.by_device_time,
        pareto: args.pareto,
        calibration: args.calibration.clone(),
        software: args.software.clone(),
        tokens: args.tokens,
        queue_wait: args.queue_wait.clone(),
        runtime_goodput: args.runtime_goodput.clone(),
        write: args.write.clone(),
        report: ReportRequest {
            title: args.title.clone(),
            price: args.price,
            currency: args.currency.clone(),
        },
    };
    let bar = progress::count();
    let view = goodput_verbs::search(&request, &|progress| {
        bar.set_length(progress.candidates);
        bar.set_position(progress.done);
    });
    bar.finish_and_clear();
    let view = view?;
    output::write_page(&args.output, |format, style| view.render(format, style))?;
    Ok(Answer::Complete)
}
