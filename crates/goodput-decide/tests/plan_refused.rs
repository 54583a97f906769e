//! What a plan is refused for: every field of every question with values that cannot be, and fields that contradict each
//! other. Each refusal names the field and what is needed.
#![allow(clippy::unwrap_used)]

use goodput_decide::plan::{Answer, PlanError, Sheet};
use rstest::rstest;
use serde_json::{Value, json};

fn answer(question: &Value) -> Result<Answer, PlanError> {
    let plan = json!({"questions": [question]}).to_string();
    let sheet = Sheet::read(&plan, &mut |file| Err(format!("{file} is not there")))?;
    Ok(sheet.answers()?.remove(0))
}

/// The question with one value put in another's place.
fn with(question: &Value, pointer: &str, value: Value) -> Value {
    let mut changed = question.clone();
    *changed.pointer_mut(pointer).unwrap() = value;
    changed
}

/// `/options/0/price` is `questions[0].options[0].price` in the words of a plan.
fn field(pointer: &str) -> String {
    pointer.split('/').skip(1).fold("questions[0]".to_owned(), |path, key| match key.parse::<usize>() {
        Ok(place) => format!("{path}[{place}]"),
        Err(_) => format!("{path}.{key}"),
    })
}

/// Pointers to every number, duration and share.
fn quantities(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| quantities(value, &format!("{pointer}/{key}"), found));
        }
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(i, value)| quantities(value, &format!("{pointer}/{i}"), found));
        }
        Value::Number(_) => found.push(pointer.to_owned()),
        Value::String(text) if text.starts_with(|c: char| c.is_ascii_digit()) => {
            found.push(pointer.to_owned())
        }
        _ => {}
    }
}

fn interrupted() -> Value {
    json!({
        "job": {"devices": 128, "held": "7 d", "launches": 1},
        "reliability": {"mtbf": "302 h", "at_devices": 128, "recovery": "6.2 min"},
        "checkpoint": {"write": "9.8 s", "mode": "async", "contention": 0.02, "durable_after": "60 s", "every": "20 min"},
        "preemption": {"per_day": 1, "lost_work": "15 min", "restart": "5.2 min", "notice": "2 s"},
        "startup": "5.2 min",
        "input_wait": 0.07,
    })
}

/// `more` over the interrupted job.
fn job(more: Value) -> Value {
    over(interrupted(), more)
}

fn over(mut question: Value, more: Value) -> Value {
    if let (Some(question), Value::Object(more)) = (question.as_object_mut(), more) {
        question.extend(more);
    }
    question
}

