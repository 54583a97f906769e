//! A scheduler in the manner of Slurm: an event pass in strict order of priority, and a backfill
//! cycle on the snapshot grid that keeps nodes free for the first waiting gangs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use goodput_core::Pattern;
use goodput_core::records::{JobState, StopCause};

use super::life::{End, Life, Mark, Progress, Stretch, What, cut};
use super::state::{NodeState, Shape, place};
use super::{Attempt, Job, Node, QueueSnapshot, Snapshot, WaitsFor, World, fleet};
use crate::random::{Purpose, Stream};
use crate::scenario::{Ending, OutageKind, Scenario};
use crate::truth::{Demand, PoolTime};

/// Something that changes the fleet. Within one second, in this order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happening {
    /// A standing reservation takes a node, or gives it back.
    Reserve { node: usize, reservation: Option<usize> },
    /// An attempt ends by itself or at its time limit.
    Ends { job: usize, attempt: usize, timeout: bool },
    /// A node comes back.
    OutageEnds { node: usize, kind: OutageKind },
    /// A node leaves; what ran on a dead one had stopped at `since`.
    OutageBegins { node: usize, kind: OutageKind, since: i64, reason: String },
    /// A job is submitted, or put back into the queue.
    Submits { job: usize },
    /// A waiting job becomes eligible.
    Eligible,
    /// A cycle of the backfill scheduler, and a snapshot.
    Cycle,
}

/// A release longer than this after the end of execution is late: it makes a teardown a zombie, and
/// a silence a hang.
const LONG_MS: i64 = 600_000;

/// So many times a line's own time without a line are a silence.
const OVERDUE_LINES: i64 = 10;

/// Nodes kept free for a waiting gang.
struct Plan {
    nodes: Vec<usize>,
    /// When its last node is due, by the time limits of the running jobs.
    starts: i64,
}

struct Simulation<'a> {
    scenario: &'a Scenario,
    nodes: Vec<Node>,
    state: Vec<NodeState>,
    jobs: Vec<Job>,
    waiting: Vec<usize>,
    running: Vec<usize>,
    agenda: BinaryHeap<Reverse<(i64, Happening)>>,
    snapshots: Vec<Snapshot>,
    pools: Vec<PoolTime>,
    end: i64,
}

pub(crate) fn run(scenario: &Scenario) -> World {
    let nodes = fleet::nodes(scenario);
    let jobs = fleet::jobs(scenario);
    let mut agenda: BinaryHeap<_> = fleet::happenings(scenario).into_iter().map(Reverse).collect();
    agenda.extend(
        jobs.iter().enumerate().map(|(i, j)| Reverse((j.attempts[0].submit, Happening::Submits { job: i }))),
    );
    agenda.push(Reverse((0, Happening::Cycle)));
    let simulation = Simulation {
        scenario,
        state: nodes.iter().map(NodeState::new).collect(),
        nodes,
        jobs,
        waiting: Vec::new(),
        running: Vec::new(),
        agenda,
        snapshots: Vec::new(),
        pools: vec![PoolTime::default(); scenario.pools.len()],
        end: scenario.duration.as_seconds(),
    };
    simulation.run()
}

