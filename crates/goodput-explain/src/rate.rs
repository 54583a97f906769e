//! Kernels that compute, counted and timed: how fast products ran, and into how many kernels the work is cut.

use goodput_trace::analysis::Analysis;
use goodput_trace::class::Class;

use crate::measured::Measured;
use crate::predicted::Predicted;
use crate::term::Term;

/// Kernels of one term in a step of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kernels {
    /// The term.
    pub term: Term,
    /// Predicted.
    pub predicted: f64,
    /// Measured: the mean over device-steps.
    pub measured: f64,
}

impl Kernels {
    /// Measured over predicted.
    pub fn ratio(&self) -> f64 {
        self.measured / self.predicted
    }
}

/// Kernels of every term that both count.
pub fn kernels(predicted: &Predicted, measured: &Measured) -> Vec<Kernels> {
    let steps = measured.steps().max(1) as f64;
    let of = |(term, of): (Term, &crate::predicted::PredictedTerm)| {
        let kernels =
            Kernels { term, predicted: of.kernels, measured: measured.kernels(term) as f64 / steps };
        (kernels.predicted > 0.0 && kernels.measured > 0.0).then_some(kernels)
    };
    predicted.iter().filter(|(term, _)| term.is_compute()).filter_map(of).collect()
}

/// Matrix products whose shapes the traces record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Products {
    /// Measured, FLOP/s.
    pub measured_flops_per_s: f64,
    /// Predicted, FLOP/s.
    pub predicted_flops_per_s: f64,
    /// FLOPs of a step of a device, what has no shape scaled from what has.
    pub measured_flops: f64,
    /// The same as predicted, what is computed again included.
    pub predicted_flops: f64,
    /// Of the time of products the share whose shapes are recorded.
    pub coverage: f64,
}

/// `None` without recorded shapes.
pub fn products(predicted: &Predicted, measured: &Measured, analysis: &Analysis) -> Option<Products> {
    let of = predicted.term(Term::Products);
    let (mut flops, mut known_ns, mut all_ns, mut judged_ns) = (0.0, 0, 0, 0);
    for rank in &analysis.ranks {
        let groups = rank.roofline.kernels.iter().filter(|group| group.class == Class::Gemm);
        for group in groups {
            flops += group.flops as f64;
            known_ns += group.time_ns;
        }
        for (work, member) in rank.trace.work.iter().zip(&rank.steps.members) {
            if work.class == Class::Gemm {
                all_ns += work.duration_ns();
                if member.step().is_some_and(|step| rank.windows[step].judged) {
                    judged_ns += work.duration_ns();
                }
            }
        }
    }
    if known_ns == 0 || of.ns <= 0.0 || of.flops <= 0.0 {
        return None;
    }
    let measured_flops_per_s = flops / known_ns as f64 * 1e9;
    Some(Products {
        measured_flops_per_s,
        predicted_flops_per_s: of.flops / of.ns * 1e9,
        measured_flops: measured_flops_per_s * measured.mean(judged_ns) / 1e9,
        predicted_flops: of.flops,
        coverage: known_ns as f64 / all_ns.max(1) as f64,
    })
}
