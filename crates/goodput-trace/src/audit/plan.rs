//! `MESH.yaml`: the mesh, how a transformer's tensors are split over it, and what a step processes.

use serde::Deserialize;

use super::Mesh;

/// What a step should communicate follows from this and the model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The model: a name of the catalogue, or a file. Whoever reads the plan resolves it.
    pub model: String,
    /// The mesh.
    pub mesh: Mesh,
    /// Which tensors are split along which axis.
    #[serde(default)]
    pub sharding: Sharding,
    /// What a step processes.
    pub batch: Batch,
    /// Bytes of one element.
    #[serde(default)]
    pub element_bytes: ElementBytes,
}

/// Which tensors are split along which axis. What is left out is not split.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sharding {
    /// Every matrix.
    pub tensor: Option<Tensor>,
    /// Replicas of the model, and what of it they share.
    pub data: Option<Data>,
    /// Layers.
    pub pipeline: Option<Pipeline>,
    /// Experts. The axis is one of replicas for all that is not an expert.
    pub expert: Option<Expert>,
    /// Tokens of a sequence.
    pub context: Option<Context>,
}

/// Tensor parallelism (Megatron-LM, section 3).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tensor {
    /// The axis.
    pub axis: String,
    /// Whether what is between the blocks is split by tokens (Korthikanti et al. 2022, section 4.2.2).
    #[serde(default)]
    pub sequence_parallel: bool,
    /// With sequence parallelism: whether the backward pass gathers the inputs of the products again, which the
    /// forward pass kept split.
    #[serde(default = "yes")]
    pub gathers_again: bool,
    /// Whether embedding and head are split by rows of the vocabulary.
    #[serde(default)]
    pub vocabulary: bool,
}

/// Replicas.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The axis whose ranks share what `shards` says, or hold it whole.
    pub axis: String,
    /// What the ranks of the axis share.
    #[serde(default)]
    pub shards: Shards,
    /// HSDP: the axis over which the shared model is replicated again.
    #[serde(default)]
    pub replicate_axis: Option<String>,
    /// With shared parameters: whether they are freed after the forward pass and gathered again for the backward.
    #[serde(default = "yes")]
    pub reshards_after_forward: bool,
}

/// What the ranks of the data axis share (ZeRO, section 5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shards {
    /// Nothing: gradients are summed.
    #[default]
    None,
    /// The optimizer's state (ZeRO 1): gradients are reduced and scattered once, parameters gathered once.
    Optimizer,
    /// Gradients too (ZeRO 2): they are reduced and scattered in every micro-batch.
    Gradients,
    /// Parameters too (ZeRO 3, FSDP): they are gathered layer by layer in every pass.
    Parameters,
}

/// Pipeline parallelism.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipeline {
    /// The axis.
    pub axis: String,
    /// Parts of the model on one rank (interleaved schedules).
    #[serde(default = "one")]
    pub parts_per_rank: u32,
}

/// Expert parallelism.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expert {
    /// The axis.
    pub axis: String,
}

/// Context parallelism.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    /// The axis.
    pub axis: String,
    /// How attention sees the tokens of other ranks.
    pub method: ContextMethod,
}

/// How attention sees the tokens of other ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextMethod {
    /// Keys and values pass from rank to rank (ring attention).
    Ring,
    /// Keys and values are gathered (Llama 3).
    AllGather,
    /// Heads and tokens change places (DeepSpeed-Ulysses).
    Ulysses,
}

/// What a step processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Tokens of one micro-batch of one replica, before they are split over the context axis.
    pub tokens: u64,
    /// Micro-batches of a step.
    #[serde(default = "one")]
    pub micro_batches: u32,
    /// Whether the backward pass computes every layer's forward pass again, exchanges included.
    #[serde(default)]
    pub recomputes: bool,
}

/// Bytes of one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ElementBytes {
    /// Of activations.
    pub activation: u32,
    /// Of parameters as they are gathered.
    pub parameter: u32,
    /// Of gradients as they are reduced.
    pub gradient: u32,
}

impl Default for ElementBytes {
    fn default() -> Self {
        Self { activation: 2, parameter: 2, gradient: 4 }
    }
}

