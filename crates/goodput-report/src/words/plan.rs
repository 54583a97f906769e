//! What is said of a plan.

use crate::name::cut;
use crate::number::counted;
use crate::view::{PlanAnswerView, PlanView};

/// The title.
pub(crate) fn plan_title(view: &PlanView) -> String {
    view.title.clone().unwrap_or_else(|| "Plan".to_owned())
}

/// How many questions, and how much of what they rest on was measured.
pub(crate) fn plan_scope(view: &PlanView) -> String {
    let (inputs, measured) = view.measured_inputs();
    format!(
        "{}; {measured} of {} measured, the others are assumptions or defaults",
        counted(view.answers.len() as u64, "answer"),
        counted(inputs as u64, "input")
    )
}

/// A question in words.
pub(crate) fn plan_question(word: &str) -> &'static str {
    match word {
        "runtime" => "Runtime loss",
        "cadence" => "How often to save",
        "staging" => "Saves in the background",
        "sizing" => "Wait, stay or step up",
        "build" => "When a compilation build pays",
        "straggler" => "Replacing a slow node",
        "preemption" => "An urgent gang by preemption",
        "lending" => "Lending unused quota",
        "placement" => "Waiting for a compact placement",
        "capacity" => "Cost per useful unit",
        "time" => "Time to result",
        "frontier" => "The efficiency frontier",
        "fleet" => "The three factors",
        "trade" => "A trade",
        "days" => "Days at a lower rate",
        "trace_volume" => "Volume of a trace",
        "tiers" => "An orchestrator's tiers",
        "levers" => "Kernel-level levers on one step",
        _ => "Answer",
    }
}

/// The question in words, with its name in the plan.
pub(crate) fn plan_heading(answer: &PlanAnswerView) -> String {
    let question = plan_question(&answer.question);
    answer.name.as_ref().map_or_else(|| question.to_owned(), |name| format!("{question}: {name}"))
}

/// The element id of a question's section.
pub(crate) fn plan_id(word: &str) -> &'static str {
    const IDS: [&str; 18] = [
        "runtime",
        "cadence",
        "staging",
        "sizing",
        "build",
        "straggler",
        "preemption",
        "lending",
        "placement",
        "capacity",
        "time",
        "frontier",
        "fleet",
        "trade",
        "days",
        "trace_volume",
        "tiers",
        "levers",
    ];
    IDS.into_iter().find(|id| *id == word).unwrap_or("answer")
}

/// Inputs of an answer by where they came from, one line each.
pub(crate) fn plan_inputs(answer: &PlanAnswerView) -> impl Iterator<Item = String> {
    const NAMED: usize = 20;
    [("Measured", true, ""), ("Assumed", false, "assumed"), ("Default", false, "default")]
        .into_iter()
        .filter_map(|(heading, measured, source)| {
            let of: Vec<_> = answer
                .inputs
                .iter()
                .filter(|input| input.measured == measured && (measured || input.source == source))
                .collect();
            let named: Vec<_> = of
                .iter()
                .take(NAMED)
                .map(|input| {
                    let field = input.field.strip_prefix("questions[").and_then(|rest| rest.split_once("]."));
                    let field = field.map_or(input.field.as_str(), |(_, field)| field);
                    let from = input.evidence.as_ref().map_or_else(String::new, |e| format!(" ({e})"));
                    format!("{field} {}{from}", cut(&input.text, 40))
                })
                .collect();
            let more = of.len().saturating_sub(NAMED);
            let more = if more > 0 {
                format!(", {} in JSON", counted(more as u64, "more input"))
            } else {
                String::new()
            };
            (!of.is_empty()).then(|| format!("{heading}: {}{more}", named.join(", ")))
        })
}
