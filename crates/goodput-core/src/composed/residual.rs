//! What a job's account holds that the model did not predict.

use super::RuntimeLoss;
use crate::capacity::CapacityTime;
use crate::ledger::Loss;
use crate::pattern::Pattern;

/// One term, modelled and measured, as shares of held time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TermResidual {
    /// The term.
    pub pattern: Pattern,
    /// From the job's account.
    pub measured: f64,
    /// From the model; zero for patterns that the model does not have.
    pub modelled: f64,
}

impl TermResidual {
    /// Measured less modelled.
    pub fn residual(&self) -> f64 {
        self.measured - self.modelled
    }
}

/// Measured less modelled loss, term by term. What remains is held time that no model predicted:
/// hangs, slow warm-ups, creeping initialisation.
#[derive(Debug, Clone, PartialEq)]
pub struct Residual {
    /// The modelled terms, then every other pattern that was charged.
    pub terms: Vec<TermResidual>,
}

impl Residual {
    /// The residual of a job's account (what it held, and what of that it lost) against a model;
    /// `None` when the job held nothing.
    pub fn of(held: CapacityTime, losses: &[Loss], model: &RuntimeLoss) -> Option<Self> {
        let measured = |pattern| -> Option<f64> {
            let lost: CapacityTime = losses.iter().filter(|l| l.pattern == pattern).map(|l| l.amount).sum();
            lost.share_of(held)
        };
        let mut terms = Vec::new();
        for (pattern, modelled) in model.terms() {
            terms.push(TermResidual { pattern, measured: measured(pattern)?, modelled });
        }
        for loss in losses {
            if terms.iter().all(|term| term.pattern != loss.pattern) {
                let measured = measured(loss.pattern)?;
                terms.push(TermResidual { pattern: loss.pattern, measured, modelled: 0.0 });
            }
        }
        Some(Self { terms })
    }

    /// The whole residual as a share of held time.
    pub fn total(&self) -> f64 {
        self.terms.iter().map(TermResidual::residual).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_residual_is_what_the_model_does_not_know() {
        let ns = CapacityTime::from_device_ns;
        let losses = vec![
            Loss::new(Pattern::Startup, ns(30)),
            Loss::new(Pattern::Rework, ns(5)),
            Loss::new(Pattern::Hang, ns(100)),
        ];
        let model = RuntimeLoss {
            startup: 0.02,
            input_wait: 0.0,
            checkpoint_write: 0.0,
            rework: 0.01,
            recovery: 0.0,
            preemption: 0.0,
            checkpoint_interval_s: None,
        };
        let residual = Residual::of(ns(1000), &losses, &model).unwrap();
        let of = |pattern| residual.terms.iter().find(|t| t.pattern == pattern).unwrap().residual();
        assert!((of(Pattern::Startup) - 0.010).abs() < 1e-15);
        assert!((of(Pattern::Rework) + 0.005).abs() < 1e-15);
        assert_eq!(of(Pattern::Hang), 0.1);
        // Measured loss 0.135, modelled 0.030.
        assert!((residual.total() - 0.105).abs() < 1e-15);
        assert_eq!(Residual::of(ns(0), &losses, &model), None);
    }
}
