//! Closed forms beside the simulation. Nothing is predicted from them.

use goodput_predict::layer::Term;
use goodput_predict::run::Run;
use goodput_predict::step::Prediction;
use serde::Serialize;

/// A closed form and what the simulation says of the same.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClosedFormView {
    /// What it is of.
    pub name: &'static str,
    /// The formula.
    pub formula: &'static str,
    /// Where it is published.
    pub source: &'static str,
    /// What it says.
    pub closed_ns: f64,
    /// What the simulation says, the mean over devices.
    pub simulated_ns: f64,
    /// Why they differ.
    pub why: &'static str,
}

const GUIDE: &str = "MFU guide";

pub(super) fn of(run: &Run, prediction: &Prediction) -> Vec<ClosedFormView> {
    let (guide, terms) = (&prediction.guide, &prediction.terms);
    let of = |term: Term| terms.of(term);
    let busy = terms.iter().filter(|(term, _)| term.is_compute()).map(|(_, ns)| ns).sum::<f64>()
        + of(Term::TensorExchange)
        + of(Term::ContextExchange)
        + of(Term::ExpertExchange);
    let mut forms = vec![ClosedFormView {
        name: "busy",
        formula: "compute and exchanges inside a stage, all micro-batches",
        source: GUIDE,
        closed_ns: guide.busy_ns,
        simulated_ns: busy,
        why: "the closed form takes the busiest stage, the simulation's figure is the mean over stages",
    }];
    if run.layout.pipeline > 1 {
        forms.push(ClosedFormView {
            name: "bubble",
            formula: "fill, steady state and drain: ((2 (p - 1)) (p - 1) / p + (m - 2 (p - 1)) (p - 1) / (v m)) / m of the busy time",
            source: GUIDE,
            closed_ns: guide.bubble_ns,
            simulated_ns: of(Term::Bubble),
            why: "the steady state's share is the whole bubble already: idle time counts twice",
        });
        forms.push(ClosedFormView {
            name: "bubble, counted once",
            formula: "(p - 1) / (v m) of the busy time",
            source: "arXiv:2104.04473, 2.2",
            closed_ns: guide.exact_bubble_ns,
            simulated_ns: of(Term::Bubble),
            why: "equal stages, no transfers, 1F1B or interleaved: the simulation has the schedule, unequal stages and transfers",
        });
    }
    if run.layout.data * run.layout.context > 1 {
        forms.push(ClosedFormView {
            name: "exposed data-parallel exchange",
            formula: "all of it on the first stage; elsewhere what exceeds one micro-batch",
            source: GUIDE,
            closed_ns: guide.data_ns,
            simulated_ns: of(Term::DataExchange),
            why: "the simulation runs each bucket when its gradients are ready",
        });
    }
    forms.push(ClosedFormView {
        name: "launch",
        formula: "2 x layers x kernels of a block x latency, once a step",
        source: GUIDE,
        closed_ns: guide.launch_ns,
        simulated_ns: of(Term::Launch),
        why: "the simulation has the host as a second clock: a device waits only where the host is behind",
    });
    forms.push(ClosedFormView {
        name: "step",
        formula: "the sum of the guide's terms",
        source: GUIDE,
        closed_ns: guide.step_ns(),
        simulated_ns: prediction.step_ns,
        why: "the sum of the above; the guide has no optimizer",
    });
    forms
}
