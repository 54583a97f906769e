//! The log divided into executions: stretches of steps between one (re)start and the next.

use std::ops::Range;

use super::HeldInterval;
use super::declared::{Declared, DeclaredPhases};
use super::log_order::{Entry, LogOrder};
use super::retention::{Laid, Retention};
use crate::records::{Commits, Event, EventKind, Phase, Step, StopCause, Timeline};
use crate::time::{Interval, Timestamp};

/// What the log says between the last step of one execution and the first of the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Execution stopped.
    Stopped(StopCause),
    /// The allocation is being changed, or changed its size while the processes lived on.
    Reconfigured,
    /// Processes were launched.
    Launched,
    /// State was read back.
    Restored,
}

/// A sign of a stop or a start.
#[derive(Debug, Clone, Copy)]
pub(super) struct Evidence {
    pub at: Timestamp,
    pub sign: Sign,
    pub line: u32,
}

/// The stretch before an execution's first step; the last one follows the last step of the log.
#[derive(Debug, Clone, Default)]
pub(super) struct Gap {
    /// Signs, in order: positions in [`Executions::evidence`].
    pub evidence: Range<usize>,
    /// Start of the first declared phase in it that is neither part of a start nor of a step (input
    /// wait, suspension): it ends the step before it.
    pub declared_from: Option<Timestamp>,
}

/// A stretch of steps between one (re)start and the next.
#[derive(Debug, Clone)]
pub(super) struct Execution {
    /// Positions in [`Executions::laid`].
    pub steps: Range<usize>,
    /// Position of the held interval in which it began.
    pub held: usize,
    /// Active devices.
    pub devices: u64,
}

/// A change of the active devices or of the spares.
#[derive(Debug, Clone, Copy)]
pub(super) enum SizeChange {
    /// Active devices from here on.
    Active(u64),
    /// Hot spares from here on.
    Standby(u64),
}

/// The log, divided.
#[derive(Debug, Default)]
pub(super) struct Executions {
    /// Step records, second writers' duplicates left out.
    pub laid: Vec<Laid>,
    /// In order.
    pub executions: Vec<Execution>,
    /// One before each execution, and one after the last.
    pub gaps: Vec<Gap>,
    /// Signs of stops and starts.
    pub evidence: Vec<Evidence>,
    /// Declared phases.
    pub declared: DeclaredPhases,
    /// Changes of size, in the order of the log.
    pub sizes: Vec<(Timestamp, SizeChange)>,
    /// What logging itself cost.
    pub logging: Vec<Interval>,
    /// Records of a step that another writer had logged already.
    pub duplicates: u64,
    /// Times that the step number went back without any sign of a start.
    pub unsigned_rollbacks: u64,
    /// Whether the log ends with a stop: the instant.
    pub logged_end: Option<Timestamp>,
}

/// Reads the log once, in order.
pub(super) fn divide<'a>(
    timeline: &'a Timeline,
    order: &LogOrder<'a>,
    held: &'a [HeldInterval],
    devices: u64,
) -> Executions {
    let mut reader = Reader {
        timeline,
        held,
        out: Executions { gaps: vec![Gap::default()], ..Executions::default() },
        retention: Retention::new(&timeline.steps),
        previous: None,
        held_at: 0,
        held_of_step: 0,
        devices,
        open: None,
        restored: None,
        writer_skew_ns: None,
    };
    reader.out.laid.reserve_exact(timeline.steps.len());
    for (entry, epoch) in order.iter() {
        match entry {
            Entry::Step(position, step) => reader.step(position, step),
            Entry::Event(event) => reader.event(event, epoch),
        }
    }
    reader.finish()
}

struct Reader<'a> {
    timeline: &'a Timeline,
    held: &'a [HeldInterval],
    out: Executions,
    retention: Retention<'a>,
    previous: Option<&'a Step>,
    /// Held interval of the last entry.
    held_at: usize,
    /// Held interval of the last step.
    held_of_step: usize,
    /// Active devices now.
    devices: u64,
    /// A phase whose end the log never gives.
    open: Option<Declared>,
    /// The step that the state holds which relaunched processes read back.
    restored: Option<u64>,
    writer_skew_ns: Option<i64>,
}

