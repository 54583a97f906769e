//! `truth.json`: the true ledger of the fleet, its pools and its jobs, in device-nanoseconds.

use std::collections::BTreeMap;

use goodput_core::{Boundary, Pattern};
use serde_json::{Map, Value, json};

use crate::scenario::LogFormat;
use crate::truth::{JobTime, PoolTime};
use crate::world::World;

/// Nanoseconds in a second.
const NS: i128 = 1_000_000_000;

/// Levels and losses of a pool, the fleet or a job.
#[derive(Default)]
struct Account {
    levels: [i128; 4],
    out_of_service: i128,
    losses: BTreeMap<Pattern, i128>,
}

impl Account {
    fn add_pool(&mut self, pool: &PoolTime) {
        self.levels[0] += pool.offered() * NS;
        self.levels[1] += pool.held() * NS;
        self.out_of_service += pool.out_of_service * NS;
        let unheld = pool.unheld().into_iter().chain([(Pattern::IdleReservation, pool.idle_reservation)]);
        for (pattern, seconds) in unheld {
            *self.losses.entry(pattern).or_default() += seconds * NS;
        }
    }

    /// What happened inside a job's allocations.
    fn add_job(&mut self, job: &JobTime) {
        self.levels[2] += job.retained;
        self.levels[3] += job.ideal.unwrap_or(0);
        for (&pattern, &amount) in &job.lost {
            *self.losses.entry(pattern).or_default() += amount;
        }
        let program = if job.ideal.is_some() { Pattern::TermUnsettled } else { Pattern::ProgramUnsettled };
        *self.losses.entry(program).or_default() += job.retained - job.ideal.unwrap_or(0);
    }

    fn json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        let mut put = |key: &str, amount: i128| {
            object.insert(format!("{key}_ns"), Value::String(amount.to_string()));
        };
        for (key, amount) in ["offered", "held", "retained", "ideal"].into_iter().zip(self.levels) {
            put(key, amount);
        }
        put("out_of_service", self.out_of_service);
        for boundary in Boundary::ALL {
            let mut losses = Map::new();
            for (pattern, amount) in self.losses.iter().filter(|(p, a)| p.boundary() == boundary && **a != 0)
            {
                losses.insert(format!("{}_ns", pattern.key()), Value::String(amount.to_string()));
            }
            object.insert(boundary.key().to_owned(), Value::Object(losses));
        }
        object
    }
}

pub(super) fn write(world: &World) -> Vec<u8> {
    let truth = world.truth();
    let scenario = &world.scenario;
    let mut fleet = Account::default();
    let mut pools: Vec<Account> = scenario.pools.iter().map(|_| Account::default()).collect();
    for (pool, time) in truth.pools.iter().enumerate() {
        fleet.add_pool(time);
        pools[pool].add_pool(time);
    }
    let mut jobs = Vec::new();
    for (job, time) in world.jobs.iter().zip(&truth.jobs) {
        fleet.add_job(time);
        pools[job.pool].add_job(time);
        let mut account = Account { levels: [time.held, time.held, 0, 0], ..Account::default() };
        account.add_job(time);
        let class = &scenario.jobs[job.class];
        let mut object = account.json();
        object.remove("out_of_service_ns");
        object.remove(Boundary::Scheduling.key());
        object.insert("id".into(), json!(job.id.to_string()));
        object.insert("name".into(), json!(class.name));
        object.insert("log".into(), json!(class.log));
        object.insert("devices".into(), json!(job.devices(scenario)));
        let steps = time.steps;
        object.insert(
            "steps".into(),
            json!({"executed": steps.executed, "retained": steps.retained, "discarded": steps.discarded, "pending": steps.pending}),
        );
        jobs.push(Value::Object(object));
    }
    let pools: Vec<Value> = scenario
        .pools
        .iter()
        .zip(&pools)
        .map(|(spec, account)| {
            let mut object = account.json();
            object.insert("name".into(), json!(spec.name));
            Value::Object(object)
        })
        .collect();
    let without_log = scenario.jobs.iter().filter(|c| c.log == LogFormat::None).map(|c| c.name.clone());
    let document = json!({
        "schema": "goodput.truth/1",
        "cluster": scenario.cluster,
        "seed": scenario.seed,
        "window": {
            "from_ns": (i128::from(world.epoch(0)) * NS).to_string(),
            "to_ns": (i128::from(world.epoch(world.end())) * NS).to_string(),
        },
        "without_log": without_log.collect::<Vec<_>>(),
        "fleet": fleet.json(),
        "pools": pools,
        "jobs": jobs,
    });
    let mut text = serde_json::to_vec_pretty(&document).unwrap_or_default();
    text.push(b'\n');
    text
}
