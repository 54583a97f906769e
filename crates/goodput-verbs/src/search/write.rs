//! The run with another layout, as RUN.yaml.

use std::fmt::Write as _;
use std::path::Path;

use goodput_predict::run::{ContextMethod, KEYS, Recompute, Schedule, Sharding};
use goodput_predict::search::Candidate;
use serde_json::{Map, Value, json};

use crate::error::VerbError;
use crate::run_file::{read_run, refused};

/// Writes `run` with the candidate's layout to `to`, and reads it back. Fields that a search does not choose stay as they are.
pub(super) fn best(run: &Path, candidate: &Candidate, to: &Path) -> Result<(), VerbError> {
    let text = std::fs::read_to_string(run).map_err(|e| VerbError::io(run, &e))?;
    let mut file: Map<String, Value> = serde_saphyr::from_str(&text).map_err(|e| refused(run, e))?;
    let folder =
        |path: &Path| path.parent().map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
    if let Some(Value::String(model)) = file.get("model")
        && let Some(from) = folder(run).filter(|from| Some(from) != folder(to).as_ref())
        && from.join(model).is_file()
    {
        let whole = from.join(model).display().to_string();
        file.insert("model".to_owned(), whole.into());
    }
    file.insert("devices".to_owned(), candidate.devices.into());
    let layout = file.entry("layout").or_insert_with(|| json!({}));
    if let Value::Object(layout) = layout {
        set(layout, candidate);
    }
    if let Some(Value::Object(batch)) = file.get_mut("batch") {
        batch.insert("micro".to_owned(), candidate.micro.into());
    }
    file.insert("recompute".to_owned(), recompute(candidate.recompute));
    let mut text = format!("# The best layout that `goodput search {}` found.\n", run.display());
    for key in KEYS {
        if let Some(value) = file.get(*key) {
            // JSON is YAML's flow style.
            let _ = writeln!(text, "{key}: {value}");
        }
    }
    std::fs::write(to, text).map_err(|e| VerbError::io(to, &e))?;
    read_run(to).map(|_| ())
}

fn set(layout: &mut Map<String, Value>, candidate: &Candidate) {
    let of = &candidate.layout;
    let (schedule, parts) = match of.schedule {
        Schedule::GPipe => ("gpipe", 1),
        Schedule::OneForwardOneBackward => ("1f1b", 1),
        Schedule::Interleaved { parts } => ("interleaved", parts),
        Schedule::ZeroBubbleH1 => ("zb-h1", 1),
        Schedule::ZeroBubble2p => ("zb-2p", 1),
        Schedule::DualPipe => ("dualpipe", 1),
    };
    let zero = match of.sharding {
        Sharding::None => 0,
        Sharding::Optimizer => 1,
        Sharding::Gradients => 2,
        Sharding::Parameters { reshard_after_forward } => {
            layout.insert("reshard_after_forward".to_owned(), reshard_after_forward.into());
            3
        }
    };
    let method = match of.context_method {
        ContextMethod::Ring => "ring",
        ContextMethod::AllGather => "all-gather",
        ContextMethod::Ulysses => "ulysses",
    };
    let fields: [(&str, Value); 15] = [
        ("tp", of.tensor.into()),
        ("sp", of.sequence_parallel.into()),
        ("cp", of.context.into()),
        ("cp_method", method.into()),
        ("pp", of.pipeline.into()),
        ("vpp", parts.into()),
        ("schedule", schedule.into()),
        ("ep", of.expert.into()),
        ("etp", of.expert_tensor.into()),
        ("dp", of.data.into()),
        ("zero", zero.into()),
        ("overlap_gradients", of.overlap_gradients.into()),
        ("overlap_parameters", of.overlap_parameters.into()),
        ("overlap_tensor", of.overlap_tensor.into()),
        ("uneven_ends", json!(of.uneven_ends)),
    ];
    for (name, value) in fields {
        layout.insert(name.to_owned(), value);
    }
}

fn recompute(of: Recompute) -> Value {
    match of {
        Recompute::None => "none".into(),
        Recompute::AttentionCore => "selective".into(),
        Recompute::Cheap => "cheap".into(),
        Recompute::EveryOtherProduct => "every-other-product".into(),
        Recompute::Full => "full".into(),
        Recompute::Layers(layers) => json!({"layers": layers}),
        Recompute::Modules(modules) => json!({"modules": modules.names().collect::<Vec<_>>()}),
    }
}
