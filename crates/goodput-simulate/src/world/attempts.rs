//! How attempts begin and end.

use std::cmp::Reverse;

use goodput_core::Pattern;
use goodput_core::records::{JobState, StopCause};

use super::Attempt;
use super::life::{End, Life, Mark, Progress, Stretch, What, cut};
use super::simulation::{Happening, Simulation};
use crate::random::{Purpose, Stream};
use crate::scenario::Ending;

/// A release longer than this after the end of execution is late: it makes a teardown a zombie, and
/// a silence a hang.
const LONG_MS: i64 = 600_000;

/// So many times a line's own time without new steps are a hang.
const OVERDUE_LINES: i64 = 10;

impl Simulation<'_> {
    pub(super) fn start(&mut self, now: i64, job: usize, nodes: Vec<usize>) {
        self.waiting.retain(|&j| j != job);
        self.running.push(job);
        let per_node = self.jobs[job].devices_per_node;
        for &node in &nodes {
            self.state[node].free -= per_node;
        }
        let attempt = self.jobs[job].attempts.len() - 1;
        let limit = self.limit(job).map_or(i64::MAX, |l| now + l);
        let until = limit.min(self.end);
        let rng = Stream::new(self.scenario.seed, Purpose::Attempt, self.jobs[job].id, attempt as u64);
        let class = &self.scenario.jobs[self.jobs[job].class];
        let progress = self.progress(job);
        let (mut life, end, ends_ms) =
            Life::live(&class.program, class.nodes, progress, now * 1_000, until.saturating_mul(1_000), rng);
        let timeout = end == End::Running || ends_ms > until * 1_000;
        let ends = if timeout { until } else { (ends_ms + 999).div_euclid(1_000) };
        if !timeout {
            // The release is on the next whole second.
            let charged = match (end, &class.program.ending) {
                (End::Cancelled, Ending::Hang { .. }) => Pattern::Hang,
                (End::Cancelled, _) => Pattern::Zombie,
                _ => Pattern::Teardown,
            };
            let rest = Stretch { from: ends_ms, to: ends * 1_000, what: What::Silence(charged) };
            life.extend((rest.from < rest.to).then_some(rest));
        }
        let current = self.current_mut(job);
        current.start = Some(now);
        current.nodes = nodes;
        current.life = life;
        current.state = match end {
            _ if timeout => JobState::Running,
            End::Running => JobState::Running,
            End::Completed => JobState::Completed,
            End::Failed => JobState::Failed,
            End::Cancelled => JobState::Cancelled,
        };
        if ends < self.end || limit <= self.end {
            self.agenda.push(Reverse((ends, Happening::Ends { job, attempt, timeout })));
        }
    }

    /// What the next attempt of a job goes on from.
    fn progress(&self, job: usize) -> Progress {
        let attempts = &self.jobs[job].attempts;
        let past = || attempts.iter().flat_map(|a| &a.life);
        let cause = match attempts.iter().rev().nth(1).map(|a| a.state) {
            None => Pattern::Startup,
            Some(JobState::Preempted) => Pattern::Preemption,
            Some(_) => Pattern::Recovery,
        };
        Progress {
            steps: self.jobs[job].steps,
            fails_after: self.jobs[job].fails_after,
            committed: past().rev().find_map(|s| match s.what {
                What::Mark(Mark::Commit(step)) => Some(step),
                _ => None,
            }),
            cause,
            first_step_at: past().find(|s| matches!(s.what, What::Steps(_))).map(|s| s.from),
            suspended: past().any(|s| s.what == What::Suspension),
        }
    }

    pub(super) fn fail_jobs_on(&mut self, now: i64, node: usize, since: i64) {
        let lost: Vec<_> =
            self.running.iter().copied().filter(|&j| self.current(j).nodes.contains(&node)).collect();
        for job in lost {
            self.interrupt(now, job, since, JobState::NodeFail);
        }
    }

    /// Ends an attempt from outside: it worked until `alive`, and is released `now`.
    pub(super) fn interrupt(&mut self, now: i64, job: usize, alive: i64, state: JobState) {
        let (charged, stop) = match state {
            JobState::Preempted => (Pattern::Preemption, Some(StopCause::Preempted)),
            JobState::Timeout => (Pattern::Teardown, Some(StopCause::Ended)),
            _ => (Pattern::Recovery, None),
        };
        let class = &self.scenario.jobs[self.jobs[job].class];
        // What the scheduler takes away may have been in the middle of a line, however long that is.
        let usual = if state == JobState::Timeout { 0 } else { OVERDUE_LINES * class.program.line_millis() };
        let current = self.current_mut(job);
        let start = current.start.unwrap_or(now);
        let at = now * 1_000;
        if let Some(charged) = current.after_finish(at) {
            cut(&mut current.life, start * 1_000, at, at, charged);
            current.state = state;
            return self.release(now, job);
        }
        let (charged, stop) = match current.hangs_since(at) {
            // What hangs does not say that it stops.
            Some(since) => (if at - since > LONG_MS.max(usual) { Pattern::Hang } else { charged }, None),
            None => (charged, stop),
        };
        cut(&mut current.life, start * 1_000, alive * 1_000, at, charged);
        let stop = stop.map(|cause| Stretch { from: at, to: at, what: What::Mark(Mark::Stop(cause)) });
        current.life.extend(stop);
        current.state = state;
        self.release(now, job);
        if class.requeue && matches!(state, JobState::Preempted | JobState::NodeFail) {
            let eligible = now + self.scenario.policy.requeue_delay.as_seconds();
            self.jobs[job].attempts.push(Attempt::waiting(now, eligible));
            self.happens(now, Happening::Submits { job });
        }
    }

    pub(super) fn release(&mut self, now: i64, job: usize) {
        self.running.retain(|&j| j != job);
        let per_node = self.jobs[job].devices_per_node;
        let current = self.current_mut(job);
        current.end = Some(now);
        current.suspended = suspended_seconds(&current.life);
        for node in current.nodes.clone() {
            self.state[node].free += per_node;
            self.state[node].log(&mut self.nodes[node], now);
        }
    }

    /// The end of the simulation: what still runs is cut off there. What is in progress has no
    /// line yet.
    pub(super) fn close(&mut self) {
        let end = self.end;
        for job in self.running.clone() {
            let program = &self.scenario.jobs[self.jobs[job].class].program;
            let line = program.line_millis();
            let current = self.current_mut(job);
            let start = current.start.unwrap_or(end);
            let charged = current.open_end(end * 1_000, line);
            cut(&mut current.life, start * 1_000, end * 1_000, end * 1_000, charged);
            current.state = JobState::Running;
            current.suspended = suspended_seconds(&current.life);
        }
    }
}

