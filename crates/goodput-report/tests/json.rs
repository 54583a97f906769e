//! JSON: valid under its schema, exact where it must be, and summing to the whole.

#![allow(clippy::unwrap_used)]

mod fixture;
mod generated;

use goodput_report::json;
use serde_json::Value;

fn parsed(view: &impl serde::Serialize) -> Value {
    serde_json::from_str(&json::render(view).unwrap()).unwrap()
}

fn assert_valid(document: &Value, schema: &str) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn account_is_valid() {
    let document = parsed(&fixture::account_view());
    assert_eq!(document["schema"], "goodput.account/1");
    assert_valid(&document, include_str!("../../../schemas/account.schema.json"));
}

#[test]
fn timeline_is_valid() {
    let document = parsed(&fixture::timeline_view());
    assert_eq!(document["schema"], "goodput.timeline/1");
    assert_valid(&document, include_str!("../../../schemas/timeline-report.schema.json"));
}

#[test]
fn traces_are_valid() {
    let schema = include_str!("../../../schemas/trace.schema.json");
    for name in ["pipeline_1f1b", "expert", "host_bound", "cut_captures"] {
        let document = parsed(&generated::trace(name));
        assert_eq!(document["schema"], "goodput.trace/1");
        assert_valid(&document, schema);
    }
    assert_valid(&parsed(&generated::hostile()), schema);
    assert_valid(&parsed(&generated::without_work()), schema);
    let mut document = parsed(&generated::one_rank());
    assert_valid(&document, schema);
    document["total"]["window_ns"] = "12".into();
    let validator = jsonschema::draft202012::new(&serde_json::from_str(schema).unwrap()).unwrap();
    assert!(!validator.is_valid(&document));
}

/// Every nanosecond of every step charged once, and the picture of the longest step has no hole.
#[test]
fn charges_sum_to_the_window() {
    let document = parsed(&generated::trace("pipeline_1f1b"));
    let ns = |value: &Value| value.as_i64().unwrap();
    let sums_up = |amounts: &Value| {
        let charged: i64 = amounts["charges"].as_object().unwrap().values().map(ns).sum();
        assert_eq!(charged, ns(&amounts["window_ns"]));
        let parts = ["compute_ns", "exposed_comm_ns", "exposed_mem_ns", "idle_ns"];
        assert_eq!(parts.iter().map(|part| ns(&amounts[part])).sum::<i64>(), charged);
    };
    sums_up(&document["total"]);
    let ranks = document["ranks"].as_array().unwrap();
    for step in ranks.iter().flat_map(|rank| rank["steps"].as_array().unwrap()) {
        sums_up(&step["host_window"]);
        sums_up(&step["device_window"]);
    }
    let timeline = &document["timeline"];
    for lane in timeline["lanes"].as_array().unwrap() {
        let segments = lane["segments"].as_array().unwrap();
        assert!(segments.windows(2).all(|pair| pair[0]["to_ns"] == pair[1]["from_ns"]));
        let rank = &ranks[lane["rank"].as_u64().unwrap() as usize];
        let steps = rank["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["name"] == timeline["step"]).unwrap();
        let drawn_ns = ns(&segments.last().unwrap()["to_ns"]) - ns(&segments[0]["from_ns"]);
        assert_eq!(drawn_ns, ns(&step["device_window"]["window_ns"]));
    }
    for row in document["steps_across"]["rows"].as_array().unwrap() {
        assert_eq!(row["of_rank"].as_array().unwrap().len(), ranks.len());
    }
}

#[test]
fn schema_refuses_an_unknown_key_and_a_rounded_integer() {
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/account.schema.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let mut document = parsed(&fixture::account_view());
    document["capacity_time"]["offered_ns"] = 1e18.into();
    assert!(!validator.is_valid(&document));
    let mut document = parsed(&fixture::account_view());
    document["contract"]["surprise"] = true.into();
    assert!(!validator.is_valid(&document));
}

#[test]
fn account() {
    let mut document = parsed(&fixture::account_view());
    // A week of hourly points says nothing more than its first.
    for series in document["series"].as_array_mut().unwrap() {
        series["points"].as_array_mut().unwrap().truncate(1);
    }
    for lane in document["lanes"]["lanes"].as_array_mut().unwrap() {
        lane["segments"].as_array_mut().unwrap().truncate(2);
    }
    insta::assert_json_snapshot!(document);
}

#[test]
fn timeline() {
    let mut document = parsed(&fixture::timeline_view());
    for lane in document["lanes"]["lanes"].as_array_mut().unwrap() {
        lane["segments"].as_array_mut().unwrap().truncate(2);
    }
    insta::assert_json_snapshot!(document);
}

fn exact(value: &Value) -> i128 {
    value.as_str().unwrap().parse().unwrap()
}

/// Every hour charged once: an equality of integers, in the document as in the ledger.
#[test]
fn losses_sum_to_the_gaps() {
    let document = parsed(&fixture::account_view());
    let capacity = &document["capacity_time"];
    let levels = ["offered_ns", "held_ns", "retained_ns", "ideal_ns"].map(|level| exact(&capacity[level]));
    for (i, losses) in ["scheduling_losses", "runtime_losses", "program_losses"].iter().enumerate() {
        let sum: i128 = capacity[losses].as_object().unwrap().values().map(exact).sum();
        assert_eq!(sum, levels[i] - levels[i + 1], "{losses}");
    }
}

#[test]
fn listed_and_omitted_jobs_sum_to_the_whole() {
    let (account, records) = fixture::fleet();
    let settings = goodput_report::ViewSettings { job_limit: 1, ..fixture::settings() };
    let view = goodput_report::AccountView::new(&account, &records, &fixture::read_report(), &settings);
    assert_eq!((view.jobs.len(), view.jobs_omitted.count), (1, 2));
    let listed: i128 = view.jobs.iter().map(|j| j.ledger.capacity_time.held_ns.0).sum();
    assert_eq!(listed + view.jobs_omitted.held_ns.0, view.ledger.capacity_time.held_ns.0);
}

#[test]
fn nothing_is_nan() {
    for text in
        [json::render(&fixture::account_view()).unwrap(), json::render(&fixture::timeline_view()).unwrap()]
    {
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }
}

/// Classes with different ideals have no common MPG.
#[test]
fn mixed_ideals_withhold_the_common_program_factor() {
    let (mut account, records) = fixture::fleet();
    let mut basis = account.jobs[0].program.clone().unwrap();
    basis.ideal = "bandwidth";
    account.jobs[2].program = Some(basis);
    let view =
        goodput_report::AccountView::new(&account, &records, &fixture::read_report(), &fixture::settings());
    let document = parsed(&view);
    assert_valid(&document, include_str!("../../../schemas/account.schema.json"));
    assert!(document["factors"]["mpg"].is_null() && document["factors"]["program"].is_null());
    assert!(document["factors"]["scheduling"].is_number());
    assert!(document["cost"].is_null());
    assert_eq!(document["warnings"][0]["code"], "mixed_ideals");
    assert_eq!(document["workload_classes"].as_array().unwrap().len(), 3);
}
