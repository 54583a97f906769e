//! RUN.yaml.

use std::path::Path;

use goodput_model::Architecture;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::keys::{self, FieldError};
use super::packing::{LengthDistribution, MOST_DOCUMENTS, Packing};
use super::{
    Batch, ContextMethod, Layout, Module, Modules, Offload, Optimizer, Precision, Recompute, Run, RunError,
    Schedule, Sharding, framework_file, hardware,
};

/// The keys of RUN.yaml, in the order in which a person writes them.
pub const KEYS: &[&str] = &[
    "model",
    "cluster",
    "devices",
    "layout",
    "batch",
    "precision",
    "recompute",
    "optimizer",
    "framework",
    "expert_imbalance",
    "offload",
];

const LAYOUT_KEYS: &[&str] = &[
    "tp",
    "sp",
    "cp",
    "cp_method",
    "pp",
    "vpp",
    "schedule",
    "ep",
    "etp",
    "dp",
    "zero",
    "reshard_after_forward",
    "shard_size",
    "bucket_mb",
    "overlap_gradients",
    "overlap_parameters",
    "overlap_tensor",
    "overlap_experts",
    "moe_a2a_overlap",
    "overlap_expert_exchange",
    "overlap_shared_experts",
    "moe_shared_expert_overlap",
    "uneven_ends",
];

#[derive(Debug, Deserialize)]
#[serde(default)]
struct LayoutFile {
    tp: u32,
    sp: bool,
    cp: u32,
    cp_method: ContextMethod,
    pp: u32,
    vpp: u32,
    schedule: Option<ScheduleName>,
    ep: u32,
    etp: Option<u32>,
    dp: Option<u32>,
    zero: u8,
    reshard_after_forward: bool,
    shard_size: Option<u32>,
    bucket_mb: Option<f64>,
    overlap_gradients: bool,
    overlap_parameters: bool,
    overlap_tensor: bool,
    #[serde(alias = "moe_a2a_overlap", alias = "overlap_expert_exchange")]
    overlap_experts: bool,
    #[serde(alias = "moe_shared_expert_overlap")]
    overlap_shared_experts: bool,
    uneven_ends: [u32; 2],
}

impl Default for LayoutFile {
    fn default() -> Self {
        Self {
            tp: 1,
            sp: false,
            cp: 1,
            cp_method: ContextMethod::default(),
            pp: 1,
            vpp: 1,
            schedule: None,
            ep: 1,
            etp: None,
            dp: None,
            zero: 0,
            reshard_after_forward: true,
            shard_size: None,
            bucket_mb: None,
            overlap_gradients: false,
            overlap_parameters: false,
            overlap_tensor: false,
            overlap_experts: false,
            overlap_shared_experts: false,
            uneven_ends: [0, 0],
        }
    }
}

impl LayoutFile {
    /// Without degrees and schedule, which a search chooses.
    fn switches(self) -> Self {
        let Self { tp, cp, pp, vpp, schedule, ep, etp, dp, .. } = Self::default();
        Self { tp, cp, pp, vpp, schedule, ep, etp, dp, ..self }
    }
}

/// What a run is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Prediction,
    Search,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ScheduleName {
    Gpipe,
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
    Interleaved,
    #[serde(rename = "zb-h1")]
    ZeroBubbleH1,
    #[serde(rename = "zb-2p")]
    ZeroBubble2p,
    #[serde(rename = "dualpipe")]
    DualPipe,
}

#[derive(Debug, Deserialize)]
struct BatchFile {
    sequence: u64,
    micro: u64,
    global: u64,
    documents: Option<Vec<u64>>,
    packing: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct PackingFile {
    mean_length: f64,
    #[serde(default)]
    distribution: LengthDistribution,
    #[serde(default)]
    padding: f64,
}

#[derive(Debug, Deserialize)]
struct PrecisionFile {
    recipe: String,
    parameter_bytes: Option<u32>,
    gradient_bytes: Option<u32>,
    #[serde(default)]
    attention: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OffloadFile {
    activations: f64,
    optimizer: bool,
}

impl Run {
    /// A run from YAML; `label` is the file's name for errors, `folder` where a model's own file is looked for.
    ///
    /// `model` is a known name, a path to a `config.json` of Hugging Face or to an architecture in YAML, or the
    /// architecture itself. `cluster` is a known name, the cluster itself, or what differs from a known one (`like`); its device
    /// is a known name or the device itself. What is not stated: nothing is split or overlapped, replicas fill the devices,
    /// `bf16`, no recomputation, Adam, `megatron-lm`, one document a sequence, even loads of experts, nothing offloaded.
    ///
    /// # Errors
    /// [`RunError`] names the line, the field, what was found and what to write.
    pub fn from_yaml(label: &str, text: &str, folder: &Path) -> Result<Self, RunError> {
        Self::read(label, text, folder, Purpose::Prediction)
    }

