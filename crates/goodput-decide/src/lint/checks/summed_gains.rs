use super::super::sheet::{Claim, Sheet};
use super::super::{Check, Corrected, Found, Severity, number};
use super::not_in_reports;

pub(super) const CHECK: Check = Check {
    id: "summed-gains",
    severity: Severity::Error,
    title: "gains of several changes added up",
    why: "Each change shortens the step that the ones before it left, and only by what of its term was exposed. Changes of one \
          chain repeat each other, and a shorter compute window exposes communication that was hidden.",
    sheet,
    report: not_in_reports,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let judge = |(i, claim): (usize, &Claim)| {
        let Claim::SummedGains { savings, expected } = claim else { return None };
        let one_after_another = 1.0 - savings.iter().map(|saving| 1.0 - saving).product::<f64>();
        if savings.len() < 2 || *expected <= one_after_another + 1e-9 {
            return None;
        }
        let alone: Vec<String> = savings.iter().map(|saving| number(*saving)).collect();
        let found = Found::new(format!("claims[{i}].expected"), format!("alone: {}", alone.join(", ")));
        Some(found.corrected([Corrected::new(
            "saving of all",
            Some(*expected),
            one_after_another,
            "one after another, if none of them touches another's term; `goodput plan` has the terms (docs/levers.md)",
        )]))
    };
    sheet.claims.iter().enumerate().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{close, found};
    use super::*;

    #[test]
    fn savings_are_of_what_is_left() {
        let fired = found(&CHECK, "claims: [{claim: summed_gains, savings: [0.2, 0.3], expected: 0.5}]");
        close(fired[0].corrected[0].value, 0.44);
        assert!(
            found(&CHECK, "claims: [{claim: summed_gains, savings: [0.2, 0.3], expected: 0.4}]").is_empty()
        );
    }
}
