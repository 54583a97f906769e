//! `sacct -a -X -D --parsable2 --delimiter=$'\x1f'` with `SLURM_TIME_FORMAT=%s`.

use std::io::Write;

use goodput_core::records::JobState;

use super::names::{elapsed, exit_code, node_list, rows, tres};
use crate::world::World;

const COLUMNS: [&str; 24] = [
    "JobIDRaw",
    "JobID",
    "User",
    "Account",
    "Cluster",
    "Partition",
    "QOS",
    "Reservation",
    "State",
    "ExitCode",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "Suspended",
    "ElapsedRaw",
    "Timelimit",
    "NNodes",
    "ReqTRES",
    "AllocTRES",
    "NodeList",
    "Flags",
    "Reason",
    "JobName",
];

pub(super) fn write(world: &World) -> Vec<u8> {
    let mut text = COLUMNS.join("\x1f").into_bytes();
    text.push(b'\n');
    for (job, attempt) in rows(world) {
        let class = &world.scenario.jobs[job.class];
        let devices = job.devices(&world.scenario);
        let state = match attempt.state {
            JobState::Cancelled => "CANCELLED by 0",
            state => state.word(),
        };
        let (code, signal) = exit_code(attempt.state);
        let at = |at: Option<i64>| at.map_or("Unknown".to_owned(), |at| world.epoch(at).to_string());
        let elapsed_raw = attempt.held(world.end()).map_or(0, |(from, to)| to - from) - attempt.suspended;
        let allocated = match attempt.start {
            Some(_) => tres(world, job.pool, devices, u64::from(class.nodes)),
            None => String::new(),
        };
        let fields = [
            job.id.to_string(),
            job.id.to_string(),
            class.user.clone(),
            class.account.clone(),
            world.scenario.cluster.clone(),
            world.scenario.pools[job.pool].name.clone(),
            class.qos.clone(),
            class.reservation.clone().unwrap_or_default(),
            state.to_owned(),
            format!("{code}:{signal}"),
            at(Some(attempt.submit)),
            at(Some(attempt.eligible)),
            at(attempt.start),
            at(attempt.end),
            elapsed(attempt.suspended),
            elapsed_raw.to_string(),
            class.time_limit.map_or("UNLIMITED".to_owned(), |limit| elapsed(limit.as_seconds())),
            class.nodes.to_string(),
            format!("gres/gpu={devices},node={}", class.nodes),
            allocated,
            node_list(world, &attempt.nodes),
            "SchedMain".to_owned(),
            if attempt.start.is_some() { "None" } else { "Resources" }.to_owned(),
            class.name.clone(),
        ];
        // Writing to memory cannot fail.
        let _ = writeln!(text, "{}", fields.join("\x1f"));
    }
    text
}
