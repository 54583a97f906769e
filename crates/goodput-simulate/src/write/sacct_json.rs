//! `sacct -a -X -D --json` as Slurm 24.11 writes it (data_parser v0.0.42): what a reader needs.

use goodput_core::records::JobState;
use serde_json::{Value, json};

use super::names::{CPUS_PER_DEVICE, exit_code, gres_type, node_list, rows};
use crate::scenario::JobClass;
use crate::world::{Attempt, Job, World};

pub(super) fn write(world: &World) -> Vec<u8> {
    let jobs: Vec<Value> = rows(world).map(|(job, attempt)| row(world, job, attempt)).collect();
    let document = json!({
        "jobs": jobs,
        "meta": {
            "plugin": {"type": "openapi/slurmdbd", "name": "Slurm OpenAPI slurmdbd", "data_parser": "data_parser/v0.0.42"},
            "command": ["sacct", "-a", "-X", "-D", "--json"],
            "slurm": {"version": {"major": "24", "micro": "5", "minor": "11"}, "release": "24.11.5", "cluster": world.scenario.cluster},
        },
        "errors": [],
        "warnings": [],
    });
    document.to_string().into_bytes()
}

fn row(world: &World, job: &Job, attempt: &Attempt) -> Value {
    let class = &world.scenario.jobs[job.class];
    let held = attempt.held(world.end());
    let devices = job.devices(&world.scenario);
    let (code, signal) = exit_code(attempt.state);
    let limit = class.time_limit.map(|limit| limit.as_seconds().div_euclid(60));
    json!({
        "account": class.account,
        "allocation_nodes": if held.is_some() { class.nodes } else { 0 },
        "array": {"job_id": 0, "task_id": number(None)},
        "association": {"account": class.account, "cluster": world.scenario.cluster, "partition": "", "user": class.user},
        "cluster": world.scenario.cluster,
        "time": {
            "elapsed": held.map_or(0, |(from, to)| to - from) - attempt.suspended,
            "eligible": world.epoch(attempt.eligible),
            "end": attempt.end.map_or(0, |at| world.epoch(at)),
            "planned": number(held.map(|(from, _)| from - attempt.eligible)),
            "start": attempt.start.map_or(0, |at| world.epoch(at)),
            "submission": world.epoch(attempt.submit),
            "suspended": attempt.suspended,
            "limit": {"set": limit.is_some(), "infinite": limit.is_none(), "number": limit.unwrap_or(0)},
        },
        "exit_code": {
            "status": [if code == 0 && signal == 0 { "SUCCESS" } else { "ERROR" }],
            "return_code": number(Some(code.into())),
            "signal": {"id": number((signal > 0).then_some(signal.into())), "name": ""},
        },
        "flags": ["STARTED_ON_SCHEDULE", "START_RECEIVED"],
        "job_id": job.id,
        "name": class.name,
        "nodes": node_list(world, &attempt.nodes),
        "partition": world.scenario.pools[job.pool].name,
        "qos": class.qos,
        "restart_cnt": job.attempts.iter().filter(|a| a.submit < attempt.submit).count(),
        "reservation": {"id": 0, "name": class.reservation.clone().unwrap_or_default()},
        "state": {"current": [attempt.state.word()], "reason": if held.is_some() { "None" } else { "Resources" }},
        "steps": [],
        "tres": {
            "allocated": if held.is_some() { tres(world, job, class, devices) } else { Value::Array(Vec::new()) },
            "requested": tres(world, job, class, devices),
        },
        "user": class.user,
        "required": {"CPUs": devices * CPUS_PER_DEVICE},
        "failed_node": if attempt.state == JobState::NodeFail { node_list(world, attempt.nodes.get(..1).unwrap_or_default()) } else { String::new() },
    })
}

fn number(value: Option<i64>) -> Value {
    json!({"set": value.is_some(), "infinite": false, "number": value.unwrap_or(0)})
}

fn tres(world: &World, job: &Job, class: &JobClass, devices: u64) -> Value {
    json!([
        {"type": "cpu", "name": "", "id": 1, "count": devices * CPUS_PER_DEVICE},
        {"type": "node", "name": "", "id": 4, "count": class.nodes},
        {"type": "gres", "name": "gpu", "id": 1001, "count": devices},
        {"type": "gres", "name": format!("gpu:{}", gres_type(world, job.pool)), "id": 1002 + job.pool, "count": devices},
    ])
}
