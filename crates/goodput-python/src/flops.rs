//! `flops`, and the counter of a training loop's batches.

use goodput_model::{Batch, BatchError, FlopCounter as Counter, Grid, Module, Recompute};
use goodput_verbs::{Answer, FlopsRequest, TrainingRequest, VerbError};
use pyo3::prelude::*;

use crate::errors::{argument, verb};
use crate::reports::Report;

/// What is trained, and what is computed twice, in Python's words.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct TrainingWords {
    forward: bool,
    freeze: Vec<String>,
    adapter_rank: Option<u64>,
    adapter_targets: Vec<String>,
    prediction_modules: u64,
    recompute: String,
}

/// A batch, in Python's words. A grid is (frames, height, width) in patches.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct BatchWords {
    sequence: Option<u64>,
    sequences: Option<u64>,
    documents: Vec<u64>,
    row: Option<u64>,
    pad_to: Option<u64>,
    sources: Vec<u64>,
    images: Vec<(u64, u64, u64)>,
}

impl TrainingWords {
    fn request(self, model: String) -> PyResult<FlopsRequest> {
        let training = match (self.forward, self.adapter_rank) {
            (true, _) => TrainingRequest::Forward,
            (_, Some(rank)) => {
                let targets = modules("adapter_targets", &self.adapter_targets)?;
                let all = || Module::BLOCK_PROJECTIONS.to_vec();
                TrainingRequest::Adapters { rank, targets: if targets.is_empty() { all() } else { targets } }
            }
            (_, None) => TrainingRequest::Frozen(modules("freeze", &self.freeze)?),
        };
        let recompute = match self.recompute.as_str() {
            "none" => Recompute::None,
            "fused_attention" => Recompute::FusedAttention,
            "attention" => Recompute::Attention,
            "full" => Recompute::Full,
            other => {
                let known = "none, fused_attention, attention, full";
                return Err(argument(format!("recompute {other:?}: expected one of {known}")));
            }
        };
        let prediction_modules = self.prediction_modules;
        Ok(FlopsRequest { model, training, recompute, prediction_modules, ..FlopsRequest::default() })
    }
}

fn modules(field: &str, names: &[String]) -> PyResult<Vec<Module>> {
    let module = |name: &String| {
        Module::ALL.into_iter().find(|module| module.name() == name).ok_or_else(|| {
            let known: Vec<_> = Module::ALL.iter().map(|module| module.name()).collect();
            argument(format!("{field}: {name:?} is no module: expected some of {}", known.join(", ")))
        })
    };
    names.iter().map(module).collect()
}

fn grids(images: Vec<(u64, u64, u64)>) -> Vec<Grid> {
    images.into_iter().map(|(frames, height, width)| Grid { frames, height, width }).collect()
}

/// Answers `goodput flops`.
#[pyfunction]
pub fn flops(model: String, training: TrainingWords, batch: BatchWords) -> PyResult<Report> {
    let request = FlopsRequest {
        sequence: batch.sequence,
        sequences: batch.sequences,
        documents: batch.documents,
        row: batch.row,
        pad_to: batch.pad_to,
        sources: batch.sources,
        images: grids(batch.images),
        ..training.request(model)?
    };
    let view = goodput_verbs::flops(&request).map_err(|e| verb(&e))?;
    Ok(Answer { view, falls_short: false }.into())
}

/// Counts the batches of one model.
#[pyclass(module = "fleet_goodput._native", frozen, subclass)]
pub struct FlopCounter {
    counter: Counter,
    recompute: Recompute,
}

/// FLOPs of one batch.
#[pyclass(module = "fleet_goodput._native", frozen, get_all)]
pub struct BatchFlops {
    /// Real tokens.
    tokens: u64,
    /// Tokens with padding.
    executed_tokens: u64,
    /// FLOPs of real tokens, without recomputation.
    useful: u128,
    /// FLOPs with padding and recomputation.
    executed: u128,
}

#[pymethods]
impl FlopCounter {
    #[new]
    fn new(model: String, training: TrainingWords) -> PyResult<Self> {
        let request = training.request(model)?;
        let counter = goodput_verbs::flop_counter(&request).map_err(|e| verb(&e))?;
        Ok(Self { counter, recompute: request.recompute })
    }

    #[pyo3(signature = (documents, executed_tokens=None, images=Vec::new()))]
    fn documents(
        &self,
        documents: Vec<u64>,
        executed_tokens: Option<u64>,
        images: Vec<(u64, u64, u64)>,
    ) -> PyResult<BatchFlops> {
        self.count(Batch::documents(&documents).and_then(|batch| padded(batch, executed_tokens)), images)
    }

    #[pyo3(signature = (cu_seqlens, padded_cu_seqlens=None, executed_tokens=None, images=Vec::new()))]
    fn cu_seqlens(
        &self,
        cu_seqlens: Vec<i64>,
        padded_cu_seqlens: Option<Vec<i64>>,
        executed_tokens: Option<u64>,
        images: Vec<(u64, u64, u64)>,
    ) -> PyResult<BatchFlops> {
        let batch = match padded_cu_seqlens {
            Some(padded) => Batch::from_padded_cu_seqlens(&cu_seqlens, &padded),
            None => Batch::from_cu_seqlens(&cu_seqlens),
        };
        self.count(batch.and_then(|batch| padded(batch, executed_tokens)), images)
    }
}

/// The batch in a row of so many tokens.
fn padded(batch: Batch, executed_tokens: Option<u64>) -> Result<Batch, BatchError> {
    match executed_tokens.and_then(|row| row.checked_sub(batch.executed_tokens())) {
        Some(padding) => batch.with_padding(padding),
        None => Ok(batch),
    }
}

impl FlopCounter {
    fn count(&self, batch: Result<Batch, BatchError>, images: Vec<(u64, u64, u64)>) -> PyResult<BatchFlops> {
        let counted = batch.and_then(|batch| batch.with_images(&grids(images))).and_then(|batch| {
            let flops = self.counter.count(&batch, self.recompute)?;
            Ok(BatchFlops {
                tokens: batch.tokens(),
                executed_tokens: batch.executed_tokens(),
                useful: flops.useful().total(),
                executed: flops.executed(),
            })
        });
        counted.map_err(|error| verb(&VerbError::from(error)))
    }
}
