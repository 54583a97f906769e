//! One decode step: its floor, what is exposed beside it, and the levers.

use goodput_core::serving::{DeploymentRow, Floor, HeldUse, decode};
use goodput_core::{CapacityTime, Owner};
use serde::Serialize;

use super::ServingBasis;

/// A term of the decode time that samples show.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecodeTermView {
    /// `weights`, `kv`, `exchange`, `dispatch`, `rest`.
    pub term: &'static str,
    /// The name that a report shows.
    pub label: &'static str,
    /// Of a mean step, in nanoseconds; `None` where no sample says.
    pub step_ns: Option<f64>,
    /// Of the decode time of the samples that say it.
    pub share: Option<f64>,
    /// Share of the decode time that those samples cover.
    pub coverage: f64,
    /// `floor`, `samples` or `difference`.
    pub from: &'static str,
}

/// What a model of the step says, beside what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DecodeModelView {
    /// Devices of a replica.
    pub devices: u64,
    /// Shortest step: the weights at peak bandwidth.
    pub floor_ns: Option<f64>,
    /// Exchanges of a step, two a layer.
    pub exchanges: Option<u64>,
    /// Message of one exchange at batch one, values of two bytes.
    pub exchange_bytes: Option<u64>,
    /// Time on the wire of all of them; launches and protocol come on top, and are longer at this size.
    pub exchange_wire_ns: Option<f64>,
    /// Least host time of eager submission: an order of magnitude.
    pub eager_dispatch_least_ns: Option<f64>,
    /// Most.
    pub eager_dispatch_most_ns: Option<f64>,
}

/// A decode step from traces of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TracedDecodeView {
    /// Traced rank-steps.
    pub steps: u64,
    /// Device-time of the steps.
    pub total_ns: i64,
    /// Kernels that compute, the reading of weights and cache among them.
    pub compute_share: f64,
    /// Exposed exchange, waiting for peers included.
    pub exchange_share: f64,
    /// Nothing was queued: the host was late.
    pub dispatch_share: f64,
    /// Launched and not yet started.
    pub launch_share: f64,
    /// Exposed copies and fills.
    pub memory_share: f64,
    /// Idle that no launch explains.
    pub unattributed_share: f64,
}

/// A lever: it shortens its own exposed term. Gains of several are never added up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServingLeverView {
    /// What to do.
    pub lever: &'static str,
    /// The term that it shortens.
    pub shortens: &'static str,
    /// Device-hours of the term in the window: the most that the lever can return.
    pub at_most_device_hours: f64,
    /// Of held time.
    pub share_of_held: Option<f64>,
    /// Who has it.
    pub owner: &'static str,
}

pub(super) fn terms(row: &DeploymentRow) -> Vec<DecodeTermView> {
    let decode = &row.decode;
    if decode.samples == 0 {
        return Vec::new();
    }
    let busy = decode.busy;
    let coverage = |known: CapacityTime| known.share_of(busy).unwrap_or(0.0);
    let term = |term, label, amount: Option<CapacityTime>, known: CapacityTime, from| {
        let share = amount.and_then(|amount| amount.share_of(known));
        let mean_ns = busy.device_ns() as f64 / decode.steps.max(1) as f64 / row_devices(row);
        DecodeTermView {
            term,
            label,
            step_ns: share.map(|s| s * mean_ns),
            share,
            coverage: coverage(known),
            from,
        }
    };
    let weights = decode.ideal(Floor::Weights, &row.ideal);
    let kv = decode.ideal(Floor::WeightsAndKv, &row.ideal).zip(weights).map(|(both, weights)| both - weights);
    let said = |known: CapacityTime, amount| (!known.is_zero()).then_some(amount);
    let exchange = said(decode.exchange_known, decode.exchange);
    let dispatch = said(decode.dispatch_known, decode.dispatch);
    // What is left has no name unless every sample says all terms.
    let is_whole = decode.exchange_known == busy && decode.dispatch_known == busy;
    let rest = weights.zip(kv).zip(exchange.zip(dispatch)).filter(|_| is_whole);
    let rest = rest.map(|((weights, kv), (exchange, dispatch))| busy - weights - kv - exchange - dispatch);
    vec![
        term("weights", "weights at peak bandwidth", weights, busy, "floor"),
        term("kv", "keys and values at peak bandwidth", kv, decode.kv_known, "floor"),
        term("exchange", "exposed exchange", exchange, decode.exchange_known, "samples"),
        term("dispatch", "exposed host dispatch", dispatch, decode.dispatch_known, "samples"),
        term("rest", "the rest: below peak bandwidth, unsettled", rest, busy, "difference"),
    ]
}

