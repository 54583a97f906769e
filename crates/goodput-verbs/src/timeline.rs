//! One job's runtime goodput from its own log.

use std::path::PathBuf;

use goodput_core::program::ProgramAccount;
use goodput_core::records::{FleetRecords, SourceRef, Timeline};
use goodput_core::runtime::{self, Allocation, HeldInterval, RuntimeAccount, RuntimeError, RuntimeOptions};
use goodput_core::scheduling;
use goodput_core::{Interval, Ledger, Levels, Timestamp, Warning, Window, program};
use goodput_model::device::Catalogue;
use goodput_records::scheduler::slurm::SlurmOptions;
use goodput_records::timeline::{TimelineOptions, combine};
use goodput_report::TimelineView;
use jiff::tz::TimeZone;

use crate::error::VerbError;
use crate::inputs::Inputs;
use crate::request::{AccountRequest, TimelineInput, TimelineRequest};
use crate::trace::{self, TraceRequest};
use crate::{Answer, contract, time_argument};

/// Reads the job's logs and accounts them.
///
/// # Errors
/// [`VerbError`] when a log or record cannot be read, they are of several jobs, or the request contradicts itself.
pub fn timeline(args: &TimelineRequest, inputs: &mut Inputs) -> Result<Answer<TimelineView>, VerbError> {
    let zone = time_argument::zone(&args.window)?;
    let (from, to) = time_argument::bounds(&args.window, zone.as_ref())?;
    let timeline = one_job(args, inputs, zone.as_ref())?;
    let to = if args.live { Some(now(&timeline)?) } else { to };
    let allocation = allocation(args, &timeline, inputs, zone.as_ref(), to.filter(|_| args.live))?;
    let window = match (from, to) {
        (None, None) => None,
        (from, to) => Some(time_argument::window(
            from.unwrap_or_else(|| first_instant(&timeline, &allocation)),
            to.unwrap_or_else(|| last_instant(&timeline, &allocation)),
        )?),
    };
    if let Some(window) = window {
        overlaps(window, &timeline, &allocation, args.live)?;
    }
    let options = RuntimeOptions { window, ..RuntimeOptions::default() };
    let mut account = runtime::account(&timeline, &allocation, &options).map_err(|e| refused(&e))?;
    let mut program = program::account(account.retained, &account.work, &timeline.ideal, timeline.source);
    if !args.traces.is_empty() {
        program = divided_by_terms(program, &args.traces, inputs, &mut account.warnings)?;
    }
    if let Err(why @ program::NoProgramFactor::AboveOne(_)) = &program.basis {
        account.warnings.push(Warning {
            code: "program_refused",
            message: why.to_string(),
            source: Some(timeline.source),
        });
    }
    let levels = Levels {
        offered: account.held,
        held: account.held,
        retained: account.retained,
        ideal: program.ideal,
    };
    let losses = account.losses.iter().cloned().chain(program.losses).collect();
    let ledger = Ledger::new(account.window, levels, losses).map_err(|e| VerbError::new(e.to_string()))?;
    let settings = args.report.settings()?;
    let mut view = TimelineView::new(
        &account,
        program.basis.as_ref().ok(),
        &ledger,
        &timeline,
        &inputs.report,
        &settings,
    );
    contract::state(args.contract.as_deref(), |label, yaml| view.contract.state(label, yaml))?;
    let falls_short = inputs.report.is_degraded() || !account.warnings.is_empty();
    Ok(Answer { view, falls_short })
}

/// Refuses a window of which the records say nothing: accounted, it would be one long hang, or empty.
fn overlaps(
    window: Window,
    timeline: &Timeline,
    allocation: &Allocation,
    live: bool,
) -> Result<(), VerbError> {
    if timeline.steps.is_empty() && timeline.events.is_empty() {
        return Ok(());
    }
    let (first, last) = (first_instant(timeline, allocation), last_instant(timeline, allocation));
    // A live job that went silent is held all the same.
    let after = window.from() >= last && !live;
    if window.to() > first && !after {
        return Ok(());
    }
    let silent = if after { ", or give --live if the job still runs and is silent" } else { "" };
    Err(VerbError::new(format!(
        "the window is {} to {}, and the job's records run from {first} to {last}: they say nothing about it",
        window.from(),
        window.to()
    ))
    .help(format!("choose --from and --to inside the job's life{silent}")))
}

