//! `goodput account`

use std::collections::BTreeMap;
use std::path::Path;

use goodput_report::AccountView;
use goodput_verbs::{AccountRequest, TimelineInput, fleet_file};

use crate::args::{AccountArgs, OutputArgs};
use crate::error::CliError;
use crate::output::{self, Answer};
use crate::progress;

/// Accounts a fleet's records and prints the report.
pub fn run(args: &AccountArgs) -> Result<Answer, CliError> {
    let mut request = request(args)?;
    if let Some(path) = &args.fleet {
        request = request.over(fleet_file(path)?);
    }
    print(&args.output, &goodput_verbs::account(&request, &mut progress::inputs())?)
}

/// Prints the report.
pub fn print(args: &OutputArgs, answer: &goodput_verbs::Answer<AccountView>) -> Result<Answer, CliError> {
    let text = answer.view.render(args.format.into(), output::style(args));
    output::write(args, &text.map_err(|e| CliError::new(e.to_string()))?)?;
    Ok(output::answer(args, answer.falls_short))
}

/// What the command line says.
fn request(args: &AccountArgs) -> Result<AccountRequest, CliError> {
    let mut request = AccountRequest {
        sacct: args.sacct.clone(),
        sacct_columns: args.sacct_format.as_ref().map(|names| names.split(',').map(str::to_owned).collect()),
        delimiter: args.delimiter.clone(),
        events: args.events.clone(),
        nodes: args.nodes.clone(),
        snapshots: args.snapshots.clone(),
        reservations: args.reservations.clone(),
        tables: args.tables.clone(),
        denominator: args.denominator.map(Into::into),
        jobs: args.jobs,
        window: args.window.clone().into(),
        days: args.blocks.is_some(),
        contract: args.contract.clone(),
        report: output::report(&args.output),
        ..AccountRequest::default()
    };
    for import in &args.import {
        let (map, file) = pair("--import", "MAP=FILE", import)?;
        request.imports.push((map.into(), vec![file.into()]));
    }
    for timeline in &args.timeline {
        let (job, file) = match timeline.split_once('=') {
            Some((job, file)) if !Path::new(timeline).exists() => (Some(job.to_owned()), file),
            _ => (None, timeline.as_str()),
        };
        request.timelines.push(TimelineInput { file: file.into(), job, ..TimelineInput::default() });
    }
    request.pools = pools(&args.pool)?;
    for plan in &args.plan {
        let (job, steps) = pair("--plan", "JOB=STEPS", plan)?;
        let steps = steps
            .parse()
            .map_err(|_| CliError::new(format!("--plan {plan}: {steps:?} is no whole number of steps")))?;
        request.planned_steps.insert(job.to_owned(), steps);
    }
    Ok(request)
}

fn pools(stated: &[String]) -> Result<BTreeMap<String, String>, CliError> {
    let mut pools = BTreeMap::new();
    for pool in stated {
        let (name, nodes) = pair("--pool", "NAME=NODES", pool)?;
        if pools.insert(name.to_owned(), nodes.to_owned()).is_some() {
            return Err(CliError::new(format!("--pool {pool}: the pool {name} is named twice"))
                .help("give one list of all its nodes: NAME=gpu[001-004],gpu007"));
        }
    }
    Ok(pools)
}

fn pair<'a>(option: &str, form: &str, text: &'a str) -> Result<(&'a str, &'a str), CliError> {
    text.split_once('=').ok_or_else(|| CliError::new(format!("{option} {text}: expected {form}")))
}
