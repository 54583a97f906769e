//! Lays a job's held time out: gaps and steps in turn, each instant once.

use super::account::{RetainedWork, StepCounts, StepTimes, Use};
use super::clock::HeldClock;
use super::executions::{Executions, Sign};
use super::gap::{Between, Story, Stretch, tell};
use super::log_order::{ClockStep, Epochs};
use super::pace::{Pace, scale};
use super::painter::{Painter, Part, Scene, Tally};
use super::retention::Laid;
use super::samples::StepBlock;
use super::{HeldInterval, RuntimeOptions, Segment};
use crate::capacity::CapacityTime;
use crate::pattern::Pattern;
use crate::records::{Phase, SourceRef, Step, StepWork, Timeline};
use crate::time::{Interval, Timestamp, Window};

/// Everything that the layout reads.
pub(super) struct Layout<'a> {
    pub timeline: &'a Timeline,
    pub executions: &'a Executions,
    pub pace: &'a Pace,
    pub clock_steps: &'a [ClockStep],
    pub held: &'a [HeldInterval],
    pub clock: &'a HeldClock,
    pub window: Window,
    pub options: &'a RuntimeOptions,
    pub mid_run: bool,
}

/// A job's held time, laid out.
pub(super) struct LaidOut {
    pub tally: Tally,
    pub lanes: Vec<Vec<Segment>>,
    pub stories: Vec<Story>,
    pub steps: StepCounts,
    pub step_times: StepTimes,
    /// Retained steady records, in log order.
    pub steady: Vec<StepBlock>,
    pub work: RetainedWork,
}

