//! The composed first-order model beside what was measured, and ETTR under its own name.

use goodput_core::composed::{Residual, RuntimeInputs};
use goodput_core::ettr::measured_ettr;
use goodput_core::runtime::RuntimeAccount;
use serde::Serialize;

/// The composed model of runtime loss, each term beside the measured one, as shares of held time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComposedView {
    /// Held time over pauses; `None` without a pause.
    pub checkpoint_interval_s: Option<f64>,
    /// Held time over failures; `None` without a failure: a window that saw none cannot estimate it.
    pub mtbf_s: Option<f64>,
    /// Checkpoint interval that would cost least at this MTBF and pause (Young and Daly).
    pub best_interval_s: Option<f64>,
    /// The modelled terms, then every other pattern that was charged.
    pub terms: Vec<ComposedTermView>,
    /// Sum of the modelled terms.
    pub modelled: f64,
    /// Measured less modelled.
    pub residual: f64,
    /// Why the sum should not be trusted, when losses are not small.
    pub caveat: Option<String>,
}

/// One term.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ComposedTermView {
    /// The pattern.
    pub pattern: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// By the model; zero for patterns that it does not have.
    pub modelled: f64,
    /// By the account.
    pub measured: f64,
}

impl ComposedView {
    /// `None` when the job held nothing or the model has no answer.
    pub(crate) fn new(account: &RuntimeAccount) -> Option<Self> {
        let inputs = RuntimeInputs::from_measured(&account.measured);
        let loss = inputs.loss().ok()?;
        let residual = Residual::of(account.held, &account.losses, &loss)?;
        let best = RuntimeInputs { cadence: goodput_core::composed::Cadence::YoungDaly, ..inputs };
        let term = |t: &goodput_core::composed::TermResidual| ComposedTermView {
            pattern: t.pattern.key(),
            label: t.pattern.label(),
            modelled: t.modelled,
            measured: t.measured,
        };
        Some(Self {
            checkpoint_interval_s: loss.checkpoint_interval_s,
            mtbf_s: inputs.mtbf_s,
            best_interval_s: best.checkpoint_interval_s().filter(|&s| s > 0.0),
            terms: residual.terms.iter().map(term).collect(),
            modelled: loss.total(),
            residual: residual.total(),
            caveat: loss.left_small_loss_regime().map(|caveat| caveat.to_string()),
        })
    }
}

/// Effective training time ratio: a published relative of runtime goodput that divides by the job's
/// wall clock, queue included. Not comparable with runtime goodput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EttrView {
    /// Productive over queued, productive and unproductive time.
    pub value: f64,
    /// How it is defined.
    pub definition: &'static str,
}

impl EttrView {
    /// In job time: capacity-time over devices. `None` when the job held nothing.
    pub(crate) fn new(account: &RuntimeAccount) -> Option<Self> {
        let job_s =
            |amount: goodput_core::CapacityTime| amount.device_seconds() / account.devices.max(1) as f64;
        let queue_s = account.queue_wait_ns as f64 / 1e9;
        let value =
            measured_ettr(queue_s, job_s(account.retained), job_s(account.held - account.retained)).ok()?;
        Some(Self {
            value,
            definition: "productive / (queued + productive + unproductive), the job's wall clock: not runtime goodput",
        })
    }
}
