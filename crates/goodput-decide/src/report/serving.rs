//! A serving fleet's report read back. It is a type of its own: its ideals measure other resources than a training job's, so
//! that no decision on training reads it by mistake.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ReportError;
use super::exact::Exact;
use super::figures::{StatedCondition, WindowStamps, measured};
use crate::contract;

/// What of `goodput.serving/1` a decision needs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ServingReport {
    /// Title, when the user gave one.
    pub title: Option<String>,
    /// What the figures are measured over.
    pub contract: ServingContract,
    /// A row a deployment and device.
    pub rows: Vec<ServingRow>,
}

/// What the figures are measured over.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ServingContract {
    /// The window.
    pub window: WindowStamps,
    /// `in_service` or `held`.
    pub denominator: String,
    /// Most devices at any time.
    pub devices: u64,
    /// The conditions of the measurement contract.
    pub conditions: Vec<StatedCondition>,
}

impl ServingContract {
    /// The measurement contract.
    ///
    /// # Errors
    /// The name of a condition that is none.
    pub fn measured(&self) -> Result<contract::Contract, String> {
        measured(&self.conditions)
    }
}

/// A deployment on one kind of device.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ServingRow {
    /// Its name.
    pub deployment: String,
    /// What its ideals rest on.
    pub basis: ServingIdeals,
    /// Lives of replicas in the window.
    pub lives: u64,
    /// Held by whole replicas.
    pub held_ns: Exact,
    /// Held time by use (`unsettled_ns`, …).
    pub uses: BTreeMap<String, Exact>,
    /// Ready.
    pub ready_ns: Exact,
    /// What was served.
    pub work: ServingWork,
    /// Measures by their stable words.
    pub measures: Vec<ServingMeasure>,
    /// Whole days of the window.
    #[serde(default)]
    pub days: Vec<ServingDay>,
}

/// What ideals rest on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ServingIdeals {
    /// The device.
    pub device: Option<String>,
    /// dtype of the arithmetic.
    pub dtype: Option<String>,
    /// Peak memory bandwidth of one device, bytes/s.
    pub bytes_per_second: Option<u64>,
    /// Dense peak of one device, FLOP/s.
    pub flops_per_second: Option<u64>,
    /// Bytes of weights that one decode step must read.
    pub weight_bytes: Option<u64>,
}

/// What was served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ServingWork {
    /// Tokens generated.
    pub decode_tokens: Exact,
    /// Prompt tokens.
    pub prefill_tokens: Exact,
    /// Decode time at the floor of the weights.
    pub decode_ideal_weights_ns: Option<Exact>,
    /// Prefill time at the arithmetic peak.
    pub prefill_ideal_ns: Option<Exact>,
    /// Ready time of which no usable sample tells what it did.
    pub work_unknown_ns: Exact,
}

/// A measure.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ServingMeasure {
    /// Its stable word.
    pub key: String,
    /// The figure.
    pub value: Option<f64>,
}

/// One day of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ServingDay {
    /// Held and free devices of the pool, where it is the row's alone.
    pub offered_ns: Option<Exact>,
    /// Held.
    pub held_ns: Exact,
    /// Ready.
    pub ready_ns: Exact,
    /// Decode time at the floor of the weights.
    pub decode_ideal_ns: Option<Exact>,
    /// Prefill time at the arithmetic peak.
    pub prefill_ideal_ns: Option<Exact>,
}

impl ServingReport {
    /// The word under `schema` in its JSON.
    pub const SCHEMA: &'static str = "goodput.serving/1";

    /// Reads a report from the text of its JSON. `label` names it in errors.
    ///
    /// # Errors
    /// [`ReportError`] with line and column.
    pub fn read(label: &str, json: &[u8]) -> Result<Self, ReportError> {
        serde_json::from_slice(json).map_err(|e| ReportError::malformed(label, &e))
    }
}

impl ServingRow {
    /// A measure by its word.
    #[must_use]
    pub fn measure(&self, key: &str) -> Option<f64> {
        self.measures.iter().find(|measure| measure.key == key)?.value
    }

    /// Its name and device.
    #[must_use]
    pub fn name(&self) -> String {
        let deployment = if self.deployment.is_empty() { "deployment" } else { &self.deployment };
        format!("{deployment} on {}", self.basis.device.as_deref().unwrap_or("unknown device"))
    }
}