impl Simulation<'_> {
    fn run(mut self) -> World {
        let mut now = 0;
        while let Some(Reverse((at, _))) = self.agenda.peek() {
            let at = *at;
            if at >= self.end {
                break;
            }
            self.observe(now, at);
            now = at;
            let mut cycle = false;
            while let Some(Reverse((_, happening))) = self.agenda.pop_if_at(now) {
                cycle |= happening == Happening::Cycle;
                self.happens(now, happening);
            }
            self.start_in_order(now);
            if cycle {
                self.cycle(now);
                self.snapshot(now);
                let every = self.scenario.snapshot_every.as_seconds().max(1);
                self.agenda.push(Reverse((now + every, Happening::Cycle)));
            }
        }
        self.observe(now, self.end);
        self.close();
        self.snapshot(self.end);
        World {
            scenario: self.scenario.clone(),
            nodes: self.nodes,
            jobs: self.jobs,
            snapshots: self.snapshots,
            pools: self.pools,
        }
    }

    fn happens(&mut self, now: i64, happening: Happening) {
        match happening {
            Happening::Reserve { node, reservation } => self.state[node].reserved = reservation,
            Happening::Ends { job, attempt, timeout } => {
                let current = self.jobs[job].attempts.len() - 1;
                if attempt == current && self.jobs[job].attempts[attempt].end.is_none() {
                    self.ends(now, job, timeout);
                }
            }
            Happening::OutageEnds { node, kind } => {
                self.state[node].outage(kind, false);
                self.state[node].log(&mut self.nodes[node], now, "");
            }
            Happening::OutageBegins { node, kind, since, reason } => {
                self.state[node].outage(kind, true);
                if kind == OutageKind::Down {
                    self.fail_jobs_on(now, node, since);
                }
                self.state[node].log(&mut self.nodes[node], now, &reason);
            }
            Happening::Submits { job } => {
                self.waiting.push(job);
                let eligible = self.current(job).eligible;
                if eligible > now {
                    self.agenda.push(Reverse((eligible, Happening::Eligible)));
                }
            }
            Happening::Eligible | Happening::Cycle => {}
        }
    }

    fn current(&self, job: usize) -> &Attempt {
        let attempts = &self.jobs[job].attempts;
        &attempts[attempts.len() - 1]
    }

    fn current_mut(&mut self, job: usize) -> &mut Attempt {
        let attempts = &mut self.jobs[job].attempts;
        let last = attempts.len() - 1;
        &mut attempts[last]
    }

    fn shape(&self, job: usize) -> Shape {
        let job = &self.jobs[job];
        let nodes = self.scenario.jobs[job.class].nodes;
        Shape { pool: job.pool, nodes, devices_per_node: job.devices_per_node }
    }

    fn limit(&self, job: usize) -> Option<i64> {
        self.scenario.jobs[self.jobs[job].class].time_limit.map(|l| l.as_seconds())
    }

    /// Waiting eligible jobs, the first to go first.
    fn queue(&self, now: i64) -> Vec<usize> {
        let mut queue: Vec<_> =
            self.waiting.iter().copied().filter(|&j| self.current(j).eligible <= now).collect();
        queue.sort_by_key(|&j| {
            let job = &self.jobs[j];
            (Reverse(self.scenario.jobs[job.class].priority), job.attempts[0].submit, job.id)
        });
        queue
    }

    /// Whether the account's quota keeps the job from starting.
    fn over_quota(&self, job: usize) -> bool {
        let account = &self.scenario.jobs[self.jobs[job].class].account;
        let Some(&quota) = self.scenario.policy.quotas.get(account) else { return false };
        let of_account = |j: &&usize| self.scenario.jobs[self.jobs[**j].class].account == *account;
        let held: u64 =
            self.running.iter().filter(of_account).map(|&j| self.jobs[j].devices(self.scenario)).sum();
        held + self.jobs[job].devices(self.scenario) > u64::from(quota)
    }

    /// Whether the job may use the node as far as standing reservations go.
    fn admits(&self, job: usize, node: &NodeState) -> bool {
        let wanted = self.scenario.jobs[self.jobs[job].class].reservation.as_deref();
        wanted == node.reserved.map(|r| self.scenario.reservations[r].name.as_str())
    }

    /// Where the job fits now, on nodes that are not kept for another one.
    fn fit(&self, job: usize, plans: &[Plan], now: i64) -> Option<Vec<usize>> {
        let ends = self.limit(job).map_or(i64::MAX, |limit| now + limit);
        place(&self.state, self.shape(job), |i, node| {
            let kept = node.planned.is_some_and(|gang| gang != job);
            let may_backfill = plans.iter().any(|p| p.nodes.contains(&i) && ends <= p.starts);
            self.admits(job, node) && (!kept || may_backfill)
        })
    }

    /// The event pass: in strict order, until the first job of a pool (or reservation) does not fit.
    fn start_in_order(&mut self, now: i64) {
        let mut blocked: Vec<(usize, Option<String>)> = Vec::new();
        for job in self.queue(now) {
            let class = &self.scenario.jobs[self.jobs[job].class];
            let lane = (self.jobs[job].pool, class.reservation.clone());
            if blocked.contains(&lane) || self.over_quota(job) {
                continue;
            }
            let nodes = self.fit(job, &[], now).or_else(|| self.make_room(now, job));
            match nodes {
                Some(nodes) => self.start(now, job, nodes),
                None => blocked.push(lane),
            }
        }
    }

    /// The backfill cycle: keeps nodes for the first gangs, and starts what does not delay them.
    fn cycle(&mut self, now: i64) {
        for node in &mut self.state {
            node.planned = None;
        }
        let mut plans: Vec<Vec<Plan>> = self.scenario.pools.iter().map(|_| Vec::new()).collect();
        let mut closed: Vec<usize> = Vec::new();
        for job in self.queue(now) {
            let pool = self.jobs[job].pool;
            if self.over_quota(job) || closed.contains(&pool) {
                continue;
            }
            if let Some(nodes) = self.fit(job, &plans[pool], now) {
                self.start(now, job, nodes);
                continue;
            }
            let shape = self.shape(job);
            if shape.nodes > 1 && plans[pool].len() < self.scenario.policy.planned_gangs as usize {
                plans[pool].extend(self.plan(job, shape, now));
            }
            if !self.scenario.policy.backfill {
                closed.push(pool);
            }
        }
    }

    /// Keeps the free ones of the nodes that will be free first.
    fn plan(&mut self, job: usize, shape: Shape, now: i64) -> Option<Plan> {
        let mut due: Vec<i64> = self.state.iter().map(|_| now).collect();
        for &other in &self.running {
            let attempt = self.current(other);
            let ends = self.limit(other).map_or(i64::MAX, |l| attempt.start.unwrap_or(now) + l);
            for &node in &attempt.nodes {
                due[node] = due[node].max(ends);
            }
        }
        let mut usable: Vec<usize> = (0..self.state.len())
            .filter(|&i| {
                let node = &self.state[i];
                node.pool == shape.pool
                    && node.out().is_none()
                    && node.planned.is_none()
                    && self.admits(job, node)
            })
            .collect();
        usable.sort_by_key(|&i| (due[i], i));
        let nodes = usable.get(..shape.nodes as usize)?.to_vec();
        let starts = nodes.iter().map(|&i| due[i]).max().unwrap_or(now);
        for &i in &nodes {
            if self.state[i].is_idle() {
                self.state[i].planned = Some(job);
            }
        }
        Some(Plan { nodes, starts })
    }

    /// Evicts jobs of lower qualities of service, the last started first, if that makes room.
    fn make_room(&mut self, now: i64, job: usize) -> Option<Vec<usize>> {
        let preempts = &self.scenario.jobs[self.jobs[job].class].preempts;
        let mut victims: Vec<usize> = self
            .running
            .iter()
            .copied()
            .filter(|&v| {
                self.jobs[v].pool == self.jobs[job].pool
                    && preempts.contains(&self.scenario.jobs[self.jobs[v].class].qos)
            })
            .collect();
        victims.sort_by_key(|&v| Reverse((self.current(v).start, v)));
        let mut imagined = self.state.clone();
        for (count, &victim) in victims.iter().enumerate() {
            for &node in &self.current(victim).nodes {
                imagined[node].free += self.jobs[victim].devices_per_node;
            }
            let usable =
                |_, node: &NodeState| node.planned.is_none_or(|gang| gang == job) && self.admits(job, node);
            if let Some(nodes) = place(&imagined, self.shape(job), usable) {
                for &victim in &victims[..=count] {
                    self.interrupt(now, victim, now, JobState::Preempted);
                }
                return Some(nodes);
            }
        }
        None
    }

    fn start(&mut self, now: i64, job: usize, nodes: Vec<usize>) {
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

    fn ends(&mut self, now: i64, job: usize, timeout: bool) {
        if timeout {
            self.interrupt(now, job, now, JobState::Timeout);
        } else {
            self.release(now, job);
        }
    }

    fn fail_jobs_on(&mut self, now: i64, node: usize, since: i64) {
        let lost: Vec<_> =
            self.running.iter().copied().filter(|&j| self.current(j).nodes.contains(&node)).collect();
        for job in lost {
            self.interrupt(now, job, since, JobState::NodeFail);
        }
    }

    /// Ends an attempt from outside: it worked until `alive`, and is released `now`.
    fn interrupt(&mut self, now: i64, job: usize, alive: i64, state: JobState) {
        let (charged, stop) = match state {
            JobState::Preempted => (Pattern::Preemption, Some(StopCause::Preempted)),
            JobState::Timeout => (Pattern::Teardown, Some(StopCause::Ended)),
            _ => (Pattern::Recovery, None),
        };
        let class = &self.scenario.jobs[self.jobs[job].class];
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
            Some(since) if state == JobState::Timeout => {
                (if at - since > LONG_MS { Pattern::Hang } else { Pattern::Teardown }, None)
            }
            _ => (charged, stop),
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

    fn release(&mut self, now: i64, job: usize) {
        self.running.retain(|&j| j != job);
        let per_node = self.jobs[job].devices_per_node;
        let current = self.current_mut(job);
        current.end = Some(now);
        current.suspended = suspended_seconds(&current.life);
        for node in current.nodes.clone() {
            self.state[node].free += per_node;
            self.state[node].log(&mut self.nodes[node], now, "drained");
        }
    }

    /// The end of the simulation: what still runs is cut off there. What is in progress has no
    /// line yet.
    fn close(&mut self) {
        let end = self.end;
        for job in self.running.clone() {
            let program = &self.scenario.jobs[self.jobs[job].class].program;
            let line = program.step.as_millis() * i64::from(program.steps_per_line);
            let current = self.current_mut(job);
            let start = current.start.unwrap_or(end);
            let charged = current.open_end(end * 1_000, line);
            cut(&mut current.life, start * 1_000, end * 1_000, end * 1_000, charged);
            current.state = JobState::Running;
            current.suspended = suspended_seconds(&current.life);
        }
    }

    /// Adds what the state was since `from` to the truth.
    fn observe(&mut self, from: i64, to: i64) {
        if from >= to {
            return;
        }
        let mut demands = vec![Vec::new(); self.scenario.pools.len()];
        for job in self.queue(from) {
            let shape = self.shape(job);
            demands[shape.pool].push(Demand {
                nodes: shape.nodes,
                devices_per_node: shape.devices_per_node,
                over_quota: self.over_quota(job),
            });
        }
        for (pool, demand) in demands.iter().enumerate() {
            let nodes = self.state.iter().filter(|n| n.pool == pool);
            self.pools[pool].observe(nodes, demand, to - from);
        }
    }

    fn snapshot(&mut self, now: i64) {
        let mut queue = Vec::new();
        let mut first_blocked = vec![true; self.scenario.pools.len()];
        for job in self.queue(now) {
            let pool = self.jobs[job].pool;
            let reason = if self.over_quota(job) {
                WaitsFor::Quota
            } else if std::mem::take(&mut first_blocked[pool]) {
                WaitsFor::Resources
            } else {
                WaitsFor::Priority
            };
            queue.push(QueueSnapshot { job, waits_for: Some(reason) });
        }
        let later = self.waiting.iter().filter(|&&j| self.current(j).eligible > now);
        queue.extend(later.map(|&job| QueueSnapshot { job, waits_for: Some(WaitsFor::BeginTime) }));
        queue.extend(self.running.iter().map(|&job| QueueSnapshot { job, waits_for: None }));
        let nodes = self.state.iter().map(NodeState::snapshot).collect();
        self.snapshots.push(Snapshot { at: now, nodes, queue });
    }
}

impl Attempt {
    /// Where the time after a finished execution is charged; `None` when it had not finished by `at`.
    fn after_finish(&self, at: i64) -> Option<Pattern> {
        let finished = What::Mark(Mark::Stop(StopCause::Finished));
        let stop = self.life.iter().find(|s| s.what == finished && s.to <= at)?;
        Some(if at - stop.to > LONG_MS { Pattern::Zombie } else { Pattern::Teardown })
    }

    /// Where the silence up to the end of the records is charged, for a line that takes `line` ms.
    fn open_end(&self, at: i64, line: i64) -> Pattern {
        let faulted = What::Mark(Mark::Stop(StopCause::Fault));
        let seen = self.life.iter().filter(|s| s.to <= at);
        let last = seen.clone().rev().find(|s| s.what == faulted || matches!(s.what, What::Steps(_)));
        let silent_since = seen.filter(|s| s.what.is_tile()).map(|s| s.to).max().unwrap_or(at);
        match self.after_finish(at) {
            Some(charged) => charged,
            None if last.is_some_and(|s| s.what == faulted) => Pattern::Recovery,
            // A line is under way, unless it is long overdue.
            None if at - silent_since <= OVERDUE_LINES * line => Pattern::Pending,
            None => Pattern::Hang,
        }
    }

    /// Since when it hangs, if it does at `at`.
    fn hangs_since(&self, at: i64) -> Option<i64> {
        let hang = |s: &&Stretch| s.what == What::Silence(Pattern::Hang) && s.from < at;
        self.life.iter().find(hang).map(|s| s.from)
    }
}

fn suspended_seconds(life: &[Stretch]) -> i64 {
    life.iter().filter(|s| s.what == What::Suspension).map(|s| (s.to - s.from) / 1_000).sum()
}

/// Takes the next happening if it is due.
trait Agenda {
    fn pop_if_at(&mut self, now: i64) -> Option<Reverse<(i64, Happening)>>;
}

impl Agenda for BinaryHeap<Reverse<(i64, Happening)>> {
    fn pop_if_at(&mut self, now: i64) -> Option<Reverse<(i64, Happening)>> {
        if self.peek().is_some_and(|Reverse((at, _))| *at == now) { self.pop() } else { None }
    }
}