    /// A run whose layout is to be found: the same file, of whose layout only the switches count, so that its degrees and schedule need
    /// not fit.
    ///
    /// # Errors
    /// As [`Run::from_yaml`].
    pub fn for_search(label: &str, text: &str, folder: &Path) -> Result<Self, RunError> {
        Self::read(label, text, folder, Purpose::Search)
    }

    fn read(label: &str, text: &str, folder: &Path, purpose: Purpose) -> Result<Self, RunError> {
        let root: Value = serde_saphyr::from_str(text).map_err(|error| RunError::Yaml {
            label: label.to_owned(),
            message: keys::syntax(&error.to_string()),
        })?;
        let placed = |field: &str| match line_of(text, field) {
            Some(line) => format!("{label}, line {line}"),
            None => label.to_owned(),
        };
        let run = read(label, &root, folder, purpose).map_err(|FieldError { field, message }| {
            RunError::Field { label: placed(&field), field, message }
        })?;
        // A profile's own kernel is that of its time: where the device has another, that one runs.
        let states_kernel = root.get("framework").is_some_and(|of| of.get("attention_kernel").is_some());
        let checked = match purpose {
            Purpose::Prediction => run.check(label),
            Purpose::Search => run.check_without_layout(label),
        };
        let checked = checked.and_then(|()| if states_kernel { run.check_attention(label) } else { Ok(()) });
        checked.map_err(|error| match error {
            RunError::Field { field, message, .. } => {
                RunError::Field { label: placed(&field), field, message }
            }
            other => other,
        })?;
        Ok(run)
    }
}

/// The first line on which the last name of a field stands as a key.
fn line_of(text: &str, field: &str) -> Option<usize> {
    let is_part = |char: char| char.is_alphanumeric() || char == '_' || char == '-';
    let holds = |line: &str, key: &str| {
        line.match_indices(key).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + key.len()..]);
            !before.ends_with(is_part) && after.trim_start_matches(['"', '\'']).trim_start().starts_with(':')
        })
    };
    let names = field.rsplit('.').filter(|name| !name.is_empty());
    names.into_iter().find_map(|key| text.lines().position(|line| holds(line, key))).map(|at| at + 1)
}

fn read(label: &str, root: &Value, folder: &Path, purpose: Purpose) -> Result<Run, FieldError> {
    let Value::Object(root) = root else {
        return Err(FieldError::new("model", "the file is no mapping: examples/run.yaml has every field"));
    };
    if let Some(key) = root.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(FieldError::new(key, keys::unknown(key, KEYS)));
    }
    let devices: u32 = required(root, "devices")?;
    if devices == 0 {
        return Err(FieldError::new("devices", "0 is not possible: give at least 1"));
    }
    let batch: BatchFile =
        keys::read("batch", value(root, "batch")?, &["sequence", "micro", "global", "documents", "packing"])?;
    let layout = match root.get("layout") {
        Some(layout) => keys::read::<LayoutFile>("layout", layout, LAYOUT_KEYS)?,
        None => LayoutFile::default(),
    };
    let layout = if purpose == Purpose::Search { layout.switches() } else { layout };
    Ok(Run {
        architecture: architecture(value(root, "model")?, folder)
            .map_err(|error| FieldError::new("model", error))?,
        cluster: hardware::cluster(label, value(root, "cluster")?)?,
        devices,
        layout: layout.layout(devices)?,
        recompute: root.get("recompute").map_or(Ok(Recompute::None), recompute)?,
        precision: match root.get("precision") {
            Some(stated) => precision(stated)?,
            None => Precision::named("bf16").map_err(|error| FieldError::new("precision", error))?,
        },
        optimizer: optional::<Optimizer>(root, "optimizer")?.unwrap_or_default(),
        packing: packing(&batch)?,
        batch: Batch { sequence: batch.sequence, micro: batch.micro, global: batch.global },
        framework: framework_file::framework(root.get("framework").unwrap_or(&Value::from("megatron-lm")))?,
        expert_imbalance: optional(root, "expert_imbalance")?.unwrap_or(1.0),
        offload: match root.get("offload") {
            Some(stated) => {
                let file: OffloadFile = keys::read("offload", stated, &["activations", "optimizer"])?;
                Offload { activations: file.activations, optimizer: file.optimizer }
            }
            None => Offload::default(),
        },
    })
}

fn value<'a>(root: &'a Map<String, Value>, field: &str) -> Result<&'a Value, FieldError> {
    root.get(field)
        .ok_or_else(|| FieldError::new(field, "is missing: add it (examples/run.yaml has every field)"))
}

fn required<T: DeserializeOwned>(root: &Map<String, Value>, field: &str) -> Result<T, FieldError> {
    value(root, field).and_then(|value| typed(field, value))
}

