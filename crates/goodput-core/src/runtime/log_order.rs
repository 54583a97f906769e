//! The log's steps and events as one sequence in time.

use crate::records::{Event, Step, Timeline};

/// A record of the log.
#[derive(Debug, Clone, Copy)]
pub(super) enum Entry<'a> {
    /// A step, with its position in [`Timeline::steps`].
    Step(usize, &'a Step),
    /// An event.
    Event(&'a Event),
}

/// Two consecutive steps of the log between which the clock went back.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClockStep {
    /// Position of the first step on the new clock.
    pub position: usize,
    /// How far back, at least: the stamps' difference.
    pub back_ns: i64,
}

/// Steps in the order of the log, events placed among them by their start.
///
/// A clock that steps back divides the log into epochs: stamps are compared within an epoch, lines
/// tell to which epoch an event belongs. Ties in time are broken by line.
pub(super) struct LogOrder<'a> {
    timeline: &'a Timeline,
    clock_steps: Vec<ClockStep>,
    /// Epoch and position of each event, in order; positions go on from the log's events to `added`.
    order: Vec<(u32, u32)>,
    added: &'a [Event],
}

impl<'a> LogOrder<'a> {
    /// Orders `timeline`, with events `added` that the log does not hold.
    pub(super) fn new(timeline: &'a Timeline, added: &'a [Event]) -> Self {
        let clock_steps = clock_steps(timeline);
        let position = |i: usize| u32::try_from(i).unwrap_or(u32::MAX);
        let mut order: Vec<(u32, u32)> = timeline
            .events
            .iter()
            .chain(added)
            .enumerate()
            .map(|(i, e)| (event_epoch(e, &clock_steps, &timeline.steps), position(i)))
            .collect();
        let key = |&(epoch, i): &(u32, u32)| {
            let event = event_at(timeline, added, i);
            (epoch, event.interval.start, event.line)
        };
        if !order.is_sorted_by_key(key) {
            order.sort_by_key(key);
        }
        Self { timeline, clock_steps, order, added }
    }

    /// Where the clock went back.
    pub(super) fn clock_steps(&self) -> &[ClockStep] {
        &self.clock_steps
    }

    /// Every record with its epoch.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Entry<'a>, u32)> {
        let steps = &self.timeline.steps;
        let (mut step, mut event) = (0, 0);
        let mut step_epochs = Epochs::new(&self.clock_steps);
        std::iter::from_fn(move || {
            let next_step = steps.get(step).map(|s| (step_epochs.of(step), s.start, s.line));
            let next_event = self.order.get(event).map(|&(epoch, i)| {
                let e = event_at(self.timeline, self.added, i);
                ((epoch, e.interval.start, e.line), e)
            });
            match (next_step, next_event) {
                (_, Some((key, e))) if next_step.is_none_or(|s| key <= s) => {
                    event += 1;
                    Some((Entry::Event(e), key.0))
                }
                (Some((epoch, ..)), _) => {
                    step += 1;
                    Some((Entry::Step(step - 1, &steps[step - 1]), epoch))
                }
                (None, _) => None,
            }
        })
    }
}

fn event_at<'a>(timeline: &'a Timeline, added: &'a [Event], position: u32) -> &'a Event {
    let position = position as usize;
    timeline.events.get(position).unwrap_or_else(|| &added[position - timeline.events.len()])
}

/// Epochs of step positions that are asked for in increasing order.
pub(super) struct Epochs<'a> {
    clock_steps: &'a [ClockStep],
    epoch: usize,
}

impl<'a> Epochs<'a> {
    pub(super) fn new(clock_steps: &'a [ClockStep]) -> Self {
        Self { clock_steps, epoch: 0 }
    }

    /// The epoch of the step at `position`.
    pub(super) fn of(&mut self, position: usize) -> u32 {
        while self.clock_steps.get(self.epoch).is_some_and(|c| c.position <= position) {
            self.epoch += 1;
        }
        u32::try_from(self.epoch).unwrap_or(u32::MAX)
    }
}

/// A step that starts before the step logged just before it: the clock was set back. Differences
/// within the stamps' resolution are rounding, and two records of one step are two writers.
fn clock_steps(timeline: &Timeline) -> Vec<ClockStep> {
    timeline
        .steps
        .windows(2)
        .enumerate()
        .filter_map(|(i, pair)| {
            let back_ns = pair[0].start - pair[1].start;
            let stepped = back_ns > timeline.stamp_resolution_ns.max(0) && pair[0].index != pair[1].index;
            stepped.then_some(ClockStep { position: i + 1, back_ns })
        })
        .collect()
}

fn event_epoch(event: &Event, clock_steps: &[ClockStep], steps: &[Step]) -> u32 {
    // Lines decide, except between the two steps, where the stamp does.
    let passed = clock_steps.partition_point(|c| steps[c.position - 1].line < event.line);
    let between = passed.checked_sub(1).is_some_and(|last| {
        let after = clock_steps[last].position;
        event.line < steps[after].line && event.interval.start >= steps[after - 1].start
    });
    u32::try_from(passed - usize::from(between)).unwrap_or(u32::MAX)
}
