//! From a step time to tokens a second, MFU and HFU.

use goodput_model::device::Device;
use goodput_model::{FlopCounter, Recompute as Counted, Training};

use super::{PredictError, Prediction};
use crate::run::Run;

/// `recompute_flops`: what a device, on the mean, computes again.
pub(super) fn fill(
    prediction: &mut Prediction,
    run: &Run,
    device: &Device,
    recompute_flops: f64,
) -> Result<(), PredictError> {
    let seconds = prediction.step_ns / 1e9;
    let devices = f64::from(run.devices);
    let tokens = run.batch.global as f64 * run.packing.tokens(run.batch.sequence) as f64;
    prediction.tokens_per_second_per_device = tokens / seconds / devices;
    let Ok(peak) = device.peak(run.precision.products.dtype()) else { return Ok(()) };
    let counter = FlopCounter::new(&run.architecture, &Training::full())?;
    let sequence = run.packing.counted(run.batch.sequence)?;
    let sequences = run.batch.global as f64;
    let core = if run.framework.fused_attention { Counted::FusedAttention } else { Counted::None };
    // Scores that a fused backward pass computes again are in no list.
    let flops = counter.count(&sequence, core)?;
    let available = peak * devices * seconds;
    prediction.mfu = flops.useful().total() as f64 * sequences / available;
    let again = (flops.padding().total() + flops.recompute()) as f64 * sequences;
    prediction.hfu = prediction.mfu + (recompute_flops * devices + again) / available;
    Ok(())
}