fn optional<T: DeserializeOwned>(root: &Map<String, Value>, field: &str) -> Result<Option<T>, FieldError> {
    root.get(field).map(|value| typed(field, value)).transpose()
}

fn typed<T: DeserializeOwned>(field: &str, value: &Value) -> Result<T, FieldError> {
    T::deserialize(value).map_err(|error| FieldError::new(field, keys::plain(&error)))
}

/// A word, a number of layers, or names of modules.
fn recompute(value: &Value) -> Result<Recompute, FieldError> {
    const EXPECTED: &str = "expected none, selective, cheap, every-other-product, full, {layers: 4} or \
                            {modules: [layernorm, moe_act]}";
    let refuse = || FieldError::new("recompute", format!("found {value}, {EXPECTED}"));
    match value {
        Value::Null => Ok(Recompute::None),
        Value::String(word) => match word.as_str() {
            "none" => Ok(Recompute::None),
            "selective" => Ok(Recompute::AttentionCore),
            "cheap" => Ok(Recompute::Cheap),
            "every-other-product" | "op" => Ok(Recompute::EveryOtherProduct),
            "full" => Ok(Recompute::Full),
            _ => Err(refuse()),
        },
        Value::Object(mapping) => match mapping.iter().next() {
            Some((key, layers)) if key == "layers" && mapping.len() == 1 => {
                Ok(Recompute::Layers(typed("recompute.layers", layers)?))
            }
            Some((key, names)) if key == "modules" && mapping.len() == 1 => {
                let names: Vec<String> = typed("recompute.modules", names)?;
                if names.is_empty() {
                    return Err(FieldError::new(
                        "recompute.modules",
                        "names no module: name one, or write none",
                    ));
                }
                let known = Module::NAMED.map(|(name, _)| name);
                let one = |name: &String| {
                    Module::named(name).ok_or_else(|| {
                        let message = format!("{name:?} {}", keys::unknown(name, &known));
                        FieldError::new("recompute.modules", message)
                    })
                };
                Ok(Recompute::Modules(names.iter().map(one).collect::<Result<Modules, _>>()?))
            }
            _ => Err(refuse()),
        },
        _ => Err(refuse()),
    }
}

fn precision(value: &Value) -> Result<Precision, FieldError> {
    let named =
        |field: &str, name: &str| Precision::named(name).map_err(|error| FieldError::new(field, error));
    if let Value::String(name) = value {
        return named("precision", name);
    }
    let known = ["recipe", "parameter_bytes", "gradient_bytes", "attention"];
    let details: PrecisionFile = keys::read("precision", value, &known)?;
    let recipe = named("precision.recipe", &details.recipe)?;
    let bytes = |field: &str, stated: Option<u32>, usual: u32| match stated {
        Some(1 | 2 | 4) | None => Ok(stated.unwrap_or(usual)),
        Some(other) => Err(FieldError::new(field, format!("{other} bytes a number: give 1, 2 or 4"))),
    };
    Ok(Precision {
        parameter_bytes: bytes("precision.parameter_bytes", details.parameter_bytes, recipe.parameter_bytes)?,
        gradient_bytes: bytes("precision.gradient_bytes", details.gradient_bytes, recipe.gradient_bytes)?,
        low_precision_attention: details.attention,
        ..recipe
    })
}

/// Documents of a sequence, listed or drawn around a mean.
fn packing(batch: &BatchFile) -> Result<Packing, FieldError> {
    match (&batch.documents, &batch.packing) {
        (None, None) => Ok(Packing::default()),
        (Some(_), Some(_)) => Err(FieldError::new(
            "batch.packing",
            "stands beside `documents`: give the documents of a sequence or how long they are, not both",
        )),
        (Some(lengths), None) => {
            let sum: u128 = lengths.iter().map(|length| u128::from(*length)).sum();
            if lengths.is_empty() || lengths.len() as u64 > MOST_DOCUMENTS || lengths.contains(&0) {
                let message = format!("expected 1 to {MOST_DOCUMENTS} documents of at least 1 token");
                return Err(FieldError::new("batch.documents", message));
            }
            if sum > u128::from(batch.sequence) {
                let message = format!(
                    "{sum} tokens do not fit into a sequence of {}: list the documents of one sequence",
                    batch.sequence
                );
                return Err(FieldError::new("batch.documents", message));
            }
            Ok(Packing::of(lengths))
        }
        (None, Some(value)) => {
            let file: PackingFile =
                keys::read("batch.packing", value, &["mean_length", "distribution", "padding"])?;
            if !(0.0..1.0).contains(&file.padding) {
                let message = format!("{} is no share of a sequence: give 0 to below 1", file.padding);
                return Err(FieldError::new("batch.packing.padding", message));
            }
            let tokens = (batch.sequence as f64 * (1.0 - file.padding)).round() as u64;
            let least = tokens as f64 / MOST_DOCUMENTS as f64;
            if !(file.mean_length >= 1.0 && file.mean_length >= least && file.mean_length.is_finite()) {
                let message = format!(
                    "{} tokens are not possible: give at least {:.0}",
                    file.mean_length,
                    least.max(1.0).ceil()
                );
                return Err(FieldError::new("batch.packing.mean_length", message));
            }
            Ok(Packing::around(file.mean_length, file.distribution, tokens.max(1)))
        }
    }
}

