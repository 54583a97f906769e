//! What a step trace says about a job's program loss: the Fleet Law terms that hold it.

use super::ProgramAccount;
use crate::boundary::Boundary;
use crate::capacity::CapacityTime;
use crate::ledger::Loss;
use crate::pattern::Pattern;
use crate::records::SourceRef;

/// Device-time of traced steps over all traced ranks, by what a step trace can tell. Input waits are left out: they
/// are runtime losses, and productive time is without them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTerms {
    traced: CapacityTime,
    losses: Vec<(Pattern, CapacityTime)>,
}

/// Why a trace does not divide a program loss.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTerms {
    /// The trace holds no device-time of a step.
    #[error("the trace covers no step with device work")]
    NothingTraced,
    /// A loss of another boundary.
    #[error("{} is charged at the {} boundary, not inside a retained step", .0.key(), .0.boundary())]
    OtherBoundary(Pattern),
    /// More lost than traced.
    #[error("the terms add up to {losses}, more than the {traced} traced")]
    MoreThanTraced {
        /// Sum of the losses.
        losses: CapacityTime,
        /// Traced device-time.
        traced: CapacityTime,
    },
    /// The job needs more ideal time than the trace leaves.
    #[error(
        "the ideal time {ideal} is more than the {computing} that the traced share of computing leaves: the trace is \
         of other steps, or tracing slowed them"
    )]
    IdealAboveComputing {
        /// Ideal time of the retained steps.
        ideal: CapacityTime,
        /// Their time in compute kernels by the trace's share.
        computing: CapacityTime,
    },
}

impl StepTerms {
    /// `traced` device-time, of which `losses` by pattern; the rest is in kernels that compute.
    ///
    /// # Errors
    /// [`NoTerms`] when nothing was traced, a loss is no program loss, or they exceed what was traced.
    pub fn new(traced: CapacityTime, losses: Vec<(Pattern, CapacityTime)>) -> Result<Self, NoTerms> {
        if traced <= CapacityTime::ZERO {
            return Err(NoTerms::NothingTraced);
        }
        if let Some(&(pattern, _)) =
            losses.iter().find(|(pattern, _)| pattern.boundary() != Boundary::Program)
        {
            return Err(NoTerms::OtherBoundary(pattern));
        }
        let sum = CapacityTime::from_device_ns(losses.iter().map(|(_, amount)| amount.device_ns()).sum());
        if sum > traced {
            return Err(NoTerms::MoreThanTraced { losses: sum, traced });
        }
        Ok(Self { traced, losses })
    }

    /// Compute-only over step time: no kernel can be faster than its ideal, so P cannot be above it.
    pub fn upper_bound(&self) -> f64 {
        let lost: i128 = self.losses.iter().map(|(_, amount)| amount.device_ns()).sum();
        1.0 - lost as f64 / self.traced.device_ns() as f64
    }

    /// Divides the part of a program loss whose term is unsettled, by the shares of the traced steps. What is left is
    /// lost inside kernels (memory stalls, arithmetic below peak), and stays unsettled by term.
    ///
    /// ```
    /// use goodput_core::program::{ProgramAccount, NoProgramFactor, StepTerms};
    /// use goodput_core::records::SourceRef;
    /// use goodput_core::{CapacityTime, Loss, Pattern};
    /// let ns = CapacityTime::from_device_ns;
    /// // 1,000 retained, 480 of them ideal; the trace shows a quarter of the step in exposed collectives.
    /// let account = ProgramAccount {
    ///     ideal: ns(480),
    ///     losses: vec![Loss::new(Pattern::TermUnsettled, ns(520))],
    ///     basis: Err(NoProgramFactor::NoWork),
    /// };
    /// let terms = StepTerms::new(ns(200), vec![(Pattern::ExposedCommunication, ns(50))])?;
    /// let divided = terms.divide(account, SourceRef::default())?;
    /// assert_eq!(divided.losses[0], Loss::new(Pattern::TermUnsettled, ns(270)));
    /// assert_eq!(divided.losses[1].amount, ns(250));
    /// # Ok::<(), goodput_core::program::NoTerms>(())
    /// ```
    ///
    /// # Errors
    /// [`NoTerms::IdealAboveComputing`] when the shares leave less time than the ideal needs.
    pub fn divide(
        &self,
        mut account: ProgramAccount,
        evidence: SourceRef,
    ) -> Result<ProgramAccount, NoTerms> {
        let Some(unsettled) = account.losses.iter_mut().find(|loss| loss.pattern == Pattern::TermUnsettled)
        else {
            return Ok(account);
        };
        let covered = account.ideal.device_ns() + unsettled.amount.device_ns();
        let share = |amount: &CapacityTime| covered * amount.device_ns() / self.traced.device_ns();
        let named: Vec<_> = self.losses.iter().map(|(pattern, amount)| (*pattern, share(amount))).collect();
        let lost: i128 = named.iter().map(|(_, amount)| amount).sum();
        let rest = unsettled.amount.device_ns() - lost;
        if rest < 0 {
            return Err(NoTerms::IdealAboveComputing {
                ideal: account.ideal,
                computing: CapacityTime::from_device_ns(covered - lost),
            });
        }
        let idle_unsettled: i128 =
            named.iter().filter(|(p, _)| *p == Pattern::TermUnsettled).map(|(_, ns)| ns).sum();
        unsettled.amount = CapacityTime::from_device_ns(rest + idle_unsettled);
        let log = unsettled.evidence.clone();
        account.losses.extend(
            named.into_iter().filter(|&(pattern, ns)| ns > 0 && pattern != Pattern::TermUnsettled).map(
                |(pattern, amount)| Loss {
                    pattern,
                    amount: CapacityTime::from_device_ns(amount),
                    evidence: log.iter().copied().chain([evidence]).collect(),
                },
            ),
        );
        Ok(account)
    }
}

