//! A fleet of inference replicas from its own log.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;

use goodput_core::records::Symbol;
use goodput_core::serving::{RowIdeal, ServingError, ServingRecords, WorkPhase, account, days};
use goodput_core::{Timestamp, Warning};
use goodput_model::device::{Catalogue, Dtype};
use goodput_model::{Architecture, Batch, FlopCounter, Recompute, Training};
use goodput_records::ReadReport;
use goodput_records::serving::read_serving;
use goodput_report::{ServingBasis, ServingView, TracedDecodeView};
use goodput_trace::partition::Charge;
use serde::Deserialize;

use crate::error::VerbError;
use crate::inputs::{Inputs, label};
use crate::request::{ReportRequest, WindowRequest};
use crate::trace::{self, Progress, TraceRequest};
use crate::{Answer, contract, device, model, time_argument};

/// `goodput serving`: logs of replicas, and what is known beside them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServingRequest {
    /// The logs.
    pub files: Vec<PathBuf>,
    /// Model name, `config.json` or our YAML, over what the logs say.
    pub model: Option<String>,
    /// Device name, over what the logs say.
    pub device: Option<String>,
    /// More devices than the catalogue's own.
    pub device_file: Option<PathBuf>,
    /// dtype of the arithmetic, over what the logs say.
    pub dtype: Option<String>,
    /// Bits of a weight, over what the logs say.
    pub weight_bits: Option<u32>,
    /// Bits of a cached value, over what the logs say.
    pub kv_bits: Option<u32>,
    /// Traces of decode steps.
    pub traces: Vec<PathBuf>,
    /// What is known of the measurement beside the logs (`examples/contract.yaml`).
    pub contract: Option<PathBuf>,
    /// The window.
    pub window: WindowRequest,
    /// The report.
    pub report: ReportRequest,
}

/// Reads the logs and accounts the fleet.
///
/// # Errors
/// [`VerbError`] when a log, a model or a trace cannot be read, the logs place no replica, or the request names what is
/// not known.
pub fn serving(
    request: &ServingRequest,
    inputs: &mut Inputs,
    progress: Progress<'_>,
) -> Result<Answer<ServingView>, VerbError> {
    let zone = time_argument::zone(&request.window)?;
    let ends = time_argument::bounds(&request.window, zone.as_ref())?;
    let mut records = ServingRecords::default();
    for path in &request.files {
        let source = inputs.open(path)?;
        let report = read_serving(&label(path), inputs.next(), source, &mut records)?;
        inputs.read(report);
    }
    let traced = traced(request, inputs, progress)?;
    let catalogue = device::catalogue(request.device_file.as_deref())?;
    let has_prefill = prefilling(&records);
    let deployments = (0..records.deployments.len())
        .map(|index| Known::of(request, &records, index, has_prefill[index]))
        .collect::<Result<Vec<_>, _>>()?;
    fill_flops(&deployments, &mut records)?;
    let mut bases: HashMap<(u32, Symbol), ServingBasis> = HashMap::new();
    for event in &records.events {
        let deployment = records.replicas[event.replica as usize].deployment;
        if let Entry::Vacant(new) = bases.entry((deployment, event.device)) {
            let placed_on = records.symbols.get(event.device);
            new.insert(deployments[deployment as usize].basis(request, &catalogue, placed_on)?);
        }
    }
    let ideal =
        |deployment: u32, device: Symbol| bases.get(&(deployment, device)).map(row_ideal).unwrap_or_default();
    let mut account =
        account(&mut records, ends, ideal).map_err(|why| refused(&why, ends, &inputs.report))?;
    let of_rows: Vec<ServingBasis> = account
        .rows
        .iter()
        .map(|row| bases.get(&(row.deployment, row.device)).cloned().unwrap_or_default())
        .collect();
    for (row, basis) in account.rows.iter().zip(&of_rows) {
        if row.decode.samples + row.prefill.samples > 0 && !basis.missing.is_empty() {
            let deployment = &records.deployments[row.deployment as usize];
            account.warnings.push(Warning {
                code: "ideal_unknown",
                message: basis.missing.join("; "),
                source: Some(deployment.source),
            });
        }
    }
    let mut view =
        ServingView::new(&account, &records, &of_rows, traced, &inputs.report, &request.report.settings()?);
    contract::state(request.contract.as_deref(), |label, yaml| view.contract.known.state(label, yaml))?;
    let days = days(&records, account.window, ideal).map_err(|why| VerbError::new(why.to_string()))?;
    view.add_days(&account, &days);
    let falls_short = inputs.report.is_degraded() || !account.warnings.is_empty();
    Ok(Answer { view, falls_short })
}

