//! Durations of steps, the fault-free step time, and warm-up.

use std::ops::Range;

use super::declared::Cursor;
use super::executions::{Execution, Executions, Gap, Sign};
use super::log_order::{ClockStep, Epochs};
use super::retention::Laid;
use super::{HeldInterval, RuntimeOptions, held};
use crate::records::{Step, StopCause, Timeline};
use crate::time::{Interval, Timestamp};

/// Steady steps from which an allocation's own fault-free step time is taken. With fewer, the job's
/// other allocations of the same size are asked too.
const STEADY_STEPS: usize = 8;

/// An execution this long that never comes back to the allocation's pace is not warming up: its
/// slowness is persistent, a program loss, and its warm-up is measured against its own pace.
const PERSISTENT_STEPS: usize = 30;

/// What was measured of the steps' durations.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Fault-free step time of each execution; `None` without a steady step.
    pub fault_free_ns: Vec<Option<i64>>,
    /// Position of each execution's first step after its warm-up.
    pub warm_from: Vec<usize>,
    /// Gaps longer than the silence multiple: the rest is unsettled.
    pub silences: u64,
}

impl Pace {
    /// f of the longest part of the job that has one.
    pub(super) fn typical(&self, executions: &Executions) -> Option<i64> {
        let lengths = executions.executions.iter().map(|e| e.steps.len());
        self.fault_free_ns
            .iter()
            .zip(lengths)
            .filter_map(|(f, steps)| f.map(|f| (steps, f)))
            .max_by_key(|&(steps, _)| steps)
            .map(|(_, f)| f)
    }
}

/// Measures every step. `mid_run`: the log begins in the middle of a run, its first step is no start.
pub(super) fn measure(
    timeline: &Timeline,
    executions: &mut Executions,
    clock_steps: &[ClockStep],
    held: &[HeldInterval],
    options: &RuntimeOptions,
    mid_run: bool,
) -> Pace {
    measure_between_steps(timeline, executions, clock_steps);
    let mut pace = fault_free(timeline, executions, options, mid_run);
    cut_silences(timeline, executions, &mut pace, options);
    end_last_steps(timeline, executions, clock_steps, held, &pace, options);
    pace
}

/// Lays the end and the net duration of each step that has an end or a successor in its execution.
fn measure_between_steps(timeline: &Timeline, executions: &mut Executions, clock_steps: &[ClockStep]) {
    let mut phases = Cursor::new(&executions.declared);
    let mut epochs = Epochs::new(clock_steps);
    for execution in &executions.executions {
        for i in execution.steps.clone() {
            let step = &timeline.steps[executions.laid[i].position as usize];
            let first_after = executions.laid.get(i + 1).map(|l| timeline.steps[l.position as usize].start);
            let next = first_after.filter(|_| i + 1 < execution.steps.end);
            let end = match (step.end, next) {
                (Some(end), Some(next)) => end_before(end, next, timeline.stamp_resolution_ns),
                // Attempts do not overlap: a step ends before the next attempt's first one.
                (Some(end), None) => first_after.filter(|&at| at > step.start).map_or(end, |at| end.min(at)),
                (None, Some(next)) => next,
                (None, None) => step.start,
            };
            let interval = Interval::new(step.start, end);
            let declared = phases.covered_ns(epochs.of(executions.laid[i].position as usize), interval);
            let busy = (end - step.start).saturating_sub(declared);
            let laid = &mut executions.laid[i];
            laid.end_ns = end.as_nanos();
            laid.net_ns = busy.saturating_sub(wait_ns(step, busy));
        }
    }
}

/// A step's own end, joined to the next start where they differ by no more than the stamps'
/// resolution; never beyond the next start.
fn end_before(end: Timestamp, next: Timestamp, resolution_ns: i64) -> Timestamp {
    if next - end <= resolution_ns { next } else { end }
}

/// Input wait that the step's record gives, at most what the step has.
pub(super) fn wait_ns(step: &Step, busy_ns: i64) -> i64 {
    step.input_wait_ns.clamp(0, busy_ns.max(0))
}

/// Steps of `execution` whose duration was measured: not a last one without an end.
fn measured(timeline: &Timeline, laid: &[Laid], execution: &Execution) -> Range<usize> {
    let steps = execution.steps.clone();
    let open = steps.end.checked_sub(1).is_some_and(|last| {
        last >= steps.start && timeline.steps[laid[last].position as usize].end.is_none()
    });
    steps.start..steps.end - usize::from(open)
}

/// Net duration of one step of a record.
fn per_step_ns(timeline: &Timeline, laid: &Laid) -> i64 {
    let count = timeline.steps[laid.position as usize].count.max(1);
    if count == 1 { laid.net_ns } else { laid.net_ns / i64::from(count) }
}

