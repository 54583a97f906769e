//! The composed first-order model of runtime loss: each owner's own formula, as a share of held time.
//!
//! `1 - R ≈ startup/held + input + (write/interval + interval/(2 MTBF)) + recovery/MTBF + rate x preemption`
//!
//! The interval is Young's and Daly's `sqrt(2 x write x MTBF)`. Rework after a failure is counted in
//! the checkpoint part only, warm-up in the event that caused the start, and asynchronous writes
//! not at all: they slow retained steps, which is a program loss.

mod residual;

pub use residual::{Residual, TermResidual};

use crate::pattern::Pattern;
use crate::range::{OutOfRange, non_negative, positive, share};
use crate::runtime::Measured;

const SECONDS_PER_DAY: f64 = 86_400.0;

/// A single term above this share leaves the small-loss regime. The terms are normalised to
/// different bases (step time, fault-free time, wall time); read against productive instead of held
/// time a term `x` becomes `x/(1+x)`, and at 0.10 the two differ by 0.9 points of held time: as much
/// as whole terms that the sum should rank.
pub const SMALL_TERM: f64 = 0.10;

/// A sum of terms above this share leaves the small-loss regime. At 0.20 the readings `1 - sum` and
/// `1/(1 + sum)` of the same terms differ by 3.3 points: a sixth of the loss itself.
pub const SMALL_SUM: f64 = 0.20;

/// How often the job commits a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cadence {
    /// At the interval that is optimal for failures alone.
    YoungDaly,
    /// At the interval that is optimal when preemptions count as interruptions too.
    YoungDalyWithPreemptions,
    /// At a stated interval.
    Every {
        /// From one commit to the next, in seconds.
        interval_s: f64,
    },
    /// Not known: neither writes nor rework are modelled, and both show whole in the residual.
    Unknown,
}

/// What one forced preemption costs in held time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PreemptionCost {
    /// A stated cost, lost work included.
    Stated {
        /// Held seconds an event.
        cost_s: f64,
    },
    /// Half a checkpoint interval of lost work, and a restart: cadence and preemption solved jointly.
    HalfInterval {
        /// Reload and warm-up in seconds.
        restart_s: f64,
    },
}

/// What the model needs to know of one job.
///
/// ```
/// use goodput_core::composed::{Cadence, PreemptionCost, RuntimeInputs};
/// let job = RuntimeInputs {
///     held_s: 7.0 * 86_400.0,
///     launches: 1,
///     startup_s: 5.2 * 60.0,
///     input_wait_share: 0.05 / 0.65,
///     checkpoint_write_s: 9.8,
///     cadence: Cadence::YoungDaly,
///     mtbf_s: Some(302.0 * 3600.0),
///     recovery_s: 6.2 * 60.0,
///     preemptions_per_day: 1.0,
///     preemption: PreemptionCost::Stated { cost_s: 20.2 * 60.0 },
/// };
/// let loss = job.loss()?;
/// assert!((loss.runtime_goodput() - 0.9039).abs() < 1e-4);
/// assert!(loss.left_small_loss_regime().is_none());
/// # Ok::<(), goodput_core::OutOfRange>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuntimeInputs {
    /// Held time in seconds.
    pub held_s: f64,
    /// Cold launches in that time; starts after a failure or a preemption are not among them.
    pub launches: u64,
    /// Gang complete to first step, in seconds a launch.
    pub startup_s: f64,
    /// Input wait as a share of held time, in steady state.
    pub input_wait_share: f64,
    /// Synchronous part of writing a checkpoint, in seconds.
    pub checkpoint_write_s: f64,
    /// How often a checkpoint is committed.
    pub cadence: Cadence,
    /// Mean held time between failures of the whole job, in seconds; `None` when none are expected.
    pub mtbf_s: Option<f64>,
    /// Detection, relaunch, reload and warm-up, in seconds a failure; rework is not among them.
    pub recovery_s: f64,
    /// Forced preemptions in a day of held time.
    pub preemptions_per_day: f64,
    /// What each costs.
    pub preemption: PreemptionCost,
}

