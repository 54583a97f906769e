//! What a comparison of two measurements says in sentences.

use goodput_core::Timestamp;

use crate::number::{duration, gain, instant, percent};
use crate::view::{CompareView, Exact, MeasuredSideView, RatioView};

/// The title of the page.
pub(crate) fn compare_title(view: &CompareView) -> String {
    view.title.clone().unwrap_or_else(|| "Before and after".to_owned())
}

/// `1.0083 (0.9912 to 1.0254)`.
pub(crate) fn ratio(ratio: &RatioView) -> String {
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!("{:.4} ({low:.4} to {high:.4})", ratio.value),
        _ => format!("{:.4} (no interval)", ratio.value),
    }
}

/// The name of the deciding product.
pub(crate) fn deciding_product(view: &CompareView) -> &'static str {
    match view.lever {
        "pool" => "the pool's MPG",
        "deployment" => "the deployment's product, serving runtime x serving program goodput",
        _ => "the job's product, runtime x program goodput",
    }
}

/// The answer, first sentence first.
pub(crate) fn compare_answer(view: &CompareView) -> Vec<String> {
    let verdict = match view.verdict {
        "accept" => "Accept",
        "reject" => "Reject",
        _ => "Not decided",
    };
    // Confidence is the interval's: without one there is none to state.
    let confidence = match view.product.low {
        Some(_) => format!(", at {} confidence", percent(Some(view.confidence))),
        None => String::new(),
    };
    let mut lines = vec![format!(
        "{verdict}: {} is {} of what it was{confidence}.",
        deciding_product(view),
        ratio(&view.product),
    )];
    lines.extend(view.reasons.iter().map(|reason| format!("Because {reason}.")));
    lines.push(gate(view));
    lines
}

fn gate(view: &CompareView) -> String {
    let word = |side: &MeasuredSideView| match side.quality_gate {
        "passed" => "passed",
        "failed" => "failed",
        _ => "not stated",
    };
    let mut text = format!("Quality gate: {} before, {} after.", word(&view.before), word(&view.after));
    if view.after.quality_gate == "not_stated" {
        text.push_str(
            " Whether the same work is worth as much as before is not known: state quality in the contract.",
        );
    }
    if let Some(efficiency) = &view.statistical_efficiency {
        text.push_str(&format!(
            " Statistical efficiency ({}): {:.4} of what it was; it gates the gain and is no part of the product.",
            efficiency.from, efficiency.ratio
        ));
    }
    text
}

/// What is compared, a line each.
pub(crate) fn compare_scope(view: &CompareView) -> Vec<String> {
    let side = |name: &str, side: &MeasuredSideView| {
        let at = |ns: Exact| instant(Timestamp::from_nanos(ns.as_i64()));
        let length = duration(side.to_ns.as_i64().saturating_sub(side.from_ns.as_i64()));
        let job = side.job.as_ref().map(|job| format!("job {job}"));
        let of = job.or_else(|| side.deployment.clone()).unwrap_or_else(|| side.scope.clone());
        format!(
            "{name}: {} ({of}, {} devices, denominator {}), {} to {} UTC ({length})",
            side.report,
            side.devices,
            side.denominator.replace('_', " "),
            at(side.from_ns),
            at(side.to_ns)
        )
    };
    vec![
        side("before", &view.before),
        side("after", &view.after),
        format!("judged on {}: {}", deciding_product(view), view.lever_because),
        format!(
            "intervals: {} resamples of blocks, seed {}, {} confidence",
            view.resamples,
            view.seed,
            percent(Some(view.confidence))
        ),
    ]
}

/// Time to result, and the room that is left.
pub(crate) fn compare_beside(view: &CompareView) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(time) = &view.time_to_result {
        let to = if time.to_quality { "the quality of before" } else { "the retained work of before" };
        lines.push(format!(
            "time to {to}, beside the product: {} before, {} after ({})",
            duration((time.before_s * 1e9) as i64),
            duration((time.after_s * 1e9) as i64),
            gain(time.after_s / time.before_s - 1.0)
        ));
    }
    for factor in &view.factors {
        if let Some(share) = factor.may_give_up {
            lines.push(format!(
                "the rise of {} goodput may cost up to {} of another factor before the product falls",
                factor.factor,
                percent(Some(share))
            ));
        }
        if let Some(headroom) = factor.headroom {
            lines.push(format!(
                "all of {} goodput's loss removed would multiply the product by {headroom:.4}",
                factor.factor
            ));
        }
    }
    lines
}
