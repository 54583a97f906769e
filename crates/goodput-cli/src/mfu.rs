//! `goodput mfu`

use goodput_verbs::{AuditRequest, ConversionRequest, audit_mfu, convert_mfu};

use crate::args::{MfuAuditArgs, MfuCommand, MfuConvertArgs};
use crate::error::CliError;
use crate::output::{self, Answer};
use crate::progress;

/// Converts or audits, and prints the report.
pub fn run(command: &MfuCommand) -> Result<Answer, CliError> {
    match command {
        MfuCommand::Convert(args) => convert(args),
        MfuCommand::Audit(args) => audit(args),
    }
}

fn convert(args: &MfuConvertArgs) -> Result<Answer, CliError> {
    let view = convert_mfu(&ConversionRequest {
        mfu: args.mfu,
        from: args.from.clone(),
        to: Some(args.to.clone()),
        model: args.model.clone(),
        sequence_length: args.seq,
        peak_from: args.peak_from.clone(),
        peak_to: args.peak_to.clone(),
        device: args.device.clone(),
        dtype: args.dtype.clone(),
        device_file: args.device_file.clone(),
        scope_from: Some(args.scope_from.clone()),
        scope_to: Some(args.scope_to.clone()),
    })?;
    let text = view.render(args.output.format.into(), output::short_style(&args.output));
    output::write_short(&args.output, text)?;
    Ok(Answer::Complete)
}

fn audit(args: &MfuAuditArgs) -> Result<Answer, CliError> {
    let request = AuditRequest {
        log: args.log.clone(),
        model: args.model.clone(),
        step: args.step,
        tolerance: args.tolerance,
        sequence_length: args.seq,
        global_batch: args.global_batch,
        gradient_accumulation: args.grad_accum,
        documents: args.documents.clone(),
        real_share: args.real_share,
        devices: args.devices,
        tensor_parallel: args.tp,
        context_parallel: args.cp,
        pipeline_parallel: args.pp,
        data_parallel: args.dp,
        device: args.device.clone(),
        device_file: args.device_file.clone(),
        peak_tflops: args.peak_tflops,
        dtype: args.dtype.clone(),
    };
    let answer = audit_mfu(&request, &mut progress::inputs())?;
    let text = answer.view.render(args.output.format.into(), output::short_style(&args.output));
    output::write_short(&args.output, text)?;
    Ok(if answer.falls_short { Answer::FallsShort } else { Answer::Complete })
}