/// Devices of a replica, the mean over the steps' device-time being what a step's time is taken from.
fn row_devices(row: &DeploymentRow) -> f64 {
    row.devices.max(1) as f64
}

pub(super) fn model(row: &DeploymentRow, basis: &ServingBasis) -> Option<DecodeModelView> {
    (row.decode.samples > 0 || basis.layers.is_some()).then_some(())?;
    let devices = row.devices.max(1);
    let floor_ns = basis
        .weight_bytes
        .zip(basis.bytes_per_second)
        .and_then(|(bytes, rate)| decode::floor_ns(bytes as f64, devices, rate as f64).ok());
    let exchange_bytes = basis.width.map(|width| decode::exchange_bytes(width, 1, 2));
    let split = devices > 1;
    let eager = basis.layers.map(decode::eager_dispatch_ns);
    Some(DecodeModelView {
        devices,
        floor_ns,
        exchanges: basis.layers.filter(|_| split).map(|layers| layers * decode::EXCHANGES_PER_LAYER),
        exchange_bytes: exchange_bytes.filter(|_| split),
        exchange_wire_ns: basis
            .layers
            .zip(exchange_bytes)
            .zip(basis.link_bytes_per_second)
            .filter(|_| split)
            .and_then(|((layers, bytes), rate)| decode::exchange_wire_ns(layers, bytes, devices, rate).ok()),
        eager_dispatch_least_ns: eager.map(|(least, _)| least),
        eager_dispatch_most_ns: eager.map(|(_, most)| most),
    })
}

pub(super) fn levers(row: &DeploymentRow) -> Vec<ServingLeverView> {
    let decode = &row.decode;
    let weights = decode.ideal(Floor::Weights, &row.ideal).unwrap_or_default();
    let half = CapacityTime::from_device_ns(weights.device_ns() / 2);
    let cold: CapacityTime = [HeldUse::WeightLoad, HeldUse::WarmUp, HeldUse::ColdStart]
        .into_iter()
        .map(|used| row.used(used))
        .sum();
    let all = [
        (
            "graph replay or compilation",
            "exposed host dispatch",
            decode.dispatch,
            Owner::PerformanceEngineering,
        ),
        (
            "fewer or cheaper exchanges: layout, graph replay",
            "exposed exchange",
            decode.exchange,
            Owner::CollectiveCommunication,
        ),
        (
            "quantised weights, half the bytes (moves the floor itself; quality gate)",
            "weights at peak bandwidth",
            half,
            Owner::PerformanceEngineering,
        ),
        (
            "autoscaling to the load, a smaller warm pool (latency target decides)",
            "headroom",
            row.headroom(),
            Owner::Serving,
        ),
        ("faster load, weights kept near", "weight load and warm-up", cold, Owner::Serving),
        (
            "one stored build for all replicas",
            "compilation",
            row.used(HeldUse::Compilation),
            Owner::PerformanceEngineering,
        ),
        (
            "detection and restart time",
            "failure and restart",
            row.used(HeldUse::Restart),
            Owner::FaultTolerance,
        ),
        ("shorter drains, fewer updates", "draining", row.used(HeldUse::Drain), Owner::Serving),
    ];
    let mut levers: Vec<_> = all
        .into_iter()
        .filter(|(.., amount, _)| amount.device_ns() > 0)
        .map(|(lever, shortens, amount, owner)| ServingLeverView {
            lever,
            shortens,
            at_most_device_hours: amount.device_hours(),
            share_of_held: amount.share_of(row.held()),
            owner: owner.key(),
        })
        .collect();
    levers.sort_by(|one, other| other.at_most_device_hours.total_cmp(&one.at_most_device_hours));
    levers
}