#[cfg(test)]
mod tests {
    use super::super::NoProgramFactor;
    use super::*;
    use proptest::prelude::*;

    fn ns(amount: i128) -> CapacityTime {
        CapacityTime::from_device_ns(amount)
    }

    fn account(ideal: i128, lost: i128) -> ProgramAccount {
        ProgramAccount {
            ideal: ns(ideal),
            losses: vec![
                Loss::new(Pattern::TermUnsettled, ns(lost)),
                Loss::new(Pattern::ProgramUnsettled, ns(7)),
            ],
            basis: Err(NoProgramFactor::NoWork),
        }
    }

    #[test]
    fn a_trace_that_leaves_less_than_the_ideal_is_refused() {
        let terms = StepTerms::new(ns(100), vec![(Pattern::HostDispatch, ns(60))]).unwrap();
        assert_eq!(
            terms.divide(account(48, 52), SourceRef::default()).unwrap_err(),
            NoTerms::IdealAboveComputing { ideal: ns(48), computing: ns(40) }
        );
    }

    #[test]
    fn what_the_trace_cannot_tell_stays_unsettled() {
        let terms =
            StepTerms::new(ns(100), vec![(Pattern::TermUnsettled, ns(20)), (Pattern::HostDispatch, ns(10))])
                .unwrap();
        let divided = terms.divide(account(40, 60), SourceRef::default()).unwrap();
        let amounts: Vec<_> = divided.losses.iter().map(|l| (l.pattern, l.amount.device_ns())).collect();
        assert_eq!(
            amounts,
            [(Pattern::TermUnsettled, 50), (Pattern::ProgramUnsettled, 7), (Pattern::HostDispatch, 10)]
        );
    }

    #[test]
    fn a_runtime_loss_is_no_term() {
        let refused = StepTerms::new(ns(100), vec![(Pattern::InputWait, ns(1))]).unwrap_err();
        assert_eq!(refused, NoTerms::OtherBoundary(Pattern::InputWait));
        assert_eq!(StepTerms::new(ns(0), vec![]).unwrap_err(), NoTerms::NothingTraced);
    }

    proptest! {
        #[test]
        fn terms_sum_to_the_loss(ideal in 0i128..1 << 60, lost in 0i128..1 << 60, parts in prop::collection::vec(0i128..1 << 40, 1..6)) {
            let patterns = [Pattern::HostDispatch, Pattern::Straggler, Pattern::PipelineBubble, Pattern::ExposedCommunication, Pattern::MemoryStall];
            let sum: i128 = parts.iter().sum();
            let losses = patterns.into_iter().zip(parts.iter().map(|&p| ns(p))).collect();
            let terms = StepTerms::new(ns(sum + 1), losses).unwrap();
            if let Ok(divided) = terms.divide(account(ideal, lost), SourceRef::default()) {
                let all: i128 = divided.losses.iter().map(|l| l.amount.device_ns()).sum();
                prop_assert_eq!(all, lost + 7);
                prop_assert!(divided.losses.iter().all(|l| l.amount >= CapacityTime::ZERO));
            }
        }
    }
}
