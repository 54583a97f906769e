//! What a comparison of prediction and trace says in sentences.

use crate::number::{counted, duration, gain, percent};
use crate::view::ExplainView;

/// The title of the page.
pub(crate) fn explain_title(view: &ExplainView) -> String {
    view.title.clone().unwrap_or_else(|| "Predicted and traced step".to_owned())
}

/// A difference with its sign.
pub(crate) fn signed_duration(ns: f64) -> String {
    let text = duration(ns.round() as i64);
    if ns > 0.0 { format!("+{text}") } else { text }
}

/// What was predicted and what was traced.
pub(crate) fn explain_scope(view: &ExplainView) -> Vec<String> {
    let run = &view.run;
    let traced = &view.traced;
    let devices = if run.devices == 1 { "1 device".to_owned() } else { format!("{} devices", run.devices) };
    vec![
        format!("Predicted: {} on {devices} of {} ({})", run.model, run.cluster, run.device),
        format!(
            "Traced: {} of {}, {}{}",
            counted(traced.ranks as u64, "rank"),
            run.devices,
            counted(traced.device_steps, "device-step"),
            if traced.by_stage { "; the prediction is that of their stages" } else { "" }
        ),
    ]
}

/// The answer, first sentence first.
pub(crate) fn explain_answer(view: &ExplainView) -> Vec<String> {
    let mut lines = Vec::new();
    let other: Vec<String> = view
        .other_job()
        .map(|check| format!("{} ({} in the run, {} in the traces)", check.label, check.run, check.trace))
        .collect();
    if !other.is_empty() {
        lines.push(format!(
            "The traces are not of this run: {}. The comparison below is of different jobs.",
            other.join("; ")
        ));
    }
    let noise = match view.within_noise {
        true => "within twice the prediction's deviation",
        false => "beyond twice the prediction's deviation",
    };
    lines.push(format!(
        "The step takes {}, predicted {} ± {}: {}, {}, {noise}.",
        duration(view.measured_ns as i64),
        duration(view.predicted_ns as i64),
        percent(Some(view.deviation)),
        signed_duration(view.gap_ns),
        gain(view.gap_share),
    ));
    let holder = view.holder.and_then(|key| view.terms.iter().find(|term| term.term == key));
    lines.push(match holder {
        Some(term) => format!(
            "The gap is in: {}. It takes {} where {} were predicted ({}).",
            term.label,
            duration(term.measured_ns as i64),
            duration(term.predicted_ns as i64),
            signed_duration(term.difference_ns)
        ),
        None if view.terms.iter().any(|term| term.beyond_noise) => {
            "Terms differ beyond their noise and cancel each other.".to_owned()
        }
        None => "No term differs by more than the noise of its prediction and 1% of the step.".to_owned(),
    });
    lines
}
