//! Program goodput: retained step time against a named ideal.

mod terms;
mod utilization;

pub use terms::{NoTerms, StepTerms};
pub use utilization::{
    AboveOne, Ideal, Mbu, Mfu, MixedIdeals, NoUtilization, NodeBaseline, ProgramTime, ScalingEfficiency,
};

use crate::capacity::CapacityTime;
use crate::fleet::ProgramBasis;
use crate::ledger::Loss;
use crate::pattern::Pattern;
use crate::range::{OutOfRange, positive};
use crate::records::{SourceRef, TimelineWork};
use crate::runtime::RetainedWork;

/// The capacity-time that `model_flops` take at the dense peak of one device: `FLOPs / peak`, in
/// device-nanoseconds rounded to the nearest (halves up). The peak is taken as whole FLOP/s. Exact in
/// integers, so ideal times of steps rounded one by one may differ from the ideal of their sum by
/// half a nanosecond a step: sum FLOPs first.
///
/// ```
/// use goodput_core::program::ideal_time;
/// // 14.9 PFLOP at 989 TFLOP/s: 15.07 device-seconds.
/// assert_eq!(ideal_time(14_900_000_000_000_000, 989e12)?.device_ns(), 15_065_722_952);
/// # Ok::<(), goodput_core::OutOfRange>(())
/// ```
///
/// # Errors
/// [`OutOfRange`] for a peak under one FLOP/s, or FLOPs that would take longer than the integers reach.
pub fn ideal_time(model_flops: u128, peak_flops_per_second: f64) -> Result<CapacityTime, OutOfRange> {
    const NS: u128 = 1_000_000_000;
    // Above this a peak is no device's, and remainder x NS would overflow.
    const MOST_FLOPS_PER_SECOND: f64 = 1e28;
    let peak = positive("peak_flops_per_second", peak_flops_per_second)?.round();
    if !(1.0..=MOST_FLOPS_PER_SECOND).contains(&peak) {
        return Err(OutOfRange {
            name: "peak_flops_per_second",
            value: peak_flops_per_second,
            expected: "the dense peak of one device in FLOP/s",
        });
    }
    let peak = peak as u128;
    // Whole seconds and their remainder apart: FLOPs x NS would overflow first.
    let part_ns = ((model_flops % peak) * NS + peak / 2) / peak;
    (model_flops / peak)
        .checked_mul(NS)
        .and_then(|ns| i128::try_from(ns + part_ns).ok())
        .map(CapacityTime::from_device_ns)
        .ok_or(OutOfRange {
            name: "model_flops",
            value: model_flops as f64,
            expected: "FLOPs that a device can execute in less than 5e21 years",
        })
}

/// Why a job has no program factor.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoProgramFactor {
    /// Nothing was retained.
    #[error("no step was retained")]
    NothingRetained,
    /// No record gives the work of a retained step.
    #[error(
        "the log gives neither FLOPs nor tokens with FLOPs per token: record model FLOPs or tokens a step, \
         or state model_flops_per_token"
    )]
    NoWork,
    /// No peak: there is no default device.
    #[error(
        "the peak of device {device} is not known: state the device and the arithmetic's dtype, and its dense peak \
         if the catalogue lacks it"
    )]
    NoPeak {
        /// The device, as far as the log names it.
        device: String,
    },
    /// The record of work covers more time than was retained.
    #[error("the work covers {covered}, more than the {retained} retained")]
    CoversMoreThanRetained {
        /// Time of the steps whose work is given.
        covered: CapacityTime,
        /// Productive time.
        retained: CapacityTime,
    },
    /// Ideal above actual time.
    #[error(transparent)]
    AboveOne(#[from] AboveOne),
    /// A stated quantity that is none.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
}

