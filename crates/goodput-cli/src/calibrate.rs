//! `goodput calibrate`

use goodput_verbs::CalibrateRequest;

use crate::args::CalibrateArgs;
use crate::error::CliError;
use crate::output::{self, Answer};
use crate::progress;

/// Makes measured tables into calibration files and prints what they hold.
pub fn run(args: &CalibrateArgs) -> Result<Answer, CliError> {
    let request = CalibrateRequest {
        tables: args.tables.clone(),
        output: args.output.clone(),
        device: args.device.clone(),
        columns: args.column.clone(),
        values: args.set.clone(),
    };
    let answer = goodput_verbs::calibrate(&request, &mut progress::inputs())?;
    let text = answer.view.render(args.format.into(), output::style_of(None));
    output::write_to(None, &text.map_err(|e| CliError::new(e.to_string()))?)?;
    Ok(if args.strict && answer.falls_short { Answer::FallsShort } else { Answer::Complete })
}
