//! A predicted step in the terms of the comparison.

use goodput_model::device::UnknownDevice;
use goodput_predict::collective::{Collectives, GroupShape, Operation};
use goodput_predict::kernel::KernelError;
use goodput_predict::layer::{Term as Layer, Terms};
use goodput_predict::run::Run;
use goodput_predict::step::{PredictError, Prediction, Predictor};

use crate::axis::{Axis, Places};
use crate::listed::{Listed, ListedTerm};
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
    /// A kernel has no time.
    #[error(transparent)]
    Kernel(#[from] KernelError),
}

/// The prediction of a run, and what it lists.
///
/// # Errors
/// [`Unpredictable`] names what does not fit.
pub fn predict(run: &Run, straggler_deviation: f64) -> Result<(Prediction, Listed), Unpredictable> {
    let device = run.cluster.fitted_device()?;
    let tables = run.cluster.kernels(&device);
    let listed = Listed::of(run, &tables);
    let mut predictor = Predictor::with_tables(device, tables).with_stragglers(straggler_deviation);
    let prediction = predictor.predict(run)?;
    Ok((prediction, listed?))
}

impl Predicted {
    /// Over the devices of stages, each as often as `stages` names it; over all devices where it names none.
    pub fn new(run: &Run, prediction: &Prediction, listed: &Listed, stages: &[usize]) -> Self {
        let mut terms = Terms::default();
        let known = stages.iter().filter_map(|stage| prediction.stages.get(*stage));
        let share = 1.0 / stages.len().max(1) as f64;
        known.for_each(|stage| terms.add_times(&stage.terms, share));
        let terms = if stages.is_empty() { prediction.terms } else { terms };
        let listed = listed.on(&terms, &prediction.terms);
        Self {
            step_ns: prediction.step_ns,
            deviation: prediction.deviation,
            recompute_ns: prediction.recompute_ns,
            terms: Term::ALL.iter().map(|term| of_term(run, prediction, &listed, &terms, *term)).collect(),
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

fn of_term(run: &Run, prediction: &Prediction, listed: &Listed, terms: &Terms, term: Term) -> PredictedTerm {
    let own = Layer::ALL.into_iter().filter(|layer| Term::of_predicted(*layer) == term);
    let mut sum = PredictedTerm::default();
    let mut all = ListedTerm::default();
    for layer in own {
        let ns = terms.of(layer);
        sum.ns += ns;
        if ns != 0.0 {
            sum.parts.push((layer.label(), ns));
        }
        let of = listed.term(layer);
        all.ns += of.ns;
        all.spread_ns += of.spread_ns;
        sum.kernels += of.kernels;
        sum.flops += of.flops;
    }
    sum.deviation = if all.ns > 0.0 {
        all.spread_ns / all.ns
    } else {
        exchange_deviation(run, term).unwrap_or(prediction.deviation)
    };
    sum
}

/// A message of replicas or stages that is about as long as theirs: what the deviation is taken at.
const TYPICAL_BYTES: f64 = 64e6;

/// Exchanges of replicas and stages are in no list: their deviation is that of such an exchange.
fn exchange_deviation(run: &Run, term: Term) -> Option<f64> {
    let (axis, operation) = match term {
        Term::DataExchange => (Axis::Data, Operation::AllReduce),
        Term::PipelineExchange => (Axis::Pipeline, Operation::SendReceive),
        _ => return None,
    };
    let places = Places::of(run);
    let size = if axis == Axis::Pipeline { 2 } else { places.degree(axis) };
    if places.degree(axis) < 2 {
        return None;
    }
    let shape = GroupShape::strided(&run.cluster, size, places.stride(axis));
    let exchange = Collectives::new(&run.cluster).prepare(operation, shape, run.precision.gradient_bytes);
    Some(exchange.time(TYPICAL_BYTES).estimate.deviation)
}