/// A question of every kind, all of whose numbers are read.
fn questions() -> Vec<Value> {
    vec![
        job(json!({"ask": "runtime", "sizes": [128, 256]})),
        job(json!({
            "ask": "runtime",
            "reliability": {"failures_per_node_day": 0.006, "nodes": 16, "recovery": "6 min"},
            "preemption": {"per_day": 1, "cost": "20 min"},
        })),
        job(json!({"ask": "cadence"})),
        job(json!({"ask": "staging", "stage": "1 s"})),
        json!({
            "ask": "sizing", "reference": {"devices": 128, "units_per_hour": 1}, "window": "24 h", "target_units": 20,
            "schedules": [
                {"name": "wait", "price": {"per_device_hour": 2}, "stages": [{"wait": "4 h"}],
                 "last": {"devices": 512, "efficiency": 0.8}},
                {"name": "step up", "price": {"per_device_hour": 2},
                 "stages": [{"run": "4 h", "devices": 128, "efficiency": 1}, {"pause": "10 min", "devices": 512}],
                 "last": {"devices": 512, "efficiency": 0.8}},
            ],
        }),
        job(json!({
            "ask": "build", "executions_per_second": 120, "compiled": 0.635, "builds": [{"name": "one", "time": "15 min"}],
            "replicas": 4, "devices_per_replica": 8, "replica_lifetime": "1 d", "relaunches": "count",
            "recompile": {"every_executions": 1000, "takes": "10 s"},
        })),
        json!({
            "ask": "build", "step": "245 ms", "builds": [{"name": "one", "time": "15 min"}],
            "parts": [{"name": "memory", "share": 0.5, "removes": 0.7}, {"name": "rest", "share": 0.5}],
        }),
        json!({
            "ask": "straggler", "pace": 0.9, "persistence": {"median": "1 h", "p90": "4 h"}, "restart": "5 min",
            "replay": "10 min", "spare_wait": "2 min", "factors": {"program": 0.48},
        }),
        json!({
            "ask": "straggler", "pace": 0.9, "persistence": {"samples": ["1 h", "3 h"]}, "restart": "5 min", "replay": "1 min",
        }),
        json!({
            "ask": "straggler", "pace": 0.9, "persistence": {"mean": "1 h"}, "restart": "5 min", "replay": "1 min",
        }),
        json!({"ask": "straggler", "pace": 0.9, "persistence": "1 h", "restart": "5 min", "replay": "1 min"}),
        json!({
            "ask": "preemption", "pool": {"devices": 1024, "window": "7 d"}, "factors": {"scheduling": 0.65, "runtime": 0.9},
            "urgent": {"devices": 512, "drain": "6 h", "free_while_draining": 0.5}, "cascade": 1.5,
            "victims": {"count": 4, "devices": 128, "lost_work": "15 min", "restart": "5 min"},
        }),
        json!({
            "ask": "lending", "pool": {"devices": 1024, "window": "7 d"}, "factors": {"scheduling": 0.65, "runtime": 0.9},
            "lent": {"devices": 128, "time": "20 h"}, "cascade": 1.5,
            "reclaims": {"count": 3, "lost_work": "15 min", "restart": "5 min", "owner_wait": "2 min"},
        }),
        json!({
            "ask": "placement", "wait": "1 h", "kept_free": 0.5, "program_now": 0.4, "program_compact": 0.45,
            "job": {"held": "7 d"},
        }),
        job(json!({
            "ask": "capacity", "options": [
                {"name": "a", "price": {"per_device_hour": 2}, "factors": {"program": 0.48}, "speed": 1},
                {"name": "b", "price": {"per_device_hour": 1}, "factors": {"program": 0.48, "runtime": 0.8}},
            ],
        })),
        job(json!({
            "ask": "time", "job": {"devices": 128, "ideal": "9300 device-hours"}, "factors": {"program": 0.48},
            "queue_wait": {"median": "1 h", "p90": "6 h"}, "deadline": "14 d", "draws": 10, "efficiency": 0.9,
            "price": {"per_device_hour": 2},
        })),
        job(json!({
            "ask": "time", "job": {"devices": 128, "tokens": 1e12, "flops_per_token": 5e9, "peak_tflops": 989},
            "factors": {"program": 0.48}, "queue_wait": {"samples": ["1 h", "2 h"]}, "draws": 10,
            "reliability": {"failures_at": ["30 h", "40 h"], "recovery": "6 min"},
        })),
        job(json!({
            "ask": "frontier", "deadline": "14 d", "draws": 10,
            "job": {"devices": 128, "ideal": "9300 device-hours"}, "factors": {"program": 0.48},
            "options": [
                {"name": "a", "price": {"per_device_hour": 2}, "efficiency": 0.9,
                 "memory": {"needed_gb": 60, "device_gb": 80}, "quality": {"reached": 0.8, "needed": 0.7}},
                {"name": "b", "price": {"per_device_hour": 1}, "queue_wait": "3 h"},
            ],
        })),
        json!({
            "ask": "fleet", "factors": {"scheduling": 0.65, "runtime": 0.9, "program": 0.48},
            "ceilings": {"scheduling": 0.9, "runtime": 0.95, "program": 0.6}, "price": {"per_device_hour": 2},
        }),
        job(json!({"ask": "fleet", "factors": {"scheduling": 0.65, "program": 0.48}})),
        json!({"ask": "trade", "ratios": {"scheduling": 1, "runtime": "11/12", "program": 1.1}}),
        json!({"ask": "days", "planned": "30 d", "shortfall": 0.2}),
        json!({"ask": "trace_volume", "mb_per_device": 500, "job": {"devices": 1024}}),
        json!({"ask": "tiers", "allocated": 500, "active": 350, "productive": 280, "reference": "own_rate"}),
        json!({
            "ask": "levers", "step": "245 ms", "shares": {"compute": 0.5, "memory": 0.35, "dispatch": 0.1, "communication": 0.05},
            "chains": {"norm": 0.1}, "hidden_communication": 0.1, "overlap_window": 0.3, "host": "10 ms",
            "levers": [
                {"lever": "compilation", "memory_removed": 0.7, "dispatch_removed": 0.8},
                {"lever": "fusion", "chain": "norm", "tokens": 4096, "input": 4096, "output": 4096, "operations": 3,
                 "bytes": 2, "launches_removed": 0.1},
                {"lever": "graph_replay", "replay_ms": 1},
                {"lever": "precision", "times": 2, "covers": 0.8, "memory_bytes": 0.5},
                {"lever": "overlap", "hides": 0.5, "slows": 0.1},
            ],
        }),
    ]
}

