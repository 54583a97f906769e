//! The view of `goodput serving`: a fleet of inference replicas. Its rows have no sum with one another, and none with
//! training jobs.

mod contract;
mod lanes;
mod row;
mod step;

use goodput_core::serving::{LIFETIMES, ServingAccount, ServingRecords};
use goodput_records::ReadReport;
use serde::Serialize;

use super::exact::Exact;
use super::read::{ReadReportView, Sources, WarningView};
use super::settings::ViewSettings;

pub use contract::ServingContractView;
pub use lanes::{ReplicaLaneView, ReplicaLanesView, ReplicaStretchView};
pub use row::{ServingDayView, ServingLossView, ServingMeasureView, ServingRowView, ServingWorkView};
pub use step::{DecodeModelView, DecodeTermView, ServingLeverView, TracedDecodeView};

/// What the ideals of one row rest on, as the verb found it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ServingBasis {
    /// Device, as the catalogue names it.
    pub device: Option<String>,
    /// dtype of the arithmetic.
    pub dtype: Option<String>,
    /// Peak memory bandwidth of one device in bytes/s.
    pub bytes_per_second: Option<u64>,
    /// Dense peak of one device in FLOP/s.
    pub flops_per_second: Option<u64>,
    /// Bytes of weights that one decode step must read.
    pub weight_bytes: Option<u64>,
    /// Where they are from.
    pub weights_from: Option<String>,
    /// Bytes of keys and values a cached token.
    pub kv_bytes_per_token: Option<u64>,
    /// Where they are from.
    pub kv_from: Option<String>,
    /// Where the FLOPs of prompts are from.
    pub flops_from: Option<String>,
    /// Layers of the model.
    pub layers: Option<u64>,
    /// Channels of its residual stream.
    pub width: Option<u64>,
    /// Bandwidth of a device's link to its neighbours, one way, in bytes/s.
    pub link_bytes_per_second: Option<f64>,
    /// What is missing and what settles it.
    pub missing: Vec<String>,
}

/// A serving fleet's account, ready to be printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServingView {
    /// `goodput.serving/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// Title, when the user gave one.
    pub title: Option<String>,
    /// What every figure is measured over.
    pub contract: ServingContractView,
    /// A row a deployment and device; none is added to another.
    pub rows: Vec<ServingRowView>,
    /// Scheduling of the pools that have samples.
    pub pools: Vec<ServingPoolView>,
    /// Readiness by lifetime, whole lives.
    pub lifetimes: Vec<LifetimeView>,
    /// Readiness against lifetime, from the median cold start.
    pub readiness_curve: Option<ReadinessCurveView>,
    /// Times from request to placement.
    pub placement_wait: Option<PlacementWaitView>,
    /// A decode step from traces, when some are given.
    pub traced: Option<TracedDecodeView>,
    /// What each replica did over time.
    pub lanes: ReplicaLanesView,
    /// What became of every input row.
    pub read_report: ReadReportView,
    /// What a person should know before trusting a figure.
    pub warnings: Vec<WarningView>,
}

/// A pool over the part of the window that its samples cover.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServingPoolView {
    /// Name; empty where the log names none.
    pub pool: String,
    /// Share of the window that samples cover.
    pub coverage: f64,
    /// Held by complete replicas, and free.
    pub offered_ns: Exact,
    /// Held by complete replicas.
    pub held_ns: Exact,
    /// Free while no replica waits, or beyond what the waiting ones need.
    pub no_demand_ns: Exact,
    /// Free, and would have placed a replica that waits.
    pub replica_placement_wait_ns: Exact,
    /// Free and needed by a replica that waits, on nodes that are not whole.
    pub incomplete_replica_ns: Exact,
    /// Free on nodes that are not whole, whether or not a replica waits: beside the ledger.
    pub scattered_ns: Exact,
    /// Replica-nanoseconds of waiting.
    pub waiting_replica_ns: Exact,
    /// `serving scheduling goodput`: held over offered.
    pub scheduling_goodput: Option<f64>,
}

/// Replicas of one range of lifetimes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LifetimeView {
    /// The range.
    pub lifetime: &'static str,
    /// Lives.
    pub lives: u64,
    /// Held.
    pub held_ns: Exact,
    /// Becoming ready.
    pub cold_start_ns: Exact,
    /// Ready.
    pub ready_ns: Exact,
    /// Cold start over held.
    pub cold_start_share: Option<f64>,
    /// Ready over held.
    pub runtime_goodput: Option<f64>,
}

