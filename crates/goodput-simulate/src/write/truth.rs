//! `truth.json`: the true ledger of the fleet, its pools and its jobs, in device-nanoseconds.
//!
//! `fleet` and `pools` hold everything that happened; `recorded` holds the same ledgers as far as the
//! records settle them: what an accounting of the files beside this one must find.

use goodput_core::Boundary;
use serde_json::{Map, Value, json};

use crate::truth::{JobTime, Knowledge, TrueLedger};
use crate::world::{Job, World};

/// Nanoseconds in a second.
const NS: i128 = 1_000_000_000;

pub(super) fn write(world: &World) -> Vec<u8> {
    let truth = world.truth();
    let (fleet, pools) = ledgers(world, &world.ledgers(&truth, Knowledge::Everything));
    let (recorded_fleet, recorded_pools) = ledgers(world, &world.ledgers(&truth, Knowledge::Records));
    let jobs: Vec<Value> =
        world.jobs.iter().zip(&truth.jobs).map(|(job, time)| job_object(world, job, time)).collect();
    let instant = |seconds| (i128::from(world.epoch(seconds)) * NS).to_string();
    let document = json!({
        "schema": "goodput.truth/1",
        "cluster": world.scenario.cluster,
        "seed": world.scenario.seed,
        "window": {"from_ns": instant(0), "to_ns": instant(world.end())},
        "fleet": fleet,
        "pools": pools,
        "recorded": {"fleet": recorded_fleet, "pools": recorded_pools},
        "jobs": jobs,
    });
    let mut text = serde_json::to_vec_pretty(&document).unwrap_or_default();
    text.push(b'\n');
    text
}

/// The fleet, and its pools by name.
fn ledgers(world: &World, ledgers: &[TrueLedger]) -> (Value, Vec<Value>) {
    let mut fleet = TrueLedger::default();
    let mut pools = Vec::new();
    for (spec, ledger) in world.scenario.pools.iter().zip(ledgers) {
        fleet += ledger;
        let mut object = levels(ledger);
        object.insert("name".into(), json!(spec.name));
        pools.push(Value::Object(object));
    }
    (Value::Object(levels(&fleet)), pools)
}

fn levels(ledger: &TrueLedger) -> Map<String, Value> {
    let amounts = [
        ("offered", ledger.offered),
        ("held", ledger.held),
        ("retained", ledger.retained),
        ("ideal", ledger.ideal),
        ("out_of_service", ledger.out_of_service),
    ];
    let mut object: Map<_, _> =
        amounts.into_iter().map(|(key, ns)| (format!("{key}_ns"), text(ns))).collect();
    for boundary in Boundary::ALL {
        let losses = ledger.losses.iter().filter(|(pattern, _)| pattern.boundary() == boundary);
        let losses = losses.map(|(pattern, ns)| (format!("{}_ns", pattern.key()), text(*ns))).collect();
        object.insert(boundary.key().to_owned(), Value::Object(losses));
    }
    object
}

fn job_object(world: &World, job: &Job, time: &JobTime) -> Value {
    let class = &world.scenario.jobs[job.class];
    let losses: Map<_, _> =
        time.lost.iter().map(|(pattern, ns)| (format!("{}_ns", pattern.key()), text(*ns))).collect();
    let steps = time.steps;
    json!({
        "id": job.id.to_string(),
        "name": class.name,
        "pool": world.scenario.pools[job.pool].name,
        "log": class.log,
        "devices": job.devices(&world.scenario),
        "held_ns": text(time.held),
        "retained_ns": text(time.retained),
        "ideal_ns": time.ideal.map(text),
        "runtime": losses,
        "steps": {
            "executed": steps.executed, "retained": steps.retained,
            "discarded": steps.discarded, "pending": steps.pending,
        },
    })
}

/// Amounts are text: they exceed what a JSON number holds exactly.
fn text(ns: i128) -> Value {
    Value::String(ns.to_string())
}
