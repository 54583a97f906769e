//! Random small fleets.

use goodput_simulate::{
    Checkpoint, Ending, Evaluation, Faults, InputWait, JobClass, LogFormat, Outage, OutageKind, Policy, Pool,
    Program, Scenario, Span,
};
use proptest::prelude::*;

const fn seconds(s: i64) -> Span {
    Span::from_millis(s * 1_000)
}

fn program() -> impl Strategy<Value = Program> {
    let times = (20_u64..400, 500_i64..20_000, 0_i64..300, 0_i64..60, 0_i64..10, 0_u32..4);
    let waits = proptest::option::of((0.0..1.0, 0.0..3.0));
    let saves = proptest::option::of((1_u64..60, 0.0..2.0, 0_i64..20));
    let rest = (
        proptest::option::of((10_u64..200, 0.5..2.0)),
        proptest::option::of((0.0..0.5, 60_i64..540)),
        0_i64..90,
        prop_oneof![
            6 => Just(Ending::Finished),
            2 => Just(Ending::Failing { share: 0.5 }),
            1 => Just(Ending::Hang { after_steps: 60, lasts: seconds(4_000) }),
            1 => Just(Ending::Zombie { lasts: seconds(7_000) }),
        ],
        proptest::bool::ANY,
    );
    (times, waits, saves, rest).prop_map(|(times, waits, saves, rest)| {
        let (steps, step, startup, load, first_batch, warm_up_lines) = times;
        let (evaluation, faults, teardown, ending, flops) = rest;
        // All that can stand between two lines stays below ten steps: more would be a silence.
        let times_step = |share: f64| Span::from_millis((step as f64 * share) as i64);
        Program {
            steps,
            steps_spread: 0.5,
            step: Span::from_millis(step),
            steps_per_line: 1,
            // The median of a few unequal steps is not the fault-free step time.
            jitter: 0.0,
            startup: seconds(startup),
            load: seconds(load),
            first_batch: seconds(first_batch),
            warm_up_lines,
            warm_up_excess: 0.6,
            input_wait: waits.map(|(share, mean)| InputWait { share, mean: times_step(mean) }),
            checkpoint: saves.map(|(every_steps, pause, lag)| Checkpoint {
                every_steps,
                pause: times_step(pause),
                commit_lag: seconds(lag),
            }),
            evaluation: evaluation
                .map(|(every_steps, takes)| Evaluation { every_steps, takes: times_step(takes) }),
            faults: faults.map(|(per_node_hour, recovery)| Faults {
                per_node_hour,
                at: Vec::new(),
                recovery: seconds(recovery),
            }),
            straggler: None,
            suspension: None,
            ending,
            teardown: seconds(teardown),
            model_flops_per_step: flops.then_some(1e14),
            flops_convention: "model FLOPs".to_owned(),
        }
    })
}

fn class(name: &'static str, nodes: std::ops::Range<u32>) -> impl Strategy<Value = JobClass> {
    (nodes, proptest::option::of(1_u32..8), 2.0..60.0, proptest::option::of(600_i64..9_000), 0..3, program())
        .prop_map(move |(nodes, part, per_day, limit, priority, program)| JobClass {
            name: name.into(),
            pool: None,
            account: if priority == 0 { "student" } else { "research" }.into(),
            user: "alice".into(),
            qos: if priority == 2 { "high" } else { "low" }.into(),
            priority,
            nodes,
            devices_per_node: part.filter(|_| nodes == 1),
            submit_at: Vec::new(),
            per_day,
            hours: None,
            time_limit: limit.map(seconds),
            begin_after: Span::ZERO,
            preempts: if priority == 2 { vec!["low".into()] } else { Vec::new() },
            requeue: true,
            reservation: None,
            program,
            log: LogFormat::Goodput,
        })
}

/// A job that runs all the time: a snapshot of an empty queue leaves no record.
fn service() -> JobClass {
    let yaml = "{name: service, nodes: 1, devices_per_node: 1, priority: 9, submit_at: [0s], program: {steps: 100000, step: 10s}}";
    serde_saphyr::from_str(yaml).unwrap()
}

/// A fleet of one pool for half a day.
pub fn scenario() -> impl Strategy<Value = Scenario> {
    let outage = (
        1_u32..=6,
        0_i64..700,
        1_i64..300,
        prop_oneof![Just(OutageKind::Down), Just(OutageKind::Drain), Just(OutageKind::Maintenance)],
    );
    (
        any::<u64>(),
        proptest::collection::vec(outage, 0..4),
        class("gang", 2..6),
        class("single", 1..2),
        class("pair", 1..3),
        proptest::bool::ANY,
        0_u32..3,
    )
        .prop_map(|(seed, outages, gang, single, pair, backfill, planned_gangs)| Scenario {
            cluster: "sim".into(),
            seed,
            start: jiff::Timestamp::constant(1_772_409_600, 0),
            duration: seconds(12 * 3_600),
            snapshot_every: seconds(60),
            pools: vec![Pool {
                name: "train".into(),
                nodes: 6,
                devices_per_node: 8,
                device: "H100".into(),
                peak_tflops: Some(989.0),
                dtype: "bf16".into(),
                failures_per_node_day: 0.2,
                repair: seconds(3_000),
            }],
            policy: Policy { backfill, planned_gangs, ..Policy::default() },
            outages: outages
                .into_iter()
                .map(|(node, at, lasts, kind)| Outage {
                    kind,
                    pool: "train".into(),
                    nodes: vec![node],
                    // On the snapshot grid, so that snapshots settle a drain of a busy node exactly.
                    at: seconds(at * 60),
                    lasts: seconds(lasts * 60),
                    reason: "test".into(),
                })
                .collect(),
            reservations: Vec::new(),
            jobs: vec![gang, single, pair, service()],
        })
}