/// The median cold start as a share of lives of several lengths.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReadinessCurveView {
    /// Median cold start of the lives that became ready.
    pub cold_start_ns: Exact,
    /// Shares.
    pub points: Vec<ReadinessPointView>,
}

/// One lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReadinessPointView {
    /// Hours from placement to release.
    pub lifetime_h: f64,
    /// Cold start over the lifetime.
    pub cold_start_share: f64,
}

/// Times from request to placement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlacementWaitView {
    /// Placements whose request is logged.
    pub placements: u64,
    /// Median.
    pub median_ns: Exact,
    /// Longest.
    pub longest_ns: Exact,
}

/// Lifetimes of the curve in hours.
const CURVE_H: [f64; 7] = [0.5, 1.0, 2.0, 6.0, 24.0, 72.0, 168.0];

impl ServingView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.serving/1";

    /// The view of an account. `bases` belong to its rows, in order.
    pub fn new(
        account: &ServingAccount,
        records: &ServingRecords,
        bases: &[ServingBasis],
        traced: Option<TracedDecodeView>,
        read: &ReadReport,
        settings: &ViewSettings,
    ) -> Self {
        let pools: Vec<_> = account.pools.iter().map(|pool| pool_view(account, records, pool)).collect();
        let rows = account.rows.iter().zip(bases);
        Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            title: settings.title.clone(),
            contract: ServingContractView::new(account, records, bases),
            rows: rows
                .map(|(row, basis)| ServingRowView::new(account, records, row, basis, settings))
                .collect(),
            pools,
            lifetimes: lifetimes(account),
            readiness_curve: readiness_curve(account),
            placement_wait: placement_wait(&account.placement_waits_ns),
            traced,
            lanes: ReplicaLanesView::new(account, records, settings.lane_limit.max(1) * 2),
            read_report: ReadReportView::new(read),
            warnings: WarningView::all(account.warnings.iter().map(|w| (None, w)), &Sources(read)),
        }
    }
}

fn pool_view(
    account: &ServingAccount,
    records: &ServingRecords,
    pool: &goodput_core::serving::PoolAccount,
) -> ServingPoolView {
    ServingPoolView {
        pool: records.symbols.get(pool.pool).to_owned(),
        coverage: pool.covered.duration_ns() as f64 / account.window.duration_ns() as f64,
        offered_ns: pool.offered().into(),
        held_ns: pool.held.into(),
        no_demand_ns: pool.no_demand.into(),
        replica_placement_wait_ns: pool.placement_wait.into(),
        incomplete_replica_ns: pool.incomplete.into(),
        scattered_ns: pool.scattered.into(),
        waiting_replica_ns: Exact(pool.waiting_ns),
        scheduling_goodput: pool.scheduling_goodput(),
    }
}

fn lifetimes(account: &ServingAccount) -> Vec<LifetimeView> {
    let ranges = LIFETIMES.iter().zip(&account.lifetimes).filter(|(_, share)| share.lives > 0);
    ranges
        .map(|((lifetime, _), share)| LifetimeView {
            lifetime,
            lives: share.lives,
            held_ns: share.held.into(),
            cold_start_ns: share.cold_start.into(),
            ready_ns: share.ready.into(),
            cold_start_share: share.cold_start.share_of(share.held),
            runtime_goodput: share.ready.share_of(share.held),
        })
        .collect()
}

fn readiness_curve(account: &ServingAccount) -> Option<ReadinessCurveView> {
    let cold_start_ns = account.median_cold_start_ns?;
    let seconds = cold_start_ns as f64 / 1e9;
    let point = |lifetime_h: &f64| {
        let share = goodput_core::serving::readiness_share(seconds, lifetime_h * 3600.0).ok()?;
        Some(ReadinessPointView { lifetime_h: *lifetime_h, cold_start_share: share })
    };
    Some(ReadinessCurveView {
        cold_start_ns: cold_start_ns.into(),
        points: CURVE_H.iter().filter_map(point).collect(),
    })
}

fn placement_wait(sorted_ns: &[i64]) -> Option<PlacementWaitView> {
    Some(PlacementWaitView {
        placements: sorted_ns.len() as u64,
        median_ns: goodput_core::serving::median_ns(sorted_ns)?.into(),
        longest_ns: (*sorted_ns.last()?).into(),
    })
}
