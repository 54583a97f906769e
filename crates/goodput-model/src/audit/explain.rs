//! The search for the fewest faults that make a ratio.

use super::count::Count;
use super::fault::{Effect, FAULTS, Fault, Kind};
use super::{AuditError, Figure, Run};
use crate::architecture::Architecture;

/// Faults whose factors together make a difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// One fault, or two.
    pub faults: Vec<&'static Fault>,
    /// What they multiply the figure by.
    pub factor: f64,
    /// The ratio over that factor, minus one: what they leave unexplained.
    pub left_over: f64,
    /// The printed figure from which the ratio is taken; `None` for the right value.
    pub after: Option<Figure>,
}

/// The faults that can be in a run, each with its factor.
pub(super) struct Search<'a> {
    run: &'a Run,
    right: f64,
    tolerance: f64,
    suspects: Vec<Suspect>,
}

struct Suspect {
    fault: &'static Fault,
    factor: f64,
}

/// Explanations that are shown; more within the tolerance would only repeat that they cannot be told apart.
const MOST: usize = 5;

impl<'a> Search<'a> {
    pub(super) fn new(run: &'a Run, tolerance: f64) -> Result<Self, AuditError> {
        let right = Count::right(run).flops_per_token()?;
        let suspects = FAULTS
            .iter()
            .filter_map(|fault| fault.factor(run).map(|factor| Suspect { fault, factor }))
            .filter(|suspect| suspect.factor.ln().abs() > tolerance)
            .collect();
        Ok(Self { run, right, tolerance, suspects })
    }

    pub(super) const fn flops_per_token(&self) -> f64 {
        self.right
    }

    pub(super) fn is_one(&self, ratio: f64, rounding: f64) -> bool {
        ratio > 0.0 && ratio.ln().abs() <= self.tolerance + rounding
    }

    /// Faults of these kinds that make the ratio: single ones if any does, else pairs; the closest and likeliest first.
    pub(super) fn explain(
        &self,
        ratio: f64,
        rounding: f64,
        kinds: &[Kind],
        after: Option<Figure>,
    ) -> Vec<Explanation> {
        let suspects: Vec<&Suspect> =
            self.suspects.iter().filter(|suspect| kinds.contains(&suspect.fault.kind)).collect();
        let explanation = |faults: Vec<&'static Fault>, factor: f64| {
            let found = Explanation { faults, factor, left_over: ratio / factor - 1.0, after };
            self.is_one(ratio / factor, rounding).then_some(found)
        };
        let mut found: Vec<Explanation> =
            suspects.iter().filter_map(|suspect| explanation(vec![suspect.fault], suspect.factor)).collect();
        if found.is_empty() {
            let suspects: Vec<_> = suspects.iter().filter(|suspect| !suspect.fault.stands_alone).collect();
            for (position, one) in suspects.iter().enumerate() {
                for two in &suspects[position + 1..] {
                    let factor = self.of_both(one, two);
                    // Two faults that undo each other explain nothing.
                    let factor = factor.filter(|factor| factor.ln().abs() > self.tolerance);
                    found.extend(factor.and_then(|factor| explanation(vec![one.fault, two.fault], factor)));
                }
            }
        }
        found.sort_by(|one, other| one.left_over.abs().total_cmp(&other.left_over.abs()));
        // Those that leave about as little as the closest cannot be told apart: the likelier comes first.
        let least = found.first().map_or(0.0, |closest| closest.left_over.abs());
        let near = found.partition_point(|one| one.left_over.abs() <= least + self.tolerance / 10.0);
        found[..near].sort_by_key(|one| one.faults.iter().map(|fault| fault.rank()).sum::<usize>());
        found.truncate(MOST);
        found
    }

    /// Two changes of the count are counted together; any other factors multiply.
    fn of_both(&self, one: &Suspect, two: &Suspect) -> Option<f64> {
        let (Effect::Counts(first), Effect::Counts(second)) = (one.fault.effect, two.fault.effect) else {
            return Some(one.factor * two.factor);
        };
        let mut count = Count::right(self.run);
        let both = first(&mut count) && second(&mut count);
        both.then(|| count.flops_per_token().ok()).flatten().map(|flops| flops / self.right)
    }
}

impl Fault {
    /// Its place in [`FAULTS`].
    fn rank(&self) -> usize {
        FAULTS.iter().position(|fault| fault == self).unwrap_or(FAULTS.len())
    }

    /// What the fault multiplies a figure by in this run; `None` where it cannot be.
    #[must_use]
    pub fn factor(&self, run: &Run) -> Option<f64> {
        let factor = match self.effect {
            Effect::Times(factor) => factor(run)?,
            Effect::Counts(change) => {
                let right = Count::right(run);
                let mut count = right.clone();
                if !change(&mut count) {
                    return None;
                }
                count.flops_per_token().ok()? / right.flops_per_token().ok()?
            }
        };
        (factor.is_finite() && factor > 0.0).then_some(factor)
    }
}

/// Faults that can raise an MFU above 1, where nothing but the model is known: those whose size the model gives only if
/// they explain `mfu` alone, and those whose size depends on the run.
#[must_use]
pub fn causes_above_one(architecture: &Architecture, sequence_length: u64, mfu: f64) -> Vec<&'static Fault> {
    // Any sizes above one show which way a fault goes.
    let run = Run::new(architecture.clone(), sequence_length, 8).and_then(|mut run| {
        run.set_layout(2, 2, 2)?;
        run.set_gradient_accumulation(Some(2));
        run.set_step(Some(2));
        run.set_peak(989.4e12)?;
        Ok(run)
    });
    let Ok(run) = run else { return Vec::new() };
    let can = |fault: &&Fault| {
        let Some(factor) = fault.factor(&run).filter(|factor| *factor > 1.0) else { return false };
        match fault.effect {
            Effect::Counts(_) => mfu / factor <= 1.0,
            // A fault of a thousand leaves its mark.
            Effect::Times(_) => factor <= mfu.max(10.0),
        }
    };
    FAULTS.iter().filter(can).collect()
}
