//! `goodput serving`

use goodput_verbs::ServingRequest;

use crate::args::ServingArgs;
use crate::error::CliError;
use crate::output::{self, Answer};
use crate::progress;

/// Accounts a serving fleet's log and prints the report.
pub fn run(args: &ServingArgs) -> Result<Answer, CliError> {
    let request = ServingRequest {
        files: args.files.clone(),
        model: args.model.clone(),
        device: args.device.clone(),
        device_file: args.device_file.clone(),
        dtype: args.dtype.clone(),
        weight_bits: args.weight_bits,
        kv_bits: args.kv_bits,
        traces: args.trace.clone(),
        contract: args.contract.clone(),
        window: args.window.clone().into(),
        report: output::report(&args.output),
    };
    let answer = goodput_verbs::serving(&request, &mut progress::inputs(), None)?;
    let text = answer.view.render(args.output.format.into(), output::style(&args.output));
    output::write(&args.output, &text.map_err(|e| CliError::new(e.to_string()))?)?;
    Ok(output::answer(&args.output, answer.falls_short))
}
