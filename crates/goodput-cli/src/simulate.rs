//! `goodput simulate`

use goodput_simulate::{Scenario, simulate};

use crate::args::SimulateArgs;
use crate::error::CliError;
use crate::output::{self, Answer};

/// Writes the records of a scenario and their true ledger.
pub fn run(args: &SimulateArgs) -> Result<Answer, CliError> {
    let mut scenario = match &args.scenario {
        None => Scenario::demo().map_err(|e| CliError::new(e.to_string()))?,
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|e| CliError::io(path, &e))?;
            Scenario::from_yaml(&text).map_err(|e| {
                CliError::new(format!("{}: {e}", path.display())).help("docs/simulate.md lists the fields")
            })?
        }
    };
    if let Some(seed) = args.seed {
        scenario.seed = seed;
    }
    let paths = simulate(&scenario).write(&args.output).map_err(|e| CliError::io(&args.output, &e))?;
    let list: String = paths.iter().map(|path| format!("{}\n", path.display())).collect();
    output::print(&list)?;
    Ok(Answer::Complete)
}
