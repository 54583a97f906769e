//! A fleet's capacity over a window.

use goodput_core::fleet::{self, FleetAccount, FleetError, FleetOptions};
use goodput_core::records::{FleetRecords, Timeline};
use goodput_core::runtime::RuntimeOptions;
use goodput_core::scheduling::{Denominator, PoolSpec, SchedulingError, SchedulingOptions};
use goodput_core::{Levels, NS_PER_SECOND, Timestamp, Window};
use goodput_records::ReadReport;
use goodput_records::scheduler::completeness;
use goodput_records::scheduler::slurm::{SlurmOptions, node_list};
use goodput_records::timeline::{TimelineOptions, combine_by_job};
use goodput_report::{AccountView, DayView, ViewSettings};

use crate::error::VerbError;
use crate::inputs::Inputs;
use crate::request::{AccountRequest, ReportRequest};
use crate::{Answer, contract, time_argument};

/// Points of a series that a picture keeps.
const SERIES_POINTS: usize = 600;

/// Reads the records of a fleet and accounts them.
///
/// # Errors
/// [`VerbError`] when a record cannot be read, or the records do not make an account.
pub fn account(request: &AccountRequest, inputs: &mut Inputs) -> Result<Answer<AccountView>, VerbError> {
    let zone = time_argument::zone(&request.window)?;
    let (from, to) = time_argument::bounds(&request.window, zone.as_ref())?;
    let slurm = SlurmOptions {
        time_zone: zone.clone(),
        columns: request.sacct_columns.clone(),
        delimiter: request.delimiter.clone(),
        cluster: None,
    };
    let mut records = inputs.fleet(request, &slurm)?;
    let mut timelines = Vec::new();
    for input in &request.timelines {
        let options = TimelineOptions { time_zone: zone.clone(), ..TimelineOptions::default() };
        timelines.extend(inputs.timelines(input, &options)?);
    }
    let mut timelines = combine_by_job(timelines);
    for timeline in &mut timelines {
        let planned = timeline.job.as_ref().and_then(|job| request.planned_steps.get(job));
        timeline.planned_steps = planned.copied().or(timeline.planned_steps);
    }
    let options = options(request, &mut records, from, to)?;
    let mut settings = request.report.settings()?;
    settings.job_limit = request.jobs + timelines.len();
    let mut answer = view(&records, &timelines, &inputs.report, &options, settings)?;
    contract::state(request.contract.as_deref(), |label, yaml| answer.view.contract.state(label, yaml))?;
    if request.days {
        answer.view.days = days(&records, &timelines, &options)?;
    }
    Ok(answer)
}

/// Every whole day of the window accounted apart, from its start; a part of a day at the end is left out.
fn days(
    records: &FleetRecords,
    timelines: &[Timeline],
    options: &FleetOptions,
) -> Result<Vec<DayView>, VerbError> {
    const DAY_NS: i64 = 86_400 * NS_PER_SECOND;
    let window = options.scheduling.window;
    let starts = (0..window.duration_ns() / DAY_NS).map(|day| window.from().as_nanos() + day * DAY_NS);
    starts
        .map(|from_ns| {
            let at = Timestamp::from_nanos;
            let mut options = options.clone();
            options.scheduling.window = time_argument::window(at(from_ns), at(from_ns + DAY_NS))?;
            options.detailed_jobs = 0;
            let day = fleet::account(records, timelines, &options).map_err(|e| refusal(&e, records))?;
            let Levels { offered, held, retained, ideal } = day.ledger.chain().levels();
            Ok(DayView {
                from_ns: from_ns.into(),
                offered_ns: offered.into(),
                held_ns: held.into(),
                retained_ns: retained.into(),
                ideal_ns: ideal.into(),
            })
        })
        .collect()
}

/// Accounts records that are in memory.
///
/// # Errors
/// [`VerbError`] when the records do not make an account.
pub fn account_records(
    records: &FleetRecords,
    timelines: &[Timeline],
    read: &ReadReport,
    options: &FleetOptions,
    report: &ReportRequest,
) -> Result<Answer<AccountView>, VerbError> {
    view(records, timelines, read, options, report.settings()?)
}

