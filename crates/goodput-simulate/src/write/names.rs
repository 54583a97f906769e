//! Notations that Slurm's tools share.

use goodput_core::records::JobState;

use crate::world::{Job, World};

/// CPUs beside each accelerator.
pub(super) const CPUS_PER_DEVICE: u64 = 8;

/// `train-[001-004,007]` for nodes given by position; Slurm's word for none of them.
pub(super) fn node_list(world: &World, nodes: &[usize]) -> String {
    let mut pools: Vec<(usize, Vec<(usize, usize)>)> = Vec::new();
    for &node in nodes {
        let pool = world.nodes[node].pool;
        match pools.last_mut().filter(|(p, _)| *p == pool) {
            Some((_, runs)) => match runs.last_mut().filter(|(_, last)| last + 1 == node) {
                Some((_, last)) => *last = node,
                None => runs.push((node, node)),
            },
            None => pools.push((pool, vec![(node, node)])),
        }
    }
    if pools.is_empty() {
        return "None assigned".to_owned();
    }
    let number = |node: usize| world.nodes[node].name.rsplit_once('-').map_or("", |(_, n)| n);
    let lists = pools.iter().map(|(pool, runs)| {
        let name = &world.scenario.pools[*pool].name;
        let runs: Vec<_> = runs
            .iter()
            .map(|&(first, last)| match first == last {
                true => number(first).to_owned(),
                false => format!("{}-{}", number(first), number(last)),
            })
            .collect();
        match runs.as_slice() {
            [one] if !one.contains('-') => format!("{name}-{one}"),
            _ => format!("{name}-[{}]", runs.join(",")),
        }
    });
    lists.collect::<Vec<_>>().join(",")
}

/// The typed name of a pool's accelerators.
pub(super) fn gres_type(world: &World, pool: usize) -> String {
    world.scenario.pools[pool].device.to_ascii_lowercase().replace([' ', ':', ',', '='], "_")
}

/// Trackable resources of `devices` accelerators on `nodes` nodes.
pub(super) fn tres(world: &World, pool: usize, devices: u64, nodes: u64) -> String {
    let cpus = devices * CPUS_PER_DEVICE;
    let gres = gres_type(world, pool);
    format!("billing={cpus},cpu={cpus},gres/gpu:{gres}={devices},gres/gpu={devices},node={nodes}")
}

/// `2026-03-02T00:00:00` for seconds after the start.
pub(super) fn instant(world: &World, at: i64) -> String {
    match jiff::Timestamp::from_second(world.epoch(at)) {
        Ok(at) => at.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        Err(_) => "Unknown".to_owned(),
    }
}

/// `1-02:03:04`.
pub(super) fn elapsed(seconds: i64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let clock = format!("{:02}:{:02}:{:02}", rest / 3_600, rest / 60 % 60, rest % 60);
    if days > 0 { format!("{days}-{clock}") } else { clock }
}

/// Slurm's exit code for a state.
pub(super) fn exit_code(state: JobState) -> (u32, u32) {
    match state {
        JobState::Failed | JobState::NodeFail => (1, 0),
        JobState::Cancelled | JobState::Preempted => (0, 15),
        _ => (0, 0),
    }
}

/// Attempts that the accounting database has a row for, job by job: those whose begin time has come.
pub(super) fn rows(world: &World) -> impl Iterator<Item = (&Job, &crate::world::Attempt)> {
    let end = world.end();
    world
        .jobs
        .iter()
        .flat_map(|job| job.attempts.iter().map(move |attempt| (job, attempt)))
        .filter(move |(_, attempt)| attempt.eligible < end)
}