fn refused(why: &ServingError, ends: (Option<Timestamp>, Option<Timestamp>), read: &ReadReport) -> VerbError {
    let remedy = match why {
        ServingError::NothingPlaced => "log the event placed with its devices (docs/serving-format.md)",
        ServingError::EmptyWindow(_) if ends == (None, None) => "the log holds one instant: give --to",
        ServingError::EmptyWindow(_) => "the window is half-open: --to must be after --from",
    };
    // A refused line may be the placement that is missing.
    let first = read.files.iter().find_map(|file| Some((&file.path, file.findings.first()?)));
    let message = match first.filter(|_| *why == ServingError::NothingPlaced) {
        Some((path, finding)) => {
            format!("{why}; {path}:{} {}: {}", finding.line, finding.field, finding.message)
        }
        None => why.to_string(),
    };
    VerbError::new(message).help(remedy)
}

fn row_ideal(basis: &ServingBasis) -> RowIdeal {
    RowIdeal {
        bytes_per_second: basis.bytes_per_second,
        flops_per_second: basis.flops_per_second,
        weight_bytes: basis.weight_bytes,
        kv_bytes_per_token: basis.kv_bytes_per_token,
    }
}

/// What is known of a deployment's model: stated by the user, else by its log.
struct Known {
    dtype: Option<String>,
    device: Option<String>,
    architecture: Option<Architecture>,
    weights: Option<(u64, String)>,
    kv: Option<(u64, String)>,
    flops_per_token: Option<u64>,
    has_prefill: bool,
    missing: Vec<String>,
}

/// Bits of a value of a dtype, for weights that are stored as they multiply.
fn bits(dtype: Dtype) -> Option<u32> {
    match dtype.name() {
        "bf16" | "fp16" => Some(16),
        "fp8" | "int8" => Some(8),
        "fp4" => Some(4),
        _ => None,
    }
}

impl Known {
    fn of(
        request: &ServingRequest,
        records: &ServingRecords,
        index: usize,
        has_prefill: bool,
    ) -> Result<Self, VerbError> {
        let declared = &records.deployments[index];
        let mut missing = Vec::new();
        // A model that the log names and nobody knows costs the ideals; one that the user names is refused.
        let architecture = match (&request.model, &declared.model) {
            (Some(name), _) => Some(model::architecture(name)?),
            (None, Some(name)) => match model::architecture(name) {
                Ok(architecture) => Some(architecture),
                Err(why) if declared.weight_bytes.is_none() => {
                    missing.push(format!("model {name}: {why}"));
                    None
                }
                Err(_) => None,
            },
            (None, None) => None,
        };
        let dtype = request.dtype.clone().or_else(|| declared.dtype.clone());
        let parsed = dtype.as_deref().map(str::parse::<Dtype>).transpose();
        let parsed = parsed.map_err(|why| VerbError::new(format!("dtype: {why}")))?;
        let weight_bits = request.weight_bits.or(declared.weight_bits).or(parsed.and_then(bits));
        let kv_bits =
            request.kv_bits.or(declared.kv_bits).or(parsed.and_then(bits).filter(|bits| *bits == 16));
        let logged = |bytes: Option<u64>| bytes.map(|bytes| (bytes, "stated by the log".to_owned()));
        let stated = |bytes| logged(bytes).filter(|_| request.model.is_none());
        let weights = match stated(declared.weight_bytes) {
            Some(weights) => Some(weights),
            None => {
                architecture.as_ref().zip(weight_bits).map(|(a, bits)| weights_of(a, bits)).transpose()?
            }
        };
        if weights.is_none() && missing.is_empty() {
            missing.push(match architecture {
                Some(_) => "bits of a weight: state --dtype or --weight-bits".to_owned(),
                None => "weights: state --model, or weight_bytes in the log's header".to_owned(),
            });
        }
        let kv = match stated(declared.kv_bytes_per_token) {
            Some(kv) => Some(kv),
            None => match architecture.as_ref().zip(kv_bits) {
                Some((architecture, bits)) => kv_of(architecture, bits)?,
                None => None,
            },
        };
        Ok(Self {
            dtype,
            device: request.device.clone().or_else(|| declared.device.clone()),
            weights,
            kv,
            flops_per_token: declared.prefill_flops_per_token,
            has_prefill,
            architecture,
            missing,
        })
    }