impl<'a> Reader<'a> {
    fn step(&mut self, position: usize, step: &'a Step) {
        let quiet = self.gap().evidence.is_empty();
        if quiet && self.is_second_writers(step) {
            self.out.duplicates += 1;
            return;
        }
        self.enter_held(step.start);
        let (allocation, next) = (self.held.get(self.held_of_step), self.held.get(self.held_at));
        let (released, resized) = match (allocation, next) {
            (Some(old), Some(new)) if self.held_of_step != self.held_at => {
                (old.interval.end < new.interval.start, old.devices != new.devices)
            }
            _ => (false, false),
        };
        let goes_back = self.previous.is_some_and(|p| step.index < last_number(p).saturating_add(1));
        let starts = self.previous.is_none() || !quiet || goes_back || released || resized;
        self.out.unsigned_rollbacks += u64::from(quiet && goes_back && !released);
        self.close_open_phase((!starts).then_some(step.start));
        if starts {
            self.start_execution(step, released);
        } else {
            // What lay between two steps of one execution is settled by the declared phases alone.
            self.gap().declared_from = None;
        }
        self.out.laid.push(Laid {
            position: u32::try_from(position).unwrap_or(u32::MAX),
            discarded: 0,
            discarded_by: 0,
            pending: 0,
            end_ns: 0,
            net_ns: 0,
        });
        self.retention.executed(&self.out.laid);
        self.previous = Some(step);
        self.held_of_step = self.held_at;
        self.out.logged_end = None;
        if let Some(execution) = self.out.executions.last_mut() {
            execution.steps.end = self.out.laid.len();
        }
    }

    /// The same step again within three quarters of a step and without any sign of a restart is a second
    /// writer's record of it, not rework: a step is executed again at the earliest when it is over.
    fn is_second_writers(&mut self, step: &Step) -> bool {
        let Some(previous) = self.previous else { return false };
        if step.index < previous.index || step.index > last_number(previous) {
            return false;
        }
        let skew =
            *self.writer_skew_ns.get_or_insert_with(|| typical_spacing_ns(&self.timeline.steps) / 4 * 3);
        (step.start - previous.start).abs() < skew
    }

    fn start_execution(&mut self, step: &Step, released: bool) {
        let from_storage =
            released || self.signs().iter().any(|e| matches!(e.sign, Sign::Launched | Sign::Restored));
        self.restored = None;
        let start = self.out.executions.len();
        if start > 0 {
            self.retention.resumed(start, step.index, from_storage, &mut self.out.laid);
        }
        let first = self.out.laid.len();
        self.out.executions.push(Execution {
            steps: first..first,
            held: self.held_at,
            devices: self.devices,
        });
        let signs = self.out.evidence.len();
        self.out.gaps.push(Gap { evidence: signs..signs, declared_from: None });
    }

    fn event(&mut self, event: &Event, epoch: u32) {
        let at = event.interval.start;
        let begins_anew = match event.kind {
            EventKind::Launch | EventKind::Restored { .. } => true,
            EventKind::Phase { phase, .. } => matches!(phase, Phase::Launch | Phase::CheckpointLoad),
            _ => false,
        };
        self.close_open_phase((!begins_anew).then_some(at));
        self.enter_held(at);
        match event.kind {
            EventKind::Launch => self.sign(at, Sign::Launched, event.line),
            EventKind::Restored { step } => {
                self.sign(at, Sign::Restored, event.line);
                self.restored = step.filter(|_| self.relaunched());
            }
            EventKind::Stopped { cause } => {
                if cause == StopCause::Finished {
                    self.retention.finished(&self.out.laid);
                }
                self.sign(at, Sign::Stopped(cause), event.line);
                self.out.logged_end = Some(at);
            }
            EventKind::Resized { devices } => {
                if devices != self.devices {
                    self.devices = devices;
                    self.out.sizes.push((at, SizeChange::Active(devices)));
                    self.sign(at, Sign::Reconfigured, event.line);
                }
            }
            EventKind::Standby { devices } => self.out.sizes.push((at, SizeChange::Standby(devices))),
            EventKind::Committed { step } => self.retention.committed(step, &self.out.laid),
            EventKind::SaveStarted { .. } => {}
            EventKind::LoggingCost => self.out.logging.push(event.interval),
            EventKind::Phase { phase, .. } => self.phase(event, phase, epoch),
        }
    }