/// Every question of this list is answered as it stands, and together they are all that can be asked.
#[test]
fn the_questions_themselves_are_answered() {
    for question in questions() {
        assert!(answer(&question).is_ok(), "{question}: {:?}", answer(&question));
    }
    let why = answer(&json!({"ask": "?"})).unwrap_err().to_string();
    let known = why.split("known are ").nth(1).unwrap();
    for word in known.split(", ") {
        assert!(questions().iter().any(|question| question["ask"] == word), "{word} is in no test");
    }
}

/// Values that no quantity can have, in every place of every question.
#[test]
fn a_value_that_cannot_be_is_named() {
    let mut wrong = Vec::new();
    for question in questions() {
        let mut pointers = Vec::new();
        quantities(&question, "", &mut pointers);
        for pointer in pointers {
            let held = question.pointer(&pointer).unwrap();
            let unit =
                held.as_str().map_or("", |text| text.trim_start_matches(|c: char| !c.is_ascii_alphabetic()));
            let mut values = [".nan", ".inf", "-.inf", "1/0", "5 parsecs", "soon", "1e999", ""]
                .map(|text| json!(text))
                .to_vec();
            values.extend([
                json!(format!("-1 {unit}")),
                json!(-1),
                json!(true),
                json!([1]),
                json!({"much": 1}),
            ]);
            for value in values {
                let changed = with(&question, &pointer, value.clone());
                match answer(&changed) {
                    Ok(_) => wrong.push(format!("{} {pointer} {value}: answered", question["ask"])),
                    Err(why) if !why.field.starts_with(&field(&pointer)) => {
                        wrong.push(format!("{} {pointer} {value}: {why}", question["ask"]));
                    }
                    Err(why) if !(why.message.contains("expected") || why.message.contains("known are")) => {
                        wrong.push(format!(
                            "{} {pointer} {value}: says not what is needed: {why}",
                            question["ask"]
                        ));
                    }
                    Err(_) => {}
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Numbers that YAML itself has no finite value for.
#[rstest]
#[case("job: {held: .nan}", "job.held")]
#[case("startup: .inf", "startup")]
#[case("input_wait: -.inf", "input_wait")]
#[case("reliability: {mtbf: .NaN}", "reliability.mtbf")]
fn what_is_no_number_in_yaml_is_named(#[case] stated: &str, #[case] field: &str) {
    let job = if stated.starts_with("job") { "" } else { "job: {held: 7 d}\n" };
    let sheet =
        Sheet::read(&format!("{job}{stated}\nquestions: [runtime]"), &mut |_| Err(String::new())).unwrap();
    let why = sheet.answers().unwrap_err();
    assert_eq!(why.field, field, "{why}");
    assert!(why.message.contains("expected"), "{why}");
}

/// Shares over one, counts of none, spans of nothing: what the field's own range leaves out.
#[test]
fn a_value_out_of_its_range_is_named() {
    let mut wrong = Vec::new();
    let shares = [
        "contention",
        "input_wait",
        "scheduling",
        "runtime",
        "program",
        "efficiency",
        "pace",
        "kept_free",
        "program_now",
        "program_compact",
        "free_while_draining",
        "shortfall",
        "compiled",
        "share",
        "removes",
        "compute",
        "memory",
        "dispatch",
        "communication",
        "norm",
        "hidden_communication",
        "overlap_window",
        "memory_removed",
        "dispatch_removed",
        "launches_removed",
        "covers",
        "hides",
    ];
    let above_zero = [
        "devices",
        "held",
        "launches",
        "mtbf",
        "at_devices",
        "nodes",
        "every",
        "units_per_hour",
        "window",
        "target_units",
        "per_device_hour",
        "executions_per_second",
        "step",
        "replicas",
        "devices_per_replica",
        "replica_lifetime",
        "every_executions",
        "median",
        "p90",
        "mean",
        "ideal",
        "tokens",
        "flops_per_token",
        "peak_tflops",
        "deadline",
        "draws",
        "needed_gb",
        "device_gb",
        "planned",
        "mb_per_device",
        "allocated",
        "pace",
        "times",
    ];
    for question in questions() {
        let mut pointers = Vec::new();
        quantities(&question, "", &mut pointers);
        for pointer in pointers {
            let key = pointer.rsplit('/').find(|key| key.parse::<usize>().is_err()).unwrap();
            // Ratios of `trade` are no shares.
            let mut values = Vec::new();
            if shares.contains(&key) && !pointer.starts_with("/ratios") {
                values.extend([json!(1.5), json!("120 %")]);
            }
            if above_zero.contains(&key) {
                let held = question.pointer(&pointer).unwrap();
                values.push(held.as_str().map_or(json!(0), |text| {
                    json!(format!("0 {}", text.trim_start_matches(|c: char| !c.is_ascii_alphabetic())))
                }));
            }
            for value in values {
                match answer(&with(&question, &pointer, value.clone())) {
                    Err(why)
                        if why.field.starts_with(&field(&pointer)) && why.message.contains("expected") => {}
                    other => wrong.push(format!("{} {pointer} {value}: {other:?}", question["ask"])),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A field left out is either not needed, or named with what it is.
#[test]
fn a_value_that_is_missing_is_named() {
    let mut wrong = Vec::new();
    for question in questions() {
        let mut pointers = Vec::new();
        quantities(&question, "", &mut pointers);
        for pointer in pointers {
            let (section, key) = pointer.rsplit_once('/').unwrap();
            let mut changed = question.clone();
            let Some(map) = changed.pointer_mut(section).and_then(Value::as_object_mut) else { continue };
            map.remove(key);
            if let Err(why) = answer(&changed) {
                let names_it = why.field.contains(key) || why.message.contains(key);
                // Without its only number a mapping or a stage says nothing.
                let of_its_section = field(&pointer).starts_with(&why.field) && why.field != "questions[0]";
                if !names_it && !of_its_section {
                    wrong.push(format!("{} without {pointer}: {why}", question["ask"]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Fields that are each possible and cannot stand together.
#[rstest]
// Probabilities and shares over one in sum.
#[case(json!({"ask": "tiers", "allocated": 500, "active": 350, "productive": 700}), "productive", "no more than `allocated`")]
#[case(json!({"ask": "tiers", "allocated": 1, "active": 1.2, "productive": 0.5}), "active", "no more than `allocated`")]
#[case(json!({"ask": "tiers", "allocated": 0.6, "active": 0.5, "productive": 0.8, "reference": "own_rate"}), "productive", "allocated")]
#[case(json!({"ask": "build", "step": "1 s", "builds": [{"time": "1 s"}], "parts": [{"share": 0.7}, {"share": 0.6}]}), "parts", "expected 1")]
#[case(json!({"ask": "levers", "step": "1 s", "shares": {"compute": 0.7, "memory": 0.6}, "levers": [{"lever": "overlap", "hides": 1}]}), "shares", "sum to 1.2")]
#[case(job(json!({"ask": "runtime", "input_wait": 1})), "input_wait", "below 100 %")]
#[case(job(json!({"ask": "runtime", "preemption": {"per_day": 24, "cost": "2 h"}})), "preemption.per_day", "below 100 %")]
#[case(job(json!({"ask": "runtime", "startup": "8 d"})), "startup", "below 100 %")]
#[case(job(json!({"ask": "cadence", "startup": "8 d"})), "startup", "below 100 %")]
#[case(job(json!({"ask": "runtime", "checkpoint": {"write": "30 min", "every": "20 min"}})), "checkpoint.write", "below 100 %")]
#[case(job(json!({"ask": "runtime", "checkpoint": {"write": "1 s", "every": "40 d"}})), "checkpoint.every", "below 100 %")]
#[case(job(json!({"ask": "fleet", "startup": "8 d", "factors": {"scheduling": 0.6, "program": 0.5}})), "startup", "below 100 %")]
#[case(job(json!({"ask": "time", "input_wait": 1, "job": {"devices": 8, "ideal": "1 device-hours"}, "factors": {"program": 0.5}})), "input_wait", "below 1")]
#[case(job(json!({"ask": "capacity", "options": [
    {"startup": "8 d", "price": {"per_device_hour": 1}, "factors": {"program": 0.5}},
    {"price": {"per_device_hour": 1}, "factors": {"program": 0.5}}]})), "options[0].startup", "fit into")]
#[case(json!({"ask": "days", "planned": "30 d", "shortfall": 1}), "shortfall", "below 1")]
// An MTBF shorter than the recovery, however it is stated.
#[case(job(json!({"ask": "runtime", "reliability": {"mtbf": "5 min", "recovery": "6 min"}})), "reliability.mtbf", "above the recovery")]
#[case(job(json!({"ask": "cadence", "reliability": {"mtbf": "5 min", "recovery": "6 min"}})), "reliability.mtbf", "above the recovery")]
#[case(job(json!({"ask": "staging", "stage": "1 s", "reliability": {"mtbf": "5 min", "recovery": "6 min"}})), "reliability.mtbf", "above the recovery")]
#[case(job(json!({"ask": "runtime", "reliability": {"mtbf": "1 h", "at_devices": 1, "recovery": "6 min"}})), "reliability.mtbf", "above the recovery")]
#[case(job(json!({"ask": "runtime", "reliability": {"failures_per_node_day": 100, "nodes": 16, "recovery": "6 min"}})),
    "reliability.failures_per_node_day", "above the recovery")]
#[case(job(json!({"ask": "time", "job": {"devices": 8, "ideal": "1 device-hours"}, "factors": {"program": 0.5},
    "reliability": {"mtbf": "5 min", "recovery": "6 min"}})), "reliability.mtbf", "above the recovery")]
// Saves that are not durable before the next, percentiles in the wrong order.
#[case(job(json!({"ask": "runtime", "checkpoint": {"write": "1 s", "every": "1 min", "mode": "async", "contention": 0, "durable_after": "2 min"}})),
    "checkpoint.durable_after", "within the interval")]
#[case(json!({"ask": "straggler", "pace": 0.9, "restart": "1 min", "replay": "1 min", "persistence": {"median": "2 h", "p90": "1 h"}}),
    "persistence.p90", "no less than the median")]
