//! Nodes, submissions and outages, laid out before the first second.

use goodput_core::records::JobState;

use super::simulation::Happening;
use super::{Attempt, Job, Node};
use crate::random::{Purpose, Stream};
use crate::scenario::{Ending, OutageKind, Scenario};

/// Seconds in a day; the first day begins with the scenario.
const DAY: i64 = 86_400;

/// The nodes, pool by pool.
pub(crate) fn nodes(scenario: &Scenario) -> Vec<Node> {
    let mut nodes = Vec::new();
    for (pool, spec) in scenario.pools.iter().enumerate() {
        let width = spec.nodes.to_string().len().max(3);
        nodes.extend((1..=spec.nodes).map(|i| Node {
            name: format!("{}-{i:0width$}", spec.name),
            pool,
            devices: spec.devices_per_node,
            events: Vec::new(),
        }));
    }
    nodes
}

/// Position in [`nodes`] of the `number`th node (from 1) of a pool.
fn node_at(scenario: &Scenario, pool: usize, number: u32) -> usize {
    let before: u32 = scenario.pools.iter().take(pool).map(|p| p.nodes).sum();
    (before + number.saturating_sub(1)) as usize
}

/// The jobs in the order of their submission, ids from 1.
pub(crate) fn jobs(scenario: &Scenario) -> Vec<Job> {
    let end = scenario.duration.as_seconds();
    let mut submissions = Vec::new();
    for (class, spec) in scenario.jobs.iter().enumerate() {
        submissions.extend(spec.submit_at.iter().map(|at| (at.as_seconds(), class)));
        if spec.per_day > 0.0 {
            let mut rng = Stream::new(scenario.seed, Purpose::Arrivals, class as u64, 0);
            let (from, until) =
                spec.hours.map_or((0, DAY), |(from, until)| (from.as_seconds(), until.as_seconds()));
            for midnight in (0..end).step_by(DAY as usize) {
                let mut at = from as f64;
                loop {
                    at += rng.exponential((until - from) as f64 / spec.per_day);
                    if at >= until as f64 {
                        break;
                    }
                    submissions.push((midnight + at as i64, class));
                }
            }
        }
    }
    submissions.retain(|(at, _)| (0..end).contains(at));
    submissions.sort_unstable();
    let job = |(i, (submit, class)): (usize, (i64, usize))| {
        let spec = &scenario.jobs[class];
        let pool = scenario.pool_of(spec)?;
        let attempt = Attempt::waiting(submit, submit + spec.begin_after.as_seconds());
        let id = i as u64 + 1;
        let mut rng = Stream::new(scenario.seed, Purpose::Job, id, 0);
        let program = &spec.program;
        let spread = rng.between(1.0 - program.steps_spread, 1.0 + program.steps_spread);
        let steps = ((program.steps as f64 * spread) as u64).max(1);
        let fails_after = match program.ending {
            Ending::Failing { share } if rng.happens(share) => Some((steps as f64 * rng.uniform()) as u64),
            _ => None,
        };
        Some(Job {
            id,
            steps,
            fails_after,
            class,
            pool,
            devices_per_node: spec.devices_per_node.unwrap_or(scenario.pools[pool].devices_per_node),
            attempts: vec![attempt],
        })
    };
    submissions.into_iter().enumerate().filter_map(job).collect()
}

impl Attempt {
    pub(crate) fn waiting(submit: i64, eligible: i64) -> Self {
        Self {
            submit,
            eligible,
            start: None,
            end: None,
            state: JobState::Pending,
            nodes: Vec::new(),
            suspended: 0,
            life: Vec::new(),
        }
    }
}

/// Outages and reservations, as beginnings and endings.
pub(crate) fn happenings(scenario: &Scenario) -> Vec<(i64, Happening)> {
    let mut happenings = Vec::new();
    let timeout = scenario.policy.node_timeout.as_seconds();
    let mut outage = |node: usize, kind: OutageKind, at: i64, lasts: i64, reason: &str| {
        // A dead node is seen only when it has missed its time.
        let seen = if kind == OutageKind::Down { at + timeout } else { at };
        let begins = Happening::OutageBegins { node, kind, since: at, reason: reason.to_owned() };
        happenings.push((seen, begins));
        happenings.push((seen + lasts, Happening::OutageEnds { node, kind }));
    };
    let pool_at = |name: &str| scenario.pools.iter().position(|p| p.name == name);
    for spec in &scenario.outages {
        let Some(pool) = pool_at(&spec.pool) else { continue };
        for &number in &spec.nodes {
            let node = node_at(scenario, pool, number);
            outage(node, spec.kind, spec.at.as_seconds(), spec.lasts.as_seconds(), &spec.reason);
        }
    }
    for (pool, spec) in scenario.pools.iter().enumerate().filter(|(_, p)| p.failures_per_node_day > 0.0) {
        for number in 1..=spec.nodes {
            let node = node_at(scenario, pool, number);
            let mut rng = Stream::new(scenario.seed, Purpose::NodeFailures, node as u64, 0);
            let mut at = 0.0;
            loop {
                at += rng.exponential(86_400.0 / spec.failures_per_node_day);
                if at >= scenario.duration.as_seconds() as f64 {
                    break;
                }
                outage(node, OutageKind::Down, at as i64, spec.repair.as_seconds(), "Not responding");
                at += (timeout + spec.repair.as_seconds()) as f64;
            }
        }
    }
    for (reservation, spec) in scenario.reservations.iter().enumerate() {
        let Some(pool) = pool_at(&spec.pool) else { continue };
        for &number in &spec.nodes {
            let node = node_at(scenario, pool, number);
            let (from, to) = (spec.at.as_seconds(), spec.at.as_seconds() + spec.lasts.as_seconds());
            happenings.push((from, Happening::Reserve { node, reservation: Some(reservation) }));
            happenings.push((to, Happening::Reserve { node, reservation: None }));
        }
    }
    happenings
}
