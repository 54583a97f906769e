//! `goodput validate`

use goodput_verbs::{CalibrationRequest, RegressionRequest, ValidateRequest};

use crate::args::{ValidateArgs, ValidateCommand};
use crate::collect;
use crate::error::CliError;
use crate::output::{self, Answer};

/// Compares predictions with measured runs and prints the errors.
pub fn run(args: &ValidateArgs) -> Result<Answer, CliError> {
    if let Some(ValidateCommand::Collect(args)) = &args.command {
        return collect::run(args);
    }
    let ValidateArgs { runs, tables, rules, by, regression, record, margin, rows, output, strict, .. } = args;
    let fit = args.calibrate.clone().map(CalibrationRequest::Fit);
    let request = ValidateRequest {
        // Needed unless there is a subcommand.
        runs: runs.clone().unwrap_or_default(),
        tables: tables.tables.clone(),
        rules: rules.clone(),
        by: by.clone(),
        calibration: fit.or_else(|| args.calibration.clone().map(CalibrationRequest::Use)),
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
