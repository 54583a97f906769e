//! The view of `goodput account`.

use std::collections::BTreeMap;

use goodput_core::fleet::FleetAccount;
use goodput_core::records::FleetRecords;
use goodput_core::{CapacityTime, Levels};
use goodput_records::ReadReport;
use serde::Serialize;

use super::classes::WorkloadClassView;
use super::conditions::{DayView, KnownConditions, Measurements};
use super::contract::{
    CommitsView, ContractView, CoverageView, IdealView, SoftwareView, TimingBoundaryView, denominator_key,
};
use super::exact::Exact;
use super::jobs::{JobContext, JobView, OmittedJobsView};
use super::lanes::LanesView;
use super::ledger::{Keyed, LedgerView, LossView, Scope};
use super::pools::{CohortView, DiagnosticsView, PoolView, SeriesView, availability, device_types};
use super::read::{ReadReportView, Sources, WarningView};
use super::settings::ViewSettings;
use super::value::{CostView, LeverView};

/// A fleet's account, ready to be printed: every renderer shows this and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AccountView {
    /// `goodput.account/1`.
    pub schema: &'static str,
    /// Program and version.
    pub generated_by: String,
    /// Title, when the user gave one.
    pub title: Option<String>,
    /// What the figures are measured over.
    pub contract: ContractView,
    /// The fleet's ledger.
    #[serde(flatten)]
    pub ledger: LedgerView,
    /// Its losses, the largest first.
    pub losses: Vec<LossView>,
    /// What removing each loss is worth, the largest gain first.
    pub levers: Vec<LeverView>,
    /// What useful work costs, when a price is given.
    pub cost: Option<CostView>,
    /// Rows per workload class; with more than one ideal there is no common program factor.
    pub workload_classes: Vec<WorkloadClassView>,
    /// Held capacity-time by the state of the record.
    pub held_by_state: Keyed<Exact>,
    /// One entry a pool.
    pub pools: Vec<PoolView>,
    /// By gang size, account and partition.
    pub cohorts: Vec<CohortView>,
    /// The largest jobs.
    pub jobs: Vec<JobView>,
    /// The other jobs, summed.
    pub jobs_omitted: OmittedJobsView,
    /// Day by day, where it was asked for.
    pub days: Vec<DayView>,
    /// Orchestrator tiers: evidence beside the factors.
    pub tiers: TiersView,
    /// In service over installed.
    pub availability: Option<f64>,
    /// Free device-time out of service.
    pub out_of_service_ns: Exact,
    /// Of the whole fleet, beside the charge.
    pub diagnostics: DiagnosticsView,
    /// The fleet and its pools over time.
    pub series: Vec<SeriesView>,
    /// The largest jobs over time.
    pub lanes: LanesView,
    /// What became of every input row.
    pub read_report: ReadReportView,
    /// What a person should know before trusting a figure.
    pub warnings: Vec<WarningView>,
}

/// The orchestrator's utilisation tiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TiersView {
    /// Allocated device-time.
    pub allocated_ns: Exact,
    /// With a step executing, of the jobs with a timeline.
    pub active_ns: Option<Exact>,
    /// Productive at the job's own fault-free rate, of the jobs with a timeline.
    pub productive_ns: Option<Exact>,
}

impl AccountView {
    /// The word under `schema` in JSON.
    pub const SCHEMA: &'static str = "goodput.account/1";

    /// The view of `account`; `records` and `read` give the names that it refers to.
    pub fn new(
        account: &FleetAccount,
        records: &FleetRecords,
        read: &ReadReport,
        settings: &ViewSettings,
    ) -> Self {
        let sources = Sources(read);
        let symbols = &records.symbols;
        let fleet = &account.scheduling.fleet;
        let pools: Vec<_> = account
            .scheduling
            .pools
            .iter()
            .zip(&account.pools)
            .map(|(pool, ledger)| PoolView::new(pool, ledger, symbols, &sources))
            .collect();
        let pool_factors: Vec<_> =
            pools.iter().map(|p| (p.name.clone(), p.ledger.factors.scheduling)).collect();
        let context =
            JobContext { scheduling: &account.scheduling, records, pools: &pool_factors, sources: &sources };
        let (listed, rest) = account.jobs.split_at(settings.job_limit.min(account.jobs.len()));
        let jobs_omitted = OmittedJobsView::new(account, rest);

        let mut view = Self {
            schema: Self::SCHEMA,
            generated_by: settings.generated_by.clone(),
            title: settings.title.clone(),
            contract: contract(account, records, settings),
            losses: LossView::of(&account.ledger, account.ledger.chain().levels().offered, &sources),
            levers: LeverView::ranked(&account.ledger, settings.price.as_ref()),
            cost: settings.price.as_ref().and_then(|price| CostView::new(&account.ledger, price)),
            ledger: LedgerView::new(&account.ledger, Scope::Pool),
            workload_classes: WorkloadClassView::of(&account.jobs, account.window),
            held_by_state: Keyed(
                account.scheduling.by_state.iter().map(|(s, &c)| (s.word().to_owned(), c.into())).collect(),
            ),
            series: std::iter::once(SeriesView::new(fleet, None))
                .chain(
                    account
                        .scheduling
                        .pools
                        .iter()
                        .map(|p| SeriesView::new(p, Some(symbols.get(p.name).to_owned()))),
                )
                .collect(),
            pools,
            cohorts: account.scheduling.cohorts.iter().map(CohortView::new).collect(),
            jobs: listed.iter().map(|job| JobView::new(job, &context)).collect(),
            jobs_omitted,
            days: Vec::new(),
            tiers: TiersView {
                allocated_ns: account.tiers.allocated.into(),
                active_ns: account.tiers.active.map(Into::into),
                productive_ns: account.tiers.productive.map(Into::into),
            },
            availability: availability(fleet),
            out_of_service_ns: fleet.out_of_service.into(),
            diagnostics: (&fleet.diagnostics).into(),
            lanes: lanes(account, records, settings),
            read_report: ReadReportView::new(read),
            warnings: warnings(account, records, &sources),
        };
        if WorkloadClassView::are_mixed(&view.workload_classes) {
            view.withhold_common_program();
        }
        view
    }