/// The program boundary of one job: retained time split into ideal time and losses.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramAccount {
    /// Retained time at the ideal rate.
    pub ideal: CapacityTime,
    /// The rest; sums to `retained - ideal`. Without a trace the loss has no terms.
    pub losses: Vec<Loss>,
    /// What the factor rests on, or why there is none (all retained time is then unsettled).
    pub basis: Result<ProgramBasis, NoProgramFactor>,
}

/// Accounts the program boundary of a job from the work of its retained steps. `log` is where they are recorded: the
/// evidence of the losses.
///
/// ```
/// use goodput_core::program;
/// use goodput_core::records::{SourceRef, TimelineWork};
/// use goodput_core::runtime::RetainedWork;
/// use goodput_core::{CapacityTime, Pattern};
/// // 100 steps of 14.9 PFLOP on 128 devices, 245 ms each.
/// let retained = CapacityTime::of(128, 24_500_000_000);
/// let work = RetainedWork { tokens: 0, model_flops: 1_490_000_000_000_000_000, covered: retained };
/// let stated = TimelineWork { peak_flops_per_second: Some(989e12), ..TimelineWork::default() };
/// let account = program::account(retained, &work, &stated, SourceRef::default());
/// assert!((account.basis?.mfu - 0.4804).abs() < 1e-4);
/// assert_eq!(account.losses[0].pattern, Pattern::TermUnsettled);
/// # Ok::<(), program::NoProgramFactor>(())
/// ```
pub fn account(
    retained: CapacityTime,
    work: &RetainedWork,
    stated: &TimelineWork,
    log: SourceRef,
) -> ProgramAccount {
    let loss = |pattern, amount| Loss { pattern, amount, evidence: vec![log] };
    match settle(retained, work, stated) {
        Ok((ideal, basis)) => ProgramAccount {
            ideal,
            losses: vec![
                loss(Pattern::TermUnsettled, work.covered - ideal),
                loss(Pattern::ProgramUnsettled, retained - work.covered),
            ],
            basis: Ok(basis),
        },
        Err(why) => ProgramAccount {
            ideal: CapacityTime::ZERO,
            losses: vec![loss(Pattern::ProgramUnsettled, retained)],
            basis: Err(why),
        },
    }
}

