//! A job's timeline in the goodput format (`docs/timeline-format.md`), one log for all its attempts.

use std::io::Write;

use goodput_core::records::{Phase, StopCause};
use serde_json::json;

use crate::world::{Job, Mark, Stretch, What, World};

pub(super) fn write(world: &World, job: &Job) -> Vec<u8> {
    let mut text = Vec::new();
    if job.attempts.iter().all(|a| a.start.is_none()) {
        return text;
    }
    let class = &world.scenario.jobs[job.class];
    let pool = &world.scenario.pools[job.pool];
    let mut header = json!({
        "goodput_timeline": 1,
        "job": job.id.to_string(),
        "devices": job.devices(&world.scenario),
        "device": pool.device,
        "dtype": pool.dtype,
        "planned_steps": job.steps,
        "commits": class.program.checkpoint.is_some(),
        "software": {"goodput-simulate": env!("CARGO_PKG_VERSION")},
    });
    if class.program.model_flops_per_step.is_some() {
        header["convention"] = json!(class.program.flops_convention);
    }
    if let Some(peak) = pool.peak_tflops {
        header["peak_tflops"] = json!(peak);
    }
    // Writing to memory cannot fail.
    let _ = writeln!(text, "{header}");
    let flops = class.program.model_flops_per_step.map(|f| f as u128);
    for stretch in job.attempts.iter().flat_map(|a| &a.life) {
        line(&mut text, world, stretch, flops);
    }
    text
}

fn line(text: &mut Vec<u8>, world: &World, stretch: &Stretch, flops: Option<u128>) {
    let at = |millis: i64| stamp(world, millis);
    let (from, to) = (at(stretch.from), at(stretch.to));
    let _ = match &stretch.what {
        What::Steps(steps) => {
            let _ = write!(text, "{{\"step\":{}", steps.first);
            if steps.count != 1 {
                let _ = write!(text, ",\"count\":{}", steps.count);
            }
            let _ = write!(text, ",\"start\":{from},\"end\":{to}");
            if steps.input_wait > 0 {
                let _ = write!(text, ",\"input_wait_s\":{}", seconds(steps.input_wait));
            }
            if let Some(flops) = flops {
                // As text: exact beyond 2^53.
                let _ = write!(text, ",\"model_flops\":\"{}\"", flops * u128::from(steps.count));
            }
            writeln!(text, "}}")
        }
        What::Phase { phase, .. } => phase_line(text, phase_word(*phase), &from, &to),
        What::Suspension => phase_line(text, "suspension", &from, &to),
        What::Silence(_) | What::Mark(Mark::Resume { .. }) => Ok(()),
        What::Mark(Mark::Launch) => writeln!(text, "{{\"event\":\"launch\",\"at\":{to}}}"),
        What::Mark(Mark::Restore(step)) => {
            writeln!(text, "{{\"event\":\"restore\",\"step\":{step},\"at\":{to}}}")
        }
        What::Mark(Mark::Save(step)) => writeln!(text, "{{\"event\":\"save\",\"step\":{step},\"at\":{to}}}"),
        What::Mark(Mark::Commit(step)) => {
            writeln!(text, "{{\"event\":\"commit\",\"step\":{step},\"at\":{to}}}")
        }
        What::Mark(Mark::Stop(cause)) => {
            writeln!(text, "{{\"event\":\"stop\",\"cause\":\"{}\",\"at\":{to}}}", cause_word(*cause))
        }
    };
}

fn phase_line(text: &mut Vec<u8>, phase: &str, from: &str, to: &str) -> std::io::Result<()> {
    writeln!(text, "{{\"event\":\"phase\",\"phase\":\"{phase}\",\"start\":{from},\"end\":{to}}}")
}

fn phase_word(phase: Phase) -> &'static str {
    match phase {
        Phase::Launch => "launch",
        Phase::CheckpointLoad => "checkpoint_load",
        Phase::CheckpointPause => "checkpoint_pause",
        Phase::InputWait => "input_wait",
        Phase::Evaluation => "evaluation",
        Phase::Reconfiguration => "reconfiguration",
        Phase::Suspension => "suspension",
        Phase::Declared => "declared",
    }
}

fn cause_word(cause: StopCause) -> &'static str {
    match cause {
        StopCause::Finished => "finished",
        StopCause::Ended => "ended",
        StopCause::Fault => "fault",
        StopCause::Preempted => "preempted",
        StopCause::Reconfiguration => "reconfiguration",
    }
}

/// Seconds since the Unix epoch, to the millisecond, of milliseconds after the start.
pub(super) fn stamp(world: &World, millis: i64) -> String {
    seconds(world.scenario.start.as_second() * 1_000 + millis)
}

fn seconds(millis: i64) -> String {
    format!("{}.{:03}", millis.div_euclid(1_000), millis.rem_euclid(1_000))
}