fn architecture(model: &Value, folder: &Path) -> Result<Architecture, String> {
    let Value::String(name) = model else {
        let read: Architecture =
            serde_json::from_value(model.clone()).map_err(|error| keys::plain(&error))?;
        read.check().map_err(|error| error.to_string())?;
        return Ok(read);
    };
    let is_file = |endings: &[&str]| {
        Path::new(name)
            .extension()
            .is_some_and(|ending| endings.iter().any(|known| ending.eq_ignore_ascii_case(known)))
    };
    let read = || {
        let path = folder.join(name);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    if is_file(&["json"]) {
        Architecture::from_hugging_face(&read()?, name).map_err(|error| error.to_string())
    } else if is_file(&["yaml", "yml"]) {
        Architecture::from_yaml(&read()?, name).map_err(|error| error.to_string())
    } else {
        Architecture::known(name).map_err(|error| error.to_string())
    }
}

impl LayoutFile {
    fn layout(self, devices: u32) -> Result<Layout, FieldError> {
        let in_a_replica = [self.tp, self.cp, self.pp].into_iter().map(u128::from).product::<u128>();
        if in_a_replica == 0 || !u128::from(devices).is_multiple_of(in_a_replica) {
            let message = format!(
                "tp {} x cp {} x pp {} = {in_a_replica} does not divide {devices} devices: choose degrees whose product does",
                self.tp, self.cp, self.pp
            );
            return Err(FieldError::new("layout", message));
        }
        let replicas = (u128::from(devices) / in_a_replica) as u32;
        let schedule = match (self.schedule, self.vpp) {
            (_, 0) => return Err(FieldError::new("layout.vpp", "0 parts of a stage: give at least 1")),
            (None | Some(ScheduleName::Interleaved), parts) if parts > 1 => Schedule::Interleaved { parts },
            (Some(_), parts) if parts > 1 => {
                let message = format!("{parts} parts need `schedule: interleaved`, or leave vpp out");
                return Err(FieldError::new("layout.vpp", message));
            }
            (Some(ScheduleName::Interleaved), _) => {
                let message = "an interleaved schedule has several parts: give 2 or more";
                return Err(FieldError::new("layout.vpp", message));
            }
            (None | Some(ScheduleName::OneForwardOneBackward), _) => Schedule::OneForwardOneBackward,
            (Some(ScheduleName::Gpipe), _) => Schedule::GPipe,
            (Some(ScheduleName::ZeroBubbleH1), _) => Schedule::ZeroBubbleH1,
            (Some(ScheduleName::ZeroBubble2p), _) => Schedule::ZeroBubble2p,
            (Some(ScheduleName::DualPipe), _) => Schedule::DualPipe,
        };
        let sharding = match self.zero {
            0 => Sharding::None,
            1 => Sharding::Optimizer,
            2 => Sharding::Gradients,
            3 => Sharding::Parameters { reshard_after_forward: self.reshard_after_forward },
            other => {
                let message = format!("{other} is not known: give 0, 1, 2 or 3");
                return Err(FieldError::new("layout.zero", message));
            }
        };
        let bucket_bytes = match self.bucket_mb {
            Some(size) if !(0.01..1e6).contains(&size) => {
                let message = format!("{size} MB is not possible: give 0.01 to 1,000,000, such as 25");
                return Err(FieldError::new("layout.bucket_mb", message));
            }
            size => size.map(|size| (size * 1e6) as u64),
        };
        Ok(Layout {
            tensor: self.tp,
            sequence_parallel: self.sp,
            context: self.cp,
            context_method: self.cp_method,
            pipeline: self.pp,
            schedule,
            expert: self.ep,
            expert_tensor: self.etp.unwrap_or(1),
            data: self.dp.unwrap_or(replicas),
            sharding,
            shard_size: self.shard_size,
            bucket_bytes,
            overlap_gradients: self.overlap_gradients,
            overlap_parameters: self.overlap_parameters,
            overlap_tensor: self.overlap_tensor,
            overlap_experts: self.overlap_experts,
            overlap_shared_experts: self.overlap_shared_experts,
            uneven_ends: self.uneven_ends,
        })
    }
}