    fn basis(
        &self,
        request: &ServingRequest,
        catalogue: &Catalogue,
        placed_on: &str,
    ) -> Result<ServingBasis, VerbError> {
        let text = self.architecture.as_ref().and_then(|a| a.text.as_ref());
        let mut basis = ServingBasis {
            dtype: self.dtype.clone(),
            weight_bytes: self.weights.as_ref().map(|(bytes, _)| *bytes),
            weights_from: self.weights.as_ref().map(|(_, from)| from.clone()),
            kv_bytes_per_token: self.kv.as_ref().map(|(bytes, _)| *bytes),
            kv_from: self.kv.as_ref().map(|(_, from)| from.clone()),
            flops_from: self.flops_from(),
            layers: text.map(|text| text.decoder.iter().map(|group| group.blocks).sum()),
            width: text.map(|text| text.width),
            missing: self.missing.clone(),
            ..ServingBasis::default()
        };
        let named = request.device.as_deref().or(Some(placed_on).filter(|name| !name.is_empty()));
        let Some(name) = named.or(self.device.as_deref()) else {
            basis.missing.push("device: state --device, or device in the log".to_owned());
            return Ok(basis);
        };
        let device = match catalogue.find(name) {
            Ok(device) => device,
            Err(why) if request.device.is_some() => return Err(VerbError::new(format!("--device: {why}"))),
            Err(why) => {
                basis.device = Some(name.to_owned());
                basis.missing.push(format!("device {name}: {why}"));
                return Ok(basis);
            }
        };
        basis.device = Some(device.name.clone());
        let units = f64::from(device.devices_per_unit.max(1));
        let bandwidth = device.memory_bytes_per_second.and_then(|figure| figure.exact());
        basis.bytes_per_second = bandwidth.map(|rate| (rate / units) as u64);
        if basis.bytes_per_second.is_none() {
            basis.missing.push(format!("memory bandwidth of {}: state it with --device-file", device.name));
        }
        basis.link_bytes_per_second = device
            .scaleup
            .as_ref()
            .and_then(|link| link.bidirectional_bytes_per_second)
            .map(|rate| rate / 2.0 / units);
        match self.dtype.as_deref().map(str::parse::<Dtype>) {
            Some(Ok(dtype)) => match device.peak(dtype) {
                Ok(peak) => basis.flops_per_second = Some(peak as u64),
                Err(why) if self.has_prefill => basis.missing.push(why.to_string()),
                Err(_) => {}
            },
            _ if self.has_prefill => {
                basis.missing.push("dtype of the arithmetic, for prefill: state --dtype".to_owned())
            }
            _ => {}
        }
        Ok(basis)
    }

    fn flops_from(&self) -> Option<String> {
        self.has_prefill.then_some(())?;
        match (&self.architecture, self.flops_per_token) {
            (Some(model), _) => Some(format!("of {} at the mean length of a sample's prompts", model.name)),
            (None, Some(each)) => Some(format!("{each:e} a prompt token, stated by the log")),
            (None, None) => None,
        }
    }
}

/// Which deployments prefill.
fn prefilling(records: &ServingRecords) -> Vec<bool> {
    let mut found = vec![false; records.deployments.len()];
    for sample in records.samples.iter().filter(|sample| sample.phase == WorkPhase::Prefill) {
        found[records.replicas[sample.replica as usize].deployment as usize] = true;
    }
    found
}

