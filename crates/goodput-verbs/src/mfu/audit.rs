//! `goodput mfu audit`

use std::path::PathBuf;

use goodput_model::audit::{self, AuditError, Claim, Claims, Run};
use goodput_model::device::{Dtype, PeakError, UnknownDtype};
use goodput_records::ReadReport;
use goodput_records::throughput::{Measure, PrintedRun, PrintedStep, ThroughputLog, read_throughput};
use goodput_report::{AuditedLogView, AuditedRunView, MfuAuditView};
use serde::Deserialize;

use crate::error::VerbError;
use crate::inputs::{Inputs, label};
use crate::{Answer, device, model};

/// `goodput mfu audit`: a training log, and what is known of the run beside it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuditRequest {
    /// The log; `-` for standard input.
    pub log: PathBuf,
    /// A known model, a Hugging Face `config.json`, or a file in our YAML.
    pub model: String,
    /// Step to audit; the median line by speed when nobody says.
    pub step: Option<u64>,
    /// A difference up to this fraction is none, beside what rounding makes.
    pub tolerance: f64,
    /// Tokens of a sequence, over what the log says.
    pub sequence_length: Option<u64>,
    /// Sequences of an optimizer step over the whole job.
    pub global_batch: Option<u64>,
    /// Micro-batches of an optimizer step.
    pub gradient_accumulation: Option<u64>,
    /// Lengths of the documents packed into one sequence; one of its length when empty.
    pub documents: Vec<u64>,
    /// Share of tokens that are no padding.
    pub real_share: Option<f64>,
    /// Devices of the job.
    pub devices: Option<u64>,
    /// Tensor parallel size.
    pub tensor_parallel: Option<u64>,
    /// Context or sequence parallel size.
    pub context_parallel: Option<u64>,
    /// Pipeline stages.
    pub pipeline_parallel: Option<u64>,
    /// Data parallel size.
    pub data_parallel: Option<u64>,
    /// Device name, over what the log says.
    pub device: Option<String>,
    /// More devices than the catalogue's own.
    pub device_file: Option<PathBuf>,
    /// Dense peak of one device in TFLOP/s, over the catalogue's.
    pub peak_tflops: Option<f64>,
    /// dtype of the arithmetic.
    pub dtype: Option<String>,
}

impl Default for AuditRequest {
    fn default() -> Self {
        Self {
            log: PathBuf::new(),
            model: String::new(),
            step: None,
            tolerance: 0.01,
            sequence_length: None,
            global_batch: None,
            gradient_accumulation: None,
            documents: Vec::new(),
            real_share: None,
            devices: None,
            tensor_parallel: None,
            context_parallel: None,
            pipeline_parallel: None,
            data_parallel: None,
            device: None,
            device_file: None,
            peak_tflops: None,
            dtype: None,
        }
    }
}

/// Recomputes the figures that a log prints, and names the faults behind a difference. The answer falls short when a
/// figure is wrong.
///
/// # Errors
/// [`VerbError`] when the log cannot be read, the model or the device is not known, or what the figures rest on is
/// neither stated nor in the log.
pub fn audit_mfu(request: &AuditRequest, inputs: &mut Inputs) -> Result<Answer<MfuAuditView>, VerbError> {
    let architecture = model::architecture(&request.model)?;
    let label = label(&request.log);
    let log = read_throughput(&label, inputs.open(&request.log)?)?;
    let line = log.typical(request.step).ok_or_else(|| {
        VerbError::new(format!("{label}: no line prints the speed of the step that --step names"))
            .help("leave --step out to audit the median line")
    })?;
    let mut warnings: Vec<String> = model::text_alone(&architecture).into_iter().collect();
    let known = Known::new(request, &log.run, line)?;
    let mut run = Run::new(architecture, known.sequence_length, known.devices).map_err(refused)?;
    run.set_layout(known.tensor_parallel, known.context_parallel, known.pipeline_parallel)
        .map_err(refused)?;
    run.set_gradient_accumulation(known.gradient_accumulation);
    run.set_step(line.value(Measure::Step).map(|step| step as u64));
    if !request.documents.is_empty() {
        run.set_documents(&request.documents).map_err(refused)?;
    }
    if let Some(share) = known.real_share {
        run.set_real_share(share).map_err(refused)?;
    }
    let named = set_peak(request, &log, &mut run, &mut warnings)?;
    let claims = claims(&log, line, &known, &mut warnings);
    let found = audit::audit(&run, &claims, request.tolerance).map_err(refused)?;
    if found.mfu.is_some_and(|mfu| mfu > 1.0) {
        warnings.push(
            "The recomputed MFU is above 100%: the number of devices, the batch, the device or its dtype is wrong."
                .to_owned(),
        );
    }
    let view = view(request, &log, line, &run, &known, &claims, named, &found, warnings);
    Ok(Answer { view, falls_short: found.finds_a_fault() })
}