#[case(json!({"ask": "straggler", "pace": 0.9, "restart": "1 min", "replay": "1 min", "persistence": {"samples": []}}),
    "persistence.samples", "at least one")]
// Prices missing.
#[case(job(json!({"ask": "frontier", "job": {"devices": 8, "ideal": "1 device-hours"}, "factors": {"program": 0.5}, "options": [{"name": "a"}]})),
    "options[0].price.per_device_hour", "needs price.per_device_hour")]
#[case(job(json!({"ask": "capacity", "factors": {"program": 0.5}, "options": [{"price": {"per_device_hour": 1}}, {"name": "b"}]})),
    "options[1].price.per_device_hour", "needs price.per_device_hour")]
#[case(json!({"ask": "sizing", "reference": {"devices": 8, "units_per_hour": 1}, "window": "1 d", "schedules": [
    {"name": "a", "price": {"per_device_hour": 1}, "last": {"devices": 8, "efficiency": 1}},
    {"name": "b", "last": {"devices": 8, "efficiency": 1}}]}), "schedules[1].price.per_device_hour", "of every schedule, or of none")]
// Windows that do not overlap.
#[case(json!({"ask": "sizing", "reference": {"devices": 8, "units_per_hour": 1}, "window": "1 d", "schedules": [
    {"name": "a", "stages": [{"wait": "2 d"}], "last": {"devices": 8, "efficiency": 1}}]}), "window", "in which one runs")]
