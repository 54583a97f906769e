//! From a step time to tokens a second, MFU and HFU.

use goodput_model::device::Device;
use goodput_model::{Batch, FlopCounter, Recompute as Counted, Training};

use super::{PredictError, Prediction};
use crate::run::{Recompute, Run};

pub(super) fn fill(prediction: &mut Prediction, run: &Run, device: &Device) -> Result<(), PredictError> {
    let seconds = prediction.step_ns / 1e9;
    let devices = f64::from(run.devices);
    let tokens = (run.batch.global * run.batch.sequence) as f64;
    prediction.tokens_per_second_per_device = tokens / seconds / devices;
    let Ok(peak) = device.peak(run.precision.products.dtype()) else { return Ok(()) };
    let counter = FlopCounter::new(&run.architecture, &Training::full())?;
    let batch = Batch::rows(run.batch.global, run.batch.sequence)?;
    let core = if run.framework.fused_attention { Counted::FusedAttention } else { Counted::None };
    let (recompute, share) = match run.recompute {
        Recompute::None | Recompute::Cheap => (core, 1.0),
        Recompute::AttentionCore => (Counted::Attention, 1.0),
        Recompute::Full => (Counted::Full, 1.0),
        Recompute::Layers(layers) => {
            let text = run.architecture.text.as_ref();
            let all: u64 = text.map_or(0, |text| text.decoder.iter().map(|blocks| blocks.blocks).sum());
            let again = u64::from(layers) * u64::from(run.layout.pipeline) * u64::from(run.parts());
            (Counted::Full, (again as f64 / all.max(1) as f64).min(1.0))
        }
    };
    let flops = counter.count(&batch, recompute)?;
    let available = peak * devices * seconds;
    prediction.mfu = flops.useful().total() as f64 / available;
    prediction.hfu = prediction.mfu + share * flops.recompute() as f64 / available;
    Ok(())
}