impl RuntimeInputs {
    /// The inputs as one job's own account measured them. The interval is held time over checkpoints
    /// (over pauses where the log names no checkpoint), so only the rework term predicts anything; the
    /// others restate what was measured, and the [`Residual`] shows what the model does not know. A job
    /// without a failure gets no MTBF: a window that saw none cannot estimate it.
    pub fn from_measured(measured: &Measured) -> Self {
        let seconds = |ns: i64| ns as f64 / 1e9;
        let each = |ns: i64, count: u64| if count == 0 { 0.0 } else { seconds(ns) / count as f64 };
        let held_s = seconds(measured.held_ns);
        let interval = |count: u64| (count > 0).then(|| held_s / count as f64);
        let checkpoints = if measured.commits > 0 { measured.commits } else { measured.pauses };
        Self {
            held_s,
            launches: measured.launches,
            startup_s: each(measured.startup_ns, measured.launches),
            input_wait_share: if held_s > 0.0 { seconds(measured.input_wait_ns) / held_s } else { 0.0 },
            checkpoint_write_s: each(measured.pause_ns, checkpoints),
            cadence: interval(checkpoints)
                .map_or(Cadence::Unknown, |interval_s| Cadence::Every { interval_s }),
            mtbf_s: interval(measured.failures),
            recovery_s: each(measured.recovery_ns, measured.failures),
            preemptions_per_day: if held_s > 0.0 {
                measured.preemptions as f64 / held_s * SECONDS_PER_DAY
            } else {
                0.0
            },
            preemption: PreemptionCost::Stated { cost_s: each(measured.preemption_ns, measured.preemptions) },
        }
    }

    /// The same job on `to_devices` instead of `from_devices`: the time between failures shrinks in
    /// proportion, everything else stays. Published fleets depart from the proportion at the small
    /// end (Kokolis et al. measure 7.9 h at 1,024 GPUs where it says 28.8 h).
    pub fn at_size(&self, from_devices: f64, to_devices: f64) -> Self {
        Self { mtbf_s: self.mtbf_s.map(|mtbf_s| mtbf_s * from_devices / to_devices), ..*self }
    }

    /// The checkpoint interval in seconds; `None` when it is unknown, or optimal for interruptions
    /// that never come.
    pub fn checkpoint_interval_s(&self) -> Option<f64> {
        let failures_per_s = self.mtbf_s.map_or(0.0, f64::recip);
        let preemptions_per_s = self.preemptions_per_day / SECONDS_PER_DAY;
        let interruptions_per_s = match self.cadence {
            Cadence::YoungDaly => failures_per_s,
            Cadence::YoungDalyWithPreemptions => failures_per_s + preemptions_per_s,
            Cadence::Every { interval_s } => return Some(interval_s),
            Cadence::Unknown => return None,
        };
        (interruptions_per_s > 0.0).then(|| (2.0 * self.checkpoint_write_s / interruptions_per_s).sqrt())
    }

