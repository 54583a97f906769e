//! `goodput trace`

use goodput_verbs::{SamplingRequest, TraceModelRequest, TraceRequest};

use crate::args::TraceArgs;
use crate::error::CliError;
use crate::output::{self, Answer};
use crate::progress;

/// Analyses traces and prints the report.
pub fn run(args: &TraceArgs) -> Result<Answer, CliError> {
    let request = TraceRequest {
        paths: args.paths.clone(),
        ranks: args.rank.clone(),
        raw_clocks: args.raw_clocks,
        device: args.device.clone(),
        device_file: args.device_file.clone(),
        model: args.model.as_ref().map(|model| TraceModelRequest {
            model: model.clone(),
            sequence: args.seq,
            global_batch: args.global_batch.unwrap_or_default(),
            devices: args.devices,
            dtype: args.dtype.clone(),
        }),
        mesh: args.mesh.clone(),
        sampling: args.plan.as_ref().map(|budget| SamplingRequest {
            budget: budget.clone(),
            layout: args.layout.clone(),
            devices_per_node: args.devices_per_node,
            window_s: args.window,
            windows: args.windows,
            trace_rate: args.trace_rate.clone(),
        }),
        timeline: args.timeline.clone(),
        contract: args.contract.clone(),
        top: args.top,
        annotate: args.annotate.clone(),
        parquet: args.parquet.clone(),
        output: args.output.output.clone(),
        ..TraceRequest::default()
    };
    let bar = progress::bytes(&args.paths);
    let answer = goodput_verbs::trace(&request, &mut progress::inputs(), Some(&|bytes| bar.inc(bytes)));
    bar.finish_and_clear();
    let answer = answer?;
    let text = answer.view.render(args.output.format.into(), output::style_of(args.output.output.as_deref()));
    output::write_to(args.output.output.as_deref(), &text.map_err(|e| CliError::new(e.to_string()))?)?;
    Ok(if args.strict && answer.falls_short { Answer::FallsShort } else { Answer::Complete })
}