/// The end of a live job's window.
fn now(timeline: &Timeline) -> Result<Timestamp, VerbError> {
    let now = i64::try_from(jiff::Timestamp::now().as_nanosecond()).map(Timestamp::from_nanos);
    now.ok().filter(|&now| last_log_instant(timeline) <= now).ok_or_else(|| {
        VerbError::new("--live: the log's last line is stamped after now, so the clocks disagree")
            .help("set the clock of this machine, or state the window's end with --to")
    })
}

/// Hands the terms of the traced steps to the ledger. A trace that contradicts the log divides nothing, which is said.
fn divided_by_terms(
    program: ProgramAccount,
    traces: &[PathBuf],
    inputs: &mut Inputs,
    warnings: &mut Vec<Warning>,
) -> Result<ProgramAccount, VerbError> {
    let request = TraceRequest { paths: traces.to_vec(), ..TraceRequest::default() };
    let (analysis, set) = trace::analysed(&request, Catalogue::built_in(), None)?;
    let source = inputs.traces(&set.files);
    let warning = |message| Warning { code: "trace_terms", message, source: Some(source) };
    match analysis.step_terms().and_then(|terms| terms.divide(program.clone(), source)) {
        Ok(divided) => {
            let steps = analysis.judged_steps();
            let ranks = analysis.ranks.len();
            warnings.push(warning(format!(
                "the program loss is divided by {steps} traced rank-steps of {ranks} ranks, as if all retained steps were like them"
            )));
            Ok(divided)
        }
        Err(why) => {
            warnings.push(warning(format!("the trace does not divide the program loss: {why}")));
            Ok(program)
        }
    }
}

/// A job from its logs alone, and its runtime account.
pub(crate) fn runtime_account(
    args: &TimelineRequest,
    inputs: &mut Inputs,
) -> Result<(Timeline, RuntimeAccount), VerbError> {
    let zone = time_argument::zone(&args.window)?;
    let timeline = one_job(args, inputs, zone.as_ref())?;
    let allocation = allocation(args, &timeline, inputs, zone.as_ref(), None)?;
    let account =
        runtime::account(&timeline, &allocation, &RuntimeOptions::default()).map_err(|e| refused(&e))?;
    Ok((timeline, account))
}

fn refused(error: &RuntimeError) -> VerbError {
    let remedy = match error {
        RuntimeError::NothingToAccount => {
            "give the log's held intervals with --allocation FROM..TO, or another log"
        }
        RuntimeError::EmptyWindow(_) => {
            "the log holds one instant: give --live if the job still runs, --to, or its held intervals with --allocation"
        }
        RuntimeError::OverlappingAllocations { .. } => "give each attempt once",
        RuntimeError::Option { .. } => "see goodput timeline --help",
    };
    VerbError::new(error.to_string()).help(remedy)
}

/// The one job that the files are about.
fn one_job(
    args: &TimelineRequest,
    inputs: &mut Inputs,
    zone: Option<&TimeZone>,
) -> Result<Timeline, VerbError> {
    let options = TimelineOptions { time_zone: zone.cloned(), ..TimelineOptions::default() };
    let mut parts = Vec::new();
    for file in &args.files {
        let input = TimelineInput { file: file.clone(), job: args.job.clone(), work: args.work.clone() };
        parts.extend(inputs.timelines(&input, &options)?);
    }
    let mut jobs: Vec<String> = parts.iter().filter_map(|t| t.job.clone()).collect();
    jobs.sort();
    jobs.dedup();
    if jobs.len() > 1 {
        return Err(VerbError::new(format!(
            "the files hold the logs of {} jobs: {}",
            jobs.len(),
            jobs.join(", ")
        ))
        .help("choose one with --job, or account them together with `goodput account --timeline`"));
    }
    let mut timeline = combine(parts).ok_or_else(|| VerbError::new("the files hold no timeline"))?;
    timeline.planned_steps = args.planned_steps.or(timeline.planned_steps);
    Ok(timeline)
}