    /// The modelled loss.
    ///
    /// # Errors
    /// [`OutOfRange`] names the input that has no meaning.
    pub fn loss(&self) -> Result<RuntimeLoss, OutOfRange> {
        let held_s = positive("held_s", self.held_s)?;
        let write_s = non_negative("checkpoint_write_s", self.checkpoint_write_s)?;
        let failures_per_s = match self.mtbf_s {
            Some(mtbf_s) => positive("mtbf_s", mtbf_s)?.recip(),
            None => 0.0,
        };
        let preemptions_per_s =
            non_negative("preemptions_per_day", self.preemptions_per_day)? / SECONDS_PER_DAY;
        if let Cadence::Every { interval_s } = self.cadence {
            positive("interval_s", interval_s)?;
        }
        let interval_s = self.checkpoint_interval_s();
        let preemption_s = match self.preemption {
            PreemptionCost::Stated { cost_s } => non_negative("preemption cost_s", cost_s)?,
            PreemptionCost::HalfInterval { restart_s } => {
                let lost_s = match interval_s {
                    Some(interval_s) => interval_s / 2.0,
                    None if preemptions_per_s == 0.0 => 0.0,
                    None => {
                        return Err(OutOfRange {
                            name: "checkpoint interval",
                            value: f64::INFINITY,
                            expected: "a finite interval, because a preemption loses half of it",
                        });
                    }
                };
                lost_s + non_negative("restart_s", restart_s)?
            }
        };
        Ok(RuntimeLoss {
            startup: self.launches as f64 * non_negative("startup_s", self.startup_s)? / held_s,
            input_wait: share("input_wait_share", self.input_wait_share)?,
            checkpoint_write: match interval_s {
                Some(interval_s) if write_s > 0.0 => write_s / interval_s,
                _ => 0.0,
            },
            rework: interval_s.map_or(0.0, |interval_s| interval_s / 2.0 * failures_per_s),
            recovery: non_negative("recovery_s", self.recovery_s)? * failures_per_s,
            preemption: preemptions_per_s * preemption_s,
            checkpoint_interval_s: interval_s,
        })
    }

    /// The modelled loss at each of `sizes`, for a job whose inputs hold on `devices`.
    ///
    /// # Errors
    /// As [`Self::loss`].
    pub fn size_curve(&self, devices: u64, sizes: &[u64]) -> Result<Vec<(u64, RuntimeLoss)>, OutOfRange> {
        let from = positive("devices", devices as f64)?;
        sizes
            .iter()
            .map(|&size| Ok((size, self.at_size(from, positive("size in devices", size as f64)?).loss()?)))
            .collect()
    }

    /// The size in devices from which checkpoints and recovery together cost more than input waits: one where they
    /// always do, as without input waits; `None` when they never do.
    ///
    /// # Errors
    /// As [`Self::loss`].
    pub fn size_where_failures_overtake_input(&self, devices: u64) -> Result<Option<f64>, OutOfRange> {
        let from = positive("devices", devices as f64)?;
        let overtakes = |size: f64| -> Result<bool, OutOfRange> {
            let loss = self.at_size(from, size).loss()?;
            Ok(loss.checkpoint() + loss.recovery > loss.input_wait)
        };
        // Both failure terms grow with size, so the crossing is bracketed by doubling, then halved
        // until neighbouring floats.
        if overtakes(1.0)? {
            return Ok(Some(1.0));
        }
        let (mut below, mut above) = (1.0, from);
        const MOST_DEVICES: f64 = 1e18;
        while !overtakes(above)? {
            if above > MOST_DEVICES {
                return Ok(None);
            }
            (below, above) = (above, above * 2.0);
        }
        loop {
            let middle = below + (above - below) / 2.0;
            if middle <= below || middle >= above {
                return Ok(Some(above));
            }
            if overtakes(middle)? {
                above = middle;
            } else {
                below = middle;
            }
        }
    }
}

/// Modelled runtime loss: each term a share of held time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuntimeLoss {
    /// Cold launches.
    pub startup: f64,
    /// Waiting for input.
    pub input_wait: f64,
    /// Training halted while a checkpoint is written.
    pub checkpoint_write: f64,
    /// Steps lost to failures: half an interval each.
    pub rework: f64,
    /// Detection, relaunch, reload and warm-up after failures.
    pub recovery: f64,
    /// Forced preemptions, their lost work included.
    pub preemption: f64,
    /// The interval behind the checkpoint terms, in seconds.
    pub checkpoint_interval_s: Option<f64>,
}