impl Attempt {
    /// Where the time after a finished execution is charged; `None` when it had not finished by `at`.
    fn after_finish(&self, at: i64) -> Option<Pattern> {
        let finished = What::Mark(Mark::Stop(StopCause::Finished));
        let stop = self.life.iter().find(|s| s.what == finished && s.to <= at)?;
        Some(if at - stop.to > LONG_MS { Pattern::Zombie } else { Pattern::Teardown })
    }

    /// Where the time from the last line up to the end of the records is charged; a line takes `line` ms.
    fn open_end(&self, at: i64, line: i64) -> Pattern {
        let faulted = What::Mark(Mark::Stop(StopCause::Fault));
        let mut seen = self.life.iter().rev().filter(|s| s.to <= at);
        let last = seen.find(|s| s.what == faulted || s.what.is_work());
        match (self.after_finish(at), last) {
            (Some(charged), _) => charged,
            (None, Some(last)) if last.what == faulted => Pattern::Recovery,
            // A step is under way, unless it is long overdue.
            (None, Some(last)) if at - last.to > OVERDUE_LINES * line => Pattern::Hang,
            (None, _) => Pattern::Pending,
        }
    }

    /// The end of its last step or other work, if it hangs at `at`.
    fn hangs_since(&self, at: i64) -> Option<i64> {
        let hang = |s: &Stretch| s.what == What::Silence(Pattern::Hang) && s.from < at;
        let last = self.life.iter().rev().find(|s| s.to <= at && s.what.is_work())?;
        self.life.iter().any(hang).then_some(last.to)
    }
}

fn suspended_seconds(life: &[Stretch]) -> i64 {
    life.iter().filter(|s| s.what == What::Suspension).map(|s| (s.to - s.from) / 1_000).sum()
}
