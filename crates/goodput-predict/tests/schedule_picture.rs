//! The step as a picture and as a trace says what the simulation says.
#![allow(clippy::unwrap_used)]

mod pipelines;

use std::collections::HashMap;

use goodput_predict::run::Schedule;
use goodput_predict::schedule::{Doing, Picture, Pipeline, Simulator, StageTime, chrome_trace};
use pipelines::pipelines;
use proptest::prelude::*;
use serde_json::Value;

fn picture(pipeline: &Pipeline) -> (Picture, Vec<StageTime>) {
    let mut simulator = Simulator::default();
    let picture = simulator.picture(pipeline).unwrap();
    (picture, simulator.run(pipeline).unwrap().stages.clone())
}

proptest! {
    /// Without a tolerance: times are multiples of 1/1024 ns.
    #[test]
    fn rows_follow_without_a_gap_and_sum_to_the_step_and_to_each_of_its_times(
        mut pipeline in pipelines(), pairs in any::<bool>(),
    ) {
        let one_in_turn = matches!(pipeline.schedule, Schedule::OneForwardOneBackward | Schedule::Interleaved { .. });
        pipeline.pairs = pairs && one_in_turn;
        let (picture, stages) = picture(&pipeline);
        for (row, stage) in picture.rows.iter().zip(&stages) {
            for two in row.spans.windows(2) {
                prop_assert_eq!(two[0].start_ns + two[0].duration_ns, two[1].start_ns);
            }
            let sum = |of: fn(Doing) -> bool| -> f64 {
                row.spans.iter().filter(|span| of(span.doing)).map(|span| span.duration_ns).sum()
            };
            prop_assert_eq!(sum(|_| true), picture.step_ns);
            prop_assert_eq!(sum(|doing| matches!(doing, Doing::Pass { .. })), stage.forward_ns + stage.backward_ns);
            prop_assert_eq!(sum(|doing| doing == Doing::Send), stage.send_ns);
            prop_assert_eq!(sum(|doing| doing == Doing::Host), stage.host_ns);
            prop_assert_eq!(sum(|doing| doing == Doing::Gather), stage.gather_ns);
            prop_assert_eq!(sum(|doing| doing == Doing::Reduce), stage.reduce_ns);
            prop_assert_eq!(sum(|doing| doing == Doing::Optimizer), stage.optimizer_ns);
            prop_assert_eq!(sum(|doing| doing == Doing::Bubble), stage.bubble_ns);
            let held: f64 = row.spans.iter().map(|span| span.held).sum();
            prop_assert!(held.abs() < 1e-9, "{}", held);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_trace_is_balanced(pipeline in pipelines()) {
        let (picture, _) = picture(&pipeline);
        let mut text = Vec::new();
        chrome_trace(&pipeline, &picture, &mut text).unwrap();
        let trace: Value = serde_json::from_slice(&text).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let mut ends: HashMap<(u64, String), (usize, f64)> = HashMap::new();
        let (mut drawn, mut counted) = (0, HashMap::new());
        for event in events {
            match event["ph"].as_str().unwrap() {
                "X" => {
                    prop_assert!(event["dur"].as_f64().unwrap() > 0.0);
                    drawn += 1;
                }
                "C" => {
                    counted.insert(event["pid"].as_u64().unwrap(), event["args"]["bytes"].as_f64().unwrap());
                }
                phase @ ("s" | "f") => {
                    let end = ends.entry((event["id"].as_u64().unwrap(), phase.to_owned())).or_default();
                    *end = (end.0 + 1, event["ts"].as_f64().unwrap());
                }
                phase => prop_assert_eq!(phase, "M"),
            }
        }
        let spans = picture.rows.iter().flat_map(|row| row.spans.iter().chain(&row.beside));
        prop_assert_eq!(drawn, spans.filter(|span| span.doing != Doing::Bubble && span.duration_ns > 0.0).count());
        prop_assert!(counted.values().all(|bytes| *bytes == 0.0), "{:?}", counted);
        for ((id, _), (count, start)) in ends.iter().filter(|((_, phase), _)| phase == "s") {
            let (finishes, at) = ends[&(*id, "f".to_owned())];
            prop_assert_eq!((*count, finishes), (1, 1));
            prop_assert!(at >= *start);
        }
        prop_assert_eq!(ends.len() % 2, 0);
    }
}