/// f: the median of an allocation's steady steps with input ready, allocation by allocation and
/// size by size; and each execution's warm-up, which lasts until its first step at or under 1.05 f.
fn fault_free(timeline: &Timeline, executions: &Executions, options: &RuntimeOptions, mid_run: bool) -> Pace {
    let all = &executions.executions;
    let survey =
        Survey { timeline, laid: &executions.laid, all, multiple: options.warm_up_multiple, mid_run };
    let mut pace = Pace {
        fault_free_ns: vec![None; all.len()],
        warm_from: all.iter().map(|e| e.steps.start).collect(),
        silences: 0,
    };
    // Executions of one allocation and size stand side by side.
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (i, execution) in all.iter().enumerate() {
        match groups.last_mut() {
            Some(group)
                if (all[group.start].held, all[group.start].devices)
                    == (execution.held, execution.devices) =>
            {
                group.end = i + 1;
            }
            _ => groups.push(i..i + 1),
        }
    }
    let mut few: Vec<Range<usize>> = Vec::new();
    for group in &groups {
        let (f, steady) = survey.steady_median(group.clone());
        pace.fault_free_ns[group.clone()].fill(f);
        if steady < STEADY_STEPS {
            few.push(group.clone());
        }
    }
    if !few.is_empty() && groups.len() > 1 {
        survey.ask_same_size(few, &mut pace.fault_free_ns);
    }
    for (i, f) in pace.fault_free_ns.iter().enumerate() {
        if let Some(f) = *f {
            pace.warm_from[i] = survey.warm_from(i, f);
        }
    }
    pace
}

struct Survey<'a> {
    timeline: &'a Timeline,
    laid: &'a [Laid],
    all: &'a [Execution],
    multiple: f64,
    mid_run: bool,
}

impl Survey<'_> {
    fn durations(&self, execution: usize) -> impl Iterator<Item = i64> {
        let steps = measured(self.timeline, self.laid, &self.all[execution]);
        self.laid[steps].iter().map(|l| per_step_ns(self.timeline, l))
    }

    /// The median over the steady steps of `group`, and how many there are. The warm-up that is left
    /// out is found with a first estimate: the lower quartile, which long warm-ups cannot move.
    fn steady_median(&self, group: Range<usize>) -> (Option<i64>, usize) {
        const SAMPLE: usize = 1 << 16;
        let steps: usize = group.clone().map(|e| self.all[e].steps.len()).sum();
        let stride = (steps / SAMPLE).max(1);
        let sample = |skip: usize| {
            group.clone().flat_map(move |e| self.durations(e).skip(skip)).filter(|&d| d > 0).step_by(stride)
        };
        let mut first: Vec<i64> = sample(1).collect();
        if first.is_empty() {
            first = sample(0).collect();
        }
        let Some(estimate) = quantile(&mut first, 1, 4) else { return (None, 0) };
        let mut steady = Vec::with_capacity(steps);
        for e in group {
            let warm = self.warm_from(e, estimate) - self.all[e].steps.start;
            steady.extend(self.durations(e).skip(warm).filter(|&d| d > 0));
        }
        (quantile(&mut steady, 1, 2), steady.len())
    }

    /// Groups with few steady steps take the median over all executions of their size.
    fn ask_same_size(&self, few: Vec<Range<usize>>, fault_free_ns: &mut [Option<i64>]) {
        let mut by_size: Vec<usize> = (0..self.all.len()).collect();
        by_size.sort_by_key(|&e| self.all[e].devices);
        let mut few: Vec<usize> = few.into_iter().flatten().collect();
        few.sort_by_key(|&e| self.all[e].devices);
        for short in few.chunk_by(|&a, &b| self.all[a].devices == self.all[b].devices) {
            let devices = self.all[short[0]].devices;
            let from = by_size.partition_point(|&e| self.all[e].devices < devices);
            let to = by_size.partition_point(|&e| self.all[e].devices <= devices);
            let mut steady: Vec<i64> = Vec::new();
            for &e in &by_size[from..to] {
                let warm = fault_free_ns[e].map_or(0, |f| self.warm_from(e, f) - self.all[e].steps.start);
                steady.extend(self.durations(e).skip(warm).filter(|&d| d > 0));
            }
            if let Some(f) = quantile(&mut steady, 1, 2) {
                short.iter().for_each(|&e| fault_free_ns[e] = Some(f));
            }
        }
    }

    /// Position of the first step of an execution that is not warming up.
    fn warm_from(&self, execution: usize, f: i64) -> usize {
        let steps = &self.all[execution].steps;
        if self.mid_run && execution == 0 {
            return steps.start;
        }
        let limit = scale(f, self.multiple);
        if let Some(n) = self.durations(execution).position(|d| d <= limit) {
            return steps.start + n;
        }
        let mut own: Vec<i64> = self.durations(execution).collect();
        if own.len() < PERSISTENT_STEPS {
            return steps.end;
        }
        let own_pace = quantile(&mut own, 1, 2).map_or(limit, |pace| scale(pace, self.multiple));
        self.durations(execution).position(|d| d <= own_pace).map_or(steps.end, |n| steps.start + n)
    }
}

