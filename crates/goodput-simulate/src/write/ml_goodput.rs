//! A job's log as the ml-goodput-measurement library writes it: entries with float seconds, starts
//! of steps only, no commits.

use std::io::Write;

use goodput_core::records::{Phase, StopCause};

use super::timeline::stamp;
use crate::world::{Job, Mark, Stretch, What, World};

pub(super) fn write(world: &World, job: &Job) -> Vec<u8> {
    let mut text = Vec::new();
    let mut saved = 0;
    for stretch in job.attempts.iter().flat_map(|a| &a.life) {
        if let What::Mark(Mark::Save(step)) = stretch.what {
            saved = step;
        }
        entries(&mut text, world, job, stretch, saved);
    }
    text
}

fn entries(text: &mut Vec<u8>, world: &World, job: &Job, stretch: &Stretch, saved: u64) {
    let mut entry = |fields: String| {
        // Writing to memory cannot fail. The job is named by its id, so that the records can be joined.
        let _ = writeln!(text, "{{\"job_name\":\"{}\",{fields}}}", job.id);
    };
    let (from, to) = (stamp(world, stretch.from), stamp(world, stretch.to));
    let mut both = |key: &str| {
        entry(format!("\"{key}_start_time\":{from}"));
        entry(format!("\"{key}_end_time\":{to}"));
    };
    match &stretch.what {
        What::Steps(steps) => {
            // The library stamps the start of each step; a line of several steps is spread evenly.
            let each = (stretch.to - stretch.from) / i64::from(steps.count.max(1));
            for i in 0..i64::from(steps.count) {
                let at = stamp(world, stretch.from + i * each);
                entry(format!("\"step_count\":{},\"step_start_time\":{at}", steps.first + i.unsigned_abs()));
            }
            if steps.input_wait > 0 {
                entry(format!("\"data_loading_start_time\":{from}"));
                let loaded = stamp(world, stretch.from + steps.input_wait);
                entry(format!("\"data_loading_end_time\":{loaded}"));
            }
        }
        What::Phase { phase: Phase::Launch, .. } => both("tpu_init"),
        What::Phase { phase: Phase::CheckpointLoad, .. } => both("training_prep"),
        What::Phase { phase: Phase::InputWait, .. } => both("data_loading"),
        What::Phase { phase: Phase::CheckpointPause, .. } => {
            let lasts = (stretch.to - stretch.from) as f64 / 1e3;
            entry(format!(
                "\"event_type\":\"save\",\"step\":{saved},\"synchronous\":true,\"checkpointer_blocking_start_time\":{from},\"checkpointer_blocking_duration_secs\":{lasts}"
            ));
        }
        What::Phase { .. } => {
            entry(format!(
                "\"custom_badput_event_type\":\"evaluation\",\"custom_badput_event_start_time\":{from}"
            ));
            entry(format!(
                "\"custom_badput_event_type\":\"evaluation\",\"custom_badput_event_end_time\":{to}"
            ));
        }
        What::Mark(Mark::Launch) => entry(format!("\"job_start_time\":{to}")),
        What::Mark(Mark::Stop(StopCause::Finished)) => entry(format!("\"job_end_time\":{to}")),
        What::Mark(_) | What::Suspension | What::Silence(_) => {}
    }
}