#[allow(clippy::needless_pass_by_value, reason = "the signature that map_err asks for")]
fn refused(error: AuditError) -> VerbError {
    VerbError::new(error.to_string())
}

/// What is stated, and where nothing is, what the log says.
struct Known {
    sequence_length: u64,
    devices: u64,
    global_batch: Option<u64>,
    gradient_accumulation: Option<u64>,
    tensor_parallel: u64,
    context_parallel: u64,
    pipeline_parallel: u64,
    real_share: Option<f64>,
}

impl Known {
    fn new(request: &AuditRequest, run: &PrintedRun, line: &PrintedStep) -> Result<Self, VerbError> {
        let sequence_length = request.sequence_length.or(run.sequence_length).ok_or_else(|| {
            VerbError::new("the log does not say how long its sequences are").help("state it with --seq")
        })?;
        let tensor_parallel = request.tensor_parallel.or(run.tensor_parallel).unwrap_or(1);
        let context_parallel = request.context_parallel.or(run.context_parallel).unwrap_or(1);
        let pipeline_parallel = request.pipeline_parallel.or(run.pipeline_parallel).unwrap_or(1);
        let product = request.data_parallel.and_then(|dp| {
            [tensor_parallel, context_parallel, pipeline_parallel]
                .iter()
                .try_fold(dp, |n, size| n.checked_mul(*size))
        });
        if let (Some(product), Some(devices)) = (product, request.devices)
            && product != devices
        {
            return Err(VerbError::new(format!(
                "dp x tp x cp x pp are {product} devices, --devices says {devices}"
            )));
        }
        let devices = request.devices.or(product).or(run.devices).ok_or_else(|| {
            VerbError::new("the log does not say how many devices ran")
                .help("state them with --devices, or --dp")
        })?;
        let printed = line.value(Measure::GlobalBatchSamples).map(|samples| samples as u64);
        let global_batch = request.global_batch.or(printed).or(run.global_batch_samples);
        // A log that prints real tokens and the batch shows how much of it is padding.
        let batch_tokens = global_batch.map(|samples| samples as f64 * sequence_length as f64);
        let printed_share = line
            .value(Measure::RealTokens)
            .zip(batch_tokens)
            .map(|(real, all)| real / all)
            .filter(|share| (0.0..1.0).contains(share) && *share > 0.0);
        Ok(Self {
            sequence_length,
            devices,
            global_batch,
            gradient_accumulation: request.gradient_accumulation.or(run.gradient_accumulation),
            tensor_parallel,
            context_parallel,
            pipeline_parallel,
            real_share: request.real_share.or(printed_share),
        })
    }

    /// Tokens of a step that are no padding.
    fn tokens_per_step(&self, line: &PrintedStep) -> Option<f64> {
        let batch = self.global_batch.map(|samples| samples as f64 * self.sequence_length as f64);
        let batch = batch.or_else(|| line.value(Measure::GlobalBatchTokens));
        batch
            .map(|tokens| tokens * self.real_share.unwrap_or(1.0))
            .or_else(|| line.value(Measure::RealTokens))
    }
}