    fn phase(&mut self, event: &Event, phase: Phase, epoch: u32) {
        let at = event.interval.start;
        match phase {
            Phase::Launch => self.sign(at, Sign::Launched, event.line),
            Phase::CheckpointLoad => self.sign(at, Sign::Restored, event.line),
            Phase::Reconfiguration => self.sign(at, Sign::Reconfigured, event.line),
            _ => {}
        }
        let inside_a_step = matches!(phase, Phase::InputWait | Phase::Suspension);
        if !inside_a_step && !matches!(phase, Phase::Launch | Phase::CheckpointLoad) {
            self.gap().declared_from.get_or_insert(at);
            self.out.logged_end = None;
        }
        let declared = Declared { interval: event.interval, phase, epoch, line: event.line };
        if event.open {
            self.open = Some(declared);
        } else {
            self.out.declared.push(declared);
        }
    }

    /// A phase whose end was never logged lasts to the next entry of the same execution. Before a
    /// restart or at the log's end nobody knows how long it lasted: the rule for silence decides.
    fn close_open_phase(&mut self, next: Option<Timestamp>) {
        if let Some(mut open) = self.open.take()
            && let Some(next) = next
        {
            open.interval.end = next;
            self.out.declared.push(open);
        }
    }

    fn sign(&mut self, at: Timestamp, sign: Sign, line: u32) {
        self.out.evidence.push(Evidence { at, sign, line });
        let signs = self.out.evidence.len();
        self.gap().evidence.end = signs;
        self.out.logged_end = None;
    }

    /// Moves to the held interval of `at`; a new allocation starts with its own size.
    fn enter_held(&mut self, at: Timestamp) {
        while self.held.get(self.held_at + 1).is_some_and(|h| h.interval.start <= at) {
            self.held_at += 1;
            self.devices = self.held[self.held_at].devices;
        }
    }

    /// The gap that is being read.
    fn gap(&mut self) -> &mut Gap {
        if self.out.gaps.is_empty() {
            self.out.gaps.push(Gap::default());
        }
        let last = self.out.gaps.len() - 1;
        &mut self.out.gaps[last]
    }

    /// Signs of the gap that is being read.
    fn signs(&self) -> &[Evidence] {
        &self.out.evidence[self.out.gaps.last().map_or(0..0, |gap| gap.evidence.clone())]
    }

    fn relaunched(&self) -> bool {
        self.signs().iter().any(|e| e.sign == Sign::Launched)
    }

    fn finish(mut self) -> Executions {
        self.close_open_phase(None);
        // A relaunch that has read its state back and not stepped yet has discarded what lies beyond.
        if let Some(step) = self.restored {
            let start = self.out.executions.len();
            self.retention.resumed(start, step.saturating_add(1), true, &mut self.out.laid);
        }
        if self.timeline.commits == Commits::Recorded {
            self.retention.settle_pending(&mut self.out.laid);
        }
        self.out
    }
}

/// Number of the last step that a record covers.
pub(super) fn last_number(step: &Step) -> u64 {
    step.index.saturating_add(u64::from(step.count.max(1)) - 1)
}

/// The median spacing of consecutive steps, from a sample of the log. Of a step that several processes
/// wrote the first record counts.
pub(super) fn typical_spacing_ns(steps: &[Step]) -> i64 {
    const SAMPLE: usize = 1023;
    const WRITERS: usize = 64;
    // Odd, so that writers in turn are not sampled in step.
    let stride = (steps.len() / SAMPLE) | 1;
    let mut spacings: Vec<i64> = (0..steps.len())
        .step_by(stride)
        .filter(|&i| i == 0 || steps[i - 1].index != steps[i].index)
        .filter_map(|i| {
            let step = &steps[i];
            let next = steps[i + 1..].iter().take(WRITERS).find(|next| next.index != step.index)?;
            (next.index > step.index && next.start > step.start).then(|| next.start - step.start)
        })
        .collect();
    if spacings.is_empty() {
        return 0;
    }
    let middle = spacings.len() / 2;
    *spacings.select_nth_unstable(middle).1
}
