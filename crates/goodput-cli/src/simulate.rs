//! `goodput simulate`

use std::path::{Path, PathBuf};

use goodput_simulate::{Scenario, ScenarioError, serving, simulate, step_trace};

use crate::args::SimulateArgs;
use crate::error::CliError;
use crate::output::{self, Answer};

/// Writes the records of a scenario and their true ledger.
pub fn run(args: &SimulateArgs) -> Result<Answer, CliError> {
    if let Some(name) = &args.traces {
        return traces(name, args);
    }
    if args.serving {
        return serving(args);
    }
    let mut scenario = match &args.scenario {
        None => Scenario::demo().map_err(|e| CliError::new(e.to_string()))?,
        Some(path) => read(path, Scenario::from_yaml)?,
    };
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    let paths = simulate(&scenario).write(&args.output).map_err(|e| CliError::io(&args.output, &e))?;
    print_paths(&paths)
}

fn read<T>(path: &Path, from_yaml: fn(&str) -> Result<T, ScenarioError>) -> Result<T, CliError> {
    let text = std::fs::read_to_string(path).map_err(|e| CliError::io(path, &e))?;
    from_yaml(&text).map_err(|e| {
        CliError::new(format!("{}: {e}", path.display())).help("docs/simulate.md lists the fields")
    })
}

/// Writes the log of a serving fleet and its books.
fn serving(args: &SimulateArgs) -> Result<Answer, CliError> {
    let mut scenario = match &args.scenario {
        None => serving::Scenario::default(),
        Some(path) => read(path, serving::Scenario::from_yaml)?,
    };
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    let written = serving::simulate(&scenario).write(&args.output);
    print_paths(&written.map_err(|e| CliError::io(&args.output, &e))?)
}

/// Writes the step traces of a small job and what each nanosecond is charged to.
fn traces(name: &str, args: &SimulateArgs) -> Result<Answer, CliError> {
    let mut scenario = step_trace::Scenario::named(name).ok_or_else(|| {
        CliError::new(format!("--traces {name}: not a scenario"))
            .help(format!("known: {}", step_trace::Scenario::NAMES.join(", ")))
    })?;
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    let written = step_trace::simulate(&scenario).write(&args.output);
    print_paths(&written.map_err(|e| CliError::io(&args.output, &e))?)
}

fn print_paths(paths: &[PathBuf]) -> Result<Answer, CliError> {
    let list: String = paths.iter().map(|path| format!("{}\n", path.display())).collect();
    output::print(&list)?;
    Ok(Answer::Complete)
}
