//! A job as the questions see it: interruptions, saves and what each costs, and the losses that follow.

use goodput_core::Pattern;
use goodput_core::composed::{Cadence, PreemptionCost, RuntimeInputs, RuntimeLoss};

use super::error::PlanError;
use super::fields::Fields;
use super::quantity::Quantity;
use super::words::percent;

const SECONDS_PER_DAY: f64 = 86_400.0;

/// What one preemption does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Eviction {
    /// Costs this many held seconds, whatever the cadence: a stated cost, or a save on notice and a restart.
    Costs(f64),
    /// Rolls back to the last durable checkpoint, then restarts in this many seconds.
    RollsBack(f64),
}

/// Interruptions and saves of one job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct JobRun {
    pub startup_s: f64,
    pub launches: f64,
    pub input_wait: f64,
    /// Training halts this long for each save.
    pub pause_s: f64,
    /// How much longer steps take while a background write is in flight.
    pub contention: f64,
    /// From the end of the pause until the generation can be restored from; zero for synchronous saves.
    pub durable_after_s: f64,
    /// Training between two saves, where it is stated.
    pub every_s: Option<f64>,
    pub failures_per_s: f64,
    pub recovery_s: f64,
    pub evictions_per_s: f64,
    pub eviction: Eviction,
    /// Waiting for devices after each preemption: not held.
    pub requeue_s: f64,
    /// Whether preemptions save on notice.
    pub graceful: bool,
}

impl JobRun {
    /// Reads the shared sections.
    pub fn read(fields: &Fields<'_>) -> Result<Self, PlanError> {
        let startup_s = fields.or("startup", Quantity::Duration, 0.0)?;
        let recovery = fields.get("reliability.recovery", Quantity::Duration)?;
        let failures = mtbf_s(fields)?;
        let mtbf_s = failures.map(|(_, mtbf_s)| mtbf_s);
        let recovery_s = match (recovery, mtbf_s) {
            (Some(recovery_s), _) => recovery_s,
            (None, None) => 0.0,
            (None, Some(_)) => fields.need("reliability.recovery", Quantity::Duration)?,
        };
        if let Some((key, mtbf_s)) = failures.filter(|(_, mtbf_s)| *mtbf_s <= recovery_s) {
            let message = format!(
                "a failure every {mtbf_s} s and a recovery of {recovery_s} s: such a job is never up; expected an MTBF \
                 above the recovery"
            );
            return Err(fields.refuse(key, message));
        }
        let asynchronous = fields.word("checkpoint.mode", &["sync", "async"], "sync")? == "async";
        let pause_s = fields.or("checkpoint.write", Quantity::Duration, 0.0)?;
        let (contention, durable_after_s) = if asynchronous {
            (
                fields.need("checkpoint.contention", Quantity::Share)?,
                fields.need("checkpoint.durable_after", Quantity::Duration)?,
            )
        } else {
            (0.0, 0.0)
        };
        let every_s = match fields.text_is("checkpoint.every", "best") {
            true => None,
            false => fields.get("checkpoint.every", Quantity::Span)?,
        };
        if let Some(every_s) = every_s.filter(|every_s| *every_s < durable_after_s) {
            let message = format!(
                "a generation takes {durable_after_s} s to be durable and the next is saved after {every_s} s: \
                 expected a delay within the interval"
            );
            return Err(fields.refuse("checkpoint.durable_after", message));
        }
        let evictions_per_s = fields.or("preemption.per_day", Quantity::Number, 0.0)? / SECONDS_PER_DAY;
        let (mut eviction, mut graceful) = (Eviction::Costs(0.0), false);
        if evictions_per_s > 0.0 {
            (eviction, graceful) = read_eviction(fields, startup_s, pause_s + durable_after_s)?;
        }
        Ok(Self {
            startup_s,
            launches: fields.or("job.launches", Quantity::Count, 1.0)?,
            input_wait: fields.or("input_wait", Quantity::Share, 0.0)?,
            pause_s,
            contention,
            durable_after_s,
            every_s,
            failures_per_s: mtbf_s.map_or(0.0, f64::recip),
            recovery_s,
            evictions_per_s,
            eviction,
            requeue_s: fields.get("preemption.requeue", Quantity::Duration)?.unwrap_or(0.0),
            graceful,
        })
    }

    /// Rate of the interruptions that roll back to a checkpoint.
    pub fn rollbacks_per_s(&self) -> f64 {
        match self.eviction {
            Eviction::RollsBack(_) => self.failures_per_s + self.evictions_per_s,
            Eviction::Costs(_) => self.failures_per_s,
        }
    }

    /// The interval with the least first-order loss: Young's form, with what a save costs in contention beside its pause
    /// and with every interruption that rolls back. `None` when nothing rolls back, or nothing costs a save.
    pub fn best_interval_s(&self) -> Option<f64> {
        let save_s = self.pause_s + self.contention / (1.0 + self.contention) * self.durable_after_s;
        let rate = self.rollbacks_per_s();
        (rate > 0.0 && save_s > 0.0).then(|| (2.0 * save_s / rate).sqrt().max(self.durable_after_s))
    }