impl RuntimeLoss {
    /// The terms under the patterns that a measured account charges.
    pub fn terms(&self) -> [(Pattern, f64); 6] {
        [
            (Pattern::Startup, self.startup),
            (Pattern::InputWait, self.input_wait),
            (Pattern::CheckpointPause, self.checkpoint_write),
            (Pattern::Rework, self.rework),
            (Pattern::Recovery, self.recovery),
            (Pattern::Preemption, self.preemption),
        ]
    }

    /// Checkpoint waste: writes and rework.
    pub fn checkpoint(&self) -> f64 {
        self.checkpoint_write + self.rework
    }

    /// The sum of the terms.
    pub fn total(&self) -> f64 {
        self.terms().iter().map(|(_, term)| term).sum()
    }

    /// `1 - total`. Not clamped: a negative value says that the sum has left its regime far behind.
    pub fn runtime_goodput(&self) -> f64 {
        1.0 - self.total()
    }

    /// `1/(1 + total)`: the goodput if every term were a share of productive instead of held time.
    /// The truth of first-order terms lies between [`Self::runtime_goodput`] and this.
    pub fn runtime_goodput_high(&self) -> f64 {
        (1.0 + self.total()).recip()
    }

    /// The largest term: whose owner to call first.
    pub fn largest(&self) -> (Pattern, f64) {
        self.terms().into_iter().fold(
            (Pattern::Startup, 0.0),
            |most, term| {
                if term.1 > most.1 { term } else { most }
            },
        )
    }

    /// Why the sum should not be trusted, when a term or the sum is no longer small
    /// ([`SMALL_TERM`], [`SMALL_SUM`]).
    pub fn left_small_loss_regime(&self) -> Option<LeftSmallLossRegime> {
        let (term, share) = self.largest();
        (share > SMALL_TERM || self.total() > SMALL_SUM).then(|| LeftSmallLossRegime {
            term,
            share,
            total: self.total(),
            low: self.runtime_goodput(),
            high: self.runtime_goodput_high(),
        })
    }
}

/// The first-order sum was asked about losses that are not small.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "the modelled loss is {:.1} % of held time, {:.1} % of it {}: the first-order sum holds for terms under \
     {:.0} % and sums under {:.0} %; runtime goodput lies between {:.3} and {:.3}: measure the shares from the job's timeline",
    total * 100.0, share * 100.0, term.label(), SMALL_TERM * 100.0, SMALL_SUM * 100.0, low, high
)]
pub struct LeftSmallLossRegime {
    /// The largest term.
    pub term: Pattern,
    /// Its share of held time.
    pub share: f64,
    /// The sum of all terms.
    pub total: f64,
    /// `1 - total`.
    pub low: f64,
    /// `1/(1 + total)`.
    pub high: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> RuntimeInputs {
        RuntimeInputs {
            held_s: 100_000.0,
            launches: 1,
            startup_s: 500.0,
            input_wait_share: 0.02,
            checkpoint_write_s: 10.0,
            cadence: Cadence::YoungDaly,
            mtbf_s: Some(500_000.0),
            recovery_s: 600.0,
            preemptions_per_day: 0.0,
            preemption: PreemptionCost::Stated { cost_s: 0.0 },
        }
    }

    #[test]
    fn young_daly_balances_writes_and_rework_and_beats_its_neighbours() {
        let best = job().loss().unwrap();
        assert!((best.checkpoint_write - best.rework).abs() < 1e-15);
        let interval_s = best.checkpoint_interval_s.unwrap();
        for factor in [0.5, 0.9, 1.1, 2.0] {
            let other =
                RuntimeInputs { cadence: Cadence::Every { interval_s: interval_s * factor }, ..job() };
            assert!(other.loss().unwrap().checkpoint() > best.checkpoint());
        }
    }

    #[test]
    fn preemptions_solved_jointly_prefer_the_shorter_interval() {
        let preempted = RuntimeInputs {
            preemptions_per_day: 4.0,
            preemption: PreemptionCost::HalfInterval { restart_s: 300.0 },
            ..job()
        };
        let joint = RuntimeInputs { cadence: Cadence::YoungDalyWithPreemptions, ..preempted };
        assert!(joint.loss().unwrap().total() < preempted.loss().unwrap().total());
    }