fn settle(
    retained: CapacityTime,
    work: &RetainedWork,
    stated: &TimelineWork,
) -> Result<(CapacityTime, ProgramBasis), NoProgramFactor> {
    let coverage = work.covered.share_of(retained).ok_or(NoProgramFactor::NothingRetained)?;
    if work.covered > retained {
        return Err(NoProgramFactor::CoversMoreThanRetained { covered: work.covered, retained });
    }
    let model_flops = match (work.model_flops, work.tokens, stated.model_flops_per_token) {
        (0, 0, _) | (0, _, None) => return Err(NoProgramFactor::NoWork),
        (0, tokens, Some(per_token)) => {
            (tokens as f64 * positive("model_flops_per_token", per_token)?).round() as u128
        }
        (model_flops, ..) => model_flops,
    };
    let named = |name: &Option<String>| name.clone().unwrap_or_else(|| "not stated".to_owned());
    let peak_flops_per_second = stated
        .peak_flops_per_second
        .ok_or_else(|| NoProgramFactor::NoPeak { device: named(&stated.device) })?;
    let ideal = ideal_time(model_flops, peak_flops_per_second)?;
    let mfu = Mfu::of_times(ideal, work.covered)?;
    Ok((
        ideal,
        ProgramBasis {
            ideal: Ideal::Compute.key(),
            device: named(&stated.device),
            peak_flops_per_second,
            dtype: named(&stated.dtype),
            convention: named(&stated.convention),
            mfu: mfu.value(),
            coverage,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ns(amount: i128) -> CapacityTime {
        CapacityTime::from_device_ns(amount)
    }

    fn stated(peak: f64) -> TimelineWork {
        TimelineWork { peak_flops_per_second: Some(peak), ..TimelineWork::default() }
    }

    const LOG: SourceRef = SourceRef { file: crate::records::FileId(3), line: 1 };

    /// A loss with the log as its evidence.
    fn loss(pattern: Pattern, amount: i128) -> Loss {
        Loss { pattern, amount: ns(amount), evidence: vec![LOG] }
    }

    #[test]
    fn half_a_nanosecond_rounds_up() {
        assert_eq!(ideal_time(1, 2e9).unwrap(), ns(1));
        assert_eq!(ideal_time(1, 3e9).unwrap(), ns(0));
    }

    #[test]
    fn no_peak_is_a_peak() {
        for peak in [0.0, -1.0, f64::NAN, f64::INFINITY, 0.1] {
            assert!(ideal_time(1, peak).is_err(), "{peak}");
        }
        assert!(ideal_time(u128::MAX, 1.0).is_err());
    }

    #[test]
    fn steps_without_work_stay_unsettled() {
        let work = RetainedWork { tokens: 0, model_flops: 30, covered: ns(60) };
        let account = account(ns(100), &work, &stated(1e9), LOG);
        assert_eq!(account.ideal, ns(30));
        assert_eq!(account.losses, [loss(Pattern::TermUnsettled, 30), loss(Pattern::ProgramUnsettled, 40)]);
        let basis = account.basis.unwrap();
        assert_eq!((basis.mfu, basis.coverage, basis.device.as_str()), (0.5, 0.6, "not stated"));
    }

    #[test]
    fn tokens_do_with_flops_per_token() {
        let work = RetainedWork { tokens: 10, model_flops: 0, covered: ns(100) };
        let with = TimelineWork { model_flops_per_token: Some(4.0), ..stated(1e9) };
        assert_eq!(account(ns(100), &work, &with, LOG).ideal, ns(40));
        assert_eq!(account(ns(100), &work, &stated(1e9), LOG).basis, Err(NoProgramFactor::NoWork));
    }

    #[test]
    fn no_device_is_no_default_device() {
        let work = RetainedWork { tokens: 0, model_flops: 30, covered: ns(60) };
        let account = account(ns(60), &work, &TimelineWork::default(), LOG);
        assert!(matches!(account.basis, Err(NoProgramFactor::NoPeak { .. })));
        assert_eq!(account.losses, [loss(Pattern::ProgramUnsettled, 60)]);
    }

    #[test]
    fn more_than_the_peak_is_refused_with_causes() {
        let work = RetainedWork { tokens: 0, model_flops: 200, covered: ns(100) };
        let account = account(ns(100), &work, &stated(1e9), LOG);
        let why = account.basis.unwrap_err().to_string();
        assert!(why.contains("2.000") && why.contains("one device"), "{why}");
        assert_eq!(account.ideal, CapacityTime::ZERO);
    }

    proptest! {
        #[test]
        fn the_parts_sum_to_retained(retained in 1i128..1_000_000, covered in 0i128..1_000_000, flops in 0u128..1_000_000) {
            let work = RetainedWork { tokens: 0, model_flops: flops, covered: ns(covered) };
            let account = account(ns(retained), &work, &stated(1e9), LOG);
            let lost: CapacityTime = account.losses.iter().map(|l| l.amount).sum();
            prop_assert_eq!(lost + account.ideal, ns(retained));
            prop_assert!(account.losses.iter().all(|l| l.amount >= CapacityTime::ZERO));
        }

        #[test]
        fn ideal_time_is_within_half_a_nanosecond(flops in 0u128..u128::from(u64::MAX), peak in 1u64..4_000_000_000_000_000) {
            let ideal = ideal_time(flops, peak as f64).unwrap().device_ns();
            // |ideal - flops x 1e9 / peak| <= 1/2, in integers.
            let exact = i128::try_from(flops * 1_000_000_000).unwrap();
            let difference = ideal * i128::from(peak) - exact;
            prop_assert!(2 * difference.abs() <= i128::from(peak));
        }
    }
}
