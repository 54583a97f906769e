//! The traced steps against the work that the model requires.

use goodput_core::program::{Mfu, ideal_time};
use goodput_core::{CapacityTime, OutOfRange};
use goodput_model::device::Dtype;
use goodput_report::TraceModelView;
use goodput_trace::analysis::Analysis;
use goodput_trace::nearest_rank::median;
use serde::Deserialize;

use crate::error::VerbError;
use crate::flops::{FlopsRequest, flop_counter};

/// The model of the traced job, and what one step of it processes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TraceModelRequest {
    /// A known model, a Hugging Face `config.json`, or a file in our YAML.
    pub model: String,
    /// Tokens of a sequence; 4,096 when nobody says.
    pub sequence: Option<u64>,
    /// Sequences of an optimizer step over the whole job.
    pub global_batch: u64,
    /// Devices of the job; the world size of the traces when nobody says.
    pub devices: Option<u64>,
    /// dtype of the arithmetic.
    pub dtype: Option<String>,
}

/// Tokens of a sequence when nobody says.
const SEQUENCE: u64 = 4096;

/// MFU of the judged steps, and operations executed beyond the model's.
pub(crate) fn measure(
    request: &TraceModelRequest,
    device: Option<&str>,
    catalogue: &goodput_model::device::Catalogue,
    analysis: &Analysis,
) -> Result<TraceModelView, VerbError> {
    let devices = request
        .devices
        .or_else(|| analysis.ranks.iter().find_map(|r| r.trace.identity.world_size).map(u64::from))
        .ok_or_else(|| {
            VerbError::new("--model: the traces do not say how many devices the job has")
                .help("give --devices")
        })?;
    if devices == 0 || request.global_batch == 0 {
        return Err(VerbError::new("--model: --devices and --global-batch must be above 0"));
    }
    let sequence = request.sequence.unwrap_or(SEQUENCE);
    let counter = flop_counter(&FlopsRequest { model: request.model.clone(), ..FlopsRequest::default() })?;
    let batch = goodput_model::Batch::rows(1, sequence).map_err(|e| VerbError::new(e.to_string()))?;
    let of_sequence = counter
        .count(&batch, goodput_model::Recompute::default())
        .map_err(|e| VerbError::new(e.to_string()))?
        .useful()
        .total();
    let step_flops = of_sequence * u128::from(request.global_batch);
    let traced_device =
        analysis.ranks.iter().flat_map(|r| &r.trace.devices).map(|d| d.name.as_str()).find(|n| !n.is_empty());
    let device = device
        .or(traced_device)
        .ok_or_else(|| VerbError::new("--model: the traces do not name the device").help("give --device"))?;
    let dtype = request.dtype.as_deref().unwrap_or("bf16");
    let dtype: Dtype = dtype.parse().map_err(|e| VerbError::new(format!("--dtype: {e}")))?;
    let peak = catalogue
        .peak(device, dtype)
        .map_err(|e| VerbError::new(format!("--model: {e}")).help("give --device"))?;

    let refused = |e: OutOfRange| VerbError::new(format!("--model: {e}"));
    let ideal = ideal_time(step_flops, peak.flops_per_second).map_err(refused)?;
    let ideal_ns = ideal.device_ns() / i128::from(devices);
    let traced_ns = median_step_ns(analysis)
        .ok_or_else(|| VerbError::new("--model: no trace holds a step with device work"))?;
    let mfu =
        Mfu::of_times(CapacityTime::from_device_ns(ideal_ns), CapacityTime::from_device_ns(traced_ns.into()))
            .map_err(|e| {
                VerbError::new(format!("--model: {e}"))
                    .help("check --global-batch, --seq, --devices and --dtype")
            })?;
    let executed = executed_flops(analysis);
    let per_device = step_flops / u128::from(devices);
    Ok(TraceModelView {
        model: request.model.clone(),
        sequence_length: sequence,
        global_batch: request.global_batch,
        devices,
        device: device.to_owned(),
        dtype: dtype.to_string(),
        peak_flops_per_second: peak.flops_per_second,
        model_flops_per_device: per_device.into(),
        ideal_step_ns: i64::try_from(ideal_ns).unwrap_or(i64::MAX),
        traced_step_ns: traced_ns,
        program_goodput: mfu.value(),
        executed_flops_per_device: executed.map(|(flops, _)| flops.into()),
        executed_coverage: executed.and_then(|(_, coverage)| coverage),
        executed_over_model: executed.map(|(flops, _)| flops as f64 / per_device as f64),
    })
}

/// Median length of the judged steps on the device.
fn median_step_ns(analysis: &Analysis) -> Option<i64> {
    let mut lengths: Vec<i64> =
        analysis.ranks.iter().flat_map(|rank| rank.judged()).map(|window| window.window_ns()).collect();
    median(&mut lengths)
}

/// FLOPs that the recorded shapes give a device in one step, and the share of the compute time that they cover. `None`
/// without shapes.
fn executed_flops(analysis: &Analysis) -> Option<(u128, Option<f64>)> {
    let steps: u128 = analysis
        .ranks
        .iter()
        .map(|rank| rank.windows.iter().filter(|w| w.device.is_some()).count() as u128)
        .sum();
    let flops: u128 = analysis.ranks.iter().map(|rank| rank.roofline.flops()).sum();
    let (known, all) = analysis.ranks.iter().fold((0, 0), |(known, all), rank| {
        (known + rank.roofline.known_ns(), all + rank.roofline.compute_ns)
    });
    (flops > 0 && steps > 0).then(|| (flops / steps, (all > 0).then(|| known as f64 / all as f64)))
}
