//! The gap between a predicted and a traced step, term by term.

use goodput_trace::diagnosis::NOTICEABLE;

use crate::measured::Measured;
use crate::predicted::Predicted;
use crate::term::Term;

/// A difference beyond this many standard deviations of the prediction is beyond its noise.
pub const DEVIATIONS: f64 = 2.0;

/// One term of both.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The term.
    pub term: Term,
    /// Predicted, ns.
    pub predicted_ns: f64,
    /// Relative standard deviation of the prediction.
    pub deviation: f64,
    /// Measured: the mean over device-steps, ns.
    pub measured_ns: f64,
    /// Measured, over all device-steps, ns.
    pub measured_total_ns: i64,
    /// Whether the difference is beyond the prediction's noise and large enough to be worth a name.
    pub is_beyond_noise: bool,
}

impl Line {
    /// Measured less predicted, ns.
    pub fn difference_ns(&self) -> f64 {
        self.measured_ns - self.predicted_ns
    }
}

/// A predicted and a traced step, lined up.
#[derive(Debug, Clone, PartialEq)]
pub struct Gap {
    /// Predicted step, ns.
    pub predicted_ns: f64,
    /// Its relative standard deviation.
    pub deviation: f64,
    /// Measured step, the mean over device-steps, ns.
    pub measured_ns: f64,
    /// Every term, in the order of a report.
    pub lines: Vec<Line>,
}

impl Gap {
    /// Lines the two up.
    pub fn between(predicted: &Predicted, measured: &Measured) -> Self {
        let measured_ns = measured.step_ns();
        let worth_a_name = NOTICEABLE * predicted.step_ns.max(measured_ns);
        let lines = predicted.iter().map(|(term, of)| {
            let measured_total_ns = measured.term_ns(term);
            let mut line = Line {
                term,
                predicted_ns: of.ns,
                deviation: of.deviation,
                measured_ns: measured.mean(measured_total_ns),
                measured_total_ns,
                is_beyond_noise: false,
            };
            let noise_ns = DEVIATIONS * of.deviation * of.ns;
            line.is_beyond_noise = line.difference_ns().abs() > noise_ns.max(worth_a_name);
            line
        });
        let (predicted_ns, deviation) = (predicted.step_ns, predicted.deviation);
        Self { predicted_ns, deviation, measured_ns, lines: lines.collect() }
    }

    /// Measured less predicted, ns.
    pub fn ns(&self) -> f64 {
        self.measured_ns - self.predicted_ns
    }

    /// The same over the prediction.
    pub fn share(&self) -> f64 {
        if self.predicted_ns > 0.0 { self.ns() / self.predicted_ns } else { 0.0 }
    }

    /// Whether the prediction's own deviation allows for the gap.
    pub fn is_within_noise(&self) -> bool {
        self.ns().abs() <= DEVIATIONS * self.deviation * self.predicted_ns
    }

    /// Whether there is a gap worth a name.
    pub fn is_noticeable(&self) -> bool {
        self.ns().abs() > NOTICEABLE * self.predicted_ns.max(self.measured_ns)
    }

    /// One term.
    pub fn line(&self, term: Term) -> &Line {
        &self.lines[term as usize]
    }

    /// The term that holds most of the gap: the largest difference of its sign beyond the noise.
    pub fn holder(&self) -> Option<Term> {
        let sign = self.ns().signum();
        let beyond = self.lines.iter().filter(|line| line.is_beyond_noise);
        let most = beyond
            .max_by(|one, other| (sign * one.difference_ns()).total_cmp(&(sign * other.difference_ns())))?;
        (self.is_noticeable() && sign * most.difference_ns() > 0.0).then_some(most.term)
    }
}
