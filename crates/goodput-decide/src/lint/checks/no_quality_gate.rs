use super::super::sheet::{Claim, Sheet};
use super::super::{Check, Found, Severity};
use crate::report::Report;

pub(super) const CHECK: Check = Check {
    id: "no-quality-gate",
    severity: Severity::Warning,
    title: "retained steps without a quality gate",
    why: "A lower precision, a larger batch or looser synchronization can raise goodput while each step teaches the model less: \
          more steps to the same quality. A gain counts once the gate is passed.",
    sheet,
    report,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let counts = sheet.figures.iter().any(|f| f.kind.is_goodput())
        || sheet
            .claims
            .iter()
            .any(|c| matches!(c, Claim::Gain { .. } | Claim::Speedup { .. } | Claim::SummedGains { .. }));
    (counts && sheet.quality_gate.is_none())
        .then(|| {
            Found::new(
                "quality_gate",
                "a figure of useful work or a gain is stated, and no quality that the run must reach",
            )
        })
        .into_iter()
        .collect()
}

/// A report that no contract beside its records says a quality of.
fn report(report: &Report) -> Vec<Found> {
    if report.contract().conditions.iter().any(|condition| condition.field.starts_with("quality.")) {
        return Vec::new();
    }
    vec![
        Found::new(
            "contract",
            "the records state no quality that the run must reach: state it where the report is compared",
        )
        .only(Severity::Note),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn goodput_needs_a_gate() {
        let figures = "figures: [{name: R, value: 0.9, kind: runtime_goodput}]";
        assert_eq!(found(&CHECK, figures).len(), 1);
        assert!(found(&CHECK, &format!("quality_gate: validation loss at most 2.1\n{figures}")).is_empty());
        assert!(found(&CHECK, "figures: [{name: step, value: 1, kind: step_time}]").is_empty());
    }
}