fn view(
    records: &FleetRecords,
    timelines: &[Timeline],
    read: &ReadReport,
    options: &FleetOptions,
    mut settings: ViewSettings,
) -> Result<Answer<AccountView>, VerbError> {
    let mut account =
        fleet::account(records, timelines, options).map_err(|error| refusal(&error, records))?;
    account.warnings.extend(completeness(records));
    settings.software = timelines.iter().flat_map(|t| t.software.iter().cloned()).collect();
    settings.software.sort();
    settings.software.dedup();
    settings.stamp_resolution_ns =
        timelines.iter().map(|t| t.stamp_resolution_ns).chain(scheduler_resolution_ns(records)).max();
    let view = AccountView::new(&account, records, read, &settings);
    Ok(Answer { view, falls_short: read.is_degraded() || is_questioned(&account) })
}

/// What the scheduler's stamps resolve: whole seconds, unless one of them is finer.
fn scheduler_resolution_ns(records: &FleetRecords) -> Option<i64> {
    let whole = |at: Timestamp| at.as_nanos() % NS_PER_SECOND == 0;
    let mut stamps = records.attempts.iter().flat_map(|a| a.start.into_iter().chain(a.end));
    (!records.attempts.is_empty() && stamps.all(whole)).then_some(NS_PER_SECOND)
}

fn is_questioned(account: &FleetAccount) -> bool {
    !account.warnings.is_empty()
        || !account.scheduling.warnings.is_empty()
        || account
            .jobs
            .iter()
            .filter_map(|job| job.runtime.as_ref())
            .any(|runtime| !runtime.warnings.is_empty())
}

/// An error about the window or the pools says itself what to do.
fn refusal(error: &FleetError, records: &FleetRecords) -> VerbError {
    let refusal = VerbError::new(error.to_string());
    match error {
        FleetError::Scheduling(SchedulingError::NoCapacity) => refusal.help(remedy(records)),
        _ => refusal,
    }
}

fn remedy(records: &FleetRecords) -> &'static str {
    if records.attempts.is_empty() && records.pool_samples.is_empty() {
        "name the job records with --sacct (goodput account --help shows the export to ask a site for)"
    } else if records.attempts.iter().all(|attempt| attempt.devices == 0) && records.pool_samples.is_empty() {
        "neither the job records nor the capacity name a GPU: set AccountingStorageTRES=gres/gpu in slurm.conf, without \
         which Slurm does not account them (jobs from then on will have them)"
    } else if records.capacity.is_empty() && records.nodes.is_empty() {
        "name the capacity with --events (sacctmgr show event -P) or --nodes (scontrol show node)"
    } else {
        "see goodput account --help"
    }
}

/// Window, denominator and pools.
fn options(
    request: &AccountRequest,
    records: &mut FleetRecords,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> Result<FleetOptions, VerbError> {
    let pools =
        request.pools.iter().map(|(name, nodes)| pool(records, name, nodes)).collect::<Result<_, _>>()?;
    Ok(FleetOptions {
        scheduling: SchedulingOptions {
            window: window(records, from, to)?,
            denominator: request.denominator.unwrap_or(Denominator::InService),
            pools,
            series_points: SERIES_POINTS,
        },
        runtime: RuntimeOptions::default(),
        detailed_jobs: request.jobs,
    })
}

/// The options of a fleet that needs no more saying.
pub fn default_options(window: Window) -> FleetOptions {
    FleetOptions {
        scheduling: SchedulingOptions {
            window,
            denominator: Denominator::InService,
            pools: Vec::new(),
            series_points: SERIES_POINTS,
        },
        runtime: RuntimeOptions::default(),
        detailed_jobs: 100,
    }
}

/// The stated window; an end that is not stated is that of the records.
fn window(
    records: &FleetRecords,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> Result<Window, VerbError> {
    if let (Some(from), Some(to)) = (from, to) {
        return time_argument::window(from, to);
    }
    let extent = records
        .extent()
        .ok_or_else(|| VerbError::new("the records hold no job and no series").help(remedy(records)))?;
    time_argument::window(from.unwrap_or(extent.from()), to.unwrap_or(extent.to()))
}

fn pool(records: &mut FleetRecords, name: &str, nodes: &str) -> Result<PoolSpec, VerbError> {
    let names = node_list::expand(nodes).map_err(|e| VerbError::new(format!("pool {name}: {nodes}: {e}")))?;
    Ok(PoolSpec {
        name: records.symbols.intern(name),
        nodes: names.iter().map(|node| records.symbols.intern(node)).collect(),
    })
}