    /// The stated interval, or the best one.
    ///
    /// # Errors
    /// When the job rolls back and neither is known.
    pub fn interval_s(&self, fields: &Fields<'_>) -> Result<Option<f64>, PlanError> {
        let interval_s = self.every_s.or_else(|| self.best_interval_s());
        if interval_s.is_none() && self.rollbacks_per_s() > 0.0 {
            return Err(PlanError::new(
                fields.at("checkpoint.write"),
                "a save that costs nothing has no best interval: state checkpoint.write, or checkpoint.every",
            ));
        }
        Ok(interval_s)
    }

    /// The inputs of the composed model at an interval.
    pub fn composed(&self, held_s: f64, interval_s: Option<f64>) -> RuntimeInputs {
        RuntimeInputs {
            held_s,
            launches: self.launches as u64,
            startup_s: self.startup_s,
            input_wait_share: self.input_wait,
            checkpoint_write_s: self.pause_s,
            cadence: interval_s.map_or(Cadence::Unknown, |interval_s| Cadence::Every { interval_s }),
            mtbf_s: (self.failures_per_s > 0.0).then(|| self.failures_per_s.recip()),
            recovery_s: self.recovery_s,
            preemptions_per_day: self.evictions_per_s * SECONDS_PER_DAY,
            preemption: match self.eviction {
                Eviction::Costs(cost_s) => PreemptionCost::Stated { cost_s },
                Eviction::RollsBack(restart_s) => PreemptionCost::HalfInterval { restart_s },
            },
        }
    }

    /// Loss at an interval: the composed terms, and what asynchronous saves add.
    pub fn loss(&self, held_s: f64, interval_s: Option<f64>) -> Result<RunLoss, goodput_core::OutOfRange> {
        let composed = self.composed(held_s, interval_s).loss()?;
        Ok(RunLoss {
            composed,
            // A rollback during the flush goes one generation further back: an interval in `delay/interval` of the
            // cases, so the delay itself on average.
            not_durable: self.durable_after_s * self.rollbacks_per_s(),
            contention: interval_s.map_or(0.0, |interval_s| {
                self.durable_after_s.min(interval_s) / interval_s * self.contention / (1.0 + self.contention)
            }),
        })
    }

    /// Runtime goodput, first order.
    ///
    /// # Errors
    /// When the losses take all that is held; names the field behind the largest.
    pub fn retained(
        &self,
        fields: &Fields<'_>,
        held_s: f64,
        interval_s: Option<f64>,
    ) -> Result<f64, PlanError> {
        let loss = self.loss(held_s, interval_s).map_err(PlanError::range(fields.path()))?;
        if loss.runtime() < 1.0 {
            return Ok(1.0 - loss.runtime());
        }
        let (term, share) = loss.composed.largest();
        let message = format!(
            "the runtime losses are {} of what is held, {} of it {}: nothing is retained; expected losses below 100 % in sum",
            percent(loss.runtime()),
            percent(share),
            term.label()
        );
        Err(fields.refuse(field_of(term), message))
    }

    /// Expected held seconds for each second of training, saves and interruptions included, input waits and startup
    /// not: for exponential interruptions, a cycle of `T` held seconds takes `(e^(rate T) - 1)(1/rate + restart)` (Daly
    /// 2006). An interruption during a restart is part of the restart as it was measured.
    pub fn held_per_trained(&self, interval_s: Option<f64>) -> f64 {
        let rate = self.rollbacks_per_s();
        let delays = match self.eviction {
            Eviction::Costs(cost_s) => 1.0 + self.evictions_per_s * cost_s,
            Eviction::RollsBack(_) => 1.0,
        };
        let Some(interval_s) = interval_s else { return delays };
        let cycle_s = interval_s + self.pause_s;
        let expected_s = if rate > 0.0 {
            (rate * cycle_s).exp_m1() * (rate.recip() + self.restart_s() + self.durable_after_s)
        } else {
            cycle_s
        };
        delays * expected_s / interval_s
    }

    /// Mean restart after an interruption that rolls back.
    pub fn restart_s(&self) -> f64 {
        match self.eviction {
            Eviction::RollsBack(restart_s) if self.evictions_per_s > 0.0 => {
                (self.failures_per_s * self.recovery_s + self.evictions_per_s * restart_s)
                    / self.rollbacks_per_s()
            }
            _ => self.recovery_s,
        }
    }

    /// Share of the fault-free pace that remains while saves are in flight.
    pub fn pace(&self, interval_s: Option<f64>) -> f64 {
        interval_s.map_or(1.0, |interval_s| {
            1.0 - self.durable_after_s.min(interval_s) / interval_s * self.contention
                / (1.0 + self.contention)
        })
    }

