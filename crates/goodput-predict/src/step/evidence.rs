//! What each term of a step rests on. Asked for beside a prediction, since it lists every kernel once more.

use goodput_model::architecture::TextModel;

use super::parts::{holdings, sent_bytes};
use super::replicas::tied;
use super::{PredictError, Prediction, Predictor, sharded};
use crate::layer::{Layers, Part, Passes, Term};
use crate::run::{Recompute, Run};
use crate::{Basis, Estimate};

/// What one term rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Evidence {
    /// The term.
    pub term: Term,
    /// Its relative standard deviation; parts are taken as of one cause. `None` for what is assumed.
    pub deviation: Option<f64>,
    /// The weakest thing that it rests on. `None` for what is assumed.
    pub basis: Option<Basis>,
    /// Time of what is listed of it, ns, hidden or not; the mean over all devices, as the rest.
    pub listed_ns: f64,
    /// Kernels that the layers launch for it.
    pub kernels: f64,
    /// FLOPs of products and attention.
    pub flops: f64,
    /// Parts beyond a table's range or without a table, the longest first.
    pub beyond_tables: Vec<BeyondTable>,
}

/// A part that no table holds as it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BeyondTable {
    /// Its name in the list of a layer.
    pub name: &'static str,
    /// What it rests on.
    pub basis: Basis,
    /// Its time a step, the mean over all devices.
    pub ns: f64,
}

/// Adds up a term's parts.
#[derive(Debug, Clone, Default)]
struct Sum {
    estimate: Option<Estimate>,
    kernels: f64,
    flops: f64,
    beyond: Vec<BeyondTable>,
}

impl Sum {
    fn add_part(&mut self, part: &Part, times: f64) {
        self.add(part.name, part.estimate.times(times));
        self.flops += part.flops * times;
        // What only the host does runs no kernel.
        if part.estimate.ns > 0.0 {
            self.kernels += part.host.kernels() * times;
        }
    }

    fn add(&mut self, name: &'static str, estimate: Estimate) {
        if estimate.ns <= 0.0 {
            return;
        }
        self.estimate = Some(self.estimate.map_or(estimate, |sum| sum.and(estimate)));
        if estimate.basis < Basis::Extrapolated {
            return;
        }
        let known = self.beyond.iter_mut().find(|part| part.name == name && part.basis == estimate.basis);
        match known {
            Some(part) => part.ns += estimate.ns,
            None => self.beyond.push(BeyondTable { name, basis: estimate.basis, ns: estimate.ns }),
        }
    }
}

impl Predictor {
    /// What the terms of a prediction of this run rest on, in the order of a report; terms without time are left out.
    ///
    /// # Errors
    /// As [`Predictor::predict`].
    pub fn evidence(&self, run: &Run, prediction: &Prediction) -> Result<Vec<Evidence>, PredictError> {
        let text = run.text(super::RUN)?;
        let layers = Layers::new(run, &self.tables);
        let mut sums = vec![Sum::default(); Term::ALL.len()];
        let micro_batches = run.micro_batches().unwrap_or(1) as f64;
        // A stage's share of a micro-batch's parts: terms are the mean over stages.
        let share = micro_batches / f64::from(run.layout.pipeline);
        for (passes, count) in listed(run, text, &layers)? {
            let all = [&passes.forward, &passes.recompute, &passes.input_gradient, &passes.weight_gradient];
            for part in all.into_iter().flatten() {
                sums[part.term as usize].add_part(part, count * share);
            }
        }
        let (replicas, stages, _) = self.assemble(run, text)?;
        for (estimate, count) in sharded::copied(run, text, &self.tables, &replicas)? {
            sums[Term::Elementwise as usize].add("sharded parameters copied", estimate.times(count * share));
        }
        for (name, estimate) in replicas.estimates(run, stages.stages[0].parameters) {
            sums[Term::DataExchange as usize].add(name, estimate);
        }
        if let Some(sum) = tied(run, layers.exchanges(), text.width, text.vocabulary) {
            sums[Term::DataExchange as usize].add("tied embedding summed", sum);
        }
        if let Some(time) = layers.exchanges().stage_ns(run, sent_bytes(run, text)) {
            sums[Term::PipelineExchange as usize].add("send", time.estimate);
        }
        for stage in &stages.stages {
            let part = stage.optimizer.times(1.0 / stages.stages.len() as f64);
            sums[Term::Optimizer as usize].add("optimizer", part);
        }
        let of = |(term, _): (Term, f64)| {
            let Sum { estimate, kernels, flops, mut beyond } = std::mem::take(&mut sums[term as usize]);
            let listed_ns = estimate.map_or(0.0, |estimate| estimate.ns);
            beyond.sort_by(|one, other| other.ns.total_cmp(&one.ns));
            let (deviation, basis) = match (term, estimate) {
                (_, Some(estimate)) => (Some(estimate.deviation), Some(estimate.basis)),
                // Other stages' times.
                (Term::Bubble, None) => (Some(prediction.deviation), Some(prediction.basis)),
                // Measured on hosts of H100s and scaled.
                (Term::Launch, None) => (Some(self.host(run).deviation), Some(Basis::Extrapolated)),
                _ => (None, None),
            };
            Evidence { term, deviation, basis, listed_ns, kernels, flops, beyond_tables: beyond }
        };
        Ok(prediction.terms.iter().filter(|(_, ns)| *ns != 0.0).map(of).collect())
    }
}

/// Every layer and end of the model, and how often all stages together hold it.
fn listed(run: &Run, text: &TextModel, layers: &Layers<'_>) -> Result<Vec<(Passes, f64)>, PredictError> {
    let mut all = Vec::new();
    let holdings = holdings(run, text);
    for (group, blocks) in text.decoder.iter().enumerate() {
        let again: u64 = holdings.iter().map(|holding| holding.recomputed[group]).sum();
        for (whole, count) in [(true, again), (false, blocks.blocks - again)] {
            if count > 0 {
                all.push((layers.block(text, blocks, whole)?, count as f64));
            }
        }
    }
    all.push((layers.embedding(text)?, 1.0));
    all.push((layers.head(text)?, 1.0));
    if let (modules @ 1.., Some(last)) = (text.multi_token_prediction, text.decoder.last()) {
        let whole = run.recompute == Recompute::Full;
        all.push((layers.multi_token_prediction(text, last, whole)?, modules as f64));
    }
    Ok(all)
}
