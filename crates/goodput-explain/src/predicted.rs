//! A predicted step in the terms of the comparison.

use goodput_model::device::UnknownDevice;
use goodput_predict::layer::{Term as Layer, Terms};
use goodput_predict::run::Run;
use goodput_predict::step::{Evidence, PredictError, Prediction, Predictor};

use crate::term::Term;

/// A predicted step on the devices that were traced.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// Time of the step, ns. The terms sum to it.
    pub step_ns: f64,
    /// Its relative standard deviation.
    pub deviation: f64,
    /// Of the terms, what is computed again, ns; the mean over all devices.
    pub recompute_ns: f64,
    terms: Vec<PredictedTerm>,
}

/// One term.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PredictedTerm {
    /// Its time, ns.
    pub ns: f64,
    /// Relative standard deviation of that time.
    pub deviation: f64,
    /// Kernels that compute in it, or exchanges; zero where the prediction lists none.
    pub kernels: f64,
    /// FLOPs of products and attention.
    pub flops: f64,
    /// The prediction's own terms that it is the sum of.
    pub parts: Vec<(&'static str, f64)>,
}

/// Why a run cannot be predicted.
#[derive(Debug, thiserror::Error)]
pub enum Unpredictable {
    /// The device is not known.
    #[error(transparent)]
    Device(#[from] UnknownDevice),
    /// The prediction says why.
    #[error(transparent)]
    Predict(#[from] PredictError),
}

/// The prediction of a run, and what its terms rest on.
///
/// # Errors
/// [`Unpredictable`] names what does not fit.
pub fn predict(run: &Run, straggler_deviation: f64) -> Result<(Prediction, Vec<Evidence>), Unpredictable> {
    let device = run.cluster.fitted_device()?;
    let tables = run.cluster.kernels(&device);
    let mut predictor = Predictor::with_tables(device, tables).with_stragglers(straggler_deviation);
    let prediction = predictor.predict(run)?;
    let evidence = predictor.evidence(run, &prediction)?;
    Ok((prediction, evidence))
}

impl Predicted {
    /// Over the devices of stages, each as often as `stages` names it; over all devices where it names none. Kernels and arithmetic of
    /// a stage are in the proportion of its time.
    pub fn new(prediction: &Prediction, evidence: &[Evidence], stages: &[usize]) -> Self {
        let mut terms = Terms::default();
        let known = stages.iter().filter_map(|stage| prediction.stages.get(*stage));
        let share = 1.0 / stages.len().max(1) as f64;
        known.for_each(|stage| terms.add_times(&stage.terms, share));
        let terms = if stages.is_empty() { prediction.terms } else { terms };
        Self {
            step_ns: prediction.step_ns,
            deviation: prediction.deviation,
            recompute_ns: prediction.recompute_ns,
            terms: Term::ALL.iter().map(|term| of_term(prediction, evidence, &terms, *term)).collect(),
        }
    }

    /// Of figures that were not predicted here: time of each term in ns, with one relative deviation for all.
    pub fn stated(terms: &[(Term, f64)], deviation: f64) -> Self {
        let of = |term: &Term| terms.iter().filter(|(of, _)| of == term).map(|(_, ns)| ns).sum();
        let terms: Vec<PredictedTerm> = Term::ALL
            .iter()
            .map(|term| PredictedTerm { ns: of(term), deviation, ..PredictedTerm::default() })
            .collect();
        Self { step_ns: terms.iter().map(|term| term.ns).sum(), deviation, recompute_ns: 0.0, terms }
    }

    /// With so many kernels in a term.
    #[must_use]
    pub fn with_kernels(mut self, term: Term, kernels: f64) -> Self {
        self.terms[term as usize].kernels = kernels;
        self
    }

    /// Of one term.
    pub fn term(&self, term: Term) -> &PredictedTerm {
        &self.terms[term as usize]
    }

    /// Each term, in the order of a report.
    pub fn iter(&self) -> impl Iterator<Item = (Term, &PredictedTerm)> {
        Term::ALL.iter().copied().zip(&self.terms)
    }
}

fn of_term(prediction: &Prediction, evidence: &[Evidence], terms: &Terms, term: Term) -> PredictedTerm {
    let own = Layer::ALL.into_iter().filter(|layer| Term::of_predicted(*layer) == term);
    let mut sum = PredictedTerm::default();
    let mut spread_ns = 0.0;
    for layer in own {
        let ns = terms.of(layer);
        sum.ns += ns;
        if ns != 0.0 {
            sum.parts.push((layer.label(), ns));
        }
        let of = evidence.iter().find(|of| of.term == layer);
        spread_ns += ns * of.and_then(|of| of.deviation).unwrap_or(prediction.deviation);
        let mean_ns = prediction.terms.of(layer);
        if let Some(of) = of.filter(|_| mean_ns > 0.0) {
            sum.kernels += of.kernels * ns / mean_ns;
            sum.flops += of.flops * ns / mean_ns;
        }
    }
    sum.deviation = if sum.ns > 0.0 { spread_ns / sum.ns } else { prediction.deviation };
    sum
}
