//! The view of `goodput flops`: what a batch of a model computes, and what each convention says.

use goodput_model::convention::recurrence_counts;
use goodput_model::flops::{ComponentFlops, Flops, Passes};
use goodput_model::self_check::Comparison;
use goodput_model::{Architecture, ArchitectureError, Batch, Component, Convention, Training};
use serde::Serialize;

use super::exact::Exact;

/// FLOPs, parameters and bytes of a model, and every convention side by side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlopsView {
    /// `goodput.flops/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// The model's name.
    pub model: String,
    /// Its `model_type`, where it has one.
    pub family: String,
    /// What is trained, in words.
    pub training: String,
    /// What is computed again, in words.
    pub recompute: String,
    /// The batch.
    pub batch: BatchView,
    /// FLOPs of the batch.
    pub flops: FlopsTotalsView,
    /// FLOPs by component.
    pub components: Vec<ComponentView>,
    /// The recurrence of state-space and linear-attention mixers, in no total.
    pub recurrence: Option<RecurrenceView>,
    /// Parameters.
    pub parameters: ParametersView,
    /// Bytes.
    pub bytes: BytesView,
    /// Tokens of the sequence that the conventions charge; `None` without a text model.
    pub convention_tokens: Option<u64>,
    /// Every convention for the text model, in sequences of that length.
    pub conventions: Vec<ConventionView>,
}

/// What was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BatchView {
    /// Documents.
    pub documents: u64,
    /// Real tokens.
    pub tokens: u64,
    /// Tokens with padding.
    pub executed_tokens: u64,
    /// Patches of images and videos.
    pub patches: u64,
}

/// FLOPs of the passes of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PassesView {
    /// The forward pass.
    pub forward: Exact,
    /// Gradients of activations.
    pub input_gradient: Exact,
    /// Gradients of weights.
    pub weight_gradient: Exact,
    /// All of them.
    pub total: Exact,
}

impl From<Passes> for PassesView {
    fn from(passes: Passes) -> Self {
        Self {
            forward: passes.forward.into(),
            input_gradient: passes.input_gradient.into(),
            weight_gradient: passes.weight_gradient.into(),
            total: passes.total().into(),
        }
    }
}

/// FLOPs of the batch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FlopsTotalsView {
    /// Model FLOPs: real tokens, each product once.
    pub useful: PassesView,
    /// On padding.
    pub padding: PassesView,
    /// Computed a second time.
    pub recompute: Exact,
    /// Hardware FLOPs: all of these.
    pub executed: Exact,
    /// Model FLOPs a real token; `None` without tokens.
    pub useful_per_token: Option<f64>,
}

/// FLOPs of one component.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ComponentView {
    /// The component.
    pub component: Component,
    /// A person's word for it.
    pub label: &'static str,
    /// On real tokens.
    pub useful: PassesView,
    /// On padding.
    pub padding: PassesView,
    /// Computed a second time.
    pub recompute: Exact,
    /// Share of all model FLOPs.
    pub share: Option<f64>,
}

/// The recurrence, beside the total.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecurrenceView {
    /// Multiply-adds of the recurrence.
    pub useful: PassesView,
    /// What frameworks count for it.
    pub counts: Vec<RecurrenceCountView>,
}

/// One framework's count of the recurrence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RecurrenceCountView {
    /// Who counts so.
    pub framework: &'static str,
    /// The formula of one layer and token.
    pub formula: &'static str,
    /// Forward FLOPs of one token, all layers.
    pub forward_per_token: Exact,
}

/// Parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ParametersView {
    /// All, a shared matrix once.
    pub total: Exact,
    /// Those that one token passes, the input embedding among them.
    pub active: Exact,
    /// Token and token-type embeddings.
    pub input_embedding: Exact,
    /// Learned positions.
    pub position_embedding: Exact,
    /// Routed experts.
    pub routed_experts: Exact,
    /// Those that training updates, adapters included.
    pub trainable: Exact,
    /// Whether the head is the input embedding.
    pub tied: bool,
}