#[case(urgent(json!({"urgent": {"devices": 512, "drain": "8 d", "free_while_draining": 0.5}})), "urgent.drain", "no longer than `pool.window`")]
#[case(urgent(json!({"urgent": {"devices": 2048, "drain": "1 h", "free_while_draining": 0.5}})), "urgent.devices", "no more than `pool.devices`")]
#[case(urgent(json!({"victims": {"count": 1, "devices": 2048, "lost_work": "1 h", "restart": "1 h"}})), "victims.devices", "no more than `pool.devices`")]
#[case(urgent(json!({"victims": {"count": 100, "devices": 1024, "lost_work": "30 d", "restart": "1 h"}})), "victims.lost_work", "expected a loss below")]
#[case(urgent(json!({"factors": {"scheduling": 1, "runtime": 0.9}})), "factors.scheduling", "same window")]
#[case(lent(json!({"lent": {"devices": 128, "time": "8 d"}})), "lent.time", "no longer than `pool.window`")]
#[case(lent(json!({"lent": {"devices": 2048, "time": "1 d"}})), "lent.devices", "no more than `pool.devices`")]
#[case(lent(json!({"reclaims": {"count": 30, "lost_work": "1 h", "restart": "1 h", "owner_wait": "1 h"}})), "reclaims.owner_wait", "within the lent time")]
#[case(lent(json!({"cascade": 0.5})), "cascade", "1 or more")]
// A ceiling below the factor.
#[case(json!({"ask": "fleet", "factors": {"scheduling": 0.65, "runtime": 0.9, "program": 0.48}, "ceilings": {"runtime": 0.8}}),
    "ceilings.runtime", "0.9000 to 1")]
