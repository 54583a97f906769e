//! The fleet's account: scheduler records and job timelines joined into one ledger.

mod join;

use crate::capacity::CapacityTime;
use crate::chain::Levels;
use crate::ledger::{Ledger, Loss, Unbalanced};
use crate::records::{FleetRecords, JobState, Symbol, Timeline};
use crate::runtime::{RuntimeAccount, RuntimeOptions};
use crate::scheduling::{self, Jobs, SchedulingAccount, SchedulingError, SchedulingOptions};
use crate::time::Window;
use crate::warning::Warning;

/// How to account a fleet.
#[derive(Debug, Clone)]
pub struct FleetOptions {
    /// Scheduling: window, denominator, pools.
    pub scheduling: SchedulingOptions,
    /// Runtime: thresholds. Its window is the scheduling window.
    pub runtime: RuntimeOptions,
    /// Jobs without a timeline that get a row of their own, the largest first. The rest is summed by pool.
    pub detailed_jobs: usize,
}

/// Why a fleet cannot be accounted.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The scheduler's records do not carry a scheduling account.
    #[error(transparent)]
    Scheduling(#[from] SchedulingError),
    /// The entries do not sum to the gap: a defect of this library, never of the input.
    #[error("the ledger does not balance: {0}")]
    Unbalanced(#[from] Unbalanced),
}

/// Accounts a fleet: its scheduler records, and the timelines of those jobs that have one.
///
/// # Errors
/// [`FleetError::Scheduling`] names the record that is missing.
pub fn account(
    records: &FleetRecords,
    timelines: &[Timeline],
    options: &FleetOptions,
) -> Result<FleetAccount, FleetError> {
    let grouped = Jobs::new(records);
    let scheduling = scheduling::account_jobs(records, &grouped, &options.scheduling)?;
    let window = scheduling.window;
    let inside = join::account_jobs(
        records,
        timelines,
        &grouped,
        &scheduling,
        &options.runtime,
        options.detailed_jobs,
    )?;
    let mut pools = Vec::new();
    let mut fleet_losses = scheduling.fleet.losses.clone();
    let mut fleet_levels = Levels { offered: scheduling.fleet.offered, ..Levels::default() };
    for (pool, (mut levels, losses)) in scheduling.pools.iter().zip(inside.pools) {
        fleet_levels += levels;
        fleet_losses.extend(losses.iter().cloned());
        levels.offered = pool.offered;
        let pool_losses: Vec<Loss> = pool.losses.iter().cloned().chain(losses).collect();
        pools.push(Ledger::new(window, levels, pool_losses)?);
    }
    Ok(FleetAccount {
        window,
        ledger: Ledger::new(window, fleet_levels, fleet_losses)?,
        pools,
        jobs: inside.jobs,
        job_count: inside.job_count,
        tiers: inside.tiers,
        warnings: inside.warnings,
        scheduling,
    })
}

/// The account of a fleet over one window.
#[derive(Debug, Clone)]
pub struct FleetAccount {
    /// The window.
    pub window: Window,
    /// Scheduling, per pool and for the fleet.
    pub scheduling: SchedulingAccount,
    /// Jobs with a row of their own, the largest first.
    pub jobs: Vec<JobAccount>,
    /// Jobs that held devices, detailed or not.
    pub job_count: usize,
    /// The fleet's ledger.
    pub ledger: Ledger,
    /// A ledger a pool, in the order of `scheduling.pools`.
    pub pools: Vec<Ledger>,
    /// Orchestrator tiers beside the factors, when the records give them.
    pub tiers: Tiers,
    /// What was odd in the join.
    pub warnings: Vec<Warning>,
}

/// The orchestrator's utilisation tiers: evidence beside the factors, never factors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tiers {
    /// Allocated device-time.
    pub allocated: CapacityTime,
    /// Device-time with a step executing (rework included), of the jobs with a timeline.
    pub active: Option<CapacityTime>,
    /// Productive at the job's own fault-free rate, of the jobs with a timeline.
    pub productive: Option<CapacityTime>,
}

/// One job: all attempts of one raw id and first submit.
#[derive(Debug, Clone)]
pub struct JobAccount {
    /// The id a person knows.
    pub id: Symbol,
    /// Job name.
    pub name: Symbol,
    /// User.
    pub user: Symbol,
    /// Account.
    pub account: Symbol,
    /// Position in `scheduling.pools`.
    pub pool: usize,
    /// State of the last attempt.
    pub state: JobState,
    /// Positions in `scheduling.held`, in time order.
    pub held: Vec<usize>,
    /// Held, retained and ideal, and every loss inside the allocation. Its `offered` equals its `held`.
    pub ledger: Ledger,
    /// Its timeline's account, when there is one.
    pub runtime: Option<RuntimeAccount>,
    /// Its program factor's basis, when the timeline gives one.
    pub program: Option<ProgramBasis>,
    /// Steps that it planned to retain, when its timeline or the user says so.
    pub planned_steps: Option<u64>,
    /// The next record to open, and why.
    pub next: NextRecord,
}

/// What the program factor of a job rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgramBasis {
    /// Named ideal: `compute`.
    pub ideal: &'static str,
    /// Device name.
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

/// The next record to open for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NextRecord {
    /// The job's timeline: most of its held time is unsettled.
    Timeline,
    /// A step trace: the largest loss is a program loss whose term is unknown.
    StepTrace,
    /// Its scheduler records: the largest loss is outside the allocation or about its end.
    Scheduler,
    /// What the program factor needs: FLOPs, device, peak.
    Work,
    /// Nothing: the job loses little.
    Nothing,
}

impl NextRecord {
    /// The record, and why it is next.
    pub const fn why(self) -> &'static str {
        match self {
            Self::Timeline => "timeline: what the held time was used for is not recorded",
            Self::StepTrace => "step trace: steps run below the ideal rate and no record says by which term",
            Self::Scheduler => "scheduler: the largest loss is how the allocation was given or ended",
            Self::Work => "FLOPs, device and peak: the ideal of the retained steps is not stated",
            Self::Nothing => "none: the job loses little",
        }
    }
}