    /// Runtime goodput with exponential interruptions, startup left out.
    pub fn expected_runtime_goodput(&self, interval_s: Option<f64>) -> f64 {
        (1.0 - self.input_wait) / self.held_per_trained(interval_s)
    }

    /// The same where it is above zero.
    ///
    /// # Errors
    /// When input waits or interruptions leave nothing; names the field.
    pub fn expected(&self, fields: &Fields<'_>, interval_s: Option<f64>) -> Result<f64, PlanError> {
        if self.input_wait >= 1.0 {
            return Err(fields.refuse("input_wait", "a job that only waits never ends: expected below 1"));
        }
        let goodput = self.expected_runtime_goodput(interval_s);
        if goodput > 0.0 {
            return Ok(goodput);
        }
        let message =
            "interruptions leave nothing retained: expected a shorter interval, or fewer interruptions";
        Err(fields.refuse("checkpoint.every", message))
    }

    /// The interval with the most retained work by [`Self::held_per_trained`], by golden section around the first-order
    /// one.
    pub fn exact_interval_s(&self) -> Option<f64> {
        let start = self.best_interval_s()?;
        let cost = |log: f64| {
            let interval_s = log.exp();
            self.held_per_trained(Some(interval_s)) / self.pace(Some(interval_s))
        };
        let ratio = (5.0_f64.sqrt() - 1.0) / 2.0;
        // No interval is shorter than the flush: searched below it, the cost would be flat, and its minimum missed.
        let (mut low, mut high) = ((start / 100.0).max(self.durable_after_s).ln(), (start * 100.0).ln());
        for _ in 0..100 {
            let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
            // Beyond the range of floats the cost is infinite on the right: the left is kept.
            if cost(left) <= cost(right) || !cost(right).is_finite() {
                high = right;
            } else {
                low = left;
            }
        }
        Some(((low + high) / 2.0).exp().max(self.durable_after_s))
    }
}

/// Loss of a job as shares of held time, and of its retained steps where saves contend with them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RunLoss {
    pub composed: RuntimeLoss,
    /// Rework because the last generation was not durable yet.
    pub not_durable: f64,
    /// Slower steps while a write is in flight: a program loss.
    pub contention: f64,
}

impl RunLoss {
    /// Runtime loss.
    pub fn runtime(&self) -> f64 {
        self.composed.total() + self.not_durable
    }

    /// Everything that the cadence moves, in both factors.
    pub fn total(&self) -> f64 {
        self.runtime() + self.contention
    }
}

/// The field that a term of the runtime loss grows with.
const fn field_of(term: Pattern) -> &'static str {
    match term {
        Pattern::Startup => "startup",
        Pattern::InputWait => "input_wait",
        Pattern::CheckpointPause => "checkpoint.write",
        Pattern::Rework => "checkpoint.every",
        Pattern::Recovery => "reliability.recovery",
        _ => "preemption.per_day",
    }
}

/// Mean time between failures of the whole job, and the field that states it.
fn mtbf_s(fields: &Fields<'_>) -> Result<Option<(&'static str, f64)>, PlanError> {
    if let Some(mtbf_s) = fields.get("reliability.mtbf", Quantity::Span)? {
        let mtbf_s = match fields.get("reliability.at_devices", Quantity::Count)? {
            Some(at) => mtbf_s * at / fields.need("job.devices", Quantity::Count)?,
            None => mtbf_s,
        };
        return Ok(Some(("reliability.mtbf", mtbf_s)));
    }
    let Some(rate) = fields.get("reliability.failures_per_node_day", Quantity::Number)? else {
        return Ok(None);
    };
    let nodes = fields.need("reliability.nodes", Quantity::Count)?;
    let mtbf_s = SECONDS_PER_DAY / (rate * nodes);
    Ok((rate > 0.0).then_some(("reliability.failures_per_node_day", mtbf_s)))
}

fn read_eviction(fields: &Fields<'_>, startup_s: f64, save_s: f64) -> Result<(Eviction, bool), PlanError> {
    if let Some(cost_s) = fields.get("preemption.cost", Quantity::Duration)? {
        return Ok((Eviction::Costs(cost_s), false));
    }
    let restart_s = match fields.get("preemption.restart", Quantity::Duration)? {
        Some(restart_s) => restart_s,
        None if fields.has("startup") => startup_s,
        None => fields.need("preemption.restart", Quantity::Duration)?,
    };
    if let Some(notice_s) = fields.get("preemption.notice", Quantity::Duration)?
        && notice_s >= save_s
        && save_s > 0.0
    {
        return Ok((Eviction::Costs(save_s + restart_s), true));
    }
    Ok(match fields.get("preemption.lost_work", Quantity::Duration)? {
        Some(lost_s) => (Eviction::Costs(lost_s + restart_s), false),
        None => (Eviction::RollsBack(restart_s), false),
    })
}