/// The right peak and the names that it goes by; without a device or a dtype the MFU is not recomputed.
fn set_peak(
    request: &AuditRequest,
    log: &ThroughputLog,
    run: &mut Run,
    warnings: &mut Vec<String>,
) -> Result<(Option<String>, Option<&'static str>), VerbError> {
    let dtype: Option<Dtype> = request
        .dtype
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|e: UnknownDtype| VerbError::new(e.to_string()))?;
    let name = request.device.clone().or_else(|| log.run.device.clone());
    let mut shown = name.clone();
    if let (Some(name), Some(dtype)) = (&name, dtype) {
        let catalogue = device::catalogue(request.device_file.as_deref())?;
        match catalogue.peak(name, dtype) {
            Ok(peak) => {
                shown = Some(peak.device);
                match catalogue.find(name) {
                    Ok(found) => run.set_device(found, dtype).map_err(refused)?,
                    Err(_) => run.set_peak(peak.flops_per_second).map_err(refused)?,
                }
            }
            Err(error) if request.device.is_some() && request.peak_tflops.is_none() => {
                return Err(unknown(&error));
            }
            Err(error) => warnings.push(error.to_string()),
        }
    } else if let (Some(name), None, None) = (&name, dtype, request.peak_tflops) {
        warnings.push(format!("The dtype of the arithmetic on {name} is not stated: give it with --dtype."));
    }
    if let Some(tflops) = request.peak_tflops {
        run.set_peak(device::stated_peak("--peak-tflops", tflops)?).map_err(refused)?;
    }
    Ok((shown, dtype.map(Dtype::name)))
}

fn unknown(error: &PeakError) -> VerbError {
    VerbError::new(error.to_string()).help("or give --peak-tflops")
}

/// What the line claims. A figure that stands at zero claims nothing.
fn claims(log: &ThroughputLog, line: &PrintedStep, known: &Known, warnings: &mut Vec<String>) -> Claims {
    let mut claim = |measure: Measure| {
        let printed = line.printed.get(&measure)?;
        if printed.value == 0.0 {
            warnings.push(format!("The log prints {} as zero: not audited.", measure.name()));
            return None;
        }
        Some(Claim { value: printed.value, rounding: printed.rounding })
    };
    let times =
        |claim: Claim, factor: f64| Claim { value: claim.value * factor, rounding: claim.rounding * factor };
    let inverse =
        |claim: Claim| Claim { value: 1.0 / claim.value, rounding: claim.rounding / claim.value.powi(2) };
    let seconds = claim(Measure::Seconds).or_else(|| claim(Measure::StepsPerSecond).map(inverse));
    let samples = claim(Measure::SamplesPerSecond).map(|rate| times(rate, known.sequence_length as f64));
    Claims {
        seconds,
        tokens_per_step: known.tokens_per_step(line),
        tokens_per_second: claim(Measure::TokensPerSecond).or(samples),
        tokens_per_second_per_device: claim(Measure::TokensPerSecondPerDevice),
        tflops_per_device: claim(Measure::TflopsPerDevice),
        peak_flops_per_second: log.run.peak_flops_per_second.map(|peak| Claim {
            value: peak,
            // Logs print peaks with four digits or fewer.
            rounding: peak * 5e-4,
        }),
        mfu: claim(Measure::Mfu),
    }
}

#[allow(clippy::too_many_arguments, reason = "all that a report shows")]
fn view(
    request: &AuditRequest,
    log: &ThroughputLog,
    line: &PrintedStep,
    run: &Run,
    known: &Known,
    claims: &Claims,
    (device, dtype): (Option<String>, Option<&'static str>),
    found: &audit::Audit,
    warnings: Vec<String>,
) -> MfuAuditView {
    let audited = AuditedLogView {
        file: label(&request.log),
        line: line.line,
        step: line.value(Measure::Step).map(|step| step as u64),
        lines: log.steps.len(),
        format: log.format,
        convention: log.convention,
    };
    let shown = AuditedRunView {
        model: run.model().to_owned(),
        sequence_length: known.sequence_length,
        devices: known.devices,
        tokens_per_step: claims.tokens_per_step,
        device,
        dtype,
        peak_flops_per_second: run.peak_flops_per_second(),
        tensor_parallel: known.tensor_parallel,
        context_parallel: known.context_parallel,
        pipeline_parallel: known.pipeline_parallel,
        gradient_accumulation: known.gradient_accumulation,
    };
    let read = ReadReport { files: vec![log.report.clone()] };
    MfuAuditView::new(audited, shown, found, request.tolerance, &read, warnings)
}
