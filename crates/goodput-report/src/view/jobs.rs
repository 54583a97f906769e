//! Jobs: what each held, kept and lost, how long it waited, and which record to open next.

use goodput_core::fleet::{FleetAccount, JobAccount, NextRecord, ProgramBasis};
use goodput_core::records::{Attempt, FleetRecords};
use goodput_core::scheduling::SchedulingAccount;
use goodput_core::{CapacityTime, Levels};
use serde::Serialize;

use super::composed::{ComposedView, EttrView};
use super::exact::Exact;
use super::ledger::{LedgerView, LossView, Scope};
use super::read::Sources;
use super::runtime::{MeasuredView, RanksView, StepTimesView, StepsView, commits_key};

/// One job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JobView {
    /// The id a person knows.
    pub id: String,
    /// Job name.
    pub name: String,
    /// User.
    pub user: String,
    /// Account.
    pub account: String,
    /// Pool.
    pub pool: String,
    /// State of the last attempt.
    pub state: &'static str,
    /// Attempts that held devices inside the window.
    pub attempts: u64,
    /// Most devices of one attempt.
    pub devices: u64,
    /// Its ledger, from held on.
    #[serde(flatten)]
    pub ledger: LedgerView,
    /// Its losses, the largest first.
    pub losses: Vec<LossView>,
    /// Runtime x program goodput of this job x the scheduling goodput of its pool: what the pool
    /// would make if every job ran like this one. Not a measurement of the pool.
    pub as_if_pool_product: Option<f64>,
    /// Steps by fate; `None` without a timeline.
    pub steps: Option<StepsView>,
    /// Fault-free step time.
    pub fault_free_step_ns: Option<Exact>,
    /// Durations of retained steady steps.
    pub step_times: Option<StepTimesView>,
    /// Step times by rank, when ranks logged.
    pub ranks: Option<RanksView>,
    /// Events as counted and timed; `None` without a timeline.
    pub measured: Option<MeasuredView>,
    /// The composed first-order model beside the measured shares; `None` without a timeline.
    pub composed: Option<ComposedView>,
    /// Effective training time ratio, under its own definition; `None` without a timeline.
    pub ettr: Option<EttrView>,
    /// `recorded` or `unknown`; `None` without a timeline.
    pub commits: Option<&'static str>,
    /// What its program factor rests on.
    pub program_basis: Option<ProgramBasisView>,
    /// Waits before its attempts.
    pub waits: JobWaitsView,
    /// The record to open next.
    pub next: NextView,
}

/// Waits from submit to start, of the attempts that held devices inside the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct JobWaitsView {
    /// Before the first of them.
    pub first_ns: Option<Exact>,
    /// All of them, requeues included.
    pub total_ns: Option<Exact>,
}

/// The next record to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NextView {
    /// `timeline`, `step_trace`, `scheduler`, `work` or `none`.
    pub record: &'static str,
    /// Why.
    pub why: &'static str,
}

impl From<NextRecord> for NextView {
    fn from(next: NextRecord) -> Self {
        let record = match next {
            NextRecord::Timeline => "timeline",
            NextRecord::StepTrace => "step_trace",
            NextRecord::Scheduler => "scheduler",
            NextRecord::Work => "work",
            NextRecord::Nothing => "none",
        };
        Self { record, why: next.why() }
    }
}

/// What a program factor rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProgramBasisView {
    /// Named ideal.
    pub ideal: &'static str,
    /// Device.
    pub device: String,
    /// Dense peak of one device in FLOP/s.
    pub peak_flops_per_second: f64,
    /// dtype of the peak.
    pub dtype: String,
    /// Convention behind the FLOPs.
    pub convention: String,
    /// MFU of the retained steps.
    pub mfu: f64,
    /// Share of retained time whose work the log gives.
    pub coverage: f64,
}

impl From<&ProgramBasis> for ProgramBasisView {
    fn from(basis: &ProgramBasis) -> Self {
        Self {
            ideal: basis.ideal,
            device: basis.device.clone(),
            peak_flops_per_second: basis.peak_flops_per_second,
            dtype: basis.dtype.clone(),
            convention: basis.convention.clone(),
            mfu: basis.mfu,
            coverage: basis.coverage,
        }
    }
}

