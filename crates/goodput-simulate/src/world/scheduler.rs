//! A scheduler in the manner of Slurm: an event pass in strict order of priority, and a backfill
//! cycle on the snapshot grid that keeps nodes free for the first waiting gangs.

use std::cmp::Reverse;

use goodput_core::records::JobState;

use super::simulation::Simulation;
use super::state::{NodeState, Shape, place};

/// Nodes kept free for a waiting gang.
struct Plan {
    nodes: Vec<usize>,
    /// When its last node is due, by the time limits of the running jobs.
    starts: i64,
}

impl Simulation<'_> {
    /// Waiting eligible jobs, the first to go first.
    pub(super) fn queue(&self, now: i64) -> Vec<usize> {
        let mut queue: Vec<_> =
            self.waiting.iter().copied().filter(|&j| self.current(j).eligible <= now).collect();
        queue.sort_by_key(|&j| {
            let job = &self.jobs[j];
            (Reverse(self.scenario.jobs[job.class].priority), job.attempts[0].submit, job.id)
        });
        queue
    }

    /// Whether the account's quota keeps the job from starting.
    pub(super) fn over_quota(&self, job: usize) -> bool {
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
    pub(super) fn start_in_order(&mut self, now: i64) {
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
    pub(super) fn cycle(&mut self, now: i64) {
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
                for &node in &nodes {
                    self.state[node].planned = None;
                }
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
}