impl Layout<'_> {
    /// Lays everything out.
    pub(super) fn lay_out(&self) -> LaidOut {
        let stories: Vec<Story> = (0..self.executions.gaps.len()).map(|gap| self.tell(gap)).collect();
        let mut painter =
            Painter::new(self.clock, &self.executions.declared, self.held.len(), self.timeline.source);
        let mut epochs = Epochs::new(self.clock_steps);
        let mut steps = StepCounts::default();
        let mut steady = Vec::with_capacity(self.executions.laid.len());
        let mut work = RetainedWork::default();
        // One log may give FLOPs of some steps and only tokens of others: then tokens are turned into FLOPs.
        let mixed = self.timeline.work.iter().any(|w| w.model_flops > 0);
        for (e, execution) in self.executions.executions.iter().enumerate() {
            let start = Use::Lost(stories[e].cause.restart());
            let epoch = epochs.of(self.executions.laid[execution.steps.start].position as usize);
            paint_gap(&mut painter, &stories[e], epoch);
            for i in execution.steps.clone() {
                let laid = &self.executions.laid[i];
                let step = &self.timeline.steps[laid.position as usize];
                let warm = i < self.pace.warm_from[e];
                let epoch = epochs.of(laid.position as usize);
                let fate = Fate {
                    step,
                    laid,
                    start,
                    lost: Use::Lost(stories[laid.discarded_by as usize].lost_work),
                    warm_up_limit_ns: self.pace.fault_free_ns[e].filter(|_| warm),
                };
                let source = self.source(step.line);
                // Between two steps that have ends of their own.
                let between = if warm { start } else { Use::Lost(Pattern::RuntimeUnsettled) };
                painter.paint(
                    step.start,
                    epoch,
                    Scene { start, wait: fate.wait() },
                    &mut [],
                    between,
                    source,
                );
                let before = painter.productive();
                let (mut parts, used) = fate.parts();
                let scene = Scene { start, wait: fate.wait() };
                let end = Timestamp::from_nanos(laid.end_ns);
                painter.paint(
                    end,
                    epoch,
                    scene,
                    &mut parts[..used],
                    Use::Lost(Pattern::RuntimeUnsettled),
                    source,
                );
                if let Some(step_work) = self.timeline.work.get(laid.position as usize) {
                    let step_work = &if mixed { self.in_flops(step_work) } else { *step_work };
                    let after = painter.productive();
                    let inside_ns = i64::try_from(after.time_ns - before.time_ns).unwrap_or(i64::MAX);
                    let covered = CapacityTime::from_device_ns(after.active - before.active);
                    add_work(&mut work, step_work, inside_ns, fate.productive_if_kept_ns(), covered);
                }
                if self.window.interval().contains(step.start) {
                    fate.count(&mut steps);
                    if !warm && laid.discarded == 0 && laid.pending == 0 {
                        let steps = u64::from(step.count.max(1));
                        steady.push(StepBlock { steps, productive_ns: laid.net_ns });
                    }
                }
            }
        }
        if let Some(last) = stories.last() {
            paint_gap(&mut painter, last, epochs.of(usize::MAX));
        }
        let (tally, lanes) = painter.finish();
        let mean_ns = |b: &StepBlock| b.productive_ns / i64::try_from(b.steps).unwrap_or(i64::MAX);
        let step_times = StepTimes::of(&mut steady.iter().map(mean_ns).collect::<Vec<_>>());
        LaidOut { tally, lanes, stories, steps, step_times, steady, work }
    }

    /// Work in FLOPs: of tokens without FLOPs per token nothing is known.
    fn in_flops(&self, work: &StepWork) -> StepWork {
        match self.timeline.ideal.model_flops_per_token {
            _ if work.model_flops > 0 => *work,
            Some(per_token) => {
                StepWork { model_flops: (work.tokens as f64 * per_token).round() as u128, ..*work }
            }
            None => StepWork::default(),
        }
    }

    fn source(&self, line: u32) -> SourceRef {
        SourceRef { line, ..self.timeline.source }
    }

    fn tell(&self, gap: usize) -> Story {
        let executions = &self.executions.executions;
        let before = gap.checked_sub(1).map(|e| &executions[e]);
        let after = executions.get(gap);
        let laid = &self.executions.laid;
        let step = |i: usize| &self.timeline.steps[laid[i].position as usize];
        let first_held = before.map_or(0, |e| e.held).min(self.held.len());
        let between = Between {
            from: before.map(|e| Timestamp::from_nanos(laid[e.steps.end - 1].end_ns)),
            to: after.map(|e| step(e.steps.start).start),
            last: self.source(before.map_or(0, |e| step(e.steps.end - 1).line)),
            alive_to: before
                .filter(|_| after.is_none())
                .and_then(|e| self.alive_to(step(e.steps.end - 1).start)),
            evidence: &self.executions.evidence[self.executions.gaps[gap].evidence.clone()],
            held: &self.held[first_held..],
            usual_ns: gap.checked_sub(1).map_or(0, |e| {
                let count = i64::from(step(executions[e].steps.end - 1).count.max(1));
                self.pace.fault_free_ns[e].unwrap_or(0).saturating_mul(count)
            }),
            mid_run: self.mid_run && gap == 0,
            window_to: self.window.to(),
        };
        match self.work_without_steps(&between) {
            Some(worked) => self.tell_around(&between, worked),
            None => tell(&between, self.options),
        }
    }

    /// The log's last gap may hold an execution that makes no step (one that only evaluates): from the first to the last
    /// of its declared work.
    fn work_without_steps(&self, gap: &Between<'_>) -> Option<Interval> {
        let launched = gap.evidence.iter().rev().find(|e| e.sign == Sign::Launched).map(|e| e.at);
        let since = match (gap.from, gap.to, launched) {
            (_, Some(_), _) | (Some(_), _, None) => return None,
            (_, None, launched) => launched.unwrap_or(Timestamp::from_nanos(i64::MIN)),
        };
        let is_work = |phase| matches!(phase, Phase::Evaluation | Phase::Declared | Phase::CheckpointPause);
        let phases = self.executions.declared.all().iter().rev().take_while(|p| p.interval.start >= since);
        phases
            .filter(|p| is_work(p.phase))
            .map(|p| p.interval)
            .reduce(|later, earlier| Interval::new(earlier.start, later.end))
    }

    /// End of the last phase that began after the last step did, other than a start's.
    fn alive_to(&self, last_step: Timestamp) -> Option<Timestamp> {
        let phases = self.executions.declared.all().iter().rev();
        phases
            .take_while(|p| p.interval.start >= last_step)
            .filter(|p| !matches!(p.phase, Phase::Launch | Phase::CheckpointLoad))
            .map(|p| p.interval.end)
            .max()
    }

    /// The start before the work, the work, and what comes after it.
    fn tell_around(&self, gap: &Between<'_>, worked: Interval) -> Story {
        let split = gap.evidence.partition_point(|e| e.at <= worked.start);
        let (before, after) = gap.evidence.split_at(split);
        let mut story = tell(&Between { to: Some(worked.start), evidence: before, ..*gap }, self.options);
        story.stretches.push(Stretch {
            until: worked.end,
            used_for: Use::Lost(Pattern::RuntimeUnsettled),
            source: gap.last,
        });
        // Without a step time, as long may pass quietly as a teardown may last.
        let usual_ns = scale(self.options.teardown_limit_ns, 1.0 / self.options.silence_multiple);
        let rest = Between { from: Some(worked.end), evidence: after, usual_ns, mid_run: false, ..*gap };
        let rest = tell(&rest, self.options);
        story.stretches.extend(rest.stretches);
        story.causes.extend(rest.causes);
        story
    }
}

