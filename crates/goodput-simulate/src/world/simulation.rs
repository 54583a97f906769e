//! The fleet from event to event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use goodput_core::records::JobState;

use super::state::{NodeState, Shape};
use super::{Attempt, Job, Node, QueueSnapshot, Snapshot, WaitsFor, World, fleet};
use crate::scenario::{OutageKind, Scenario};
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

/// A fleet on its way through time.
pub(super) struct Simulation<'a> {
    pub scenario: &'a Scenario,
    pub nodes: Vec<Node>,
    pub state: Vec<NodeState>,
    pub jobs: Vec<Job>,
    pub waiting: Vec<usize>,
    pub running: Vec<usize>,
    pub agenda: BinaryHeap<Reverse<(i64, Happening)>>,
    pub snapshots: Vec<Snapshot>,
    pub pools: Vec<PoolTime>,
    pub end: i64,
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
            while let Some(happening) = self.due(now) {
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

    /// Takes the next happening if it is due.
    fn due(&mut self, now: i64) -> Option<Happening> {
        let next = self.agenda.peek_mut().filter(|next| next.0.0 == now)?;
        Some(PeekMut::pop(next).0.1)
    }

    pub(super) fn happens(&mut self, now: i64, happening: Happening) {
        match happening {
            Happening::Reserve { node, reservation } => self.state[node].reserved = reservation,
            Happening::Ends { job, attempt, timeout } => {
                let current = self.jobs[job].attempts.len() - 1;
                if attempt == current && self.jobs[job].attempts[attempt].end.is_none() {
                    if timeout {
                        self.interrupt(now, job, now, JobState::Timeout);
                    } else {
                        self.release(now, job);
                    }
                }
            }
            Happening::OutageEnds { node, kind } => {
                self.state[node].outage(kind, false);
                self.state[node].log(&mut self.nodes[node], now);
            }
            Happening::OutageBegins { node, kind, since, reason } => {
                self.state[node].outage(kind, true);
                self.state[node].reason = reason;
                if kind == OutageKind::Down {
                    self.fail_jobs_on(now, node, since);
                }
                self.state[node].log(&mut self.nodes[node], now);
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

    pub(super) fn current(&self, job: usize) -> &Attempt {
        let attempts = &self.jobs[job].attempts;
        &attempts[attempts.len() - 1]
    }

    pub(super) fn current_mut(&mut self, job: usize) -> &mut Attempt {
        let attempts = &mut self.jobs[job].attempts;
        let last = attempts.len() - 1;
        &mut attempts[last]
    }

    pub(super) fn shape(&self, job: usize) -> Shape {
        let job = &self.jobs[job];
        let nodes = self.scenario.jobs[job.class].nodes;
        Shape { pool: job.pool, nodes, devices_per_node: job.devices_per_node }
    }

    pub(super) fn limit(&self, job: usize) -> Option<i64> {
        self.scenario.jobs[self.jobs[job].class].time_limit.map(|l| l.as_seconds())
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
