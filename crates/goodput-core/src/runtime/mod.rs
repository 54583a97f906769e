//! Runtime goodput: held time that becomes productive time on retained steps.
//!
//! A job's log is divided into executions (`executions`), each step's fate is followed through
//! rollbacks and commits (`retention`), the fault-free step time and the warm-ups are measured
//! (`pace`), the gaps between executions are told from the evidence (`gap`, `cause`), and everything
//! is laid end to end over the held time (`layout`, `painter`, `clock`).

mod account;
mod cause;
mod clock;
mod declared;
mod executions;
mod gap;
mod held;
mod layout;
mod log_order;
mod pace;
mod painter;
mod retention;
mod samples;
mod step_times;
mod suspension;
mod warnings;

pub use account::{
    Allocation, HeldInterval, Measured, RankTimes, RetainedWork, RuntimeAccount, RuntimeError,
    RuntimeOptions, Segment, StepCounts, StepTimes, Use,
};

pub use samples::{Cycle, Samples, StepBlock};

use cause::Cause;
use clock::HeldClock;
use executions::{Executions, divide};
use gap::Story;
use layout::{LaidOut, Layout};
use log_order::LogOrder;

use crate::capacity::CapacityTime;
use crate::ledger::Loss;
use crate::pattern::Pattern;
use crate::records::{Commits, Event, EventKind, Phase, Timeline};
use crate::time::{Interval, Window};

/// Accounts the runtime goodput of one job.
///
/// Held time is what `allocation` says; every nanosecond of it has exactly one use, so that
/// `held - retained` equals the sum of the losses as integers, whatever the log contains.
///
/// # Errors
/// [`RuntimeError`] when there is nothing to account (no allocation and no evidence, an empty
/// window), when held intervals overlap, or when an option is no number.
///
/// ```
/// use goodput_core::records::{Step, Timeline};
/// use goodput_core::runtime::{Allocation, RuntimeOptions, account};
/// use goodput_core::Timestamp;
///
/// // Four steps of 2 s; the log stamps starts, and the last one has no successor.
/// let step = |index: u64| Step {
///     index,
///     count: 1,
///     line: 1 + index as u32,
///     start: Timestamp::from_seconds(100 + 2 * index as i64),
///     end: None,
///     input_wait_ns: 0,
/// };
/// let timeline = Timeline { steps: (0..4).map(step).collect(), ..Timeline::default() };
/// let job = account(&timeline, &Allocation::FromLog { devices: Some(8) }, &RuntimeOptions::default())?;
/// assert_eq!(job.retained.device_seconds(), 8.0 * 8.0);
/// assert_eq!(job.held, job.retained);
/// # Ok::<(), goodput_core::runtime::RuntimeError>(())
/// ```
pub fn account(
    timeline: &Timeline,
    allocation: &Allocation,
    options: &RuntimeOptions,
) -> Result<RuntimeAccount, RuntimeError> {
    options.check()?;
    let suspensions = suspension::locate(timeline, allocation);
    let order = LogOrder::new(timeline, &suspensions.located);
    let mut held = held::intervals(timeline, &order, allocation)?;
    let devices = held.first().map_or(1, |h| h.devices);
    let mut executions = divide(timeline, &order, &held, devices);
    let mid_run = begins_mid_run(timeline, &executions);
    let pace = pace::measure(timeline, &mut executions, order.clock_steps(), &held, options, mid_run);
    held::close(&mut held, allocation, timeline, &executions, options.window);
    let window = match options.window {
        Some(window) => window,
        None => held::extent(&held)?,
    };
    let total_known = match allocation {
        Allocation::Recorded(_) => true,
        Allocation::FromLog { devices } => devices.is_some(),
    };
    let clock = HeldClock::new(&held, &executions.sizes, window, total_known);
    let laid_out = Layout {
        timeline,
        executions: &executions,
        pace: &pace,
        clock_steps: order.clock_steps(),
        held: &held,
        clock: &clock,
        window,
        options,
        mid_run,
    }
    .lay_out();

    let total = clock.total();
    let mut losses = laid_out.tally.losses();
    if total.held != total.active {
        losses.push(Loss::new(Pattern::Standby, CapacityTime::from_device_ns(total.held - total.active)));
        losses.sort_by_key(|l| l.pattern);
    }
    let devices_known = held::devices_known(timeline, allocation);
    let struck = laid_out.stories.iter().flat_map(|story| &story.causes).map(|&(at, _)| at).collect();
    let samples = Samples::new(&laid_out.lanes, struck, window, &laid_out.steady);
    let warnings = warnings::of(&warnings::Evidence {
        timeline,
        allocation,
        held: &held,
        executions: &executions,
        clock_steps: order.clock_steps(),
        pace: &pace,
        options,
        devices_known,
        stories: &laid_out.stories,
        suspension_left_ns: suspensions.left_ns,
    });
    Ok(RuntimeAccount {
        window,
        recorded_allocation: matches!(allocation, Allocation::Recorded(_)),
        devices: clock.first_devices().unwrap_or(devices),
        devices_known,
        held: CapacityTime::from_device_ns(total.held),
        retained: laid_out.tally.amount(Use::Productive),
        losses,
        fault_free_step_ns: pace.typical(&executions),
        steps: laid_out.steps,
        step_times: laid_out.step_times,
        samples,
        queue_wait_ns: held::queue_wait_ns(&held, window),
        commits: timeline.commits,
        measured: measured(timeline, &laid_out, &executions, &clock, window),
        work: laid_out.work,
        ranks: RankTimes::of(&timeline.ranks, &timeline.symbols),
        lanes: laid_out.lanes,
        warnings,
    })
}

