//! `goodput baseline`

use goodput_decide::baseline::Labels;
use goodput_report::{Format, markdown};
use goodput_verbs::{BaselineCheckRequest, BaselineUpdateRequest};

use crate::args::{BaselineCheckArgs, BaselineCommand, BaselineFormat, BaselineUpdateArgs};
use crate::error::CliError;
use crate::output::{self, Answer};

/// Adds to a history, or checks it.
pub fn run(command: &BaselineCommand) -> Result<Answer, CliError> {
    match command {
        BaselineCommand::Update(args) => update(args),
        BaselineCommand::Check(args) => check(args),
    }
}

fn update(args: &BaselineUpdateArgs) -> Result<Answer, CliError> {
    let request = BaselineUpdateRequest {
        history: args.history.clone(),
        reports: args.reports.clone(),
        labels: Labels {
            model: args.model.clone(),
            policy: args.policy.clone(),
            software: args.software.iter().cloned().collect(),
            canary: args.canary,
        },
    };
    let answer = goodput_verbs::baseline_update(&request)?;
    let text = answer.view.render(args.output.format.into(), output::short_style(&args.output));
    output::write_short(&args.output, text)?;
    Ok(if answer.falls_short { Answer::FallsShort } else { Answer::Complete })
}

fn check(args: &BaselineCheckArgs) -> Result<Answer, CliError> {
    let request = BaselineCheckRequest {
        history: args.history.clone(),
        since: args.since.clone(),
        job: args.job.clone(),
        pool: args.pool.clone(),
        tiers: args.tier.iter().map(|tier| (*tier).into()).collect(),
        threshold: args.threshold,
        slow_rank: args.slow_rank,
        false_alarms: args.false_alarms,
    };
    let answer = goodput_verbs::baseline_check(&request)?;
    let style = output::style_of(args.output.as_deref());
    let text = match args.format {
        BaselineFormat::Markdown => Ok(markdown::baseline(&answer.view)),
        BaselineFormat::Table => answer.view.render(Format::Table, style),
        BaselineFormat::Json => answer.view.render(Format::Json, style),
        BaselineFormat::Html => answer.view.render(Format::Html, style),
    };
    output::write_to(args.output.as_deref(), &text.map_err(|e| CliError::new(e.to_string()))?)?;
    let worse = answer.view.regressions > 0;
    Ok(if worse || (args.strict && answer.falls_short) { Answer::FallsShort } else { Answer::Complete })
}
