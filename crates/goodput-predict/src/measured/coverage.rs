//! How much of a run rests on what the user measured.

use std::collections::BTreeMap;

use crate::Basis;
use crate::kernel::KernelTables;
use crate::layer::{Layers, Part, Passes, Term};
use crate::run::Run;
use crate::step::PredictError;

/// One term of a micro-batch through the whole model.
#[derive(Debug, Clone, PartialEq)]
pub struct CoveredTerm {
    /// What the time is spent on.
    pub term: Term,
    /// Time of one micro-batch through all layers, ns.
    pub ns: f64,
    /// Of it, what rests on the user's rows, ns.
    pub measured_ns: f64,
    /// Names of what does not.
    pub not_measured: Vec<&'static str>,
}

/// Kernels and exchanges of layers, embedding and head. What runs once a step (optimizer, gradients between replicas) is not
/// among them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Coverage {
    /// By term, in the order of a report.
    pub terms: Vec<CoveredTerm>,
}

impl Coverage {
    /// Of a run, on tables that hold the user's rows.
    ///
    /// # Errors
    /// As a prediction of the run.
    pub fn of(run: &Run, tables: &KernelTables) -> Result<Self, PredictError> {
        let text = run.text("run")?;
        let layers = Layers::new(run, tables);
        let mut terms: BTreeMap<Term, CoveredTerm> = BTreeMap::new();
        let mut add = |passes: &Passes, times: f64| {
            let all = [&passes.forward, &passes.recompute, &passes.input_gradient, &passes.weight_gradient];
            all.into_iter().flatten().for_each(|part| count(&mut terms, part, times));
        };
        for blocks in &text.decoder {
            add(&layers.block(text, blocks, false)?, blocks.blocks as f64);
        }
        add(&layers.embedding(text)?, 1.0);
        add(&layers.head(text)?, 1.0);
        Ok(Self { terms: terms.into_values().collect() })
    }

    /// Measured time over all.
    #[must_use]
    pub fn share(&self) -> f64 {
        let sum = |of: fn(&CoveredTerm) -> f64| self.terms.iter().map(of).sum::<f64>();
        let all = sum(|term| term.ns);
        if all > 0.0 { sum(|term| term.measured_ns) / all } else { 0.0 }
    }
}

fn count(terms: &mut BTreeMap<Term, CoveredTerm>, part: &Part, times: f64) {
    let ns = part.estimate.ns * times;
    if ns == 0.0 {
        return;
    }
    let fresh = CoveredTerm { term: part.term, ns: 0.0, measured_ns: 0.0, not_measured: Vec::new() };
    let term = terms.entry(part.term).or_insert(fresh);
    term.ns += ns;
    if part.estimate.basis == Basis::UserTable {
        term.measured_ns += ns;
    } else if !term.not_measured.contains(&part.name) {
        term.not_measured.push(part.name);
    }
}