/// Bytes of weights and cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BytesView {
    /// Weights in fp32.
    pub weights_fp32: Exact,
    /// Weights in bf16 or fp16.
    pub weights_bf16: Exact,
    /// Weights in fp8 or int8.
    pub weights_fp8: Exact,
    /// Weights in fp4, without scales.
    pub weights_fp4: Exact,
    /// What one more token adds to a bf16 key-value cache, while every window still fills.
    pub cache_bf16_per_token: Exact,
}

/// What one convention says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConventionView {
    /// Its name.
    pub name: &'static str,
    /// The function or formula.
    pub title: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// Training FLOPs a token; `None` where it is not defined.
    pub flops_per_token: Option<f64>,
    /// Training FLOPs of the sequence, rounded to an integer.
    pub flops_per_sequence: Option<Exact>,
    /// Over the exact convention: by this factor its MFU is the higher.
    pub ratio_to_exact: Option<f64>,
    /// Over the batch's own model FLOPs, when all tokens are charged as in that sequence.
    pub ratio_to_batch: Option<f64>,
    /// Attention pairs: `none`, `exact`, `half`, `square`.
    pub attention: &'static str,
    /// Whether and as what the head is counted.
    pub logits: &'static str,
    /// Which experts are counted.
    pub experts: &'static str,
    /// What is counted a second time.
    pub recompute: &'static str,
    /// Whether padding is counted.
    pub padding: bool,
    /// What else sets it apart, or why it is not defined.
    pub note: String,
}

/// What a view is made from.
#[derive(Debug, Clone, Copy)]
pub struct FlopsInput<'a> {
    /// The model.
    pub architecture: &'a Architecture,
    /// The batch.
    pub batch: &'a Batch,
    /// What is trained.
    pub training: &'a Training,
    /// What is trained, in words.
    pub training_words: &'a str,
    /// What is computed again, in words.
    pub recompute_words: &'a str,
    /// FLOPs of the batch.
    pub flops: &'a Flops,
    /// Tokens of the sequence that the conventions charge.
    pub sequence: u64,
}

impl FlopsView {
    /// The view.
    ///
    /// # Errors
    /// [`ArchitectureError`] names a size that cannot be.
    pub fn new(input: &FlopsInput) -> Result<Self, ArchitectureError> {
        let FlopsInput { architecture, batch, flops, .. } = *input;
        let useful = flops.useful();
        let counted = flops.components().iter().filter(|part| part.component != Component::RecurrenceCore);
        let per_token = |total: u128| (batch.tokens() > 0).then(|| total as f64 / batch.tokens() as f64);
        let charged = architecture.text.is_some() && input.sequence > 0;
        // A tower's FLOPs are no text's: a per-token constant has nothing to say of them.
        let own = per_token(useful.total()).filter(|_| !batch.has_images());
        let parameters = architecture.parameters_under(input.training)?;
        let cache = architecture.cache()?;
        Ok(Self {
            schema: "goodput.flops/1",
            generated_by: concat!("goodput ", env!("CARGO_PKG_VERSION")).to_owned(),
            model: architecture.name.clone(),
            family: architecture.family.clone(),
            training: input.training_words.to_owned(),
            recompute: input.recompute_words.to_owned(),
            batch: BatchView {
                documents: batch.len(),
                tokens: batch.tokens(),
                executed_tokens: batch.executed_tokens(),
                patches: batch.patches(),
            },
            flops: FlopsTotalsView {
                useful: useful.into(),
                padding: flops.padding().into(),
                recompute: flops.recompute().into(),
                executed: flops.executed().into(),
                useful_per_token: per_token(useful.total()),
            },
            components: counted.map(|part| ComponentView::new(part, useful.total())).collect(),
            recurrence: recurrence(architecture, flops),
            parameters: ParametersView {
                total: parameters.total.into(),
                active: parameters.active.into(),
                input_embedding: parameters.input_embedding.into(),
                position_embedding: parameters.position_embedding.into(),
                routed_experts: parameters.routed_experts.into(),
                trainable: parameters.trainable.into(),
                tied: parameters.tied,
            },
            bytes: BytesView {
                weights_fp32: parameters.weight_bytes(32).into(),
                weights_bf16: parameters.weight_bytes(16).into(),
                weights_fp8: parameters.weight_bytes(8).into(),
                weights_fp4: parameters.weight_bytes(4).into(),
                cache_bf16_per_token: cache.bytes_per_token(16).into(),
            },
            convention_tokens: charged.then_some(input.sequence),
            conventions: match charged {
                true => conventions(architecture, input.sequence, own),
                false => Vec::new(),
            },
        })
    }
}

