//! What each job's held time was used for, told from its life and not from its log.

use std::collections::BTreeMap;

use goodput_core::Pattern;
use goodput_core::records::StopCause;

use crate::scenario::{Program, Scenario};
use crate::world::{Job, Mark, Steps, What};

/// Nanoseconds in a millisecond.
const NS: i128 = 1_000_000;

/// One job's true account, in device-nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobTime {
    /// Held by its allocations.
    pub held: i128,
    /// Productive time of retained steps.
    pub retained: i128,
    /// The time those steps take at the devices' peak; `None` when the scenario gives no FLOPs or peak.
    pub ideal: Option<i128>,
    /// Everything else that was held, by cause; sums to `held - retained`.
    pub lost: BTreeMap<Pattern, i128>,
    /// Steps executed, retained, discarded and pending.
    pub steps: StepCounts,
}

/// Steps by fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepCounts {
    /// Executed, each execution counted.
    pub executed: u64,
    /// Retained.
    pub retained: u64,
    /// Discarded by a rollback.
    pub discarded: u64,
    /// Not committed when the records end.
    pub pending: u64,
}

/// What became of a line's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Retained,
    Discarded(Pattern),
    Pending,
}

/// A line's steps, how long they took in milliseconds, and what became of them.
struct Executed<'a> {
    steps: &'a Steps,
    lasted: i64,
    fate: Fate,
}

impl JobTime {
    /// The true account of `job`.
    pub(crate) fn of(scenario: &Scenario, job: &Job, end: i64) -> Self {
        let program = &scenario.jobs[job.class].program;
        let devices = i128::from(job.devices(scenario));
        let mut time = Self::default();
        let mut executed: Vec<Executed> = Vec::new();
        let mut committed = None;
        let mut finished = false;
        let mut resumes = None;
        for attempt in &job.attempts {
            if let Some((from, to)) = attempt.held(end) {
                time.held += i128::from(to - from) * 1_000 * NS * devices;
            }
            for stretch in &attempt.life {
                let lasted = stretch.to - stretch.from;
                match &stretch.what {
                    What::Steps(steps) => {
                        roll_back(&mut executed, &mut resumes);
                        executed.push(Executed { steps, lasted, fate: Fate::Pending });
                    }
                    What::Phase { charged, .. } | What::Silence(charged) => {
                        time.lose(*charged, lasted, devices);
                    }
                    What::Suspension => time.lose(Pattern::Suspension, lasted, devices),
                    What::Mark(Mark::Resume { step, cause }) => {
                        let first_cause = resumes.map_or(*cause, |(_, first)| first);
                        resumes = Some((*step, first_cause));
                    }
                    What::Mark(Mark::Restore(_)) => roll_back(&mut executed, &mut resumes),
                    What::Mark(Mark::Commit(step)) => committed = Some(*step),
                    What::Mark(Mark::Stop(StopCause::Finished)) => finished = true,
                    What::Mark(_) => {}
                }
            }
        }
        // A log without commits cannot tell which steps a checkpoint holds: what was not rolled back
        // counts as retained.
        finished |= program.checkpoint.is_none();
        for line in &mut executed {
            let last = line.steps.first + u64::from(line.steps.count) - 1;
            if line.fate == Fate::Pending && (finished || committed.is_some_and(|c| last <= c)) {
                line.fate = Fate::Retained;
            }
            time.charge(program, line, devices);
        }
        time.ideal = ideal(scenario, job, time.steps.retained);
        time
    }

    fn lose(&mut self, pattern: Pattern, millis: i64, devices: i128) {
        if millis != 0 {
            *self.lost.entry(pattern).or_default() += i128::from(millis) * NS * devices;
        }
    }

    fn charge(&mut self, program: &Program, line: &Executed, devices: i128) {
        let steps = line.steps;
        let count = u64::from(steps.count);
        self.steps.executed += count;
        let lasted = line.lasted - steps.suspended;
        match line.fate {
            Fate::Discarded(cause) => {
                self.steps.discarded += count;
                self.lose(cause, lasted, devices);
            }
            Fate::Pending => {
                self.steps.pending += count;
                self.lose(Pattern::Pending, lasted, devices);
            }
            Fate::Retained => {
                self.steps.retained += count;
                let ready = lasted - steps.input_wait;
                let fault_free = program.step.as_millis() * i64::from(steps.count);
                let counts = if steps.warm_up.is_some() { ready.min(fault_free) } else { ready };
                self.retained += i128::from(counts) * NS * devices;
                self.lose(steps.warm_up.unwrap_or(Pattern::InputWait), steps.input_wait, devices);
                if let Some(cause) = steps.warm_up {
                    self.lose(cause, ready - counts, devices);
                }
            }
        }
    }
}

/// Going on with a step (or reading the state before it) discards what ran from there on, once.
fn roll_back(executed: &mut [Executed], resumes: &mut Option<(u64, Pattern)>) {
    let Some((from, cause)) = resumes.take() else { return };
    // What an eviction discards is part of its price; what a fault discards is rework.
    let charged = if cause == Pattern::Preemption { Pattern::Preemption } else { Pattern::Rework };
    for line in executed.iter_mut().filter(|l| l.fate == Fate::Pending && l.steps.first >= from) {
        line.fate = Fate::Discarded(charged);
    }
}

/// FLOPs of the retained steps over the peak of one device: device-time, rounded to the nanosecond.
fn ideal(scenario: &Scenario, job: &Job, retained_steps: u64) -> Option<i128> {
    let flops = scenario.jobs[job.class].program.model_flops_per_step? as u128;
    let peak = (scenario.pools[job.pool].peak_tflops? * 1e12).round() as u128;
    let device_ns = flops.checked_mul(u128::from(retained_steps))?.checked_mul(2_000_000_000)?;
    i128::try_from((device_ns + peak) / (2 * peak)).ok()
}
