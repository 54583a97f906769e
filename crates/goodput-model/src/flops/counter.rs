//! From terms and a batch to FLOPs.

use super::{Component, ComponentFlops, Flops, Passes, Recompute};
use crate::architecture::{Architecture, ArchitectureError};
use crate::batch::{Batch, BatchError, Count};
use crate::operations::{Operations, Term, Unit};
use crate::training::Training;

/// An architecture ready to be counted: build once, count every batch.
///
/// ```
/// use goodput_model::architecture::Architecture;
/// use goodput_model::{Batch, FlopCounter, Recompute, Training};
///
/// let llama = Architecture::known("llama3.1-8b")?;
/// let counter = FlopCounter::new(&llama, &Training::full())?;
/// let flops = counter.count(&Batch::rows(1, 8192)?, Recompute::None)?;
/// assert_eq!(flops.useful().total(), 421_651_971_833_856);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FlopCounter {
    model: String,
    terms: Vec<Term>,
    /// Each unit once, so that a batch sums each of its masks once.
    units: Vec<Unit>,
    reads_images: bool,
    reads_sources: bool,
    merged_side: u64,
}

impl FlopCounter {
    /// Walks the architecture.
    ///
    /// # Errors
    /// [`ArchitectureError`] names a size that cannot be, or an adapter that has no matrix to stand beside.
    pub fn new(architecture: &Architecture, training: &Training) -> Result<Self, ArchitectureError> {
        architecture.check_under(training)?;
        let mut terms = Operations::of(architecture, training).terms;
        terms.sort_by_key(|term| Component::ALL.iter().position(|component| *component == term.component));
        let mut units: Vec<Unit> = terms.iter().map(|term| term.unit).collect();
        units.sort_unstable();
        units.dedup();
        let merger = architecture.vision.as_ref().and_then(|tower| tower.merger);
        Ok(Self {
            model: architecture.name.clone(),
            reads_images: architecture.vision.is_some(),
            reads_sources: units.contains(&Unit::SourceTokens),
            merged_side: merger.map_or(1, |merger| merger.side),
            terms,
            units,
        })
    }

    /// FLOPs of one step on `batch`.
    ///
    /// # Errors
    /// [`BatchError`] when batch and model do not fit each other.
    pub fn count(&self, batch: &Batch, recompute: Recompute) -> Result<Flops, BatchError> {
        self.check(batch)?;
        let counts: Vec<Count> = self.units.iter().map(|&unit| batch.count(unit)).collect();
        let mut components: Vec<ComponentFlops> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let count = self.units.binary_search(&term.unit).map(|index| counts[index]).unwrap_or_default();
            let part = flops(term, count, recompute);
            match components.last_mut() {
                Some(last) if last.component == part.component => last.add(&part),
                _ => components.push(part),
            }
        }
        Ok(Flops { components })
    }

    fn check(&self, batch: &Batch) -> Result<(), BatchError> {
        let not_read =
            |found, missing| Err(BatchError::NotRead { found, model: self.model.clone(), missing });
        if batch.has_images() && !self.reads_images {
            return not_read("images", "vision tower");
        }
        if batch.has_sources() && !self.reads_sources {
            return not_read("sources", "encoder");
        }
        if self.reads_sources && !batch.has_sources() && batch.tokens() > 0 {
            return Err(BatchError::NotGiven {
                model: self.model.clone(),
                missing: "a source for each document",
                remedy: "give the sources' lengths",
            });
        }
        batch.check_grids(self.merged_side)
    }
}

impl ComponentFlops {
    fn add(&mut self, other: &Self) {
        self.useful.add(&other.useful);
        self.padding.add(&other.padding);
        self.recompute += other.recompute;
    }
}

fn flops(term: &Term, count: Count, recompute: Recompute) -> ComponentFlops {
    let passes = |units: u128| Passes {
        forward: term.forward * units,
        input_gradient: term.input_gradient * units,
        weight_gradient: term.weight_gradient * units,
    };
    let is_core = matches!(term.component, Component::AttentionCore | Component::VisionAttention);
    let again = match recompute {
        Recompute::None => 0,
        Recompute::FusedAttention => term.scores,
        Recompute::Attention if is_core => term.checkpointed + term.scores,
        Recompute::Attention => 0,
        Recompute::Full => term.checkpointed + term.scores,
    };
    ComponentFlops {
        component: term.component,
        useful: passes(count.useful),
        padding: passes(count.executed - count.useful),
        recompute: again * count.executed,
    }
}
