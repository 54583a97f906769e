//! `goodput validate`

use goodput_verbs::{RegressionRequest, ValidateRequest};

use crate::args::ValidateArgs;
use crate::error::CliError;
use crate::output::{self, Answer};

/// Compares predictions with measured runs and prints the errors.
pub fn run(args: &ValidateArgs) -> Result<Answer, CliError> {
    let ValidateArgs { runs, rules, by, regression, record, margin, rows, output, strict } = args;
    let request = ValidateRequest {
        runs: runs.clone(),
        rules: rules.clone(),
        by: by.clone(),
        regression: regression.as_ref().map(|file| RegressionRequest {
            file: file.clone(),
            record: *record,
            margin: *margin,
        }),
        rows: rows.clone(),
        output: output.output.clone(),
    };
    let answer = goodput_verbs::validate(&request)?;
    let text = answer.view.render(output.format.into(), output::style_of(output.output.as_deref()));
    output::write_to(output.output.as_deref(), &text.map_err(|e| CliError::new(e.to_string()))?)?;
    let worse = answer.view.regression.is_some_and(|regression| !regression.worse.is_empty());
    Ok(if worse || (*strict && answer.falls_short) { Answer::FallsShort } else { Answer::Complete })
}
