use super::super::sheet::{Claim, OptimisedEvidence, Sheet};
use super::super::{Check, Found, Severity};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "compiled-as-proof",
    severity: Severity::Warning,
    title: "a successful compilation taken as proof",
    why: "A build that succeeds says nothing of which passes helped. Layouts that conflict insert collectives that no line of the \
          program names, and shapes that change recompile inside the loop.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let mut all = Vec::new();
    for (i, claim) in sheet.claims.iter().enumerate() {
        let Claim::Optimised { evidence, collectives_expected, collectives_seen, recompilations } = claim
        else {
            continue;
        };
        if *evidence == OptimisedEvidence::Compiled {
            all.push(
                Found::new(format!("claims[{i}].evidence"), "the build succeeded")
                    .and("count the collectives of a trace against the layout, and measure program goodput before and after"),
            );
        }
        if let (Some(expected), Some(seen)) = (collectives_expected, collectives_seen)
            && seen > expected
        {
            let more = format!("{seen} collectives a step, the layout asks for {expected}");
            all.push(Found::new(format!("claims[{i}].collectives_seen"), more).only(Severity::Error));
        }
        if let Some(count) = recompilations.filter(|&count| count > 0) {
            let what = format!("{count} recompilations inside the loop: a program loss, not a startup cost");
            all.push(Found::new(format!("claims[{i}].recompilations"), what));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn a_build_is_a_hypothesis() {
        assert_eq!(found(&CHECK, "claims: [{claim: optimised, evidence: compiled}]").len(), 1);
        assert!(found(&CHECK, "claims: [{claim: optimised, evidence: measured}]").is_empty());
        let more = found(
            &CHECK,
            "claims: [{claim: optimised, evidence: measured, collectives_expected: 320, collectives_seen: 400}]",
        );
        assert_eq!(more[0].severity, Some(Severity::Error));
    }
}
