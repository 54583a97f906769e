//! Overlap with communication and phases of the step, in real traces.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use goodput_trace::contention::Contention;
use goodput_trace::phase::{Phase, phases};
use goodput_trace::read::{ReadOptions, read_file};
use goodput_trace::trace::RankTrace;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/traces/");

fn trace(name: &str) -> Option<RankTrace> {
    let path = PathBuf::from([DATA, name].concat());
    path.exists()
        .then(|| read_file(&path, &ReadOptions::default()).expect("a readable trace").ranks.remove(0))
}

/// The hidden part of communication is what the partitions say of the same files, to the nanosecond.
#[test]
fn hidden_communication_is_all_less_the_exposed() {
    let Ok(partitions) = fs::read_to_string([DATA, "partitions.jsonl"].concat()) else { return };
    let mut files = 0;
    for line in partitions.lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let name = row["file"].as_str().expect("a file");
        let Some(trace) = trace(name) else { continue };
        let expected = row["gpu_window_ns"]["overlap"].as_i64().unwrap_or(0);
        assert_eq!(Contention::of(&trace).hidden_ns, expected, "{name}");
        files += 1;
    }
    assert_eq!(files, 18);
}

#[test]
fn a_training_step_runs_forward_backward_and_optimizer() {
    let Some(trace) = trace("kineto/a100_ddp_resnet_nccl_meta_ns.json.gz") else { return };
    let mut of_phase = BTreeMap::<Phase, i64>::new();
    for (work, phase) in trace.work.iter().zip(phases(&trace)) {
        *of_phase.entry(phase).or_default() += work.duration_ns();
    }
    assert!(of_phase[&Phase::Backward] > of_phase[&Phase::Forward]);
    assert!(of_phase[&Phase::Optimizer] > 0);
    assert!(!of_phase.contains_key(&Phase::Recompute) && !of_phase.contains_key(&Phase::Unknown));
}