/// The held intervals: stated, from job records, or from the log.
fn allocation(
    args: &TimelineRequest,
    timeline: &Timeline,
    inputs: &mut Inputs,
    zone: Option<&TimeZone>,
    live: Option<Timestamp>,
) -> Result<Allocation, VerbError> {
    let devices = args.work.devices.or(timeline.devices);
    if !args.allocation.is_empty() {
        let mut held =
            args.allocation.iter().map(|text| stated(text, devices, zone)).collect::<Result<Vec<_>, _>>()?;
        held.sort_by_key(|h| h.interval.start);
        return Ok(Allocation::Recorded(held));
    }
    if args.sacct.is_empty() {
        return Ok(Allocation::FromLog { devices: args.work.devices });
    }
    let request = AccountRequest { sacct: args.sacct.clone(), ..AccountRequest::default() };
    let slurm = SlurmOptions { time_zone: zone.cloned(), ..SlurmOptions::default() };
    let records = inputs.fleet(&request, &slurm)?;
    let job = timeline.job.as_deref().ok_or_else(|| {
        VerbError::new("the log does not say which job of the records it is of")
            .help("give the job's id with --job")
    })?;
    let held = held_of_job(&records, job, live.unwrap_or_else(|| last_log_instant(timeline)));
    if held.is_empty() {
        return Err(VerbError::new(format!("the job records hold no allocation of job {job:?}"))
            .help("give the job's id with --job, or its held intervals with --allocation FROM..TO"));
    }
    Ok(Allocation::Recorded(held))
}

fn stated(text: &str, devices: Option<u64>, zone: Option<&TimeZone>) -> Result<HeldInterval, VerbError> {
    let wrong = |why: String| VerbError::new(format!("--allocation {text}: {why}"));
    let (from, to) = text.split_once("..").ok_or_else(|| wrong("expected FROM..TO".to_owned()))?;
    let instant = |t: &str| time_argument::instant(t, zone).map_err(wrong);
    let interval = Interval::new(instant(from)?, instant(to)?);
    if interval.is_empty() {
        return Err(wrong("it ends before it begins".to_owned()));
    }
    Ok(HeldInterval {
        interval,
        devices: devices.unwrap_or(1),
        ended_by: None,
        suspended_ns: 0,
        source: SourceRef::default(),
    })
}

/// The held intervals of one job, rows cut so that they do not overlap. What still runs is held up to the end of
/// the records, or of the log if it is later.
fn held_of_job(records: &FleetRecords, job: &str, log_end: Timestamp) -> Vec<HeldInterval> {
    let open_end = records.written_at.map_or(log_end, |written| written.max(log_end));
    scheduling::held_intervals_of(records, job, open_end)
        .into_iter()
        .map(|(attempt, interval)| {
            let attempt = &records.attempts[attempt];
            HeldInterval {
                interval,
                devices: attempt.devices,
                ended_by: attempt.end.map(|_| attempt.state),
                suspended_ns: attempt.suspended_ns,
                source: attempt.source,
            }
        })
        .collect()
}

fn first_instant(timeline: &Timeline, allocation: &Allocation) -> Timestamp {
    let log =
        timeline.steps.iter().map(|s| s.start).chain(timeline.events.iter().map(|e| e.interval.start)).min();
    match allocation {
        Allocation::Recorded(held) => held.iter().map(|h| h.interval.start).min(),
        Allocation::FromLog { .. } => None,
    }
    .or(log)
    .unwrap_or_default()
}

fn last_instant(timeline: &Timeline, allocation: &Allocation) -> Timestamp {
    match allocation {
        Allocation::Recorded(held) => held.iter().map(|h| h.interval.end).max().unwrap_or_default(),
        Allocation::FromLog { .. } => last_log_instant(timeline),
    }
}

fn last_log_instant(timeline: &Timeline) -> Timestamp {
    let steps = timeline.steps.iter().map(|s| s.end.unwrap_or(s.start));
    steps.chain(timeline.events.iter().map(|e| e.interval.end)).max().unwrap_or_default()
}
