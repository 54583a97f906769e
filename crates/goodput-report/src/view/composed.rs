//! The composed first-order model beside what was measured, and ETTR under its own name.

use goodput_core::composed::{Cadence, Residual, RuntimeInputs, RuntimeLoss};
use goodput_core::ettr::measured_ettr;
use goodput_core::runtime::RuntimeAccount;
use goodput_core::{OutOfRange, Pattern};
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
    /// The same with preemptions counted as interruptions beside failures.
    pub best_interval_with_preemptions_s: Option<f64>,
    /// The modelled terms, then every other pattern that was charged.
    pub terms: Vec<ComposedTermView>,
    /// Sum of the modelled terms.
    pub modelled: f64,
    /// Measured less modelled.
    pub residual: f64,
    /// Why the sum should not be trusted, when losses are not small.
    pub caveat: Option<String>,
    /// The model against job size, the time between failures shrinking in proportion; empty without a failure, and it ends where all
    /// of the held time would be lost.
    pub size_curve: Vec<SizePointView>,
    /// Size in devices from which checkpoints and recovery cost more than input waits; `None` when they never do.
    pub failures_overtake_input_devices: Option<f64>,
}

/// The model at one job size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SizePointView {
    /// Devices.
    pub devices: u64,
    /// Held time between failures.
    pub mtbf_s: f64,
    /// Modelled loss at the job's own checkpoint interval, as a share of held time.
    pub modelled: f64,
    /// The interval that would cost least at this size.
    pub best_interval_s: Option<f64>,
    /// Modelled loss at that interval.
    pub modelled_at_best: f64,
    /// Whether the losses are still small enough for a first-order sum.
    pub small_losses: bool,
    /// The terms of `modelled`, for drawing.
    #[serde(skip)]
    pub terms: [(Pattern, f64); 6],
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
        let at_best = |cadence| {
            let best = RuntimeInputs { cadence, ..inputs }.checkpoint_interval_s();
            best.filter(|&interval_s| interval_s > 0.0)
        };
        let term = |t: &goodput_core::composed::TermResidual| ComposedTermView {
            pattern: t.pattern.key(),
            label: t.pattern.label(),
            modelled: t.modelled,
            measured: t.measured,
        };
        Some(Self {
            checkpoint_interval_s: loss.checkpoint_interval_s,
            mtbf_s: inputs.mtbf_s,
            best_interval_s: at_best(Cadence::YoungDaly),
            best_interval_with_preemptions_s: at_best(Cadence::YoungDalyWithPreemptions),
            terms: residual.terms.iter().map(term).collect(),
            modelled: loss.total(),
            residual: residual.total(),
            caveat: loss.left_small_loss_regime().map(|caveat| caveat.to_string()),
            size_curve: size_curve(&inputs, account.devices).unwrap_or_default(),
            failures_overtake_input_devices: inputs
                .size_where_failures_overtake_input(account.devices)
                .unwrap_or_default()
                .filter(|_| inputs.mtbf_s.is_some() && inputs.input_wait_share > 0.0),
        })
    }
}

/// The model's curve for a job that nobody measured: the chapter's example and the like.
#[cfg(test)]
pub(crate) fn modelled_curve(inputs: &RuntimeInputs, devices: u64) -> (Vec<SizePointView>, Option<f64>) {
    let crossing = inputs.size_where_failures_overtake_input(devices).unwrap_or_default();
    (size_curve(inputs, devices).unwrap_or_default(), crossing)
}

/// From an eighth of the job's size to 64 times it. Without a failure nothing of the model depends on size.
fn size_curve(inputs: &RuntimeInputs, devices: u64) -> Result<Vec<SizePointView>, OutOfRange> {
    let Some(mtbf_s) = inputs.mtbf_s else { return Ok(Vec::new()) };
    let from = devices as f64;
    let smaller =
        [8, 4, 2].into_iter().filter(|&part| devices.is_multiple_of(part)).map(|part| devices / part);
    let larger = [1, 2, 4, 8, 16, 32, 64].into_iter().map(|times| devices.saturating_mul(times));
    let sizes: Vec<u64> = smaller.chain(larger).filter(|&size| size > 0).collect();
    let own = inputs.size_curve(devices, &sizes)?;
    let best = RuntimeInputs { cadence: Cadence::YoungDaly, ..*inputs }.size_curve(devices, &sizes)?;
    let point = |((devices, own), (_, best)): ((u64, RuntimeLoss), (u64, RuntimeLoss))| SizePointView {
        devices,
        mtbf_s: mtbf_s * from / devices as f64,
        modelled: own.total(),
        best_interval_s: best.checkpoint_interval_s.filter(|&interval_s| interval_s > 0.0),
        modelled_at_best: best.total(),
        small_losses: own.left_small_loss_regime().is_none(),
        terms: own.terms(),
    };
    // Where even the best interval loses all of the held time, the sum says nothing more.
    Ok(own.into_iter().zip(best).map(point).take_while(|p| p.modelled_at_best < 1.0).collect())
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