/// The value at `numerator / denominator` of the sorted values; the lower one between two.
fn quantile(values: &mut [i64], numerator: usize, denominator: usize) -> Option<i64> {
    let last = values.len().checked_sub(1)?;
    let (_, value, _) = values.select_nth_unstable(last * numerator / denominator);
    Some(*value)
}

/// `ns * factor`, rounded down.
pub(super) fn scale(ns: i64, factor: f64) -> i64 {
    (ns as f64 * factor) as i64
}

/// A log that stamps only starts: where no new start comes for longer than the silence multiple of f
/// and nothing else is known, the step counts f and the rest is unsettled. During warm-up the excess
/// already belongs to the event that caused the start.
fn cut_silences(timeline: &Timeline, executions: &mut Executions, pace: &mut Pace, options: &RuntimeOptions) {
    for (e, execution) in executions.executions.iter().enumerate() {
        let Some(f) = pace.fault_free_ns[e] else { continue };
        for i in pace.warm_from[e]..execution.steps.end {
            let laid = &mut executions.laid[i];
            let step = &timeline.steps[laid.position as usize];
            let normal = f.saturating_mul(i64::from(step.count.max(1)));
            if step.end.is_none() && laid.net_ns > scale(normal, options.silence_multiple) {
                laid.net_ns = normal;
                pace.silences += 1;
            }
        }
    }
}

/// The last step of an execution has no successor: it counts f, unless other evidence ends it.
fn end_last_steps(
    timeline: &Timeline,
    executions: &mut Executions,
    clock_steps: &[ClockStep],
    held: &[HeldInterval],
    pace: &Pace,
    options: &RuntimeOptions,
) {
    let mut phases = Cursor::new(&executions.declared);
    let mut epochs = Epochs::new(clock_steps);
    for (e, execution) in executions.executions.iter().enumerate() {
        let Some(last) = execution.steps.end.checked_sub(1) else { continue };
        let step = &timeline.steps[executions.laid[last].position as usize];
        if step.end.is_some() {
            continue;
        }
        let normal = pace.fault_free_ns[e].map_or(0, |f| f.saturating_mul(i64::from(step.count.max(1))));
        let epoch = epochs.of(executions.laid[last].position as usize);
        let gap = &executions.gaps[e + 1];
        let before = (last > execution.steps.start).then(|| executions.laid[last - 1].net_ns);
        let (until, own_end) = ending(step, gap, executions, normal, before, options);
        // No step runs beyond the release, nor into the next attempt's first one.
        let release = held::at(held, step.start).map(|h| h.end);
        let next = executions.laid.get(last + 1).map(|l| timeline.steps[l.position as usize].start);
        let bounds = until.into_iter().chain(release).chain(next.filter(|&at| at > step.start));
        let until = bounds.min();
        let mut net = 0;
        let mut end = step.start;
        let whole = Interval::new(step.start, until.unwrap_or(Timestamp::from_nanos(i64::MAX)));
        let budget = if own_end { i64::MAX } else { normal.saturating_add(step.input_wait_ns.max(0)) };
        // Walk over the declared phases inside the step until its time is used up.
        for phase in phases.overlapping(epoch, whole) {
            let free = phase.interval.start - end;
            if free >= budget - net {
                break;
            }
            net += free.max(0);
            end = phase.interval.end;
        }
        let rest = if own_end { until.map_or(0, |u| u - end) } else { budget - net };
        let rest = until.map_or(rest, |u| rest.min(u - end)).max(0);
        let busy = net + rest;
        let laid = &mut executions.laid[last];
        laid.end_ns = (end + rest).as_nanos();
        laid.net_ns = busy.saturating_sub(wait_ns(step, busy));
    }
}

/// The instant that the evidence after a last step gives as its latest end, and whether it ends the
/// step (rather than only bounding it).
///
/// A declared phase ends the step it follows, within the silence multiple. A logged graceful end
/// does so when the step then lasted no longer than a step does.
fn ending(
    step: &Step,
    gap: &Gap,
    executions: &Executions,
    normal_ns: i64,
    before_ns: Option<i64>,
    options: &RuntimeOptions,
) -> (Option<Timestamp>, bool) {
    let sign = executions.evidence[gap.evidence.clone()].first();
    let declared = gap.declared_from.filter(|&at| sign.is_none_or(|s| at <= s.at));
    if let Some(at) = declared {
        return (Some(at), at - step.start <= scale(normal_ns, options.silence_multiple));
    }
    let Some(sign) = sign else { return (None, false) };
    let graceful = matches!(sign.sign, Sign::Stopped(StopCause::Ended | StopCause::Finished));
    let usual = scale(normal_ns.max(before_ns.unwrap_or(0)), options.warm_up_multiple);
    (Some(sign.at), graceful && sign.at - step.start <= usual)
}
