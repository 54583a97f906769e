use super::super::sheet::{Claim, FigureKind, Sheet};
use super::super::{Check, Corrected, Found, Severity, number};
use super::percent_as_share::is_percent;
use crate::report::Report;

pub(super) const CHECK: Check = Check {
    id: "factor-above-one",
    severity: Severity::Error,
    title: "a share above one",
    why: "No boundary lets more across than arrives. An MFU above one counts too many FLOPs (recomputation, a convention with \
          more of them) or divides by too low a peak (sparse or dense, another dtype, fewer devices).",
    sheet,
    report,
};

fn sheet(sheet: &Sheet) -> Vec<Found> {
    let figures = sheet.figures.iter().enumerate().filter_map(|(i, figure)| {
        let above = figure.kind.is_share() && figure.value > 1.0 && !is_percent(figure.value);
        let causes = match figure.kind {
            FigureKind::Mfu | FigureKind::Hfu => "; `goodput mfu audit` names the cause",
            FigureKind::ScalingEfficiency => "; the node's baseline is slower than it should be",
            _ => "",
        };
        above.then(|| {
            Found::new(
                format!("figures[{i}].value"),
                format!("{} is {}{causes}", figure.name, number(figure.value)),
            )
        })
    });
    let results = sheet.formulas.iter().enumerate().filter_map(|(i, formula)| {
        let value = formula.expression.value(&sheet.figures, sheet.budget_sum());
        let named = formula.target.contains("goodput") || ["mpg", "mfu"].contains(&formula.target.as_str());
        (named && value > 1.0 && !is_percent(value))
            .then(|| Found::new(format!("formula[{i}]"), format!("{} is {}", formula.target, number(value))))
    });
    let sum = sheet.budget_sum();
    let budget = (sum > 1.0 && !sheet.budget.iter().any(|o| is_percent(o.share)))
        .then(|| Found::new("budget", format!("the shares sum to {}", number(sum))));
    let ceilings = sheet.claims.iter().enumerate().filter_map(|(i, claim)| match claim {
        Claim::Gain { ceiling, .. } if *ceiling > 1.0 => Some(
            Found::new(format!("claims[{i}].ceiling"), format!("a ceiling of {}", number(*ceiling)))
                .corrected([Corrected::new("ceiling", Some(*ceiling), 1.0, "no factor passes one")]),
        ),
        _ => None,
    });
    let shares = sheet.claims.iter().enumerate().flat_map(|(i, claim)| {
        let above = claim.shares().into_iter().filter(|(_, _, share)| *share > 1.0 && !is_percent(*share));
        let found = |(key, name, share): (String, &str, f64)| {
            Found::new(format!("claims[{i}].{key}"), format!("{name} is {}", number(share)))
        };
        above.map(found).collect::<Vec<_>>()
    });
    figures.chain(results).chain(budget).chain(ceilings).chain(shares).collect()
}

fn report(report: &Report) -> Vec<Found> {
    let factors = report.factors();
    let all = [
        ("scheduling", factors.scheduling),
        ("runtime", Some(factors.runtime)),
        ("program", Some(factors.program)),
        ("mpg", factors.mpg),
    ];
    let above = |(name, factor): (&str, Option<crate::report::Factor>)| {
        let value = factor?.settled.filter(|&value| value > 1.0)?;
        Some(Found::new(
            format!("factor_bounds.{name}.settled"),
            format!("{name} goodput is {}", number(value)),
        ))
    };
    all.into_iter().filter_map(above).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    #[test]
    fn nothing_crosses_that_did_not_arrive() {
        let with = |value: f64| format!("figures: [{{name: MFU, value: {value}, kind: mfu}}]");
        assert_eq!(found(&CHECK, &with(1.12)).len(), 1);
        assert!(found(&CHECK, &with(0.48)).is_empty());
        // Left to the check of percentages.
        assert!(found(&CHECK, &with(48.0)).is_empty());
        let claim = "claims: [{claim: speedup, term: a, times: 2, expected: 1.1, shares: {a: 1.2}}]";
        assert_eq!(found(&CHECK, claim)[0].at, "claims[0].shares.a");
        assert_eq!(
            found(&CHECK, "budget: [{overhead: bubbles, share: 0.7}, {overhead: checkpoints, share: 0.6}]")
                .len(),
            1
        );
    }
}