impl ComponentView {
    fn new(part: &ComponentFlops, whole: u128) -> Self {
        Self {
            component: part.component,
            label: part.component.label(),
            useful: part.useful.into(),
            padding: part.padding.into(),
            recompute: part.recompute.into(),
            share: (whole > 0).then(|| part.useful.total() as f64 / whole as f64),
        }
    }
}

fn recurrence(architecture: &Architecture, flops: &Flops) -> Option<RecurrenceView> {
    let part = flops.components().iter().find(|part| part.component == Component::RecurrenceCore)?;
    let counts = recurrence_counts(architecture).into_iter().map(|count| RecurrenceCountView {
        framework: count.framework,
        formula: count.formula,
        forward_per_token: count.forward_per_token.into(),
    });
    Some(RecurrenceView { useful: part.useful.into(), counts: counts.collect() })
}

/// `own`: the batch's model FLOPs a token.
fn conventions(architecture: &Architecture, tokens: u64, own: Option<f64>) -> Vec<ConventionView> {
    let exact = Convention::EXACT.flops_per_token(architecture, tokens).ok();
    let view = |convention: &Convention| {
        let counted = convention.flops_per_token(architecture, tokens);
        let flops = counted.as_ref().ok().copied();
        ConventionView {
            name: convention.name,
            title: convention.title,
            source: convention.source,
            flops_per_token: flops.map(|flops| flops.value()),
            flops_per_sequence: flops.map(|flops| flops.sequence().into()),
            ratio_to_exact: flops.zip(exact).map(|(flops, exact)| flops.ratio_to(exact)),
            ratio_to_batch: flops.zip(own).map(|(flops, own)| flops.value() / own),
            attention: convention.attention.word(),
            logits: convention.logits(),
            experts: convention.experts(),
            recompute: convention.recompute.word(),
            padding: convention.padding,
            note: match counted {
                Ok(_) => convention.note.to_owned(),
                Err(error) => error.to_string(),
            },
        }
    };
    Convention::ALL.iter().map(view).collect()
}

/// The batch formula beside the per-token constant that it replaces.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelfCheckView {
    /// `goodput.flops-self-check/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// Tokens of the row.
    pub row: u64,
    /// Whether nothing is left unaccounted for.
    pub holds: bool,
    /// One entry a model and batch.
    pub comparisons: Vec<ComparisonView>,
}

/// One batch of one model, counted both ways.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonView {
    /// The model.
    pub model: String,
    /// The batch.
    pub case: &'static str,
    /// The batch's own training FLOPs.
    pub batch_flops: Exact,
    /// The constant times tokens and patches.
    pub constant_flops: Exact,
    /// Constant over batch.
    pub ratio: f64,
    /// Why they differ, with batch less constant for each.
    pub departures: Vec<DepartureView>,
    /// What no departure accounts for.
    pub remainder: Exact,
}

/// FLOPs by which a batch differs from the constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DepartureView {
    /// Why.
    pub reason: &'static str,
    /// Batch less constant.
    pub flops: Exact,
}

impl SelfCheckView {
    /// The view of `comparisons`.
    pub fn new(comparisons: &[Comparison]) -> Self {
        let view = |comparison: &Comparison| ComparisonView {
            model: comparison.model.clone(),
            case: comparison.case,
            batch_flops: comparison.batch.into(),
            constant_flops: comparison.constant.into(),
            ratio: comparison.constant as f64 / comparison.batch as f64,
            departures: comparison
                .departures
                .iter()
                .map(|departure| DepartureView { reason: departure.reason, flops: Exact(departure.flops) })
                .collect(),
            remainder: Exact(comparison.remainder()),
        };
        Self {
            schema: "goodput.flops-self-check/1",
            generated_by: concat!("goodput ", env!("CARGO_PKG_VERSION")).to_owned(),
            row: goodput_model::self_check::ROW,
            holds: comparisons.iter().all(|comparison| comparison.remainder() == 0),
            comparisons: comparisons.iter().map(view).collect(),
        }
    }
}