fn paint_gap(painter: &mut Painter<'_>, story: &Story, epoch: u32) {
    for stretch in &story.stretches {
        let scene = Scene { start: stretch.used_for, wait: stretch.used_for };
        painter.paint(stretch.until, epoch, scene, &mut [], stretch.used_for, stretch.source);
    }
}

/// What becomes of one step record.
struct Fate<'a> {
    step: &'a Step,
    laid: &'a Laid,
    /// Where the execution's start is charged.
    start: Use,
    /// Where the record's discarded steps are charged.
    lost: Use,
    /// f, while the execution warms up.
    warm_up_limit_ns: Option<i64>,
}

impl Fate<'_> {
    fn covered(&self) -> u32 {
        self.step.count.max(1)
    }

    /// A discarded step is lost with its whole duration, and a pending one pending with its whole
    /// duration: only of a step that is kept are input wait and warm-up told apart.
    fn whole(&self) -> Option<Use> {
        if self.laid.discarded >= self.covered() {
            Some(self.lost)
        } else if self.laid.pending >= self.covered() {
            Some(Use::Lost(Pattern::Pending))
        } else {
            None
        }
    }

    /// Input wait is a category of its own in a steady step; during warm-up it belongs to what caused
    /// the start.
    fn wait(&self) -> Use {
        let steady = self.warm_up_limit_ns.is_none();
        self.whole().unwrap_or(if steady { Use::Lost(Pattern::InputWait) } else { self.start })
    }

    /// During warm-up a step counts at most f; the excess belongs to what caused the start.
    fn excess_ns(&self) -> i64 {
        let at_most = |f: i64| f.saturating_mul(i64::from(self.covered()));
        self.warm_up_limit_ns.map_or(0, |f| (self.laid.net_ns - at_most(f)).max(0))
    }

    fn productive_if_kept_ns(&self) -> i64 {
        self.laid.net_ns - self.excess_ns()
    }

    /// The uses of the time that no declared phase takes, in order, and how many there are.
    fn parts(&self) -> ([Part; 5], usize) {
        let mut parts = [(self.lost, 0); 5];
        let wait = self.step.input_wait_ns.max(0);
        if let Some(whole) = self.whole() {
            parts[0] = (whole, wait.saturating_add(self.laid.net_ns));
            return (parts, 1);
        }
        parts[0] = (self.wait(), wait);
        parts[1] = (self.start, self.excess_ns());
        let mut used = 2;
        if self.laid.discarded == 0 && self.laid.pending == 0 {
            parts[used] = (Use::Productive, self.productive_if_kept_ns());
            return (parts, used + 1);
        }
        let (count, net) = (i128::from(self.covered()), i128::from(self.productive_if_kept_ns()));
        let discarded = i128::from(self.laid.discarded);
        let pending = i128::from(self.laid.pending);
        // A record of several steps is divided in proportion, its earlier steps first.
        let mut from = 0;
        let shares = [
            (Use::Productive, count - discarded - pending),
            (Use::Lost(Pattern::Pending), count - discarded),
            (self.lost, count),
        ];
        for (used_for, to) in shares {
            if to > from {
                let ns = net * to / count - net * from / count;
                parts[used] = (used_for, i64::try_from(ns).unwrap_or(i64::MAX));
                used += 1;
                from = to;
            }
        }
        (parts, used)
    }

    fn count(&self, steps: &mut StepCounts) {
        let (covered, discarded) = (u64::from(self.covered()), u64::from(self.laid.discarded));
        let pending = u64::from(self.laid.pending);
        steps.executed += covered;
        steps.discarded += discarded;
        steps.pending += pending;
        steps.retained += covered.saturating_sub(discarded + pending);
    }
}

/// Adds the work of a step's retained time inside the window: the record's work in the proportion of
/// that time to the time the record would have if it were kept whole, rounded down.
fn add_work(work: &mut RetainedWork, step: &StepWork, inside_ns: i64, whole_ns: i64, covered: CapacityTime) {
    if (step.tokens == 0 && step.model_flops == 0) || inside_ns <= 0 || whole_ns <= 0 {
        return;
    }
    let inside = u128::from(inside_ns.min(whole_ns).unsigned_abs());
    let whole = u128::from(whole_ns.unsigned_abs());
    let share = |amount: u128| amount / whole * inside + amount % whole * inside / whole;
    work.tokens += share(u128::from(step.tokens));
    work.model_flops += share(step.model_flops);
    work.covered += covered;
}