/// FLOPs of each prefill sample that states none: of the model at the mean length of its prompts, else a token's.
fn fill_flops(deployments: &[Known], records: &mut ServingRecords) -> Result<(), VerbError> {
    let counter = |known: &Known| {
        let model = known.architecture.as_ref().filter(|_| known.has_prefill);
        model.map(|model| FlopCounter::new(model, &Training::full())).transpose()
    };
    let counters = deployments.iter().map(counter).collect::<Result<Vec<_>, _>>()?;
    let mut of_length: HashMap<(u32, u64), Option<u128>> = HashMap::new();
    let ServingRecords { samples, replicas, .. } = records;
    for sample in samples.iter_mut().filter(|s| s.phase == WorkPhase::Prefill && s.flops.is_none()) {
        let deployment = replicas[sample.replica as usize].deployment;
        let length = sample.tokens.checked_div(sample.steps).filter(|length| *length > 0);
        let of_model = counters[deployment as usize].as_ref().zip(length).and_then(|(counter, length)| {
            let each = of_length.entry((deployment, length)).or_insert_with(|| {
                let batch = Batch::documents(&[length]).ok()?;
                Some(counter.count(&batch, Recompute::None).ok()?.useful().forward)
            });
            Some((*each)?.saturating_mul(sample.steps.into()))
        });
        let each = deployments[deployment as usize].flops_per_token;
        sample.flops = of_model.or_else(|| Some(u128::from(each?).saturating_mul(sample.tokens.into())));
    }
    Ok(())
}

/// Weights that one token passes, without the rows of the input embedding that it does not read.
fn weights_of(architecture: &Architecture, bits: u32) -> Result<(u64, String), VerbError> {
    let parameters = architecture.parameters()?;
    let lookup = if parameters.tied { 0 } else { parameters.input_embedding };
    let read = parameters.active.saturating_sub(lookup).saturating_sub(parameters.position_embedding);
    let bytes = (read * u128::from(bits)).div_ceil(8);
    let experts = if parameters.active < parameters.total { ", experts of one token" } else { "" };
    let from = format!("of {} at {bits} bits, input embedding left out{experts}", architecture.name);
    Ok((u64::try_from(bytes).unwrap_or(u64::MAX), from))
}

/// `None` for a cache that does not grow evenly: its bytes are to be stated.
fn kv_of(architecture: &Architecture, bits: u32) -> Result<Option<(u64, String)>, VerbError> {
    let cache = architecture.cache()?;
    if !cache.windowed.is_empty() || cache.per_document > 0 || cache.per_token == 0 {
        return Ok(None);
    }
    let bytes = u64::try_from(cache.bytes_per_token(bits)).unwrap_or(u64::MAX);
    Ok(Some((bytes, format!("of {} at {bits} bits", architecture.name))))
}

/// A decode step by charge, from traces.
fn traced(
    request: &ServingRequest,
    inputs: &mut Inputs,
    progress: Progress<'_>,
) -> Result<Option<TracedDecodeView>, VerbError> {
    if request.traces.is_empty() {
        return Ok(None);
    }
    let traces = TraceRequest { paths: request.traces.clone(), ..TraceRequest::default() };
    let (analysis, set) = trace::analysed(&traces, Catalogue::built_in(), progress)?;
    inputs.traces(&set.files);
    let amounts = analysis.amounts();
    let total: i64 = amounts.values().sum();
    if total <= 0 {
        let paths: Vec<String> = request.traces.iter().map(|path| label(path)).collect();
        return Err(VerbError::new(format!("--trace {}: no step with device work", paths.join(" ")))
            .help("trace a few decode steps with the device's activities (docs/trace.md)"));
    }
    let share = |of: &dyn Fn(Charge) -> bool| {
        amounts.iter().filter(|(charge, _)| of(**charge)).map(|(_, ns)| ns).sum::<i64>() as f64 / total as f64
    };
    Ok(Some(TracedDecodeView {
        steps: analysis.judged_steps() as u64,
        total_ns: total,
        compute_share: share(&Charge::is_compute),
        exchange_share: share(&Charge::is_communication),
        dispatch_share: share(&|charge| matches!(charge, Charge::HostLate(_))),
        launch_share: share(&|charge| matches!(charge, Charge::LaunchLatency | Charge::StreamDependency)),
        memory_share: share(&Charge::is_memory),
        unattributed_share: share(&|charge| charge == Charge::Unattributed),
    }))
}
