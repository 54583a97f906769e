//! The contract of a serving fleet's report.

use goodput_core::Timestamp;
use goodput_core::serving::{HeldUse, Life, ServingAccount, ServingRecords};
use goodput_decide::adequacy::{ServingEvidence, judge_serving};
use serde::Serialize;

use super::ServingBasis;
use crate::view::conditions::{FactorStatisticsView, KnownConditions, one};
use crate::view::contract::resolution_ns;
use crate::view::{TimingBoundaryView, WindowView};

/// What every figure of the report is measured over. It agrees with no contract of a training job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServingContractView {
    /// `serving`.
    pub scope: &'static str,
    /// The window, half-open.
    pub window: WindowView,
    /// What the first factor divides by: `in_service` where a pool was sampled, else `held`.
    pub denominator: &'static str,
    /// Most devices that replicas held at any time.
    pub devices: u64,
    /// Device types that the records name.
    pub device_types: Vec<String>,
    /// Where held and productive time begin and end.
    pub timing_boundary: TimingBoundaryView,
    /// The conditions that are known, and where from.
    #[serde(flatten)]
    pub known: KnownConditions,
    /// How each factor was measured, and whether its window is long enough.
    pub statistics: Vec<FactorStatisticsView>,
}

impl ServingContractView {
    pub(super) fn new(account: &ServingAccount, records: &ServingRecords, bases: &[ServingBasis]) -> Self {
        let devices = most_devices(account);
        let mut device_types: Vec<String> = bases.iter().filter_map(|basis| basis.device.clone()).collect();
        device_types.sort();
        device_types.dedup();
        let stamps_ns = records.events.iter().map(|event| event.at.as_nanos());
        let timing_boundary = TimingBoundaryView {
            held: "placed to released, by the log; to the end of the records where no release is logged"
                .into(),
            productive: "ready to draining or failure, by the log; what ran in it, by the busy time of samples",
            stamp_resolution_ns: resolution_ns(stamps_ns).map(Into::into),
        };
        let denominator = if account.pools.is_empty() { "held" } else { "in_service" };
        let models = account.rows.iter().filter_map(|row| records.deployments.get(row.deployment as usize));
        let pools =
            account.rows.iter().flat_map(|row| &row.pools).map(|pool| records.symbols.get(*pool).to_owned());
        let sizes = account.rows.iter().map(|row| format!("replicas of {} devices", row.devices));
        let known = KnownConditions::from_records(
            [
                ("workload.model", one(models.filter_map(|declared| declared.model.clone()).collect())),
                ("system.devices", devices.to_string()),
                ("system.device_types", device_types.join(", ")),
                ("system.ideal", one(bases.iter().flat_map(ServingBasis::ideals).collect())),
                ("system.topology", one(sizes.collect())),
                ("system.precision", one(bases.iter().filter_map(|basis| basis.dtype.clone()).collect())),
                ("system.pool", one(pools.filter(|pool| !pool.is_empty()).collect())),
                ("statistics.denominator", denominator.to_owned()),
            ]
            .into_iter()
            .chain(timing_boundary.conditions()),
        );
        Self {
            scope: "serving",
            window: account.window.into(),
            denominator,
            devices,
            device_types,
            timing_boundary,
            known,
            statistics: statistics(account),
        }
    }
}

impl ServingBasis {
    /// What decode and prefill are measured against, in words.
    fn ideals(&self) -> Vec<String> {
        let floor = self.weight_bytes.zip(self.bytes_per_second).map(|(bytes, rate)| {
            format!("bandwidth: weights of {bytes} bytes at {:.4e} bytes/s a device", rate as f64)
        });
        let dtype = self.dtype.as_deref().unwrap_or_default();
        let arithmetic = self
            .flops_from
            .as_ref()
            .and(self.flops_per_second)
            .map(|rate| format!("arithmetic: {dtype} {:.4e} FLOP/s a device", rate as f64));
        floor.into_iter().chain(arithmetic).collect()
    }
}

/// The most devices held at once inside the window.
fn most_devices(account: &ServingAccount) -> u64 {
    let mut changes: Vec<(Timestamp, i64)> = Vec::new();
    for (_, life) in &account.lives {
        let held = account.window.clip(life.held());
        if !held.is_empty() {
            let devices = i64::try_from(life.devices).unwrap_or(i64::MAX);
            changes.extend([(held.start, devices), (held.end, -devices)]);
        }
    }
    // Devices that change hands at one instant are held once.
    changes.sort_unstable();
    let held = changes.into_iter().scan(0_i64, |held, (_, by)| {
        *held = held.saturating_add(by);
        Some(*held)
    });
    held.max().unwrap_or_default().unsigned_abs()
}

fn statistics(account: &ServingAccount) -> Vec<FactorStatisticsView> {
    let ready = |(_, life): &(u32, Life)| {
        let within = |of: &dyn Fn(HeldUse) -> bool| -> i64 {
            let parts = life.stretches.iter().filter(|stretch| of(stretch.used_for));
            parts.map(|stretch| account.window.clip(stretch.interval).duration_ns()).sum()
        };
        let held_ns = within(&|_| true);
        (held_ns > 0).then(|| within(&|used| used == HeldUse::Ready) as f64 / held_ns as f64)
    };
    let lives: Vec<f64> = account.lives.iter().filter_map(ready).collect();
    let evidence = ServingEvidence {
        lives: lives.len() as u64,
        window_ns: account.window.duration_ns(),
        pool: !account.pools.is_empty(),
    };
    judge_serving(&evidence)
        .into_iter()
        .map(|judged| {
            use goodput_core::Boundary::{Program, Runtime, Scheduling};
            match judged.boundary {
                Scheduling => FactorStatisticsView::judged(judged, "in_service"),
                Runtime => {
                    FactorStatisticsView::judged(judged, "held").mean("runtime goodput of a life", &lives)
                }
                Program => FactorStatisticsView::judged(judged, "ready"),
            }
        })
        .collect()
}