#[case(json!({"ask": "fleet", "factors": {"scheduling": 0.65, "runtime": 0.9, "program": 0.48}, "ceilings": {"scheduling": 0}}),
    "ceilings.scheduling", "expected a factor above 0")]
#[case(json!({"ask": "fleet", "factors": {"scheduling": 0.65, "runtime": 0.9, "program": 0.48}, "ceilings": {"program": 1.2}}),
    "ceilings.program", "at most 1")]
#[case(json!({"ask": "fleet", "factors": {"scheduling": 0.65, "runtime": 0.9, "program": 0.48}, "ceilings": {"programme": 0.9}}),
    "ceilings.programme", "did you mean `program`")]
// Draws without end.
#[case(job(json!({"ask": "time", "job": {"devices": 1, "ideal": "90000 device-hours"}, "factors": {"program": 0.5},
    "reliability": {"mtbf": "1 h", "recovery": "1 min"}, "checkpoint": {"write": "1 s", "every": "1 d"}})), "checkpoint.every", "shorter interval")]
#[case(job(json!({"ask": "time", "job": {"devices": 8, "ideal": "1 device-hours"}, "factors": {"program": 0.5}, "draws": 1e9})), "draws", "at most")]
fn fields_that_contradict_each_other(#[case] question: Value, #[case] field: &str, #[case] needed: &str) {
    let why = answer(&question).unwrap_err();
    assert_eq!(why.field, format!("questions[0].{field}"), "{why}");
    assert!(why.message.contains(needed), "{why}");
    assert!(
        ["expected", "needs", "known are", "is the step"].iter().any(|word| why.message.contains(word)),
        "{why}"
    );
}