/// What the views of all jobs look names up in.
pub(crate) struct JobContext<'a> {
    pub scheduling: &'a SchedulingAccount,
    pub records: &'a FleetRecords,
    pub pools: &'a [(String, Option<f64>)],
    pub sources: &'a Sources<'a>,
}

impl JobView {
    pub(crate) fn new(job: &JobAccount, context: &JobContext<'_>) -> Self {
        let name = |symbol| context.records.symbols.get(symbol).to_owned();
        let held: Vec<_> = job.held.iter().filter_map(|&i| context.scheduling.held.get(i)).collect();
        let ledger = LedgerView::new(&job.ledger, Scope::Job);
        let (pool, pool_scheduling) = context.pools.get(job.pool).cloned().unwrap_or_default();
        let runtime = job.runtime.as_ref();
        Self {
            id: name(job.id),
            name: name(job.name),
            user: name(job.user),
            account: name(job.account),
            pool,
            state: job.state.word(),
            attempts: held.len() as u64,
            devices: held.iter().map(|h| h.devices).max().unwrap_or(0),
            as_if_pool_product: ledger.factors.job_product.zip(pool_scheduling).map(|(job, pool)| job * pool),
            ledger,
            losses: LossView::of(&job.ledger, job.ledger.chain().levels().held, context.sources),
            steps: runtime.map(|r| StepsView::new(r.steps, job.planned_steps)),
            fault_free_step_ns: runtime.and_then(|r| r.fault_free_step_ns).map(Into::into),
            step_times: runtime.map(|r| r.step_times.into()),
            ranks: runtime.and_then(|r| r.ranks.as_ref()).map(Into::into),
            measured: runtime.map(|r| r.measured.into()),
            composed: runtime.and_then(ComposedView::new),
            ettr: runtime.and_then(EttrView::new),
            commits: runtime.map(|r| commits_key(r.commits)),
            program_basis: job.program.as_ref().map(Into::into),
            waits: waits(held.iter().filter_map(|h| context.records.attempts.get(h.attempt))),
            next: job.next.into(),
        }
    }

    /// What it lost inside its allocation.
    pub fn lost(&self) -> CapacityTime {
        self.ledger.capacity_time.held_ns.capacity() - self.ledger.capacity_time.ideal_ns.capacity()
    }
}

fn waits<'a>(attempts: impl Iterator<Item = &'a Attempt>) -> JobWaitsView {
    let mut view = JobWaitsView::default();
    for attempt in attempts {
        let Some(start) = attempt.start else { continue };
        let wait_ns = i128::from((start - attempt.key.submit).max(0));
        view.first_ns.get_or_insert(Exact(wait_ns));
        view.total_ns.get_or_insert_default().0 += wait_ns;
    }
    view
}

/// Jobs that the report does not list one by one: the listed ones, these and idle reservations sum to what was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct OmittedJobsView {
    /// How many.
    pub count: u64,
    /// What they held.
    pub held_ns: Exact,
    /// What they retained.
    pub retained_ns: Exact,
    /// Their ideal time.
    pub ideal_ns: Exact,
}

impl OmittedJobsView {
    /// The jobs of `rest`, and those that have no account of their own: these have no timeline and retain nothing known.
    pub(crate) fn new(account: &FleetAccount, rest: &[JobAccount]) -> Self {
        let sum = |jobs: &[JobAccount]| {
            let mut sum = Levels::default();
            jobs.iter().for_each(|job| sum += job.ledger.chain().levels());
            sum
        };
        let (all, rest_sum) = (sum(&account.jobs), sum(rest));
        let scheduling = &account.scheduling.fleet;
        let without_account = scheduling.held - scheduling.idle_reserved - all.held;
        let count = account.job_count.saturating_sub(account.jobs.len()) + rest.len();
        Self {
            count: count as u64,
            held_ns: (rest_sum.held + without_account).into(),
            retained_ns: rest_sum.retained.into(),
            ideal_ns: rest_sum.ideal.into(),
        }
    }
}