    #[test]
    fn a_job_without_interruptions_loses_nothing_to_them() {
        let calm = RuntimeInputs { mtbf_s: None, ..job() };
        let loss = calm.loss().unwrap();
        assert_eq!((loss.checkpoint(), loss.recovery), (0.0, 0.0));
        assert_eq!(calm.size_where_failures_overtake_input(128).unwrap(), None);
    }

    #[test]
    fn failures_overtake_input_at_any_size_where_input_hardly_waits() {
        for input_wait_share in [0.0, 1e-300, 1e-9] {
            let inputs = RuntimeInputs { input_wait_share, ..job() };
            for devices in [1, 128] {
                let mtbf_s = inputs.mtbf_s.map(|mtbf_s| mtbf_s * 128.0 / devices as f64);
                let inputs = RuntimeInputs { mtbf_s, ..inputs };
                assert_eq!(inputs.size_where_failures_overtake_input(devices).unwrap(), Some(1.0));
            }
        }
    }

    #[test]
    fn meaningless_inputs_are_named() {
        let error = RuntimeInputs { mtbf_s: Some(0.0), ..job() }.loss().unwrap_err();
        assert_eq!(error.to_string(), "mtbf_s is 0, expected a finite number above zero");
        let unknown = RuntimeInputs {
            cadence: Cadence::Unknown,
            preemptions_per_day: 1.0,
            preemption: PreemptionCost::HalfInterval { restart_s: 1.0 },
            ..job()
        };
        assert_eq!(unknown.loss().unwrap_err().name, "checkpoint interval");
    }

    #[test]
    fn measured_inputs_restate_every_term_but_rework() {
        let measured = Measured {
            held_ns: 1_000_000_000_000,
            launches: 1,
            startup_ns: 20_000_000_000,
            failures: 2,
            recovery_ns: 30_000_000_000,
            preemptions: 1,
            preemption_ns: 15_000_000_000,
            input_wait_ns: 10_000_000_000,
            pauses: 50,
            pause_ns: 5_000_000_000,
            commits: 0,
            rework_ns: 25_000_000_000,
            logging_ns: 0,
        };
        let loss = RuntimeInputs::from_measured(&measured).loss().unwrap();
        let expected = [0.020, 0.010, 0.005, 0.020, 0.030, 0.015];
        for ((pattern, term), expected) in loss.terms().into_iter().zip(expected) {
            assert!((term - expected).abs() < 1e-12, "{}: {term}", pattern.key());
        }
    }

    #[test]
    fn a_job_that_never_pauses_to_save_still_has_a_cadence() {
        let asynchronous = Measured {
            held_ns: 1_000_000_000_000,
            failures: 2,
            commits: 50,
            rework_ns: 25_000_000_000,
            ..Measured::default()
        };
        let loss = RuntimeInputs::from_measured(&asynchronous).loss().unwrap();
        assert_eq!(loss.checkpoint_interval_s, Some(20.0));
        // Two failures lose half of 20 s each.
        assert!((loss.rework - 0.020).abs() < 1e-12);
        assert_eq!(loss.checkpoint_write, 0.0);
        // Pauses and commits need not come in pairs: the pause term restates what was measured all the same.
        let mixed = Measured { pauses: 40, pause_ns: 5_000_000_000, ..asynchronous };
        let loss = RuntimeInputs::from_measured(&mixed).loss().unwrap();
        assert!((loss.checkpoint_write - 0.005).abs() < 1e-12);
        assert_eq!(loss.checkpoint_interval_s, Some(20.0));
    }

    #[test]
    fn an_empty_measurement_is_refused_not_divided() {
        assert_eq!(RuntimeInputs::from_measured(&Measured::default()).loss().unwrap_err().name, "held_s");
    }
}