fn urgent(more: Value) -> Value {
    let all = questions();
    over(all.into_iter().find(|question| question["ask"] == "preemption").unwrap(), more)
}

fn lent(more: Value) -> Value {
    let all = questions();
    over(all.into_iter().find(|question| question["ask"] == "lending").unwrap(), more)
}

/// Two options of one name in any list whose entries an answer calls by name: the second is refused, and both are named.
#[rstest]
#[case(json!({"ask": "frontier", "options": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}), "options[2]", "questions[0].options[0]")]
#[case(json!({"ask": "frontier", "options": [{"name": "a"}, {"name": "a "}]}), "options[1]", "questions[0].options[0]")]
#[case(json!({"ask": "frontier", "options": [{"name": 8}, {"name": "8"}]}), "options[1]", "questions[0].options[0]")]
#[case(json!({"ask": "frontier", "grid": {"size": [{"name": "a"}, {"name": "a"}]}}), "grid.size[1]", "questions[0].grid.size[0]")]
// An option beside a combination of the grid that has its name.
#[case(json!({"ask": "frontier", "options": [{"name": "8, spot"}],
    "grid": {"price": [{"name": "8"}], "size": [{"name": "spot"}]}}), "grid.size[0]", "questions[0].options[0]")]
#[case(json!({"ask": "capacity", "options": [{"name": "spot"}, {"name": "spot"}]}), "options[1]", "questions[0].options[0]")]
#[case(json!({"ask": "sizing", "reference": {"devices": 8, "units_per_hour": 1}, "window": "1 d",
    "schedules": [{"name": "wait"}, {"name": "wait"}]}), "schedules[1]", "questions[0].schedules[0]")]
#[case(json!({"ask": "build", "step": "245 ms", "compiled": 0.6,
    "builds": [{"name": "one", "time": "15 min"}, {"name": "one", "time": "5 min"}]}), "builds[1]", "questions[0].builds[0]")]
fn two_options_of_one_name_are_refused(#[case] question: Value, #[case] second: &str, #[case] first: &str) {
    let why = answer(&question).unwrap_err();
    assert_eq!(why.field, format!("questions[0].{second}.name"), "{why}");
    assert!(why.message.contains(&format!("is the name of {first} too")), "{why}");
}

/// A field that stands outside the question is named where it stands.
#[test]
fn a_shared_field_is_named_where_it_stands() {
    let of = |yaml: &str| Sheet::read(yaml, &mut |_| Err(String::new())).unwrap().answers().unwrap_err();
    let why = of("job: {held: 7 d}\nreliability: {mtbf: 5 min, recovery: 6 min}\nquestions: [runtime]");
    assert_eq!(why.field, "reliability.mtbf", "{why}");
    // Also where the question does not read it.
    let why = of("job: {held: 7 d}\nfactors: {program: 48}\nquestions: [runtime]");
    assert_eq!(why.field, "factors.program", "{why}");
}