/// Why a plan cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// No YAML, or a field that the format does not have.
    #[error("{name}: {message}")]
    Syntax {
        /// The file.
        name: String,
        /// What the parser says, with line and field.
        message: String,
    },
    /// A value that makes no sense.
    #[error("{field}: found {found}; expected {expected}")]
    Field {
        /// The field.
        field: String,
        /// What it says.
        found: String,
        /// What it should say.
        expected: String,
    },
    /// The model is none that the audit knows.
    #[error("model {name}: {problem}")]
    Model {
        /// The model.
        name: String,
        /// What is missing.
        problem: String,
    },
}

impl Plan {
    /// Reads a plan in YAML; `examples/mesh.yaml` is one.
    ///
    /// # Errors
    /// [`PlanError`] names `source` and the line, or the field, what it says and what it should.
    pub fn from_yaml(text: &str, source: &str) -> Result<Self, PlanError> {
        let plan: Self = serde_saphyr::from_str(text)
            .map_err(|error| PlanError::Syntax { name: source.to_owned(), message: error.to_string() })?;
        plan.check()?;
        Ok(plan)
    }

    /// Checks that the axes exist, are used once, and that every number makes sense.
    ///
    /// # Errors
    /// [`PlanError::Field`] for the first value that does not.
    pub fn check(&self) -> Result<(), PlanError> {
        self.mesh.check()?;
        let mut used: Vec<(&str, &str)> = Vec::new();
        for (field, axis) in self.axes() {
            let refuse = |expected: String| {
                let (field, found) = (field.to_owned(), format!("axis {axis}"));
                Err(PlanError::Field { field, found, expected })
            };
            if !self.mesh.axes.iter().any(|own| own.name == axis) {
                let names: Vec<_> = self.mesh.axes.iter().map(|own| own.name.as_str()).collect();
                return refuse(format!("an axis of the mesh: {}", names.join(", ")));
            }
            if let Some((other, _)) = used.iter().find(|(_, other)| *other == axis) {
                return refuse(format!("an axis of its own, since {other} uses this one"));
            }
            used.push((field, axis));
        }
        let refuse = |field: &str, found: String, expected: &str| {
            Err(PlanError::Field { field: field.to_owned(), found, expected: expected.to_owned() })
        };
        let replicates = self.sharding.data.as_ref().filter(|data| data.replicate_axis.is_some());
        if replicates.is_some_and(|data| data.shards != Shards::Parameters) {
            return refuse(
                "sharding.data.replicate_axis",
                "an axis".into(),
                "shards: parameters beside it (HSDP)",
            );
        }
        if self.sharding.pipeline.as_ref().is_some_and(|pipeline| pipeline.parts_per_rank == 0) {
            return refuse("sharding.pipeline.parts_per_rank", "0".into(), "at least 1");
        }
        if !(1..=Self::MOST_TOKENS).contains(&self.batch.tokens) {
            return refuse(
                "batch.tokens",
                self.batch.tokens.to_string(),
                "1 to 2^40 tokens of one micro-batch",
            );
        }
        if self.batch.micro_batches == 0 {
            return refuse("batch.micro_batches", "0".into(), "at least 1");
        }
        let ElementBytes { activation, parameter, gradient } = self.element_bytes;
        if ![activation, parameter, gradient].iter().all(|bytes| (1..=8).contains(bytes)) {
            let found = format!("{activation}, {parameter}, {gradient}");
            return refuse(
                "element_bytes",
                found,
                "1 to 8 bytes for each of activation, parameter, gradient",
            );
        }
        Ok(())
    }

    /// Every use of an axis: field and name.
    fn axes(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let Sharding { tensor, data, pipeline, expert, context } = &self.sharding;
        [
            tensor.as_ref().map(|t| ("sharding.tensor.axis", t.axis.as_str())),
            data.as_ref().map(|d| ("sharding.data.axis", d.axis.as_str())),
            (data.as_ref().and_then(|d| d.replicate_axis.as_deref()))
                .map(|axis| ("sharding.data.replicate_axis", axis)),
            pipeline.as_ref().map(|p| ("sharding.pipeline.axis", p.axis.as_str())),
            expert.as_ref().map(|e| ("sharding.expert.axis", e.axis.as_str())),
            context.as_ref().map(|c| ("sharding.context.axis", c.axis.as_str())),
        ]
        .into_iter()
        .flatten()
    }

    /// Keeps every product of sizes inside 128 bits.
    const MOST_TOKENS: u64 = 1 << 40;
}

fn yes() -> bool {
    true
}

fn one() -> u32 {
    1
}
