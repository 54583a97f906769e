//! The device that a user names, and its peak.

use std::borrow::Cow;
use std::path::Path;

use goodput_core::records::TimelineWork;
use goodput_model::device::{Catalogue, Dtype};

use crate::error::VerbError;
use crate::request::Work;

/// The built-in catalogue, with the devices of a file if one is named.
pub fn catalogue(file: Option<&Path>) -> Result<Cow<'static, Catalogue>, VerbError> {
    let Some(path) = file else { return Ok(Cow::Borrowed(Catalogue::built_in())) };
    let text = std::fs::read_to_string(path).map_err(|e| VerbError::io(path, &e))?;
    let catalogue = Catalogue::built_in().clone().with_yaml(&path.display().to_string(), &text);
    catalogue
        .map(Cow::Owned)
        .map_err(|e| VerbError::new(e.to_string()).help("docs/devices.md lists the fields"))
}

/// Beyond any device: a figure in FLOP/s.
const MOST_TFLOPS: f64 = 1e6;

/// A stated peak in TFLOP/s, as FLOP/s.
pub fn stated_peak(option: &str, tflops: f64) -> Result<f64, VerbError> {
    if tflops > 0.0 && tflops <= MOST_TFLOPS {
        return Ok(tflops * 1e12);
    }
    let expected = "expected TFLOP/s (1e12 FLOP/s) of one device, above 0 and up to 1000000";
    Err(VerbError::new(format!("{option} {tflops}: {expected}")))
}

/// Takes the peak of a known device from the catalogue where nobody states one. A device that only the log names
/// may be unknown: then the report says that the peak is missing.
pub fn fill_peak(ideal: &mut TimelineWork, work: &Work) -> Result<(), VerbError> {
    let catalogue = catalogue(work.device_file.as_deref())?;
    let (None, Some(device), Some(dtype)) = (ideal.peak_flops_per_second, &ideal.device, &ideal.dtype) else {
        return Ok(());
    };
    let peak = dtype.parse::<Dtype>().map_err(|e| VerbError::new(e.to_string())).and_then(|dtype| {
        catalogue.peak(device, dtype).map_err(|e| VerbError::new(e.to_string()).help("or give --peak-tflops"))
    });
    match peak {
        Ok(peak) => ideal.peak_flops_per_second = Some(peak.flops_per_second),
        Err(error) if work.device.is_some() => return Err(error),
        Err(_) => {}
    }
    Ok(())
}