    /// Jobs that divide by different ideals have no common program factor, and nothing that rests on one.
    fn withhold_common_program(&mut self) {
        let pools = self.pools.iter_mut().map(|p| &mut p.ledger);
        std::iter::once(&mut self.ledger).chain(pools).for_each(LedgerView::withhold_program);
        self.levers.iter_mut().for_each(LeverView::withhold_program);
        self.cost = None;
        self.warnings.insert(0, mixed_ideals(&self.workload_classes));
    }
}

fn contract(account: &FleetAccount, records: &FleetRecords, settings: &ViewSettings) -> ContractView {
    let chain = account.ledger.chain();
    let Levels { held, .. } = chain.levels();
    let mut commits = CommitsView::default();
    let mut with_timeline = CapacityTime::ZERO;
    let mut ideals: BTreeMap<_, IdealView> = BTreeMap::new();
    for job in &account.jobs {
        commits.count(job.runtime.as_ref().map(|r| r.commits));
        if job.runtime.is_some() {
            with_timeline += job.ledger.chain().levels().held;
        }
        if let Some(basis) = &job.program {
            let peak = basis.peak_flops_per_second;
            let key = (basis.ideal, &basis.device, &basis.dtype, &basis.convention, peak.to_bits());
            let ideal = || IdealView {
                ideal: basis.ideal,
                device: basis.device.clone(),
                peak_flops_per_second: peak,
                dtype: basis.dtype.clone(),
                convention: basis.convention.clone(),
                jobs: 0,
            };
            ideals.entry(key).or_insert_with(ideal).jobs += 1;
        }
    }
    let pools: Vec<String> =
        account.scheduling.pools.iter().map(|p| records.symbols.get(p.name).to_owned()).collect();
    let denominator = denominator_key(account.scheduling.denominator);
    let jobs = account.jobs.iter().filter_map(|job| job.runtime.as_ref());
    let measured = Measurements::new(jobs, Some((denominator, account.window.duration_ns() as f64)));
    ContractView {
        scope: "fleet",
        window: account.window.into(),
        denominator,
        devices: account.scheduling.fleet.devices,
        device_types: device_types(records),
        ideals: ideals.into_values().collect(),
        software: SoftwareView::all(&settings.software),
        timing_boundary: TimingBoundaryView::recorded(settings.stamp_resolution_ns),
        coverage: CoverageView {
            // What was offered is settled whole: an unheld hour without a known cause is still not held.
            scheduling: Some(chain.factor(goodput_core::Boundary::Scheduling).coverage),
            timelines: with_timeline.share_of(held),
            node_snapshots: Some(account.scheduling.fleet.diagnostics.snapshot_coverage),
            ..CoverageView::of(chain)
        },
        commits,
        known: KnownConditions::default(),
        statistics: Vec::new(),
        measurements: Measurements::default(),
    }
    .recorded(measured, &pools, true)
}

fn lanes(account: &FleetAccount, records: &FleetRecords, settings: &ViewSettings) -> LanesView {
    let mut lanes = LanesView::new(account.window);
    let drawable = account.jobs.iter().filter_map(|job| Some((job, job.runtime.as_ref()?)));
    for (i, (job, runtime)) in drawable.enumerate() {
        if i < settings.lane_limit {
            lanes.push_job(records.symbols.get(job.id), &runtime.lanes);
        } else {
            lanes.jobs_omitted += 1;
        }
    }
    lanes
}

fn warnings(account: &FleetAccount, records: &FleetRecords, sources: &Sources<'_>) -> Vec<WarningView> {
    let fleet = account.warnings.iter().chain(&account.scheduling.warnings).map(|w| (None, w));
    let jobs = account.jobs.iter().flat_map(|job| {
        let id = records.symbols.get(job.id);
        job.runtime.iter().flat_map(|r| &r.warnings).map(move |w| (Some(id), w))
    });
    WarningView::all(fleet.chain(jobs), sources)
}

fn mixed_ideals(classes: &[WorkloadClassView]) -> WarningView {
    let names: Vec<_> = classes.iter().map(|c| c.ideal).collect();
    WarningView {
        code: "mixed_ideals",
        message: format!(
            "the jobs divide by different ideals ({}), so the fleet has no common program goodput or MPG; read the \
             workload classes row by row",
            names.join(", ")
        ),
        job: None,
        source: None,
        more: 0,
    }
}
