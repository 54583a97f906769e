//! `goodput mfu convert`

use std::path::PathBuf;

use goodput_model::audit;
use goodput_model::conversion::{Basis, ConversionError, TokenScope, convert};
use goodput_model::device::{Catalogue, Dtype};
use goodput_model::{Architecture, Convention};
use goodput_report::ConversionView;
use serde::Deserialize;

use crate::error::VerbError;
use crate::{device, model};

/// `goodput mfu convert`: a quoted MFU, what it rests on, and what to convert it to.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConversionRequest {
    /// The MFU, as a fraction.
    pub mfu: f64,
    /// Name of its convention.
    pub from: String,
    /// Name of the convention to convert to; exact FLOPs when nobody says.
    pub to: Option<String>,
    /// A known model, a Hugging Face `config.json`, or a file in our YAML.
    pub model: String,
    /// Tokens of a sequence.
    pub sequence_length: u64,
    /// Peak behind the quoted MFU: TFLOP/s, or `DEVICE:DTYPE`.
    pub peak_from: Option<String>,
    /// Peak to divide by, in the same words.
    pub peak_to: Option<String>,
    /// Device whose dense peak stands where none is stated.
    pub device: Option<String>,
    /// dtype of its arithmetic.
    pub dtype: Option<String>,
    /// More devices than the catalogue's own.
    pub device_file: Option<PathBuf>,
    /// Tokens behind the quoted MFU: `real`, `padded=SHARE`, `summed=RANKS`, `divided=RANKS`; real when nobody says.
    pub scope_from: Option<String>,
    /// Tokens to count, in the same words.
    pub scope_to: Option<String>,
}

/// Converts a quoted MFU, factor by factor.
///
/// # Errors
/// [`VerbError`] for a name that is not known, a peak of one side alone, or an MFU above 1 in exact FLOPs.
pub fn convert_mfu(request: &ConversionRequest) -> Result<ConversionView, VerbError> {
    let architecture = model::architecture(&request.model)?;
    let catalogue = device::catalogue(request.device_file.as_deref())?;
    let named = match (&request.device, &request.dtype) {
        (Some(device), Some(dtype)) => Some(peak_of(&catalogue, device, dtype)?),
        _ => None,
    };
    let side = |convention: &str, peak: Option<&String>, scope: Option<&String>, option: &str| {
        let convention = Convention::named(convention).map_err(|e| VerbError::new(e.to_string()))?;
        let peak = match peak {
            Some(text) => Some(stated_peak(&catalogue, text, option)?),
            None => named.clone(),
        };
        let tokens = scope.map_or(Ok(TokenScope::Real), |scope| token_scope(scope))?;
        let basis = Basis { convention, peak_flops_per_second: peak.as_ref().map(|p| p.0), tokens };
        Ok::<_, VerbError>((basis, peak.map(|p| p.1)))
    };
    let to = request.to.as_deref().unwrap_or(Convention::EXACT.name);
    let (from, from_peak) =
        side(&request.from, request.peak_from.as_ref(), request.scope_from.as_ref(), "--peak-from")?;
    let (to, to_peak) = side(to, request.peak_to.as_ref(), request.scope_to.as_ref(), "--peak-to")?;
    let converted = convert(request.mfu, &from, &to, &architecture, request.sequence_length)
        .map_err(|e| refusal(&e, request, &architecture))?;
    let mut view = ConversionView::new(
        &architecture.name,
        request.sequence_length,
        &converted,
        (&from, from_peak),
        (&to, to_peak),
    );
    view.warnings.extend(model::text_alone(&architecture));
    Ok(view)
}

fn refusal(error: &ConversionError, request: &ConversionRequest, architecture: &Architecture) -> VerbError {
    let refused = VerbError::new(error.to_string());
    match error {
        ConversionError::AboveOne { exact, .. } => refused.help(likely_causes(*exact, request, architecture)),
        ConversionError::OnePeak => refused.help("give --peak-from and --peak-to, or --device and --dtype"),
        _ => refused,
    }
}

/// Faults that could have made an MFU of more than the device can do.
fn likely_causes(exact: f64, request: &ConversionRequest, architecture: &Architecture) -> String {
    let sign = (request.mfu > 1.0 && request.mfu <= 100.0).then_some("a percentage without its sign");
    let faults = audit::causes_above_one(architecture, request.sequence_length, exact);
    let causes: Vec<_> = sign.into_iter().chain(faults.iter().map(|fault| fault.name)).collect();
    format!("likely causes: {} (docs/mfu.md)", causes.join(", "))
}

/// A peak and whose it is.
type NamedPeak = (f64, String);

fn peak_of(catalogue: &Catalogue, device: &str, dtype: &str) -> Result<NamedPeak, VerbError> {
    let dtype: Dtype = dtype.parse().map_err(|e| VerbError::new(format!("{e}")))?;
    let peak = catalogue.peak(device, dtype).map_err(|e| VerbError::new(e.to_string()))?;
    Ok((peak.flops_per_second, format!("{}, {dtype}", peak.device)))
}

/// TFLOP/s, or `DEVICE:DTYPE`.
fn stated_peak(catalogue: &Catalogue, text: &str, option: &str) -> Result<NamedPeak, VerbError> {
    if let Ok(tflops) = text.parse::<f64>() {
        return Ok((device::stated_peak(option, tflops)?, "stated".to_owned()));
    }
    let (device, dtype) = text.rsplit_once(':').ok_or_else(|| {
        VerbError::new(format!("{option} {text}: expected TFLOP/s, or DEVICE:DTYPE as \"H100 SXM5:bf16\""))
    })?;
    peak_of(catalogue, device, dtype)
}

fn token_scope(text: &str) -> Result<TokenScope, VerbError> {
    let wrong = || {
        VerbError::new(format!("token scope {text:?} is not known"))
            .help("real, padded=SHARE with the share of real tokens, summed=RANKS or divided=RANKS")
    };
    let (word, number) = text.split_once('=').map_or((text, None), |(word, number)| (word, Some(number)));
    match (word, number) {
        ("real", None) => Ok(TokenScope::Real),
        ("padded", Some(share)) => share.parse().map(TokenScope::Padded).map_err(|_| wrong()),
        ("summed", Some(ranks)) => ranks.parse().map(TokenScope::SummedOverRanks).map_err(|_| wrong()),
        ("divided", Some(ranks)) => ranks.parse().map(TokenScope::DividedByRanks).map_err(|_| wrong()),
        _ => Err(wrong()),
    }
}
