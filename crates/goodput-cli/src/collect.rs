//! `goodput validate collect`

use goodput_verbs::CollectRequest;

use crate::args::CollectArgs;
use crate::error::CliError;
use crate::output::{self, Answer};
use crate::progress;

/// Writes RUNS.csv from measured runs and prints what each row lacks.
pub fn run(args: &CollectArgs) -> Result<Answer, CliError> {
    let request = CollectRequest {
        sources: args.sources.clone(),
        output: args.output.clone(),
        map: args.map.clone(),
        model: args.model.clone(),
        cluster: args.cluster.clone(),
    };
    let answer = goodput_verbs::collect(&request, &mut progress::inputs())?;
    let text = answer.view.render(args.format.into(), output::style_of(None));
    output::print(&text.map_err(|e| CliError::new(e.to_string()))?)?;
    Ok(if args.strict && answer.falls_short { Answer::FallsShort } else { Answer::Complete })
}