/// A log whose first step is neither the run's first nor preceded by a launch begins mid-run.
fn begins_mid_run(timeline: &Timeline, executions: &Executions) -> bool {
    let launched = executions.gaps.first().is_some_and(|g| !g.evidence.is_empty());
    let first = executions.laid.first().map(|l| &timeline.steps[l.position as usize]);
    !launched && first.is_some_and(|step| step.index > 1)
}

/// The inputs of the composed model, as measured inside the window.
fn measured(
    timeline: &Timeline,
    laid_out: &LaidOut,
    executions: &Executions,
    clock: &HeldClock,
    window: Window,
) -> Measured {
    let time_ns = |pattern| laid_out.tally.time_ns(Use::Lost(pattern));
    let inside = window.interval();
    let struck = |cause: Cause| {
        let in_window = |story: &Story| {
            story.causes.iter().filter(|&&(at, c)| c == cause && inside.contains(at)).count() as u64
        };
        laid_out.stories.iter().map(in_window).sum::<u64>()
    };
    let pauses = executions
        .declared
        .all()
        .iter()
        .filter(|p| p.phase == Phase::CheckpointPause && inside.contains(p.interval.start))
        .count();
    Measured {
        held_ns: clock.total_time_ns(),
        launches: struck(Cause::Launch),
        startup_ns: time_ns(Pattern::Startup),
        failures: struck(Cause::Failure),
        recovery_ns: time_ns(Pattern::Recovery),
        preemptions: struck(Cause::Preemption),
        preemption_ns: time_ns(Pattern::Preemption),
        input_wait_ns: time_ns(Pattern::InputWait),
        pauses: pauses as u64,
        pause_ns: time_ns(Pattern::CheckpointPause),
        commits: checkpoints(timeline, inside),
        rework_ns: time_ns(Pattern::Rework),
        logging_ns: executions.logging.iter().map(|&cost| window.clip(cost).duration_ns()).sum(),
    }
}

/// Checkpoints that were committed inside `window`; where the log records no commits, saves that began. What several
/// processes log of one checkpoint counts once.
fn checkpoints(timeline: &Timeline, window: Interval) -> u64 {
    let recorded = timeline.commits == Commits::Recorded;
    let of = |event: &Event| match event.kind {
        EventKind::Committed { step } if recorded => Some(step),
        EventKind::SaveStarted { step } if !recorded => Some(step),
        _ => None,
    };
    let inside = timeline.events.iter().filter(|e| window.contains(e.interval.start));
    let mut steps: Vec<u64> = inside.filter_map(of).collect();
    steps.dedup();
    steps.len() as u64
}
