//! RUN.yaml.

use std::path::Path;

use goodput_model::Architecture;
use serde::Deserialize;
use serde_json::Value;

use super::{
    Batch, ContextMethod, Framework, Layout, Optimizer, Precision, Recompute, Run, RunError, Schedule,
    Sharding,
};
use crate::cluster::{Cluster, Clusters};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    model: Value,
    cluster: Value,
    devices: u32,
    #[serde(default)]
    layout: LayoutFile,
    batch: Batch,
    #[serde(default = "bf16")]
    precision: PrecisionFile,
    #[serde(default)]
    recompute: RecomputeFile,
    #[serde(default)]
    optimizer: Optimizer,
    #[serde(default = "megatron")]
    framework: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
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
#[serde(untagged)]
enum PrecisionFile {
    Name(String),
    Detailed(PrecisionDetails),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PrecisionDetails {
    recipe: String,
    parameter_bytes: Option<u32>,
    gradient_bytes: Option<u32>,
    #[serde(default)]
    attention: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RecomputeFile {
    #[default]
    None,
    Selective,
    Cheap,
    EveryOtherProduct,
    Full,
    Layers(u32),
}

fn bf16() -> PrecisionFile {
    PrecisionFile::Name("bf16".to_owned())
}

fn megatron() -> String {
    "megatron-lm".to_owned()
}

impl Run {
    /// A run from YAML; `label` is the file's name for errors, `folder` where a model's own file is looked for.
    ///
    /// `model` is a known name, a path to a `config.json` of Hugging Face or to an architecture in YAML, or the
    /// architecture itself. `cluster` is a known name or the cluster itself. What is not stated: nothing is split or
    /// overlapped, replicas fill the devices, `bf16`, no recomputation, Adam, `megatron-lm`.
    ///
    /// # Errors
    /// [`RunError`] names the field, what was found and what to write.
    pub fn from_yaml(label: &str, text: &str, folder: &Path) -> Result<Self, RunError> {
        let syntax = |message: String| RunError::Yaml { label: label.to_owned(), message };
        let file: File = serde_saphyr::from_str(text).map_err(|error| syntax(error.to_string()))?;
        let field = |field: &str, message: String| RunError::Field {
            label: label.to_owned(),
            field: field.to_owned(),
            message,
        };
        let precision = precision(&file.precision).map_err(|error| field("precision", error.to_string()))?;
        let run = Self {
            architecture: architecture(&file.model, folder).map_err(|error| field("model", error))?,
            cluster: cluster(label, file.cluster).map_err(|error| field("cluster", error))?,
            devices: file.devices,
            layout: file.layout.layout(file.devices).map_err(|(name, error)| field(name, error))?,
            recompute: match file.recompute {
                RecomputeFile::None => Recompute::None,
                RecomputeFile::Selective => Recompute::AttentionCore,
                RecomputeFile::Cheap => Recompute::Cheap,
                RecomputeFile::EveryOtherProduct => Recompute::EveryOtherProduct,
                RecomputeFile::Full => Recompute::Full,
                RecomputeFile::Layers(layers) => Recompute::Layers(layers),
            },
            precision,
            optimizer: file.optimizer,
            batch: file.batch,
            framework: Framework::named(&file.framework)
                .map_err(|error| field("framework", error.to_string()))?,
            expert_imbalance: 1.0,
        };
        run.check(label)?;
        Ok(run)
    }
}

fn precision(file: &PrecisionFile) -> Result<Precision, super::UnknownPrecision> {
    match file {
        PrecisionFile::Name(name) => Precision::named(name),
        PrecisionFile::Detailed(details) => {
            let recipe = Precision::named(&details.recipe)?;
            Ok(Precision {
                parameter_bytes: details.parameter_bytes.unwrap_or(recipe.parameter_bytes),
                gradient_bytes: details.gradient_bytes.unwrap_or(recipe.gradient_bytes),
                low_precision_attention: details.attention,
                ..recipe
            })
        }
    }
}

fn architecture(model: &Value, folder: &Path) -> Result<Architecture, String> {
    let Value::String(name) = model else {
        let read: Architecture = serde_json::from_value(model.clone()).map_err(|error| error.to_string())?;
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

fn cluster(label: &str, cluster: Value) -> Result<Cluster, String> {
    if let Value::String(name) = &cluster {
        return Clusters::built_in().find(name).cloned().map_err(|error| error.to_string());
    }
    let read: Cluster = serde_json::from_value(cluster).map_err(|error| error.to_string())?;
    read.check(label).map_err(|error| error.to_string())?;
    Ok(read)
}

impl LayoutFile {
    fn layout(self, devices: u32) -> Result<Layout, (&'static str, String)> {
        let in_a_replica = u64::from(self.tp) * u64::from(self.cp) * u64::from(self.pp);
        if in_a_replica == 0 || !u64::from(devices).is_multiple_of(in_a_replica) {
            let message = format!(
                "tp {} x cp {} x pp {} = {in_a_replica} does not divide {devices} devices: choose degrees whose product does",
                self.tp, self.cp, self.pp
            );
            return Err(("layout", message));
        }
        let replicas = (u64::from(devices) / in_a_replica) as u32;
        let schedule = match (self.schedule, self.vpp) {
            (None | Some(ScheduleName::Interleaved), parts) if parts > 1 => Schedule::Interleaved { parts },
            (Some(_), parts) if parts > 1 => {
                return Err((
                    "layout.vpp",
                    format!("{parts} parts need `schedule: interleaved`, or leave vpp out"),
                ));
            }
            (Some(ScheduleName::Interleaved), _) => {
                return Err((
                    "layout.vpp",
                    "an interleaved schedule has several parts: give 2 or more".to_owned(),
                ));
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
            other => return Err(("layout.zero", format!("{other} is not known: give 0, 1, 2 or 3"))),
        };
        let bucket_bytes = match self.bucket_mb {
            Some(size) if !(size > 0.0 && size < 1e6) => {
                return Err((
                    "layout.bucket_mb",
                    format!("{size} MB is not possible: give more than 0, such as 25"),
                ));
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
